"""Optimizers: setup and update (``update.py``), the rules (``rules.py``), rates that change (``schedules.py``)."""

from typing import Any

from ..coming_from import NAMES, sentence


def __getattr__(name: str) -> Any:
    """What PyTorch writes as ``optim.Adam`` is ``fl.Adam`` here."""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}. {sentence(NAMES['optim'])}")
