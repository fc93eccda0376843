"""Not faster but wider: lesson 08's training of many networks, in one launch, and one after another on one core."""

import functools
import os
import subprocess
import tempfile
import timeit
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import fluxlite as fl
from fluxlite.devices.receipts import Seconds, duration
from fluxlite.words import many

from .. import crossing, sine_wave
from ..scenes import Each, Knob, Part, Scene, drawing, label
from ..scenes.axes import Axis, across, curve, upward

EPOCHS = 200
THREADS = 48  # one for each weight
_COUNTS = tuple(2**k for k in range(13))
_PARTS = 10


def networks(rates: Sequence[float] = (0.1,), seeds: Sequence[int] = (1,)) -> tuple[np.ndarray, ...]:
    """Arrays for N networks, one for each rate and seed: x, y, the weights, the rates, room for the losses.

    >>> [array.shape for array in networks(rates=[0.1, 0.2], seeds=[1, 2, 3])]
    [(20,), (20,), (6, 48), (6,), (6,)]
    """
    x, y, _, _ = sine_wave.problem()
    weights = [np.append(*sine_wave.problem(seed=seed)[2:]) for seed in seeds for _ in rates]
    all_rates = np.tile(np.asarray(rates, np.float32), len(seeds))
    return x.ravel(), y.ravel(), np.stack(weights), all_rates, np.zeros_like(all_rates)


def train_all(kernel: Any, arrays: Sequence[Any], epochs: int) -> Seconds:
    """Launch lesson 08's ``training`` on the networks of `arrays`, and return how long the GPU takes, simulated.

    That takes the simulation seconds. So it's ten launches, of a tenth of the epochs each, with a bar that shows how
    far it is. The weights and the losses come to the same, since a launch goes on with the weights that the one before
    has kept. If the kernel doesn't keep them, it's one launch, without a bar.
    """
    weights, rates = arrays[2], arrays[3]
    before, seconds = fl.cpu(weights).copy(), 0.0
    with _bar(epochs, " epochs") as bar:
        for part in np.array_split(np.arange(epochs), min(_PARTS, epochs)):
            kernel[len(rates), THREADS](*arrays, len(part))
            seconds += kernel.figures.seconds
            bar.update(len(part))
            if np.array_equal(fl.cpu(weights), before):
                kernel[len(rates), THREADS](*arrays, epochs)
                seconds = kernel.figures.seconds
                bar.total = bar.n  # where steps are missing, tqdm's bar in a notebook would stay, in red
                break
    return Seconds(seconds, "simulated", kernel.figures.card.name)


def _bar(total: int, unit: str) -> Any:
    """A bar that shows from the first moment how far we are, and that's gone at the end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # without ipywidgets, it's text
        from tqdm.auto import tqdm

        off = os.environ.get("TQDM_DISABLE", "0") not in ("", "0")  # tqdm's bar for notebooks doesn't ask
        return tqdm(total=total, unit=unit, leave=False, disable=off)


def in_python() -> Seconds:
    """How long lesson 04's program, which does the same training with NumPy, takes here: measured."""
    times = []
    for _ in range(2):
        arrays = sine_wave.problem()
        times.append(timeit.timeit(lambda arrays=arrays: sine_wave.train(*arrays), number=1))  # type: ignore[misc]
    return Seconds(min(times), "measured")


@functools.cache
def _compile() -> Callable[..., None]:
    """``training`` of one_loop.c. Raises `OSError`, `CalledProcessError` or `ImportError` without a compiler."""
    import ctypes

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        library, source = os.path.join(folder, "one_loop.so"), str(Path(__file__).with_name("one_loop.c"))
        command = [os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", source, "-o", library, "-lm"]
        subprocess.run(command, check=True, capture_output=True)
        training = ctypes.CDLL(library).training
    array = np.ctypeslib.ndpointer(np.float32, flags="C_CONTIGUOUS")
    training.argtypes, training.restype = [array] * 5 + [ctypes.c_int, ctypes.c_float], None
    return training


def one_loop(x: np.ndarray, y: np.ndarray, w1: np.ndarray, w2: np.ndarray) -> np.ndarray:
    """The losses of the training at a rate of 0.1, by one_loop.c on one core. It leaves the weights alone."""
    losses = np.zeros(EPOCHS, np.float32)
    _compile()(x, y, w1.copy(), w2.copy(), losses, EPOCHS, 0.1)
    return losses


def on_one_core() -> Seconds:
    """How long `one_loop` takes: measured here if there's a C compiler, otherwise recorded."""
    run = functools.partial(one_loop, *sine_wave.problem())
    try:
        run()
    except (OSError, subprocess.CalledProcessError, ImportError):
        return crossing.recorded("whole training", name="amd-epyc-loop", language="C")
    return Seconds(min(timeit.repeat(run, repeat=20, number=4)) / 4, "measured")


def wider(kernel: Any, arrays: Sequence[Any], core: Seconds) -> Scene:
    """Two lines that cross: many networks like that of `arrays`, in one launch of `kernel`, or in `core` each."""
    found = []
    with _bar(2 * len(_COUNTS), " launches") as bar:
        for count in _COUNTS:
            wide = [*arrays[:2], *(np.concatenate([array] * count) for array in arrays[2:])]
            one, two = (_times(kernel, count, wide, epochs) for epochs in (1, 2))
            found.append(one + (EPOCHS - 1) * (two - one))  # every further epoch takes as long as the second
            bar.update(2)
    x, y = Axis(1, _COUNTS[-1], 80, 620, log=True), Axis(2e-4, 8, 300, 60, log=True)
    across_x, (gpu, low, high) = [x(count) for count in _COUNTS], zip(*found)
    cpu = [core * count for count in _COUNTS]
    edge = " ".join(f"{at},{y(s)}" for at, s in [*zip(across_x, low), *[*zip(across_x, high)][::-1]])
    parts = [
        *across(x, 300, "networks"), *upward(y, 80, "all of them trained", text=duration),
        Part("polygon", class_="gpu band", points=edge),
        curve(across_x, [y(s) for s in gpu], "gpu simulated"),
        curve(across_x, [y(s) for s in cpu], f"host {core.kind}"),
    ]  # fmt: skip
    said, words = [], []
    for count, t4, least, most, one in zip(_COUNTS, gpu, low, high, cpu):
        who = "the core" if one < t4 else "the T4"
        faster = f"{who} is faster, by {max(t4, one) / min(t4, one):.0f} times"
        won = "too close to call" if least <= one <= most else faster
        core_takes, t4_takes = f"one core: {duration(one)}", f"T4: {duration(t4)}"
        words.append((core_takes, t4_takes, won))
        said.append(f"{many(count, 'network')}: {core_takes} {core.kind}, {t4_takes} simulated: {won}.")
    for at, look, each in zip((80, 240, 632), ("bold host", "bold gpu", "end bold"), zip(*words)):
        parts.append(label(at, 20, Each(each), look))
    for times, look in ((cpu, "host"), (gpu, "gpu")):
        parts.append(Part("circle", r=6, class_=look, cx=Each(across_x), cy=Each(y(s) for s in times)))
    title = "The time of many networks: one after another on one core, and in one launch on a T4"
    knob = Knob("networks", [f"{count:,}" for count in _COUNTS], slider=True, ms=700)
    return Scene(drawing(640, 356, title, *parts), [knob], said)


def _times(kernel: Any, count: int, arrays: Sequence[Any], epochs: int) -> np.ndarray:
    """How long a launch takes: the estimate, the least, the most."""
    kernel[count, THREADS](*arrays, epochs)
    return np.array([kernel.figures.seconds, *kernel.figures.range])
