"""A fused function on an NVIDIA or AMD GPU: `cupy.fuse` sees the same calls as we do, and makes one kernel of them.

CuPy calls the function once for each combination of types, with its own stand-ins. Ours go around them, so that NumPy's
names and types hold, derivative rules do, and what's refused is refused in the same words as on a simulated GPU.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...arrays import device_of
from ...fused.function import NUMBERS, Trace, Traced


def launch(fused: Any, args: tuple) -> Any:
    """Call a fused function with arrays of CuPy's. Raises `TypeError` for host arrays."""
    key = tuple([(type(x), x.dtype.char, x.shape) if hasattr(x, "shape") else type(x) for x in args])
    if key not in fused.made:
        fused.made[key] = _kernel(fused, args)
    return fused.made[key](args)


def _kernel(fused: Any, args: tuple) -> Callable:
    """What `cupy.fuse` makes of it for such arguments. One for some types and numbers of axes serves all sizes."""
    import cupy

    arrays = [x for x in args if isinstance(x, cupy.ndarray)]
    for x in args:
        if not isinstance(x, (cupy.ndarray, *NUMBERS, np.generic, type(None))):
            from ..simulated import refusal

            raise refusal(fused, x, device_of(arrays[0]))
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    one = (1,) * len(shape)
    key = one, *[(x.dtype.char, x.ndim, x.shape == shape) if hasattr(x, "shape") else type(x) for x in args]
    if key in fused.made:
        return fused.made[key]
    # NumPy computes the same with one element each, which says what type each result has.
    values = [np.ones(one, x.dtype) if isinstance(x, cupy.ndarray) else x for x in args]
    givens = [SimpleNamespace(shape=one if getattr(x, "shape", ()) == shape else None) for x in args]
    is_tuple, places = False, [0]

    def traced(*reals: Any) -> Any:
        """What `cupy.fuse` calls with its stand-ins, and NumPy's arrays in a rehearsal."""
        nonlocal is_tuple, places
        trace = CupyTrace(fused, one)
        for real in reals:
            if hasattr(real, "is_weak"):
                real.is_weak = False  # `emit` says which type a number has
        stand_ins = [None if x is None else trace.argument(y, x, real) for x, y, real in zip(values, givens, reals)]
        with np.errstate(all="ignore"):
            result = fused.function(*stand_ins)
        found, places = trace.outputs(result)
        is_tuple = isinstance(result, tuple)
        return tuple([x.real for x in found]) if found else None

    def call(args: tuple) -> Any:
        made = run(*args)
        several = made if isinstance(made, tuple) else (made,)
        return tuple([several[i] for i in places]) if is_tuple else several[0]

    run = cupy.fuse(kernel_name=f"fused_{fused.name}")(traced)  # `round` alone is C's
    fused.made[key] = call
    return call


class CupyTrace(Trace):
    """Has CuPy note what the function asks for, beside NumPy's result for one element each."""

    def emit(self, function: Any, inputs: Any, out: Any) -> Any:
        """CuPy's call, in the types that NumPy computes in: `cupy.fuse` takes float16 for Python's numbers."""
        import cupy

        values = [x.values if isinstance(x, Traced) else x for x in inputs]
        if isinstance(function, np.ufunc):
            weak = [type(x) if type(x) in (int, float, complex) else np.result_type(x) for x in values]
            kinds: Any = function.resolve_dtypes((*weak, *(None,) * function.nout))
        elif function is np.where:
            kinds = np.dtype(bool), *(np.result_type(*values[1:]),) * 2
        else:
            kinds = [np.result_type(*values)] * len(values)
        operands = [_of_type(x, kind) for x, kind in zip(inputs, kinds)]
        same = getattr(cupy, function.__name__)
        return same(*operands) if out is None else same(*operands, out.real)


def _of_type(x: Any, dtype: np.dtype) -> Any:
    if not isinstance(x, Traced):
        return dtype.type(x)
    return x.real if x.real.dtype == dtype else x.real.astype(dtype)
