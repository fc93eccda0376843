"""The timeline viewer: a receipt's picture with a window that can be moved. The plain call is ``receipt.plot()``."""

from __future__ import annotations

import html
import threading
from typing import Any

from ..receipts.recording import Receipt
from ..receipts.timelines import Timeline
from . import widgets

WINDOWS = (5, 20, 50, 200, 1_000, 10_000, 100_000)
EVENTS, WAITS = "all events", "only waits"


def timeline(receipt: Receipt, first: int = 0, count: int = 200, only_waits: bool = False) -> Viewer:
    """Who works when, in one lane each, with a window to move: ``receipt.plot(first, count, only_waits)`` with buttons.

    The arguments are where it begins. Below the picture stand a sentence that says the same, and the plain call.
    Raises `ValueError` where a device does not tell when it works, and for an empty window; `ImportError` without
    ipywidgets.
    """
    return Viewer(receipt, first, count, only_waits)


class Viewer(widgets.Shown):
    """The widget that `timeline` gives; `sentence` says what is to be seen now, `call` which plain call shows the same.

    Its controls are ``.which``, ``.window`` and ``.first``, and each can be set: ``viewer.first.value = 400``.
    """

    def __init__(self, receipt: Receipt, first: int, count: int, only_waits: bool) -> None:
        module = widgets.ipywidgets("receipt.plot()")
        self._timeline, self._lock = Timeline(receipt), threading.RLock()
        shown = self._timeline.picture(first, count, only_waits)  # raises before anything is shown
        self.which = module.ToggleButtons(
            options=[EVENTS, WAITS], value=WAITS if only_waits else EVENTS, description="Show",
            tooltips=["every launch, copy and wait", "the synchronizations, and what the GPU did until then"],
        )  # fmt: skip
        sizes = sorted({*WINDOWS, count})
        self.window = module.Dropdown(
            options=[(f"{size:,}", size) for size in sizes], value=count, description="How many"
        )
        wide = {"style": {"description_width": "initial"}, "layout": {"width": "24em"}}
        self.first = module.IntSlider(
            value=first, min=0, max=max(first, 1), description="From number", continuous_update=False, **wide
        )
        self.picture, self.code = module.HTML(), module.HTML()
        box = module.VBox([self.which, self.window, self.first, self.picture, self.code])
        super().__init__(box, shown._repr_html_(), shown.sentence)
        self._bound()
        self._show(shown._repr_html_(), shown.sentence)
        for control in (self.which, self.window, self.first):
            control.observe(self._changed, names="value")

    @property
    def call(self) -> str:
        """The plain call that shows the same."""
        more = ", only_waits=True" if self.which.value == WAITS else ""
        return f"receipt.plot(first={self.first.value}, count={self.window.value}{more})"

    def _changed(self, change: dict[str, Any]) -> None:
        # Two callbacks may run at once, each in its thread: the later one draws what is set then. And a slider that
        # is made shorter may move, which calls this again from within.
        with self._lock:
            self._bound()
            try:
                shown = self._timeline.picture(self.first.value, self.window.value, self.which.value == WAITS)
                self._show(shown._repr_html_(), shown.sentence)
            except ValueError as error:  # no waits at all: no mistake here, but the answer
                self._show(widgets.said(f"Nothing to show: {error}."), str(error))

    def _bound(self) -> None:
        """The slider goes to the last event, or wait, there is, in steps of a quarter of the window."""
        timeline = self._timeline
        number = len(timeline.waits if self.which.value == WAITS else timeline.moments)
        self.first.max = max(1, number - 1)  # of one alone too there is a slider, which goes back
        if self.first.value >= number:
            self.first.value = 0
        self.first.step = max(1, self.window.value // 4)

    def _show(self, page: str, sentence: str) -> None:
        self.page, self.sentence = page, sentence
        self.picture.value = page
        self.code.value = f"<p>The same without buttons: <code>{html.escape(self.call)}</code></p>"
