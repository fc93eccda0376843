"""What a GPU says about an operand that isn't in its memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import mover

SCALARS = (np.generic, int, float, complex)


def refusal(function: Any, x: Any, device: Any) -> TypeError:
    """The error that says why `function` can't take `x` together with an array on `device`."""
    if isinstance(x, np.ndarray):
        return TypeError(
            f"{function.__name__}: one array is on {device} and another, of shape {x.shape} and dtype {x.dtype}, is on "
            "CPU; a GPU computes only with what is in its own memory. Move it there first: x = "
            f"{mover(device)}(x).{_made_there(x)}"
        )
    return TypeError(
        f"{function.__name__}: unsupported type {type(x).__name__} beside an array on {device}; it takes arrays of "
        "that device and numbers. Make a list an array there first: gpu(np.array(values))."
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


def one_number(value: Any) -> Any:
    """`value`, to be written to part of a device array, as one number. It isn't a device array itself."""
    if isinstance(value, SCALARS):
        return value
    if isinstance(value, (np.ndarray, list, tuple)):
        value = np.asarray(value)
        if value.shape != ():
            raise ValueError(
                f"a host array of shape {value.shape} cannot be written to a part of a device array; "
                "move it first: x[2:4] = gpu(values)"
            )
        return value.item()
    return float(value)  # an array that's tracked for a gradient refuses this, and says why
