"""Lesson 15's pictures: digits in a row, what filters make of one, and the worst mistakes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import fluxlite as fl

from ..draw.pictures import Picture, plots, show


def digit_row(pictures: Any, titles: Sequence[str], sentence: str) -> Picture:
    """Digits side by side, each under its title. `pictures` is (N, 8, 8), ink from 0 to 16, or (N, 8, 8, 1).

    Raises `ValueError` if there aren't as many titles as pictures.

    >>> from fluxlite_course import digits
    >>> images, labels = digits()
    >>> digit_row(images[:3].reshape(3, 8, 8), ["0", "1", "2"], "The first three digits.")
    The first three digits.
    """
    pictures = np.asarray(pictures).reshape(len(pictures), *np.shape(pictures)[1:3])
    if len(titles) != len(pictures):
        raise ValueError(f"each picture has a title: got {len(pictures)} pictures and {len(titles)} titles")
    lines = 1 + max(title.count("\n") for title in titles)
    figure, row = plots(1, len(pictures), height=1.1 + 0.3 * lines, width=1.15 * max(len(pictures), 6), squeeze=False)
    for axes, picture, title in zip(row[0], pictures, titles):
        _ink(axes, picture)
        axes.set_title(title, fontsize=12)
    return show(figure, sentence)


def worst_mistakes(pictures: Any, scores: Any, labels: Any, count: int = 5) -> Picture:
    """The pictures that a network reads wrongly, and is most sure of; the worst first.

    `scores` is what the network gives, (N, classes), and `labels` the right classes, (N,). Above each picture stands
    what it is, what it's read as, and the share that `softmax` gives to that. Raises `ValueError` without mistakes.

    >>> from fluxlite_course import digits
    >>> images, labels = digits()
    >>> worst_mistakes(images[:2].reshape(2, 8, 8), np.array([[2.0, 0.0], [0.0, 0.0]]), labels[:2])
    The worst mistakes, and how sure the network is: a 1 read as 0, 0.50.
    """
    scores, labels = np.asarray(scores, np.float64), np.asarray(labels)
    shares, taken = fl.softmax(scores), scores.argmax(axis=1)
    wrong = np.flatnonzero(taken != labels)
    if not len(wrong):
        raise ValueError("there are no mistakes: all pictures are read rightly")
    worst = wrong[np.argsort(-shares[wrong, taken[wrong]], kind="stable")][:count]
    found = [(labels[i], taken[i], shares[i, taken[i]]) for i in worst]
    titles = [f"is a {label}\nread {read}\n{share:.2f}" for label, read, share in found]
    told = "; ".join(f"a {label} read as {read}, {share:.2f}" for label, read, share in found)
    sentence = f"The worst mistakes, and how sure the network is: {told}."
    return digit_row(np.asarray(pictures)[worst], titles, sentence)


def filters_at_work(picture: Any, filters: Any, results: Any, names: Sequence[str] | None = None) -> Picture:
    """A picture, some filters, and below each what it makes of the picture. Purple is above 0, orange is
    below.

    `picture` is (8, 8); `filters` is (3, 3, 1, outputs), as a `Conv` has them, and `results` (H, W, outputs), what that
    layer gives for the picture. Raises `ValueError` if these have different numbers of outputs.

    >>> layer = fl.Conv((3, 3), 1, 2, rng=np.random.default_rng(0))
    >>> x = np.ones((1, 8, 8, 1), np.float32)
    >>> filters_at_work(x[0, :, :, 0], layer.weight, layer(x)[0])
    A digit, 2 filters of 3 × 3 weights, and below each what it makes of the digit.
    """
    filters, results = np.asarray(filters), np.asarray(results)
    count = filters.shape[-1]
    if results.shape[-1] != count:
        raise ValueError(f"there are {count} filters, and results of {results.shape[-1]}")
    figure, grid = plots(2, count + 1, height=3.0, width=1.2 * (count + 1), squeeze=False)
    _ink(grid[0, 0], picture)
    grid[0, 0].set_title("digit", fontsize=12)
    grid[1, 0].remove()
    largest = float(np.abs(results).max()) or 1.0
    for i in range(count):
        weights = filters[:, :, 0, i]
        _signed(grid[0, i + 1], weights, float(np.abs(weights).max()) or 1.0)
        _signed(grid[1, i + 1], results[:, :, i], largest)
        grid[0, i + 1].set_title(f"{i}" if names is None else names[i], fontsize=12)
    what = f"{count} filters of {filters.shape[0]} × {filters.shape[1]} weights"
    called = "" if names is None else f" ({', '.join(names)})"
    return show(figure, f"A digit, {what}{called}, and below each what it makes of the digit.")


def _ink(axes: Any, picture: Any) -> None:
    values = np.asarray(picture)
    axes.imshow(values, cmap="gray_r", vmin=values.min(), vmax=max(values.max(), values.min() + 1e-6))
    _bare(axes)


def _signed(axes: Any, values: Any, most: float) -> None:
    axes.imshow(values, cmap="PuOr", vmin=-most, vmax=most)
    _bare(axes)


def _bare(axes: Any) -> None:
    axes.set(xticks=[], yticks=[])
    axes.spines[["top", "right"]].set_visible(True)
