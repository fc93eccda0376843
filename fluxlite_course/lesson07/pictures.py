"""Lesson 07's two lines: a training step with more and more data at once, on a recorded CPU and on a simulated T4."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import fluxlite as fl
from fluxlite.devices.receipts import duration
from fluxlite.words import many
from simgpu import preset

from .. import busiest
from ..crossing import Times, arrays, axes_of, lines, recorded, simulated
from ..scenes import Each, Knob, Part, Scene, drawing, label
from ..sine_wave import problem, step, training_step

CARD = "NVIDIA T4"
WAVES = tuple(4**k for k in range(11))  # 1 wave, 4, 16 … up to a million
REPLAYED = WAVES[:9]  # up to 65,536: a capture copies what it finds, and that takes a while with more
DIGITS = (1, 4, 16, 64, 256, 1024, 4096)
STEPS = 20  # in an epoch
RECORDED = 2  # so many calls of a captured step are recorded; later ones are replays
_SPARE = 2  # so many times as long as the longest time is the axis's end
_TICKS = {1, 64, 1024, 65_536, 1_048_576}


def wave_lanes(*batch: int) -> Scene:
    """Who's the busiest in a training step of the sine-wave RNN, with so many waves at once."""

    def one_step(width: int, n: int, dtype: str) -> tuple[Any, ...]:
        def loss(model: Any, x: Any, y: Any) -> Any:
            return np.sum((step(x[:, :1], x[:, 1:], *model)[0] - y) ** 2) / 2

        # A row of x has a wave's point and its memory, so this step makes no array that `training_step` doesn't make.
        return loss, problem()[2:], fl.Descent(0.1), np.zeros((n, 1 + width), dtype), np.zeros((n, 1), dtype)

    scene = busiest(one_step, width=6, batch=batch, feeding="stays on the GPU")
    scene.knobs = [knob._replace(name="waves") if knob.name == "batch" else knob for knob in scene.knobs]
    return scene


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


def replayed_epoch(x: Any, y: Any, w1: Any, w2: Any, rate: float = 0.1) -> Callable[[], Any]:
    """An epoch over the points in `x`, recorded once: it changes `w1` and `w2` in place, and returns the loss."""

    def epoch() -> Any:
        h, total = np.zeros_like(w1, shape=(x.shape[1], w1.shape[1])), 0
        for point, target in zip(x, y):
            error, h = training_step(point, target, h, w1, w2, rate)
            total = total + error
        return total

    return fl.captured(epoch)


@functools.cache
def simulated_replay(n: int, card: Any = CARD) -> fl.Seconds:
    """How long a step of a replayed epoch with `n` waves takes on a simulated card, until the GPU is done."""

    def replay(x: Any, y: Any, w1: Any, w2: Any) -> float:
        run_epoch = replayed_epoch(x, y, w1, w2)
        for _ in range(RECORDED):
            run_epoch()
        fl.gpu_device().synchronize()  # type: ignore[union-attr]
        start = fl.clock()
        run_epoch()
        fl.gpu_device().synchronize()  # type: ignore[union-attr]
        return round((fl.clock() - start) / STEPS, 9)  # simulated clocks count nanoseconds

    seconds = fl.estimate(replay, *points_of(n), like=card, shapes_only=True).result
    return fl.Seconds(seconds, "simulated", preset(card).name)


def points_of(n: int) -> list[np.ndarray]:
    """An epoch's x and y for `n` waves, w1 and w2, all zeros: use their shapes, or fill them."""
    x, y, _, w1, w2 = arrays(6, n)
    return [np.zeros((STEPS, *x.shape), x.dtype), np.zeros((STEPS, *y.shape), y.dtype), w1, w2]


def crossing_lines(what: str = "waves", replayed: bool = False) -> Scene:
    """A training step's time by how many ``"waves"`` or ``"digits"`` it takes at once: a server's CPU and a T4.

    With `replayed`, it's a step of an epoch that was recorded once, and that both replay as one order.

    >>> crossing_lines().at(waves="65,536")
    '65,536 waves at once. The CPU takes ... The T4 is faster, by a factor of about 9.9.'
    """
    if what == "waves":
        return two_lines(*times_of_waves(replayed), what)
    cpu = {n: recorded("digits step", name="xeon-digits", batch=n) for n in DIGITS}
    steps = {n: digits_step(n) for n in DIGITS}
    gpu = {n: fl.estimate(run, *taken, like=CARD, shapes_only=True).seconds for n, (run, taken) in steps.items()}
    return two_lines(cpu, gpu, what)


def times_of_waves(replayed: bool = False) -> tuple[Times, Times]:
    """How long a training step takes a server's CPU and a T4, by how many waves are trained at once."""
    if replayed:
        cpu = {n: recorded("step of a replayed epoch", name="xeon-replays", hidden=6, batch=n) for n in REPLAYED}
        return cpu, {n: simulated_replay(n) for n in REPLAYED}
    cpu = {n: recorded("training step", name="amd-epyc-waves", hidden=6, batch=n) for n in WAVES}
    return cpu, {n: simulated(6, n, CARD, copies=False) for n in WAVES}


def two_lines(cpu: Times, gpu: Times, what: str) -> Scene:
    """The two lines, with a slider over how many: which of them is faster there, and by how much.

    >>> slow, fast = fl.Seconds(1e-3, "recorded"), fl.Seconds(1e-4, "simulated", "NVIDIA T4")
    >>> two_lines({1: slow, 4: slow}, {1: fast, 4: fast}, "waves")
    1 wave at once. The CPU takes 1 ms (recorded), the T4 100 µs (simulated). The T4 is faster, by a factor of about 10.
    """
    times = [float(time) for line in (cpu, gpu) for time in line.values()]
    limits = min(times) / _SPARE, max(times) * _SPARE
    xs, ys = axes_of(cpu, *limits)
    gaps = Each(f"M{xs(n)} {ys(float(cpu[n]))}V{ys(float(gpu[n]))}" for n in cpu)
    ratios = [float(cpu[n]) / float(gpu[n]) for n in cpu]
    # Where it's about the same, neither is named.
    faster = [("" if 0.8 < x < 1.25 else "T4" if x > 1 else "CPU", max(x, 1 / x)) for x in ratios]
    states, ticks = len(cpu), sorted(_TICKS & cpu.keys())
    picture = drawing(
        640, 396, f"Time of a training step, by the number of {what} trained at once, both axes logarithmic",
        Part("path", class_="gap", d=gaps),
        *lines([cpu] * states, [gpu] * states, f"{what} at once", "NVIDIA T4, simulated", ticks, *limits),
        label(622, 24, Each(f"× {factor:.2g}" if name else "" for name, factor in faster), "bold big end"),
        label(622, 50, Each(f"{name} is faster" if name else "about the same" for name, _ in faster), "end"),
    )  # fmt: skip
    said = []
    for n, (name, factor) in zip(cpu, faster):
        verdict = f"The {name} is faster, by a factor of about {factor:.2g}." if name else "That's about the same."
        both = f"The CPU takes {duration(cpu[n])} (recorded), the T4 {duration(gpu[n])} (simulated)."
        said.append(f"{many(n, what[:-1])} at once. {both} {verdict}")
    return Scene(picture, [Knob(what, [f"{n:,}" for n in cpu], slider=True, ms=700)], said, along=[xs(n) for n in cpu])
