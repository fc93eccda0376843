"""Pictures: how they look, and how they're shown, each with a sentence that says what's in it.

They're large enough to project, readable without colour vision, and have one look for each kind of time. Matplotlib is
imported when the first picture is drawn.
"""

import base64
import html
import io
from typing import Any

# One colour each for the host, waiting and the GPU, in all pictures. They can be told apart without colour vision.
BLUE, ORANGE, GREEN, GREY = HOST, WAIT, GPU, REST = "#2577b5", "#c4501a", "#0b8163", "#767676"

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
    # On a light page and on a dark one, since the pictures have no ground of their own. No grey has a contrast of 4.5
    # with both white and JupyterLab's #111: this one has 4.54 and 4.16, and `_DARK` makes 5.4 of the latter.
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), REST),
    "axes.facecolor": "none",
}

_DARK = ":is([data-jp-theme-light=false], .vscode-dark) .fluxlite-drawing { filter: brightness(1.16); }"


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
    # We avoid pyplot, which would keep every figure, show it twice, and take 20 MB more.
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **more)


def projector(on: bool = True) -> None:
    """Draw for the last row of a classroom: larger letters and thicker lines, in all pictures from now on.

    >>> projector()
    >>> projector(False)
    """
    _STYLE.update({"font.size": 17, "lines.linewidth": 4} if on else {"font.size": 13, "lines.linewidth": 2})


class Picture:
    """A figure as an HTML image on the page's own ground; the sentence is its alternative text."""

    def __init__(self, figure: Any, sentence: str):
        self.sentence = sentence
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=110, bbox_inches="tight", facecolor="none")
        self.png = buffer.getvalue()

    def _repr_html_(self) -> str:
        # We make our own <img>: JupyterLab drops the alternative text of an image output.
        source = base64.b64encode(self.png).decode()
        text = html.escape(self.sentence, quote=True)
        image = f'<img class="fluxlite-drawing" style="max-width:100%" alt="{text}"'
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
        raise ValueError("show(figure, sentence) takes a sentence that says what is to be seen")
    return Picture(figure, sentence)
