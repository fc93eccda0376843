"""A kernel's statements: each is given the threads that come to it, and gives those that go on to the next one.

Here are those that go straight on; `branches.py` has the others.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from . import accesses, advice
from .calls import Calls
from .expressions import Variable
from .lanes import Lanes, Mask
from .memory import reach
from .names import Builtin
from .source import Source
from .types import ArrayType, Pointer, Tuple, Void, can_become, is_number, same
from .values import Expression, Known, Problem, Value, WholeArray, as_value, cast, hint, scalar_type

Step = Callable[[Lanes, Mask], Mask]


class Statements(Calls):
    """Translates one function, a kernel or one of its helpers, for arguments of certain types."""

    def __init__(self, program: Any, source: Source, parameters: list[Value], is_device: bool) -> None:
        super().__init__(program, source)
        self.is_device, self.result = is_device, None
        self.depth = 0  # of branches and loops
        self.in_loop = False
        for name, value in zip(source.parameters, parameters):
            self.variables[name] = Variable(value.type, program.new_slot(), value.origin)
        self.body = self.block(source.tree.body)

    def block(self, statements: list[ast.stmt]) -> Step:
        """All of these, one after the other, until nobody is left."""
        steps = [(self.statement(s), s) for s in statements if not _is_docstring(s)]
        source = self.source

        def run(lanes: Lanes, mask: Mask) -> Mask:
            for step, statement in steps:
                here, mask = mask, step(lanes, mask)
                if lanes.watch is not None:
                    lanes.watch.after(statement, source, lanes, here, self.variables)
                if not mask.count:
                    break
            return mask

        return run

    def inner(self, statements: list[ast.stmt], in_loop: bool = False) -> Step:
        """The body of a branch or a loop."""
        before, self.in_loop = self.in_loop, self.in_loop or in_loop
        self.depth += 1
        try:
            return self.block(statements)
        finally:
            self.depth, self.in_loop = self.depth - 1, before

    def statement(self, node: Any) -> Step:
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None or not isinstance(node, _STATEMENTS):
            name = type(node).__name__
            raise self.source.refused(node, _MISSING.get(name, f"a kernel has no {name.lower()}"))
        try:
            return method(node)
        except Problem as problem:
            raise self.refused(node, problem) from None

    # -- assignments -----------------------------------------------------------------------------

    def _Assign(self, node: ast.Assign) -> Step:
        if len(node.targets) != 1:
            raise Problem("one assignment at a time, not a = b = …")
        target = node.targets[0]
        self.being_assigned = target.id if isinstance(target, ast.Name) else ""
        value = self.expression(node.value)
        self.being_assigned = ""
        if isinstance(value, Known) and isinstance(target, ast.Name) and not is_number(value.obj):
            if self.depth:
                raise Problem("inside a branch or a loop, a name can only be given a number")
            if target.id in self.variables:
                raise Problem(f"{target.id} holds {self.variables[target.id].type} already")
            self.constants[target.id] = value.obj
            return nothing
        given = as_value(value)
        if isinstance(given.type, Void):
            raise Problem("this gives nothing that could be assigned")
        if isinstance(target, ast.Name) and target.id in self.variables:
            self._whole_quotient(node.value, self.variables[target.id].type, f"{target.id} = {{}}")
        put = self.assign(target, given.type, given.origin)
        run = given.run

        def step(lanes: Lanes, mask: Mask) -> Mask:
            put(lanes, mask, run(lanes, mask))
            return mask

        return step

    def assign(self, target: Any, kind: Any, origin: frozenset[str]) -> Callable[[Lanes, Mask, Any], None]:
        """What stores a value of this type under a name, in an element, or in several of them."""
        if isinstance(target, ast.Name):
            return self._assign_name(target, kind, origin)
        if isinstance(target, ast.Subscript):
            return self._assign_element(target, kind)
        if not isinstance(target, ast.Tuple):
            raise Problem("a value goes to a name, an element, or several of them")
        if not isinstance(kind, Tuple) or len(kind.types) != len(target.elts):
            raise Problem(f"{len(target.elts)} names take {len(target.elts)} values, and here is a {kind}")
        if kind.is_shape:
            raise Problem("NVIDIA's compiler can't take a shape apart: write n = x.shape[0]")
        puts = [self.assign(part, one, frozenset()) for part, one in zip(target.elts, kind.types)]

        def put_all(lanes: Lanes, mask: Mask, value: Any) -> None:
            for put, one in zip(puts, value):
                put(lanes, mask, one)

        return put_all

    def _converted(self, kind: Any, to: Any, what: str) -> Callable[[Any], Any] | None:
        """How a value becomes what the name or array holds. None if it is that already."""
        if not isinstance(kind, np.dtype) or not isinstance(to, np.dtype):
            if not same(kind, to):
                if isinstance(to, np.dtype) and isinstance(kind, (ArrayType, Pointer)):
                    raise WholeArray(f"{what} holds one number, {to}")
                raise Problem(f"{what} holds {to} and can't take {kind}{self._new_name(what)}")
            return None
        if kind == to:
            return None
        if not can_become(kind, to):
            variable = self.variables.get(what)
            is_name = variable is not None and isinstance(variable.type, np.dtype)
            begin = f". Begin with {what} = 0.0" if is_name and (to.kind, kind.kind) == ("i", "f") else ""
            new = self._new_name(what)
            if is_name and not new and (to.kind, kind.kind) == ("u", "i"):
                new = f". A variable keeps its type: take a new name, {advice.another(what)} = int({what})"
            raise Problem(f"{what} holds {to} and can't take {kind}", new or begin or hint(kind, to))
        return lambda value: value.astype(to) if isinstance(value, np.ndarray) else np.asarray(value).astype(to)[()]

    def _whole_quotient(self, value: Any, kind: Any, write: str) -> None:
        """Raises `Problem` where ``step / 2`` is meant to stay an integer."""
        is_quotient = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div)
        if not is_quotient or not isinstance(kind, np.dtype) or kind.kind not in "iu":
            return
        if all(scalar_type(self.expression(part)).kind in "iu" for part in (value.left, value.right)):
            whole = ast.unparse(ast.BinOp(value.left, ast.FloorDiv(), value.right))
            raise Problem(f"/ gives a float: write {write.format(whole)}")

    def _new_name(self, what: str) -> str:
        return f": {what} is an argument; take another name" if what in self.source.parameters else ""

    def _assign_name(self, target: ast.Name, kind: Any, origin: frozenset[str]) -> Callable[[Lanes, Mask, Any], None]:
        name, source = target.id, self.source
        if name not in self.variables:
            self.variables[name] = Variable(kind, self.program.new_slot(), origin)
        variable = self.variables[name]
        variable.origin |= origin
        convert, slot = self._converted(kind, variable.type, name), variable.slot

        def put(lanes: Lanes, mask: Mask, value: Any) -> None:
            lanes.assign(mask, slot, convert(value) if convert else value, target, source)

        return put

    def _assign_element(self, target: ast.Subscript, kind: Any) -> Callable[[Lanes, Mask, Any], None]:
        owner, indices, site = self._place(target)
        if isinstance(kind, np.dtype) and not can_become(kind, owner.type.dtype):
            raise Problem(advice.other_array(target, owner.type, kind))
        convert = self._converted(kind, owner.type.dtype, ast.unparse(target.value))
        run, runs = owner.run, [index.run for index in indices]

        def put(lanes: Lanes, mask: Mask, value: Any) -> None:
            ref = run(lanes, mask)
            to = reach(lanes, mask, ref, [index(lanes, mask) for index in runs], site)
            accesses.store(lanes, mask, ref, to, convert(value) if convert else value, site)

        return put

    def _place(self, target: ast.Subscript) -> tuple[Value, list[Value], Any]:
        owner = self.expression(target.value)
        if not isinstance(owner, Value) or not isinstance(owner.type, (ArrayType, Pointer)):
            raise Problem("only an array argument and shared memory have elements to write")
        indices = self.indices(owner, self.expression(target.slice), target)
        if len(indices) != owner.type.ndim:
            raise Problem(advice.one_element(target, owner.type.ndim - len(indices)))
        self.program.changed |= owner.origin
        return owner, indices, self.site(target)

    def _AugAssign(self, node: ast.AugAssign) -> Step:
        given = as_value(self.expression(node.value))
        if isinstance(node.target, ast.Name):
            old = self.expression(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
            if isinstance(old, Known):
                raise Problem(f"{node.target.id} isn't the kernel's own: assign it first")
            if isinstance(old.type, (ArrayType, Pointer)):
                raise Problem(advice.changed_element(node, old.type.ndim))
            kind = scalar_type(old)
            quotient = ast.BinOp(ast.copy_location(ast.Name(node.target.id, ast.Load()), node), node.op, node.value)
            self._whole_quotient(quotient, kind, f"{node.target.id} //= {ast.unparse(node.value)}")
            new = self.operation(node.op, [old, given])
            put, run = self._assign_name(node.target, self._result(new, kind, node.target.id), frozenset()), new.run  # type: ignore[union-attr]

            def step(lanes: Lanes, mask: Mask) -> Mask:
                put(lanes, mask, run(lanes, mask))
                return mask

            return step
        if not isinstance(node.target, ast.Subscript):
            raise Problem("only a name or an element can be changed so")
        return self._change_element(node, node.target, given)

    def _result(self, new: Expression, kind: np.dtype, what: str) -> np.dtype:
        got = scalar_type(new)
        if not can_become(got, kind):
            more = f": begin with {what} = 0.0" if kind.kind in "iu" and got.kind == "f" else hint(got, kind)
            raise Problem(f"{what} holds {kind}, and the result is {got}", more)
        return got

    def _change_element(self, node: ast.AugAssign, target: ast.Subscript, given: Value) -> Step:
        owner, indices, site = self._place(target)
        box: list[Any] = [None]
        kind = owner.type.dtype
        new = self.operation(node.op, [Value(kind, lambda lanes, mask: box[0]), given])
        if not can_become(got := scalar_type(new), kind):
            raise Problem(advice.other_array(target, owner.type, got))
        run, runs, compute = owner.run, [index.run for index in indices], cast(new, kind, checked=False).run

        def step(lanes: Lanes, mask: Mask) -> Mask:
            ref = run(lanes, mask)
            given_indices = [index(lanes, mask) for index in runs]
            box[0] = accesses.load(lanes, mask, ref, given_indices, site)
            value = compute(lanes, mask)
            accesses.store(lanes, mask, ref, reach(lanes, mask, ref, given_indices, site), value, site)
            return mask

        return step

    # -- the rest --------------------------------------------------------------------------------

    def _Expr(self, node: ast.Expr) -> Step:
        self.unused = node.value
        value = self.expression(node.value)
        self.unused = None
        if isinstance(value, Known):
            if isinstance(value.obj, Builtin):
                text = ast.unparse(node.value)
                raise Problem(f"{text} does nothing without (): write {text}({'1' * text.endswith(_WITH_AXES)})")
            return nothing
        run = value.run

        def step(lanes: Lanes, mask: Mask) -> Mask:
            run(lanes, mask)
            return mask

        return step

    def _Pass(self, node: ast.Pass) -> Step:
        return nothing


def nothing(lanes: Lanes, mask: Mask) -> Mask:
    return mask


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


_WITH_AXES = ("grid", "gridsize")
_STATEMENTS = (
    ast.Assign,
    ast.AugAssign,
    ast.If,
    ast.While,
    ast.For,
    ast.Break,
    ast.Continue,
    ast.Return,
    ast.Expr,
    ast.Pass,
)
_MISSING = {
    "AnnAssign": "annotations", "FunctionDef": "functions inside of it: use one under @jit.rawkernel(device=True)",
    "Try": "try", "Raise": "raise", "Assert": "assert: CuPy's compiler fails at it", "With": "with",
    "Import": "import", "ImportFrom": "import", "Delete": "del", "Global": "global", "Nonlocal": "nonlocal",
    "ClassDef": "classes", "Match": "match",
}  # fmt: skip
_MISSING = {name: f"a kernel has no {text}" for name, text in _MISSING.items()}
