"""Statements of C: blocks, branches, loops, switch, return. Each becomes a step of `flow.py`."""

from __future__ import annotations

from typing import Any

from ...kernels import numbers
from ...kernels.parse import Deduced, Node
from ...kernels.preprocess import CompileException, Line
from .. import flow
from ..lanes import Lanes, Mask
from ..types import VOID
from ..values import Step, Value
from .declarations import Declarations
from .expressions import as_value
from .terms import converted, decayed, known, truth


class Statements(Declarations):
    """What a function's statements do with all threads."""

    returns: Any  # the type of what the function returns
    result_slot: int

    def together(self, statements: list[Node]) -> Step:
        return _drained(flow.sequence([(self.statement(one), None) for one in statements]))

    def run_together(self, line: Line, statements: list[Node]) -> Step:
        return self.together(statements)

    def run_block(self, line: Line, statements: list[Node]) -> Step:
        self.scopes.append({})
        found = self.together(statements)
        self.scopes.pop()
        return found

    def run_if(self, line: Line, test: Node, yes: Node, no: Node | None) -> Step:
        condition = truth(self.value(test), line)
        nothing = Node("block", line, ([],))
        if condition.known is not None:
            return self.run_block(line, [yes if condition.known else no or nothing])
        body, orelse = self.run_block(line, [yes]), self.run_block(line, [no or nothing])
        return flow.branch(as_value(condition), body, orelse)

    def run_while(self, line: Line, test: Node, body: Node, step: Node | None) -> Step:
        return self._loop(line, test, body, step, True)

    def run_do(self, line: Line, test: Node, body: Node) -> Step:
        return self._loop(line, test, body, None, False)

    def _loop(self, line: Line, test: Node, body: Node, step: Node | None, tests_first: bool) -> Step:
        condition = truth(self.value(test), line).run
        inside = self.run_block(line, [body])
        after = flow.go_on if step is None else self.statement(step).run
        ready = Value(VOID, lambda lanes, mask: (condition, flow.go_on, after))
        return _drained(flow.loop(ready, False, inside, self.site(line), ("", ""), tests_first))

    def run_leave(self, line: Line, word: str) -> Step:
        way = flow.LEFT if word == "break" else flow.AGAIN
        return Step(VOID, lambda lanes, mask: flow.leave(lanes, mask, way))

    def run_switch(self, line: Line, value: Node, cases: list[tuple[Node | None, list[Node]]]) -> Step:
        seen = self.value(value)
        kind = numbers.common(seen.type)
        seen = converted(seen, kind, line)
        self.scopes.append({})
        labels = [
            None if case is None else converted(known(self.constant(case)), kind, line).known for case, _ in cases
        ]
        bodies = [self.together(statements) for _, statements in cases]
        self.scopes.pop()

        def step(lanes: Lanes, mask: Mask) -> Mask:
            number = seen.run(lanes, mask)
            lanes.loops.append([lanes.nobody, lanes.nobody])
            entering, rest = [], mask
            for label in labels:
                if label is None or not rest.count:
                    entering.append(lanes.nobody)
                    continue
                yes, rest = lanes.split(rest, number == label)
                entering.append(yes)
            here = lanes.nobody
            for label, enter, body in zip(labels, entering, bodies):
                here = lanes.either(here, rest if label is None else enter)
                if here.count:
                    here = body.run(lanes, here)
            left, again = lanes.loops.pop()
            here = lanes.either(here, left)
            if None not in labels:
                here = lanes.either(here, rest)
            if again.count:
                flow.leave(lanes, again, flow.AGAIN)
            return mask if here.count == mask.count else here

        return Step(VOID, step)

    def run_return(self, line: Line, node: Node | None) -> Step:
        if not self.is_device:
            if node is not None:
                raise CompileException(f"a kernel returns nothing: {line}")
            return Step(VOID, lambda lanes, mask: lanes.exit(mask))
        if node is None or self.returns is None:
            run = None if node is None else self.any(node).run

            def go_back(lanes: Lanes, mask: Mask) -> Mask:
                if run is not None:
                    run(lanes, mask)
                return lanes.nobody

            return Step(VOID, go_back)
        kind = self.returns
        if isinstance(kind, Deduced):
            kind = self.returns = decayed(self.value(node)).type
        given = self.first_value(kind, node, line)
        self.flow(self.result_slot, kind, given.origin)
        value, slot, site = given.run, self.result_slot, self.site(line)

        def step(lanes: Lanes, mask: Mask) -> Mask:
            lanes.assign(mask, slot, value(lanes, mask), site)
            return lanes.nobody

        return Step(VOID, step)


def _drained(step: Step) -> Step:
    """A step that doesn't wait: in C, all threads go together."""
    if not step.waits:
        return step
    begin = step.run

    def run(lanes: Lanes, mask: Mask) -> Any:
        steps = begin(lanes, mask)
        try:
            while True:
                next(steps)
        except StopIteration as end:
            return end.value

    return Step(VOID, run)
