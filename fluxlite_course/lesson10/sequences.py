"""Lesson 10's two tasks: to write about an island, letter by letter, and to remember a wave across a gap."""

import functools
import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np

import fluxlite as fl

from .. import island
from ..draw import BLUE, GREY, ORANGE, Picture, plots, show


@functools.cache
def letters() -> list[str]:
    """The story's 30 letters: spaces, new lines, commas and full stops count, too."""
    return sorted(set(island().lower()))


def _rows(numbers: Any) -> np.ndarray:
    """A row for each letter: zeros, with a single 1."""
    return np.eye(len(letters()), dtype=np.float32)[numbers]


def story_batches(count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """`count` batches of 32 pieces from anywhere in the story: 40 letters each, and the next one for each of them."""
    numbers, rng = np.array([letters().index(letter) for letter in island().lower()]), np.random.default_rng(1)
    for _ in range(count):
        begin = rng.integers(0, len(numbers) - 41, 32)
        pieces = _rows(numbers[begin[:, None] + np.arange(41)])
        yield pieces[:, :-1], pieces[:, 1:]


def scores_after(model: Any, text: str, memory: Any = None) -> tuple[np.ndarray, Any]:
    """The scores of the letter after `text`, and the memory. A letter that the story doesn't have counts as a space."""
    for letter in text.lower():
        h, memory = model[0].cell(_rows(letters().index(letter if letter in letters() else " ")), memory)
    return model[1](h).astype(np.float64), memory


def write(model: Any, begin: str, temperature: float = 0.7, count: int = 250) -> str:
    """`begin`, and `count` more letters: each is drawn by its probability, and is then the next input."""
    rng, text = np.random.default_rng(3), begin
    scores, memory = scores_after(model, begin or " ")
    for _ in range(count):
        text += rng.choice(letters(), p=fl.softmax(scores / temperature))
        scores, memory = scores_after(model, text[-1], memory)
    return textwrap.fill(text, 64)


def waves(count: int, gap: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Sequences of five points of a wave and `gap` steps of noise, each with a signal; and each wave's last point."""
    begin = rng.uniform(0, 2 * np.pi, (count, 1))
    x = np.zeros((count, 5 + gap, 2), np.float32)
    x[:, :5, 0] = np.sin(begin + 0.4 * np.arange(5))
    x[:, :5, 1] = 1
    x[:, 5:, 0] = rng.uniform(-1, 1, (count, gap))
    return x, x[:, 4, :1].copy()


def error_after(layer: Any, gap: int, seed: int = 1) -> float:
    """The error for 1,000 new waves, once `layer`, with a memory of 16, has trained for 200 steps of 64 waves each."""
    rng = np.random.default_rng(seed)
    model = fl.Chain(layer, lambda h: h[:, -1], fl.Dense(16, 1, rng=rng))
    batches = (waves(64, gap, rng) for _ in range(200))
    fl.train(lambda m, x, y: fl.mse(m(x), y), model, batches, fl.setup(fl.Adam(0.01), model), progress=False)
    x, y = waves(1000, gap, rng)
    return float(np.sqrt(fl.mse(model(x), y)))


def gap_picture(gap: int = 40) -> Picture:
    """One sequence with a gap: the points, and which of them is asked for.

    >>> gap_picture(2)
    5 points of a wave, then 2 steps of noise. The network is asked for the last point of the wave, -0.96.
    """
    x, y = waves(1, gap, np.random.default_rng(6))
    figure, axes = plots(height=2.8)
    axes.plot(range(5), x[0, :5, 0], "o-", color=BLUE, label="the wave")
    axes.plot(range(5, 5 + gap), x[0, 5:, 0], "x", color=GREY, label="noise")
    axes.plot(4, y[0], "o", mfc="none", mec=ORANGE, ms=15, mew=2.5, label="asked for at the end")
    axes.set(xlabel="step", ylabel="input", ylim=(-1.25, 1.6))
    axes.legend(loc="upper right", ncol=3, fontsize=11, handletextpad=0.3)
    asked = f"The network is asked for the last point of the wave, {y[0, 0]:.2f}."
    return show(figure, f"5 points of a wave, then {gap} steps of noise. {asked}")
