"""The crossover explorer: a training step's time on a CPU and on a card, for all settings of `crossover`."""

import itertools
from collections.abc import Sequence
from typing import Any

from simgpu import PRESETS

from ..crossing import BATCHES, SIZES, axes_of, crossover, lines
from ..scenes import Each, Knob, Part, Scene, drawing, label

COPIES = {"x, y in and the loss out": True, "none": False}
WAITS = {"waited for": True, "not waited for": False}
_UNWAITED = {True: "copying the loss back waits anyway", False: "orders only: the work isn't in it"}


def crossover_explorer(batch: int = 64, cards: Sequence[str] = tuple(PRESETS)) -> Scene:
    """All settings of `crossover` for these `cards`. `batch` and the first card are shown first.

    >>> crossover_explorer(cards=["NVIDIA T4"]).at(batch="1")
    'One training step, batch 1, ... The lines cross at a hidden size of about 426. From 512 on the GPU wins; ...'
    """
    crossover(batch)  # raises with a better message than we would
    settings: Any = {"card": cards, "batch": BATCHES, "copies": COPIES, "the GPU": WAITS}
    chosen = itertools.product(*settings.values())
    found = [crossover(size, card, COPIES[copies], WAITS[waits]) for card, size, copies, waits in chosen]
    crossings = [each.crossing for each in found]
    xs = [crossing and axes_of(SIZES)[0](crossing) for crossing in crossings]
    unwaited = [_UNWAITED[each.settings["copies"]] * (not each.settings["wait"]) for each in found]
    picture = drawing(
        640, 456, "Time of one training step by hidden size, on a CPU and on a GPU, both axes logarithmic",
        Part("path", class_="axis", d=Each(x and f"M{x} 66V386" for x in xs)),
        label(Each(x and x + 8 for x in xs), 376,
              Each(crossing and f"they cross at {crossing:.0f}" for crossing in crossings)),
        *lines([each.cpu for each in found], [each.gpu for each in found], "hidden size",
               Each(f"{each.settings['card']}, simulated" for each in found)),
        label(622, 19, Each(unwaited), "wait bold end"),
    )  # fmt: skip
    knobs = [Knob(name, list(map(str, some))) for name, some in settings.items()]
    sentences = [f"{each.caption} {each.conclusion}" for each in found]
    return Scene(picture, knobs, sentences, [0, BATCHES.index(batch), 0, 0])
