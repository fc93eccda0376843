"""`ArrayMethods`: the methods that array types of ours share. Each calls NumPy's function of its name."""

from __future__ import annotations

from typing import Any

import numpy as np


class ArrayMethods:
    """``x.sum()`` for ``np.sum(x)``, and so on, for an array type that speaks NumPy's dispatch protocols.

    Each method calls the NumPy function of the same name, which finds the array's owner.
    """

    __slots__ = ()

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise TypeError(f"a {type(self).__name__} does not turn into a NumPy array by itself")

    @property
    def T(self) -> Any:  # noqa: N802
        return np.transpose(self)

    def sum(self, axis: Any = None, keepdims: bool = False) -> Any:
        return np.sum(self, axis, **_only_if(keepdims=keepdims))

    def mean(self, axis: Any = None, keepdims: bool = False) -> Any:
        return np.mean(self, axis, **_only_if(keepdims=keepdims))

    def prod(self, axis: Any = None, keepdims: bool = False) -> Any:
        return np.prod(self, axis, **_only_if(keepdims=keepdims))

    def var(self, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
        return np.var(self, axis, **_only_if(ddof=ddof, keepdims=keepdims))

    def std(self, axis: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
        return np.std(self, axis, **_only_if(ddof=ddof, keepdims=keepdims))

    def max(self, axis: Any = None, keepdims: bool = False) -> Any:
        return np.max(self, axis, **_only_if(keepdims=keepdims))

    def min(self, axis: Any = None, keepdims: bool = False) -> Any:
        return np.min(self, axis, **_only_if(keepdims=keepdims))

    def cumsum(self, axis: int | None = None) -> Any:
        return np.cumsum(self, axis)

    def dot(self, other: Any) -> Any:
        return np.dot(self, other)

    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        return np.trace(self, offset, axis1, axis2)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
        return np.diagonal(self, offset, axis1, axis2)

    def reshape(self, *shape: Any, order: Any = "C") -> Any:
        return np.reshape(self, shape[0] if len(shape) == 1 else shape, order)

    def transpose(self, *axes: Any) -> Any:
        return np.transpose(self, (axes[0] if len(axes) == 1 else axes) or None)

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        return np.swapaxes(self, axis1, axis2)

    def ravel(self, order: Any = "C") -> Any:
        return np.ravel(self, order)

    def squeeze(self, axis: Any = None) -> Any:
        return np.squeeze(self, axis)

    def clip(self, min: Any = None, max: Any = None) -> Any:
        return np.clip(self, min, max)

    def take(self, indices: Any, axis: int | None = None) -> Any:
        return np.take(self, indices, axis)

    def repeat(self, repeats: Any, axis: int | None = None) -> Any:
        return np.repeat(self, repeats, axis)

    def round(self, decimals: int = 0) -> Any:
        return np.round(self, decimals)

    def conj(self) -> Any:
        return np.conjugate(self)

    def argmax(self, axis: int | None = None) -> Any:
        return np.argmax(self, axis)

    def argmin(self, axis: int | None = None) -> Any:
        return np.argmin(self, axis)

    def argsort(self, axis: int | None = -1) -> Any:
        return np.argsort(self, axis)

    def nonzero(self) -> Any:
        return np.nonzero(self)

    def any(self, axis: Any = None) -> Any:
        return np.any(self, axis)

    def all(self, axis: Any = None) -> Any:
        return np.all(self, axis)


def _only_if(**keywords: Any) -> dict[str, Any]:
    """The keywords that ask for something."""
    return {name: value for name, value in keywords.items() if value}
