"""Lesson 14's pictures: what's inside a GPU, how a block adds up, and times compared."""

from typing import Any

import numpy as np

from fluxlite.receipts import Seconds, duration

from ..draw.pictures import BLUE, GREEN, GREY, ORANGE, Picture, look, plots, show
from ..draw.shapes import rectangle, sheet

# Turing architecture white paper, 2018, and the T4's datasheet, 2019: notebooks/SOURCES.md has the addresses.
MULTIPROCESSORS, LANES, WARP = 40, 64, 32
# GB/s: PCI Express 3 with 16 lanes, one way; the datasheet; Jia et al., 2019 (arXiv 1903.07486), measured.
LINK, MEMORY, LEVEL_2 = 16, 320, 1270
# Cycles until a number is there: Jia et al., 2019.
TO_SHARED, TO_LEVEL_2, TO_MEMORY = 19, 188, 296

_PIPE = 2.4 / LEVEL_2  # height of a pipe for each GB/s


def chip() -> Picture:
    """A T4's inside: multiprocessors with their lanes, the caches, and pipes as wide as their bandwidth.

    >>> chip().sentence.split(":")[0]
    'Inside an NVIDIA T4'
    """
    figure, axes = sheet(11, 5.2, (-0.2, 17.4), (-0.5, 6.1))
    _multiprocessors(axes)
    for x, width, name, facts in (
        (7.6, 2.0, "L2 cache", f"4 MB\n{TO_LEVEL_2} cycles\naway"),
        (11.4, 2.0, "memory", f"16 GB\n{TO_MEMORY} cycles\naway"),
        (15.2, 2.0, "host", "the CPU\nand its\nmemory"),
    ):
        _box(axes, x, 0.6, width, 3.6, GREY)
        axes.text(x + width / 2, 2.6, name, ha="center", weight="bold", fontsize=13)
        axes.text(x + width / 2, 1.0, facts, ha="center", fontsize=11)
    for x, rate, end in ((6.2, LEVEL_2, 7.6), (9.6, MEMORY, 11.4), (13.4, LINK, 15.2)):
        axes.fill_between([x, end], 2.4 - rate * _PIPE / 2, 2.4 + rate * _PIPE / 2, color=ORANGE, linewidth=0)
        axes.text((x + end) / 2, 4.35, f"{rate:,}\nGB/s", ha="center", fontsize=11, color=ORANGE)
    return show(
        figure,
        f"Inside an NVIDIA T4: {MULTIPROCESSORS} multiprocessors with {LANES} lanes each, {MULTIPROCESSORS * LANES:,} "
        f"in all. Pipes are as wide as their bandwidth: {LEVEL_2:,} GB/s from the L2 cache, {MEMORY} GB/s from the "
        f"card's memory, {LINK} GB/s from the host. Shared memory is {TO_SHARED} cycles away, the memory {TO_MEMORY}.",
    )


def _multiprocessors(axes: Any) -> None:
    """40 small boxes, and the last one large, with what's in it."""
    for k in range(MULTIPROCESSORS - 1):
        _box(axes, 0.47 * (k % 13), 0.42 * (k // 13) - 0.3, 0.4, 0.35, BLUE)
    _box(axes, 0, 1.1, 6.0, 4.1, BLUE)
    axes.text(3.0, 5.3, f"1 of {MULTIPROCESSORS} multiprocessors", ha="center", weight="bold", fontsize=13)
    axes.text(6.3, 0.2, f"{MULTIPROCESSORS - 1} more", fontsize=11, color=BLUE)
    for k in range(LANES):
        _box(axes, 0.2 + 0.355 * (k % 16), 4.7 - 0.36 * (k // 16), 0.27, 0.27, GREEN)
    axes.text(3.0, 3.2, f"{LANES} lanes; a warp is {WARP} threads in step", ha="center", fontsize=11)
    shared = f"shared memory, 64 KB: {TO_SHARED} cycles away"
    for y, text in ((2.2, "registers, 256 KB: each thread's own"), (1.3, shared)):
        _box(axes, 0.2, y, 5.6, 0.7, GREEN)
        axes.text(3.0, y + 0.24, text, ha="center", fontsize=11)


def _box(axes: Any, x: float, y: float, width: float, height: float, colour: str) -> None:
    rectangle(axes, x, y, width, height, edgecolor=colour, linewidth=1.5)


def halving(numbers: tuple[int, ...] = (3, 1, 4, 1, 5, 9, 2, 6)) -> Picture:
    """How threads add up `numbers`, as many as a power of 2: each round, half of the threads add the other half.

    >>> halving()
    8 numbers are added up in 3 rounds: 3, 1, 4, 1, 5, 9, 2, 6, then 8, 10, 6, 7, then 14, 17, then 31. Between ...
    """
    rounds = [list(numbers)]
    while len(rounds[-1]) > 1:
        half = len(rounds[-1]) // 2
        rounds.append([int(a + b) for a, b in zip(rounds[-1][:half], rounds[-1][half:])])
    height = 1.0 + 0.95 * len(rounds)
    figure, axes = sheet(9, height, (-0.7, len(numbers) + 1.6), (-1.5 * len(rounds) + 0.9, 0.6))
    for depth, row in enumerate(rounds):
        for t, number in enumerate(row):
            box = {"boxstyle": "round", "facecolor": "white", "edgecolor": GREEN, "linewidth": 2}
            axes.text(t, -1.5 * depth, str(number), ha="center", va="center", bbox=box, zorder=2)
            if depth:
                for start in (t, t + len(row)):
                    axes.plot([start, t], [-1.5 * depth + 1.5, -1.5 * depth], color=GREY, linewidth=1.2, zorder=1)
        if depth < len(rounds) - 1:
            y, end = -1.5 * depth - 0.55, len(numbers) + 0.1
            axes.plot([-0.6, end], [y, y], color=ORANGE, linestyle="--", linewidth=1.5)
            axes.text(len(numbers) + 0.2, y, "barrier", color=ORANGE, va="center")
    added = f"{len(numbers)} numbers are added up in {len(rounds) - 1} rounds"
    shown = ", then ".join(", ".join(map(str, row)) for row in rounds)
    return show(figure, f"{added}: {shown}. Between two rounds all threads wait at a barrier.")


def compared(times: dict[str, tuple[Seconds, tuple[float, float] | None]]) -> Picture:
    """Times on one line each, on a scale of powers of ten; a time may have a range, its least and its most seconds.

    >>> compared({"one launch": (fl.Seconds(3e-3, "simulated", "NVIDIA T4"), (2e-3, 6e-3))})
    one launch: 3 ms simulated (NVIDIA T4), 2 ms to 6 ms.
    """
    figure, axes = plots(height=0.9 + 0.8 * len(times))
    axes.set_xscale("log")
    said = []
    for row, (name, (seconds, span)) in enumerate(times.items()):
        axes.plot([float(seconds)], [row], **{**look(seconds.kind), "linestyle": "none", "markersize": 11})
        if span:
            axes.plot(span, [row, row], color=look(seconds.kind)["color"], linestyle="--", zorder=1)
        low, high = span or (float(seconds), float(seconds))
        axes.text(high * 1.5, row, f"{duration(seconds)} {seconds.kind}", va="center")
        said.append(f"{name}: {seconds}" + (f", {duration(low)} to {duration(high)}" if span else ""))
    ends = [end for seconds, span in times.values() for end in (*(span or ()), float(seconds))]
    axes.set(xlim=(min(ends) / 3, max(ends) * 60), ylim=(len(times) - 0.4, -0.6), xlabel="time (log)")
    axes.set_xticks([10.0**k for k in range(-6, 4) if min(ends) / 3 <= 10.0**k <= max(ends) * 60])
    axes.xaxis.set_major_formatter(lambda seconds, _: duration(seconds))
    axes.minorticks_off()
    axes.set_yticks(range(len(times)), list(times))
    return show(figure, "; ".join(said) + ".")


def without_barrier(x: Any, seed: int) -> float:
    """What `block_sum` could give on a real GPU if its barrier were left out: one of many possible orders.

    x has a power of 2 of elements, at least 64. Each warp goes through its rounds in step, but at its own pace: `seed`
    decides which warp is next.
    """
    part = np.array(x, dtype=np.float64)
    random = np.random.default_rng(seed)
    rounds = {warp: len(part) // 2 for warp in range(len(part) // (2 * WARP))}
    while rounds:
        warp = int(random.choice(sorted(rounds)))
        half = rounds[warp]
        t = np.arange(WARP * warp, min(WARP * (warp + 1), half))
        part[t] += part[t + half]
        rounds[warp] = half // 2
        if rounds[warp] <= WARP * warp:  # none of its threads has anything left to add
            del rounds[warp]
    return float(part[0])
