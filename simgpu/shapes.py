"""The shapes and dtypes of NumPy's results, without the values: `estimate(…, shapes_only=True)` runs on this.

An array here is zeros that nothing has touched. The system allocates memory page by page at first use, so a
4,096-wide network needs none. Views are NumPy's own. A function without a rule here is computed.
"""

import math
import mmap
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from . import formulas
from .values import DIFFERENT

_LARGE = 2**16  # bytes; smaller arrays are just as fast from NumPy
# A card may have more memory than this computer, and untouched pages needn't be set aside. (A name since Python 3.13.)
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


class TooLargeError(MemoryError):
    """An array of `nbytes` is so large that this computer has no addresses for it."""

    def __init__(self, nbytes: int) -> None:
        super().__init__(f"this computer can't tell the shapes of arrays of {nbytes:,} bytes")
        self.nbytes = nbytes


def reserve_zeros(shape: Any, dtype: Any, like: tuple = ()) -> np.ndarray:
    """Zeros of this shape, in the memory order that NumPy's "K" chooses for arrays `like` these."""
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    arrays = [x for x in like if isinstance(x, np.ndarray) and x.ndim == len(shape) > 1]
    columns = bool(arrays) and all(x.flags.f_contiguous and not x.flags.c_contiguous for x in arrays)
    order: Any = "F" if columns else "C"
    nbytes = math.prod(shape) * np.dtype(dtype).itemsize
    if nbytes < _LARGE or not hasattr(mmap, "MAP_PRIVATE"):
        return np.zeros(shape, dtype, order)
    # np.zeros may reuse freed memory and write zeros to it. A mapping of our own is fresh.
    try:
        memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE)
    except (OSError, OverflowError, ValueError):
        raise TooLargeError(nbytes) from None
    return np.ndarray(shape, dtype, memory, order=order)


class Formula:
    """`compute`, which is called in place of NumPy's function `of`. None for `of`: it only writes to its arguments."""

    __slots__ = ("compute", "of")

    def __init__(self, compute: Callable, of: Callable | None) -> None:
        self.compute = compute
        self.of = of

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.compute(*args, **kwargs)


ASSIGN = Formula(formulas.assign, None)  # ``values[place] = new``


def outcome(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """An array with the shape and dtype of ``function(*args, **kwargs)``. Writes to nothing."""
    if type(function) is Formula:
        if function.of is None:
            return None
        function = function.of
    rule: Callable | None = _RULES.get(function)
    if isinstance(getattr(function, "__self__", function), np.ufunc):  # or one of its methods
        rule = {"at": _no_result, "reduceat": None}.get(function.__name__, _on_few)
    if rule is None:
        return function(*args, **kwargs)
    return rule(function, args, kwargs)


# Each rule takes a function and its arguments.


def _on_few(function, args, kwargs):
    """Try it on the first few elements, with another number of them for each length of an axis. So the lengths in the
    result tell which ones they stand for. A function that makes other lengths needs a rule of its own."""
    if function is np.where and len(args) < 2:  # the result's length depends on the values
        return function(*args)
    if (out := kwargs.get("out")) is not None:
        if type(out) is tuple:
            return out[0]
        return out
    lengths: set[int] = set()
    for x in (*args, *kwargs.values()):
        parts = x if isinstance(x, (list, tuple)) else [x]
        for part in parts:
            if isinstance(part, np.ndarray):
                lengths.update(n for n in part.shape if n > 1)
    few = {n: i for i, n in enumerate(sorted(lengths), 2)}
    whole = {i: n for n, i in few.items()}

    def cut(x: Any) -> Any:
        if isinstance(x, (list, tuple)):
            return type(x)(map(cut, x))
        if isinstance(x, np.ndarray):
            return x[tuple(slice(few.get(n, n)) for n in x.shape)]
        return x

    try:
        with np.errstate(all="ignore"):
            found = function(*map(cut, args), **{name: cut(x) for name, x in kwargs.items()})
    except Exception:
        return function(*args, **kwargs)  # this raises the right error
    if type(found) is tuple:
        return tuple(reserve_zeros([whole.get(n, n) for n in x.shape], x.dtype) for x in found)
    return reserve_zeros([whole.get(n, n) for n in found.shape], found.dtype)


def _argument(args, kwargs, place, name, default=None):
    """An argument that may be given at this place, or by name."""
    if len(args) > place:
        return args[place]
    return kwargs.get(name, default)


def _zeros_like(function, args, kwargs):
    """``np.zeros_like`` and the like."""
    x = args[0]
    place = 2 if function is np.full_like else 1
    dtype = _argument(args, kwargs, place, "dtype") or x.dtype
    shape = kwargs.get("shape")
    if shape is None:
        shape = x.shape
    return reserve_zeros(shape, dtype, (x,))


def _copy(function, args, kwargs):
    x = np.asarray(args[0])
    order = _argument(args, kwargs, 1, "order", "K")
    like = x
    if order not in "KA":
        like = np.empty((0,) * x.ndim, order=order)
    return reserve_zeros(x.shape, kwargs.get("dtype") or x.dtype, (like,))


def _concatenate(function, args, kwargs):
    """`np.concatenate` and `np.stack`: along the axis, the lengths add up."""
    axis = _argument(args, kwargs, 1, "axis", 0)
    if axis is None or kwargs.get("out") is not None:
        return function(*args, **kwargs)
    made = _on_few(function, args, kwargs)
    shape = list(made.shape)
    if function is np.stack:
        shape[axis] = len(args[0])
    else:
        shape[axis] = sum(x.shape[axis] for x in args[0])
    return reserve_zeros(shape, made.dtype)


def _inverse(function, args, kwargs):
    """Zeros have no inverse, and NumPy would raise."""
    return _on_few(partial(DIFFERENT[f"linalg.{function.__name__}"], function), args, kwargs)


def _no_result(function, args, kwargs):
    """It would change an argument, which has no values here."""


def _on_a_copy(function, args, kwargs):
    """What it raises, it raises here. The argument stays as it is."""
    function(args[0].copy(), *args[1:], **kwargs)


def _functions(text: str) -> list[Any]:
    return [getattr(np, name) for name in text.split()]


_REDUCTIONS = "sum prod mean var std max min all any argmax argmin"
_RULES: dict[Any, Callable] = {
    **dict.fromkeys(_functions(_REDUCTIONS + " nansum nanprod nanmean nanmax nanmin nanvar nanstd"), _on_few),
    **dict.fromkeys([getattr(np.ndarray, name) for name in _REDUCTIONS.split()], _on_few),
    **dict.fromkeys(_functions("where clip round nan_to_num isclose einsum dot take"), _on_few),
    **dict.fromkeys(_functions("zeros_like ones_like full_like empty_like"), _zeros_like),
    **dict.fromkeys(_functions("array copy"), _copy),
    **dict.fromkeys(_functions("concatenate stack"), _concatenate),
    np.ndarray.copy: _copy,
    np.ndarray.astype: lambda function, args, kwargs: reserve_zeros(args[0].shape, args[1], args[:1]),
    np.ndarray.sort: _no_result,
    np.ndarray.partition: _no_result,
    **dict.fromkeys(_functions("copyto put putmask place put_along_axis fill_diagonal"), _on_a_copy),
    **dict.fromkeys([np.linalg.inv, np.linalg.solve, np.linalg.cholesky, np.linalg.matrix_power], _inverse),
}  # fmt: skip
