"""Lesson 04's ball on a bowl: ten steps of gradient descent, for a learning rate that you choose."""

from __future__ import annotations

import numpy as np

from ...jupyter.frames import Frames, frames
from ...pictures import BLUE, GREY, ORANGE, Picture, plots, show

STEPS, START = 10, 4.0
RATES = (0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.05)


def path(rate: float) -> np.ndarray:
    """Where the ball is before each of ten steps and after the last, on the bowl w², starting at 4: 11 numbers.

    >>> path(0.5)[:2]
    array([4., 0.])
    """
    return START * (1 - 2 * rate) ** np.arange(STEPS + 1)  # each step takes away rate · 2w


def ball(rate: float) -> Picture:
    """The ball's way for one learning rate, on the bowl of the loss w². Raises `ValueError` for a rate below 0.

    >>> ball(1.0)
    Learning rate 1: each step jumps just as far up the other side. The loss stays at 16.
    """
    if not 0 < rate < 10:
        raise ValueError(f"the learning rate of this picture is above 0 and below 10, got {rate}")
    way = path(rate)
    reach = max(5.0, 1.15 * float(np.abs(way).max()))
    bowl = np.linspace(-reach, reach, 200)
    figure, axes = plots(height=3.6, width=8)
    axes.plot(bowl, bowl**2, color=GREY)
    axes.plot(way, way**2, "--", color=ORANGE, linewidth=1.2)
    axes.plot(way[:-1], way[:-1] ** 2, "o", color=ORANGE, fillstyle="none", markersize=9)
    axes.plot(way[-1], way[-1] ** 2, "o", color=BLUE, markersize=13)
    axes.set(xlabel="weight w", ylabel="loss w²", ylim=(-0.05 * reach**2, 1.05 * reach**2))
    return show(figure, f"Learning rate {rate:g}: {_said(rate, way)}")


def _said(rate: float, way: np.ndarray) -> str:
    first, last = way[0] ** 2, way[-1] ** 2
    if rate > 1:
        return f"each step jumps farther up the other side. The loss grows from {first:.3g} to {last:.3g}."
    if rate == 1:
        return f"each step jumps just as far up the other side. The loss stays at {first:.3g}."
    if rate == 0.5:
        return "the first step lands at the bottom. That works for this bowl only; no network has such a simple one."
    if rate > 0.5:
        how = "each step jumps over the bottom, but not as far up"
    elif last > 1:
        how = "small steps, and the ball is still on its way"
    else:
        how = "the ball rolls down"
    return f"{how}. After {STEPS} steps the loss is {last:.2g}; it was {first:.3g}."


def balls() -> Frames:
    """`ball` with a slider for the learning rate.

    >>> balls().pictures[0]
    Learning rate 0.02: small steps, and the ball is still on its way. After 10 steps the loss is 7.1; it was 16.
    """
    return frames([ball(rate) for rate in RATES], [f"{rate:g}" for rate in RATES], "learning rate", first=2)
