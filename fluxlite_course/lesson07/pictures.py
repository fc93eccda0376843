"""Lesson 07's two lines: a training step with more and more data at once, on a recorded CPU and on a simulated T4."""

from collections.abc import Callable
from typing import Any

import numpy as np

import fluxlite as fl
from fluxlite.devices.receipts import duration
from fluxlite.words import many

from .. import busiest
from ..crossing import Times, axes_of, lines, recorded, simulated
from ..scenes import Each, Knob, Part, Scene, drawing, label
from ..sine_wave import problem, step

CARD = "NVIDIA T4"
WAVES = tuple(4**k for k in range(11))  # 1 wave, 4, 16 … up to a million
DIGITS = (1, 4, 16, 64, 256, 1024, 4096)
_TICKS = {1, 64, 1024, 65_536, 1_048_576}


def wave_lanes(*batch: int) -> Scene:
    """Who's the busiest in a training step of the sine-wave RNN, with so many waves at once."""

    def one_step(width: int, n: int, dtype: str) -> tuple[Any, ...]:
        def loss(model: Any, x: Any, y: Any) -> Any:
            return np.sum((step(x[:, :1], x[:, 1:], *model)[0] - y) ** 2) / 2

        # A row of x has a wave's point and its memory, so this step makes no array that `training_step` doesn't make.
        return loss, problem()[2:], fl.Descent(0.1), np.zeros((n, 1 + width), dtype), np.zeros((n, 1), dtype)

    return busiest(one_step, width=6, batch=batch, feeding="stays on the GPU")


def digits_step(n: int) -> tuple[Callable[..., None], tuple[Any, ...]]:
    """A training step of lesson 09's network with `n` digits at once: a function and what it takes."""
    rng = np.random.default_rng(1)
    model = fl.Chain(
        fl.Conv((3, 3), 1, 8, fl.relu, pad=1, rng=rng), fl.MaxPool((2, 2)),
        fl.Conv((3, 3), 8, 16, fl.relu, pad=1, rng=rng), fl.MaxPool((2, 2)), fl.flatten, fl.Dense(64, 10, rng=rng),
    )  # fmt: skip
    x, y = rng.random((n, 8, 8, 1), np.float32), np.eye(10, dtype=np.float32)[np.arange(n) % 10]

    def train(model: Any, state: Any, x: Any, y: Any) -> None:
        fl.update(state, model, fl.gradient(lambda m: fl.logitcrossentropy(m(x), y), model)[0])

    return train, (model, fl.setup(fl.Adam(0.003), model), x, y)


def crossing_lines(what: str = "waves") -> Scene:
    """A training step's time by how many ``"waves"`` or ``"digits"`` it takes at once: a server's CPU and a T4.

    >>> crossing_lines().at(waves="65,536")
    '65,536 waves at once. The CPU takes ... The T4 is faster, by a factor of about 9.9.'
    """
    if what == "waves":
        cpu = {n: recorded("training step", name="amd-epyc-waves", hidden=6, batch=n) for n in WAVES}
        return two_lines(cpu, {n: simulated(6, n, CARD, copies=False) for n in WAVES}, what)
    cpu = {n: recorded("digits step", name="xeon-digits", batch=n) for n in DIGITS}
    steps = {n: digits_step(n) for n in DIGITS}
    gpu = {n: fl.estimate(run, *taken, like=CARD, shapes_only=True).seconds for n, (run, taken) in steps.items()}
    return two_lines(cpu, gpu, what)


def two_lines(cpu: Times, gpu: Times, what: str) -> Scene:
    """The two lines, with a slider over how many: which of them is faster there, and by how much.

    >>> slow, fast = fl.Seconds(1e-3, "recorded"), fl.Seconds(1e-4, "simulated", "NVIDIA T4")
    >>> two_lines({1: slow, 4: slow}, {1: fast, 4: fast}, "waves")
    1 wave at once. The CPU takes 1 ms (recorded), the T4 100 µs (simulated). The T4 is faster, by a factor of about 10.
    """
    xs, ys = axes_of(cpu)
    gaps = Each(f"M{xs(n)} {ys(float(cpu[n]))}V{ys(float(gpu[n]))}" for n in cpu)
    ratios = [float(cpu[n]) / float(gpu[n]) for n in cpu]
    # Where it's about the same, neither is named.
    faster = [("" if 0.8 < x < 1.25 else "T4" if x > 1 else "CPU", max(x, 1 / x)) for x in ratios]
    states, ticks = len(cpu), sorted(_TICKS & cpu.keys())
    picture = drawing(
        640, 456, f"Time of a training step, by the number of {what} trained at once, both axes logarithmic",
        Part("path", class_="gap", d=gaps),
        *lines([cpu] * states, [gpu] * states, f"{what} at once", "NVIDIA T4, simulated", ticks),
        label(622, 24, Each(f"× {factor:.2g}" if name else "" for name, factor in faster), "bold big end"),
        label(622, 50, Each(f"{name} is faster" if name else "about the same" for name, _ in faster), "end"),
    )  # fmt: skip
    said = []
    for n, (name, factor) in zip(cpu, faster):
        verdict = f"The {name} is faster, by a factor of about {factor:.2g}." if name else "That's about the same."
        both = f"The CPU takes {duration(cpu[n])} (recorded), the T4 {duration(gpu[n])} (simulated)."
        said.append(f"{many(n, what[:-1])} at once. {both} {verdict}")
    return Scene(picture, [Knob(what, [f"{n:,}" for n in cpu], slider=True, ms=700)], said, along=[xs(n) for n in cpu])
