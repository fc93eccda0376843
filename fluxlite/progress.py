"""The bar that grows while a training goes on: tqdm's, drawn at most four times a second and gone in the end."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any


class Bar:
    """``with Bar(shown, total) as bar:`` a progress bar, or nothing at all.

    Shown is True, False, or None for: where somebody watches, on a terminal or in a notebook, and only after a second,
    so that short lessons have none. In the end it is taken away in every case. The environment's ``TQDM_DISABLE`` means
    False. tqdm is imported when a bar is shown.

    >>> with Bar(False, 10) as bar:
    ...     bar.step("epoch 1/10", 0.5)
    """

    def __init__(self, shown: bool | None, total: int | None) -> None:
        if os.environ.get("TQDM_DISABLE", "0") not in ("", "0") or shown is None and not _is_watched():
            shown = False
        self._bar = None if shown is False else _tqdm(total, delay=1 if shown is None else 0)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *exc_info: Any) -> None:
        if self._bar is not None:
            self._bar.close()

    def step(self, epoch: str, loss: float | None) -> None:
        """One step more, in this epoch; its loss, if it is known already."""
        if self._bar is not None:
            self._bar.set_description_str(epoch, refresh=False)
            if loss is not None:
                self._bar.set_postfix_str(f"loss {loss:.4g}", refresh=False)
            self._bar.update()

    def skip(self, steps: int) -> None:
        """So many steps were made in an earlier run."""
        if self._bar is not None:
            self._bar.initial = self._bar.n = steps

    def expect(self, total: int) -> None:
        """How many steps there will be, where it was not known from the start."""
        if self._bar is not None and self._bar.total is None:
            self._bar.total = total


def _tqdm(total: int | None, delay: float) -> Any:
    with warnings.catch_warnings():
        # What it warns of, no ipywidgets or a new kind of bar, is no concern of the training.
        warnings.simplefilter("ignore")
        from tqdm.auto import tqdm

        return tqdm(total=total, unit=" steps", leave=False, mininterval=0.25, delay=delay, dynamic_ncols=True)


def _is_watched() -> bool:
    ipython = sys.modules.get("IPython")
    if "ipykernel" in sys.modules and ipython is not None and ipython.get_ipython() is not None:
        return True
    return bool(getattr(sys.stderr, "isatty", lambda: False)())
