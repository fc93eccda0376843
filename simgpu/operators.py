"""A simulated array's operators. Each calls the NumPy function with the same meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .dispatch import binary, call_ufunc, in_place, reflected
from .memory import Stored


def _on_the_left(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    return lambda x, y: binary(ufunc, x, y)


def _on_the_right(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    return lambda x, y: reflected(ufunc, x, y)


def _in_place(ufunc: np.ufunc) -> Callable[[Any, Any], Any]:
    return lambda x, y: in_place(ufunc, x, y)


def _three(ufunc: np.ufunc) -> tuple[Callable[[Any, Any], Any], ...]:
    """The operators ``x + y``, ``y + x`` and ``x += y``."""
    return _on_the_left(ufunc), _on_the_right(ufunc), _in_place(ufunc)


def _alone(ufunc: np.ufunc) -> Callable[[Any], Any]:
    return lambda x: call_ufunc(ufunc, (x,))


class Operators(Stored):
    """``x + y``, ``y + x``, ``x += y``, ``x < y``, ``-x`` for simulated arrays."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    __add__, __radd__, __iadd__ = _three(np.add)
    __sub__, __rsub__, __isub__ = _three(np.subtract)
    __mul__, __rmul__, __imul__ = _three(np.multiply)
    __truediv__, __rtruediv__, __itruediv__ = _three(np.divide)
    __floordiv__, __rfloordiv__, __ifloordiv__ = _three(np.floor_divide)
    __mod__, __rmod__, __imod__ = _three(np.remainder)
    __and__, __rand__, __iand__ = _three(np.bitwise_and)
    __or__, __ror__, __ior__ = _three(np.bitwise_or)
    __xor__, __rxor__, __ixor__ = _three(np.bitwise_xor)
    __lshift__, __rlshift__, __ilshift__ = _three(np.left_shift)
    __rshift__, __rrshift__, __irshift__ = _three(np.right_shift)
    __divmod__, __rdivmod__ = _on_the_left(np.divmod), _on_the_right(np.divmod)
    __matmul__, __rmatmul__ = _on_the_left(np.matmul), _on_the_right(np.matmul)
    __rpow__ = _on_the_right(np.power)

    def __pow__(self, other: Any) -> Any:
        # NumPy's own ** does this too: squaring is far cheaper than a power.
        return call_ufunc(np.square, (self,)) if type(other) is int and other == 2 else binary(np.power, self, other)

    def __ipow__(self, other: Any) -> Any:
        return call_ufunc(np.power, (self, other), {"out": (self,)})

    __lt__ = _on_the_left(np.less)
    __le__ = _on_the_left(np.less_equal)
    __gt__ = _on_the_left(np.greater)
    __ge__ = _on_the_left(np.greater_equal)
    __neg__ = _alone(np.negative)
    __pos__ = _alone(np.positive)
    __abs__ = _alone(np.absolute)
    __invert__ = _alone(np.invert)

    # An object without its own equality never equals a number: `x == None` is False everywhere, as on a GPU.

    def __eq__(self, other: Any) -> Any:
        if other is None or type(other).__eq__ is object.__eq__:  # type: ignore[comparison-overlap]
            return np.zeros_like(self, dtype=bool)
        return binary(np.equal, self, other)

    def __ne__(self, other: Any) -> Any:
        if other is None or type(other).__eq__ is object.__eq__:  # type: ignore[comparison-overlap]
            return np.ones_like(self, dtype=bool)
        return binary(np.not_equal, self, other)
