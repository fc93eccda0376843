"""Lesson 04's scenes: a wave that goes on, one height twice, three steps of the network, and its memory."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from fluxlite.messages import many

from ..scenes import Each, Knob, Part, Scene, drawing, label, rounded
from ..scenes.axes import Axis, across, curve, upward
from ..sine_wave import TIMES, problem, run, step, train_by_hand

WAVE = np.sin(TIMES).astype(np.float32)[:, None, None]
OUTPUT: dict[str, Any] = {"fill": "none", "stroke": "currentColor", "stroke_width": 2.5}


# -- the wave, and how a network continues it --------------------------------------------------------------------------

AT, UP = Axis(2, 18, 54, 620), Axis(-1.5, 1.5, 228, 28)


def continued() -> Scene:
    """What a trained network makes of a wave that it knows up to t = 10: then its input is its own output.

    >>> continued().at(point="23")
    'The network has seen 21 points. It goes on by itself: 2 points, each less than 0.1 off.'
    """
    w1, w2, _ = train_by_hand(seed=14)
    ahead, kept = run(WAVE[:21], w1, w2)
    point, memory, outputs = ahead[-1], kept[-1], []
    for _ in TIMES[21:]:
        outputs.append(point.item())
        point, memory = step(point, memory, w1, w2)
    given = [Part("circle", class_="host", r=5, cx=AT(t), cy=UP(np.sin(t))) for t in TIMES[:21]]
    own = [Part("circle", **OUTPUT, r=5, cx=AT(t), cy=UP(y), data_n=n)
           for n, (t, y) in enumerate(zip(TIMES[21:], outputs))]  # fmt: skip
    shown = Part("g", *own, only=Each((0, n - 1) for n in range(21)))
    picture = drawing(640, 286, "A wave: the points that a network has seen, and its own", *wave(), *given, shown)
    off = np.ceil(10 * np.abs(np.sin(TIMES[21:]) - outputs).max()) / 10
    said = [f"The network has seen 21 points. It goes on by itself: {many(n, 'point')}, each less than {off:g} off."
            for n in range(21)]  # fmt: skip
    return Scene(picture, [Knob("point", [str(n) for n in range(21, 42)], slider=True, ms=250)], said)


def wave() -> Iterator[Part]:
    fine = np.linspace(2, 18, 81)
    yield from upward(UP, 54, "sin t", at=(-1, 0, 1))
    yield from across(AT, 228, "t (radians)")
    yield curve([AT(t) for t in fine], [UP(value) for value in np.sin(fine)], "rest")
    yield Part("path", class_="axis", d=f"M{AT(10.2)} 34V228", stroke_dasharray="4 4")
    yield label(AT(10.2) + 8, 24, "never seen →")
    yield label(AT(10.2) - 8, 24, "seen", "end")


# -- one height, twice; and the memory after each point ----------------------------------------------------------------

_NUMBER, _HEIGHT = Axis(1, 21, 60, 610), Axis(-1.2, 1.2, 168, 24)
_TWICE = (13, 18)


def same_height() -> Scene:
    """Points 13 and 18 of the wave, at nearly the same height, and the point after each.

    >>> same_height()
    Point 13 is at 0.49, and the next one at 0.79. Point 18 is at 0.58, and the next one at 0.22.
    """
    picture = drawing(640, 186, "Two points of the wave at nearly the same height: one rises, one falls", *_two())
    said = [f"Point {n} is at {_at(n):.2f}, and the next one at {_at(n + 1):.2f}." for n in _TWICE]
    return Scene(picture, [], [" ".join(said)])


def _at(number: int) -> float:
    return float(WAVE[number - 1].item())


def _two() -> Iterator[Part]:
    yield label(10, 20, "sin t")
    yield curve([_NUMBER(n) for n in range(1, 22)], [_HEIGHT(_at(n)) for n in range(1, 22)], "grid")
    for n in range(1, 22):
        yield Part("circle", class_="host" if n in _TWICE else "rest", r=6 if n in _TWICE else 3, cx=_NUMBER(n),
                   cy=_HEIGHT(_at(n)))  # fmt: skip
    for n, words, x, look in zip(_TWICE, ("rises", "falls"), (-12, 12), ("end bold", "bold")):
        up = _at(n + 1) > _at(n)
        yield Part("path", class_="line host", d=f"M{_NUMBER(n)} {_HEIGHT(_at(n))}L{_NUMBER(n + 1)} "
                   f"{_HEIGHT(_at(n + 1))}{'m-11 4l11 -4l-3 11' if up else 'm-10 -6l10 6l1 -11'}")  # fmt: skip
        yield label(_NUMBER(n) + x, _HEIGHT(_at(n)) + 5, f"{n} {words}", look)


def memories(w1: Any, w2: Any) -> Scene:
    """The memory after point 13, and beside it after point 18 or any other, for weights w1 (1 + H, H) and w2 (H, 1)."""
    outputs, kept = (part[:, 0] for part in run(problem()[0], w1, w2))
    points = range(1, 21)
    most = float(np.ceil(10 * np.abs(kept).max()) / 10)
    picture = drawing(
        640, 400, "The wave, and below it what the network remembers after point 13 and after another one", *_two(),
        Part("circle", class_="host line glide", r=11, cx=Each(_NUMBER(n) for n in points),
             cy=Each(_HEIGHT(_at(n)) for n in points)),
        Part("circle", class_="glide", **OUTPUT, r=8, cx=Each(_NUMBER(n + 1) for n in points),
             cy=Each(rounded(_HEIGHT(float(y)) for y in outputs.ravel()))),
        label(320, 196, "○ the network's output: where's the next point?", "middle"),
        *_bars(60, "after point 13", [kept[12]] * 20, most),
        *_bars(360, Each(f"after point {n}" for n in points), kept, most),
    )  # fmt: skip
    said = [
        f"After point {n} the memory holds {_numbers(kept[n - 1])}; after point 13, {_numbers(kept[12])}. The output "
        f"misses the next point by {abs(outputs[n - 1].item() - _at(n + 1)):.2f}." for n in points
    ]  # fmt: skip
    return Scene(picture, [Knob("point", [str(n) for n in points], slider=True, ms=500)], said, [_TWICE[1] - 1])


def _numbers(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.1f}".replace("-0.0", "0.0") for value in values)


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


# -- unrolled: three steps side by side -------------------------------------------------------------------------------

_COLUMNS = (134, 320, 506)  # the middle of each step
_BOX, _SIDE = 106, 11  # a step's width, and that of one number of the memory


def unrolled() -> Scene:
    """The network over three steps: the same weights in each, and the memory that goes from one to the next.

    >>> unrolled().at(step="2")
    "Step 2: the point x[1], 1 number, and the memory of step 1, 6 numbers, stand side by side. Times w1, and tanh: ..."
    """
    steps = range(3)
    looks = [Each(None if n <= now else "faint" for now in steps) for n in steps]
    columns = [Part("g", *_column(n), class_=look) for n, look in zip(steps, looks)]
    picture = drawing(
        640, 306, "The network over three steps: a point and the memory go in, an output and the new memory come out",
        *_memory(32, "empty"), _arrow(46, 142, _COLUMNS[0] - _BOX / 2), *columns,
    )  # fmt: skip
    said = [
        f"Step {n + 1}: the point x[{n}], 1 number, and {f'the memory of step {n}' if n else 'the empty memory'}, "
        f"6 numbers, stand side by side. Times w1, and tanh: that's the new memory. Times w2: the output. The memory "
        f"goes on to step {n + 2}." for n in steps
    ]  # fmt: skip
    return Scene(picture, [Knob("step", [str(n + 1) for n in steps], slider=True, ms=1500)], said)


def _column(n: int) -> Iterator[Part]:
    x = _COLUMNS[n]
    yield Part("rect", class_="box", x=x - _BOX / 2, y=96, width=_BOX, height=92, rx=8)
    for y, words in ((122, "side by side"), (146, "@ w1 (7, 6)"), (170, "tanh")):
        yield label(x, y, words, "middle")
    yield Part("path", class_="line host", d=f"M{x} 246V194m-6 9l6-9l6 9M{x} 92V46m-6 9l6-9l6 9")
    yield label(x, 266, f"x[{n}]", "middle bold")
    yield label(x, 286, "(1, 1)", "middle")
    yield label(x + 8, 74, "@ w2 (6, 1)")
    yield label(x, 34, "output (1, 1)", "middle bold")
    after = x + 93
    yield _arrow(x + _BOX / 2, 142, after - 11)
    if n < 2:
        yield _arrow(after + 13, 142, _COLUMNS[n + 1] - _BOX / 2)
    yield from _memory(after, "h")


def _memory(x: float, words: str) -> Iterator[Part]:
    """Six numbers, one above the other."""
    look = "rest hollow" if words == "empty" else "host"
    for row in range(6):
        yield Part("rect", class_=look, x=x - _SIDE / 2, y=104 + 13 * row, width=_SIDE, height=_SIDE)
    yield label(x, 94, words, "middle")
    yield label(x, 202, "(1, 6)", "middle")


def _arrow(x: float, y: float, to: float) -> Part:
    return Part("path", class_="line host", d=f"M{x + 2:g} {y}H{to - 3:g}m-8-5l8 5l-8 5")
