"""The shapes and dtypes of NumPy's results, without the values: `estimate(…, shapes_only=True)` runs on this.

A large array here takes no memory (`meta.py`), so a 4,096-wide network needs none. A function has a rule here, or it's
tried with small ones (`tries.py`).
"""

import itertools
import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from . import formulas, layout
from .layout import axes_of_copy, order_axes
from .meta import (
    MetaArray,
    TooLargeError,
    address_of,
    as_shape,
    is_small,
    reserve_zeros,
    stand_in,
    stretch,
    view_along_axes,
    view_by_strides,
)
from .tries import are_in_memory, arrays_in, call_with, cut, few_for, in_full, on_few, on_several
from .values import DIFFERENT

__all__ = ["ASSIGN", "Formula", "TooLargeError", "outcome", "reserve_zeros"]


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
        rule = {"at": _no_result, "reduceat": None}.get(function.__name__, on_few)
    if rule is None:
        return _call(function, args, kwargs)
    return rule(function, args, kwargs)


MetaArray.outcome = staticmethod(outcome)


def _call(function: Callable, args: tuple, kwargs: dict) -> Any:
    """What has no rule: NumPy computes it if all arrays are in memory."""
    if are_in_memory(args, kwargs):
        return function(*args, **kwargs)
    if getattr(function, "__objclass__", None) is np.ndarray:  # np.ndarray.ravel
        if function.__name__ in vars(MetaArray):
            return getattr(args[0], function.__name__)(*args[1:], **kwargs)
    elif not (getattr(function, "__module__", "") or "").startswith("numpy"):
        return function(*args, **kwargs)  # one of ours, which calls NumPy's
    return on_several(function, args, kwargs)


# -- Rules: each takes a function and its arguments --------------------------------------------------------------------


def _argument(args, kwargs, place, name, default=None):
    """An argument that may be given at this place, or by name."""
    if len(args) > place:
        return args[place]
    return kwargs.get(name, default)


def _new(function, args, kwargs):
    """``np.zeros`` and the like. A few elements have their values."""
    place = 1 + (function is np.full)
    shape, dtype = as_shape(_argument(args, kwargs, 0, "shape")), _argument(args, kwargs, place, "dtype")
    if dtype is None and function is np.full:
        dtype = np.asarray(_argument(args, kwargs, 1, "fill_value")).dtype
    if min(shape, default=0) < 0 or is_small(shape, dtype):
        return function(*args, **kwargs)
    return reserve_zeros(shape, dtype, order_axes(len(shape), _argument(args, kwargs, place + 1, "order")))


def _square(function, args, kwargs):
    """``np.eye(n)`` and the like."""
    others = 1 if function is np.identity else 2
    rows = columns = args[0]
    if function is not np.identity and _argument(args, kwargs, 1, "M") is not None:
        columns = _argument(args, kwargs, 1, "M")
    if min(rows, columns) < 0 or is_small((rows, columns), complex):
        return function(*args, **kwargs)
    named = {name: x for name, x in kwargs.items() if name != "M"}
    return reserve_zeros((rows, columns), function(*(0,) * others, *args[others:], **named).dtype)


def _zeros_like(function, args, kwargs):
    """``np.zeros_like`` and the like."""
    x = args[0]
    place = 1 + (function is np.full_like)
    dtype = _argument(args, kwargs, place, "dtype") or x.dtype
    order = _argument(args, kwargs, place + 1, "order", "K")
    shape = kwargs.get("shape")
    shape = x.shape if shape is None else as_shape(shape)
    if len(shape) == x.ndim:
        return reserve_zeros(shape, dtype, axes_of_copy(x, order))
    return reserve_zeros(shape, dtype, order_axes(len(shape), order))


def _copy(function, args, kwargs):
    x = args[0] if isinstance(args[0], np.ndarray) else np.asarray(args[0])
    order = _argument(args, kwargs, 1, "order", "C" if function is np.ndarray.copy else "K")
    return reserve_zeros(x.shape, kwargs.get("dtype") or x.dtype, axes_of_copy(x, order))


def _astype(function, args, kwargs):
    return reserve_zeros(args[0].shape, args[1], axes_of_copy(args[0], _argument(args, kwargs, 2, "order", "K")))


def _range(function, args, kwargs):
    """`np.arange` of numbers."""
    start, stop, step = (_argument(args, kwargs, i, name) for i, name in enumerate(("start", "stop", "step")))
    if stop is None:
        start, stop = 0, start
    start, step = 0 if start is None else start, 1 if step is None else step
    if all([isinstance(x, (int, float, np.integer, np.floating)) for x in (start, stop, step)]) and step:
        count = (stop - start) / step
        if 0 < count < math.inf and not is_small((math.ceil(count),), complex):
            dtype = function(start, start, step, dtype=_argument(args, kwargs, 3, "dtype")).dtype
            return reserve_zeros(math.ceil(count), dtype)
    return function(*args, **kwargs)


def _where(function, args, kwargs):
    if len(args) < 2:  # the result's length depends on the values
        return _call(function, args, kwargs)
    return on_few(function, args, kwargs)


def _concatenate(function, args, kwargs):
    """`np.concatenate` and `np.stack`: along the axis, the lengths add up."""
    arrays, axis = args[0], _argument(args, kwargs, 1, "axis", 0)
    if axis is None or kwargs.get("out") is not None or not isinstance(arrays, (list, tuple)):
        return _call(function, args, kwargs)
    if not arrays or not all([isinstance(x, np.ndarray) for x in arrays]):
        return in_full(function, args, kwargs)  # this raises
    # NumPy says of empty arrays whether there's such an axis, and what type it will be.
    named = {name: x for name, x in kwargs.items() if name != "axis"}
    small = function([np.empty((0,) * x.ndim, x.dtype) for x in arrays], axis, **named)
    axis %= small.ndim
    shape = list(arrays[0].shape)
    for x in arrays:
        if any([n != m and (function is np.stack or i != axis) for i, (n, m) in enumerate(zip(x.shape, shape))]):
            return in_full(function, args, kwargs)  # this raises
    if function is np.stack:
        shape.insert(axis, len(arrays))
    else:
        shape[axis] = sum([x.shape[axis] for x in arrays])
    return reserve_zeros(shape, small.dtype)


def _repeat(function, args, kwargs):
    """`np.repeat`, each element equally often."""
    x, times, axis = args[0], _argument(args, kwargs, 1, "repeats"), _argument(args, kwargs, 2, "axis")
    if not isinstance(times, (int, np.integer)) or times < 0:
        return _call(function, args, kwargs)
    if axis is None:
        return reserve_zeros(x.size * times, x.dtype)
    shape = list(x.shape)
    shape[np.lib.array_utils.normalize_axis_index(axis, x.ndim)] *= times
    return reserve_zeros(shape, x.dtype)


def _tile(function, args, kwargs):
    x, times = args[0], as_shape(_argument(args, kwargs, 1, "reps"))
    if min(times, default=0) < 0:
        return _call(function, args, kwargs)
    return reserve_zeros(_multiply(x.shape, times), x.dtype)


def _kron(function, args, kwargs):
    x, y = args
    return reserve_zeros(_multiply(x.shape, y.shape), np.result_type(x.dtype, y.dtype))


def _multiply(shape, times):
    """Each length of the shape as often as the other says, from the last one on."""
    return [n * m for n, m in itertools.zip_longest(reversed(shape), reversed(times), fillvalue=1)][::-1]


def _outer(function, args, kwargs):
    x, y = args[:2]
    if kwargs.get("out") is not None:
        return kwargs["out"]
    return reserve_zeros((x.size, y.size), np.result_type(x.dtype, y.dtype))


def _inverse(function, args, kwargs):
    """Zeros have no inverse, and NumPy would raise."""
    return on_few(_as_on_a_card(function), args, kwargs)


@cache
def _as_on_a_card(function):
    return partial(DIFFERENT[f"linalg.{function.__name__}"], function)


def _no_result(function, args, kwargs):
    """It would change an argument, which has no values here."""


def _on_a_copy(function, args, kwargs):
    """What it raises, it raises here. The argument stays as it is."""
    if are_in_memory(args, kwargs):
        function(args[0].copy(), *args[1:], **kwargs)
        return
    few = few_for(arrays_in((*args, *kwargs.values())))
    try:
        call_with(lambda x: cut(x, few).copy(), function, args, kwargs)
    except Exception:
        call_with(lambda x: stand_in(x) if type(x) is MetaArray else x.copy(), function, args, kwargs)


def _cast_floats(function, args, kwargs):
    given, dtype = args
    if isinstance(given, np.ndarray) and given.dtype.kind in "fc" and np.dtype(dtype).kind in "iu":
        return _astype(function, args, kwargs)
    return given


# -- Views: NumPy makes those of what's in memory ----------------------------------------------------------------------


def _view(rule: Callable) -> Callable:
    """The rule for a function whose first argument is an array without memory."""

    def view(function, args, kwargs):
        if type(args[0]) is MetaArray:
            return rule(function, *args, **kwargs)
        return _call(function, args, kwargs)

    return view


def _by_method(function, x, *args, **kwargs):
    return getattr(x, function.__name__)(*args, **kwargs)


def _reshape(function, x, shape, order="C", **kwargs):
    return x.reshape(shape, order=order, **kwargs)


def _diagonal(function, x, offset=0):
    return x.diagonal(offset, -2, -1)


def _diag(function, x, k=0):
    if x.ndim == 2:
        return x.diagonal(k)
    return on_several(function, (x, k), {})


def _expand_dims(function, x, axis):
    lengths = iter(x.shape)
    return x.reshape([1 if n else next(lengths) for n in function(np.empty((0,) * x.ndim), axis).shape])


def _trim_zeros(function, x, trim="fb", axis=None):
    """Nothing is left."""
    axes = range(x.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, x.ndim)
    return x[tuple([slice(0 if i in axes else None) for i in range(x.ndim)])]


def _windows(function, x, window_shape, axis=None, **kwargs):
    """`np.lib.stride_tricks.sliding_window_view`."""
    sizes = as_shape(window_shape)
    axes = (
        range(x.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    )
    lengths = list(x.shape)
    for i, size in zip(axes, sizes):
        lengths[i] -= size - 1
    if len(sizes) != len(axes) or min(sizes, default=0) < 0 or min(lengths, default=1) < 1:
        function(stand_in(x), window_shape, axis)  # this raises
    view = view_by_strides(x, (*lengths, *sizes), (*x.strides, *[x.strides[i] for i in axes]))
    view.is_writeable = False
    return view


def _size(function, x, axis=None):
    if axis is None:
        return x.size
    return math.prod([x.shape[i] for i in np.atleast_1d(axis)])


def _composed(function, args, kwargs):
    """NumPy writes it with other functions, which have rules."""
    if are_in_memory(args, kwargs) and not function.__name__.endswith("stack"):
        return function(*args, **kwargs)
    return function.__wrapped__(*args, **kwargs)


def _at_least(function, args, kwargs):
    def view(x: Any) -> Any:
        if type(x) is not MetaArray:
            return function(x)
        if not x.ndim:
            return x.reshape(function(np.empty(())).shape)
        return view_along_axes(function, x)

    if len(args) == 1:
        return view(args[0])
    return tuple(map(view, args))


def _broadcast_to(function, args, kwargs):
    x, shape = args[0], as_shape(_argument(args, kwargs, 1, "shape"))
    if not isinstance(x, np.ndarray) or min(shape, default=0) < 0:
        return function(*args, **kwargs)
    return stretch(x, shape)


def _broadcast_arrays(function, args, kwargs):
    shape = layout.broadcast(*[x.shape for x in args])
    if shape is None:
        return in_full(function, args, kwargs)  # this raises
    return tuple([x if x.shape == shape else stretch(x, shape, is_writeable=True) for x in args])


def _share_memory(function, args, kwargs):
    """Whether two arrays may have an element in common. Where they overlap, NumPy finds out."""
    x, y = args[:2]
    if are_in_memory(args, {}):
        return function(*args, **kwargs)
    (begin, end), (other_begin, other_end) = (layout.extent(z, address_of(z)) for z in (x, y))
    if end <= other_begin or other_end <= begin:
        return False
    if function is np.may_share_memory:
        return True
    first = min(begin, other_begin) - 4096
    return function(*[np.asarray(_Placed(z, address_of(z) - first)) for z in (x, y)])


class _Placed:
    """For NumPy, an array at an address. It's compared, and nobody reads there."""

    def __init__(self, x: Any, address: int) -> None:
        self.__array_interface__ = {
            "shape": x.shape, "typestr": x.dtype.str, "strides": x.strides, "data": (address, True), "version": 3,
        }  # fmt: skip


def _functions(text: str) -> list[Any]:
    return [getattr(np, name) for name in text.split() if hasattr(np, name)]


_REDUCTIONS = "sum prod mean var std max min all any argmax argmin"
_ALONG_AXES = "moveaxis rollaxis swapaxes squeeze flip fliplr flipud rot90 permute_dims matrix_transpose"
_RULES: dict[Any, Callable] = {
    **dict.fromkeys(_functions(_REDUCTIONS + " nansum nanprod nanmean nanmax nanmin nanvar nanstd"), on_few),
    **dict.fromkeys([getattr(np.ndarray, name) for name in _REDUCTIONS.split()], on_few),
    **dict.fromkeys(_functions("clip round nan_to_num isclose einsum dot take"), on_few), np.where: _where,
    **dict.fromkeys(_functions("zeros ones empty full"), _new),
    **dict.fromkeys(_functions("eye identity tri"), _square), np.arange: _range,
    **dict.fromkeys(_functions("zeros_like ones_like full_like empty_like"), _zeros_like),
    **dict.fromkeys(_functions("array copy"), _copy), np.ndarray.copy: _copy, np.ndarray.astype: _astype,
    **dict.fromkeys(_functions("concatenate stack"), _concatenate),
    np.repeat: _repeat, np.tile: _tile, np.outer: _outer, np.kron: _kron,
    np.ndarray.sort: _no_result, np.ndarray.partition: _no_result,
    **dict.fromkeys(_functions("copyto put putmask place put_along_axis fill_diagonal"), _on_a_copy),
    **dict.fromkeys([np.linalg.inv, np.linalg.solve, np.linalg.cholesky, np.linalg.matrix_power], _inverse),
    formulas.cast_floats: _cast_floats,
    **dict.fromkeys([*_functions(_ALONG_AXES), np.linalg.matrix_transpose], _view(view_along_axes)),
    **dict.fromkeys(_functions("ravel transpose diagonal"), _view(_by_method)), np.reshape: _view(_reshape),
    np.real: _view(lambda function, x: x.real), np.imag: _view(lambda function, x: x.imag),
    np.linalg.diagonal: _view(_diagonal), np.diag: _view(_diag), np.expand_dims: _view(_expand_dims),
    np.trim_zeros: _view(_trim_zeros), np.lib.stride_tricks.sliding_window_view: _view(_windows),
    **dict.fromkeys(_functions("split array_split hsplit vsplit dsplit unstack ix_"), _composed),
    **dict.fromkeys(_functions("vstack hstack dstack column_stack"), _composed),
    **dict.fromkeys(_functions("atleast_1d atleast_2d atleast_3d"), _at_least),
    np.broadcast_to: _broadcast_to, np.broadcast_arrays: _broadcast_arrays,
    np.shape: _view(lambda function, x: x.shape), np.ndim: _view(lambda function, x: x.ndim), np.size: _view(_size),
    **dict.fromkeys(_functions("may_share_memory shares_memory"), _share_memory),
}  # fmt: skip
