"""What a device array computes with: itself, other arrays on its device, and numbers. Host memory is out of reach.

Each refusal says what it got, where that is, and what to write instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..devices.refusals import SCALARS, refusal
from .memory import Stored

COMPARISONS = frozenset(
    (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal),
)


def is_foreign(x: Any) -> bool:
    """Whether `x` has an array type that isn't ours and may know ours. Then NumPy should ask it instead."""
    return not isinstance(x, (Stored, np.ndarray, *SCALARS)) and hasattr(x, "__array_ufunc__")


def host_operand(function: Any, x: Any, operands: tuple, kwargs: dict | None) -> Any:
    """`x`, an operand that isn't a device array, if that's allowed. Raises `TypeError` if not."""
    if isinstance(x, SCALARS):
        return x
    if isinstance(x, np.ndarray) and x.ndim == 0 and function in COMPARISONS:
        return x.item()
    raise refusal(function, x, device_among(operands + (kwargs or {}).get("out", ())))


def device_among(operands: Any) -> Any:
    """The device of our first array among the operands."""
    return next(operand.device for operand in operands if isinstance(operand, Stored))


def one_device(device: Any, x: Stored) -> Any:
    """`device`, or `x`'s device if we had none yet. Raises `ValueError` if they differ."""
    if device is None or x.device == device:  # equal, not identical: simulate_gpu() may have been called again
        return device or x.device
    raise ValueError(
        f"arrays of two devices: one is on {_named(device, x.device)}, another, of shape {x._values.shape}, on "
        f"{_named(x.device, device)}. A GPU computes only with what is in its own memory; move one of them: "
        f"get_device({device.backend!r}, {device.index})(x)."
    )


def values_on(device: Any, x: Stored) -> np.ndarray:
    """The values of `x`, which must be on this `device`. Raises `ValueError` if it's on another."""
    one_device(device, x)
    return x._values


def _named(device: Any, other: Any) -> str:
    """The device's name, with the card's name if the number alone can't tell the two devices apart."""
    return f"{device} ({device.name})" if str(device) == str(other) else str(device)
