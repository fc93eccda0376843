"""Adding up by halves: four threads, eight numbers in shared memory, and the barrier between the rounds, or none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..scenes import Each, Knob, Part, Scene, label
from ..scenes.axes import Axis
from ..scenes.lanes import LEFT, RIGHT, Box, Lanes, Row, Time, film

NUMBERS = (3, 1, 4, 1, 5, 9, 2, 6)
PACES = {"thread 0": (1.0, 1.4, 1.9, 2.3), "thread 3": (2.3, 1.9, 1.4, 1.0)}  # how long each takes for an addition
_BARRIERS = {"with": True, "without": False}
_CELL, _TOP = 44, 24  # of a number in shared memory
_FIRST_LANE = 100


class Addition(NamedTuple):
    """A thread adds the number at `other` to its own. It reads both at the beginning, and writes at the end."""

    thread: int
    other: int
    begin: float
    end: float
    read: tuple[int, int] = (0, 0)
    early: bool = False  # `other` hadn't its number yet

    @property
    def total(self) -> int:
        return sum(self.read)

    @property
    def sum(self) -> str:
        return f"{self.read[0]} + {self.read[1]} = {self.total}"


class Run(NamedTuple):
    """What the threads did, in the order of its ends, when each waited at the barrier, and what's in memory when."""

    additions: list[Addition]
    waits: list[tuple[int, float, float]]
    memory: list[tuple[float, tuple[int, ...]]]

    @property
    def total(self) -> int:
        return self.memory[-1][1][0]


def add_up(numbers: Sequence[int], paces: Sequence[float], barrier: bool) -> Run:
    """Add up as many numbers as there are two for each thread. `paces` says how long each thread takes to add.

    >>> add_up([3, 1, 4, 1], [1.0, 1.5], barrier=True).total
    9
    >>> add_up([3, 1, 4, 1], [1.0, 1.5], barrier=False).total  # thread 0 was too quick for thread 1
    8
    """
    planned, waits = _plan(paces, barrier)
    memory, right = list(numbers), _right(numbers)
    done: list[Addition] = []
    history = [(0.0, tuple(memory))]
    begun: dict[tuple[int, float], tuple[int, int]] = {}
    events = [(one.begin, 1, one) for one in planned] + [(one.end, 0, one) for one in planned]
    for time, is_begin, one in sorted(events, key=lambda event: event[:2]):  # writes come before reads
        key = one.thread, one.begin
        if is_begin:
            begun[key] = memory[one.thread], memory[one.other]
        else:
            memory[one.thread] = sum(begun[key])
            done.append(one._replace(read=begun[key], early=begun[key][1] != right[one.thread, one.other]))
            history.append((time, tuple(memory)))
    return Run(done, waits, history)


def _plan(paces: Sequence[float], barrier: bool) -> tuple[list[Addition], list[tuple[int, float, float]]]:
    """Who adds what when, and who waits from when to when."""
    clocks = [0.0] * len(paces)
    planned: list[Addition] = []
    waits: list[tuple[int, float, float]] = []
    half = len(paces)
    while half:
        for thread in range(half):
            begin = clocks[thread]
            clocks[thread] = begin + paces[thread]
            planned.append(Addition(thread, thread + half, begin, clocks[thread]))
        if barrier:
            all_there = max(clocks)
            waits += [(thread, clock, all_there) for thread, clock in enumerate(clocks) if clock < all_there]
            clocks = [all_there] * len(paces)
        half //= 2
    return planned, waits


def _right(numbers: Sequence[int]) -> dict[tuple[int, int], int]:
    """What each addition should find at the other place: by thread and place."""
    memory, half = list(numbers), len(numbers) // 2
    found: dict[tuple[int, int], int] = {}
    while half:
        found |= {(thread, thread + half): memory[thread + half] for thread in range(half)}
        memory = [memory[thread] + memory[thread + half] for thread in range(half)]
        half //= 2
    return found


def by_halves() -> Scene:
    """Four threads add up eight numbers, with a barrier after each round or without. Thread 0 is the quickest, or 3.

    Each of the threads is in a warp of its own, so that any of them may be ahead of the others.

    >>> by_halves().sentences[-1]
    'Thread 0 is done: 14 + 17 = 31. The sum is 31: right by luck. Without a barrier, it depends on who is quick.'
    """
    settings = [(barrier, quick) for barrier in _BARRIERS for quick in PACES]
    runs = [add_up(NUMBERS, PACES[quick], _BARRIERS[barrier]) for barrier, quick in settings]
    end = max(run.memory[-1][0] for run in runs)
    moments = [sorted({time for time, _ in run.memory}) for run in runs]
    count = max(map(len, moments))
    nows = [[moment[min(k, len(moment) - 1)] for moment in moments] for k in range(count)]
    times = [Time(f"{k} of {count - 1}", now, [end] * len(runs)) for k, now in enumerate(nows)]
    states = [(run, now[n]) for n, run in enumerate(runs) for now in nows]
    lanes = Lanes([Row(f"thread {t}", f"thread {t}") for t in range(len(NUMBERS) // 2)], top=_FIRST_LANE)
    return film(
        "Four threads add up eight numbers by halves", lanes, [_boxes(run) for run in runs], times,
        [_said(run, now) for run, now in states],
        about="each at its own pace", above=_memory(states), ms=1200,
        knobs=[Knob("barrier", list(_BARRIERS)), Knob("quickest", list(PACES))],
        names=[""] * len(states), where=Axis(0, end, LEFT, RIGHT).__call__,
    )  # fmt: skip


def _boxes(run: Run) -> list[Box]:
    added = [
        Box(f"thread {one.thread}", one.begin, one.end, "compute",
            f"part[{one.thread}] += part[{one.other}]: {one.sum}", one.sum.replace(" ", ""))
        for one in run.additions
    ]  # fmt: skip
    waits = [Box(f"thread {t}", begin, end, "waits", "waits at the barrier") for t, begin, end in run.waits]
    return added + waits


def _memory(states: Sequence[tuple[Run, float]]) -> Iterator[Part]:
    """The eight numbers, as they are at each moment. What was just written stands out."""
    yield label(8, _TOP + 28, "part", "name")
    for place in range(len(NUMBERS)):
        x = LEFT + (_CELL + 6) * place
        written = [place in [one.thread for one in run.additions if one.end == now] for run, now in states]
        values = [[memory for time, memory in run.memory if time <= now][-1][place] for run, now in states]
        looks = Each("gpu hollow" if is_new else "entry" for is_new in written)
        yield Part("rect", class_=looks, x=x, y=_TOP, width=_CELL, height=_CELL, rx=4)
        yield label(x + _CELL / 2, _TOP + 28, Each(values), "middle")
        yield label(x + _CELL / 2, _TOP - 8, place, "middle small")


def _said(run: Run, now: float) -> str:
    """What has just happened, and at the end, what came of it."""
    parts = []
    for one in run.additions:
        if one.end == now:
            parts.append(f"Thread {one.thread} is done: {one.sum}.")
            if one.early:
                parts.append(f"It read part[{one.other}] too early: thread {one.other} wasn't done with it.")
    there = [t for t, begin, end in run.waits if begin <= now < end]
    if not parts:
        parts = ["Eight numbers in shared memory. Each thread adds the number four places further to its own."]
    if now == run.memory[-1][0]:
        parts.append(_ending(run))
    elif now in [end for _, _, end in run.waits]:
        parts.append("All have come to the barrier, so all go on.")
    elif there:
        who = f"Thread{'s' * (len(there) > 1)} {', '.join(map(str, there))}"
        parts.append(f"{who} wait{'s' * (len(there) == 1)} at the barrier.")
    return " ".join(parts)


def _ending(run: Run) -> str:
    right = sum(NUMBERS)
    if run.waits:
        return f"The sum is {run.total}, whichever thread is the quickest."
    if run.total == right:
        return f"The sum is {right}: right by luck. Without a barrier, it depends on who is quick."
    return f"The sum is {run.total}, and it should be {right}."
