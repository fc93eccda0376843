"""The shapes and dtypes of NumPy's results, without the values: `estimate(…, shapes_only=True)` runs on this.

An array here is zeros that nothing has touched. The system allocates memory page by page at first use, so a
4,096-wide network needs none. NumPy itself makes the views. A function without a rule here is computed.
"""

import math
import mmap
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .rules import DIFFERENT

_LARGE = 2**16  # bytes; smaller arrays are just as fast from NumPy
# A card may have more memory than this computer. Pages that nobody touches needn't be set aside. (A name since 3.13.)
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


class TooLargeError(MemoryError):
    """An array of `nbytes`, for which this computer has no addresses, touched or not."""

    def __init__(self, nbytes: int) -> None:
        super().__init__(f"this computer can't tell the shapes of arrays of {nbytes:,} bytes")
        self.nbytes = nbytes


def untouched(shape: Any, dtype: Any, like: tuple = ()) -> np.ndarray:
    """Zeros of this shape, in the memory order that NumPy's "K" would choose for the arrays `like`."""
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


def outcome(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """An array with the shape and dtype of ``function(*args, **kwargs)``. Writes to nothing."""
    rule: Callable | None = _RULES.get(function)
    ufunc = getattr(function, "__self__", function)
    if isinstance(ufunc, np.ufunc):
        method = "__call__" if function is ufunc else function.__name__
        if method == "at":
            return None
        if ufunc.signature is None:
            rule = {"__call__": _elementwise, "reduce": _reduced}.get(method)
        elif ufunc is np.matmul:
            rule = _product
    return function(*args, **kwargs) if rule is None else rule(function, args, kwargs)


# Each rule takes a function and its arguments.


def _elementwise(function, args, kwargs):
    """Tried without elements, NumPy gives the dtypes, or raises if it can't be done."""
    out = kwargs.get("out")
    if out is not None:
        return out[0] if type(out) is tuple else function(*args, **kwargs)
    if len(args) < 2 and function is np.where:
        return function(*args, **kwargs)
    shape = np.broadcast_shapes(*(np.shape(x) for x in (*args, *kwargs.values()) if isinstance(x, np.ndarray)))
    found = function(*map(_empty, args), **{name: _empty(x) for name, x in kwargs.items() if name != "where"})
    return tuple(untouched(shape, x.dtype) for x in found) if type(found) is tuple else untouched(shape, found.dtype)


def _empty(x: Any) -> Any:
    return np.empty(0, x.dtype) if isinstance(x, np.ndarray) else x


def _product(function, args, kwargs):
    """Tries the product with empty rows and columns, so that NumPy checks everything else."""
    x, y = args
    given = {name: value for name, value in kwargs.items() if name != "out"}
    small = np.matmul(x[..., :0, :] if x.ndim > 1 else x, y[..., :0] if y.ndim > 1 else y, **given)
    if kwargs.get("out"):
        return kwargs["out"][0]
    shape = list(small.shape)
    if y.ndim > 1:
        shape[-1] = y.shape[-1]
    if x.ndim > 1:
        shape[-2 if y.ndim > 1 else -1] = x.shape[-2]
    return untouched(tuple(shape), small.dtype)


def _reduced(function, args, kwargs):
    """A function along axes, tried on one element: the remaining axes keep their lengths."""
    x, *rest = args
    default = 0 if isinstance(getattr(function, "__self__", None), np.ufunc) else None  # the default of np.add.reduce
    axis = rest[0] if rest else kwargs.get("axis", default)
    if not isinstance(x, np.ndarray) or kwargs.get("out") is not None or x.size == 0:
        return function(*args, **kwargs)
    small = np.asarray(function(np.ones((1,) * x.ndim, x.dtype), *rest, **kwargs))
    axes = {i % x.ndim for i in (range(x.ndim) if axis is None else np.atleast_1d(axis).tolist())} if x.ndim else set()
    kept = small.ndim == x.ndim
    return untouched(tuple(1 if i in axes else n for i, n in enumerate(x.shape) if kept or i not in axes), small.dtype)


def _alike(function, args, kwargs):
    """``np.zeros_like`` and its kin."""
    x = args[0]
    at = {np.full_like: 2}.get(function, 1)  # type: ignore[call-overload]
    dtype = kwargs.get("dtype") or (args[at] if len(args) > at else None) or x.dtype
    shape = kwargs.get("shape")
    return untouched(x.shape if shape is None else shape, dtype, (x,))


def _copied(function, args, kwargs):
    x = np.asarray(args[0])
    order = args[1] if len(args) > 1 else kwargs.get("order", "K")
    like = (x,) if order in "KA" else (np.empty((0,) * x.ndim, order=order),)
    return untouched(x.shape, kwargs.get("dtype") or x.dtype, like)


def _joined(function, args, kwargs):
    """`np.concatenate` and `np.stack`, tried with another axis cut to length 0."""
    arrays = args[0]
    axis = args[1] if len(args) > 1 else kwargs.get("axis", 0)
    shapes = {x.shape for x in arrays}
    ndim = len(next(iter(shapes)))
    if axis is None or ndim < 2 or any(len(shape) != ndim for shape in shapes) or set(kwargs) - {"axis"}:
        return function(*args, **kwargs)
    cut = 1 if function is np.concatenate and axis % ndim == 0 else 0  # an axis that isn't joined
    lengths = {shape[cut] for shape in shapes}
    if len(lengths) > 1:
        return function(*args, **kwargs)  # this raises the right error
    small = function([x[(slice(None),) * cut + (slice(0),)] for x in arrays], axis)
    shape = list(small.shape)
    shape[cut if function is np.concatenate or axis % (ndim + 1) > cut else cut + 1] = lengths.pop()
    return untouched(tuple(shape), small.dtype)


def _einsum(function, args, kwargs):
    subscripts, *arrays = args
    if not isinstance(subscripts, str) or "->" not in subscripts or "..." in subscripts:
        return function(*args, **kwargs)
    terms, _, result = subscripts.replace(" ", "").partition("->")
    lengths: dict[str, int] = {}
    for term, x in zip(terms.split(","), arrays, strict=True):
        for label, length in zip(term, x.shape, strict=True):
            lengths[label] = max(length, lengths.get(label, 1))
    return untouched(tuple(lengths[label] for label in result), np.result_type(*arrays))


def _dot(function, args, kwargs):
    is_matmul = len(args) == 2 and all(isinstance(x, np.ndarray) and 0 < x.ndim <= 2 for x in args)
    return _product(np.matmul, args, {}) if is_matmul else function(*args, **kwargs)


def _picked(function, args, kwargs):
    x, index, axis, out = (*args, *(None,) * 4)[:4]
    if out is not None:
        return out
    axis = kwargs.get("axis", axis)
    if axis is None:
        return untouched(np.shape(index), x.dtype)
    axis %= x.ndim
    return untouched(x.shape[:axis] + np.shape(index) + x.shape[axis + 1 :], x.dtype)


def _inverted(function, args, kwargs):
    """Zeros have no inverse, and NumPy would raise."""
    return DIFFERENT[f"linalg.{function.__name__}"](function, *args, **kwargs)


def _functions(text: str) -> list[Any]:
    return [getattr(np, name) for name in text.split()]


_REDUCTIONS = "sum prod mean var std max min all any argmax argmin"
_RULES: dict[Any, Callable] = {
    **dict.fromkeys(_functions(_REDUCTIONS + " nansum nanprod nanmean nanmax nanmin nanvar nanstd"), _reduced),
    **dict.fromkeys([getattr(np.ndarray, name) for name in _REDUCTIONS.split()], _reduced),
    **dict.fromkeys(_functions("where clip round nan_to_num isclose"), _elementwise),
    **dict.fromkeys(_functions("zeros_like ones_like full_like empty_like"), _alike),
    **dict.fromkeys(_functions("array copy"), _copied),
    **dict.fromkeys(_functions("concatenate stack"), _joined),
    np.ndarray.copy: _copied,
    np.ndarray.astype: lambda function, args, kwargs: untouched(args[0].shape, args[1], args[:1]),
    np.ndarray.sort: lambda function, args, kwargs: None,  # it changes its argument, which has no values here
    np.einsum: _einsum, np.dot: _dot, np.take: _picked,
    **dict.fromkeys([np.linalg.inv, np.linalg.solve, np.linalg.cholesky, np.linalg.matrix_power], _inverted),
}  # fmt: skip
