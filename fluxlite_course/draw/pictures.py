"""Pictures: how they look, and how they're shown, each with a sentence that says what's in it.

They're large enough to project, readable without colour vision, and have one look for each kind of time. Matplotlib is
imported when the first picture is drawn.
"""

import base64
import html
import io
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..scenes.scene import widen

# The host, waiting, the GPU and the rest, in all pictures. They can be told apart without colour vision.
BLUE, ORANGE, GREEN, GREY = "#2577b5", "#c4501a", "#0b8163", "#767676"

_LOOKS: dict[str, dict[str, Any]] = {
    "measured": {"color": BLUE, "linestyle": "-", "marker": "o", "markersize": 7},
    "recorded": {"color": BLUE, "linestyle": ":", "marker": "^", "markersize": 8},
    "simulated": {"color": GREEN, "linestyle": "--", "marker": "s", "markersize": 7, "markerfacecolor": "none"},
    "published": {"color": GREY, "linestyle": "-.", "marker": "D", "markersize": 6},
}
_STYLE: Any = {
    "font.size": 13,
    "lines.linewidth": 2,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    # Pictures have no ground of their own, so the page may be light or dark. No grey has a contrast of 4.5 with both
    # white and JupyterLab's #111: this one has 4.54 and 4.16, and `_DARK` makes 5.4 of the latter.
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), GREY),
    "axes.facecolor": "none",
}

_AS_THE_TEXT = "min(100%, 46rem)"  # and as the pictures that move
_width = _AS_THE_TEXT
_DARK = ":is([data-jp-theme-light=false], .vscode-dark) .fluxlite-drawing { filter: brightness(1.16); }"
# Lines next to each other: they can be told apart by the markers at their ends, too.
_LINES = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"))


def look(kind: str) -> dict[str, Any]:
    """How to draw a line for this kind of time: keywords for Matplotlib's line properties.

    ``"measured"`` is a solid line with filled circles, ``"recorded"`` is dotted with triangles, ``"simulated"`` is
    dashed with hollow squares, and ``"published"`` is grey.

    >>> look("simulated")["linestyle"]
    '--'
    """
    return dict(_LOOKS[kind])


def plots(rows: int = 1, columns: int = 1, height: float = 4.0, width: float = 9.0, **more: Any) -> tuple[Any, Any]:
    """A figure and its axes, like ``pyplot.subplots``. From now on, Matplotlib uses the lessons' style.

    >>> figure, axes = plots()
    >>> _ = axes.plot([1, 2, 4], **look("measured"))
    """
    import matplotlib
    from matplotlib.figure import Figure

    matplotlib.rcParams.update(_STYLE)  # set globally, for what's added to the axes later, such as a legend
    # Not pyplot: it would keep every figure, show it twice, and take 20 MB more.
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **more)


def projector(on: bool = True) -> None:
    """Draw for the last row of a classroom: larger letters and thicker lines, in all pictures from now on.

    Pictures become as wide as the page. For one section at a time, JupyterLab has keys: after Esc, Ctrl+Shift+← folds
    the lesson, → goes on and unfolds, ← folds again.

    >>> projector()
    >>> projector(False)
    """
    global _width
    widen(on)
    if on:
        _STYLE.update({"font.size": 17, "lines.linewidth": 4})
        _width = "100%"
    else:
        _STYLE.update({"font.size": 13, "lines.linewidth": 2})
        _width = _AS_THE_TEXT


class Picture:
    """A figure as an HTML image on the page's own ground; the sentence is its alternative text."""

    def __init__(self, figure: Any, sentence: str):
        self.sentence = sentence
        self.width = _width
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=110, bbox_inches="tight", facecolor="none")
        self.png = buffer.getvalue()

    @property
    def is_drawn(self) -> bool:
        """Whether there's a picture: in a browser without a network, a stand-in takes Matplotlib's place."""
        return self.png.startswith(b"\x89PNG\r\n")

    def _repr_html_(self) -> str:
        if not self.is_drawn:
            lines = html.escape(self.sentence).replace("\n", "<br>")
            return f"<p><em>Without Matplotlib there's no picture here. It would show:</em><br>{lines}</p>"
        # We make our own <img>: JupyterLab drops the alternative text of an image output.
        source = base64.b64encode(self.png).decode()
        text = html.escape(self.sentence, quote=True)
        image = f'<img class="fluxlite-drawing" style="max-width:{self.width}" alt="{text}"'
        return f'<style>{_DARK}</style>{image} src="data:image/png;base64,{source}">'

    def __repr__(self) -> str:
        return self.sentence


def show(figure: Any, sentence: str) -> Picture:
    """Show a Matplotlib `figure` as a notebook cell's result, with `sentence` as its alternative text.

    Raises `ValueError` without a sentence, since a learner who can't see the picture needs it.

    >>> from matplotlib.figure import Figure
    >>> figure = Figure()
    >>> _ = figure.subplots().plot([1, 4, 9])
    >>> show(figure, "Three points on a parabola.")
    Three points on a parabola.
    """
    if not sentence.strip():
        raise ValueError("show(figure, sentence) takes a sentence that says what's in the picture")
    return Picture(figure, sentence)


def falling(losses: Mapping[str, Any], x: str = "step", levels: Mapping[str, float] = {}) -> Picture:
    """Up to three lines of losses on a log scale. The sentence says where each of them begins and ends.

    `losses` has a sequence of losses for each name; `x` says what's counted. Each of `levels` is a grey line: the loss
    of a prediction that needs no learning.

    >>> falling({"Descent": [4, 2, 1], "Adam": [4, 1, 0.1]})
    The loss over 3 steps. Descent: 4 to 1. Adam: 4 to 0.1.
    """
    figure, axes = plots(height=3.8)
    values = {name: np.asarray(line, dtype=float) for name, line in losses.items()}
    for (name, line), (color, marker) in zip(values.items(), _LINES[: len(values)], strict=True):
        count = np.arange(1, len(line) + 1)
        first_and_last = [0, len(line) - 1]
        axes.semilogy(count, line, color=color, marker=marker, markersize=9, markevery=first_and_last, label=name)
    longest = max(len(line) for line in values.values())
    for name, level in levels.items():
        axes.axhline(level, color=GREY, linewidth=1)
        axes.text(longest, level * 1.06, name, color=GREY, ha="right", fontsize=12)
    axes.set(xlabel=x, ylabel="loss (log scale)")
    # Above the lines, since the levels' names stand at their right end.
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=len(values), fontsize=12, borderaxespad=0)
    ends = "".join(f" {name[:1].upper()}{name[1:]}: {line[0]:.2g} to {line[-1]:.2g}." for name, line in values.items())
    grey = ", ".join(f"{name} at {level:.2g}" for name, level in levels.items())
    return show(figure, f"The loss over {longest} {x}s.{ends}" + f" Grey lines: {grey}." * bool(grey))
