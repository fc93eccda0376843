"""`Upsample`: larger pictures and sequences, without weights."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import explained, in_words
from ..autodiff.tracked import plain
from ..errors import ShapeError
from ..tree.contract import functor
from ..tree.walks import KeyPath
from .layer import Layer, layer_call
from .spatial import check_shape, each_axis


@functor(children=())
@dataclass(eq=False, repr=False, init=False)
class Upsample(Layer):
    """Makes pictures larger, ``(N, H, W, features)`` as well as sequences (Flux: ``Upsample``).

    `mode` is ``"nearest"``, which repeats each element, or ``"bilinear"``, which interpolates along each axis between
    the centres of the outermost elements (PyTorch: ``align_corners=True``). Give either `scale`, a number or one for
    each axis, or `size`, the lengths of the result. For ``"nearest"`` the result is a multiple of the input; for
    ``"bilinear"`` a fraction is fine, and lengths are rounded down.

    >>> Upsample("nearest", scale=2)(np.ones((10, 4, 5, 3))).shape
    (10, 8, 10, 3)
    >>> Upsample("bilinear", size=(5,))(np.array([0.0, 2.0, 4.0]).reshape(1, 3, 1)).ravel()
    array([0., 1., 2., 3., 4.])
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
        enlarged = _repeated if self.mode == "nearest" else _interpolated
        y = np.swapaxes(x, 0, -1)  # in memory, the observations come last; see windows.py
        for axis, length in enumerate(self._size_for(x.shape[1:-1]), 1):
            y = enlarged(y, axis, length)
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


def _repeated(x: Any, axis: int, length: int) -> Any:
    return np.repeat(x, length // x.shape[axis], axis)


def _interpolated(x: Any, axis: int, length: int) -> Any:
    """A product with a matrix that has, in each row, the shares of two neighbours."""
    before = x.shape[axis]
    step = (before - 1) / max(length - 1, 1)
    like, kind = plain(x), np.float64 if x.dtype == np.float64 else np.float32
    old, new = np.arange(before, dtype=kind, like=like), np.arange(length, dtype=kind, like=like)
    shares = np.maximum(1 - abs(new[:, None] * step - old), 0).astype(x.dtype)
    rows = np.reshape(x, (math.prod(x.shape[:axis]), before, math.prod(x.shape[axis + 1 :])))
    return np.reshape(shares @ rows, (*x.shape[:axis], length, *x.shape[axis + 1 :]))
