"""A kernel's expressions: each becomes a function that computes it for all threads.

The types are found before the launch, as a compiler does. So a mistake is found even in a branch that no thread takes.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from . import accesses, advice, builtins, names
from .errors import Place
from .lanes import OPERATION, Lanes, Mask
from .memory import Ref
from .source import MISSING, Source
from .types import BOOL, INT, SIZE, ArrayType, Pointer, Tuple, is_number, same
from .values import (
    UNSIGNED,
    Expression,
    Known,
    Problem,
    Run,
    Value,
    WholeArray,
    as_value,
    called,
    cast,
    is_true,
    packed,
    scalar_type,
)  # fmt: skip

OPERATORS: dict[type, tuple[str, Callable]] = {
    ast.Add: ("add", operator.add), ast.Sub: ("subtract", operator.sub), ast.Mult: ("multiply", operator.mul),
    ast.Div: ("true_divide", operator.truediv), ast.FloorDiv: ("floor_divide", operator.floordiv),
    ast.Mod: ("remainder", operator.mod), ast.Pow: ("power", operator.pow),
    ast.LShift: ("left_shift", operator.lshift), ast.RShift: ("right_shift", operator.rshift),
    ast.BitAnd: ("bitwise_and", operator.and_), ast.BitOr: ("bitwise_or", operator.or_),
    ast.BitXor: ("bitwise_xor", operator.xor),
    ast.Lt: ("less", operator.lt), ast.LtE: ("less_equal", operator.le),
    ast.Gt: ("greater", operator.gt), ast.GtE: ("greater_equal", operator.ge),
    ast.Eq: ("equal", operator.eq), ast.NotEq: ("not_equal", operator.ne),
    ast.USub: ("negative", operator.neg), ast.Invert: ("invert", operator.invert), ast.Not: ("not", operator.not_),
}  # fmt: skip
_SMALLER = {"less", "less_equal", "greater", "greater_equal"}


class Site:
    """A place in the text where memory is touched, and what that costs in this launch."""

    __slots__ = ("source", "node", "line", "costs")

    def __init__(self, source: Source, node: Any) -> None:
        self.source, self.node, self.line = source, node, source.line(node)
        self.costs: Any = None

    def wrong(self, kind: Any, what: str, advice: str, place: Place) -> Exception:
        return self.source.wrong(kind, self.node, what, advice, place)


class Variable:
    """A name of the kernel's own: its type, and its place among all threads' values."""

    __slots__ = ("type", "slot", "origin")

    def __init__(self, kind: Any, slot: int, origin: frozenset[str]) -> None:
        self.type, self.slot, self.origin = kind, slot, origin


class Expressions:
    """Translates the expressions of one function, for arguments of certain types."""

    def __init__(self, program: Any, source: Source) -> None:
        self.program, self.source = program, source
        self.variables: dict[str, Variable] = {}
        self.constants: dict[str, Any] = {}  # what the kernel itself calls so, such as a string
        self.being_assigned = ""
        self.unused: Any = None  # the call whose result is thrown away

    def site(self, node: Any) -> Site:
        made = Site(self.source, node)
        self.program.sites.append(made)
        return made

    def expression(self, node: Any) -> Expression:
        """What this part of the text is. Raises `Refused`, with the line, where cupyx.jit wouldn't compile it."""
        method = getattr(self, f"_{type(node).__name__}", None)
        try:
            if method is None:
                raise Problem(_MISSING.get(type(node).__name__, f"a kernel has no {type(node).__name__.lower()}"))
            return method(node)
        except Problem as problem:
            raise self.refused(node, problem) from None

    def refused(self, node: Any, problem: Problem) -> Exception:
        """What's wrong with this part of the text, in the words of the text."""
        text = str(problem)
        if isinstance(problem, WholeArray):
            text = f"{text}, and {self._whole(node)}"
        elif problem.hint == UNSIGNED and (write := advice.signed(node, self.source.tree)):
            text = f"{problem.text}. {write.unsigned} is unsigned: write {write}"
        return self.source.refused(node, text, problem.begin)

    def _whole(self, node: Any) -> str:
        """The array that stands where a number is needed, and its element."""
        owners = set()
        for part in ast.walk(node):
            if isinstance(part, (ast.Name, ast.Subscript)) and isinstance(part.ctx, ast.Load) and part not in owners:
                found = self.expression(part)
                if isinstance(found, Value) and isinstance(found.type, (ArrayType, Pointer)):
                    return advice.one_element(part, found.type.ndim)
            if isinstance(part, ast.Subscript):
                owners.add(part.value)
        return "this is a whole array: write x[i]"

    def value(self, node: Any) -> Value:
        try:
            return as_value(self.expression(node))
        except Problem as problem:
            raise self.refused(node, problem) from None

    # -- names and attributes --------------------------------------------------------------------

    def _Constant(self, node: ast.Constant) -> Expression:
        return Known(node.value)

    def _Tuple(self, node: ast.Tuple) -> Expression:
        parts = [self.expression(part) for part in node.elts]
        if all(isinstance(part, Known) for part in parts):
            return Known(tuple(map(known_obj, parts)))
        return packed([as_value(part) for part in parts])

    def _Name(self, node: ast.Name) -> Expression:
        if node.id in self.variables:
            return self._variable(node, self.variables[node.id])
        if node.id in self.constants:
            return Known(self.constants[node.id])
        found = self.source.outside(node.id)
        if found is MISSING:
            raise Problem(f"nothing is called {node.id} here")
        self.program.used.append((self.source, node.id, found))
        return name_of(found)

    def _variable(self, node: ast.Name, variable: Variable) -> Value:
        slot, source = variable.slot, self.source

        def run(lanes: Lanes, mask: Mask) -> Any:
            if lanes.have[slot] is not True:
                lanes.check_value(mask, slot, node, source)
            return lanes.slots[slot]

        return Value(variable.type, run, variable.origin)

    def _Attribute(self, node: ast.Attribute) -> Expression:
        owner = self.expression(node.value)
        if isinstance(owner, Known):
            if isinstance(owner.obj, names.Dim3):
                if node.attr not in ("x", "y", "z"):
                    raise Problem(f"{owner.obj!r} has .x, .y and .z")
                return builtins.axis_of(owner.obj.name, "xyz".index(node.attr))
            try:
                return name_of(getattr(owner.obj, node.attr))
            except AttributeError as error:
                raise Problem(str(error)) from None
        run = owner.run
        if isinstance(owner.type, ArrayType):
            ndim = owner.type.ndim
            if node.attr == "ndim":
                return Known(ndim)
            if node.attr == "size":
                return Value(SIZE, lambda lanes, mask: np.int64(_product(run(lanes, mask).shape)))
            if node.attr == "shape":
                return Value(Tuple((SIZE,) * ndim, True), lambda lanes, mask: _sizes(run(lanes, mask).shape))
            if node.attr == "strides":
                return Value(Tuple((SIZE,) * ndim, True), lambda lanes, mask: _strides(run(lanes, mask)))
        raise Problem(f"a {owner.type} has no .{node.attr} in a kernel; an array has .shape, .size, .ndim")

    # -- elements --------------------------------------------------------------------------------

    def _Subscript(self, node: ast.Subscript) -> Expression:
        owner, index = self.expression(node.value), self.expression(node.slice)
        if isinstance(owner, Known):
            if not isinstance(index, Known):
                raise Problem("only an array argument has elements that a thread chooses")
            try:
                return name_of(owner.obj[index.obj])
            except (TypeError, IndexError, KeyError) as error:
                raise Problem(str(error)) from None
        if isinstance(owner.type, Tuple):
            return self._part(owner, index)
        if not isinstance(owner.type, (ArrayType, Pointer)):
            raise Problem(f"only arrays have elements; this is a {owner.type}")
        indices = self.indices(owner, index, node)
        if len(indices) < owner.type.ndim:
            return self._view(owner, indices)
        site, run = self.site(node), owner.run
        if len(indices) == 1:
            only = indices[0].run
            return Value(
                owner.type.dtype,
                lambda lanes, mask: accesses.load(lanes, mask, run(lanes, mask), [only(lanes, mask)], site),
            )
        runs = [index.run for index in indices]

        def load(lanes: Lanes, mask: Mask) -> Any:
            return accesses.load(lanes, mask, run(lanes, mask), [index(lanes, mask) for index in runs], site)

        return Value(owner.type.dtype, load)

    def _part(self, owner: Value, index: Expression) -> Value:
        if not isinstance(index, Known) or not isinstance(index.obj, int):
            raise Problem("which value of several is meant must be known before the launch")
        at, run = index.obj, owner.run
        if not 0 <= at < len(owner.type.types):
            raise Problem(f"there are {len(owner.type.types)} values, 0 to {len(owner.type.types) - 1}; got {at}")
        return Value(owner.type.types[at], lambda lanes, mask: run(lanes, mask)[at])

    def indices(self, owner: Value, index: Expression, node: Any) -> list[Value]:
        """The index of each axis. Raises `Problem` for too many, and for what is no integer."""
        given = as_value(index)
        if isinstance(given.type, (ArrayType, Pointer)):
            raise Problem("an index is one integer for each axis, not an array")
        if isinstance(index, Known) and isinstance(index.obj, tuple):
            parts = [as_value(Known(part)) for part in index.obj]
        elif isinstance(given.type, Tuple):
            whole = given.run
            parts = [_one_of(whole, k, kind) for k, kind in enumerate(given.type.types)]
        else:
            parts = [given]
        if len(parts) > owner.type.ndim:
            raise Problem(advice.too_many(node, owner.type.ndim))
        for part in parts:
            if scalar_type(part).kind not in "iu":
                raise Problem(f"an index is an integer, not {part.type}; // divides to one")
        return parts

    def _view(self, owner: Value, indices: list[Value]) -> Value:
        """``x[0]`` of an array with two axes: what's left after the first."""
        runs, run = [index.run for index in indices], owner.run
        if owner.type.ndim < 1:
            raise Problem("an array of no axes has no elements to choose")

        def view(lanes: Lanes, mask: Mask) -> Ref:
            ref, offset = run(lanes, mask), 0
            for axis, index in enumerate(runs, ref.axis):
                at = index(lanes, mask)
                at = at.astype(np.int64) if isinstance(at, np.ndarray) else int(at)
                offset = offset + at * ref.part.strides[axis]
            return Ref(ref.part, ref.axis + len(runs), ref.offset + offset)

        return Value(ArrayType(owner.type.dtype, owner.type.ndim - len(indices)), view, owner.origin)

    # -- operators -------------------------------------------------------------------------------

    def operation(self, op: Any, operands: list[Expression]) -> Expression:
        if type(op) not in OPERATORS:
            raise Problem(_MISSING.get(type(op).__name__, f"a kernel has no operator {type(op).__name__}"))
        name, python = OPERATORS[type(op)]
        if all(isinstance(x, Known) for x in operands):
            try:
                return Known(python(*map(known_obj, operands)))
            except Exception as error:
                raise Problem(str(error)) from None
        first = operands[0]
        if isinstance(op, (ast.Add, ast.Sub)) and isinstance(first, Value) and isinstance(first.type, Pointer):
            return self._moved(first, operands[1], python)
        return called(name, operands, "smaller" if name in _SMALLER else "")

    def _moved(self, pointer: Value, by: Expression, python: Callable) -> Value:
        """Shared memory plus a number: the same, from there on."""
        if scalar_type(by).kind not in "iu":
            raise Problem("only an integer can be added to shared memory")
        run, steps = pointer.run, as_value(by).run

        def moved(lanes: Lanes, mask: Mask) -> Ref:
            ref, step = run(lanes, mask), steps(lanes, mask)
            step = step.astype(np.int64) if isinstance(step, np.ndarray) else int(step)
            return ref._replace(offset=python(ref.offset, step))

        return Value(pointer.type, moved)

    def _BinOp(self, node: ast.BinOp) -> Expression:
        if missing := advice.of_many(node):
            raise Problem(missing)
        return self.operation(node.op, [self.expression(node.left), self.expression(node.right)])

    def _UnaryOp(self, node: ast.UnaryOp) -> Expression:
        return self.operation(node.op, [self.expression(node.operand)])

    def _Compare(self, node: ast.Compare) -> Expression:
        if len(node.ops) > 1:
            if any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitAnd) for part in node.comparators):
                raise Problem("& comes before < and >: write `and` between two tests")
            raise Problem("compare two values at a time: 0 <= i and i < n")
        return self.operation(node.ops[0], [self.expression(node.left), self.expression(node.comparators[0])])

    def _BoolOp(self, node: ast.BoolOp) -> Expression:
        is_and = isinstance(node.op, ast.And)
        parts = [self.expression(part) for part in node.values]
        result = parts[0]
        for other in parts[1:]:
            if isinstance(result, Known) and isinstance(other, Known):
                result = Known((result.obj and other.obj) if is_and else (result.obj or other.obj))
            else:
                called("logical_and", (result, other))  # refuses what has no truth
                result = self._short(is_true(as_value(result)), is_true(as_value(other)), is_and)
        return result

    def _short(self, first: Value, second: Value, is_and: bool) -> Value:
        """As in C, what stands on the right is looked at only by the threads for which it matters."""
        left, right = first.run, second.run

        def run(lanes: Lanes, mask: Mask) -> Any:
            mask.spend(OPERATION)
            seen = left(lanes, mask)
            if not isinstance(seen, np.ndarray):
                return right(lanes, mask) if bool(seen) == is_and else seen
            rest = lanes.mask(mask.on & (seen if is_and else ~seen))
            if not rest.count:
                return seen
            other = right(lanes, rest)
            return seen & other if is_and else seen | other

        return Value(BOOL, run)

    def _IfExp(self, node: ast.IfExp) -> Expression:
        test, x, y = self.expression(node.test), self.expression(node.body), self.expression(node.orelse)
        if isinstance(test, Known):
            raise Problem("the test of `a if test else b` has to be something that threads compute; use `if` instead")
        x, y = _like(x, y), _like(y, x)
        if not same(x.type, y.type):
            raise Problem(f"one side is {x.type} and the other {y.type}")
        condition, first, second = is_true(test).run, x.run, y.run

        def run(lanes: Lanes, mask: Mask) -> Any:
            seen = condition(lanes, mask)
            if not isinstance(seen, np.ndarray):
                return first(lanes, mask) if seen else second(lanes, mask)
            yes, no = lanes.split(mask, seen)
            if not no.count:
                return first(lanes, yes)
            if not yes.count:
                return second(lanes, no)
            return np.where(seen, first(lanes, yes), second(lanes, no))

        return Value(x.type, run)


_MISSING = {
    "Slice": "slices", "List": "lists: take one variable for each number",
    "Dict": "dictionaries", "Set": "sets", "ListComp": "comprehensions",
    "GeneratorExp": "generators", "Lambda": "lambda", "NamedExpr": ":=", "JoinedStr": "f-strings", "Starred": "*",
    "Is": "`is`", "IsNot": "`is not`", "In": "`in`", "NotIn": "`not in`", "UAdd": "unary +", "MatMult": "@",
    "Await": "await", "Yield": "yield",
}  # fmt: skip
_MISSING = {name: f"a kernel has no {text}" for name, text in _MISSING.items()}


def _one_of(whole: Run, k: int, kind: Any) -> Value:
    return Value(kind, lambda lanes, mask: whole(lanes, mask)[k])


def known_obj(x: Any) -> Any:
    return x.obj


def name_of(found: Any) -> Expression:
    """What a name from outside means."""
    if isinstance(found, names.Name) and found.name == "warpsize":
        return Value(INT, lambda lanes, mask: np.int32(32))
    return Known(found)


def _like(x: Expression, other: Expression) -> Value:
    """A number written in the text takes the type of the other side."""
    if isinstance(x, Value) or isinstance(x.obj, np.generic):
        return as_value(x)
    if not is_number(x.obj):
        raise Problem("both sides are numbers")
    return cast(x, scalar_type(other))


def _product(shape: tuple[int, ...]) -> int:
    size = 1
    for n in shape:
        size *= n
    return size


def _sizes(shape: tuple[int, ...]) -> tuple[Any, ...]:
    return tuple([np.int64(n) for n in shape])


def _strides(ref: Ref) -> tuple[Any, ...]:
    return tuple([np.int64(stride * ref.part.flat.itemsize) for stride in ref.part.strides[ref.axis :]])
