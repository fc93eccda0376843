"""Lesson 09's pictures: a filter that slides over a digit, and the worst mistakes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import fluxlite as fl

from ..draw import Picture, plots, show
from ..scenes import Each, Knob, Part, Scene, drawing, label
from .digit_pad import seen

ABOVE, BELOW, GREY = "#6f42b5", "#d95f0e", "#767676"  # above 0, below it, 0
_CELL = 24


def slide(ink: Any, filters: Mapping[str, Any]) -> Scene:
    """Each filter, 3 × 3 weights, slides over a pad's ``.ink``: the window, the weights, and what it has found so far.

    >>> from .digit_pad import EXAMPLES, drawn
    >>> slide(drawn(EXAMPLES[1]), {"upright": [[-1, 0, 1]] * 3}).at(place="28")
    'upright, row 4, column 4: the nine products add up to 2.06.'
    """
    digit, places, weights = seen(ink) / 16, range(64), np.array(list(filters.values()), float)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(digit, 1), (3, 3)).reshape(64, 3, 3)
    sums = np.round(np.einsum("prc,frc->fp", windows, weights), 2) + 0.0  # no -0
    most = np.abs(sums).max(axis=1, keepdims=True)
    colours = sums / np.maximum(most, 1e-6)
    strengths = weights / np.maximum(np.abs(weights).max(axis=(1, 2), keepdims=True), 1e-6)
    parts = [label(x, 16, text, "bold") for x, text in ((28, "digit"), (270, "filter"), (420, "it finds"))]
    for k in places:
        row, column = divmod(k, 8)
        dark = round(0.06 + 0.8 * digit[row, column], 2)
        parts.append(_square(28 + _CELL * column, 36 + _CELL * row, _CELL, class_="ink", opacity=dark))
        now = [found[k] if k <= place else 0.0 for found in colours for place in places]
        strength = Each(max(0.06, round(abs(value), 2)) for value in now)
        parts.append(_square(420 + _CELL * column, 36 + _CELL * row, _CELL, fill=_colours(now), fill_opacity=strength))
    for k in range(9):
        x, y, now = 270 + 34 * (k % 3), 90 + 34 * (k // 3), [float(one.flat[k]) for one in weights for _ in places]
        strength = Each(round(0.1 + 0.5 * abs(float(one.flat[k])), 2) for one in strengths for _ in places)
        number = label(x + 16, y + 21, Each(f"{round(weight, 1) + 0.0:g}" for weight in now), "middle")
        parts += [_square(x, y, 34, fill=_colours(now), fill_opacity=strength), number]
    at = Each(f"translate({_CELL * (place % 8 - 1)} {_CELL * (place // 8 - 1)})" for _ in weights for place in places)
    parts.append(_square(28, 36, 3 * _CELL, fill="none", stroke="currentColor", stroke_width=2.5, transform=at))
    parts.append(label(321, 220, Each(f"sum {value:.2f}" for value in sums.flat), "middle bold"))
    said = [f"{name}, row {place // 8 + 1}, column {place % 8 + 1}: the nine products add up to {found[place]:.2f}."
            for name, found in zip(filters, sums) for place in places]  # fmt: skip
    knobs = [Knob("filter", list(filters)), Knob("place", [str(place + 1) for place in places], slider=True, ms=250)]
    title = "A window of 3 × 3 points slides over a digit; the sum at each place makes a new image"
    return Scene(drawing(640, 256, title, *parts), knobs, said, first=[0, 35])


def _colours(values: list[float]) -> Each:
    colours = {1: ABOVE, -1: BELOW, 0: GREY}
    return Each(colours[int(np.sign(value))] for value in values)


def _square(x: float, y: float, side: float, **more: Any) -> Part:
    return Part("rect", x=x, y=y, width=side - 1, height=side - 1, **more)


def worst_mistakes(images: Any, scores: Any, labels: Any, count: int = 5) -> Picture:
    """The images that a network reads wrongly but is most sure of; the worst first.

    Above each: the true digit, what it's read as, and the share of that. Raises `ValueError` without mistakes.

    >>> worst_mistakes(np.ones((2, 8, 8)), np.zeros((2, 2)), [0, 1])
    The worst mistakes, and how sure the network is: a 1 read as 0, 0.50.
    """
    labels, shares = np.asarray(labels), fl.softmax(np.asarray(scores, np.float64))
    read, sure = shares.argmax(axis=1), shares.max(axis=1)
    wrong = np.flatnonzero(read != labels)
    if not len(wrong):
        raise ValueError("there are no mistakes: all images are read correctly")
    worst = wrong[np.argsort(-sure[wrong], kind="stable")][:count]
    titles = [f"is a {labels[i]}\nread {read[i]}\n{sure[i]:.2f}" for i in worst]
    told = "; ".join(f"a {labels[i]} read as {read[i]}, {sure[i]:.2f}" for i in worst)
    return digit_row(np.asarray(images)[worst], titles, f"The worst mistakes, and how sure the network is: {told}.")


def digit_row(pictures: Any, titles: Sequence[str], sentence: str) -> Picture:
    """Digits side by side, each under its title. `pictures` is (N, 8, 8), ink from 0 to 16, or (N, 8, 8, 1).

    >>> from fluxlite_course import digits
    >>> images, labels = digits()
    >>> digit_row(images[:3].reshape(3, 8, 8), ["0", "1", "2"], "The first three digits.")
    The first three digits.
    """
    pictures = np.asarray(pictures).reshape(len(pictures), *np.shape(pictures)[1:3])
    lines = 1 + max(title.count("\n") for title in titles)
    figure, row = plots(1, len(pictures), height=1.1 + 0.3 * lines, width=1.15 * max(len(pictures), 6), squeeze=False)
    for axes, picture, title in zip(row[0], pictures, titles, strict=True):
        low = picture.min()
        axes.imshow(picture, cmap="gray_r", vmin=low, vmax=max(picture.max(), low + 1e-6))
        axes.set(xticks=[], yticks=[])
        axes.spines[["top", "right"]].set_visible(True)
        axes.set_title(title, fontsize=12)
    return show(figure, sentence)
