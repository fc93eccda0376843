"""Pictures that can also be read: each is shown with one sentence that says what is to be seen."""

from __future__ import annotations

import base64
import html
import io
from typing import Any


class Picture:
    """A figure as an HTML image whose alternative text is also printed below it."""

    def __init__(self, figure: Any, sentence: str):
        self.sentence = sentence
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=110, bbox_inches="tight", facecolor="white")
        self.png = buffer.getvalue()

    def _repr_html_(self) -> str:
        # An <img> of our own: JupyterLab drops the alternative text of an image output.
        source = base64.b64encode(self.png).decode()
        text = html.escape(self.sentence, quote=True)
        return (
            f'<figure style="margin:0"><img alt="{text}" src="data:image/png;base64,{source}" style="max-width:100%">'
            f'<figcaption style="max-width:60em">{text}</figcaption></figure>'
        )

    def __repr__(self) -> str:
        return self.sentence


def show(figure: Any, sentence: str) -> Picture:
    """`figure`, a Matplotlib one, as the result of a notebook cell, with `sentence` as caption and alternative text.

    Raises `ValueError` without a sentence: a learner who cannot see the picture needs it.

    >>> from matplotlib.figure import Figure
    >>> figure = Figure()
    >>> _ = figure.subplots().plot([1, 4, 9])
    >>> show(figure, "Three points on a parabola.")
    Three points on a parabola.
    """
    if not sentence.strip():
        raise ValueError("show(figure, sentence) takes a sentence that says what is to be seen")
    picture = Picture(figure, sentence)
    close = getattr(figure.canvas.manager, "destroy", None)  # pyplot would show an open figure a second time
    if close is not None:
        import matplotlib.pyplot as plt

        plt.close(figure)
    return picture
