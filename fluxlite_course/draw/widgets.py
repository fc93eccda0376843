"""What the widgets share: finding ipywidgets, pictures as values, and a stored output that works without ipywidgets.

Every widget wraps a plain function that returns numbers and a figure. Widgets use only what ipywidgets 7.7 has too, for
Colab: HTML, Image, Button, IntSlider, Dropdown, ToggleButtons, VBox, HBox. They don't use Output, which needs a second
channel. Callbacks may run in a different thread from the cells.
"""

import html
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..scenes import Scene

_VIEW = "application/vnd.jupyter.widget-view+json"


def ipywidgets(plain_call: str) -> ModuleType:
    """The module `ipywidgets`.

    Raises `ImportError` if it's missing, with what to install, and `plain_call`, which shows the same without it.

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


def with_buttons(slider: Any) -> Any:
    """A slider over options, and two buttons beside it that go one option back, or on.

    Its arrow keys do the same, but not everywhere: Notebook 7 keeps these keys for moving between cells. Space and
    Enter press a button in all of them.

    >>> import ipywidgets
    >>> slider = ipywidgets.SelectionSlider(options=["a", "b", "c"])
    >>> _, back, on = with_buttons(slider).children
    >>> on.click(); on.click(); on.click(); back.click(); slider.value
    'b'
    """
    module, last = ipywidgets("the plain call"), len(slider.options) - 1
    back, on = (
        module.Button(description=sign, tooltip=f"{slider.description}: {words}", layout={"width": "2.6em"})
        for sign, words in (("‹", "back"), ("›", "on"))
    )
    back.on_click(lambda _: setattr(slider, "index", max(slider.index - 1, 0)))
    on.on_click(lambda _: setattr(slider, "index", min(slider.index + 1, last)))
    return module.HBox([slider, back, on], layout={"flex_flow": "row wrap"})


def said(sentence: str) -> str:
    """A sentence as the value of an HTML widget. A screen reader reads it out when it changes.

    >>> said("2 < 3")
    '<div role="status" aria-live="polite">2 &lt; 3</div>'
    """
    return f'<div role="status" aria-live="polite">{html.escape(sentence)}</div>'


def plain(call: str) -> str:
    """The plain call for what a widget shows, as the value of an HTML widget."""
    return f"<p>The same without buttons: <code>{html.escape(call)}</code></p>"


class Shown:
    """A widget as the result of a cell, and HTML and a sentence for where the widget can't run.

    That's in a stored notebook, on GitHub, or after the kernel has ended. `page` is the picture as HTML; `widget` is
    the widget itself. If `scene` is a function, it makes the picture that a page with scripts shows instead of `page`.
    It returns None if there's none for the current settings.
    """

    scene: Callable[[], Scene | None] | None = None

    def __init__(self, widget: Any, page: str = "", sentence: str = "") -> None:
        self.widget, self.page, self.sentence = widget, page, sentence

    def follow(self, draw: Callable[[], object], *controls: Any) -> None:
        """Call `draw` now, and whenever one of the controls changes."""
        lock = threading.RLock()

        def changed(change: Any = None) -> None:
            # Two callbacks may run at once, each in its own thread: the later one draws the latest settings. And
            # drawing may move a control, which calls this again from inside.
            with lock:
                draw()

        changed()
        for control in controls:
            control.observe(changed, names="value")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        # The widget's own won't do: ipywidgets 7 has none, it displays itself and nothing else.
        view = {"version_major": 2, "version_minor": 0, "model_id": self.widget.model_id}
        return {_VIEW: view, "text/html": self._html(), "text/plain": self.sentence}

    def _html(self) -> str:
        scene = self.scene and self.scene()
        return scene._repr_html_() if scene else self.page

    def __repr__(self) -> str:
        return self.sentence
