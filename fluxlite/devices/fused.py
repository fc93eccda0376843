"""Several elementwise calls as one launch: `fuse`, which is `cupy.fuse` with NumPy's names.

The function is called with stand-ins for its arrays (`Traced`), so that we see what it does (`Trace`). Each device says
how it launches what was found: ``devices/simulated.py``, ``devices/cupy/fused.py``.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..array_kinds import launcher_of
from ..arrays import on_card_of
from ..tree.ties import is_tracked
from ..words import check_callable, in_words

NUMBERS = (bool, int, float, complex)
# What works on each element by itself, and isn't a ufunc of NumPy's; CuPy's functions of these names are.
FUNCTIONS = frozenset((np.where, np.clip, np.copy, np.sinc, np.i0))


def fuse(function: Any = None, /, *, kernel_name: str | None = None) -> Any:
    """Make one launch of a function's elementwise calls, on a GPU: ``@fl.cuda.fuse`` above it (`cupy.fuse`).

    Without it, each ``+`` and each ``np.tanh`` is a launch of its own (CUDA.jl: a broadcast with dots). The function
    takes arrays of one device, and numbers. It gives an array, several in a tuple, or nothing: ``x += y`` changes an
    argument in place. A result has the shape to which all arguments broadcast. What isn't computed element by
    element raises `TypeError`. Receipts show its name, or `kernel_name`. On the CPU and in a gradient, it just runs.
    """
    if kernel_name is not None and not kernel_name.isidentifier():
        raise ValueError(f"fuse(kernel_name=…) is a name such as 'squared_difference', got {kernel_name!r}")
    if function is None:
        return functools.partial(fuse, kernel_name=kernel_name)
    check_callable("fuse(function): the function", function)

    def named(*args: Any) -> Any:
        return function(*args)

    name = str(kernel_name or getattr(function, "__name__", ""))
    if not name.isidentifier():  # a lambda has no name of its own
        name = "fused"
    named.__name__ = name

    @functools.wraps(function)
    def fused(*args: Any) -> Any:
        x = next((x for x in args if launcher_of(x) is not None), None)
        if x is None or any(map(is_tracked, args)):
            return function(*args)
        launch: Any = launcher_of(x)
        with on_card_of(x):
            return launch(named, args)

    return fused


class Trace:
    """One run of a function with stand-ins: which calls it made. A device says how they're computed."""

    def __init__(self, function: Callable, shape: tuple[int, ...]) -> None:
        self.function = function
        self.shape = shape
        self.calls: list[str] = []

    def compute(self, function: Callable, *values: Any, **keywords: Any) -> Any:
        return function(*values, **keywords)

    def emit(self, function: Any, inputs: Any, out: Any) -> Any:
        """Note the call where the device's own library notes it too. Gives what stands for its result there."""

    def argument(self, values: Any, can_write: bool, real: Any = None) -> Any:
        """The stand-in of an argument. As on a GPU, all arrays are as large as what they make together."""
        if values is None:
            return None
        if not isinstance(values, NUMBERS):
            values = self._of_full_shape(values[...])  # a view, whose `base` tells it from what's computed here
        return Traced(self, values, real, can_write)

    def _of_full_shape(self, values: Any) -> Any:
        if values.shape == self.shape:
            return values
        return np.broadcast_to(values, self.shape)

    def outputs(self, *stand_ins: Any) -> tuple[Any, tuple["Traced", ...]]:
        """What the function gives for these stand-ins, and the same as a tuple, which is empty for None."""
        result = self.function(*stand_ins)
        found = result
        if result is None:
            found = ()
        elif not isinstance(result, tuple):
            found = (result,)
        for x in found:
            if not isinstance(x, Traced) or isinstance(x.values, NUMBERS):
                raise self.refusal(f"{in_words(getattr(x, 'values', x))} as its result")
        return result, found

    def call(self, function: Any, inputs: Any, out: Any = None) -> Any:
        """The result of ``function(*inputs)``, one stand-in or several; or `out`, which has the result then."""
        for x in inputs:
            if getattr(x, "trace", None) is not self and not isinstance(x, (*NUMBERS, np.generic)):
                raise self.refusal(f"np.{function.__name__} with {in_words(x)} from outside")
        values = [x.values if type(x) is Traced else x for x in inputs]
        if out is not None and not out.can_write:
            raise self.refusal("writing to an argument that's too small")
        real = self.emit(function, inputs, out)
        self.calls.append(function.__name__)
        result = self.compute(function, *values)
        if out is not None:
            whole = self._of_full_shape(result)
            out.values = self.compute(np.ndarray.astype, whole, out.values.dtype, casting="same_kind", copy=False)
            out.is_written = True
            return out
        if isinstance(result, tuple):
            return tuple([Traced(self, _as_array(x), y) for x, y in zip(result, real or result)])
        is_number = not result.ndim and all(isinstance(x, NUMBERS) for x in values)  # of Python's: arrays keep types
        if is_number:
            return Traced(self, result.item(), real)
        return Traced(self, _as_array(result), real)

    def refusal(self, what: str) -> TypeError:
        return TypeError(
            f"fuse, {self.function.__name__}: {what} can't be part of one launch, in which each element is computed "
            "from those in its place. Write ufuncs such as np.tanh, np.where(condition, x, y) and np.clip(x, low, high)"
            " of numbers and arguments, and return an array, several in a tuple, or nothing."
        )


def _as_array(values: Any) -> Any:
    """NumPy's array of a number. An array stays what it is: in an estimate of shapes, it may be without memory."""
    if isinstance(values, np.ndarray):
        return values
    return np.asarray(values)


def _refused(self: Any, *args: Any) -> Any:
    raise self.trace.refusal("a decision by a value (if x, float(x), max(x, y)), x[i], a loop over x, or np.asarray(x)")


class Traced(NDArrayOperatorsMixin):
    """Stands in for an array or a number in a fused function, and for what's computed from them."""

    def __init__(self, trace: Trace, values: Any, real: Any = None, can_write: bool = True) -> None:
        self.trace = trace
        self.values = values
        self.real = real
        self.can_write = can_write

    is_written = False
    copy = np.copy
    dtype = property(lambda self: _as_array(self.values).dtype)
    __bool__ = __float__ = __int__ = __index__ = __complex__ = __getitem__ = __iter__ = __len__ = __array__ = _refused

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **keywords: Any) -> Any:
        is_ours = not out or (len(out) == 1 and isinstance(out[0], Traced))
        if method != "__call__" or ufunc.signature is not None or keywords or not is_ours:
            what = f"np.{ufunc.__name__}"
            if method != "__call__":
                what += f".{method}"
            raise self.trace.refusal(what + "".join(f" with {key}=" for key in keywords))
        if out and isinstance(out[0].values, NUMBERS):  # a += 1 on a number makes a new one
            out = ()
        return self.trace.call(ufunc, inputs, *out)

    def __array_function__(self, function: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        if function is np.clip and len(args) == 3:
            x, low, high = args
            if high is None:
                return np.maximum(x, low)
            if low is None:
                return np.minimum(x, high)
        if function in FUNCTIONS and not kwargs and (function is not np.where or len(args) == 3):
            return self.trace.call(function, args)
        given = ["…", *[f"{key}=" for key in kwargs]]
        raise self.trace.refusal(f"np.{function.__name__}({', '.join(given)})")

    def __pow__(self, other: Any) -> Any:
        if type(other) is int and other == 2:  # NumPy's own ** does this too: squaring is far cheaper than a power
            return np.square(self)
        return np.power(self, other)

    def __setitem__(self, index: Any, value: Any) -> None:
        if index is not Ellipsis and index != slice(None):
            raise self.trace.refusal("writing into a part of an array")
        self.trace.call(np.positive, (value,), self)

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        self.trace.calls.append("astype")
        values = self.trace.compute(np.ndarray.astype, np.asarray(self.values), dtype)
        real = None
        if self.real is not None:
            real = self.real.astype(dtype)
        return Traced(self.trace, values, real)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"what stands for an array in a fused function has no attribute {name!r}")
        raise self.trace.refusal(f"x.{name}")
