"""Pictures without axes: digits as small squares."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .pictures import Picture, plots, show


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
