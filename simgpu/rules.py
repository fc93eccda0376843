"""What a device array computes with: itself, other arrays on its device, and numbers. Host memory is out of reach.

Each refusal says what it got, where that is, and what to write instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .lines import warn_at_call
from .memory import Stored
from .refusals import SCALARS, refusal
from .surface import names

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


class PerformanceWarning(RuntimeWarning):
    """One card reads the memory of another, which is slow (CuPy: ``PerformanceWarning``)."""


def current_card(device: Any) -> Any:
    """Where CuPy makes new arrays, wherever `device`'s are: the current one of this computer's cards."""
    return device.current_card() if device.cards else device


def computing_card(device: Any) -> Any:
    """The card that computes with an array of `device`: the current one. Raises `ValueError` if that can't reach it.

    CuPy looks at each array before it launches a kernel: `_check_peer_access` in _core/_kernel.pyx:128, called for
    elementwise kernels (:880), ufuncs (:1307), reductions (_reduction.pyx:607, :824) and joined arrays
    (_routines_manipulation.pyx:662). It doesn't look before it calls cuBLAS, CUB, cuFFT or cuSOLVER, or sorts. Then the
    card meets an address that it can't reach, and CUDA's error leaves the program without a GPU. So we raise there too.
    """
    here = current_card(device)
    if here is device:
        return device
    where = f"the array is on {device}, and the current device is {_named(here, device)}"
    habit = f"Make the array's device the current one for this line: {device._habit()}"
    if device.settings[0].peers:
        warn_at_call(f"{where}, which now reads it from there: slowly. {habit}", PerformanceWarning)
        return here
    raise ValueError(f"{where}. A GPU computes only with what is in its own memory. {habit}")


# What only makes or moves an array may find it anywhere. What changes one mustn't begin before it's refused.
MAKING = names("zeros_like ones_like full_like empty_like reshape ravel")
WRITING = names("copyto put putmask place put_along_axis fill_diagonal")


def one_device(device: Any, x: Stored) -> Any:
    """`device`, or `x`'s device if we had none yet. Raises `ValueError` if they differ and have no peer access."""
    if device is None or x.device == device:  # equal, not identical: a card may have been simulated anew
        return device or x.device
    if x.device in device.cards and device.settings[0].peers:
        computing_card(x.device)
        return device
    raise ValueError(
        f"arrays of two devices: one is on {_named(device, x.device)}, another, of shape {x._values.shape}, on "
        f"{_named(x.device, device)}. A GPU computes only with what is in its own memory; move one of them: "
        f"{device._mover(exact=True)}(x)."
    )


def values_on(device: Any, x: Stored) -> np.ndarray:
    """The values of `x`, which must be on this `device`. Raises `ValueError` if it's on another."""
    one_device(device, x)
    return x._values


def _named(device: Any, other: Any) -> str:
    """The device's name, with the card's name if the number alone can't tell the two devices apart."""
    return f"{device} ({device.name})" if str(device) == str(other) else str(device)
