"""The bar that grows while a training goes on: tqdm's, drawn at most four times a second and gone in the end."""

from __future__ import annotations

import math
import os
import sys
import time
import warnings
from typing import Any

from ..messages import in_notebook

DELAY = 1.0  # seconds


class Bar:
    """``with Bar(shown, total) as bar:`` a progress bar, or nothing at all.

    Shown is True, False, or None: on a terminal or in a notebook, and only after a second.
    So a short lesson has none, and a notebook that is stored has no dead one in it. In the end it is taken away in
    every case. The environment's ``TQDM_DISABLE`` means False. tqdm is imported when a bar is shown.

    >>> with Bar(False, 10) as bar:
    ...     bar.step("epoch 1/10", 0.5)
    """

    def __init__(self, shown: bool | None, total: int | None) -> None:
        if os.environ.get("TQDM_DISABLE", "0") not in ("", "0") or shown is None and not _is_watched():
            shown = False
        self._total, self._done = total, 0
        self._due = math.inf if shown is False else time.monotonic() + DELAY
        self._bar = _tqdm(total, 0) if shown else None

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *exc_info: Any) -> None:
        if self._bar is not None:
            self._bar.total = self._bar.n  # where steps are missing, tqdm's bar in a notebook would stay, in red
            self._bar.close()

    def step(self, epoch: str, loss: float | None) -> None:
        """One step more, in this epoch; its loss, if it is known already."""
        self._done += 1
        if self._bar is None:
            if time.monotonic() < self._due:
                return
            self._bar = _tqdm(self._total, self._done - 1)
        self._bar.set_description_str(epoch, refresh=False)
        if loss is not None:
            self._bar.set_postfix_str(f"loss {loss:.4g}", refresh=False)
        self._bar.update()

    def skip(self, steps: int) -> None:
        """So many steps were made in an earlier run."""
        self._done = steps
        if self._bar is not None:
            self._bar.initial = self._bar.n = steps

    def expect(self, total: int) -> None:
        """How many steps there will be, where it was not known from the start."""
        self._total = self._total or total
        if self._bar is not None:
            self._bar.total = self._total


def _tqdm(total: int | None, done: int) -> Any:
    with warnings.catch_warnings():
        # What it warns of, no ipywidgets or a new kind of bar, is no concern of the training.
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm

        return tqdm(total=total, initial=done, unit=" steps", leave=False, mininterval=0.25, dynamic_ncols=True)


def _is_watched() -> bool:
    return in_notebook() or bool(getattr(sys.stderr, "isatty", lambda: False)())
