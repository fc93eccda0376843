"""Whom a device array computes with: itself, its neighbours on the device, numbers. The host's memory is elsewhere.

Each refusal says what was got, from where, and what to write instead.
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
    """Whether `x` is of an array type that we do not know and that may know us, so that it is asked instead."""
    return not isinstance(x, (Stored, np.ndarray, *SCALARS)) and hasattr(x, "__array_ufunc__")


def host_operand(function: Any, x: Any, operands: tuple, kwargs: dict | None) -> Any:
    """`x`, an operand that is no array of the device, if it may be one; raises `TypeError` if not."""
    if isinstance(x, SCALARS):
        return x
    if isinstance(x, np.ndarray) and x.ndim == 0 and function in COMPARISONS:
        return x.item()
    raise refusal(function, x, device_among(operands + (kwargs or {}).get("out", ())))


def device_among(operands: Any) -> Any:
    """The device of the first array of ours."""
    return next(operand.device for operand in operands if isinstance(operand, Stored))


def one_device(device: Any, x: Stored) -> Any:
    """`device`, or that of `x` if none was seen yet. Raises `ValueError` if they are two."""
    if device is None or x.device == device:  # equal, not the same: simulate_gpu() may have been called again
        return device or x.device
    raise ValueError(
        f"arrays of two devices: one is on {_named(device, x.device)}, another, of shape {x._values.shape}, on "
        f"{_named(x.device, device)}. A GPU computes only with what is in its own memory; move one of them: "
        f"get_device({device.backend!r}, {device.index})(x)."
    )


def values_on(device: Any, x: Stored) -> np.ndarray:
    """The values of `x`, which is on this `device`. Raises `ValueError` if it is on another."""
    one_device(device, x)
    return x._values


def _named(device: Any, other: Any) -> str:
    """Also with the card's name where the number does not tell two devices apart."""
    return f"{device} ({device.name})" if str(device) == str(other) else str(device)
