"""Plans of cuFFT: a program makes one for many transforms of the same shape. Here, it's a name for that shape."""

import math
from typing import Any

import numpy as np

from ...words import in_words

KINDS = ("C2C", "R2C", "C2R")


class Plan:
    """A plan for transforms of this shape along these axes: for ``with plan:`` and ``fft(x, plan=plan)``."""

    def __init__(self, shape: tuple[int, ...], axes: tuple[int, ...], value_type: str, dtype: np.dtype) -> None:
        self.shape, self.axes, self.value_type, self.dtype = shape, axes, value_type, dtype

    def __enter__(self) -> "Plan":
        return self

    def __exit__(self, *exc_info: Any) -> None:
        """Nothing is freed: a simulated plan takes no memory."""

    def check(self, x: Any) -> None:
        """Raises `ValueError` if this array isn't of the plan's size or type."""
        if x.dtype.kind == "c" and self.dtype.kind == "c" and x.dtype != self.dtype:
            raise ValueError(f"the plan is for {self.dtype}, and the array is {x.dtype}")
        if x.ndim != len(self.shape) or math.prod(x.shape) and not math.prod(self.shape):
            raise ValueError(f"the plan is for an array of shape {self.shape}, got {in_words(x)}")


def get_fft_plan(a: Any, shape: Any = None, axes: Any = None, value_type: str = "C2C") -> Plan:
    """A plan of cuFFT for arrays like `a`, wherever it is. Raises `ValueError` for what cuFFT makes none."""
    if not a.flags.forc:
        raise ValueError("get_fft_plan takes an array that lies in one piece")
    shape = (shape,) if isinstance(shape, int) else shape
    axes = (axes,) if isinstance(axes, int) else axes
    if shape is not None and axes is not None and len(shape) != len(axes):
        raise ValueError(f"shape and axes have different lengths: {len(shape)} and {len(axes)}")
    if axes is None:
        count = a.ndim if shape is None else len(shape)
        axes = tuple(range(-count, 0))
    if len(axes) > 3:
        raise ValueError(f"cuFFT plans transforms along at most three axes, got {len(axes)}")
    if any([not -a.ndim <= axis < a.ndim for axis in axes]):
        raise ValueError(f"axes {axes} aren't all among the {a.ndim} of the array")
    if value_type not in KINDS:
        raise ValueError(f"value_type is one of {', '.join(KINDS)}, got {value_type!r}")
    if len(axes) > 1 and value_type != "C2C" and not a.flags.c_contiguous:
        raise ValueError(f"{value_type} along several axes takes an array that lies row by row")
    whole = list(a.shape)
    for length, axis in zip(shape or (), axes):
        if length is not None:
            whole[axis] = length
    kind = np.result_type(a.dtype, np.complex64)
    return Plan(tuple(whole), tuple(axes), value_type, kind)
