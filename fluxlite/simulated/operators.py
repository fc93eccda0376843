"""A simulated array's operators. Each calls the NumPy function with the same meaning."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dispatch import binary, call_ufunc, in_place, reflected
from .memory import Stored


class Operators(Stored):
    """``x + y``, ``y + x``, ``x += y``, ``x < y``, ``-x`` for simulated arrays."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Any) -> Any:
        return binary(np.add, self, other)

    def __sub__(self, other: Any) -> Any:
        return binary(np.subtract, self, other)

    def __mul__(self, other: Any) -> Any:
        return binary(np.multiply, self, other)

    def __truediv__(self, other: Any) -> Any:
        return binary(np.divide, self, other)

    def __floordiv__(self, other: Any) -> Any:
        return binary(np.floor_divide, self, other)

    def __mod__(self, other: Any) -> Any:
        return binary(np.remainder, self, other)

    def __pow__(self, other: Any) -> Any:
        # NumPy's own ** does this too: squaring is far cheaper than a power.
        return call_ufunc(np.square, (self,)) if type(other) is int and other == 2 else binary(np.power, self, other)

    def __matmul__(self, other: Any) -> Any:
        return binary(np.matmul, self, other)

    def __and__(self, other: Any) -> Any:
        return binary(np.bitwise_and, self, other)

    def __or__(self, other: Any) -> Any:
        return binary(np.bitwise_or, self, other)

    def __xor__(self, other: Any) -> Any:
        return binary(np.bitwise_xor, self, other)

    def __lshift__(self, other: Any) -> Any:
        return binary(np.left_shift, self, other)

    def __rshift__(self, other: Any) -> Any:
        return binary(np.right_shift, self, other)

    def __divmod__(self, other: Any) -> Any:
        return binary(np.divmod, self, other)

    def __radd__(self, other: Any) -> Any:
        return reflected(np.add, self, other)

    def __rsub__(self, other: Any) -> Any:
        return reflected(np.subtract, self, other)

    def __rmul__(self, other: Any) -> Any:
        return reflected(np.multiply, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return reflected(np.divide, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return reflected(np.floor_divide, self, other)

    def __rmod__(self, other: Any) -> Any:
        return reflected(np.remainder, self, other)

    def __rpow__(self, other: Any) -> Any:
        return reflected(np.power, self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return reflected(np.matmul, self, other)

    def __rand__(self, other: Any) -> Any:
        return reflected(np.bitwise_and, self, other)

    def __ror__(self, other: Any) -> Any:
        return reflected(np.bitwise_or, self, other)

    def __rxor__(self, other: Any) -> Any:
        return reflected(np.bitwise_xor, self, other)

    def __rlshift__(self, other: Any) -> Any:
        return reflected(np.left_shift, self, other)

    def __rrshift__(self, other: Any) -> Any:
        return reflected(np.right_shift, self, other)

    def __rdivmod__(self, other: Any) -> Any:
        return reflected(np.divmod, self, other)

    def __iadd__(self, other: Any) -> Any:
        return in_place(np.add, self, other)

    def __isub__(self, other: Any) -> Any:
        return in_place(np.subtract, self, other)

    def __imul__(self, other: Any) -> Any:
        return in_place(np.multiply, self, other)

    def __itruediv__(self, other: Any) -> Any:
        return in_place(np.divide, self, other)

    def __ifloordiv__(self, other: Any) -> Any:
        return in_place(np.floor_divide, self, other)

    def __imod__(self, other: Any) -> Any:
        return in_place(np.remainder, self, other)

    def __ipow__(self, other: Any) -> Any:
        return call_ufunc(np.power, (self, other), {"out": (self,)})

    def __iand__(self, other: Any) -> Any:
        return in_place(np.bitwise_and, self, other)

    def __ior__(self, other: Any) -> Any:
        return in_place(np.bitwise_or, self, other)

    def __ixor__(self, other: Any) -> Any:
        return in_place(np.bitwise_xor, self, other)

    def __ilshift__(self, other: Any) -> Any:
        return in_place(np.left_shift, self, other)

    def __irshift__(self, other: Any) -> Any:
        return in_place(np.right_shift, self, other)

    def __lt__(self, other: Any) -> Any:
        return binary(np.less, self, other)

    def __le__(self, other: Any) -> Any:
        return binary(np.less_equal, self, other)

    def __gt__(self, other: Any) -> Any:
        return binary(np.greater, self, other)

    def __ge__(self, other: Any) -> Any:
        return binary(np.greater_equal, self, other)

    def __neg__(self) -> Any:
        return call_ufunc(np.negative, (self,))

    def __pos__(self) -> Any:
        return call_ufunc(np.positive, (self,))

    def __abs__(self) -> Any:
        return call_ufunc(np.absolute, (self,))

    def __invert__(self) -> Any:
        return call_ufunc(np.invert, (self,))

    # An object without its own equality never equals a number: `x == None` is False everywhere, as on a GPU.

    def __eq__(self, other: Any) -> Any:
        if other is None or type(other).__eq__ is object.__eq__:  # type: ignore[comparison-overlap]
            return np.zeros_like(self, dtype=bool)
        return binary(np.equal, self, other)

    def __ne__(self, other: Any) -> Any:
        if other is None or type(other).__eq__ is object.__eq__:  # type: ignore[comparison-overlap]
            return np.ones_like(self, dtype=bool)
        return binary(np.not_equal, self, other)
