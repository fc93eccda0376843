"""Lesson 05's memory: the six numbers that the network carries, while the wave is drawn point by point."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...jupyter.frames import Frames, frames
from ...pictures import BLUE, GREY, ORANGE, Picture, plots, show
from ..sine_wave import problem, run


def memory(w1: Any, w2: Any, step: int) -> Picture:
    """The wave up to point `step`, 1 to 20, and the memory after it, for weights w1 (1 + H, H) and w2 (H, 1)."""
    points, targets, *_ = problem()
    if not 1 <= step <= len(points):
        raise ValueError(f"step is a number from 1 to {len(points)}, got {step!r}")
    outputs, kept = (part[:, 0] for part in run(points, w1, w2))
    x, y, outputs = points.ravel(), targets.ravel(), outputs.ravel()
    figure, (left, right) = plots(1, 2, height=3.2, width=10, width_ratios=[2, 1])
    left.plot(np.arange(1, 21), x, color=GREY, linewidth=1)
    left.plot(np.arange(1, step + 1), x[:step], "o", color=BLUE, label="points seen")
    left.plot([step + 1], [outputs[step - 1]], "o", color=ORANGE, fillstyle="none", markersize=13, markeredgewidth=2,
              label="the output: where's the next?")  # fmt: skip
    left.set(xlabel="point", ylabel="sin t", ylim=(-1.3, 1.7), xlim=(0, 22), xticks=[1, 5, 10, 15, 20])
    left.legend(loc="upper right", ncols=2, fontsize=11)
    right.bar(range(1, kept.shape[1] + 1), kept[step - 1], color=BLUE)
    right.axhline(0, color="black", linewidth=1)
    right.set(xlabel="number in the memory", ylim=(-1.05, 1.05), xticks=range(1, kept.shape[1] + 1))
    numbers = ", ".join(f"{value:.1f}".replace("-0.0", "0.0") for value in kept[step - 1])
    off = abs(outputs[step - 1] - y[step - 1])
    words = f"After point {step} of 20 the memory holds {numbers}. The output misses the next point by {off:.2f}."
    return show(figure, words)


def memories(w1: Any, w2: Any) -> Frames:
    """`memory` for all 20 points, to leaf through or to play."""
    steps = range(1, len(problem()[0]) + 1)
    return frames([memory(w1, w2, step) for step in steps], steps, "point", first=5, ms=500)
