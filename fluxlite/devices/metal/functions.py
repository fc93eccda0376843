"""NumPy's functions in terms of MLX, on our arrays; and the path that every call takes.

Ufuncs are in `ufuncs.py`. A function in no table here is composed of other NumPy functions if the derivatives know how
(`rules.COMPOSED`). Otherwise it raises `TypeError`.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ...autodiff.rules import COMPOSED
from ..simulated import refusal
from .array import MetalArray
from .dtypes import as_dtype, kind, mean_dtype, mx, narrowed, result_type, total_dtype
from .ufuncs import lacking, names, written


def call(device: Any, function: Callable, args: tuple, kwargs: dict) -> Any:
    """The result of ``function(*args, **kwargs)``, where some arguments are our arrays."""
    name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
    out = kwargs.get("out")
    try:
        result = _computed(name, device, function, args, {key: x for key, x in kwargs.items() if key != "out"})
    except Exception as error:
        error.add_note(f"This was np.{name}, for arrays on {device}.")
        raise
    return result if out is None else written(function, out[0] if isinstance(out, tuple) else out, result)


def _computed(name: str, device: Any, function: Callable, args: tuple, kwargs: dict) -> Any:
    if name == "where" and len(args) == 1:
        return _nonzero(*args)
    if name in FROM_HOST:
        return _from_host(device, function, args, kwargs)
    if name in OF_LAYOUTS:
        return function(*[getattr(x, "layout", x) for x in args], **kwargs)
    if name in VIEWS:
        layout = function(*[getattr(x, "layout", x) for x in args], **kwargs)
        return args[0].view(layout) if isinstance(layout, np.ndarray) else args[0]  # a number, flipped
    if name in PRINTED:
        return function(device.copy_out(args[0], name, False), *args[1:], **kwargs)
    if name in ON_ARRAYS:
        return ON_ARRAYS[name](*args, **kwargs)
    if name not in ON_VALUES:
        return _composition(function, name)(*args, **kwargs)
    if any(isinstance(x, MetalArray) and x.size == 0 for x in args):
        return _of_nothing(device, function, args, kwargs)
    return _on_values(device, ON_VALUES[name], function, args, kwargs)


def _from_host(device: Any, function: Callable, args: tuple, kwargs: dict) -> Any:
    """``np.asarray(values, like=x)``. Numbers without a dtype become Float32, not NumPy's Float64."""
    if args and isinstance(args[0], MetalArray):
        return args[0].copy() if function is np.array else args[0]
    made = np.asarray(function(*args, **kwargs))
    return device(made, dtype=None) if "dtype" in kwargs else device.copy_in(made.astype(narrowed(made.dtype)))


def _on_values(device: Any, ours: Callable, function: Callable, args: tuple, kwargs: dict) -> Any:
    def unwrapped(x: Any) -> Any:
        if isinstance(x, MetalArray):
            return x.values
        if isinstance(x, (list, tuple)):
            return type(x)(map(unwrapped, x))
        if isinstance(x, np.ndarray):
            raise refusal(function, x, device)
        return x

    result = ours(*map(unwrapped, args), **{key: unwrapped(x) for key, x in kwargs.items()})
    return tuple(map(device.new, result)) if isinstance(result, (list, tuple)) else device.new(result)


def _of_nothing(device: Any, function: Callable, args: tuple, kwargs: dict) -> Any:
    """`function` of an array without elements, computed by NumPy: to MLX, all of nothing is False."""
    args = tuple([np.zeros(x.shape, x.dtype) if isinstance(x, MetalArray) else x for x in args])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # the mean of nothing is NaN, and a GPU doesn't warn about it
        result = function(*args, **kwargs)
    several = map(np.asarray, result if isinstance(result, tuple) else (result,))
    kinds = [x.dtype for x in args if isinstance(x, np.ndarray)]
    made = [device.copy_in(x.astype(narrowed(x.dtype, *kinds)), explicit=False) for x in several]
    return tuple(made) if isinstance(result, tuple) else made[0]


def _composition(function: Callable, name: str) -> Callable:
    """How to compose `function` of others. The derivatives' recipes work for plain arrays too."""
    from ...autodiff.derivatives import rarer  # noqa: F401  (fills the table)

    if function not in COMPOSED or name in NEEDING_THEMSELVES:
        raise lacking(name)
    return COMPOSED[function]


# -- functions on our arrays ------------------------------------------------------------------------------------------


def _reshape(a: MetalArray, shape: Any, order: Any = "C", copy: Any = None) -> Any:
    """A view where NumPy gives one, otherwise a copy."""
    if order == "F":
        return _reshape(a.T, shape[::-1] if isinstance(shape, (tuple, list)) else shape).T
    try:
        layout = np.reshape(a.layout, shape, **_NO_COPY)
    except ValueError:
        layout = np.empty_like(a.layout, order="C").reshape(shape)
    if np.may_share_memory(layout, a.layout):
        return a.view(layout)
    return a.device.new(a.values.reshape(layout.shape))


# NumPy 2.0 can't be asked whether a view is possible: it copies the layout, which takes time.
_NO_COPY: dict[str, Any] = {"copy": False} if np.lib.NumpyVersion(np.__version__) >= "2.1.0" else {}


def _full_like(a: Any, fill_value: Any, *args: Any, **kwargs: Any) -> Any:
    layout = np.empty_like(a.layout, *args, **kwargs)
    fill = as_dtype(fill_value.values if isinstance(fill_value, MetalArray) else fill_value, layout.dtype)
    return a.device.new(mx.full(layout.shape, fill), layout)


def _filled_with(number: int) -> Callable:
    return lambda a, *args, **kwargs: _full_like(a, number, *args, **kwargs)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = a_min if min is None else min, a_max if max is None else max
    a = a if low is None else np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


def _take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    places = indices if isinstance(indices, MetalArray) else arr.device.copy_in(np.asarray(indices), explicit=False)
    length = arr.size if axis is None else arr.shape[axis]
    return arr.device.new(mx.take_along_axis(arr.values, places.values % max(length, 1), axis=axis))


def _pad(array: MetalArray, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> MetalArray:
    """Pad axis by axis: MLX takes one constant for all sides, NumPy one per side."""
    if mode != "constant":
        return _composition(np.pad, "pad")(array, pad_width, mode)
    values, fills = array.values, np.broadcast_to(constant_values, (array.ndim, 2)).tolist()
    for axis, widths in enumerate(np.broadcast_to(pad_width, (array.ndim, 2)).tolist()):
        shapes = [(*values.shape[:axis], width, *values.shape[axis + 1 :]) for width in widths]
        before, after = (mx.full(shape, as_dtype(fill, array.dtype)) for shape, fill in zip(shapes, fills[axis]))
        values = mx.concatenate([before, values, after], axis=axis)
    return array.device.new(values)


def _repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    a, axis = (_reshape(a, -1), 0) if axis is None else (a, axis)
    if isinstance(repeats, MetalArray):  # they determine the result's shape
        repeats = a.device.copy_out(repeats, "repeat", explicit=False)
    return np.take(a, np.repeat(np.arange(a.shape[axis]), repeats), axis)


def _nonzero(a: MetalArray) -> tuple:
    """The host finds the elements: their number determines the result's shape."""
    found = np.nonzero(a.device.copy_out(a, "nonzero", explicit=False))
    return tuple(a.device.copy_in(places, explicit=False) for places in found)


# -- functions on MLX arrays ------------------------------------------------------------------------------------------


def _same(name: str) -> Callable:
    return lambda *args, **kwargs: getattr(mx, name)(*args, **kwargs)


def _position(name: str) -> Callable:
    return lambda *args, **kwargs: getattr(mx, name)(*args, **kwargs).astype(mx.int64)


def _total(name: str, dtype_of: Callable) -> Callable:
    """`mx.sum` and others, which compute in the type that `dtype_of` says."""

    def total(a: Any, axis: Any = None, dtype: Any = None, **keywords: Any) -> Any:
        return getattr(mx, name)(as_dtype(a, dtype or dtype_of(kind(a))), axis=axis, **keywords)

    return total


def _deviation(power: float) -> Callable:
    """The variance to this power: 1, or 0.5 for the standard deviation. MLX's takes no fractional ddof."""

    def deviation(a: Any, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False) -> Any:
        wide = as_dtype(a, dtype or mean_dtype(kind(a)))
        squares = mx.square(wide - mx.mean(wide, axis=axis, keepdims=True))
        total = mx.sum(squares, axis=axis, keepdims=keepdims)
        return mx.power(total / max(a.size // max(total.size, 1) - ddof, 0), power)

    return deviation


def _where(condition: Any, x: Any, y: Any) -> Any:
    return mx.where(as_dtype(condition, bool), *_together(x, y))


def _together(*xs: Any) -> list:
    """MLX arrays and numbers as arrays of one dtype that can hold them all."""
    dtype = result_type(*map(kind, xs))
    return [as_dtype(x, dtype) for x in xs]


def _concatenate(arrays: Any, axis: int | None = 0, *, dtype: Any = None) -> Any:
    arrays = [x if dtype is None else as_dtype(x, dtype) for x in _together(*arrays)]
    return mx.concatenate([x.reshape(-1) for x in arrays] if axis is None else arrays, axis=axis or 0)


# -- the tables -------------------------------------------------------------------------------------------------------

# These make an array from host values, on the device of ``like=x``.
FROM_HOST = names("array asarray asanyarray arange zeros ones full empty eye identity")
# NumPy knows these from the layout, and views have a layout that NumPy makes.
OF_LAYOUTS = names("shape ndim size iscomplexobj isrealobj result_type can_cast shares_memory")
VIEWS = names(
    "transpose swapaxes moveaxis matrix_transpose expand_dims squeeze flip broadcast_to "
    "lib.stride_tricks.sliding_window_view"
)
PRINTED = names("array_repr array_str array2string")
# Their derivatives are made of others, their values are not: they raise.
NEEDING_THEMSELVES = names("bincount histogram linalg.eigh linalg.slogdet linalg.svd linalg.svdvals unique")

ON_ARRAYS: dict[str, Callable] = {
    "reshape": _reshape,
    "ravel": lambda a, order="C": _reshape(a, -1, order),
    "copy": lambda a, order="K": a.copy(order),
    "ascontiguousarray": lambda a: a if a.flags.c_contiguous else a.copy(),
    "copyto": lambda dst, src: dst.__setitem__(..., src),
    "full_like": _full_like,
    **{f"{name}_like": _filled_with(number) for name, number in (("zeros", 0), ("empty", 0), ("ones", 1))},
    "clip": _clip,
    "take_along_axis": _take_along_axis,
    "pad": _pad,
    "repeat": _repeat,
    "nonzero": _nonzero,
    "flatnonzero": lambda a: _nonzero(_reshape(a, -1))[0],
    "argwhere": lambda a: np.stack(_nonzero(a), axis=-1),
}
# In both libraries they take the same arguments, up to the first one's name.
_SAME = names(
    "max min amax=max amin=min any all sort round around=round roll tril triu real imag isclose allclose array_equal"
)
ON_VALUES: dict[str, Callable] = {
    **{name: _same(theirs) for name, theirs in _SAME.items()},
    **{name: _position(name) for name in ("argmax", "argmin", "argsort", "argpartition", "searchsorted")},
    **{name: _total(name, total_dtype) for name in ("sum", "prod", "cumsum", "cumprod")},
    "mean": _total("mean", mean_dtype),
    "var": _deviation(1),
    "std": _deviation(0.5),
    "count_nonzero": lambda a, *args, **kwargs: mx.sum((a != 0).astype(mx.int64), *args, **kwargs),
    "where": _where,
    "concatenate": _concatenate,
    "stack": lambda arrays, axis=0: mx.stack(_together(*arrays), axis=axis),
    "einsum": lambda subscripts, *operands, optimize=False: mx.einsum(subscripts, *_together(*operands)),
}
