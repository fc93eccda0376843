"""CuPy's `cupyx.scipy.ndimage`: filters, morphology, measurements and interpolation of pictures."""

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ...functions import on_device
from ...indexing import write
from ...kernels import ElementwiseKernel, ReductionKernel
from ...raw import RawKernel
from ...surface import lister
from ...words import in_words
from . import raw_filters
from .bridge import finder
from .images import COMPUTES

_MODES = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap", "constant": "constant"}


def generic_filter(
    input: Any, function: Any, size: Any = None, footprint: Any = None, output: Any = None, mode: str = "reflect",
    cval: float = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """A kernel of each element's neighbours: those in a window of this `size`, or where `footprint` is true.

    The kernel is a `ReductionKernel`; or a `RawKernel` ``f(double* window, int size, double* result)``, which gets one
    window, and doesn't ask for its thread. Raises `TypeError` for anything else.
    """
    x = on_device(generic_filter, input)
    if isinstance(function, ElementwiseKernel):
        raise TypeError("only ReductionKernel allowed (not ElementwiseKernel)")
    if not isinstance(function, (ReductionKernel, RawKernel)):
        raise TypeError(f"bad function type: it takes a ReductionKernel or a RawKernel, got {in_words(function)}")
    along = range(x.ndim) if axes is None else normalize_axis_tuple(axes, x.ndim)
    if footprint is None:
        chosen = np.ones(_for_each(size, len(along)), bool)
    else:
        chosen = np.asarray(footprint.host_values, bool)
    widths = [(0, 0)] * x.ndim
    for axis, n, shift in zip(along, chosen.shape, _for_each(origin, len(along))):
        widths[axis] = _around(n, shift)
    windows = np.lib.stride_tricks.sliding_window_view(_padded(x, widths, mode, cval), chosen.shape, tuple(along))
    rows = windows[..., chosen].reshape(x.size, -1)
    return _returned(output, raw_filters.of_windows(function, rows, _dtype_of(output, x), x.device).reshape(x.shape))


def generic_filter1d(
    input: Any, function: Any, filter_size: int, axis: int = -1, output: Any = None, mode: str = "reflect",
    cval: float = 0.0, origin: int = 0,
) -> Any:  # fmt: skip
    """A `RawKernel` of each line along an axis: ``f(double* line, ptrdiff_t n, double* result, ptrdiff_t m)``.

    A line has ``filter_size - 1`` elements more than its result. Raises `TypeError` for another kind of kernel.
    """
    x = on_device(generic_filter1d, input)
    if x.dtype.kind == "c":
        raise TypeError("Complex type not supported")
    if not isinstance(function, RawKernel):
        raise TypeError(f"bad function type: it takes a RawKernel, got {in_words(function)}")
    if filter_size < 1:
        raise RuntimeError("invalid filter size")
    (axis,) = normalize_axis_tuple(axis, x.ndim)
    widths = [(0, 0)] * x.ndim
    widths[axis] = _around(filter_size, origin)
    lines = np.moveaxis(_padded(x, widths, mode, cval), axis, -1)
    rows = lines.reshape(-1, lines.shape[-1])
    found = raw_filters.of_lines(function, rows, x.shape[axis], _dtype_of(output, x), x.device)
    shape = (*lines.shape[:-1], x.shape[axis])
    result = np.moveaxis(found.host_values.reshape(shape), -1, axis)
    return _returned(output, x.device.new(np.ascontiguousarray(result)))


def _for_each(value: Any, count: int) -> tuple[int, ...]:
    """One number for each axis."""
    if np.ndim(value) == 0:
        return (value,) * count
    return tuple(value)


def _around(size: int, origin: int) -> tuple[int, int]:
    """How many elements a window has before its own one, and after it."""
    before = size // 2 + origin
    if not 0 <= before < size:
        raise ValueError("invalid origin")
    return before, size - 1 - before


def _padded(x: Any, widths: list[tuple[int, int]], mode: str, cval: float) -> np.ndarray:
    options: dict[str, Any] = {"constant_values": cval} if mode == "constant" else {}
    return np.pad(x.host_values, widths, _MODES[mode], **options)  # type: ignore[call-overload]


def _dtype_of(output: Any, x: Any) -> np.dtype:
    if output is None:
        return x.dtype
    if isinstance(output, (type, np.dtype, str)):
        return np.dtype(output)
    return output.dtype


def _returned(output: Any, result: Any) -> Any:
    """The result; or `output`, which it's written into."""
    if output is None or isinstance(output, (type, np.dtype, str)):
        return result
    write(output.device, output.host_values, ..., result.host_values)
    return output


_find = finder(__name__, "scipy.ndimage", COMPUTES)


def __getattr__(name: str) -> Any:
    return _find(name)


__dir__ = lister(__name__)
