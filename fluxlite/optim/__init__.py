"""Optimizers: setup and update (``update.py``), the rules (``rules.py``), rates that change (``schedules.py``)."""

from typing import Any


def __getattr__(name: str) -> Any:
    """What PyTorch writes as ``optim.Adam`` is ``fl.Adam`` here."""
    hint = "The rules are in fl itself: fl.Adam, fl.Descent"
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}. {hint}")
