"""A kernel's text becomes functions that compute it for all threads: first statements, then expressions, then calls.

A statement becomes a step: `flow.py` has branches and loops. An expression becomes a `Value`, or is `Known` before the
launch. Types are found before the launch too, as in a compiler, so we find a mistake even in a branch that no thread
takes.
"""

from __future__ import annotations

import ast
import builtins as python
import functools
import inspect
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from ..outside import MISSING, Constants
from ..words import many
from . import advice, memory, names
from .errors import Problem
from .flow import AGAIN, LEFT, both, branch, choose, go_on, leave, loop, sequence
from .lanes import NOBODY, OPERATION, Lanes, Mask
from .memory import Reach, Ref, as_index, reach
from .source import Site, Source
from .types import BOOL, INT, SIGNATURES, SIZE, UINT, VOID, ArrayType, Tuple, held_as, is_number, same, type_of_range
from .values import (
    OPERATORS,
    Expression,
    Known,
    Step,
    Value,
    accessed,
    apply,
    as_type,
    as_value,
    cast,
    computed,
    is_true,
    pack,
    scalar_type,
    waiting,
)

CUPYS_FUNCTIONS = f"{__name__.partition('.')[0]}.functions"  # the module that has CuPy's
NUMBERS = (bool, int, float, complex, np.generic)

# NumPy's functions that a thread can compute. Some of CuPy's are no ufuncs in NumPy.
FUNCTIONS = {getattr(np, name): name for name in SIGNATURES if hasattr(np, name)}
FUNCTIONS |= {np.abs: "absolute", np.true_divide: "true_divide", np.remainder: "remainder", np.conjugate: "conjugate"}
# What a kernel has in place of functions that many would try.
_INSTEAD = {
    "where": "a if test else b", "clip": "min(max(x, low), high)", "abs": "np.abs", "round": "np.rint", "pow": "**",
    "print": "kernel.watched = (block, thread), which shows a thread line by line", "sum": "a loop, or jit.atomic_add",
    "dot": "a loop", "mean": "a loop", "enumerate": "range", "zip": "range", "float32": "np.float32(x) of one number",
}  # fmt: skip
_FUNCTIONS = "NumPy's functions of numbers, such as np.tanh, and your own under @jit.rawkernel(device=True)"
# What a kernel can't have, where people don't call it by the name of Python's node.
_MISSING = {
    "AnnAssign": "annotations", "FunctionDef": "functions inside of it: use one under @jit.rawkernel(device=True)",
    "Assert": "assert: CuPy's compiler fails at it", "ImportFrom": "import", "ClassDef": "classes", "Slice": "slices",
    "MatMult": "@: write a loop over k, s += A[i, k] * B[k, j]",
    "List": "lists: take one variable for each number, or jit.shared_memory(np.float32, n), which all threads of the "
    "block share",
    "Dict": "dictionaries", "Set": "sets", "ListComp": "comprehensions", "GeneratorExp": "generators",
    "NamedExpr": ":=", "JoinedStr": "f-strings", "Is": "`is`", "IsNot": "`is not`", "NotIn": "`not in`",
    "UAdd": "unary +",
}  # fmt: skip
_PARTS_OF_NAMES = (
    ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Tuple, ast.UnaryOp, ast.BinOp, ast.expr_context,
    ast.unaryop, ast.operator,
)  # fmt: skip
# Which kind of error cupyx.jit raises for these (cupyx/jit/_compile.py).
_KINDS: dict[type[Exception], tuple[type, ...]] = {
    NotImplementedError: (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Delete, ast.Lambda),
    TypeError: (ast.Assert, ast.AnnAssign, ast.Match),
    ValueError: (ast.stmt, ast.expr),
    KeyError: (ast.operator, ast.unaryop, ast.cmpop),
}


def _raise_missing(node: ast.AST) -> NoReturn:
    name = type(node).__name__
    kind = next((kind for kind, nodes in _KINDS.items() if isinstance(node, nodes)), TypeError)
    raise Problem(f"a kernel has no {_MISSING.get(name, name.lower())}", kind)


@dataclass
class Variable:
    """A variable of the kernel: its type, and its place among all threads' values."""

    type: Any
    slot: int
    origin: frozenset[str]


class Program:
    """A kernel, translated for arguments of these types."""

    def __init__(self, source: Source, types: Sequence[Any], is_device: bool = False) -> None:
        self.name, self.slots = source.name, 0
        self.needs_warps = False  # whether a line needs all threads of a warp at once
        self.changed: frozenset[str] = frozenset()  # the arguments that it writes
        self.constants = Constants(f"kernel {source.name}", source.name)  # names from outside, as they were
        self._functions: dict[Any, Any] = {}
        parameters: list[tuple[Any, frozenset[str]]] = []
        for name, kind in zip(source.parameters, types):
            if isinstance(kind, ArrayType):
                parameters.append((kind, frozenset([name])))
            else:
                parameters.append((kind, frozenset()))
        made = Translation(self, source, parameters, is_device)
        returned = made.variables.get("return", Variable(VOID, -1, frozenset()))
        self.run, self.result, self.result_slot = waiting(made.body), returned.type, returned.slot

    def new_slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def function(self, source: Source, given: list[Value]) -> Translation:
        """A function of the device, for arguments of these types. It can't call itself."""
        parameters = tuple((value.type, value.origin) for value in given)
        key = source, parameters
        if key not in self._functions:
            self._functions[key] = None
            self._functions[key] = Translation(self, source, parameters, is_device=True)
        if self._functions[key] is None:
            raise source.refusal(source.tree, "a function of the device can't call itself", ValueError)
        return self._functions[key]


class Translation:
    """Translates one function, a kernel or one of its helpers, for parameters of these types and origins."""

    def __init__(self, program: Program, source: Source, parameters: Sequence[Any], is_device: bool) -> None:
        self.program, self.source, self.is_device = program, source, is_device
        self.variables: dict[str, Variable] = {}  # and what a function of the device returns, as "return"
        self.constants: dict[str, Known] = {}  # names in the text for what isn't a number: a type, a function
        self.depth = 0  # of branches and loops around the statement
        self.being_assigned = ""
        self.unused: Any = None  # the call whose result is thrown away
        for name, (kind, origin) in zip(source.parameters, parameters):
            self.variable(name, kind, origin)
        self.body = self.block(source.tree.body)

    def variable(self, name: str, kind: Any, origin: frozenset[str]) -> Variable:
        """The variable of this name. If it's new, it holds values of this type."""
        if name not in self.variables:
            self.variables[name] = Variable(kind, self.program.new_slot(), frozenset())
        self.variables[name].origin |= origin
        return self.variables[name]

    def new_temporary(self, kind: Any) -> tuple[int, Value]:
        """A place for a value that has no name in the text, and what reads it."""
        slot = self.program.new_slot()
        return slot, Value(kind, lambda lanes, mask: lanes.held[slot].value)

    def block(self, statements: list[ast.stmt]) -> Step:
        """All of these, one after the other, until no thread is left."""
        texts = [s for s in statements if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant)]
        translated = [(self.translate(s), s) for s in statements if s not in texts and not isinstance(s, ast.Pass)]
        return sequence([(step, functools.partial(self._note_line, statement)) for step, statement in translated])

    def _note_line(self, statement: ast.stmt, lanes: Lanes, mask: Mask) -> None:
        if not isinstance(statement, (ast.If, ast.For, ast.While)):
            lanes.watch.note_line(statement, self.source, lanes, mask, self.variables)

    def inner(self, statements: list[ast.stmt]) -> Step:
        """A block in a branch or a loop."""
        self.depth += 1
        run = self.block(statements)
        self.depth -= 1
        return run

    def translate(self, node: Any) -> Any:
        """Call the method with this node's name: it makes a `Step` or an `Expression`. Raises `Refused`."""
        method = getattr(self, f"_{type(node).__name__}", _raise_missing)
        try:
            return method(node)
        except Problem as problem:
            raise self.source.refusal(node, str(problem), problem.kind) from None

    # -- assignments -----------------------------------------------------------------------------

    def _Assign(self, node: ast.Assign) -> Step:
        if len(node.targets) != 1:
            raise Problem("one assignment at a time, not a = b = …", NotImplementedError)
        target = node.targets[0]
        self.being_assigned = target.id if isinstance(target, ast.Name) else ""
        found = self.translate(node.value)
        if isinstance(target, ast.Name) and isinstance(found, Known) and not isinstance(found.obj, (*NUMBERS, tuple)):
            return self._name_constant(target.id, found)
        given = as_value(found)
        self.being_assigned = ""
        if same(given.type, VOID):
            raise Problem("this gives nothing that could be assigned")
        return self.assign(target, given)

    def _name_constant(self, name: str, found: Known) -> Step:
        """``kind = np.float32``: the name stands for it from here on, in whatever the compiler sees."""
        if isinstance(found.obj, names.Name):
            as_value(found)  # what to write instead
        if self.depth:
            raise Problem(f"{name} can stand for a {type(found.obj).__name__} only outside of branches and loops")
        if name in self.variables:
            raise Problem(f"Type mismatch of variable: {name} holds {self.variables[name].type} already")
        self.constants[name] = found
        return Step(VOID, go_on)

    def assign(self, target: Any, given: Value) -> Step:
        """Returns what stores a value under a name, in an element, or in several of them."""
        if isinstance(target, ast.Name):
            return self._assign_name(target, given)
        if isinstance(target, ast.Subscript):
            to, find, site = self.element(self.translate(target.value), self.translate(target.slice), target)
            parts = [_into_element(given, to, target), find]
            return accessed(VOID, parts, lambda lanes, mask, new, place: memory.store(lanes, mask, new, place, site))
        if not isinstance(target, ast.Tuple):
            raise Problem("a value goes to a name, an element, or several of them")
        if not isinstance(given.type, Tuple) or len(given.type.types) != len(target.elts):
            count = len(target.elts)
            raise Problem(f"{count} names take {count} values, and here is a {given.type}", ValueError)
        if given.type.is_shape:
            raise Problem("NVIDIA's compiler can't take a shape apart: write n = x.shape[0]")
        slot, several = self.new_temporary(given.type)
        keep = computed(VOID, [given], lambda lanes, mask, values: lanes.held[slot].put(values))
        steps = [self.assign(part, _one_of(several, k)) for k, part in enumerate(target.elts)]
        return computed(VOID, [keep, *steps], go_on)

    def _assign_name(self, target: ast.Name, given: Value) -> Step:
        name, site, kind = target.id, Site(self.source, target), given.type
        variable = self.variable(name, kind, given.origin)
        keeps = ". A variable keeps its type: take a new name"
        if name in self.source.parameters:
            keeps = f": {name} is an argument; take another name"
        elif isinstance(kind, np.dtype) and (kind.kind, getattr(variable.type, "kind", "")) == ("f", "i"):
            keeps = f". Begin with {name} = 0.0, or divide with //, which gives an int"
        slot, value = variable.slot, _convert_to(given, variable.type, name, keeps)
        if value.waits:
            return computed(VOID, [value], lambda lanes, mask, new: lanes.assign(mask, slot, new, site))
        run = value.run
        return Step(VOID, lambda lanes, mask: lanes.assign(mask, slot, run(lanes, mask), site))

    def element(self, owner: Expression, index: Expression, target: ast.Subscript) -> tuple[np.dtype, Value, Site]:
        """An element to write: its type, what finds it for each thread, and its place in the text."""
        if not isinstance(owner, Value) or not isinstance(owner.type, ArrayType):
            raise Problem("only an array argument and shared memory have elements to write")
        indices, site = self.indices(owner, index, target), Site(self.source, target)
        if missing := owner.type.ndim - len(indices.type.types):
            raise Problem(advice.one_element(target, missing))
        self.program.changed |= owner.origin
        return owner.type.dtype, _element_finder(owner, indices, site), site

    def _AugAssign(self, node: ast.AugAssign) -> Step:
        given = as_value(self.translate(node.value))
        target = node.target
        if isinstance(target, ast.Name):
            old = self.translate(ast.copy_location(ast.Name(target.id, ast.Load()), target))
            if isinstance(old, Known):
                raise Problem(f"{target.id} isn't the kernel's own: assign it first")
            return self._assign_name(target, as_value(self.operation(node.op, [old, given])))
        if not isinstance(target, ast.Subscript):
            raise Problem("only a name or an element can be changed like this")
        kind, find, site = self.element(self.translate(target.value), self.translate(target.slice), target)
        slot, before = self.new_temporary(kind)
        held = held_as(kind)
        after = _into_element(as_value(self.operation(node.op, [before, given])), kind, target)

        def load(lanes: Lanes, mask: Mask, to: Reach) -> Reach:
            lanes.held[slot].value = memory.load(lanes, mask, to, site).astype(held, copy=False)
            return to

        def store(lanes: Lanes, mask: Mask, to: Reach, new: Any) -> None:
            memory.store(lanes, mask, new, to, site)

        return accessed(VOID, [accessed(VOID, [find], load), after], store)

    def _Expr(self, node: ast.Expr) -> Step:
        self.unused = node.value
        value = self.translate(node.value)
        self.unused = None
        if isinstance(value, Known) and isinstance(value.obj, names.Builtin):
            text = ast.unparse(node.value)
            call = f"{text}()"
            if value.obj.name.startswith("grid"):
                call = f"{text}(1)"
            raise Problem(f"{text} does nothing without (): write {call}")
        if isinstance(value, Known):
            return Step(VOID, go_on)
        if same(value.type, VOID):
            return value
        return computed(VOID, [value], go_on)

    # -- where threads part and meet again: branches, loops, returns -----------------------------

    def _If(self, node: ast.If) -> Step:
        test = self.translate(node.test)
        if isinstance(test, Known):  # decided before the launch: the other side isn't even compiled
            return self.block(node.body if test.obj else node.orelse)
        condition = is_true(test)
        body = self.inner(node.body)
        orelse = self.inner(node.orelse)

        def note(lanes: Lanes, mask: Mask, seen: Any) -> None:
            lanes.watch.note_test(node, self.source, lanes, mask, seen)

        return branch(condition, body, orelse, note)

    def _While(self, node: ast.While) -> Step:
        def show(lanes: Lanes, mask: Mask, seen: Any) -> Any:
            """The test's answer, which a watched thread shows."""
            if lanes.watch is not None:
                lanes.watch.note_test(node, self.source, lanes, mask, seen)
            return seen

        going = computed(BOOL, [is_true(as_value(self.translate(node.test)))], show)
        nothing = computed(VOID, [], lambda lanes, mask: (going.run, go_on, go_on))
        return self._loop(node, nothing, going.waits)

    def _For(self, node: Any) -> Step:
        if not isinstance(node.target, ast.Name):
            raise Problem("a loop has one name")
        if isinstance(node.iter, ast.Call):
            found = self.translate(node.iter.func)
        else:
            found = None
        if not isinstance(found, Known) or found.obj not in (python.range, names.range):
            raise Problem("for goes over range(…) or jit.range(…) alone", NotImplementedError)
        args = [self.translate(argument) for argument in node.iter.args]
        keywords = {keyword.arg: self.translate(keyword.value) for keyword in node.iter.keywords}
        unroll: Expression = keywords.pop("unroll", Known(None))
        if keywords or not 1 <= len(args) <= 3 or any(scalar_type(x).kind not in "iu" for x in args):
            raise Problem("range takes one to three integers, and unroll=")
        known = _known_values([*args, unroll])
        if unroll != Known(None) and not (known and isinstance(known[-1], int)):
            raise Problem("a loop can only be unrolled if its range and unroll=, a number, are known before the launch")
        if len(args) == 1:
            args.insert(0, Known(0))
        start, stop, step = [*args, Known(1)][:3]
        kind, name = type_of_range(scalar_type(stop)), node.target.id
        if name in self.variables and not same(self.variables[name].type, kind):
            raise Problem(f"{name} holds {self.variables[name].type} already, and range counts in {kind}")
        slot, count = self.new_temporary(kind)
        put = self._assign_name(node.target, count).run
        limits = [cast(x, kind, checked=False) for x in (start, stop, step)]

        def ready(lanes: Lanes, mask: Mask, first: Any, last: Any, each: Any) -> tuple[Callable, Any, Any]:
            at = lanes.held[slot]
            at.value = first
            falls = each < 0

            def goes_on(lanes: Lanes, mask: Mask) -> Any:
                mask.spend(OPERATION)
                if isinstance(falls, np.ndarray):
                    return np.where(falls, at.value > last, at.value < last)
                if falls:
                    return at.value > last
                return at.value < last

            def before(lanes: Lanes, mask: Mask) -> None:
                put(lanes, mask)
                if lanes.watch is not None:
                    lanes.watch.note_line(node, self.source, lanes, mask, self.variables)

            def after(lanes: Lanes, mask: Mask) -> None:
                mask.spend(OPERATION)
                at.value = at.value + each

            return goes_on, before, after

        return self._loop(node, computed(VOID, limits, ready), False)

    def _loop(self, node: Any, ready: Value, test_waits: bool) -> Step:
        """`ready` gives a loop's test, which may wait, and what to do before and after each round."""
        if node.orelse:
            raise Problem("a loop has no else", NotImplementedError)
        body = self.inner(node.body)
        return loop(ready, test_waits, body, Site(self.source, node), advice.endless(node, self.source.tree))

    def _Break(self, node: ast.Break | ast.Continue) -> Step:
        way = AGAIN if isinstance(node, ast.Continue) else LEFT
        return Step(VOID, lambda lanes, mask: leave(lanes, mask, way))

    _Continue = _Break

    def _Return(self, node: ast.Return) -> Step:
        value = Known(None) if node.value is None else self.translate(node.value)
        if not self.is_device:
            if value != Known(None):
                raise Problem("a kernel returns nothing: write the result into an array", ValueError)
            return Step(VOID, lambda lanes, mask: lanes.exit(mask))
        if value == Known(None):
            given = Value(VOID, lambda lanes, mask: None)
        else:
            given = as_value(value)
        result, site = self.variable("return", given.type, given.origin), Site(self.source, node)
        if not same(result.type, given.type):
            raise Problem(f"this function returns {result.type} elsewhere, and here {given.type}", ValueError)

        def go_back(lanes: Lanes, mask: Mask, value: Any) -> Mask:
            """The threads go back to the caller, with this value. Other threads may have gone back before."""
            if value is not None:
                lanes.assign(mask, result.slot, value, site)
            return lanes.nobody

        return computed(VOID, [given], go_back)

    # -- expressions: names and attributes -------------------------------------------------------

    def note_constant(self, node: Any, found: Any) -> None:
        """Note what's compiled in: a name from outside, and a number or a function that one holds: ``sizes.width``."""
        parts = list(ast.walk(node))
        if not all(isinstance(part, _PARTS_OF_NAMES) for part in parts):  # a call isn't made again
            return
        if any(isinstance(part, ast.Name) and part.id in self.constants for part in parts):
            return
        if isinstance(node, ast.Name) or is_number(found) or hasattr(found, "as_part_of"):
            name = ast.unparse(node)
            if self.source.name != self.program.name:
                name = f"{name} in {self.source.name}"
            self.program.constants.add(self.source, name, self.source.reader(node), found)

    def _Constant(self, node: ast.Constant) -> Expression:
        return Known(node.value)

    def _Tuple(self, node: ast.Tuple) -> Expression:
        parts = [self.translate(part) for part in node.elts]
        known = _known_values(parts)
        if known is None:
            return pack([as_value(part) for part in parts])
        return Known(tuple(known))

    def _Name(self, node: ast.Name) -> Expression:
        if node.id not in self.variables and node.id in self.constants:
            return self.constants[node.id]
        if node.id not in self.variables:
            found = self.source.outside(node.id)
            if found is MISSING:
                raise Problem(f"Unbound name: {node.id}: nothing is called {node.id} here", NameError)
            self.note_constant(node, found)
            return name_of(found)
        site, variable, fix = Site(self.source, node), self.variables[node.id], "Assign it before the `if` or the loop."
        kind, slot, origin = variable.type, variable.slot, variable.origin
        what = f"{node.id} has no value in this thread yet: it went past the line that assigns it."
        return Value(kind, lambda lanes, mask: lanes.value_of(mask, slot, site, what, fix), origin, node)

    def _Attribute(self, node: ast.Attribute) -> Expression:
        owner = self.translate(node.value)
        if isinstance(owner, Known):
            if isinstance(owner.obj, names.Dim3):
                if node.attr not in ("x", "y", "z"):
                    raise Problem(f"{owner.obj!r} has .x, .y and .z", AttributeError)
                dim, axis = owner.obj.name, "xyz".index(node.attr)
                return Value(UINT, lambda lanes, mask: lanes.axes[dim][axis])
            found = _compute_now(getattr, owner.obj, node.attr)
            self.note_constant(node, found)
            return name_of(found)
        name = node.attr
        if isinstance(owner.type, ArrayType) and not owner.type.is_shared:
            if name == "ndim":
                return Known(owner.type.ndim)
            if name == "size":
                return computed(SIZE, [owner], lambda lanes, mask, array: np.int64(math.prod(array.shape)))
            if name in ("shape", "strides"):
                sizes = Tuple((SIZE,) * owner.type.ndim, True)
                return computed(sizes, [owner], lambda lanes, mask, array: tuple(map(np.int64, getattr(array, name))))
        what = f"a {owner.type} has no .{node.attr} in a kernel; an array has .shape, .size, .ndim"
        raise Problem(what, AttributeError)

    def _Subscript(self, node: ast.Subscript) -> Expression:
        owner, index = self.translate(node.value), self.translate(node.slice)
        if isinstance(owner, Known):
            if not isinstance(index, Known):
                raise Problem("only an array argument has elements that a thread chooses")
            found = _compute_now(operator.getitem, owner.obj, index.obj)
            self.note_constant(node, found)
            return name_of(found)
        if isinstance(owner.type, Tuple):
            if not isinstance(index, Known) or not isinstance(index.obj, int):
                raise Problem("which value of several is meant must be known before the launch")
            count = len(owner.type.types)
            if not 0 <= index.obj < count:
                raise Problem(f"there are {count} values, 0 to {count - 1}; got {index.obj}", IndexError)
            return _one_of(owner, index.obj)
        if not isinstance(owner.type, ArrayType):
            raise Problem(f"only arrays have elements; this is a {owner.type}")
        indices = self.indices(owner, index, node)
        count = len(indices.type.types)
        if count < owner.type.ndim:  # a view: what's left after the first axes

            def view(lanes: Lanes, mask: Mask, whole: Ref, index: tuple) -> Ref:
                part, axis, offset = whole
                steps = [as_index(k) * stride for k, stride in zip(index, part.strides[axis:])]
                return Ref(part, axis + count, sum(steps, offset))

            found = computed(ArrayType(owner.type.dtype, owner.type.ndim - count), [owner, indices], view)
            return found._replace(origin=owner.origin, node=node)
        site = Site(self.source, node)
        find = _element_finder(owner, indices, site)
        kind = owner.type.dtype
        element = accessed(kind, [find], lambda lanes, mask, to: memory.load(lanes, mask, to, site))
        if held_as(kind) == kind:
            return element
        return computed(kind, [element], lambda lanes, mask, value: as_type(value, kind))

    def indices(self, owner: Value, index: Expression, node: Any) -> Value:
        """The index of each axis, all in one. Raises `Problem` if there are too many, or if one isn't an integer."""
        given = as_value(index)
        if isinstance(given.type, ArrayType):
            raise Problem("an index is one integer for each axis, not an array")
        if not isinstance(given.type, Tuple):
            given = pack([given])
        count = len(given.type.types)
        if count > owner.type.ndim:
            axes = many(owner.type.ndim, "axis", "axes")
            raise Problem(f"{ast.unparse(node.value)} has {axes}, got {count} indices", IndexError)
        for k, kind in enumerate(given.type.types):
            if scalar_type(_one_of(given, k)).kind not in "iu":
                raise Problem(f"an index is an integer, not {kind}; // divides to one")
        return given

    def operation(self, op: Any, operands: list[Expression]) -> Expression:
        if type(op) not in OPERATORS:
            _raise_missing(op)
        (name, compute), known = OPERATORS[type(op)], _known_values(operands)
        if known is not None:
            return Known(_compute_now(compute, *known))
        return apply(name, operands, "smaller" if isinstance(op, (ast.Lt, ast.LtE, ast.Gt, ast.GtE)) else "")

    def _BinOp(self, node: ast.BinOp) -> Expression:
        if isinstance(node.op, ast.MatMult):  # its sides may be slices, which aren't what's wrong
            _raise_missing(node.op)
        return self.operation(node.op, [self.translate(node.left), self.translate(node.right)])

    def _UnaryOp(self, node: ast.UnaryOp) -> Expression:
        return self.operation(node.op, [self.translate(node.operand)])

    def _Compare(self, node: ast.Compare) -> Expression:
        if len(node.ops) > 1:  # or `i > 0 & i < n`, where & comes first
            raise Problem("compare two values at a time, with `and` between: 0 <= i and i < n", NotImplementedError)
        return self.operation(node.ops[0], [self.translate(node.left), self.translate(node.comparators[0])])

    def _BoolOp(self, node: ast.BoolOp) -> Expression:
        parts = [self.translate(part) for part in node.values]
        return functools.reduce(lambda x, y: self._both(x, y, isinstance(node.op, ast.And)), parts)

    def _both(self, x: Expression, y: Expression, is_and: bool) -> Expression:
        """``x and y``, or else ``x or y``. As in C, only the threads for which the right side matters look at it."""
        if isinstance(x, Known) and isinstance(y, Known):
            return Known((x.obj and y.obj) if is_and else (x.obj or y.obj))
        apply("logical_and", (x, y))  # refuses what isn't true or false
        return both(is_true(as_value(x)), is_true(as_value(y)), is_and)

    def _IfExp(self, node: ast.IfExp) -> Expression:
        test, x, y = self.translate(node.test), self.translate(node.body), self.translate(node.orelse)
        if isinstance(test, Known):
            raise Problem("the test of `a if test else b` has to be something that threads compute; use `if` instead")
        x, y = _like(x, y), _like(y, x)
        if not same(x.type, y.type):
            raise Problem(f"one side is {x.type} and the other {y.type}")
        return choose(is_true(test), x, y)

    def _Call(self, node: ast.Call) -> Expression:
        called = self.translate(node.func)
        if not isinstance(called, Known) or not callable(called.obj):
            raise Problem("this is a value, not a function")
        function = called.obj
        if any(isinstance(x, ast.Starred) for x in node.args) or any(keyword.arg is None for keyword in node.keywords):
            raise Problem("write out the arguments, without * and **")
        args = [self.translate(argument) for argument in node.args]
        keywords = {str(keyword.arg): self.translate(keyword.value) for keyword in node.keywords}
        if isinstance(function, names.Builtin):
            build = function.build
        else:
            build = names.PYTHONS.get(function)
        if build is not None:
            try:
                inspect.signature(build).bind(self, node, *args, **keywords)
            except TypeError as error:
                if function in (names.grid, names.gridsize) and not args:
                    raise Problem(f"write {function!r}(1), or 2 or 3 for the number of axes") from None
                raise Problem(f"{function!r}: {error}") from None
            return build(self, node, *args, **keywords)
        if hasattr(function, "as_part_of"):  # a kernel of ours
            if keywords:
                raise Problem("a function of the device takes no keywords")
            return function.as_part_of(self, args)
        name = _name_of_function(function)
        if name is not None:
            dtype, count = keywords.pop("dtype", Known(None)), len(SIGNATURES[name][0][0])
            if keywords or len(args) != count or not isinstance(dtype, Known):
                kind = ValueError if len(args) != count else TypeError
                raise Problem(f"np.{name} takes {many(count, 'number')} and no keywords but dtype", kind)
            gives = None if dtype.obj is None else _compute_now(np.dtype, dtype.obj)
            return apply(name, args, gives=gives)
        known = _known_values([*args, *keywords.values()])
        if known is not None and function is not print:
            found = _compute_now(function, *known[: len(args)], **dict(zip(keywords, known[len(args) :])))
            if not isinstance(found, np.ndarray):
                return name_of(found)
            shared = f"jit.shared_memory(np.{found.dtype}, {found.size}), which all threads of the block share"
            raise Problem(f"a kernel makes no arrays: give it one as an argument, or take {shared}")
        if inspect.isclass(function) and issubclass(function, (bool, int, float, complex, np.generic)):
            if len(args) != 1 or keywords:
                raise Problem(f"{function.__name__}(…) takes one number")
            return cast(args[0], np.dtype(function), checked=False)
        word = getattr(function, "__name__", str(function))
        instead = _INSTEAD.get(word, f"np.{word}" if hasattr(math, word) and word in SIGNATURES else _FUNCTIONS)
        raise Problem(f"a kernel doesn't know {word}. There's {instead}")


def _name_of_function(function: Any) -> str | None:
    """The name of NumPy's function that this is, whether NumPy's own or CuPy's. None for another one."""
    try:
        if function in FUNCTIONS:
            return FUNCTIONS[function]
    except TypeError:  # it can't be looked up
        return None
    home = getattr(function, "__module__", None) or type(function).__module__
    name = getattr(function, "__name__", "")
    if home == CUPYS_FUNCTIONS and name in SIGNATURES:
        return name
    return None


def _element_finder(owner: Value, indices: Value, site: Site) -> Value:
    """Returns what finds an element for each thread."""

    def find(lanes: Lanes, mask: Mask, array: Ref, index: Any) -> Reach:
        return reach(lanes, mask, array, index, site)

    return computed(VOID, [owner, indices], find)


def _convert_to(given: Value, to: Any, what: str, advised: str) -> Value:
    """`given` as what a name or an array holds."""
    if same(given.type, to):
        return given
    if isinstance(to, np.dtype) and np.can_cast(scalar_type(given), to, "same_kind"):
        return cast(given, to)
    if isinstance(to, np.dtype):
        mismatch = ""
    else:
        mismatch = f"Data type mismatch of variable: {what}: "
    raise Problem(f"{mismatch}{what} holds {to} and can't take {given.type}{advised}")


def _into_element(given: Value, to: np.dtype, target: ast.Subscript) -> Value:
    write = f"{ast.unparse(target)} = {'int' if to.kind == 'i' else f'np.{to}'}(…)"
    return _convert_to(given, to, ast.unparse(target.value), f". Make it one of {given.type}, or write {write}")


def call_of(source: Source, caller: Translation, args: list[Expression]) -> Value:
    """A call of a device function in `caller`. It has its own names, and its own lines."""
    given = [as_value(x) for x in args]
    if len(given) != len(source.parameters):
        raise Problem(f"{source.name} {source.takes}, got {len(given)}")
    made = caller.program.function(source, given)
    own = [variable.slot for variable in made.variables.values()]
    result = made.variables.get("return", Variable(VOID, -1, frozenset()))
    end = Site(source, source.tree)

    def begin(lanes: Lanes, mask: Mask, *values: Any) -> None:
        for slot in own:
            lanes.held[slot].given = NOBODY
        for slot, value in zip(own, values):  # the parameters come first
            lanes.held[slot].put(value)

    def finish(lanes: Lanes, mask: Mask, *done: Any) -> Any:
        if same(result.type, VOID):
            return None
        return lanes.value_of(mask, result.slot, end, "this thread gets to the end without a return.")

    def run(lanes: Lanes, mask: Mask) -> Any:
        begin(lanes, mask, *[argument.run(lanes, mask) for argument in given])
        body(lanes, mask)
        return finish(lanes, mask)

    parts, body = [computed(VOID, given, begin), made.body], made.body.run
    if any(part.waits for part in parts):
        return computed(result.type, parts, finish)._replace(origin=result.origin)
    return Value(result.type, run, result.origin)


def _one_of(several: Value, k: int) -> Value:
    return computed(several.type.types[k], [several], lambda lanes, mask, values: values[k])


def _known_values(parts: Sequence[Expression]) -> list[Any] | None:
    """Their values, if all of them are known before the launch."""
    known = [part.obj for part in parts if isinstance(part, Known)]
    if len(known) == len(parts):
        return known
    return None


def _compute_now(compute: Callable, *args: Any, **keywords: Any) -> Any:
    try:
        return compute(*args, **keywords)
    except Exception as error:
        raise Problem(str(error), type(error)) from None


def name_of(found: Any) -> Expression:
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
