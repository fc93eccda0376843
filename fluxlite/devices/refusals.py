"""What a GPU says about an operand that isn't in its memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import mover

SCALARS = (np.generic, int, float, complex)


def refusal(function: Any, x: Any, device: Any) -> TypeError:
    """The error that says why `function` can't take `x` together with an array on `device`."""
    if isinstance(x, np.ndarray):
        # Zeros are what one makes oneself, as a first state: they needn't be moved, if they're made in the right place.
        zeros = x.dtype.kind in "biufc" and x.size > 0 and not x.any()
        made = " Zeros: np.zeros_like(a, shape=…) makes them where the array a is." if zeros else ""
        return TypeError(
            f"{function.__name__}: one array is on {device} and another, of shape {x.shape} and dtype {x.dtype}, is on "
            "CPU; a GPU computes only with what is in its own memory. Move it there first: x = "
            f"{mover(device)}(x).{made}"
        )
    return TypeError(
        f"{function.__name__}: unsupported type {type(x).__name__} beside an array on {device}; it takes arrays of "
        "that device and numbers. Make a list an array there first: gpu(np.array(values))."
    )


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
