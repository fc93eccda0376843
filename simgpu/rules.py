"""What a device array computes with: itself, other arrays on its device, and numbers. Host memory is out of reach.

Each refusal says what it got, where that is, and what to write instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .lines import warn_at_call
from .memory import Stored
from .surface import names

SCALARS = (np.generic, int, float, complex)
COMPARISONS = frozenset((np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal))


def refusal(function: Any, x: Any, device: Any) -> TypeError:
    """The error that says why `function` can't take `x` together with an array on `device`."""
    if isinstance(x, np.ndarray):
        return TypeError(
            f"{function.__name__}: one array is on {device} and another, of shape {x.shape} and dtype {x.dtype}, is on "
            "CPU; a GPU computes only with what is in its own memory. Move it there first: x = "
            f"{device._mover()}(x).{_made_there(x)}"
        )
    return TypeError(
        f"{function.__name__}: unsupported type {type(x).__name__} beside an array on {device}; it takes arrays of "
        f"that device and numbers. Make a list an array there first: {device._mover()}(np.array(values))."
    )


def _made_there(x: np.ndarray) -> str:
    """What one makes oneself, as a first state or a mask, needn't be moved if it's made in the right place."""
    if x.dtype.kind not in "biufc" or x.size == 0:
        return ""
    if not x.any():
        call = "np.zeros_like(a, shape=…)"
    elif x.size > 1 and x.ndim == 2 and np.array_equal(x, np.diag(np.diag(x))):
        call = "np.identity(n, like=a)"
    else:
        call = "np.arange(n, like=a)" if x.size > 1 and np.array_equal(x.ravel(), np.arange(x.size)) else ""
    return call and f" Or make it where the array a is: {call}."


def one_number(value: Any, device: Any) -> Any:
    """`value`, to be written to part of an array on `device`, as one number. It isn't a device array itself."""
    if isinstance(value, SCALARS):
        return value
    if isinstance(value, (np.ndarray, list, tuple)):
        value = np.asarray(value)
        if value.shape != ():
            raise ValueError(
                f"a host array of shape {value.shape} cannot be written to a part of a device array; "
                f"move it first: x[2:4] = {device._mover()}(values)"
            )
        return value.item()
    return float(value)  # an array that's tracked for a gradient refuses this, and says why


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
