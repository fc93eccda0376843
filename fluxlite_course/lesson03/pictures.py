"""Lesson 04's ball on a bowl: ten steps of gradient descent, for a learning rate that you choose."""

import numpy as np

from ..draw.frames import Frames, frames
from ..draw.pictures import BLUE, GREY, ORANGE, Picture, plots, show

STEPS, START, BOTTOM = 10, 1.0, 2.0
RATES = (0.01, 0.02, 0.05, 0.08, 0.1, 0.11, 0.115, 0.15, 0.2)


def path(rate: float) -> np.ndarray:
    """Where the ball is before each of ten steps and after the last, on the bowl (3w - 6)², from w = 1: 11 numbers.

    >>> path(0.05)[:2]
    array([1. , 1.9])
    """
    # The gradient is 18 (w - 2), so each step multiplies the distance from the bottom by 1 - 18 · rate.
    return BOTTOM + (START - BOTTOM) * (1 - 18 * rate) ** np.arange(STEPS + 1)


def ball(rate: float) -> Picture:
    """The ball's way for one learning rate, on the bowl of lesson 04's loss, (3w - 6)².

    Raises `ValueError` for a rate that isn't above 0 and below 1.

    >>> ball(0.11)
    Learning rate 0.11: each step jumps over the bottom, but not as far up. After 10 steps the loss is 6; it was 9.
    """
    if not 0 < rate < 1:
        raise ValueError(f"the learning rate of this picture is above 0 and below 1, got {rate}")
    way = path(rate)
    reach = 1.3 if np.abs(way - BOTTOM).max() < 1.3 else 3.0  # where the ball runs away, we step back once
    outside = np.abs(way - BOTTOM) > reach
    seen = way[: int(outside.argmax()) if outside.any() else len(way)]
    figure, axes = plots(height=3.6, width=8)
    bowl = np.linspace(BOTTOM - reach, BOTTOM + reach, 200)
    axes.plot(bowl, _loss(bowl), color=GREY)
    if reach < 2:  # from farther away, the slope would be a speck
        slope = np.array([START - 0.22, START + 0.22])
        axes.plot(slope, _loss(START) - 18 * (slope - START), color="black", linestyle="--")
        axes.text(START + 0.1, _loss(START) + 1.2, "slope -18, at w = 1", fontsize=12)
    axes.plot(seen, _loss(seen), ":", color=ORANGE, linewidth=1.5)
    axes.plot(seen[:-1], _loss(seen[:-1]), "o", color=ORANGE, fillstyle="none", markersize=9)
    axes.plot(seen[-1], _loss(seen[-1]), "o", color=BLUE, markersize=13)
    top = _loss(BOTTOM + reach)
    axes.set(xlabel="w", ylabel="loss", xlim=(BOTTOM - reach, BOTTOM + reach), ylim=(-0.06 * top, 1.05 * top))
    return show(figure, f"Learning rate {rate:g}: {_said(way, len(seen))}")


def _loss(w: np.ndarray | float) -> np.ndarray | float:
    return (w * 3 - 6) ** 2


def _said(way: np.ndarray, seen: int) -> str:
    first, last = float(_loss(way[0])), float(_loss(way[-1]))
    end = f"{last:.2g}" if last >= 1e-4 else "below 0.0001"
    if last > first:
        leaves = f" Step {seen} leaves the picture." if seen < len(way) else ""
        how, end = f"each step jumps over the bottom, and farther up.{leaves}", f"{last:,.0f}"
    elif way[1] > BOTTOM + 1e-9:
        how = "each step jumps over the bottom, but not as far up."
    elif last > 1e-3:
        how = "small steps, and the ball is still on its way."
    else:
        how = "the ball reaches the bottom."
    return f"{how} After {STEPS} steps the loss is {end}; it was {first:.0f}."


def balls() -> Frames:
    """`ball` with a slider for the learning rate.

    >>> balls().pictures[0]
    Learning rate 0.01: small steps, and the ball is still on its way. After 10 steps the loss is 0.17; it was 9.
    """
    return frames([ball(rate) for rate in RATES], [f"{rate:g}" for rate in RATES], "learning rate", first=2)
