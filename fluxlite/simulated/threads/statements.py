"""A kernel's statements: each is given the threads that come to it, and gives those that go on to the next one."""

from __future__ import annotations

import ast
import builtins as python
from collections.abc import Callable
from typing import Any

import numpy as np

from . import accesses, names
from .errors import Endless, NeverWritten
from .expressions import Expressions, Variable
from .lanes import OPERATION, Lanes, Mask
from .memory import reach
from .source import Source
from .types import VOID, ArrayType, Pointer, Tuple, Void, can_become, is_number
from .values import Expression, Known, Problem, Run, Value, as_value, cast, hint, is_true, scalar_type

Step = Callable[[Lanes, Mask], Mask]


class Translation(Expressions):
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
            raise self.source.refused(node, str(problem)) from None

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
            return _nothing
        given = as_value(value)
        if isinstance(given.type, Void):
            raise Problem("this gives nothing that could be assigned")
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
            if kind != to:
                raise Problem(f"{what} holds {to} and can't take {kind}")
            return None
        if kind == to:
            return None
        if not can_become(kind, to):
            more = f". Begin with {what} = 0.0" if to.kind in "iu" and kind.kind == "f" and what.isidentifier() else ""
            raise Problem(f"{what} holds {to} and can't take {kind}{more or hint(kind, to)}")
        return lambda value: value.astype(to) if isinstance(value, np.ndarray) else np.asarray(value).astype(to)[()]

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
        indices = self.indices(owner, self.expression(target.slice))
        if len(indices) != owner.type.ndim:
            raise Problem(f"this array has {owner.type.ndim} axes: give as many indices to write one element")
        self.program.changed |= owner.origin
        return owner, indices, self.site(target)

    def _AugAssign(self, node: ast.AugAssign) -> Step:
        given = as_value(self.expression(node.value))
        if isinstance(node.target, ast.Name):
            old = self.expression(ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target))
            if isinstance(old, Known):
                raise Problem(f"{node.target.id} isn't the kernel's own: assign it first")
            kind = scalar_type(old)
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
            raise Problem(f"{what} holds {kind}, and the result is {got}{more}")
        return got

    def _change_element(self, node: ast.AugAssign, target: ast.Subscript, given: Value) -> Step:
        owner, indices, site = self._place(target)
        box: list[Any] = [None]
        kind = owner.type.dtype
        new = self.operation(node.op, [Value(kind, lambda lanes, mask: box[0]), given])
        self._result(new, kind, ast.unparse(target))
        run, runs, compute = owner.run, [index.run for index in indices], cast(new, kind, checked=False).run

        def step(lanes: Lanes, mask: Mask) -> Mask:
            ref = run(lanes, mask)
            given_indices = [index(lanes, mask) for index in runs]
            box[0] = accesses.load(lanes, mask, ref, given_indices, site)
            value = compute(lanes, mask)
            accesses.store(lanes, mask, ref, reach(lanes, mask, ref, given_indices, site), value, site)
            return mask

        return step

    # -- branches and loops ----------------------------------------------------------------------

    def _If(self, node: ast.If) -> Step:
        test = self.expression(node.test)
        if isinstance(test, Known):  # decided before the launch: the other side isn't even compiled
            return self.block(node.body if test.obj else node.orelse)
        condition = is_true(test).run
        body, orelse = self.inner(node.body), self.inner(node.orelse)

        def step(lanes: Lanes, mask: Mask) -> Mask:
            seen = condition(lanes, mask)
            if not isinstance(seen, np.ndarray):
                lanes.figures.branches += mask.warp_count
                return body(lanes, mask) if seen else orelse(lanes, mask)
            yes, no = lanes.split(mask, seen)
            a = body(lanes, yes) if yes.count else yes
            b = orelse(lanes, no) if no.count else no
            return lanes.together(a, b, mask)

        return step

    def _While(self, node: ast.While) -> Step:
        if node.orelse:
            raise Problem("a loop has no else")
        condition = is_true(as_value(self.expression(node.test))).run
        body = self.inner(node.body, in_loop=True)
        return self._loop(node, lambda lanes, mask: (condition, _nothing_before, _nothing_after), body)

    def _For(self, node: ast.For) -> Step:
        if node.orelse:
            raise Problem("a loop has no else")
        if not isinstance(node.target, ast.Name):
            raise Problem("a loop has one name")
        start, stop, step = self._range(node.iter)
        kind = scalar_type(stop)
        put = self._loop_name(node.target, kind)
        body = self.inner(node.body, in_loop=True)
        begin, end, by = cast(start, kind, checked=False).run, as_value(stop).run, cast(step, kind, checked=False).run

        def ready(lanes: Lanes, mask: Mask) -> tuple[Run, Any, Any]:
            at, last, each = begin(lanes, mask), end(lanes, mask), by(lanes, mask)
            falls = step.obj < 0 if isinstance(step, Known) else np.less(each, 0)

            def going(lanes: Lanes, mask: Mask) -> Any:
                mask.spend(OPERATION)
                if isinstance(falls, np.ndarray):
                    return np.where(falls, at > last, at < last)
                return at > last if falls else at < last

            def before(lanes: Lanes, mask: Mask) -> None:
                put(lanes, mask, at)

            def after(lanes: Lanes, mask: Mask) -> None:
                nonlocal at
                mask.spend(OPERATION)
                at = at + each

            return going, before, after

        return self._loop(node, ready, body)

    def _range(self, node: Any) -> tuple[Expression, Expression, Expression]:
        found = self.expression(node.func) if isinstance(node, ast.Call) else None
        if not isinstance(found, Known) or found.obj not in (python.range, names.range):
            raise Problem("for goes over range(…) or jit.range(…) alone")
        args = [self.expression(argument) for argument in node.args]
        keywords = {keyword.arg: self.expression(keyword.value) for keyword in node.keywords}
        unroll = keywords.pop("unroll", None)
        if keywords or not 1 <= len(args) <= 3:
            raise Problem("range takes one to three integers, and unroll=")
        if unroll is not None and unroll != Known(None):
            if not all(isinstance(x, Known) for x in (*args, unroll)):
                raise Problem("a loop can only be unrolled if its range and unroll= are known before the launch")
            if not isinstance(unroll.obj, int):  # type: ignore[union-attr]
                raise Problem("unroll is a number, True or False")
        for x in args:
            if scalar_type(x).kind not in "iu":
                raise Problem(f"range takes integers, not {scalar_type(x)}")
        start = args[0] if len(args) > 1 else Known(0)
        return start, args[min(1, len(args) - 1)], args[2] if len(args) > 2 else Known(1)

    def _loop_name(self, target: ast.Name, kind: np.dtype) -> Callable[[Lanes, Mask, Any], None]:
        if target.id in self.variables and self.variables[target.id].type != kind:
            raise Problem(f"{target.id} holds {self.variables[target.id].type} already, and range counts in {kind}")
        return self._assign_name(target, kind, frozenset())

    def _loop(self, node: Any, ready: Callable, body: Step) -> Step:
        source = self.source
        leaves = [type(part) for part in ast.walk(node) if isinstance(part, (ast.Break, ast.Continue))]

        def step(lanes: Lanes, mask: Mask) -> Mask:
            test, before, after = ready(lanes, mask)
            here, done, rounds = mask, None, 0
            lanes.loops.append([None, None])
            while True:
                here, left = _still(lanes, here, test(lanes, here))
                done = left if done is None else done if left is None else lanes.mask(done.on | left.on)
                if not here.count:
                    break
                rounds += 1
                if rounds > lanes.launch.most_rounds:
                    raise _endless(source, node, lanes, here, rounds - 1)
                before(lanes, here)
                here = body(lanes, here)
                if leaves:
                    here = _back(lanes, here)
                if not here.count:
                    break
                after(lanes, here)
            broken = lanes.loops.pop()[0]
            if broken is not None:
                done = broken if done is None else lanes.mask(done.on | broken.on)
            return mask if done is not None and done.count == mask.count else done or lanes.nobody

        return step

    def _Break(self, node: ast.Break) -> Step:
        return self._leave(0, "break")

    def _Continue(self, node: ast.Continue) -> Step:
        return self._leave(1, "continue")

    def _leave(self, way: int, word: str) -> Step:
        if not self.in_loop:
            raise Problem(f"{word} stands in a loop")

        def step(lanes: Lanes, mask: Mask) -> Mask:
            before = lanes.loops[-1][way]
            lanes.loops[-1][way] = mask if before is None else lanes.mask(before.on | mask.on)
            return lanes.nobody

        return step

    # -- the rest --------------------------------------------------------------------------------

    def _Return(self, node: ast.Return) -> Step:
        value = Known(None) if node.value is None else self.expression(node.value)
        if value == Known(None):
            if self.is_device and self.result not in (None, VOID):
                raise Problem("this function returns a value elsewhere")
            return _exit if not self.is_device else self._returning(None)
        if not self.is_device:
            raise Problem("a kernel returns nothing: write the result into an array")
        given = as_value(value)
        if self.result is None:
            self.result = given.type
        elif self.result != given.type:
            raise Problem(f"this function returns {self.result} elsewhere, and here {given.type}")
        return self._returning(given.run)

    def _returning(self, run: Run | None) -> Step:
        def step(lanes: Lanes, mask: Mask) -> Mask:
            frame = lanes.returns[-1]
            if run is not None:
                value = run(lanes, mask)
                frame[0] = value if frame[1] is None else _merged(mask.on, value, frame[0])
            frame[1] = mask.on if frame[1] is None else frame[1] | mask.on
            return lanes.nobody

        return step

    def _Expr(self, node: ast.Expr) -> Step:
        self.unused = node.value
        value = self.expression(node.value)
        self.unused = None
        if isinstance(value, Known):
            return _nothing
        run = value.run

        def step(lanes: Lanes, mask: Mask) -> Mask:
            run(lanes, mask)
            return mask

        return step

    def _Pass(self, node: ast.Pass) -> Step:
        return _nothing


def inlined(caller: Any, source: Source, args: list[Expression]) -> Value:
    """A call of a function of the device, in `caller`: its own names, its own lines."""
    given = [as_value(x) for x in args]
    if len(given) != len(source.parameters):
        raise Problem(f"{source.name} takes {len(source.parameters)} arguments, got {len(given)}")
    made = caller.program.function(source, given)
    own = [variable.slot for variable in made.variables.values()]
    runs, result = [value.run for value in given], made.result
    parameters = own[: len(given)]

    def run(lanes: Lanes, mask: Mask) -> Any:
        values = [one(lanes, mask) for one in runs]
        for slot in own:
            lanes.have[slot] = None
        for slot, value in zip(parameters, values):
            lanes.slots[slot], lanes.have[slot] = value, True
        lanes.returns.append([None, None])
        made.body(lanes, mask)
        value, on = lanes.returns.pop()
        if result not in (None, VOID) and (on is None or (mask.on & ~on).any()):
            without = mask.on if on is None else mask.on & ~on
            raise source.wrong(
                NeverWritten, source.tree, "this thread gets to the end without a return.", lanes.first_of(without)
            )
        return value

    return Value(VOID if result is None else result, run)


def _merged(on: np.ndarray, new: Any, old: Any) -> Any:
    if isinstance(new, tuple):
        return tuple([_merged(on, a, b) for a, b in zip(new, old)])
    return np.where(on, new, old)


def _still(lanes: Lanes, mask: Mask, seen: Any) -> tuple[Mask, Mask | None]:
    """Those who go round once more, and those who leave."""
    if not isinstance(seen, np.ndarray):
        lanes.figures.branches += mask.warp_count
        return (mask, None) if seen else (lanes.nobody, mask)
    stay, leave = lanes.split(mask, seen)
    return (mask, None) if not leave.count else (stay, leave)


def _back(lanes: Lanes, here: Mask) -> Mask:
    """After the body, those who said `continue` are back."""
    again = lanes.loops[-1][1]
    lanes.loops[-1][1] = None
    return here if again is None else lanes.mask(here.on | again.on)


def _endless(source: Source, node: Any, lanes: Lanes, here: Mask, rounds: int) -> Exception:
    return source.wrong(
        Endless, node,
        f"{rounds:,} rounds, and {here.count:,} {'thread is' if here.count == 1 else 'threads are'} still in this loop. "
        "Does it end? If it takes that long, raise the limit: kernel.most_rounds = …\n  A thread that waits for another "
        "one's write may wait forever: only barriers wait.",
        lanes.first_of(here.on),
    )  # fmt: skip


def _exit(lanes: Lanes, mask: Mask) -> Mask:
    lanes.exit(mask)
    return lanes.nobody


def _nothing(lanes: Lanes, mask: Mask) -> Mask:
    return mask


def _nothing_before(lanes: Lanes, mask: Mask) -> None:
    return None


_nothing_after = _nothing_before


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


_STATEMENTS = (
    ast.Assign, ast.AugAssign, ast.If, ast.While, ast.For, ast.Break, ast.Continue, ast.Return, ast.Expr, ast.Pass
)
_MISSING = {
    "AnnAssign": "annotations", "FunctionDef": "functions inside of it: use one under @jit.rawkernel(device=True)",
    "Try": "try", "Raise": "raise", "Assert": "assert: CuPy's compiler fails at it", "With": "with",
    "Import": "import", "ImportFrom": "import", "Delete": "del", "Global": "global", "Nonlocal": "nonlocal",
    "ClassDef": "classes", "Match": "match",
}  # fmt: skip
_MISSING = {name: f"a kernel has no {text}" for name, text in _MISSING.items()}
