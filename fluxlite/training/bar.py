"""The bar that grows while a training goes on: tqdm's, drawn at most four times a second and gone in the end."""

import math
import os
import sys
import time
import warnings
from typing import Any

from ..messages import in_notebook

DELAY = 1.0  # seconds


class Bar:
    """A progress bar, or nothing at all. Shown is True, False, or None: where you can see it, after a second."""

    def __init__(self, shown: bool | None, total: int | None, done: int = 0) -> None:
        watched = in_notebook() or getattr(sys.stderr, "isatty", lambda: False)()
        never = shown is False or shown is None and not watched or os.environ.get("TQDM_DISABLE", "0") not in ("", "0")
        self.total, self.done = total, done
        self._due = math.inf if never else time.monotonic() + DELAY
        self._bar = _tqdm(total, done) if shown and not never else None

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *exc_info: Any) -> None:
        if self._bar is not None:
            self._bar.total = self._bar.n  # where steps are missing, tqdm's bar in a notebook would stay, in red
            self._bar.close()

    def step(self, epoch: str, loss: float | None) -> None:
        if self._bar is None and time.monotonic() >= self._due:
            self._bar = _tqdm(self.total, self.done)
        self.done += 1
        if self._bar is not None:
            self._bar.set_description_str(epoch, refresh=False)
            self._bar.set_postfix_str("" if loss is None else f"loss {loss:.4g}", refresh=False)
            self._bar.total = self.total
            self._bar.update()


def _tqdm(total: int | None, done: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no ipywidgets, or a new kind of bar, doesn't concern the training
        from tqdm.auto import tqdm

        return tqdm(total=total, initial=done, unit=" steps", leave=False, mininterval=0.25, dynamic_ncols=True)
