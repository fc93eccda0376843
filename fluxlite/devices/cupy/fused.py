"""A fused function on an NVIDIA or AMD GPU: `cupy.fuse` sees the same calls as we do, and makes one kernel of them.

CuPy calls the function once for each combination of types, with its own stand-ins. Ours go around them, so that NumPy's
names and types hold, derivative rules do, and what's refused is refused in the same words as on a simulated GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays import device_of
from ...fused.standin import NUMBERS, Trace, Traced


def launch(fused: Any, args: tuple) -> Any:
    """Call a fused function with arrays of CuPy's. Raises `TypeError` for host arrays."""
    key = tuple([(type(x), x.dtype.char, x.shape) if hasattr(x, "shape") else type(x) for x in args])
    return (fused.made.get(key) or _kernel(fused, args, key))(args)


def _kernel(fused: Any, args: tuple, key: Any) -> Kernel:
    """The kernel for such arguments. One for some types and numbers of axes serves arrays of all sizes."""
    import cupy

    arrays = [x for x in args if isinstance(x, cupy.ndarray)]
    for x in args:
        if not isinstance(x, (cupy.ndarray, *NUMBERS, np.generic, type(None))):
            from ..simulated import refusal

            raise refusal(fused, x, device_of(arrays[0]))
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    kinds = [(x.dtype.char, x.ndim, x.shape == shape) if hasattr(x, "shape") else type(x) for x in args]
    general = "kernel", len(shape), *kinds
    if general not in fused.made:
        fused.made[general] = Kernel(fused, args, shape)
    fused.made[key] = fused.made[general]
    return fused.made[key]


class Kernel:
    """What `cupy.fuse` makes of a function, for arguments of some types."""

    def __init__(self, fused: Any, args: tuple, shape: tuple[int, ...]) -> None:
        import cupy

        self.fused, self.ndim = fused, len(shape)
        self.is_tuple, self.places = False, [0]
        # NumPy computes the same with one element each, which says what type each result has.
        self.values = [np.ones((1,) * self.ndim, x.dtype) if isinstance(x, cupy.ndarray) else x for x in args]
        self.fits = [getattr(x, "shape", ()) == shape for x in args]
        self.run = cupy.fuse(kernel_name=f"fused_{fused.name}")(self._traced)  # `round` alone is C's

    def __call__(self, args: tuple) -> Any:
        made = self.run(*args)
        if made is None:
            return None
        several = made if isinstance(made, tuple) else (made,)
        return tuple([several[i] for i in self.places]) if self.is_tuple else several[0]

    def _traced(self, *reals: Any) -> Any:
        """What `cupy.fuse` calls with its stand-ins, and NumPy's arrays in a rehearsal."""
        trace = CupyTrace(self.fused, (1,) * self.ndim)
        given = []
        for value, real, fits in zip(self.values, reals, self.fits):
            stand_in = None if value is None else trace.argument(_Shaped(trace.shape if fits else None), value, real)
            given.append(stand_in)
            if hasattr(real, "is_weak"):
                real.is_weak = False  # `_types` says which type a number has
        with np.errstate(all="ignore"):
            result = self.fused.function(*given)
        found, self.places = trace.outputs(result)
        self.is_tuple = isinstance(result, tuple)
        return tuple([x.real for x in found]) if found else None


class _Shaped:
    """The shape of an argument: that of all together, or another."""

    def __init__(self, shape: Any) -> None:
        self.shape = shape


class CupyTrace(Trace):
    """Has CuPy note what the function asks for, beside NumPy's result for one element each."""

    def emit(self, function: Any, inputs: list, out: Any) -> Any:
        """CuPy's call, in the types that NumPy computes in: `cupy.fuse` takes float16 for Python's numbers."""
        import cupy

        values = [x.values if isinstance(x, Traced) else x for x in inputs]
        operands = [_of_type(x, kind) for x, kind in zip(inputs, _types(function, values))]
        same = getattr(cupy, function.__name__)
        return same(*operands) if out is None else same(*operands, out.real)

    def emit_astype(self, x: Any, dtype: np.dtype) -> Any:
        return x.astype(dtype)


def _types(function: Any, values: list) -> Sequence[Any]:
    """The types in which NumPy computes this."""
    if isinstance(function, np.ufunc):
        are_numbers = all(isinstance(x, NUMBERS) for x in values)
        kinds = [type(x) if type(x) in (int, float, complex) and not are_numbers else np.result_type(x) for x in values]
        return function.resolve_dtypes((*kinds, *(None,) * function.nout))[: function.nin]
    if function is np.where:
        return np.dtype(bool), *(np.result_type(*values[1:]),) * 2
    return [np.result_type(*values)] * len(values)


def _of_type(x: Any, dtype: np.dtype) -> Any:
    if not isinstance(x, Traced):
        return dtype.type(x)
    return x.real if x.real.dtype == dtype else x.real.astype(dtype)
