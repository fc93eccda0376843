"""What a GPU says about an operand that isn't in its memory, or that none can hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from .words import WRITE

SCALARS = (np.generic, int, float, complex)
# The characters of the types that GPUs lack: objects, text, raw bytes and records, dates, long doubles.
LACKING_DTYPES = frozenset("OSUTcVMmgG")


def check_dtype(dtype: Any) -> None:
    """Raises `ValueError` if no GPU can hold an array of this type. None asks for none."""
    if dtype is not None and np.dtype(dtype).char in LACKING_DTYPES:
        raise ValueError(
            f"a GPU holds numbers and booleans, and has no {np.dtype(dtype)!r}. Take a number's type, such as "
            f"np.float64, np.int32 or np.complex64, or compute on the host: {WRITE['to the host']}(x)"
        )


def check_values(x: np.ndarray) -> None:
    """Raises `TypeError` for a host array of a type that GPUs lack."""
    if x.dtype.char in LACKING_DTYPES:
        kind = type(x.flat[0]).__name__ if x.size else x.dtype.name
        raise TypeError(f"a GPU holds numbers and booleans; this is an array of {kind} (dtype {x.dtype})")


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
