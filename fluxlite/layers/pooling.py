"""Pooling: the largest, or the mean, of each window of a picture or a sequence."""

from __future__ import annotations

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


class _Pool(Layer):
    """What the layers below have in common: they look at the input's shape, then pool along one axis after the other.

    That gives the same as the windows as a whole, with fewer steps. The last axis comes first: so the first of equal
    maxima is the first one of the window, read row by row.
    """

    _pool: Callable[[Any, Windows], Any]  # what a class makes of its windows: `_largest` or `_mean`
    _at: Callable[[tuple[int, ...]], Windows]  # the windows in a space of this size
    _size: Callable[[], tuple[int, ...]]  # what the layer was given first

    @layer_call
    def __call__(self, x: Any) -> Any:
        check_shape(self, x, len(self._size()))
        at = self._at(x.shape[1:-1])
        check_places(self, x, at.places(x.shape[1:-1]), at.kernel)
        return self._pool(x, at)

    def _sizes(self) -> str:
        return str(self._size())


def _largest(x: Any, at: Windows) -> Any:
    if any(map(any, at.pad)):
        lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
        x = padded(x, at.pad, lowest)
    for axis in reversed(range(len(at.kernel))):
        x = max_along(x, axis + 1, at.kernel[axis], at.stride[axis])
    return x


def _mean(x: Any, at: Windows) -> Any:
    if any(map(any, at.pad)):
        x = padded(x, at.pad, 0)
    count = 1
    for axis in reversed(range(len(at.kernel))):
        x = sum_along(x, axis + 1, at.kernel[axis], at.stride[axis])
        count *= at.kernel[axis]
    return x / count


@functor(children=())
@dataclass(eq=False, repr=False, init=False)
class MaxPool(_Pool):
    """The largest element of each window, for each feature (Flux: ``MaxPool``).

    ``MaxPool((2, 2))`` takes pictures, ``(N, H, W, features)``; ``MaxPool((2,))`` sequences. `stride` is the window's
    size if it isn't given, so that windows don't overlap; `pad` is as in `Conv`, and is never the largest. If several
    elements are equal, the first in the window gets the gradient.

    Raises `ValueError` for an input with other axes, or too small for one window.

    >>> pool = MaxPool((2, 2))
    >>> pool
    MaxPool((2, 2))
    >>> pool(np.arange(16.0).reshape(1, 4, 4, 1))[0, :, :, 0]
    array([[ 5.,  7.],
           [13., 15.]])
    """

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    pad: Pads

    _pool = staticmethod(_largest)

    @explained()
    def __init__(self, kernel: tuple[int, ...], *, stride: Any = None, pad: int | tuple[int, ...] | SamePad = 0):
        name = type(self).__name__
        self.kernel = window_size(f"{name}(kernel)", kernel)
        self.stride = self.kernel if stride is None else each_axis(f"{name}'s stride", stride, len(self.kernel))
        self.pad = pads_of(f"{name}'s pad", pad, self.kernel)
        if any(size >= width for sizes, width in zip(self.pad, self.kernel) for size in sizes):
            raise ValueError(f"{name}'s pad is smaller than its window {self.kernel}, got {pad}")

    def _size(self) -> tuple[int, ...]:
        return self.kernel

    def _at(self, space: tuple[int, ...]) -> Windows:
        return Windows(self.kernel, self.stride, self.pad, (1,) * len(self.kernel))

    def _options(self) -> str:
        return option("pad", self.pad, 0) + option("stride", self.stride, self.kernel)


@functor(children=())
@dataclass(eq=False, repr=False, init=False)
class MeanPool(MaxPool):
    """The mean of each window, for each feature (Flux: ``MeanPool``); padding counts, as zeros.

    All else is as in `MaxPool`.

    >>> MeanPool((2,), stride=1)(np.array([1.0, 3.0, 7.0]).reshape(1, 3, 1)).ravel()
    array([2., 5.])
    """

    _pool = staticmethod(_mean)


@functor(children=())
@dataclass(eq=False, repr=False, init=False)
class AdaptiveMaxPool(_Pool):
    """Pooling to the size `out`, with windows that suit the input (Flux: ``AdaptiveMaxPool``).

    The stride is the input's size divided by `out`, rounded down, and the last window ends where the input does. (In
    PyTorch windows are of different sizes, if the input isn't a multiple of `out`.)

    Raises `ValueError` for an input with other axes, or smaller than `out`.

    >>> pool = AdaptiveMaxPool((2, 2))
    >>> pool
    AdaptiveMaxPool((2, 2))
    >>> pool(np.ones((10, 9, 7, 3))).shape
    (10, 2, 2, 3)
    """

    out: tuple[int, ...]

    _pool = staticmethod(_largest)

    @explained()
    def __init__(self, out: tuple[int, ...]):
        self.out = window_size(f"{type(self).__name__}(out)", out)

    def _size(self) -> tuple[int, ...]:
        return self.out

    def _at(self, space: tuple[int, ...]) -> Windows:
        if any(length < out for length, out in zip(space, self.out)):
            raise ShapeError(KeyPath(), f"{self._name()} can't make {self.out} of {space}, which is smaller")
        stride = tuple(length // out for length, out in zip(space, self.out))
        kernel = tuple(length - (out - 1) * step for length, out, step in zip(space, self.out, stride))
        return Windows(kernel, stride, ((0, 0),) * len(space), (1,) * len(space))


@functor(children=())
@dataclass(eq=False, repr=False, init=False)
class AdaptiveMeanPool(AdaptiveMaxPool):
    """`AdaptiveMaxPool` with the mean of each window (Flux: ``AdaptiveMeanPool``).

    >>> AdaptiveMeanPool((2,))(np.arange(6.0).reshape(1, 6, 1)).ravel()
    array([1., 4.])
    """

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
        flat = _flat(self, x)
        largest = np.take_along_axis(flat, np.argmax(flat, axis=1)[:, None], axis=1)
        return np.reshape(largest, (x.shape[0], *(1,) * (x.ndim - 2), x.shape[-1]))


@functor(children=())
@dataclass(eq=False, repr=False, init=False)
class GlobalMeanPool(GlobalMaxPool):
    """The mean of each picture or sequence, for each feature (Flux: ``GlobalMeanPool``).

    Takes ``(N, H, W, features)`` and gives ``(N, 1, 1, features)``; with any number of axes in between.

    >>> GlobalMeanPool()(np.arange(12.0).reshape(1, 2, 3, 2)).ravel()
    array([5., 6.])
    """

    @layer_call
    def __call__(self, x: Any) -> Any:
        _flat(self, x)
        return np.mean(x, axis=tuple(range(1, x.ndim - 1)), keepdims=True)


def _flat(layer: Any, x: Any) -> Any:
    """``(N, places, features)``. Raises what `check_shape` raises, and `ShapeError` for pictures without places."""
    check_shape(layer, x)
    places = math.prod(x.shape[1:-1])
    check_places(layer, x, (places,), (1,) * (x.ndim - 2))
    return np.reshape(x, (x.shape[0], places, x.shape[-1]))
