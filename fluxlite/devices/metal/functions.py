"""NumPy's ufuncs and functions in terms of MLX's, on our arrays; or composed of these, as derivatives are.

NumPy's types hold, with one exception: where NumPy makes float64 of other types, as in ``x / 2`` for integers, we give
float32, the widest on an Apple GPU. Only where MLX runs on the CPU can ``device(x, dtype=None)`` keep float64.
"""

import functools
from collections.abc import Callable
from typing import Any

import mlx.core as mx
import numpy as np

from ..plugin import COMPARISONS, COMPOSED, SCALARS, load_rarer, refusal
from .array import MetalArray, as_dtype, numpy_dtype


def lacking(name: str) -> TypeError:
    return TypeError(f"np.{name} does not exist for arrays on Metal: move the array to the CPU first, cpu(x)")


def _named(table: str) -> dict[str, Callable]:
    """MLX's functions by NumPy's names: "sin absolute=abs" gives ``{"sin": mx.sin, "absolute": mx.abs}``."""
    pairs = (word.partition("=") for word in table.split())
    return {name: getattr(mx, theirs or name) for name, _, theirs in pairs}


# The operands already have the types that NumPy computes in.
UFUNCS: dict[str, Callable] = _named("""
    add subtract multiply divide floor_divide remainder power float_power=power negative positive absolute=abs fabs=abs
    sqrt square reciprocal expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh
    arcsinh arccosh arctanh exp degrees radians rad2deg=degrees deg2rad=radians floor ceil rint=round trunc divmod
    maximum minimum equal not_equal less less_equal greater greater_equal isnan isinf isfinite
    logical_and logical_or logical_xor logical_not bitwise_and bitwise_or bitwise_xor invert=bitwise_invert
    left_shift right_shift conjugate matmul logaddexp
""") | {
    "sign": lambda x: mx.where(mx.isnan(x), x, mx.sign(x)),  # MLX gives 0 for NaN
    "vecdot": lambda x, y: mx.sum(x * y, axis=-1),
}


def call_ufunc(device: Any, ufunc: np.ufunc, method: str, inputs: tuple, kwargs: dict) -> Any:
    name = ufunc.__name__
    refused = "".join(f"(…, {keyword}=…)" for keyword in kwargs if keyword != "out")
    if method != "__call__" or name not in UFUNCS or refused:
        raise lacking(name + (refused if method == "__call__" else f".{method}"))
    for x in inputs:
        is_number = isinstance(x, SCALARS) or isinstance(x, np.ndarray) and x.ndim == 0 and ufunc in COMPARISONS
        if not is_number and not isinstance(x, MetalArray):
            raise refusal(ufunc, x, device)
    # What determines a result's dtype: an array's, or a Python number's class, since numbers adapt.
    kinds = [type(x) if type(x) in (int, float, complex) else getattr(x, "dtype", np.dtype(bool)) for x in inputs]
    dtypes = _loop(ufunc, tuple(kinds))
    values = [as_dtype(getattr(x, "values", x), dtype) for x, dtype in zip(inputs, dtypes)]
    made = UFUNCS[name](*values)
    if ufunc.nout > 1:  # divmod
        return tuple([device.new(as_dtype(x, dtype)) for x, dtype in zip(made, dtypes[ufunc.nin :])])
    (out,) = kwargs.get("out", (None,))
    if out is None:
        return device.new(as_dtype(made, dtypes[-1]))
    if not isinstance(out, MetalArray):
        raise refusal(ufunc, out, device)
    if not np.can_cast(dtypes[-1], out.dtype, "same_kind"):  # no number may lose its fraction
        raise TypeError(f"{name}: can't write {dtypes[-1]} into an array of {out.dtype}")
    return out.replace(as_dtype(made, out.dtype))


@functools.cache
def _loop(ufunc: np.ufunc, kinds: tuple) -> list[np.dtype]:
    """The dtypes that a ufunc computes with for operands of these kinds: the operands', then the results'."""
    return [_narrowed(dtype, *kinds) for dtype in ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))]


_NARROWER = {np.dtype("f8"): np.dtype("f4"), np.dtype("c16"): np.dtype("c8")}


def _narrowed(dtype: np.dtype, *kinds: Any) -> np.dtype:
    """float32 instead of float64, unless float64 was among the kinds."""
    has_wide = any(isinstance(kind, np.dtype) and kind in _NARROWER for kind in kinds)
    return dtype if has_wide else _NARROWER.get(dtype, dtype)


def call_function(device: Any, function: Callable, args: tuple, kwargs: dict) -> Any:
    name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
    try:
        if name in FROM_HOST:
            return _from_host(device, function, args, kwargs)
        if name in OF_LAYOUTS:
            return _of_layouts(function, args, kwargs)
        if name in ON_ARRAYS:
            return ON_ARRAYS[name](*args, **kwargs)
        if name in ON_VALUES:
            return _on_values(device, function, ON_VALUES[name], args, kwargs)
        if function not in COMPOSED:
            load_rarer()
        if function not in COMPOSED or name in _OF_THEMSELVES:
            raise lacking(name)
        return COMPOSED[function](*args, **kwargs)
    except Exception as error:
        error.add_note(f"This was np.{name}, for arrays on {device}.")
        raise


def _of_layouts(function: Callable, args: tuple, kwargs: dict) -> Any:
    found = function(*[getattr(x, "layout", x) for x in args], **kwargs)
    if isinstance(found, np.generic):  # from an array of shape (), flipped
        return args[0]
    if isinstance(found, np.ndarray):
        return args[0].view(found)
    return found


def _from_host(device: Any, function: Callable, args: tuple, kwargs: dict) -> Any:
    """``np.asarray(values, like=x)``. Numbers without a dtype become float32, not NumPy's float64."""
    if args and isinstance(args[0], MetalArray):
        if function is np.array:
            return args[0].copy()
        return args[0]
    made = np.asarray(function(*args, **kwargs))
    if "dtype" not in kwargs:
        made = made.astype(_narrowed(made.dtype))
    return device.upload(made)


def _on_values(device: Any, function: Callable, ours: Callable, args: tuple, kwargs: dict) -> Any:
    if any(isinstance(x, MetalArray) and x.size == 0 for x in args):  # MLX would read memory outside of it
        hosts = [np.zeros(x.shape, x.dtype) if isinstance(x, MetalArray) else x for x in args]
        result: Any = np.asarray(function(*hosts, **kwargs))
        return device.upload(result.astype(_narrowed(result.dtype, *(getattr(x, "dtype", x) for x in hosts))), False)

    def unwrapped(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            raise refusal(function, x, device)
        if isinstance(x, (list, tuple)):
            return type(x)(map(unwrapped, x))
        if isinstance(x, MetalArray):
            return x.values
        if isinstance(x, np.generic):
            return x.item()
        return x

    result = ours(*map(unwrapped, args), **{key: unwrapped(x) for key, x in kwargs.items()})
    if function.__name__.startswith("arg"):  # positions: MLX's are uint32
        result = result.astype(mx.int64)
    return device.new(result)


def _reshape(a: MetalArray, shape: Any, order: Any = "C") -> MetalArray:
    """A view where NumPy gives one, otherwise a copy."""
    if order == "F":
        if isinstance(shape, (tuple, list)):
            shape = shape[::-1]
        return _reshape(a.T, shape).T
    layout = np.reshape(a.layout, shape)
    if np.may_share_memory(layout, a.layout):
        return a.view(layout)
    return a.device.new(a.values.reshape(layout.shape))


def _filled(a: MetalArray, *args: Any, fill_value: Any = 0, **kwargs: Any) -> MetalArray:
    layout = np.empty_like(a.layout, *args, **kwargs)
    fill = as_dtype(getattr(fill_value, "values", fill_value), layout.dtype)
    return a.device.new(mx.full(layout.shape, fill), layout)


def _total(name: str) -> Callable:
    """`mx.sum` and others. Integers are accumulated in 64 bits."""

    def total(a: Any, axis: Any = None, dtype: Any = None, **kwargs: Any) -> Any:
        wide = dtype or {"b": "i8", "i": "i8", "u": "u8"}.get(numpy_dtype(a.dtype).kind)
        if wide:
            a = as_dtype(a, wide)
        return getattr(mx, name)(a, axis=axis, **kwargs)

    return total


def _take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    length = arr.size if axis is None else arr.shape[axis]
    return mx.take_along_axis(arr, indices.astype(mx.int64) % length, axis=axis)


def _pad(array: Any, pad_width: Any, *how: Any, **constant: Any) -> Any:
    mode = how[0] if how else constant.get("mode", "constant")
    if mode not in ("constant", "edge"):
        raise TypeError(f"np.pad, for arrays on Metal, has the modes 'constant' and 'edge', got {mode!r}")
    return mx.pad(array, np.broadcast_to(pad_width, (array.ndim, 2)).tolist(), *how, **constant)


# These make an array from host values, on the device of ``like=x``.
FROM_HOST = {"array", "asarray", "arange", "zeros", "ones", "full", "empty", "eye", "identity"}
# NumPy knows these from the layout; and views have a layout that NumPy makes.
OF_LAYOUTS = {
    "shape", "ndim", "size", "iscomplexobj", "result_type", "can_cast", "shares_memory", "transpose", "swapaxes",
    "moveaxis", "matrix_transpose", "expand_dims", "squeeze", "flip", "broadcast_to",
    "lib.stride_tricks.sliding_window_view",
}  # fmt: skip
# Their derivatives are made of others, their values are not: they raise.
_OF_THEMSELVES = {"bincount", "histogram", "linalg.eigh", "linalg.slogdet", "linalg.svd", "linalg.svdvals", "unique"}

ON_ARRAYS: dict[str, Callable] = {
    "reshape": _reshape,
    "ravel": lambda a, order="C": _reshape(a, -1, order),
    "copy": lambda a, order="K": a.copy(order),
    "zeros_like": _filled,
    "empty_like": _filled,
    "ones_like": functools.partial(_filled, fill_value=1),
    "full_like": lambda a, fill_value, *args, **kwargs: _filled(a, *args, fill_value=fill_value, **kwargs),
}
# The first ones take the same arguments in both libraries, except for the first argument's name.
ON_VALUES: dict[str, Callable] = _named("""
    max min amax=max amin=min mean var std any all sort argmax argmin round around=round repeat tril triu
    real imag concatenate stack where isclose allclose array_equal
""") | {
    **{name: _total(name) for name in ("sum", "prod", "cumsum", "cumprod")},
    "argsort": lambda a, axis=-1, kind=None: mx.argsort(a, axis=axis),  # always stable
    "clip": lambda a, a_min=None, a_max=None: mx.clip(a, a_min, a_max),
    "einsum": lambda subscripts, *operands, optimize=False: mx.einsum(subscripts, *operands),
    "take_along_axis": _take_along_axis,
    "pad": _pad,
}
