"""Where threads part and meet again: branches, loops, returns, and calls of a function of the device."""

from __future__ import annotations

import ast
import builtins as python
from collections.abc import Callable
from typing import Any

import numpy as np

from . import names
from .endless import Rounds, steering
from .errors import NeverWritten
from .lanes import OPERATION, Lanes, Mask
from .source import Source
from .statements import Statements, Step, nothing
from .types import VOID, same
from .values import Expression, Known, Problem, Run, Value, as_value, cast, is_true, scalar_type


class Translation(Statements):
    """Translates one function, a kernel or one of its helpers, for arguments of certain types."""

    def _If(self, node: ast.If) -> Step:
        test = self.expression(node.test)
        if isinstance(test, Known):  # decided before the launch: the other side isn't even compiled
            return self.block(node.body if test.obj else node.orelse)
        condition = is_true(test).run
        body, orelse = self.inner(node.body), self.inner(node.orelse)
        source = self.source

        def step(lanes: Lanes, mask: Mask) -> Mask:
            seen = condition(lanes, mask)
            if lanes.watch is not None:
                lanes.watch.tested(node, source, mask, seen)
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
        return self._loop(node, lambda lanes, mask: (condition, nothing, nothing), body)

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
        if target.id in self.variables and not same(self.variables[target.id].type, kind):
            raise Problem(f"{target.id} holds {self.variables[target.id].type} already, and range counts in {kind}")
        return self._assign_name(target, kind, frozenset())

    def _loop(self, node: Any, ready: Callable, body: Step) -> Step:
        source, variables = self.source, self.variables
        leaves = [type(part) for part in ast.walk(node) if isinstance(part, (ast.Break, ast.Continue))]
        decide = steering(node) if isinstance(node, ast.While) else None

        def step(lanes: Lanes, mask: Mask) -> Mask:
            test, before, after = ready(lanes, mask)
            here, done, watch = mask, None, lanes.watch
            rounds = Rounds(node, source, decide, variables)
            if watch is not None:
                watch.enters()
            lanes.loops.append([None, None])
            while True:
                here, left = _still(lanes, here, test(lanes, here))
                done = left if done is None else done if left is None else lanes.mask(done.on | left.on)
                if not here.count:
                    break
                rounds.count(lanes, here)
                before(lanes, here)
                if watch is not None:
                    watch.round(node, source, lanes, here, variables)
                here = body(lanes, here)
                if leaves:
                    here = _back(lanes, here)
                if not here.count:
                    break
                after(lanes, here)
            if watch is not None:
                watch.leaves(node, source, mask)
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

    def _Return(self, node: ast.Return) -> Step:
        value = Known(None) if node.value is None else self.expression(node.value)
        if value == Known(None):
            if self.is_device and self.result not in (None, VOID):
                raise Problem("this function returns a value elsewhere")
            return _exit(self.source.line(node)) if not self.is_device else self._returning(None)
        if not self.is_device:
            raise Problem("a kernel returns nothing: write the result into an array")
        given = as_value(value)
        if self.result is None:
            self.result = given.type
        elif not same(self.result, given.type):
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


def inlined(caller: Any, source: Source, args: list[Expression]) -> Value:
    """A call of a function of the device, in `caller`: its own names, its own lines."""
    given = [as_value(x) for x in args]
    if len(given) != len(source.parameters):
        raise Problem(f"{source.name} takes {source.takes}, got {len(given)}")
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
                NeverWritten, source.tree, "this thread gets to the end without a return.",
                place=lanes.first_of(without),
            )  # fmt: skip
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


def _exit(line: int) -> Step:
    def step(lanes: Lanes, mask: Mask) -> Mask:
        lanes.exit(mask, line)
        return lanes.nobody

    return step
