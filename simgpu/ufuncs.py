"""CuPy's functions that work element by element (`cupy.ufunc`): NumPy's, with CuPy's rules about what they take."""

from typing import Any

import numpy as np

from .device import current
from .dispatch import array_ufunc, call_ufunc
from .indexing import scatter, write
from .memory import LACKING_DTYPES, Stored, check_dtype
from .rules import SCALARS, refusal


class ufunc:  # noqa: N801  (CuPy's name)
    """A function that works element by element, on arrays of a GPU and numbers. It takes no lists and no host arrays.

    >>> import simgpu as cp
    >>> cp.add(cp.arange(3), 1)
    array([1, 2, 3])  # Simulated:0
    >>> cp.sin([0.0, 1.0])
    Traceback (most recent call last):
    TypeError: sin: unsupported type list beside an array on Simulated:0; it takes arrays of that device and ...
    """

    def __init__(self, numpys: np.ufunc) -> None:
        self._numpys = numpys
        self.name = self.__name__ = numpys.__name__
        self.nin, self.nout, self.nargs = numpys.nin, numpys.nout, numpys.nargs
        self.types = [kinds for kinds in numpys.types if LACKING_DTYPES.isdisjoint(kinds)]
        self.__doc__ = f"`cupy.{self.name}`: NumPy's `{self.name}`, for arrays on a GPU and numbers."

    def __repr__(self) -> str:
        return f"<ufunc 'simgpu.{self.name}'>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) != self.nin:
            return self._with_keywords(args, kwargs)
        for x in args:
            if isinstance(x, Stored):
                return call_ufunc(self._numpys, args)
        return call_ufunc(self._numpys, self._one_as_array(args))

    def _with_keywords(self, args: tuple, kwargs: dict) -> Any:
        if self.nin < len(args) <= self.nargs:
            if "out" in kwargs:
                raise ValueError(f"{self.name}: out is given by position and by name")
            args, kwargs = args[: self.nin], {**kwargs, "out": args[self.nin :]}
        if len(args) != self.nin:
            raise TypeError(f"{self.name} takes {self.nin} arguments and out, got {len(args)}")
        out = kwargs.pop("out", None)
        outs = tuple(x for x in (out if isinstance(out, tuple) else (out,)) if x is not None)
        if not any(isinstance(x, Stored) for x in args + outs):
            check_dtype(kwargs.get("dtype"))
            args = self._one_as_array(args)
        if len(outs) == 1 < self.nout:
            raise ValueError(f"{self.name} writes to {self.nout} arrays: out= takes a tuple of them")
        if len(outs) <= 1:
            result = array_ufunc(None, self._numpys, "__call__", *args, **kwargs, **({"out": outs} if outs else {}))
            if result is NotImplemented:
                raise TypeError(f"{self.name}: unsupported types {', '.join(type(x).__name__ for x in args)}")
            return result
        made = array_ufunc(None, self._numpys, "__call__", *args, **kwargs)
        for x, result in zip(outs, made):
            write(x.device, x._values, ..., result._values)
        return outs

    def _one_as_array(self, args: tuple) -> tuple:
        """Of numbers alone, one becomes an array. Which one decides about the result's type, by NumPy's rules."""
        device = current()
        for x in args:
            if not isinstance(x, SCALARS):
                raise refusal(self._numpys, x, device)
        i = next((i for i, x in enumerate(args) if isinstance(x, np.generic)), 0)
        return (*args[:i], device.new(np.asarray(args[i])), *args[i + 1 :])

    def at(self, a: Any, indices: Any, *b: Any) -> None:
        """``a[indices] = function(a[indices], b)``, where places may be named several times: they all count."""
        scatter(self._numpys, a, indices, *b)

    # NumPy brings these to `dispatch.array_ufunc`.

    def reduce(self, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        return self._numpys.reduce(self._array(array), axis, dtype, out, keepdims)  # type: ignore[call-arg]

    def accumulate(self, array: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        return self._numpys.accumulate(self._array(array), axis, dtype, out)

    def reduceat(self, array: Any, indices: Any, axis: int = 0, dtype: Any = None, out: Any = None) -> Any:
        return self._numpys.reduceat(self._array(array), indices, axis, dtype, out)

    def outer(self, A: Any, B: Any, **kwargs: Any) -> Any:
        return self._numpys.outer(A, B, **kwargs)

    def _array(self, x: Any) -> Any:
        if not isinstance(x, Stored):
            raise refusal(self._numpys, x, current())
        return x
