"""Lesson 05's pictures of the sine wave: the task, the predictions, and how lucky a start can be."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..pictures import BLUE, GREY, ORANGE, Picture, plots, show
from . import sine_wave

TIMES = sine_wave.TIMES[:21]


def pairs(data: Any) -> Picture:
    """The 21 points of `data` as inputs and, each one point further on, as targets.

    >>> pairs(np.sin(TIMES))
    A sine wave of 21 points. An arrow leads from the first point, an input, to the second, which is its target.
    """
    data = _points(data, 21)
    figure, axes = plots(height=3.4)
    axes.plot(TIMES[:-1], data[:-1], "o", color=BLUE, label="input: a point")
    axes.plot(TIMES[1:], data[1:], "o", color=ORANGE, mfc="none", ms=12, mew=2, label="target: the next point")
    arrow = {"arrowstyle": "->", "lw": 2, "shrinkA": 6, "shrinkB": 9}
    axes.annotate("", (TIMES[1], data[1]), (TIMES[0], data[0]), arrowprops=arrow)
    _wave(axes)
    return show(
        figure,
        "A sine wave of 21 points. An arrow leads from the first point, an input, to the second, which is its target.",
    )


def predicted(data: Any, predictions: Any) -> Picture:
    """The blog's scatter plot: 21 points, and the prediction for each but the first.

    >>> predicted(np.sin(TIMES), np.sin(TIMES[1:]) + np.linspace(0, 0.2, 20))
    Twenty predictions beside the wave. The worst is 0.20 off, at t = 10.0; half of them are less than 0.10 off.
    """
    data, predictions = _points(data, 21), _points(predictions, 20)
    figure, axes = plots(height=3.4)
    axes.plot(TIMES, data, "o", color=BLUE, label="actual")
    axes.plot(TIMES[1:], predictions, "o", mfc="none", mec=ORANGE, ms=12, mew=2, label="predicted")
    _wave(axes, "upper center")
    off = np.abs(predictions - data[1:])
    worst = int(off.argmax())
    return show(
        figure,
        f"Twenty predictions beside the wave. The worst is {off[worst]:.2f} off, at t = {TIMES[worst + 1]:.1f}; "
        f"half of them are less than {np.median(off):.2f} off.",
    )


def by_seed(final: Any, line: float) -> Picture:
    """The final loss of each seed as a dot, and the loss of the straight `line`. `final` has a loss per seed.

    >>> by_seed([0.3, 0.06, 0.003], 0.13)
    Final losses of 3 seeds, a dot each: from 0.003 to 0.3. 1 of them ends above the straight line's 0.13.
    """
    final = np.asarray(final, dtype=float)
    figure, axes = plots(height=2.4)
    heights = np.linspace(-0.3, 0.3, len(final))  # up and down means nothing: it keeps the dots apart
    axes.semilogx(final, heights, "o", color=BLUE, alpha=0.7)
    axes.annotate("seed 1", (final[1], heights[1]), (final[1], 0.55), arrowprops={"arrowstyle": "->"}, fontsize=12)
    axes.axvline(line, color=GREY)
    axes.text(line * 1.04, 0.62, "straight line", color="0.25", fontsize=12)
    axes.set(xlabel="loss after 200 epochs (log scale)", ylabel="(height means\nnothing)", yticks=[], ylim=(-0.6, 0.9))
    axes.set_xticks([0.01, 0.1], ["0.01", "0.1"])
    lost = int(np.sum(final > line))
    return show(
        figure,
        f"Final losses of {len(final)} seeds, a dot each: from {final.min():.1g} to {final.max():.1g}. "
        f"{lost} of them {'ends' if lost == 1 else 'end'} above the straight line's {line:.2g}.",
    )


def _points(values: Any, count: int) -> np.ndarray:
    points = np.ravel(np.asarray(values, dtype=float))
    if len(points) != count:
        raise ValueError(f"this picture takes {count} points of the wave, got {len(points)}")
    return points


def _wave(axes: Any, legend: str = "lower right") -> None:
    axes.set(xlabel="t (radians)", ylabel="sin t", ylim=(-1.2, 1.2))
    axes.legend(loc=legend, fontsize=12)
