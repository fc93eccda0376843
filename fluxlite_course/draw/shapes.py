"""Pictures without axes: boxes on a sheet of paper, digits, and drawings that never change, which are SVG files."""

import base64
import html
import re
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np

from .pictures import GREY, Picture, as_written, plots, show


class Drawing(Picture):
    """The SVG file `name` of a `package`, as a picture. What its ``<desc>`` says is the sentence."""

    def __init__(self, package: str, name: str) -> None:
        self.svg = resources.files(package).joinpath(name).read_text(encoding="utf-8")
        self.sentence = html.unescape(" ".join(re.findall(r"(?s)<desc>(.*?)</desc>", self.svg)[0].split()))

    def _repr_html_(self) -> str:
        source = base64.b64encode(self.svg.encode()).decode()
        text = html.escape(self.sentence, quote=True)
        return f'<img alt="{text}" src="data:image/svg+xml;base64,{source}" style="max-width:100%">'


def sheet(width: float, height: float, xlim: Any, ylim: Any, **more: Any) -> tuple[Any, Any]:
    """A figure of this size, in inches, with invisible axes."""
    figure, axes = plots(height=height, width=width)
    axes.set(xlim=xlim, ylim=ylim, **more)
    axes.axis("off")
    return figure, axes


def box(axes: Any, left: float, top: float, width: float, height: float, title: str, above: float) -> None:
    """A box with round corners, and its title so far `above` it. On the sheet, y grows downwards."""
    from matplotlib.patches import FancyBboxPatch

    look: Any = {"facecolor": "#f4f6f8", "edgecolor": GREY, "linewidth": 2}
    axes.add_patch(FancyBboxPatch((left, top), width, height, "round,pad=0,rounding_size=0.08", **look))
    axes.text(left + width / 2, top - above, as_written(title), ha="center", va="bottom", weight="bold", fontsize=12)


def rectangle(axes: Any, x: float, y: float, width: float, height: float, **look: Any) -> None:
    """A rectangle, white unless its look says otherwise."""
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle((x, y), width, height, **{"facecolor": "white", **look}))


def bitmap(axes: Any, values: Any, colours: str, low: float, high: float) -> None:
    """Small squares in a frame: `low` has the first of the `colours`, `high` the last."""
    axes.imshow(values, cmap=colours, vmin=low, vmax=high)
    axes.set(xticks=[], yticks=[])
    axes.spines[["top", "right"]].set_visible(True)


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
        bitmap(axes, picture, "gray_r", picture.min(), max(picture.max(), picture.min() + 1e-6))
        axes.set_title(title, fontsize=12)
    return show(figure, sentence)
