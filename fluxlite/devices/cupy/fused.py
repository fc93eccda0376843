"""A function as one launch on an NVIDIA or AMD GPU: `cupy.fuse` sees the same calls as we do, and makes a kernel.

CuPy calls the function once for each combination of types, with its own stand-ins. Ours go around them, so that NumPy's
names and types hold, and the same is refused in the same words as on a simulated GPU.
"""

import functools
from collections.abc import Callable
from types import NoneType
from typing import Any

import numpy as np

from ...arrays import device_of
from ..fused import NUMBERS, Trace, Traced


def launch(function: Callable, args: tuple) -> Any:
    """Call a function with arrays of CuPy's. Raises `TypeError` for host arrays."""
    import cupy

    arrays = [x for x in args if isinstance(x, cupy.ndarray)]
    for x in args:
        if not isinstance(x, (cupy.ndarray, *NUMBERS, np.generic, NoneType)):
            from ..simulated import refusal

            raise refusal(function, x, device_of(arrays[0]))
    shape = np.broadcast_shapes(*{x.shape for x in arrays})
    kinds = [(x.dtype, x.shape == shape) if isinstance(x, cupy.ndarray) else (type(x), True) for x in args]
    return _kernel(function, len(shape), *kinds)(*args)


@functools.lru_cache(10_000)
def _kernel(function: Callable, ndim: int, *kinds: Any) -> Callable:
    """What `cupy.fuse` makes of it for such arguments. It serves all sizes."""
    import cupy

    from ..simulated import Compiled

    is_tuple = False
    known = Compiled(function, f"fuse, {function.__name__}", function.__name__)
    one = (1,) * ndim
    # NumPy computes the same with one element each, which says what type each result has.
    ones: dict[Any, Any] = {}
    for kind, _ in kinds:
        if isinstance(kind, np.dtype):
            ones[kind] = np.ones(one, kind)
        elif kind is not NoneType:
            ones[kind] = kind(1)

    def traced(*reals: Any) -> Any:
        """What `cupy.fuse` calls with its stand-ins, and NumPy's arrays in a rehearsal."""
        nonlocal is_tuple
        for real in reals:
            if hasattr(real, "is_weak"):
                real.is_weak = False  # `emit` says which type a number has
        trace = CupyTrace(function, one)
        stand_ins = [trace.argument(ones.get(kind), whole, real) for (kind, whole), real in zip(kinds, reals)]
        with np.errstate(all="ignore"):
            result, found = trace.outputs(*stand_ins)
        is_tuple = isinstance(result, tuple)
        if not found:
            return None
        return tuple([x.real for x in found])

    def call(*args: Any) -> Any:
        known.current()  # says if a name from outside has changed: the kernel goes on with what it was
        made = run(*args)
        if not isinstance(made, tuple):
            made = (made,)
        if is_tuple:
            return made
        return made[0]

    run = cupy.fuse(kernel_name=f"fused_{function.__name__}")(traced)  # `round` alone is C's
    return call


class CupyTrace(Trace):
    """Has CuPy note what the function asks for, next to NumPy's result for one element each."""

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
        reals = [x.real if isinstance(x, Traced) else kind.type(x) for x, kind in zip(inputs, kinds)]
        operands = [x if x.dtype == kind else x.astype(kind) for x, kind in zip(reals, kinds)]
        if out is not None:
            operands.append(out.real)
        return getattr(cupy, function.__name__)(*operands)
