"""`Traced` stands in for an argument of a fused function, so that we see what the function does with it."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

NUMBERS = (bool, int, float, complex)
# What works on each element by itself, and isn't a ufunc of NumPy's; CuPy's functions of these names are.
FUNCTIONS = frozenset((np.where, np.clip, np.copy, np.sinc, np.i0))
# These CuPy lacks.
LACKING = frozenset(("isnat", "spacing", "bitwise_count"))
_SUMS = "Fuse what comes before it and what comes after it, and call it between the two"
_MADE = "Write a number, such as 0: it's stretched to the arrays beside it"


class CannotFuse(TypeError):
    """What a fused function can't do, because its elements have to be computed one by one, each from its own."""


class Trace:
    """One run of a function with stand-ins: which calls it made. A device says how they're computed."""

    def __init__(self, fused: Any, shape: tuple[int, ...]) -> None:
        self.fused, self.shape = fused, shape
        self.calls: list[str] = []
        self.in_rules = False  # derivative rules may ask for more than a fused function: for shapes, and zeros

    def compute(self, function: Callable, *values: Any, **keywords: Any) -> Any:
        """NumPy's result for these values."""
        return function(*values, **keywords)

    def emit(self, function: Any, inputs: list, out: Any) -> Any:
        """Note the call where the device's own library notes it too. Gives what stands for its result there."""

    def emit_astype(self, x: Any, dtype: np.dtype) -> Any:
        """The same for ``x.astype(dtype)``."""

    @contextmanager
    def rules(self) -> Any:
        """``with trace.rules():`` around derivative rules."""
        before, self.in_rules = self.in_rules, True
        try:
            yield
        finally:
            self.in_rules = before

    def argument(self, x: Any, values: Any, real: Any = None) -> Traced:
        """The stand-in of the argument `x`. As on a GPU, all arrays are as large as what they make together."""
        if not isinstance(values, NUMBERS):
            values = np.broadcast_to(values, self.shape)
        return Traced(self, values, real, x)

    def call(self, function: Any, inputs: Any, out: Any = None) -> Any:
        """The result of ``function(*inputs)``, one stand-in or several."""
        name = function.__name__
        if name in LACKING:
            raise self.refusal(f"np.{name}", "CuPy has no such function")
        values = [self._value(name, x) for x in inputs]
        target = None if out is None else out.to_write()
        real = self.emit(function, list(inputs), out)
        self.calls.append(name)
        if target is not None:
            self.compute(function, *values, out=(target,))
            return out
        result = self.compute(function, *values)
        if isinstance(result, tuple):
            return tuple([Traced(self, np.asarray(x), y) for x, y in zip(result, real or result)])
        is_number = all(isinstance(x, NUMBERS) for x in values)  # of Python's, which leave an array's type as it is
        return Traced(self, result.item() if is_number else np.asarray(result), real)

    def _value(self, name: str, x: Any) -> Any:
        if isinstance(x, Traced):
            if x.trace is not self:
                raise self.refusal(f"{name} of what another call was given", "Make it an argument of this function")
            return x.values
        if isinstance(x, (*NUMBERS, np.generic)):
            return x
        if hasattr(x, "shape"):
            what = f"np.{name} with an array of shape {tuple(x.shape)} from outside"
            raise self.refusal(what, "Make it an argument of the function")
        raise self.refusal(f"np.{name} with {type(x).__name__}", "It takes arguments of the function, and numbers")

    def outputs(self, result: Any) -> tuple[list[Traced], list[int]]:
        """What the function gave: each array once, and which of these stands at each place."""
        given = () if result is None else result if isinstance(result, tuple) else (result,)
        found: list[Traced] = []
        for x in given:
            if not isinstance(x, Traced) or isinstance(x.values, NUMBERS):
                got = "a number" if isinstance(x, (Traced, *NUMBERS)) else f"a {type(x).__name__}"
                raise self.refusal(f"{got} as its result", "Return an array, several in a tuple, or nothing")
            if not any(x is other for other in found):
                found.append(x)
        return found, [next(i for i, other in enumerate(found) if other is x) for x in given]

    def refusal(self, what: str, instead: str) -> CannotFuse:
        """The error for what can't be fused, with the line that asks for it."""
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code is not self.fused.code:
            frame = frame.f_back
        line = ""
        if frame is not None:
            text = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
            line = f", line {frame.f_lineno}{text and f', `{text}`'}"
        return CannotFuse(
            f"fuse, {self.fused.name}{line}: {what} can't be part of one launch, in which each element is computed "
            f"from those in its place. {instead}."
        )


class Traced(NDArrayOperatorsMixin):
    """Stands in for an array or a number in a fused function, and for what's computed from them."""

    __slots__ = ("trace", "values", "real", "given", "is_written")

    def __init__(self, trace: Trace, values: Any, real: Any = None, given: Any = None) -> None:
        self.trace, self.values, self.real = trace, values, real
        self.given = given  # the argument that this stands for
        self.is_written = False

    def to_write(self) -> np.ndarray:
        """The values, in memory that can be written to: an argument's own changes only when all has gone well."""
        if isinstance(self.values, NUMBERS):
            raise self.trace.refusal("writing into a number", "Write y = x + y")
        if self.given is not None and not self.is_written:
            if self.given.shape != self.trace.shape:
                raise self.trace.refusal("writing to an argument that's too small", "Write y = x + y, and return y")
            self.values = self.trace.compute(np.ndarray.copy, self.values)
        self.is_written = True
        return self.values

    # -- what can be done with it -----------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **keywords: Any) -> Any:
        if any(_knows_more(x) for x in inputs):
            return NotImplemented
        name = ufunc.__name__
        if method != "__call__":
            raise self.trace.refusal(f"np.{name}.{method}", _SUMS)
        if ufunc.signature is not None:
            raise self.trace.refusal(f"a product of matrices, np.{name},", _SUMS)
        if keywords:
            raise self.trace.refusal(f"np.{name} with {', '.join(keywords)}=", "Leave it out; x.astype changes a type")
        if out is None:
            return self.trace.call(ufunc, inputs)
        if len(out) > 1 or not isinstance(out[0], Traced):
            raise self.trace.refusal(f"np.{name} with out= of this kind", "Give it one array, an argument")
        if isinstance(out[0].values, NUMBERS):  # a += 1 on a number makes a new one
            return self.trace.call(ufunc, inputs)
        return self.trace.call(ufunc, inputs, out[0])

    def __cupy_override_elementwise_kernel__(self, function: Any, *inputs: Any, out: Any = None) -> Any:
        """``cupy.tanh(x)`` means ``np.tanh(x)`` here."""
        name = function.name.removeprefix("cupy_")
        same = getattr(np, name, None)
        if not isinstance(same, np.ufunc):
            raise self.trace.refusal(f"cupy's {function.name}", "Write NumPy's name, np.…")
        return same(*inputs) if out is None else same(*inputs, out=out)

    def __array_function__(self, function: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        if any(_knows_more(x) for x in (*args, *kwargs.values())):
            return NotImplemented
        name = function.__name__
        if self.trace.in_rules and function in (np.zeros_like, np.ones_like):
            return ((self != self) * 0 + (name == "ones_like")).astype(kwargs.get("dtype", args[0].dtype))
        if function is np.clip:
            return self._clip(*args, **kwargs)
        if function in FUNCTIONS and not kwargs and (function is not np.where or len(args) == 3):
            return self.trace.call(function, args)
        instead = _MADE if name.endswith("_like") else "There, write np.where(condition, x, y)"
        what = f"np.{name}{'' if function not in FUNCTIONS else ' of this kind'}"
        if function in (np.sum, np.mean, np.max, np.min, np.prod, np.any, np.all, np.dot, np.var, np.std):
            instead = _SUMS
        elif name != "where" and not name.endswith("_like"):
            instead = "It takes what works element by element: ufuncs such as np.tanh, np.where, np.clip"
        raise self.trace.refusal(what, instead)

    def _clip(self, a: Any, a_min: Any = None, a_max: Any = None, **keywords: Any) -> Any:
        if keywords:
            raise self.trace.refusal(f"np.clip with {', '.join(keywords)}=", "Write np.clip(x, low, high)")
        if a_min is None or a_max is None:
            return np.minimum(a, a_max) if a_min is None else np.maximum(a, a_min)
        return self.trace.call(np.clip, (a, a_min, a_max))

    def __pow__(self, other: Any) -> Any:
        # NumPy's own ** does this too: squaring is far cheaper than a power.
        return np.square(self) if type(other) is int and other == 2 else np.power(self, other)

    def __setitem__(self, index: Any, value: Any) -> None:
        if index is not Ellipsis and index != slice(None):
            raise self.trace.refusal("writing into a part of an array", "Write x[...] = np.where(condition, y, x)")
        self.trace.call(np.positive, (value,), self)

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        dtype = np.dtype(dtype)
        if dtype == self.dtype and not copy:
            return self
        self.trace.calls.append("astype")
        values = self.trace.compute(np.ndarray.astype, np.asarray(self.values), dtype)
        return Traced(self.trace, values, self.trace.emit_astype(self.real, dtype))

    def copy(self) -> Any:
        return np.copy(self)

    @property
    def dtype(self) -> np.dtype:
        return np.asarray(self.values).dtype

    @property
    def ndim(self) -> int:
        return len(self.trace.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        if not self.trace.in_rules:
            raise self.trace.refusal("a shape", "It would be the same for all later calls. Make the number an argument")
        return self.trace.shape

    # -- what can't -------------------------------------------------------------------------------

    def _is_no_number(self, *args: Any) -> Any:
        raise self.trace.refusal(
            "a decision by a value (if x, float(x), min(x, y))",
            "The program doesn't know the value yet. Write np.where(condition, x, y)",
        )

    __bool__ = __float__ = __int__ = __index__ = __complex__ = _is_no_number

    def _is_no_list(self, *args: Any) -> Any:
        raise self.trace.refusal("x[i], a loop over x, or len(x)", "Make x[i] an argument of the function")

    __getitem__ = __iter__ = __len__ = _is_no_list

    def __array__(self, *args: Any, **keywords: Any) -> Any:
        raise self.trace.refusal("np.asarray(x)", "Write NumPy's functions of x itself")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"what stands for an array in a fused function has no attribute {name!r}")
        instead = f"Write np.{name}(x, …)" if name in ("clip", "conj") else _SUMS
        raise self.trace.refusal(f"x.{name}", instead)


def _knows_more(x: Any) -> bool:
    """Whether `x` is tracked for a gradient, so that it has to be asked first."""
    return hasattr(type(x), "__primitive__")
