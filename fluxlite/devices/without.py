"""What `gpu` does without a GPU: one switch with three settings."""

from __future__ import annotations

import os

from ..arguments import in_words

VARIABLE = "FLUXLITE_WITHOUT_GPU"
MODES = {
    "cpu": "gpu(x) is x, and says why once",
    "simulate": "gpu(x) turns the simulated GPU on",
    "raise": "gpu(x) raises an error",
}
_chosen: list[str] = []  # the last one counts


def without_gpu(mode: str | None = None) -> str:
    """Choose what `gpu` does on a machine without a usable GPU; returns the current mode.

    ``"cpu"``, the default and Flux's behaviour: `gpu` returns its argument and says why once. ``"simulate"``: it calls
    `simulate_gpu` first. ``"raise"``: it raises `RuntimeError`, for a program that mustn't run on the CPU for hours by
    mistake. Without an argument nothing changes. The environment variable FLUXLITE_WITHOUT_GPU sets the mode from
    outside; a call overrides it. Raises `ValueError` for another word.

    >>> without_gpu()
    'cpu'
    """
    if mode is not None:
        _chosen[:] = [_checked(mode, "without_gpu(mode)")]
    return _chosen[0] if _chosen else _checked(os.environ.get(VARIABLE) or "cpu", VARIABLE)


def _checked(mode: str, where: str) -> str:
    if not isinstance(mode, str) or mode not in MODES:
        raise ValueError(f"{where} is one of {', '.join(map(repr, MODES))}, got {in_words(mode)}")
    return mode
