"""The crossover explorer: a training step's time on a CPU and on a card, for all settings of `crossover`."""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from simgpu import PRESETS, preset

from ..crossing import BATCHES, SIZES, Crossover, crossover
from ..scenes import Each, Knob, Part, Scene, drawing
from ..scenes.parts import rounded

COPIES = {"x, y in and the loss out": True, "none": False}
WAITS = {"waited for": True, "not waited for": False}
_LOOKS = {"recorded": "host recorded", "simulated": "gpu simulated"}
_LEFT, _RIGHT, _TOP, _BOTTOM = 92, 622, 66, 386
_LEAST, _MOST = 10.0, 2e6  # microseconds
_DECADES = ("10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s")


def crossover_explorer(
    batch: int = 64, card: str = "NVIDIA T4", copies: bool = True, wait: bool = True, cards: Sequence[str] = ()
) -> Scene:
    """All settings of `crossover` for these `cards`, all presets by default; the others choose the first one shown.

    It takes about half a second for each card. Raises `ValueError` for a card or a batch that isn't there.

    >>> crossover_explorer(cards=["NVIDIA T4"]).at(batch="1")
    'One training step, batch 1, ... The lines cross at a hidden size of about 426. From 512 on the GPU wins; ...'
    """
    crossover(batch, card, copies, wait)  # raises with a better message than we would
    card = preset(card).name
    cards = list(cards) or list(PRESETS)
    labels: Any = {"card": cards, "batch": BATCHES, "copies": COPIES, "the GPU": WAITS}
    values: Any = cards, BATCHES, COPIES.values(), WAITS.values()
    found = [crossover(size, name, *rest) for name, size, *rest in itertools.product(*values)]
    first = [list(some).index(value) for some, value in zip(values, (card, batch, copies, wait))]
    knobs = [Knob(name, list(map(str, some))) for name, some in labels.items()]
    return Scene(_drawing(found), knobs, [f"{each.caption} {each.conclusion}" for each in found], first)


def place(size: float, micro: float) -> tuple[float, float]:
    """Where a hidden size and a time in microseconds are in the picture, on logarithmic axes."""
    x = math.log2(size / SIZES[0]) / math.log2(SIZES[-1] / SIZES[0])
    y = math.log(micro / _LEAST) / math.log(_MOST / _LEAST)
    return _LEFT + 16 + x * (_RIGHT - _LEFT - 32), _BOTTOM - y * (_BOTTOM - _TOP)


def _drawing(found: list[Crossover]) -> Part:
    band = Part("polygon", class_="band host", points=Each(map(_band, found)))
    marks = {"recorded": "M-5 4h10l-5-9z", "simulated": "M-4.5-4.5h9v9h-9z"}
    times: Any = {"recorded": lambda each: [timing.median for timing in each.cpu.values()],
                  "simulated": lambda each: each.gpu.values()}  # fmt: skip
    lines = []
    for kind, mark in marks.items():
        heights = Each(rounded(place(1, float(time) * 1e6)[1] for time in times[kind](each)) for each in found)
        xs = rounded(place(size, 1)[0] for size in SIZES)
        points = [Part("path", d=mark) for _ in SIZES]
        lines.append(Part("g", Part("polyline"), *points, class_=_LOOKS[kind], xs=xs, ys=heights))
    return drawing(
        640, 456, "Time of one training step by hidden size, on a CPU and on a GPU, both axes logarithmic",
        *_axes(), band, *_crossing(found), *lines,
        *_key(0, "recorded", marks["recorded"], "CPU, recorded"),
        *_key(1, "simulated", marks["simulated"], Each(f"{each.settings['card']}, simulated" for each in found)),
    )  # fmt: skip


def _band(found: Crossover) -> str:
    """The middle half of the CPU's times."""
    both = zip(*(timing.quartiles for timing in found.cpu.values()))
    low, high = ([place(size, float(time) * 1e6) for size, time in zip(SIZES, times)] for times in both)
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in low + high[::-1])


def _axes() -> Iterator[Part]:
    for number, label in enumerate(_DECADES, 1):
        y = rounded([place(1, 10.0**number)[1]])[0]
        yield Part("path", class_="grid", d=f"M{_LEFT} {y}H{_RIGHT}")
        yield Part("text", text=label, class_="end", x=_LEFT - 7, y=y + 5)
    yield Part("path", class_="axis", d=f"M{_LEFT} {_TOP}V{_BOTTOM}H{_RIGHT}")
    for number, size in enumerate(SIZES):
        x = rounded([place(size, 1)[0]])[0]
        yield Part("path", class_="axis", d=f"M{x} {_BOTTOM}v6")
        yield Part("text", text=size, class_="middle wide" if number % 2 == 0 else "middle", x=x, y=_BOTTOM + 26)
    yield Part("text", text="hidden size", class_="middle", x=(_LEFT + _RIGHT) / 2, y=_BOTTOM + 56)


def _crossing(found: list[Crossover]) -> Iterator[Part]:
    """Where the lines cross: left of its words if there's more room."""
    xs = [None if each.crossing is None else place(each.crossing, 1)[0] for each in found]
    left = [x is not None and x > (_LEFT + _RIGHT) / 2 for x in xs]
    words = Each("" if each.crossing is None else f"they cross at {each.crossing:.0f}" for each in found)
    at: Any = Each(None if x is None else rounded([x - 8 if before else x + 8])[0] for x, before in zip(xs, left))
    yield Part("path", class_="axis", d=Each(None if x is None else f"M{x:.1f} {_TOP}V{_BOTTOM}" for x in xs))
    yield Part("text", text=words, class_=Each("end" if before else None for before in left), x=at, y=_BOTTOM - 10)


def _key(row: int, kind: str, mark: str, name: Any) -> Iterator[Part]:
    y = 14 + 28 * row
    line, middle = Part("polyline", points=f"108,{y} 156,{y}"), f"translate(132 {y})"
    yield Part("g", line, Part("path", d=mark, transform=middle), class_=_LOOKS[kind])
    yield Part("text", text=name, x=168, y=y + 5)
