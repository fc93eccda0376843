"""The crossover explorer: a training step's time on a CPU and on a card, with controls for everything that matters."""

from __future__ import annotations

import threading
from typing import Any

from simgpu.presets import PRESETS

from ..course.crossing import BATCHES, HERE, Crossover, compared, crossover, measured
from ..course.explore.lines import alive_crossover
from ..course.timing import Timing
from .alive import Alive
from .widgets import Shown, ipywidgets, picture, said

RECORDED, LIVE = "recorded", "this machine, measured now (takes a few seconds)"


class Explorer(Shown):
    """Five controls, the picture for their settings, and a sentence that says where the lines cross.

    `now` is the `Crossover` shown, the same that the plain call returns for these settings.
    """

    def __init__(self, batch: int, card: str, copies: bool, wait: bool) -> None:
        widgets = ipywidgets("crossover(batch=64)")
        crossover(batch, card, copies, wait)  # raises with a better message than the controls would
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
        self._here: dict[int, dict[int, Timing]] = {}  # times measured on this machine, for each batch
        self._lock = threading.Lock()
        super().__init__(box, *self._drawn())
        for control in self.controls:
            control.observe(self.redraw, names="value")

    def redraw(self, change: Any = None) -> None:
        """Show the controls' current settings. If two threads call this, the later one finds the latest settings."""
        self.page, self.sentence = self._drawn()

    def alive(self) -> Alive | None:
        """Batch, copies and waiting for the card shown, to choose without a kernel. None for times measured here."""
        if self.cpu.value == LIVE:
            return None
        card = self.card.value
        return alive_crossover(self.batch.value, card, self.copies.value, self.wait.value, cards=[card])

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
    """`crossover` with buttons: choose the card, the batch, with or without copies, waiting or not.

    The CPU's line is recorded, unless you choose to measure it on this machine. Raises `ImportError` without
    ipywidgets. You can call ``crossover(batch=64)`` without it.

    >>> crossover_explorer()
    One training step, ... The lines cross at a hidden size of about 272. From 512 on the GPU wins; ...
    """
    return Explorer(batch, card, copies, wait)
