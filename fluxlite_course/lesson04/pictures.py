"""Lesson 05: the sine wave in pictures, how lucky a start can be, and a loop with traps."""

from typing import Any

import numpy as np

from ..draw.pictures import BLUE, GREY, ORANGE, Picture, plots, show
from ..sine_wave import TIMES, train_by_hand

POINTS = TIMES[:21]
WAVE = np.sin(TIMES).astype(np.float32)[:, None, None]


def pairs(data: Any) -> Picture:
    """The 21 points of `data` as inputs and, each one point further on, as targets.

    >>> pairs(np.sin(POINTS))
    A sine wave of 21 points. An arrow leads from the first point, an input, to the second, which is its target.
    """
    data = _points(data, 21)
    figure, axes = plots(height=3.4)
    axes.plot(POINTS[:-1], data[:-1], "o", color=BLUE, label="input: a point")
    axes.plot(POINTS[1:], data[1:], "o", color=ORANGE, mfc="none", ms=12, mew=2, label="target: the next point")
    arrow = {"arrowstyle": "->", "lw": 2, "shrinkA": 6, "shrinkB": 9}
    axes.annotate("", (POINTS[1], data[1]), (POINTS[0], data[0]), arrowprops=arrow)
    _wave(axes)
    words = "An arrow leads from the first point, an input, to the second, which is its target."
    return show(figure, f"A sine wave of 21 points. {words}")


def predicted(data: Any, predictions: Any) -> Picture:
    """The blog's scatter plot: 21 points, and the prediction for each but the first.

    >>> predicted(np.sin(POINTS), np.sin(POINTS[1:]) + np.linspace(0, 0.2, 20))
    Twenty predictions beside the wave. The worst is 0.20 off, at t = 10.0; half of them are less than 0.10 off.
    """
    data, predictions = _points(data, 21), _points(predictions, 20)
    figure, axes = plots(height=3.4)
    axes.plot(POINTS, data, "o", color=BLUE, label="actual")
    axes.plot(POINTS[1:], predictions, "o", mfc="none", mec=ORANGE, ms=12, mew=2, label="predicted")
    _wave(axes, "upper center")
    off = np.abs(predictions - data[1:])
    worst = f"The worst is {off.max():.2f} off, at t = {POINTS[off.argmax() + 1]:.1f}"
    half = f"half of them are less than {np.median(off):.2f} off"
    return show(figure, f"Twenty predictions beside the wave. {worst}; {half}.")


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
    axes.text(line * 1.04, 0.62, "straight line", color=GREY, fontsize=12)
    axes.set(xlabel="loss after 200 epochs (log scale)", ylabel="(height means\nnothing)", yticks=[], ylim=(-0.6, 0.9))
    axes.set_xticks([0.01, 0.1], ["0.01", "0.1"])
    lost, spread = int(np.sum(final > line)), f"from {final.min():.1g} to {final.max():.1g}"
    above = f"{lost} of them {'ends' if lost == 1 else 'end'} above the straight line's {line:.2g}"
    return show(figure, f"Final losses of {len(final)} seeds, a dot each: {spread}. {above}.")


def _points(values: Any, count: int) -> np.ndarray:
    points = np.ravel(np.asarray(values, dtype=float))
    if len(points) != count:
        raise ValueError(f"this picture takes {count} points of the wave, got {len(points)}")
    return points


def _wave(axes: Any, legend: str = "lower right") -> None:
    axes.set(xlabel="t (radians)", ylabel="sin t", ylim=(-1.2, 1.2))
    axes.legend(loc=legend, fontsize=12)


def baselines() -> dict[str, float]:
    """The losses of two predictions that need no learning."""
    now, target = WAVE[:20], WAVE[1:21]
    line = np.concatenate([now[:1], 2 * now[1:] - now[:-1]])
    found = {"same value": now, "straight line": line}
    return {name: float(np.sum((values - target) ** 2) / 2) for name, values in found.items()}


# -- the training loop with mistakes to switch on, and with gradients that reach further back ---------------------


def trained(
    keep_gradients: bool = False, wipe_memory: bool = False, same_point: bool = False, epochs: int = 200
) -> list[float]:
    """Lesson 04's training: each epoch's loss, with the mistakes you ask for.

    `keep_gradients` doesn't set them to zero after a step. `wipe_memory` makes an empty memory at each step.
    `same_point` takes the input itself for the target.

    >>> round(trained(epochs=1)[0], 2), round(trained(wipe_memory=True, epochs=1)[0], 2)
    (3.92, 3.81)
    """
    mistakes = {"keep": keep_gradients, "same_point": same_point}
    return train_by_hand(carry=not wipe_memory, epochs=epochs, **mistakes).losses


def reaching_back(reach: int = 1, seed: int = 1, epochs: int = 200) -> tuple[float, int]:
    """Train with gradients that go back through `reach` steps: the last loss, and an epoch's visits of steps.

    A reach of 1 is what lesson 04 does; 20 is the whole history. Raises `ValueError` for a reach below 1.

    >>> reaching_back(reach=2, epochs=1)[1]
    39
    """
    if reach < 1:
        raise ValueError(f"reach is a number of steps, 1 or more; got {reach}")
    visits = sum(min(reach, point) for point in range(1, 21))
    return train_by_hand(seed=seed, reach=reach, epochs=epochs).losses[-1], visits
