"""The shapes and dtypes of NumPy's results, without the values: `estimate(…, shapes_only=True)` runs on this.

A large array here takes no memory (`meta.py`), so a 4,096-wide network needs none. A function has a rule here, or it's
tried with small arrays, whose lengths in the result tell which ones they stand for.
"""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from . import formulas
from .meta import (
    MetaArray,
    TooLargeError,
    address_of,
    axes_as_they_lie,
    axes_in_order,
    broadcast_shape,
    extent,
    is_small,
    reserve_zeros,
    stand_in,
    stretched,
    strided,
    view_along_axes,
)
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
        rule = {"at": _no_result, "reduceat": None}.get(function.__name__, _on_few)
    if rule is None:
        return _call(function, args, kwargs)
    return rule(function, args, kwargs)


MetaArray.outcome = staticmethod(outcome)


def _call(function: Callable, args: tuple, kwargs: dict) -> Any:
    """What has no rule: NumPy computes it if all arrays are in memory."""
    if not any([type(x) is MetaArray for x in _arrays_in((*args, *kwargs.values()))]):
        return function(*args, **kwargs)
    if getattr(function, "__objclass__", None) is np.ndarray:  # np.ndarray.ravel
        if function.__name__ in vars(MetaArray):
            return getattr(args[0], function.__name__)(*args[1:], **kwargs)
    elif not (getattr(function, "__module__", "") or "").startswith("numpy"):
        return function(*args, **kwargs)  # one of ours, which calls NumPy's
    return _tried(function, args, kwargs)


def _arrays_in(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for x in values:
        if isinstance(x, np.ndarray):
            found.append(x)
        elif isinstance(x, (list, tuple)):
            found += _arrays_in(x)
    return found


def _with(change: Callable, x: Any) -> Any:
    """`x` with other arrays: ``change(array)`` in place of each one."""
    if isinstance(x, np.ndarray):
        return change(x)
    if isinstance(x, (list, tuple)):
        parts = [_with(change, part) for part in x]
        if hasattr(x, "_fields"):
            return type(x)(*parts)
        return type(x)(parts)
    return x


def _called_with(change: Callable, function: Callable, args: tuple, kwargs: dict) -> Any:
    with np.errstate(all="ignore"):
        return function(*[_with(change, x) for x in args], **{name: _with(change, x) for name, x in kwargs.items()})


# -- What NumPy makes of small arrays ----------------------------------------------------------------------------------

_known: dict[Any, Any] = {}  # what small arrays have told, by the call
_MOST = 1000


def _on_few(function, args, kwargs):
    """Try it on the first few elements, with another number of them for each length of an axis. So the lengths in the
    result tell which ones they stand for. A function that makes other lengths needs a rule of its own."""
    if function is np.where and len(args) < 2:  # the result's length depends on the values
        return _call(function, args, kwargs)
    if (out := kwargs.get("out")) is not None:
        if type(out) is tuple:
            return out[0]
        return out
    given = _arrays_in(args) if not kwargs else _arrays_in((*args, *kwargs.values()))
    lengths = {n for x in given for n in x.shape if n > 1}
    few = {n: i for i, n in enumerate(sorted(lengths), 2)}
    try:
        key = function, len(few), _in_key(args, few), _in_key(tuple(kwargs.items()), few)
        found = _known.get(key)
    except TypeError:  # something in it can't be looked up
        key, found = None, None
    if found is None:
        try:
            made = _called_with(partial(_cut, few), function, args, kwargs)
        except Exception:
            return _in_full(function, args, kwargs)  # this raises the right error
        found = _with(_Like, made) if isinstance(made, tuple) else _Like(made)
        _remember(key, found)
    whole = {i: n for n, i in few.items()}
    if type(found) is _Like:
        return reserve_zeros([whole.get(n, n) for n in found.shape], found.dtype)
    return tuple([reserve_zeros([whole.get(n, n) for n in x.shape], x.dtype) for x in found])


class _Like:
    """A result's shape and type."""

    def __init__(self, x: Any) -> None:
        self.shape, self.dtype = x.shape, x.dtype


def _remember(key: Any, found: Any) -> None:
    if key is not None:
        if len(_known) >= _MOST:
            _known.clear()
        _known[key] = found


def _in_key(x: Any, few: dict[int, int]) -> Any:
    """What tells calls apart whose results have other shapes or types."""
    if isinstance(x, np.ndarray):
        return tuple([few.get(n, n) for n in x.shape]), x.dtype
    if isinstance(x, (list, tuple)):
        return type(x), *[_in_key(part, few) for part in x]
    return type(x), x


def _cut(few: dict[int, int], x: Any) -> np.ndarray:
    """The first few elements of `x` along each axis."""
    if type(x) is MetaArray:
        return np.zeros([few.get(n, n) for n in x.shape], x.dtype)
    return x[tuple([slice(few.get(n, n)) for n in x.shape])]


def _in_full(function: Callable, args: tuple, kwargs: dict) -> Any:
    """Let NumPy compute it, or raise. What takes no memory here takes none there; the result does, for a moment."""
    arrays = _arrays_in((*args, *kwargs.values()))
    if not any([type(x) is MetaArray for x in arrays]):
        return function(*args, **kwargs)
    ours: dict[int, Any] = {}

    def in_place(x: Any) -> Any:
        if type(x) is not MetaArray:
            return x
        made = stand_in(x)
        ours[id(made)] = x, made
        return made

    found = _called_with(in_place, function, args, kwargs)
    return _with(lambda x: ours[id(x)][0] if id(x) in ours else reserve_zeros(x.shape, x.dtype), found)


# -- What it makes of several sizes --------------------------------------------------------------------------------------

_KEPT = 16  # shorter axes keep their length: it may have a meaning, such as the 3 of `np.cross`


def _tried(function, args, kwargs):
    """Try it with small arrays of three sizes. If each length in the result is a multiple of one length of an argument,
    and so much more or less, then so it is for large arrays."""
    lengths = sorted({n for x in _arrays_in((*args, *kwargs.values())) if type(x) is MetaArray for n in x.shape})
    lengths = [n for n in lengths if n > _KEPT]
    try:
        key = function, "tried", _in_key(args, {}), _in_key(tuple(kwargs.items()), {})
        found = _known.get(key)
    except TypeError:
        key, found = None, None
    if found is None:
        ndim = max([x.ndim for x in _arrays_in((*args, *kwargs.values()))])
        unit = 16 if ndim < 4 else 2  # lengths that differ by these leave the same rest, say after a division by 2
        sizes = [{n: n % unit + unit * (1 + i) for i, n in enumerate(lengths)}]
        sizes.append({n: few + unit for n, few in sizes[0].items()})
        sizes.append({n: few + unit * (2 + 2**i) for i, (n, few) in enumerate(sizes[0].items())})
        try:
            found = _agreed([_try(function, args, kwargs, few) for few in sizes], sizes)
        except Exception:
            return _in_full(function, args, kwargs)
        _remember(key, found)
    arguments = _arrays_in((*args, *kwargs.values()))
    return _with_arrays(found, arguments)


class _Made:
    """A result: new, with this shape, type, and axes from the slowest to the fastest; or an argument, by its number."""

    def __init__(self, x: Any, arguments: list[Any]) -> None:
        self.argument = next((i for i, y in enumerate(arguments) if y is x), None)
        self.shape, self.dtype, self.axes = x.shape, x.dtype, axes_as_they_lie(x)


def _try(function: Callable, args: tuple, kwargs: dict, few: dict[int, int]) -> Any:
    arguments: list[Any] = []

    def small(x: Any) -> np.ndarray:
        shape = [few.get(n, n) for n in x.shape]
        if type(x) is not MetaArray and tuple(shape) == x.shape:
            made = x.copy()
        else:
            axes = axes_as_they_lie(x)
            made = np.zeros([shape[axis] for axis in axes], x.dtype).transpose(np.argsort(axes))
        arguments.append(made)
        return made

    made = _called_with(small, function, args, kwargs)
    return _noted(made, arguments)


def _noted(x: Any, arguments: list[Any]) -> Any:
    if isinstance(x, np.ndarray):
        return _Made(x, arguments)
    if isinstance(x, (list, tuple)):
        parts = [_noted(part, arguments) for part in x]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    return x


def _agreed(tries: list[Any], sizes: list[dict[int, int]]) -> Any:
    """What the tries have in common. Raises `ValueError` if they say nothing about other sizes."""
    first = tries[0]
    if isinstance(first, (list, tuple)):
        if len({len(x) for x in tries}) > 1:
            raise ValueError("results of other lengths")
        parts = [_agreed(list(x), sizes) for x in zip(*tries)]
        return type(first)(*parts) if hasattr(first, "_fields") else type(first)(parts)
    if isinstance(first, _Made):
        first.shape = tuple([_length(list(few), sizes) for few in zip(*[x.shape for x in tries], strict=True)])
        return first
    if not isinstance(first, np.generic) and not tries[0] == tries[1] == tries[2]:
        raise ValueError("results of other values")
    return first


def _length(made: list[int], sizes: list[dict[int, int]]) -> int:
    """The length for which the tries made these."""
    for n in sizes[0]:
        few = [size[n] for size in sizes]
        times = Fraction(made[1] - made[0], few[1] - few[0])
        if times and made[2] - made[0] == times * (few[2] - few[0]):
            length = made[0] + times * (n - few[0])
            if length.denominator == 1:
                return int(length)
    if made[0] == made[1] == made[2]:
        return made[0]
    raise ValueError("a length that depends on more than one")


def _with_arrays(found: Any, arguments: list[Any]) -> Any:
    if isinstance(found, _Made):
        if found.argument is not None:
            return arguments[found.argument]
        return reserve_zeros(found.shape, found.dtype, found.axes)
    if isinstance(found, (list, tuple)):
        parts = [_with_arrays(part, arguments) for part in found]
        return type(found)(*parts) if hasattr(found, "_fields") else type(found)(parts)
    return found


# -- Rules: each takes a function and its arguments ----------------------------------------------------------------------


def _argument(args, kwargs, place, name, default=None):
    """An argument that may be given at this place, or by name."""
    if len(args) > place:
        return args[place]
    return kwargs.get(name, default)


def _new(function, args, kwargs):
    """``np.zeros`` and the like. Few elements have their values."""
    place = 2 if function is np.full else 1
    shape, dtype = _argument(args, kwargs, 0, "shape"), _argument(args, kwargs, place, "dtype")
    if dtype is None:
        dtype = np.asarray(_argument(args, kwargs, 1, "fill_value")).dtype if function is np.full else float
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if min(shape, default=0) < 0 or is_small(shape, dtype):
        return function(*args, **kwargs)
    axes = range(len(shape))
    if _argument(args, kwargs, place + 1, "order") == "F":
        return reserve_zeros(shape, dtype, axes[::-1])
    return reserve_zeros(shape, dtype, axes)


def _square(function, args, kwargs):
    """``np.eye(n)`` and the like."""
    rows, columns = args[0], None if function is np.identity else _argument(args, kwargs, 1, "M")
    columns = rows if columns is None else columns
    if rows < 0 or columns < 0 or is_small((rows, columns), complex):
        return function(*args, **kwargs)
    small = function(0, *args[1 if function is np.identity else 2 :], **{**kwargs, "M": 0})
    return reserve_zeros((rows, columns), small.dtype)


def _zeros_like(function, args, kwargs):
    """``np.zeros_like`` and the like."""
    x = args[0]
    place = 2 if function is np.full_like else 1
    dtype = _argument(args, kwargs, place, "dtype") or x.dtype
    order = _argument(args, kwargs, place + 1, "order", "K")
    shape = kwargs.get("shape")
    if shape is None:
        shape = x.shape
    elif isinstance(shape, (int, np.integer)):
        shape = (shape,)
    if len(shape) != x.ndim:
        return reserve_zeros(shape, dtype, range(len(shape))[:: -1 if order == "F" else 1])
    return reserve_zeros(shape, dtype, axes_in_order(x, order))


def _copy(function, args, kwargs):
    x = args[0] if isinstance(args[0], np.ndarray) else np.asarray(args[0])
    return reserve_zeros(
        x.shape, kwargs.get("dtype") or x.dtype, axes_in_order(x, _argument(args, kwargs, 1, "order", "K"))
    )


def _astype(function, args, kwargs):
    return reserve_zeros(args[0].shape, args[1], axes_in_order(args[0], _argument(args, kwargs, 2, "order", "K")))


def _range(function, args, kwargs):
    """`np.arange` of numbers."""
    start, stop, step = (_argument(args, kwargs, i, name) for i, name in enumerate(("start", "stop", "step")))
    if stop is None:
        start, stop = 0, start
    numbers = [0 if start is None else start, stop, 1 if step is None else step]
    if all([isinstance(x, (int, float, np.integer, np.floating)) for x in numbers]) and numbers[2]:
        count = (numbers[1] - numbers[0]) / numbers[2]
        if 0 < count < math.inf and not is_small((math.ceil(count),), complex):
            dtype = function(numbers[0], numbers[0], numbers[2], _argument(args, kwargs, 3, "dtype")).dtype
            return reserve_zeros(math.ceil(count), dtype)
    return function(*args, **kwargs)


def _concatenate(function, args, kwargs):
    """`np.concatenate` and `np.stack`: along the axis, the lengths add up."""
    arrays, axis = args[0], _argument(args, kwargs, 1, "axis", 0)
    if axis is None or kwargs.get("out") is not None or not isinstance(arrays, (list, tuple)):
        return _call(function, args, kwargs)
    is_stack = function is np.stack
    if not arrays or not all([isinstance(x, np.ndarray) for x in arrays]):
        return _in_full(function, args, kwargs)
    shape = list(arrays[0].shape)
    # NumPy says of empty arrays whether the axis is one, and what type it will be.
    small = function([np.empty((0,) * x.ndim, x.dtype) for x in arrays], axis, **_without(kwargs, "axis"))
    axis %= small.ndim
    for x in arrays:
        if any([n != m for i, (n, m) in enumerate(zip(x.shape, shape)) if is_stack or i != axis]):
            return _in_full(function, args, kwargs)  # this raises
    if is_stack:
        shape.insert(axis, len(arrays))
    else:
        shape[axis] = sum([x.shape[axis] for x in arrays])
    return reserve_zeros(shape, small.dtype)


def _without(kwargs: dict, *names: str) -> dict:
    return {name: x for name, x in kwargs.items() if name not in names}


def _repeat(function, args, kwargs):
    """`np.repeat`, each element equally often."""
    x, times, axis = args[0], _argument(args, kwargs, 1, "repeats"), _argument(args, kwargs, 2, "axis")
    if not isinstance(times, (int, np.integer)) or times < 0 or not isinstance(axis, (int, np.integer, type(None))):
        return _call(function, args, kwargs)
    if axis is None:
        return reserve_zeros(x.size * times, x.dtype)
    axis = np.lib.array_utils.normalize_axis_index(axis, x.ndim)
    return reserve_zeros([n * times if i == axis else n for i, n in enumerate(x.shape)], x.dtype)


def _tile(function, args, kwargs):
    x, times = args[0], _argument(args, kwargs, 1, "reps")
    times = (times,) if isinstance(times, (int, np.integer)) else tuple(times)
    ndim = max(len(times), x.ndim)
    times = (1,) * (ndim - len(times)) + times
    if min(times, default=0) < 0:
        return _call(function, args, kwargs)
    shape = (1,) * (ndim - x.ndim) + x.shape
    return reserve_zeros([n * m for n, m in zip(shape, times)], x.dtype)


def _outer(function, args, kwargs):
    x, y = args[:2]
    if kwargs.get("out") is not None:
        return kwargs["out"]
    return reserve_zeros((x.size, y.size), np.result_type(x.dtype, y.dtype))


def _inverse(function, args, kwargs):
    """Zeros have no inverse, and NumPy would raise."""
    return _on_few(_of_few(DIFFERENT[f"linalg.{function.__name__}"], function), args, kwargs)


_of_few_known: dict[Any, Any] = {}


def _of_few(differs: Callable, function: Callable) -> Callable:
    if function not in _of_few_known:
        _of_few_known[function] = partial(differs, function)
    return _of_few_known[function]


def _no_result(function, args, kwargs):
    """It would change an argument, which has no values here."""


def _on_a_copy(function, args, kwargs):
    """What it raises, it raises here. The argument stays as it is."""
    if type(args[0]) is not MetaArray and not any([type(x) is MetaArray for x in _arrays_in((*args, *kwargs.values()))]):
        function(args[0].copy(), *args[1:], **kwargs)
    else:
        _tried_or_in_full(function, args, kwargs)


def _tried_or_in_full(function, args, kwargs):
    lengths = {n for x in _arrays_in((*args, *kwargs.values())) for n in x.shape if n > 1}
    few = {n: i for i, n in enumerate(sorted(lengths), 2)}
    try:
        _called_with(lambda x: _cut(few, x).copy(), function, args, kwargs)
    except Exception:
        _called_with(lambda x: stand_in(x) if type(x) is MetaArray else x.copy(), function, args, kwargs)


def _cast_floats(function, args, kwargs):
    given, dtype = args
    if dtype is not None and np.dtype(dtype).kind in "iu" and getattr(given, "dtype", np.dtype(int)).kind in "fc":
        return _astype(function, args, kwargs)
    return given


# -- Views ---------------------------------------------------------------------------------------------------------------


def _view(rule: Callable) -> Callable:
    """A rule for views. NumPy makes them of what's in memory."""

    def view(function, args, kwargs):
        if type(args[0]) is MetaArray:
            return rule(function, *args, **kwargs)
        return _call(function, args, kwargs)

    return view


def _by_method(function, x, *args, **kwargs):
    found = getattr(x, function.__name__)
    if callable(found):
        return found(*args, **kwargs)
    return found


def _composed(function, args, kwargs):
    """NumPy writes it with other functions, which have rules."""
    if any([type(x) is MetaArray for x in _arrays_in((*args, *kwargs.values()))]):
        return function.__wrapped__(*args, **kwargs)
    if function.__name__.endswith("stack"):
        return function.__wrapped__(*args, **kwargs)
    return function(*args, **kwargs)


def _expand_dims(function, x, axis):
    short = function(np.empty((0,) * x.ndim), axis)
    lengths = iter(x.shape)
    return x.reshape([1 if n else next(lengths) for n in short.shape])


def _at_least(function, args, kwargs):
    def made_of(x: Any) -> Any:
        if type(x) is not MetaArray:
            return function(x)
        if not x.ndim:
            return x.reshape(function(np.empty(())).shape)
        return view_along_axes(function, x)

    made = [made_of(x) for x in args]
    if len(made) == 1:
        return made[0]
    return tuple(made)


def _broadcast_to(function, args, kwargs):
    x, shape = args[0], _argument(args, kwargs, 1, "shape")
    shape = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(map(int, shape))
    if not isinstance(x, np.ndarray) or min(shape, default=0) < 0:
        return function(*args, **kwargs)
    return stretched(x, shape)


def _broadcast_arrays(function, args, kwargs):
    shape = broadcast_shape(*[x.shape for x in args])
    if shape is None:
        return _in_full(function, args, kwargs)
    return tuple([x if x.shape == shape else stretched(x, shape, is_writeable=True) for x in args])


def _diag(function, args, kwargs):
    x = args[0]
    if x.ndim == 2:
        return x.diagonal(_argument(args, kwargs, 1, "k", 0))
    return _call(function, args, kwargs)


def _trim_zeros(function, x, trim="fb", axis=None):
    """Nothing is left."""
    axes = range(x.ndim) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, x.ndim)
    return x[tuple([slice(0) if i in axes else slice(None) for i in range(x.ndim)])]


def _windows(function, x, window_shape, axis=None, **kwargs):
    """`np.lib.stride_tricks.sliding_window_view`."""
    sizes = tuple(window_shape) if np.iterable(window_shape) else (window_shape,)
    axes = tuple(range(x.ndim)) if axis is None else np.lib.array_utils.normalize_axis_tuple(axis, x.ndim, "axis", True)
    lengths = list(x.shape)
    if len(sizes) == len(axes) and min(sizes, default=0) >= 0:
        for i, size in zip(axes, sizes):
            lengths[i] -= size - 1
    if len(sizes) != len(axes) or min(sizes, default=0) < 0 or min(lengths, default=1) < 1:
        function(stand_in(x), window_shape, axis)  # this raises
    view = strided(x, (*lengths, *sizes), (*x.strides, *[x.strides[i] for i in axes]))
    view.is_writeable = False
    return view


def _size(function, args, kwargs):
    x, axis = args[0], _argument(args, kwargs, 1, "axis")
    if axis is None:
        return x.size
    return math.prod([x.shape[i] for i in np.atleast_1d(axis)])


def _shares_memory(function, args, kwargs):
    """Whether two arrays may have an element in common. NumPy can tell where both have a place in memory."""
    x, y = args[:2]
    if type(x) is not MetaArray and type(y) is not MetaArray:
        return function(*args, **kwargs)
    (begin, end), (other_begin, other_end) = extent(x), extent(y)
    if end <= other_begin or other_end <= begin:
        return False
    if function is np.may_share_memory or x.flags.forc or y.flags.forc:
        return True
    first = min(begin, other_begin)
    return function(*[np.asarray(_Placed(z, first)) for z in (x, y)], **_without(kwargs))


class _Placed:
    """For NumPy, an array at an address, which nobody reads."""

    def __init__(self, x: Any, first: int) -> None:
        self.__array_interface__ = {
            "shape": x.shape, "typestr": x.dtype.str, "strides": x.strides, "version": 3,
            "data": (address_of(x) - first + 4096, True),
        }  # fmt: skip


def _functions(text: str) -> list[Any]:
    return [getattr(np, name) for name in text.split() if hasattr(np, name)]


_REDUCTIONS = "sum prod mean var std max min all any argmax argmin"
_ALONG_AXES = "moveaxis rollaxis swapaxes squeeze flip fliplr flipud rot90 permute_dims matrix_transpose"
_RULES: dict[Any, Callable] = {
    **dict.fromkeys(_functions(_REDUCTIONS + " nansum nanprod nanmean nanmax nanmin nanvar nanstd"), _on_few),
    **dict.fromkeys([getattr(np.ndarray, name) for name in _REDUCTIONS.split()], _on_few),
    **dict.fromkeys(_functions("where clip round nan_to_num isclose einsum dot take"), _on_few),
    **dict.fromkeys(_functions("zeros ones empty full"), _new),
    **dict.fromkeys(_functions("eye identity tri"), _square), np.arange: _range,
    **dict.fromkeys(_functions("zeros_like ones_like full_like empty_like"), _zeros_like),
    **dict.fromkeys(_functions("array copy"), _copy), np.ndarray.copy: _copy, np.ndarray.astype: _astype,
    **dict.fromkeys(_functions("concatenate stack"), _concatenate),
    np.repeat: _repeat, np.tile: _tile, np.outer: _outer,
    np.ndarray.sort: _no_result, np.ndarray.partition: _no_result,
    **dict.fromkeys(_functions("copyto put putmask place put_along_axis fill_diagonal"), _on_a_copy),
    **dict.fromkeys([np.linalg.inv, np.linalg.solve, np.linalg.cholesky, np.linalg.matrix_power], _inverse),
    formulas.cast_floats: _cast_floats,
    **dict.fromkeys([*_functions(_ALONG_AXES), np.linalg.matrix_transpose], _view(view_along_axes)),
    **dict.fromkeys(_functions("reshape ravel transpose diagonal real imag"), _view(_by_method)),
    **dict.fromkeys(_functions("split array_split hsplit vsplit dsplit unstack ix_"), _composed),
    **dict.fromkeys(_functions("vstack hstack dstack column_stack"), _composed),
    **dict.fromkeys(_functions("atleast_1d atleast_2d atleast_3d"), _at_least),
    np.expand_dims: _view(_expand_dims),
    np.broadcast_to: _broadcast_to, np.broadcast_arrays: _broadcast_arrays, np.diag: _diag,
    np.lib.stride_tricks.sliding_window_view: _view(_windows),
    np.trim_zeros: _view(_trim_zeros),
    np.linalg.diagonal: _view(lambda function, x, offset=0: x.diagonal(offset, -2, -1)),
    np.shape: lambda function, args, kwargs: np.asarray(args[0]).shape if not hasattr(args[0], "shape") else args[0].shape,
    np.ndim: lambda function, args, kwargs: args[0].ndim if hasattr(args[0], "ndim") else np.ndim(args[0]),
    np.size: _view(lambda function, *args, **kwargs: _size(function, args, kwargs)),
    **dict.fromkeys(_functions("may_share_memory shares_memory"), _shares_memory),
}  # fmt: skip
