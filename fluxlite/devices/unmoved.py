"""Arrays that a move could not reach: said once per class or function."""

from __future__ import annotations

from typing import Any

from ..arrays import device_of
from ..messages import notice
from ..tree.walks import KeyPath
from ..unreached import arrays_inside, boxes


def explain_unmoved(x: Any, device: Any, path: KeyPath) -> None:
    """Say that `x`, at `path`, holds or uses an array that is not on `device`, and that no walk reaches."""
    for key, place, value, why in boxes(x, path):
        found = next((place for place, array in arrays_inside(value, place) if device_of(array) != device), None)
        if found is not None:
            notice(("unmoved", *key), f"{found or type(x).__name__} was not moved to {device}: {why}")
