"""What the widgets share: ipywidgets, found or asked for; pictures as their values; a stored output that needs none.

Every widget stands around a plain function that gives numbers and a figure. It uses only what ipywidgets 7.7 has too
(Colab): HTML, Image, Button, IntSlider, Dropdown, ToggleButtons, VBox; and no Output, which needs a second channel.
Its callbacks may run in another thread than the cells do.
"""

from __future__ import annotations

import html
from types import ModuleType
from typing import Any

from ..pictures import Picture

_VIEW = "application/vnd.jupyter.widget-view+json"


def ipywidgets(plain_call: str) -> ModuleType:
    """The module `ipywidgets`. Raises `ImportError` where it is missing, with what to install and `plain_call`, the
    call that shows the same without it.

    >>> ipywidgets("rnn_demo()").__name__
    'ipywidgets'
    """
    try:
        import ipywidgets as module
    except ImportError as error:
        raise ImportError(
            "the sliders and buttons need ipywidgets: run  %pip install ipywidgets  and reload the page. "
            f"Without it {plain_call} shows the same"
        ) from error
    return module


def picture(figure: Any, sentence: str) -> str:
    """A figure as the value of an HTML widget, with `sentence` as its alternative text and caption."""
    return Picture(figure, sentence)._repr_html_()


def said(sentence: str) -> str:
    """A sentence as the value of an HTML widget, marked so that a screen reader reads it out when it changes.

    >>> said("2 < 3")
    '<div role="status" aria-live="polite">2 &lt; 3</div>'
    """
    return f'<div role="status" aria-live="polite">{html.escape(sentence)}</div>'


class Shown:
    """A widget as the result of a cell, with the HTML and the sentence that stand in its place where it does not live:
    in a stored notebook, on GitHub, after the kernel's end.

    `page` is what `picture` gives; `widget` stays reachable under its name.
    """

    def __init__(self, widget: Any, page: str, sentence: str) -> None:
        self.widget, self.page, self.sentence = widget, page, sentence

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        # Not the widget's own: ipywidgets 7 has none, it displays itself and nothing beside it.
        view = {"version_major": 2, "version_minor": 0, "model_id": self.widget.model_id}
        return {_VIEW: view, "text/html": self.page, "text/plain": self.sentence}

    def __repr__(self) -> str:
        return self.sentence
