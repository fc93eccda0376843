"""Lesson 09's pictures: what filters make of a digit, and the worst mistakes."""

from collections.abc import Sequence
from typing import Any

import numpy as np

import fluxlite as fl

from ..draw.pictures import Picture, plots, show
from ..draw.shapes import bitmap, digit_row


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
    return digit_row(np.asarray(pictures)[worst], titles, f"The worst mistakes, and how sure the network is: {told}.")


def filters_at_work(picture: Any, filters: Any, results: Any, names: Sequence[str] | None = None) -> Picture:
    """A picture, some filters, and below each what it makes of the picture. Purple is above 0, orange below.

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
    picture = np.asarray(picture)
    bitmap(grid[0, 0], picture, "gray_r", picture.min(), max(picture.max(), picture.min() + 1e-6))
    grid[0, 0].set_title("digit", fontsize=12)
    grid[1, 0].remove()
    largest = float(np.abs(results).max()) or 1.0
    for i in range(count):
        weights = filters[:, :, 0, i]
        most = float(np.abs(weights).max()) or 1.0
        bitmap(grid[0, i + 1], weights, "PuOr", -most, most)
        bitmap(grid[1, i + 1], results[:, :, i], "PuOr", -largest, largest)
        grid[0, i + 1].set_title(f"{i}" if names is None else names[i], fontsize=12)
    what = f"{count} filters of {filters.shape[0]} × {filters.shape[1]} weights"
    called = "" if names is None else f" ({', '.join(names)})"
    return show(figure, f"A digit, {what}{called}, and below each what it makes of the digit.")
