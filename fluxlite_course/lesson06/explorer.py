"""The crossover explorer: a training step's time on a CPU and on a card, for all settings of `crossover`."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from fluxlite.receipts import duration
from simgpu import PRESETS

from ..crossing import BATCHES, SIZES, Crossover, crossover
from ..scenes import Each, Knob, Part, Scene, drawing, label
from ..scenes.axes import Axis, across, upward

COPIES = {"x, y in and the loss out": True, "none": False}
WAITS = {"waited for": True, "not waited for": False}
_UNWAITED = {True: "copying the loss back waits anyway", False: "orders only: the work isn't in it"}
_LOOKS = {"recorded": "host recorded", "simulated": "gpu simulated"}
# Where a hidden size, and a time in seconds, are in the picture.
XS, YS = Axis(SIZES[0], SIZES[-1], 108, 606, log=True), Axis(1e-5, 2, 386, 66, log=True)


def crossover_explorer(batch: int = 64, cards: Sequence[str] = tuple(PRESETS)) -> Scene:
    """All settings of `crossover` for these `cards`. `batch`, and the T4 or else the first card, are shown first.

    It takes about half a second for each card. Raises `ValueError` for a card or a batch that isn't there.

    >>> crossover_explorer(cards=["NVIDIA T4"]).at(batch="1")
    'One training step, batch 1, ... The lines cross at a hidden size of about 426. From 512 on the GPU wins; ...'
    """
    crossover(batch)  # raises with a better message than we would
    labels: Any = {"card": cards, "batch": BATCHES, "copies": COPIES, "the GPU": WAITS}
    values: Any = cards, BATCHES, COPIES.values(), WAITS.values()
    found = [crossover(size, name, *rest) for name, size, *rest in itertools.product(*values)]
    first = [cards.index("NVIDIA T4") if "NVIDIA T4" in cards else 0, BATCHES.index(batch), 0, 0]
    knobs = [Knob(name, list(map(str, some))) for name, some in labels.items()]
    return Scene(_drawing(found), knobs, [f"{each.caption} {each.conclusion}" for each in found], first)


def _drawing(found: list[Crossover]) -> Part:
    marks = {"recorded": "M-5 4h10l-5-9z", "simulated": "M-4.5-4.5h9v9h-9z"}
    times: Any = {"recorded": lambda each: each.cpu.values(), "simulated": lambda each: each.gpu.values()}
    lines = []
    for kind, mark in marks.items():
        heights = Each([YS(float(time)) for time in times[kind](each)] for each in found)
        xs, points = [XS(size) for size in SIZES], [Part("path", d=mark) for _ in SIZES]
        lines.append(Part("g", Part("polyline"), *points, class_=_LOOKS[kind], xs=xs, ys=heights))
    return drawing(
        640, 456, "Time of one training step by hidden size, on a CPU and on a GPU, both axes logarithmic",
        Part("path", class_="grid", d="".join(f"M92 {YS(time)}H622" for time in YS.round_numbers())),
        *across(XS, 386, "hidden size", SIZES, "{:g}".format), *upward(YS, 92, "", text=duration),
        *_crossing(found), *lines,
        *_key(0, "recorded", marks["recorded"], "CPU, recorded"),
        *_key(1, "simulated", marks["simulated"], Each(f"{each.settings['card']}, simulated" for each in found)),
        label(622, 19, Each(_UNWAITED[each.settings["copies"]] * (not each.settings["wait"]) for each in found),
              "wait bold end"),
    )  # fmt: skip


def _crossing(found: list[Crossover]) -> Iterator[Part]:
    xs = [each.crossing and XS(each.crossing) for each in found]
    yield Part("path", class_="axis", d=Each(x and f"M{x} 66V386" for x in xs))
    yield label(Each(xs), 60, Each(each.crossing and f"they cross at {each.crossing:.0f}" for each in found), "middle")


def _key(row: int, kind: str, mark: str, name: Any) -> Iterator[Part]:
    y = 14 + 28 * row
    line, middle = Part("polyline", points=f"108,{y} 156,{y}"), f"translate(132 {y})"
    yield Part("g", line, Part("path", d=mark, transform=middle), class_=_LOOKS[kind])
    yield label(168, y + 5, name)
