"""The crossover explorer: a CPU's and a card's time for a training step, with everything to choose that moves them."""

from __future__ import annotations

import threading
from typing import Any

from ..course.crossing import BATCHES, HERE, Crossover, compared, crossover, measured
from ..course.timing import Timing
from ..simulated.presets import PRESETS
from .widgets import Shown, ipywidgets, picture, said

RECORDED, LIVE = "recorded", "this machine, measured now (takes some seconds)"


class Explorer(Shown):
    """Five controls, the picture that belongs to what they say, and where the lines cross, in words.

    `now` is what is shown, the `Crossover` that the plain call gives for the same choice.
    """

    def __init__(self, batch: int, card: str, copies: bool, wait: bool) -> None:
        widgets = ipywidgets("crossover(batch=64)")
        crossover(batch, card, copies, wait)  # says what cannot be chosen, better than the controls do
        style = {"description_width": "4em"}
        self.card = widgets.Dropdown(options=list(PRESETS), value=card, description="card", style=style)
        self.batch = widgets.ToggleButtons(options=BATCHES, value=batch, description="batch", style=style)
        moved = [("x, y in and the loss out at each step", True), ("none", False)]
        self.copies = widgets.ToggleButtons(options=moved, value=copies, description="copies", style=style)
        waits = [("waited for", True), ("not waited for", False)]
        self.wait = widgets.ToggleButtons(options=waits, value=wait, description="the GPU", style=style)
        self.cpu = widgets.ToggleButtons(options=[RECORDED, LIVE], description="the CPU", style=style)
        for buttons in (self.batch, self.copies, self.wait, self.cpu):
            buttons.style.button_width = "auto"
        self.controls = [self.card, self.batch, self.copies, self.wait, self.cpu]
        self.picture, self.words = widgets.HTML(), widgets.HTML()
        box = widgets.VBox([*self.controls, self.words, self.picture])
        self._here: dict[int, dict[int, Timing]] = {}  # what was measured on this machine, for each batch
        self._lock = threading.Lock()
        super().__init__(box, *self._drawn())
        for control in self.controls:
            control.observe(self.redraw, names="value")

    def redraw(self, change: Any = None) -> None:
        """Show what the controls say now: of two threads that come at once, the later one finds the last choice."""
        self.page, self.sentence = self._drawn()

    def _drawn(self) -> tuple[str, str]:
        with self._lock:
            self.now = self._chosen()
            self.picture.value = picture(self.now.figure(), self.now.caption)
            self.words.value = said(self.now.conclusion)
            return self.picture.value, f"{self.now.caption} {self.now.conclusion}"

    def _chosen(self) -> Crossover:
        batch, *rest = self.batch.value, self.card.value, self.copies.value, self.wait.value
        if self.cpu.value == RECORDED:
            return crossover(batch, *rest)
        if batch not in self._here:
            self.words.value = said("The CPU is being measured …")
            self._here[batch] = measured(batch)
        return compared(self._here[batch], HERE, batch, *rest)


def crossover_explorer(batch: int = 64, card: str = "NVIDIA T4", copies: bool = True, wait: bool = True) -> Explorer:
    """`crossover` with buttons: which card, which batch, with copies or without, waited for or not.

    The CPU's line was recorded; it is measured on this machine when that is chosen. Raises `ImportError` without
    ipywidgets; ``crossover(batch=64)`` needs none.

    >>> crossover_explorer()
    One training step, ... The lines cross at a hidden size of about 213. From 256 on the GPU wins; ...
    """
    return Explorer(batch, card, copies, wait)
