"""The timeline viewer: a receipt's picture with a movable window. The plain call is ``receipt.plot()``."""

from __future__ import annotations

from fluxlite.receipts import Receipt
from simgpu.profile import Timeline

from . import widgets
from .alive import Alive
from .alive.timeline import EVENTS, MOST_EVENTS, WAITS, alive_timeline

WINDOWS = (5, 20, 50, 200, 1_000, 10_000, 100_000)


def timeline(receipt: Receipt, first: int = 0, count: int = 200, only_waits: bool = False) -> Viewer:
    """What ran when, one lane each, with a movable window: ``receipt.plot(first, count, only_waits)`` plus buttons.

    The arguments choose the first view. Below the picture there's a sentence that says the same, and the plain call.
    Raises `ValueError` if a device doesn't report times or the window is empty, and `ImportError` without ipywidgets.
    """
    return Viewer(receipt, first, count, only_waits)


class Viewer(widgets.Shown):
    """The widget that `timeline` returns. `sentence` describes the current view; `call` is the plain call for it.

    Its controls are ``.which``, ``.window`` and ``.first``. You can set each: ``viewer.first.value = 400``.
    """

    def __init__(self, receipt: Receipt, first: int, count: int, only_waits: bool) -> None:
        module = widgets.ipywidgets("receipt.plot()")
        self._timeline = Timeline(receipt)
        self._timeline.picture(first, count, only_waits)  # raises before we show anything
        self.which = module.ToggleButtons(
            options=[EVENTS, WAITS], value=WAITS if only_waits else EVENTS, description="Show",
            tooltips=["every launch, copy and wait", "the synchronizations, and what the GPU did until then"],
        )  # fmt: skip
        sizes = [(f"{size:,}", size) for size in sorted({*WINDOWS, count})]
        self.window = module.Dropdown(options=sizes, value=count, description="How many")
        wide = {"style": {"description_width": "initial"}, "layout": {"width": "24em"}}
        self.first = module.IntSlider(
            value=first, min=0, max=max(first, 1), description="From number", continuous_update=False, **wide
        )
        self.picture, self.code = module.HTML(), module.HTML()
        controls = [self.which, self.window, self.first]
        super().__init__(module.VBox([*controls, self.picture, self.code]))
        self.follow(self._draw, *controls)

    @property
    def call(self) -> str:
        """The plain call for the current view."""
        more = ", only_waits=True" if self.which.value == WAITS else ""
        return f"receipt.plot(first={self.first.value}, count={self.window.value}{more})"

    def alive(self) -> Alive | None:
        """The same window, to move without a kernel. None for a receipt with more events than a page can hold."""
        timeline, first, count = self._timeline, self.first.value, self.window.value
        if len(timeline.moments) > MOST_EVENTS:
            return None
        if self.which.value == WAITS:  # there the number is a wait's
            first, count = (timeline.waits[first - 1] + 1 if first else 0), len(timeline.moments)
        return alive_timeline(timeline.receipt, first, count, self.which.value == WAITS)

    def _draw(self) -> None:
        waits = self.which.value == WAITS
        number = len(self._timeline.waits if waits else self._timeline.moments)
        self.first.max = max(1, number - 1)  # a single one gets a slider too, which jumps back
        if self.first.value >= number:
            self.first.value = 0
        self.first.step = max(1, self.window.value // 4)
        try:
            shown = self._timeline.picture(self.first.value, self.window.value, waits)
            self.page, self.sentence = shown._repr_html_(), shown.sentence
        except ValueError as error:  # no waits at all: that's an answer, not a mistake
            self.page, self.sentence = widgets.said(f"Nothing to show: {error}."), str(error)
        self.picture.value, self.code.value = self.page, widgets.plain(self.call)
