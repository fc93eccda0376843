"""Where threads part and meet again: sequences, branches, loops. Kernels in Python and in C are made of these.

A step gets the threads that come to it, a mask, and returns those that go on to the next one, or None if all do. Where
warps take turns, they stop at barriers and before accesses: there a step or a value `waits`, and so does whatever
contains it. The rest is plain functions, which are quicker: so a branch and its like have a form for each.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .errors import Endless
from .lanes import OPERATION, Lanes, Mask
from .types import BOOL, VOID
from .values import Step, Value, Waiting, waiting

_MANY_ROUNDS = "still in this loop. Does it end?"
_WAITS = "A thread that waits for another one's write may wait forever: only barriers wait."
LEFT, AGAIN = range(2)  # places in `lanes.loops`: the lanes that left the innermost loop, and those at `continue`
Note = Callable[..., Any]  # what a watched thread shows


def go_on(lanes: Lanes, mask: Mask, *done: Any) -> None:
    """All threads go on."""


def sequence(steps: Sequence[tuple[Step, Note | None]]) -> Step:
    """All of these, one after the other, until no thread is left."""
    runs = [(step.run, step.waits, note) for step, note in steps]

    def run(lanes: Lanes, mask: Mask) -> Mask:
        for step, _, note in runs:
            rest = step(lanes, mask)
            if lanes.watch is not None and note is not None:
                note(lanes, mask)
            if rest is not None:
                mask = rest
            if not mask.count:
                break
        return mask

    def run_waiting(lanes: Lanes, mask: Mask) -> Waiting:
        for step, waits, note in runs:
            if waits:
                rest = yield from step(lanes, mask)
            else:
                rest = step(lanes, mask)
            if lanes.watch is not None and note is not None:
                note(lanes, mask)
            if rest is not None:
                mask = rest
            if not mask.count:
                break
        return mask

    if any(waits for _, waits, _ in runs):
        return Step(VOID, run_waiting, waits=True)
    return Step(VOID, run)


def branch(test: Value, body: Step, orelse: Step, note: Note | None = None) -> Step:
    """``if test: body else: orelse``."""
    parts = test, body, orelse
    condition, first, second = [part.run for part in parts]

    def split(lanes: Lanes, mask: Mask, seen: Any) -> tuple[Mask, Mask]:
        if lanes.watch is not None and note is not None:
            note(lanes, mask, seen)
        return lanes.split(mask, seen)

    def step(lanes: Lanes, mask: Mask) -> Mask:
        yes, no = split(lanes, mask, condition(lanes, mask))
        a = first(lanes, yes) if yes.count else yes
        b = second(lanes, no) if no.count else no
        if a.count + b.count == mask.count:
            return mask
        return lanes.either(a, b)

    if not any(part.waits for part in parts):
        return Step(VOID, step)
    condition, first, second = [waiting(part) for part in parts]

    def step_waiting(lanes: Lanes, mask: Mask) -> Waiting:
        seen = yield from condition(lanes, mask)
        yes, no = a, b = split(lanes, mask, seen)
        if yes.count:
            a = yield from first(lanes, yes)
        if no.count:
            b = yield from second(lanes, no)
        if a.count + b.count == mask.count:
            return mask
        return lanes.either(a, b)

    return Step(VOID, step_waiting, waits=True)


def loop(
    ready: Value, test_waits: bool, body: Step, site: Any, endless: tuple[str, str], tests_first: bool = True
) -> Step:
    """`ready` gives a loop's test, which may wait, and what to do before and after each round.

    `endless` says why it can't end, if that's known, and what to do. Without `tests_first`, it's C's ``do … while``.
    """
    run_body, body_waits = body.run, body.waits
    begin, (why, fix) = waiting(ready), endless

    def step(lanes: Lanes, mask: Mask) -> Waiting:
        test, before, after = yield from begin(lanes, mask)
        here, rounds = mask, 0
        lanes.loops.append([lanes.nobody, lanes.nobody])
        while True:
            if rounds or tests_first:
                if test_waits:
                    seen = yield from test(lanes, here)
                else:
                    seen = test(lanes, here)
                stay, left = lanes.split(here, seen)
                if left.count:  # otherwise we keep the mask, which may be the same for all blocks
                    here = stay
                    leave(lanes, left, LEFT)
            if not here.count:
                break
            if rounds and why:
                raise site.wrong(Endless, why, fix, lanes.first_of(here.on))
            if rounds >= lanes.launch.most_rounds:
                who = "1 thread is" if here.count == 1 else f"{here.count:,} threads are"
                more = f" If it takes that long, raise the limit: {site.words['limit']} = …"
                what = f"{rounds:,} rounds, and {who} {_MANY_ROUNDS}{more}"
                raise site.wrong(Endless, what, _WAITS, lanes.first_of(here.on))
            rounds += 1
            before(lanes, here)
            if body_waits:
                here = yield from run_body(lanes, here)
            else:
                here = run_body(lanes, here)
            here, lanes.loops[-1][AGAIN] = lanes.either(here, lanes.loops[-1][AGAIN]), lanes.nobody
            if not here.count:
                break
            after(lanes, here)
        done = lanes.loops.pop()[LEFT]
        if done.count == mask.count:
            return mask
        return done

    return Step(VOID, step, waits=True)


def leave(lanes: Lanes, mask: Mask, way: int) -> Mask:
    """These threads are at a `break` or a `continue`. None of them goes on here."""
    lanes.loops[-1][way] = lanes.either(lanes.loops[-1][way], mask)
    return lanes.nobody


def both(x: Value, y: Value, is_and: bool) -> Value:
    """``x and y``, or else ``x or y``. As in C, only the threads for which the right side matters look at it."""
    how = operator.and_ if is_and else operator.or_
    left, right = x.run, y.run

    def run(lanes: Lanes, mask: Mask) -> Any:
        mask.spend(OPERATION)
        seen = left(lanes, mask)
        rest = lanes.mask(mask.on & (seen if is_and else ~seen))
        if not rest.count:
            return seen
        return how(seen, right(lanes, rest))

    if not (x.waits or y.waits):
        return Value(BOOL, run)
    left, right = waiting(x), waiting(y)

    def run_waiting(lanes: Lanes, mask: Mask) -> Waiting:
        mask.spend(OPERATION)
        seen = yield from left(lanes, mask)
        rest = lanes.mask(mask.on & (seen if is_and else ~seen))
        if not rest.count:
            return seen
        other = yield from right(lanes, rest)
        return how(seen, other)

    return Value(BOOL, run_waiting, waits=True)


def choose(test: Value, x: Value, y: Value, merge: Callable[[Any, Any, Any], Any] = np.where) -> Value:
    """``x if test else y``: each side is computed by its own threads."""
    parts = test, x, y
    condition, first, second = [part.run for part in parts]

    def run(lanes: Lanes, mask: Mask) -> Any:
        seen = condition(lanes, mask)
        yes, no = lanes.split(mask, seen)
        if not yes.count:
            return second(lanes, no)
        if not no.count:
            return first(lanes, yes)
        return merge(seen, first(lanes, yes), second(lanes, no))

    if not any(part.waits for part in parts):
        return Value(x.type, run)
    condition, first, second = [waiting(part) for part in parts]

    def run_waiting(lanes: Lanes, mask: Mask) -> Waiting:
        seen = yield from condition(lanes, mask)
        yes, no = lanes.split(mask, seen)
        if not yes.count:
            return (yield from second(lanes, no))
        if not no.count:
            return (yield from first(lanes, yes))
        a = yield from first(lanes, yes)
        b = yield from second(lanes, no)
        return merge(seen, a, b)

    return Value(x.type, run_waiting, waits=True)
