"""Lesson 09's pictures: a filter that slides over a digit, what filters make of it, and the worst mistakes."""

from collections.abc import Mapping
from typing import Any

import numpy as np

import fluxlite as fl

from ..draw.pictures import Picture, plots, show
from ..draw.shapes import bitmap, digit_row
from ..scenes import Each, Knob, Part, Scene, drawing, label
from .digit_pad import seen

ABOVE, BELOW, GREY = "#6f42b5", "#d95f0e", "#767676"  # above 0, below it, 0
_CELL = 24


def slide(ink: Any, filters: Mapping[str, Any]) -> Scene:
    """Each filter, 3 × 3 weights, slides over a digit: the window, the weights, and what it has found so far.

    `ink` is of shape (28, 28), as a pad's ``.ink``.

    >>> from .digit_pad import EXAMPLES, drawn
    >>> slide(drawn(EXAMPLES[1]), {"upright": [[-1, 0, 1]] * 3}).at(place="28")
    'upright, row 4, column 4: the nine products add up to 2.06.'
    """
    digit, places = seen(ink) / 16, range(64)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(digit, 1), (3, 3)).reshape(64, 3, 3)
    sums = np.array([np.sum(windows * np.asarray(weights), axis=(1, 2)) for weights in filters.values()])
    most = np.abs(sums).max() or 1.0
    parts = [label(x, 16, text, "bold") for x, text in ((28, "digit"), (270, "filter"), (420, "it finds"))]
    for k in places:
        row, column = divmod(k, 8)
        look = {"width": _CELL - 1, "height": _CELL - 1, "y": 36 + _CELL * row}
        parts.append(
            Part("rect", class_="ink", x=28 + _CELL * column, opacity=round(0.06 + 0.8 * digit[row, column], 2), **look)
        )
        is_done = [k <= place for place in places] * len(sums)
        values = [found[k] for found in sums for _ in places]
        strength = Each(max(0.06, round(abs(v) / most, 2)) if done else 0.06 for v, done in zip(values, is_done))
        fill = Each((ABOVE if v > 0 else BELOW) if done else GREY for v, done in zip(values, is_done))
        parts.append(Part("rect", x=420 + _CELL * column, fill=fill, fill_opacity=strength, **look))
    frame = {"width": 3 * _CELL, "height": 3 * _CELL, "fill": "none", "stroke": "currentColor", "stroke_width": 2.5}
    at = [f"translate({_CELL * (place % 8 - 1)} {_CELL * (place // 8 - 1)})" for place in places]
    parts.append(Part("rect", x=28, y=36, transform=Each(at * len(filters)), **frame))
    for k in range(9):
        numbers = [float(np.asarray(weights).flat[k]) for weights in filters.values()]
        colours = [ABOVE if n > 0 else BELOW if n < 0 else GREY for n in numbers]
        x, y = 270 + 34 * (k % 3), 90 + 34 * (k // 3)
        texts, fills = (
            Each(value for value in values for _ in places) for values in ([f"{n:g}" for n in numbers], colours)
        )
        parts += [
            Part("rect", x=x, y=y, width=32, height=32, fill=fills),
            label(x + 16, y + 21, texts, "middle inside"),
        ]
    parts.append(label(321, 220, Each(f"sum {each:.2f}" for found in sums for each in found), "middle bold"))
    said = [f"{name}, row {place // 8 + 1}, column {place % 8 + 1}: the nine products add up to {found[place]:.2f}."
            for name, found in zip(filters, sums) for place in places]  # fmt: skip
    knobs = [Knob("filter", list(filters)), Knob("place", [str(place + 1) for place in places], slider=True, ms=250)]
    title = "A window of 3 × 3 points slides over a digit; the sum at each place makes a new image"
    return Scene(drawing(640, 256, title, *parts), knobs, said, first=[0, 35])


def worst_mistakes(images: Any, scores: Any, labels: Any, count: int = 5) -> Picture:
    """The images that a network reads wrongly, and is most sure of; the worst first.

    `scores` is what the network gives, (N, classes), and `labels` the right classes, (N,). Above each image: the true
    digit, what it's read as, and the share that `softmax` gives to that. Raises `ValueError` without mistakes.

    >>> from fluxlite_course import digits
    >>> images, labels = digits()
    >>> worst_mistakes(images[:2].reshape(2, 8, 8), np.array([[2.0, 0.0], [0.0, 0.0]]), labels[:2])
    The worst mistakes, and how sure the network is: a 1 read as 0, 0.50.
    """
    labels, shares = np.asarray(labels), fl.softmax(np.asarray(scores, np.float64))
    read, sure = shares.argmax(axis=1), shares.max(axis=1)
    wrong = np.flatnonzero(read != labels)
    if not len(wrong):
        raise ValueError("there are no mistakes: all images are read rightly")
    worst = wrong[np.argsort(-sure[wrong], kind="stable")][:count]
    titles = [f"is a {labels[i]}\nread {read[i]}\n{sure[i]:.2f}" for i in worst]
    told = "; ".join(f"a {labels[i]} read as {read[i]}, {sure[i]:.2f}" for i in worst)
    return digit_row(np.asarray(images)[worst], titles, f"The worst mistakes, and how sure the network is: {told}.")


def filters_at_work(picture: Any, filters: Any, results: Any) -> Picture:
    """A digit, some filters, and below each what it makes of the digit. Purple is above 0, orange below.

    `picture` is (8, 8); `filters` is (3, 3, 1, outputs), as a `Conv` has them, and `results` (H, W, outputs).

    >>> layer = fl.Conv((3, 3), 1, 2, rng=np.random.default_rng(0))
    >>> x = np.ones((1, 8, 8, 1), np.float32)
    >>> filters_at_work(x[0, :, :, 0], layer.weight, layer(x)[0])
    A digit, 2 filters of 3 × 3 weights, and below each what it makes of the digit.
    """
    from matplotlib.colors import LinearSegmentedColormap

    colours: Any = LinearSegmentedColormap.from_list("", [BELOW, "white", ABOVE])
    picture, filters, results = np.asarray(picture), np.asarray(filters), np.asarray(results)
    count = filters.shape[-1]
    figure, grid = plots(2, count + 1, height=3.0, width=1.2 * (count + 1), squeeze=False)
    bitmap(grid[0, 0], picture, "gray_r", 0, 1)
    grid[0, 0].set_title("digit", fontsize=12)
    grid[1, 0].remove()
    largest = float(np.abs(results).max()) or 1.0
    for i in range(count):
        most = float(np.abs(filters[..., i]).max()) or 1.0
        bitmap(grid[0, i + 1], filters[:, :, 0, i], colours, -most, most)
        bitmap(grid[1, i + 1], results[:, :, i], colours, -largest, largest)
    return show(figure, f"A digit, {count} filters of 3 × 3 weights, and below each what it makes of the digit.")
