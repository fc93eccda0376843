"""`ArrayMethods`: the methods that array types of ours share. Each calls NumPy's function of its name."""
# ruff: noqa: E731  (the methods are a table, a line for each)

from types import FunctionType
from typing import Any

import numpy as np


def _given(**keywords: Any) -> dict[str, Any]:
    """The keywords that ask for something: a rule needn't know the others."""
    return {name: value for name, value in keywords.items() if value}


class ArrayMethods:
    """``x.sum()`` for ``np.sum(x)``, and so on, for an array type that speaks NumPy's dispatch protocols."""

    __slots__ = ()

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise TypeError(f"a {type(self).__name__} does not turn into a NumPy array by itself")

    T = property(lambda self: np.transpose(self))

    sum = lambda self, axis=None, keepdims=False: np.sum(self, axis, **_given(keepdims=keepdims))
    mean = lambda self, axis=None, keepdims=False: np.mean(self, axis, **_given(keepdims=keepdims))
    prod = lambda self, axis=None, keepdims=False: np.prod(self, axis, **_given(keepdims=keepdims))
    max = lambda self, axis=None, keepdims=False: np.max(self, axis, **_given(keepdims=keepdims))
    min = lambda self, axis=None, keepdims=False: np.min(self, axis, **_given(keepdims=keepdims))
    var = lambda self, axis=None, ddof=0, keepdims=False: np.var(self, axis, **_given(ddof=ddof, keepdims=keepdims))
    std = lambda self, axis=None, ddof=0, keepdims=False: np.std(self, axis, **_given(ddof=ddof, keepdims=keepdims))
    any = lambda self, axis=None: np.any(self, axis)
    all = lambda self, axis=None: np.all(self, axis)
    argmax = lambda self, axis=None: np.argmax(self, axis)
    argmin = lambda self, axis=None: np.argmin(self, axis)
    argsort = lambda self, axis=-1: np.argsort(self, axis)
    cumsum = lambda self, axis=None: np.cumsum(self, axis)
    nonzero = lambda self: np.nonzero(self)

    reshape = lambda self, *shape, order="C": np.reshape(self, shape[0] if len(shape) == 1 else shape, order)
    transpose = lambda self, *axes: np.transpose(self, (axes[0] if len(axes) == 1 else axes) or None)
    swapaxes = lambda self, axis1, axis2: np.swapaxes(self, axis1, axis2)
    ravel = lambda self, order="C": np.ravel(self, order)
    squeeze = lambda self, axis=None: np.squeeze(self, axis)
    take = lambda self, indices, axis=None: np.take(self, indices, axis)
    repeat = lambda self, repeats, axis=None: np.repeat(self, repeats, axis)

    clip = lambda self, min=None, max=None: np.clip(self, min, max)
    round = lambda self, decimals=0: np.round(self, decimals)
    conj = lambda self: np.conjugate(self)
    dot = lambda self, other: np.dot(self, other)
    trace = lambda self, offset=0, axis1=0, axis2=1: np.trace(self, offset, axis1, axis2)
    diagonal = lambda self, offset=0, axis1=0, axis2=1: np.diagonal(self, offset, axis1, axis2)


for _name, _method in vars(ArrayMethods).items():
    if type(_method) is FunctionType:
        _method.__name__ = _name  # an error that Python raises says which one it was
        _method.__qualname__ = f"ArrayMethods.{_name}"
