"""CuPy's `cupyx.scipy.ndimage`: filters, morphology, measurements and interpolation of pictures."""

from typing import Any

import numpy as np

from ...functions import on_device
from ...indexing import write
from ...kernels import ReductionKernel
from ...surface import lister
from ...words import Missing, in_words
from .bridge import finder
from .images import COMPUTES

_MODES = {"reflect": "symmetric", "mirror": "reflect", "nearest": "edge", "wrap": "wrap", "constant": "constant"}


def generic_filter(
    input: Any, function: Any, size: Any = None, footprint: Any = None, output: Any = None, mode: str = "reflect",
    cval: float = 0.0, origin: Any = 0, *, axes: Any = None,
) -> Any:  # fmt: skip
    """A `ReductionKernel` of each element's neighbours: those in a window of this `size`, or where `footprint` is true.

    Raises `Missing` for a RawKernel, which gets addresses.
    """
    x = on_device(generic_filter, input)
    if not isinstance(function, ReductionKernel):
        raise Missing(f"generic_filter with {in_words(function)} isn't simulated: it takes a ReductionKernel")
    if axes is not None:
        raise Missing("generic_filter(axes=…) isn't simulated")
    if footprint is None:
        lengths = (size,) * x.ndim if np.ndim(size) == 0 else tuple(size)
        chosen = np.ones(lengths, bool)
    else:
        chosen = np.asarray(footprint.host_values, bool)
    shifts = (origin,) * x.ndim if np.ndim(origin) == 0 else tuple(origin)
    before = [n // 2 + shift for n, shift in zip(chosen.shape, shifts)]
    widths = [(left, n - 1 - left) for n, left in zip(chosen.shape, before)]
    options: dict[str, Any] = {"constant_values": cval} if mode == "constant" else {}
    padded = np.pad(x.host_values, widths, _MODES[mode], **options)  # type: ignore[call-overload]
    windows = np.lib.stride_tricks.sliding_window_view(padded, chosen.shape)[..., chosen]
    result = function(x.device.new(np.ascontiguousarray(windows)), axis=-1)
    if output is None:
        return result.astype(x.dtype, copy=False)
    if isinstance(output, (type, np.dtype, str)):
        return result.astype(output, copy=False)
    write(output.device, output.host_values, ..., result.host_values)
    return output


def generic_filter1d(*args: Any, **kwargs: Any) -> Any:
    """Raises `Missing`: CuPy's takes a RawKernel, which gets addresses."""
    raise Missing("generic_filter1d isn't simulated: its RawKernel gets addresses")


_find = finder(__name__, "scipy.ndimage", COMPUTES)


def __getattr__(name: str) -> Any:
    return _find(name)


__dir__ = lister(__name__)
