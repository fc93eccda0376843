"""Smaller pictures and sequences, by pooling their windows, and larger ones: `Upsample`."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..autodiff.derivatives.windows import Windows, max_along, padded, sum_along
from ..autodiff.tracked import plain
from ..messages import ShapeError, explained, in_words
from ..tree.walks import KeyPath
from .convolution import Pads, SamePad, check_places, check_shape, each_axis, option, pads_of, window_size
from .layer import Layer, layer_call, layer_class

# Pooling along one axis after the other gives the same as the windows as a whole, with fewer steps. The last axis comes
# first: so the first of equal maxima is the first one of the window, read row by row.


def _pooled(x: Any, at: Windows, along: Callable, padding: float) -> Any:
    if any(map(any, at.pad)):
        x = padded(x, at.pad, padding)
    for axis in reversed(range(len(at.kernel))):
        x = along(x, axis + 1, at.kernel[axis], at.stride[axis])
    return x


def _largest(x: Any, at: Windows) -> Any:
    return _pooled(x, at, max_along, np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf)


def _mean(x: Any, at: Windows) -> Any:
    return _pooled(x, at, sum_along, 0) / math.prod(at.kernel)


@layer_class(children=())
class MaxPool(Layer):
    """The largest element of each window, for each feature (Flux: ``MaxPool``).

    ``MaxPool((2, 2))`` takes pictures, ``(N, H, W, features)``; ``MaxPool((2,))`` sequences. `stride` is the window's
    size if it isn't given, so that windows don't overlap; `pad` is as in `Conv`, and is never the largest. If several
    elements are equal, the first in the window gets the gradient.

    >>> MaxPool((2, 2))(np.arange(16.0).reshape(1, 4, 4, 1))[0, :, :, 0]
    array([[ 5.,  7.],
           [13., 15.]])
    """

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    pad: Pads

    _pool: Callable = staticmethod(_largest)

    @explained()
    def __init__(self, kernel: tuple[int, ...], *, stride: Any = None, pad: int | tuple[int, ...] | SamePad = 0):
        name = type(self).__name__
        self.kernel = window_size(f"{name}(kernel)", kernel)
        self.stride = self.kernel if stride is None else each_axis(f"{name}'s stride", stride, len(self.kernel))
        self.pad = pads_of(f"{name}'s pad", pad, self.kernel)
        if any(size >= width for sizes, width in zip(self.pad, self.kernel) for size in sizes):
            raise ValueError(f"{name}'s pad is smaller than its window {self.kernel}, got {pad}")

    @layer_call
    def __call__(self, x: Any) -> Any:
        check_shape(self, x, len(self.kernel))
        at = Windows(self.kernel, self.stride, self.pad, (1,) * len(self.kernel))
        check_places(self, x, at.places(x.shape[1:-1]), at.kernel)
        return self._pool(x, at)

    def _sizes(self) -> str:
        return str(self.kernel)

    def _options(self) -> str:
        return option("pad", self.pad, 0) + option("stride", self.stride, self.kernel)


class MeanPool(MaxPool):
    """The mean of each window, for each feature (Flux: ``MeanPool``); padding counts, as zeros."""

    _pool = staticmethod(_mean)


@layer_class(children=())
class AdaptiveMaxPool(Layer):
    """Pooling to the size `out`, with windows that suit the input (Flux: ``AdaptiveMaxPool``).

    The stride is the input's size divided by `out`, rounded down, and the last window ends where the input does.
    """

    out: tuple[int, ...]

    _pool: Callable = staticmethod(_largest)

    @explained()
    def __init__(self, out: tuple[int, ...]):
        self.out = window_size(f"{type(self).__name__}(out)", out)

    @layer_call
    def __call__(self, x: Any) -> Any:
        check_shape(self, x, len(self.out))
        space = x.shape[1:-1]
        if any(length < out for length, out in zip(space, self.out)):
            raise ShapeError(KeyPath(), f"{self._name()} can't make {self.out} of {space}, which is smaller")
        stride = tuple(length // out for length, out in zip(space, self.out))
        kernel = tuple(length - (out - 1) * step for length, out, step in zip(space, self.out, stride))
        return self._pool(x, Windows(kernel, stride, ((0, 0),) * len(space), (1,) * len(space)))

    def _sizes(self) -> str:
        return str(self.out)


class AdaptiveMeanPool(AdaptiveMaxPool):
    """`AdaptiveMaxPool` with the mean of each window (Flux: ``AdaptiveMeanPool``)."""

    _pool = staticmethod(_mean)


@layer_class(children=())
class GlobalMaxPool(Layer):
    """The largest element of each picture or sequence, for each feature (Flux: ``GlobalMaxPool``).

    Takes ``(N, H, W, features)`` and gives ``(N, 1, 1, features)``; with any number of axes in between.
    """

    @layer_call
    def __call__(self, x: Any) -> Any:
        check_shape(self, x)
        check_places(self, x, (math.prod(x.shape[1:-1]),), (1,) * (x.ndim - 2))
        return self._of_places(x)

    def _of_places(self, x: Any) -> Any:
        flat = np.reshape(x, (x.shape[0], math.prod(x.shape[1:-1]), x.shape[-1]))
        largest = np.take_along_axis(flat, np.argmax(flat, axis=1)[:, None], axis=1)
        return np.reshape(largest, (x.shape[0], *(1,) * (x.ndim - 2), x.shape[-1]))


class GlobalMeanPool(GlobalMaxPool):
    """The mean of each picture or sequence, for each feature (Flux: ``GlobalMeanPool``)."""

    def _of_places(self, x: Any) -> Any:
        return np.mean(x, axis=tuple(range(1, x.ndim - 1)), keepdims=True)


@layer_class(children=())
class Upsample(Layer):
    """Makes pictures larger, ``(N, H, W, features)`` as well as sequences (Flux: ``Upsample``).

    `mode` is ``"nearest"``, which repeats each element, or ``"bilinear"``, which interpolates along each axis between
    the centres of the outermost elements (PyTorch: ``align_corners=True``). Give either `scale`, a number or one for
    each axis, or `size`, the lengths of the result. For ``"nearest"`` the result is a multiple of the input; for
    ``"bilinear"`` a fraction is fine, and lengths are rounded down.
    """

    mode: str
    scale: Any
    size: tuple[int, ...] | None

    @explained()
    def __init__(self, mode: str = "nearest", *, scale: Any = None, size: Any = None):
        if not isinstance(mode, str) or mode not in ("nearest", "bilinear"):
            raise ValueError(f'Upsample\'s mode is "nearest" or "bilinear", got {in_words(mode)}')
        if (scale is None) == (size is None):
            raise ValueError("Upsample takes either scale=, such as 2, or size=, such as (28, 28)")
        self.mode, self.scale = mode, tuple(scale) if isinstance(scale, list) else scale
        self.size = None if size is None else each_axis("Upsample's size", size, len(size))

    @layer_call
    def __call__(self, x: Any) -> Any:
        given = self.size if self.scale is None else self.scale
        check_shape(self, x, len(given) if isinstance(given, tuple) else None)
        y = np.swapaxes(x, 0, -1)  # in memory, the observations come last; see windows.py
        for axis, length in enumerate(self._size_for(x.shape[1:-1]), 1):
            near = self.mode == "nearest"
            y = np.repeat(y, length // y.shape[axis], axis) if near else _interpolated(y, axis, length)
        return np.swapaxes(y, 0, -1)

    def _size_for(self, space: tuple[int, ...]) -> tuple[int, ...]:
        scale = self.scale if isinstance(self.scale, tuple) else (self.scale,) * len(space)
        size = self.size or tuple(math.floor(length * factor) for length, factor in zip(space, scale))
        if not all(space) or not all(size):
            raise ShapeError(KeyPath(), f"{self._name()} cannot make {size} of {space}")
        if self.mode == "nearest" and any(new % length for new, length in zip(size, space)):
            raise ShapeError(KeyPath(), f"{self._name()} makes multiples of its input's lengths {space}, not {size}")
        return size

    def _sizes(self) -> str:
        return f'"{self.mode}", ' + (f"scale={self.scale}" if self.size is None else f"size={self.size}")


def _interpolated(x: Any, axis: int, length: int) -> Any:
    """A product with a matrix that has, in each row, the shares of two neighbours."""
    before = x.shape[axis]
    step = (before - 1) / max(length - 1, 1)
    like, kind = plain(x), np.float64 if x.dtype == np.float64 else np.float32
    old, new = np.arange(before, dtype=kind, like=like), np.arange(length, dtype=kind, like=like)
    shares = np.maximum(1 - abs(new[:, None] * step - old), 0).astype(x.dtype)
    rows = np.reshape(x, (math.prod(x.shape[:axis]), before, math.prod(x.shape[axis + 1 :])))
    return np.reshape(shares @ rows, (*x.shape[:axis], length, *x.shape[axis + 1 :]))
