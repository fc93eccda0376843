"""At which size does a GPU start to win? The same training step of the RNN, on a real CPU and on a simulated card.

The CPU's times were recorded by ``python -m benchmarks.record_cpu``, into ``recorded/``. The card's are estimates, from
shapes alone, so an answer takes milliseconds and is the same everywhere.
"""

import functools
import json
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import fluxlite as fl
from fluxlite.devices.receipts import Seconds, duration
from fluxlite.words import many
from simgpu import preset

from .draw import GREY, look
from .scenes import Each, Part, label
from .scenes.axes import Axis, across, upward
from .sine_wave import training_step

SIZES = tuple(2**n for n in range(3, 13))
BATCHES = (1, 4, 16, 64, 256, 1024)
Times = Mapping[int, Seconds]  # by a size: how long a step takes


class Crossover:
    """What `crossover` found: for each hidden size, a training step's time on the `cpu` and on the `gpu`."""

    def __init__(self, settings: Any, cpu: Times, gpu: Times, about: str) -> None:
        self.settings, self.cpu, self.gpu, self.about = dict(settings), cpu, gpu, about

    @property
    def faster(self) -> dict[int, float]:
        """For each hidden size, the CPU's time divided by the GPU's: above 1 the GPU is faster."""
        return {size: float(self.cpu[size]) / float(self.gpu[size]) for size in self.cpu}

    @property
    def smallest(self) -> int | None:
        """The smallest hidden size in the table from which the GPU stays faster. None if there isn't one."""
        last_loss = max((size for size, ratio in self.faster.items() if ratio <= 1), default=0)
        return min((size for size in self.cpu if size > last_loss), default=None)

    @property
    def is_compared(self) -> bool:
        """Whether the GPU's times are those of its work. Otherwise they're only those of ordering it."""
        return self.settings["wait"] or self.settings["copies"]

    @property
    def crossing(self) -> float | None:
        """Where the lines cross, maybe between two hidden sizes. None if they don't, or if they aren't compared."""
        right = self.smallest
        if right is None or right == min(self.cpu) or not self.is_compared:
            return None
        return crossing_of(self.cpu, self.gpu)

    @property
    def conclusion(self) -> str:
        """Where the lines cross, in words."""
        first, last = min(self.cpu), max(self.cpu)
        if not self.is_compared:
            return "The GPU's line is the time of ordering, not of working: don't compare it."
        if self.crossing is None:
            return f"The {'GPU' if self.smallest else 'CPU'} is faster at every hidden size from {first} to {last}."
        wins = f"From {self.smallest} on the GPU wins; at {last} it is {_times(self.faster[last])} as fast."
        return f"The lines cross at a hidden size of about {self.crossing:.0f}. {wins}"

    @property
    def caption(self) -> str:
        """What the picture shows, in words."""
        return f"One training step, batch {self.settings['batch']}, by hidden size. {self.about}"

    def __repr__(self) -> str:
        rows = [
            f"{size:>11}  {duration(self.cpu[size]):>14}  {duration(self.gpu[size]):>14}  "
            f"{f'GPU, {_times(ratio)}' if ratio > 1 else f'CPU, {_times(1 / ratio)}'}"
            for size, ratio in self.faster.items()
        ]
        head = f"One training step, batch {self.settings['batch']}\nhidden size   CPU, recorded  GPU, simulated  faster"
        return "\n".join([head, *rows, self.conclusion, self.about.replace(" GPU: ", "\nGPU: ")])

    def draw(self, axes: Any) -> None:
        """Draw the two lines, and where they cross, on a figure's axes."""
        for name, times in (("CPU", self.cpu), (self.settings["card"], self.gpu)):
            kind = next(iter(times.values())).kind
            micro = [1e6 * float(time) for time in times.values()]
            axes.loglog(list(times), micro, label=f"{name}, {kind}", **look(kind))
        axes.set_xticks(list(self.cpu), list(map(str, self.cpu)))
        axes.set_yticks([10.0**n for n in range(1, 7)], [f"{10**n:,}" for n in range(1, 7)])
        axes.minorticks_off()
        axes.set(xlabel="hidden size", ylabel="µs per training step", ylim=(10, 2e6))
        if self.crossing is not None:
            axes.axvline(self.crossing, ymax=0.8, color=GREY, linewidth=1)
            axes.text(self.crossing * 1.06, 14, f"they cross at {self.crossing:.0f}", color=GREY, fontsize=12)
        axes.legend(loc="upper left", fontsize=12, frameon=False)


_BOTTOM = 326  # of the axes: with its knobs, the picture fits a small screen


def crossing_of(cpu: Times, gpu: Times) -> float | None:
    """From which size on the GPU stays faster, on straight lines between the sizes, both axes logarithmic.

    None if it isn't faster at the largest size, or if it is at each.

    >>> slow, fast = fl.Seconds(2e-3, "recorded"), fl.Seconds(1e-3, "simulated")
    >>> crossing_of({1: fast, 4: slow}, {1: slow, 4: fast})
    2.0
    """
    faster = [math.log(float(cpu[size]) / float(gpu[size])) for size in cpu]
    losses = [place for place, ratio in enumerate(faster) if ratio <= 0]
    if not losses or losses[-1] == len(faster) - 1:
        return None
    place, sizes = losses[-1], list(cpu)
    left, right = sizes[place], sizes[place + 1]
    share = faster[place] / (faster[place] - faster[place + 1])
    return float(left * (right / left) ** share)


def axes_of(sizes: Iterable[int], shortest: float = 1e-5, longest: float = 2) -> tuple[Axis, Axis]:
    """The axes of a picture of `lines`, for sizes, and for times in seconds from the `shortest` to the `longest`."""
    return Axis(min(sizes), max(sizes), 108, 592, log=True), Axis(shortest, longest, _BOTTOM, 66, log=True)


def lines(
    cpu: Sequence[Times], gpu: Sequence[Times], about: str, card: Any, ticks: Sequence[int] = (), *limits: float
) -> Iterator[Part]:
    """A picture's parts: in each state a line for a CPU's times by size and one for a card's, with axes and a key.

    `limits` are the shortest and the longest time that's on the axis.
    """
    xs, ys = axes_of(sizes := list(cpu[0]), *limits)
    yield Part("path", class_="grid", d="".join(f"M92 {ys(time)}H622" for time in ys.round_numbers()))
    yield from across(xs, _BOTTOM, about, ticks or sizes, "{:,}".format if ticks else str)
    yield from upward(ys, 92, "", text=duration)
    kinds = (cpu, "host recorded", "M-5 4h10l-5-9z", "CPU, recorded"), (gpu, "gpu simulated", "M-4.5-4.5h9v9h-9z", card)
    for y, (times, kind, mark, name) in zip((14, 42), kinds):
        heights = Each([ys(float(time)) for time in each.values()] for each in times)
        points = [Part("path", d=mark) for _ in sizes]
        yield Part("g", Part("polyline"), *points, class_=kind, xs=[xs(size) for size in sizes], ys=heights)
        key = Part("polyline", points=f"108,{y} 156,{y}"), Part("path", d=mark, transform=f"translate(132 {y})")
        yield Part("g", *key, class_=kind)
        yield label(168, y + 5, name)


def _times(ratio: float) -> str:
    return f"{ratio:.1f} times" if ratio < 9.95 else f"{ratio:,.0f} times"


def crossover(batch: int = 64, card: Any = "NVIDIA T4", copies: bool = True, wait: bool = True) -> Crossover:
    """From which hidden size is a card faster? One training step of lesson 04's RNN, for hidden sizes 8 to 4096.

    The CPU's times are recorded. `card` is a name or a preset. With `copies`, x and y come from the host at each step,
    and the loss goes back to it. Without `wait`, the clock stops when the step has been ordered, not when it's done.
    Raises `ValueError` for an unknown card or `batch`.

    >>> c = crossover(batch=64)
    >>> round(c.crossing), c.smallest
    (272, 512)
    """
    if batch not in BATCHES:
        raise ValueError(f"the CPU was recorded with a batch of {', '.join(map(str, BATCHES))}, not {batch!r}")
    like, made = preset(card), record()
    threads = many(made["threads"], "thread")
    about = f"CPU: {made['cpu']}, {threads}, NumPy {made['numpy']}, recorded on {made['date']}."
    moved = "x and y copied in and the loss copied out at each step" if copies else "no copies"
    about += f" GPU: {like.name}, simulated: {moved}, {'' if wait else 'not '}waited for."
    cpu = {size: recorded("training step", hidden=size, batch=batch) for size in SIZES}
    gpu = {size: simulated(size, batch, like, copies, wait) for size in SIZES}
    return Crossover({"batch": batch, "card": like.name, "copies": copies, "wait": wait}, cpu, gpu, about)


@functools.cache
def simulated(hidden: int, batch: int, card: Any, copies: bool = True, wait: bool = True) -> Seconds:
    """How long one step takes on a simulated card. Only shapes are computed."""
    x, y, *model = arrays(hidden, batch)

    def step(x_there: Any, y_there: Any, *model: Any) -> float:
        start = fl.clock()
        loss, _ = training_step(fl.gpu(x) if copies else x_there, fl.gpu(y) if copies else y_there, *model)
        if copies:
            fl.cpu(loss)
        if wait:
            fl.gpu_device().synchronize()  # type: ignore[union-attr]
        return round(fl.clock() - start, 9)  # simulated clocks count nanoseconds

    return Seconds(fl.estimate(step, x, y, *model, like=card, shapes_only=True).result, "simulated", preset(card).name)


def arrays(hidden: int, batch: int, dtype: Any = np.float32) -> list[np.ndarray]:
    """A step's x, y, memory, w1 and w2, all zeros: use their shapes, or fill them."""
    shapes = (batch, 1), (batch, 1), (batch, hidden), (1 + hidden, hidden), (hidden, 1)
    return [np.zeros(shape, dtype) for shape in shapes]


@functools.cache
def record(name: str = "amd-epyc") -> dict[str, Any]:
    """A record that ``python -m benchmarks.record_cpu`` wrote."""
    return dict(json.loads(Path(__file__).with_name("recorded").joinpath(f"{name}.json").read_text(encoding="utf-8")))


def recorded(what: str, name: str = "amd-epyc", **settings: Any) -> Seconds:
    """The median time of one case, ``recorded("product", n=2048)``, in float32. Raises `ValueError` if it's missing."""
    kept, wanted = record(name), {"dtype": "float32", "what": what, **settings}
    for entry in kept["measurements"]:
        if all(entry.get(key) == value for key, value in wanted.items()):
            return Seconds(statistics.median(entry["repeats"]), "recorded", f"{kept['cpu']}, {kept['date']}")
    raise ValueError(f"{kept['cpu']}: nothing was recorded for {wanted}")
