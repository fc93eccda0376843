"""Several elementwise calls as one launch: `fuse`, which is `cupy.fuse` with NumPy's names and a derivative.

The function is called with stand-ins for its arrays (`Traced`), so that we see what it does (`Trace`). Each device says
how it launches what was found: ``devices/simulated.py``, ``devices/cupy/fused.py``. The way back: ``derivative.py``.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ..arrays import fusing, on_card_of
from ..messages import check_callable, in_words
from ..tree.ties import is_tracked

NUMBERS = (bool, int, float, complex)
# What works on each element by itself, and isn't a ufunc of NumPy's; CuPy's functions of these names are.
FUNCTIONS = frozenset((np.where, np.clip, np.copy, np.sinc, np.i0))


def fuse(*function: Any, kernel_name: str | None = None) -> Any:
    """Make one launch of a function's elementwise calls, on a GPU: ``@fuse`` above it (`cupy.fuse`).

    Without it, each ``+`` and each ``np.tanh`` is a launch of its own. In CUDA.jl a broadcast with dots, ``tanh.(x .+
    b)``, does the same.

    The function takes arrays of one device, and numbers. It gives an array, several in a tuple, or nothing: ``x += y``
    changes an argument in place. A result has the shape that all arguments have together, broadcast. What isn't
    computed element by element raises `TypeError`. The way back is one launch too; where an argument was broadcast, a
    sum follows. In a receipt it has the function's name, or `kernel_name`. On the CPU it's an ordinary function.

    >>> @fl.cuda.fuse
    ... def squared_difference(x, y):
    ...     return (x - y) ** 2
    """
    if kernel_name is not None and (not isinstance(kernel_name, str) or not kernel_name.isidentifier()):
        raise ValueError(f"fuse(kernel_name=…) is a name such as 'squared_difference', got {kernel_name!r}")
    if not function:
        return lambda f: fuse(f, kernel_name=kernel_name)
    if len(function) > 1:
        raise TypeError("fuse takes one function: write @fuse above it, or @fuse(kernel_name='…')")
    check_callable("fuse(function): the function", function[0])
    name = str(kernel_name or getattr(function[0], "__name__", ""))
    return Fused(function[0], name if name.isidentifier() else "fused")  # a lambda has no name of its own


class Fused:
    """A function whose elementwise calls are one launch on a GPU. `fuse` makes it."""

    def __init__(self, function: Callable, name: str) -> None:
        functools.update_wrapper(self, function)
        self.function, self.name = function, name
        self.can_write = True  # not while a gradient is taken
        self.in_rules = False  # derivative rules may ask for more: for shapes, and zeros
        self.made: dict[Any, Any] = {}  # what a device or a derivative keeps for later calls

    def __repr__(self) -> str:
        return f"<fused {self.name}>"

    def another(self, key: Any, function: Callable, suffix: str = "") -> "Fused":
        """A fused function for the tape: this one, a part of it, or its way back. It's made once for each `key`."""
        if key not in self.made:
            made = self.made[key] = Fused(function, self.name + suffix)
            made.can_write, made.in_rules = False, self.in_rules or bool(suffix)
        return self.made[key]

    def __call__(self, *args: Any) -> Any:
        if not fusing:
            return self.function(*args)
        for x in args:
            while is_tracked(x):
                x = x.value
            if type(x) in fusing:
                break
        else:  # on the CPU, or inside of another fused function
            return self.function(*args)
        if any(map(is_tracked, args)):
            from .derivative import on_tape

            return on_tape(self, args)
        with on_card_of(x):
            return fusing[type(x)](self, args)


# -- what the function gets in place of its arrays ---------------------------------------------------------------------


class Trace:
    """One run of a function with stand-ins: which calls it made. A device says how they're computed."""

    def __init__(self, fused: Any, shape: tuple[int, ...]) -> None:
        self.fused, self.shape = fused, shape
        self.calls: list[str] = []

    def compute(self, function: Callable, *values: Any, **keywords: Any) -> Any:
        """NumPy's result for these values."""
        return function(*values, **keywords)

    def emit(self, function: Any, inputs: Any, out: Any) -> Any:
        """Note the call where the device's own library notes it too. Gives what stands for its result there."""

    def argument(self, x: Any, values: Any, real: Any = None) -> "Traced":
        """The stand-in of the argument `x`. As on a GPU, all arrays are as large as what they make together."""
        return Traced(self, values if isinstance(values, NUMBERS) else np.broadcast_to(values, self.shape), real, x)

    def call(self, function: Any, inputs: Any, out: Any = None) -> Any:
        """The result of ``function(*inputs)``, one stand-in or several."""
        values = [self._value(function, x) for x in inputs]
        target = None if out is None else out.to_write()
        real = self.emit(function, inputs, out)
        self.calls.append(function.__name__)
        if out is not None:
            self.compute(function, *values, out=(target,))
            return out
        result = self.compute(function, *values)
        if isinstance(result, tuple):
            return tuple([Traced(self, np.asarray(x), y) for x, y in zip(result, real or result)])
        is_number = all(isinstance(x, NUMBERS) for x in values)  # of Python's, which leave an array's type as it is
        return Traced(self, result.item() if is_number else np.asarray(result), real)

    def _value(self, function: Any, x: Any) -> Any:
        if isinstance(x, Traced) and x.trace is self:
            return x.values
        if isinstance(x, (*NUMBERS, np.generic)):
            return x
        raise self.refusal(f"np.{function.__name__} with {in_words(x)} from outside")

    def outputs(self, result: Any) -> tuple[list["Traced"], list[int]]:
        """What the function gave: each array once, and which of these stands at each place."""
        given = () if result is None else result if isinstance(result, tuple) else (result,)
        for x in given:
            if not isinstance(x, Traced) or isinstance(x.values, NUMBERS):
                got = "a number" if isinstance(x, (Traced, *NUMBERS)) else in_words(x)
                raise self.refusal(f"{got} as its result")
        found = list({id(x): x for x in given}.values())
        return found, [next(i for i, other in enumerate(found) if other is x) for x in given]

    def refusal(self, what: str) -> TypeError:
        return TypeError(
            f"fuse, {self.fused.name}: {what} can't be part of one launch, in which each element is computed from "
            "those in its place. Write ufuncs such as np.tanh, np.where(condition, x, y) and np.clip(x, low, high) of "
            "numbers and arguments, and return an array, several in a tuple, or nothing."
        )


def _refused(what: str) -> Any:
    def refuse(self: Any, *args: Any, **keywords: Any) -> Any:
        raise self.trace.refusal(what)

    return refuse


class Traced(NDArrayOperatorsMixin):
    """Stands in for an array or a number in a fused function, and for what's computed from them."""

    __slots__ = ("trace", "values", "real", "given", "is_written")

    def __init__(self, trace: Trace, values: Any, real: Any = None, given: Any = None) -> None:
        self.trace, self.values, self.real = trace, values, real
        self.given = given  # the argument that this stands for
        self.is_written = False

    def to_write(self) -> np.ndarray:
        """The values, in memory that can be written to: an argument's own changes only when all has gone well."""
        if self.given is not None and not self.is_written:
            if not self.trace.fused.can_write:
                raise self.trace.refusal("a change in place, which would lose the gradient,")
            if self.given.shape != self.trace.shape:
                raise self.trace.refusal("writing to an argument that's too small")
            self.values = self.trace.compute(np.ndarray.copy, self.values)
        self.is_written = True
        return self.values

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **keywords: Any) -> Any:
        if any(map(is_tracked, inputs)):
            return NotImplemented
        can_write = len(out) < 2 and all(isinstance(x, Traced) for x in out)
        if method != "__call__" or ufunc.signature is not None or keywords or not can_write:
            what = f"np.{ufunc.__name__}{'' if method == '__call__' else '.' + method}"
            what += "".join(f" with {key}=" for key in ([] if can_write else ["out"]) + [*keywords])
            raise self.trace.refusal(what)
        if out and isinstance(out[0].values, NUMBERS):  # a += 1 on a number makes a new one
            out = ()
        return self.trace.call(ufunc, inputs, *out)

    def __array_function__(self, function: Any, types: Any, args: tuple, kwargs: dict) -> Any:
        if any(map(is_tracked, (*args, *kwargs.values()))):
            return NotImplemented
        if self.trace.fused.in_rules and function in (np.zeros_like, np.ones_like):
            return ((self != self) * 0 + (function is np.ones_like)).astype(kwargs.get("dtype", args[0].dtype))
        if function is np.clip and len(args) == 3 and (args[1] is None or args[2] is None):
            return np.maximum(*args[:2]) if args[2] is None else np.minimum(args[0], args[2])
        if function in FUNCTIONS and not kwargs and (function is not np.where or len(args) == 3):
            return self.trace.call(function, args)
        raise self.trace.refusal(f"np.{function.__name__}({', '.join(['…', *(f'{key}=' for key in kwargs)])})")

    def __pow__(self, other: Any) -> Any:
        # NumPy's own ** does this too: squaring is far cheaper than a power.
        return np.square(self) if type(other) is int and other == 2 else np.power(self, other)

    def __setitem__(self, index: Any, value: Any) -> None:
        if index is not Ellipsis and index != slice(None):
            raise self.trace.refusal("writing into a part of an array")
        self.trace.call(np.positive, (value,), self)

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        if np.dtype(dtype) == self.dtype and not copy:
            return self
        self.trace.calls.append("astype")
        values = self.trace.compute(np.ndarray.astype, np.asarray(self.values), dtype)
        return Traced(self.trace, values, None if self.real is None else self.real.astype(dtype))

    def copy(self) -> Any:
        return np.copy(self)

    dtype = property(lambda self: np.asarray(self.values).dtype)
    ndim = property(lambda self: len(self.trace.shape))

    @property
    def shape(self) -> tuple[int, ...]:
        if not self.trace.fused.in_rules:
            raise self.trace.refusal("a shape, which would be the same for all later calls,")
        return self.trace.shape

    # What can't be: the program doesn't know the values yet.
    __bool__ = __float__ = __int__ = __index__ = __complex__ = _refused(
        "a decision by a value (if x, float(x), max(x, y))"
    )
    __getitem__ = __iter__ = __len__ = _refused("x[i], a loop over x, or len(x)")
    __array__ = _refused("np.asarray(x)")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"what stands for an array in a fused function has no attribute {name!r}")
        raise self.trace.refusal(f"x.{name}")
