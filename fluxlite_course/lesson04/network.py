"""Lesson 04's network: why it needs a memory, three steps of it side by side, and what it remembers."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..scenes import Each, Knob, Part, Scene, drawing, label, rounded
from ..scenes.axes import Axis, curve
from ..scenes.parts import arrow
from ..sine_wave import TIMES, problem, run

WAVE = np.sin(TIMES).astype(np.float32)[:, None, None]
OUTPUT: dict[str, Any] = {"fill": "none", "stroke": "currentColor", "stroke_width": 2.5}

_NUMBER, _HEIGHT = Axis(1, 21, 60, 610), Axis(-1.2, 1.2, 168, 24)
_TWICE = (13, 18)
_GAP, _BOX = 80, 108  # the way from one step to the next, with the memory above it, and a step's width
_AT = dict(enumerate(WAVE.ravel().tolist(), 1))  # the height of each point


def same_height() -> Scene:
    """Points 13 and 18 of the wave, at nearly the same height, and the point after each.

    >>> same_height()
    Point 13 is at 0.49, and the next one at 0.79. Point 18 is at 0.58, and the next one at 0.22.
    """
    picture = drawing(640, 186, "Two points of the wave at nearly the same height: one rises, one falls", *_two())
    said = [f"Point {n} is at {_AT[n]:.2f}, and the next one at {_AT[n + 1]:.2f}." for n in _TWICE]
    return Scene(picture, [], [" ".join(said)])


def _two() -> Iterator[Part]:
    yield label(10, 20, "sin t")
    yield curve([_NUMBER(n) for n in range(1, 22)], [_HEIGHT(_AT[n]) for n in range(1, 22)], "grid")
    for n in range(1, 22):
        look, r = ("host", 6) if n in _TWICE else ("rest", 3)
        yield Part("circle", class_=look, r=r, cx=_NUMBER(n), cy=_HEIGHT(_AT[n]))
    for n, words, x, look in zip(_TWICE, ("rises", "falls"), (-12, 12), ("end bold", "bold")):
        yield arrow(_NUMBER(n), _HEIGHT(_AT[n]), _NUMBER(n + 1), _HEIGHT(_AT[n + 1]), "host")
        yield label(_NUMBER(n) + x, _HEIGHT(_AT[n]) + 5, f"{n} {words}", look)


def memories(w1: Any, w2: Any) -> Scene:
    """The memory after point 13, and beside it after point 18 or an earlier one, for w1 (1 + H, H) and w2 (H, 1)."""
    outputs, kept = (part[:, 0] for part in run(problem()[0], w1, w2))
    points = range(1, _TWICE[1] + 1)  # it ends where the two can be compared
    most = float(np.ceil(10 * np.abs(kept).max()) / 10)
    picture = drawing(
        640, 400, "The wave, and below it what the network remembers after point 13 and after another one", *_two(),
        Part("circle", class_="host line glide", r=11, cx=Each(_NUMBER(n) for n in points),
             cy=Each(_HEIGHT(_AT[n]) for n in points)),
        Part("circle", class_="glide", **OUTPUT, r=8, cx=Each(_NUMBER(n + 1) for n in points),
             cy=Each(rounded(_HEIGHT(outputs[n - 1].item()) for n in points))),
        label(320, 196, "○ the network's output: where's the next point?", "middle"),
        *_bars(60, "after point 13", [kept[12]] * len(points), most),
        *_bars(360, Each(f"after point {n}" for n in points), kept[: len(points)], most),
    )  # fmt: skip
    numbers = [str(row)[1:-1] for row in (np.round(kept.astype(float), 1) + 0.0).tolist()]
    said = [
        f"After point {n} the memory holds {numbers[n - 1]}; after point 13, {numbers[12]}. The output "
        f"misses the next point by {abs(outputs[n - 1].item() - _AT[n + 1]):.2f}." for n in points
    ]  # fmt: skip
    return Scene(picture, [Knob("point", [str(n) for n in points], slider=True, ms=500)], said, [_TWICE[1] - 1])


def _bars(left: float, title: Any, states: Sequence[np.ndarray], most: float) -> Iterator[Part]:
    """A bar for each number of the memory, up from the line if it's positive and down if it's negative."""
    up, width = Axis(-most, most, 378, 246), 240
    yield label(left + width / 2, 230, title, "middle bold")
    yield label(left - 8, 251, f"{most:g}", "end")
    yield label(left - 8, 383, f"-{most:g}", "end")
    yield Part("path", class_="axis", d=f"M{left} {up(0)}h{width}M{left} 378V246")
    for number, values in enumerate(np.transpose(states).tolist()):
        tops = [up(max(value, 0)) for value in values]
        yield Part("rect", class_="host glide", x=left + 7 + 40 * number, width=26, y=Each(tops),
                   height=Each(rounded(up(min(value, 0)) - top for value, top in zip(values, tops))))  # fmt: skip


def unrolled() -> Scene:
    """The network over three steps: the same weights in each, and the memory that goes from one to the next.

    >>> unrolled().at(step="2")
    "Step 2: the point x[1], 1 number, and the memory of step 1, 6 numbers, stand side by side. Times w1, and tanh: ..."
    """
    steps = range(3)
    columns = [Part("g", *_column(n), class_=Each(None if n <= now else "faint" for now in steps)) for n in steps]
    picture = drawing(
        652, 306, "The network over three steps: a point and the memory go in, an output and the new memory come out",
        *_memory(2, "empty", "rest hollow"), *columns,
    )  # fmt: skip
    said = [
        f"Step {n + 1}: the point x[{n}], 1 number, and {f'the memory of step {n}' if n else 'the empty memory'}, "
        f"6 numbers, stand side by side. Times w1, and tanh: that's the new memory. Times w2: the output. The memory "
        f"goes on to step {n + 2}." for n in steps
    ]  # fmt: skip
    return Scene(picture, [Knob("step", [str(n + 1) for n in steps], slider=True, ms=1500)], said)


def _column(n: int) -> Iterator[Part]:
    left = 2 + _GAP + n * (_BOX + _GAP)
    x = left + _BOX / 2
    yield Part("rect", class_="box", x=left, y=96, width=_BOX, height=92, rx=8)
    for y, words in ((122, "side by side"), (146, "@ w1 (7, 6)"), (170, "tanh")):
        yield label(x, y, words, "middle")
    yield arrow(x, 246, x, 192, "host")
    yield arrow(x, 92, x, 44, "host")
    yield label(x, 266, f"x[{n}]", "middle bold")
    yield label(x, 286, "(1, 1)", "middle")
    yield label(x + 8, 74, "@ w2 (6, 1)")
    yield label(x, 34, "output (1, 1)", "middle bold")
    yield from _memory(left + _BOX, "h", "host")


def _memory(x: float, words: str, look: str) -> Iterator[Part]:
    """A memory of six numbers, on its way to the next step."""
    yield label(x + _GAP / 2, 106, words, "middle")
    for number in range(6):
        yield Part("rect", class_=look, x=x + 8 + 11 * number, y=116, width=9, height=12)
    yield arrow(x + 4, 142, x + _GAP - 2, 142, "host")
    yield label(x + _GAP / 2, 168, "(1, 6)", "middle")
