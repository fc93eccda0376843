"""Lesson 04's playground: fifty networks, and the wave that each makes."""

import itertools
from typing import NamedTuple

import numpy as np

from fluxlite.messages import many

from ..scenes import Each, Knob, Part, Scene, drawing, label
from ..sine_wave import TIMES, run, train_by_hand
from .network import AT, OUTPUT, UP, WAVE, wave

SIZES, SEEDS = (1, 2, 4, 6, 16), (1, 2, 3, 10, 14)


class _Demo(NamedTuple):
    """A trained network: each epoch's loss, and its outputs, fed with true values or with its `own` outputs."""

    setting: tuple[int, int, bool]
    losses: list[float]
    outputs: np.ndarray
    own: bool

    def sentence(self, line: float) -> str:
        hidden, seed, kept = self.setting
        off = np.mean(np.abs(self.outputs - WAVE[1 : len(self.outputs) + 1]))
        memory = f"Memory of {many(hidden, 'number')}, {'kept' if kept else 'wiped at each step'}; seed {seed}."
        side = "above" if self.losses[-1] > line else "below"
        fed = f"Fed with {'its own output' if self.own else 'true values'}, it's {off:.2g} off on average."
        return f"{memory} The loss ends at {self.losses[-1]:.2g}, {side} the straight line's {line:.3g}. {fed}"


def playground() -> Scene:
    """50 networks, all of them trained beforehand, which takes a few seconds.

    Choose the size of the memory, the seed, whether the memory is kept, and what the network is fed with.
    """
    kept = {"kept": True, "wiped at each step": False}
    fed = {"true values": False, "its own output": True}
    demos = []
    for setting in itertools.product(SIZES, SEEDS, kept.values()):
        w1, w2, losses = train_by_hand(*setting)
        for own in fed.values():
            outputs = run(WAVE[: 40 if own else 20], w1, w2, setting[2], own)[0]
            demos.append(_Demo(setting, losses, outputs, own))
    knobs = [
        Knob("memory size", [str(size) for size in SIZES]), Knob("seed", [str(seed) for seed in SEEDS]),
        Knob("memory", list(kept)), Knob("fed with", list(fed)),
    ]  # fmt: skip
    now = WAVE[:20].ravel()
    line = float(np.sum((np.append(now[0], 2 * now[1:] - now[:-1]) - WAVE[1:21].ravel()) ** 2) / 2)
    picture = drawing(
        640, 310, "A trained network's output beside the wave", *wave(),
        label(54, 302, Each(f"the loss ends at {each.losses[-1]:.2g}" for each in demos), "bold"),
        Part("g", _outputs(demos, 20, 0), _outputs(demos, 40, 1), **OUTPUT,
             only=Each((int(each.own),) * 2 for each in demos)),
    )  # fmt: skip
    return Scene(picture, knobs, [each.sentence(line) for each in demos], [SIZES.index(6), 0, 0, 1])


def _outputs(demos: list[_Demo], count: int, number: int) -> Part:
    """So many outputs, each where it should be the next point."""
    heights = Each([UP(value) for value in np.resize(np.clip(each.outputs, -1.5, 1.5), count)] for each in demos)
    return Part("g", *(Part("circle", r=4.5) for _ in range(count)), xs=[AT(t) for t in TIMES[1 : count + 1]],
                ys=heights, data_n=number)  # fmt: skip
