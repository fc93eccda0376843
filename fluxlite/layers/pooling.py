"""Pooling: the largest, or the mean, of each window of a picture or a sequence."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import explained
from ..autodiff.derivatives.windows import Windows, max_along, padded, sum_along
from ..errors import ShapeError
from ..tree.contract import functor
from ..tree.walks import KeyPath
from .layer import Layer, layer_call
from .spatial import Pads, SamePad, check_places, check_shape, each_axis, option, pads_of, window_size

# Pooling along one axis after the other gives the same as the windows as a whole, with fewer steps. The last axis comes
# first: so the first of equal maxima is the first one of the window, read row by row.


def _largest(x: Any, at: Windows) -> Any:
    if any(map(any, at.pad)):
        x = padded(x, at.pad, np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf)
    for axis in reversed(range(len(at.kernel))):
        x = max_along(x, axis + 1, at.kernel[axis], at.stride[axis])
    return x


def _mean(x: Any, at: Windows) -> Any:
    if any(map(any, at.pad)):
        x = padded(x, at.pad, 0)
    for axis in reversed(range(len(at.kernel))):
        x = sum_along(x, axis + 1, at.kernel[axis], at.stride[axis])
    return x / math.prod(at.kernel)


@functor(children=())
@dataclass(eq=False, repr=False, init=False)
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


@functor(children=())
@dataclass(eq=False, repr=False, init=False)
class AdaptiveMaxPool(Layer):
    """Pooling to the size `out`, with windows that suit the input (Flux: ``AdaptiveMaxPool``).

    The stride is the input's size divided by `out`, rounded down, and the last window ends where the input does. (In
    PyTorch windows are of different sizes, if the input isn't a multiple of `out`.)

    >>> AdaptiveMaxPool((2, 2))(np.ones((10, 9, 7, 3))).shape
    (10, 2, 2, 3)
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


@functor(children=())
@dataclass(eq=False, repr=False, init=False)
class GlobalMaxPool(Layer):
    """The largest element of each picture or sequence, for each feature (Flux: ``GlobalMaxPool``).

    Takes ``(N, H, W, features)`` and gives ``(N, 1, 1, features)``; with any number of axes in between. The first of
    equal elements gets the gradient.

    >>> GlobalMaxPool()(np.arange(12.0).reshape(1, 2, 3, 2)).ravel()
    array([10., 11.])
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
