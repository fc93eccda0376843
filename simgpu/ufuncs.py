"""CuPy's functions that work element by element (`cupy.ufunc`): NumPy's, with CuPy's rules for what they take."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .device import current, on_device
from .dispatch import call_ufunc
from .indexing import scatter, write
from .memory import LACKING_DTYPES, Stored
from .rules import SCALARS, refusal


def _method(name: str) -> Callable:
    def method(self: Any, array: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._numpys, name)(on_device(self._numpys, array), *args, **kwargs)

    return method


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
        if not kwargs and len(args) == self.nin:
            return call_ufunc(self._numpys, self._with_an_array(args))
        out = kwargs.pop("out", ()) if len(args) <= self.nin else args[self.nin :]
        outs = tuple(x for x in (out if isinstance(out, tuple) else (out,)) if x is not None)
        args = self._with_an_array(args[: self.nin], outs)
        if self.nout == 1:
            return self._numpys(*args, **kwargs, **({"out": outs} if outs else {}))
        if len(outs) == 1:
            raise ValueError(f"{self.name} writes to {self.nout} arrays: out= takes a tuple of them")
        made = self._numpys(*args, **kwargs)
        for x, result in zip(outs, made):
            write(x.device, x._values, ..., result._values)
        return outs or made

    def _with_an_array(self, args: tuple, outs: tuple = ()) -> tuple:
        """If all are numbers, one becomes an array. By NumPy's rules, it matters for the result's type which one."""
        if any([isinstance(x, Stored) for x in args + outs]):
            return args
        device = current()
        if wrong := [x for x in args if not isinstance(x, SCALARS)]:
            raise refusal(self._numpys, wrong[0], device)
        i = next((i for i, x in enumerate(args) if isinstance(x, np.generic)), 0)
        return tuple(device.new(np.asarray(x)) if at == i else x for at, x in enumerate(args))

    def at(self, a: Any, indices: Any, *b: Any) -> None:
        """``a[indices] = function(a[indices], b)``. A place that's in `indices` several times counts each time."""
        scatter(self._numpys, a, indices, *b)

    # NumPy brings these to `dispatch.array_ufunc`.
    reduce, accumulate, reduceat = map(_method, ("reduce", "accumulate", "reduceat"))
    outer = property(lambda self: self._numpys.outer)
