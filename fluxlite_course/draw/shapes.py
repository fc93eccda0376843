"""Pictures without axes: boxes on a sheet of paper, and drawings that never change, which are SVG files."""

from __future__ import annotations

import base64
import html
import re
from importlib import resources
from typing import Any

from .pictures import GREY, Picture, as_written, plots


class Drawing(Picture):
    """The SVG file `name` of a `package`, as a picture. What its ``<desc>`` says is the sentence."""

    def __init__(self, package: str, name: str) -> None:
        self.svg = resources.files(package).joinpath(name).read_text(encoding="utf-8")
        self.sentence = html.unescape(" ".join(re.findall(r"(?s)<desc>(.*?)</desc>", self.svg)[0].split()))

    def image(self) -> str:
        source = base64.b64encode(self.svg.encode()).decode()
        text = html.escape(self.sentence, quote=True)
        return f'<img alt="{text}" src="data:image/svg+xml;base64,{source}" style="max-width:100%">'


def sheet(width: float, height: float, xlim: Any, ylim: Any, **more: Any) -> tuple[Any, Any]:
    """A figure of this size, in inches, and its axes, of which nothing is seen."""
    figure, axes = plots(height=height, width=width)
    axes.set(xlim=xlim, ylim=ylim, **more)
    axes.axis("off")
    return figure, axes


def box(axes: Any, left: float, top: float, width: float, height: float, title: str, above: float) -> None:
    """A box with round corners, and its title so far `above` it. On the sheet, y grows downwards."""
    from matplotlib.patches import FancyBboxPatch

    style = "round,pad=0,rounding_size=0.08"
    look: Any = {"facecolor": "#f4f6f8", "edgecolor": GREY, "linewidth": 2}
    axes.add_patch(FancyBboxPatch((left, top), width, height, style, **look))
    title = as_written(title)
    axes.text(left + width / 2, top - above, title, ha="center", va="bottom", weight="bold", fontsize=12)
