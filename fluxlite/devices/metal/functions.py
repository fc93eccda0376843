"""NumPy's functions in terms of MLX, on our arrays; and the path that every call takes.

Ufuncs are in `ufuncs.py` and functions on MLX arrays in `values.py`. Here are those that give views, need the host,
or describe an array. A function in no table is composed of other NumPy functions if the derivatives know how
(`rules.COMPOSED`). Otherwise it raises `TypeError`.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ...autodiff.rules import COMPOSED, parameter_names
from . import views
from .dtypes import mx, narrowed, number
from .indexing import wrapped_around
from .ufuncs import lacking, names, refusal, written
from .values import NOT_OF_NOTHING, ON_VALUES, pad, where
from .wrapped import Wrapped


def _like(fill: Any) -> Callable:
    def like(a: Wrapped, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Wrapped:
        dtype = np.dtype(dtype or a.dtype)
        shape = a.shape if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
        strides = views.strides_in_order(shape, dtype.itemsize, a.strides if shape == a.shape else None)
        return a.device.new(mx.full(shape, number(fill, dtype)), strides)

    return like


def _full_like(a: Wrapped, fill_value: Any, *args: Any, **kwargs: Any) -> Wrapped:
    if not isinstance(fill_value, Wrapped):
        return _like(fill_value)(a, *args, **kwargs)
    result = _like(0)(a, *args, **kwargs)
    result[...] = fill_value
    return result


def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = a_min if min is None else min, a_max if max is None else max
    a = a if low is None else np.maximum(a, low)
    return a if high is None else np.minimum(a, high)


def _take(a: Any, indices: Any, axis: int | None = None) -> Any:
    if axis is None:
        return np.ravel(a)[np.asarray(indices) if isinstance(indices, (list, tuple)) else indices]
    return a[(slice(None),) * (axis % a.ndim) + (list(indices) if isinstance(indices, tuple) else indices,)]


def _take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    places = indices.values if isinstance(indices, Wrapped) else arr.device.copy_in(np.asarray(indices), False).values
    length = arr.size if axis is None else arr.shape[axis]
    return arr.device.new(mx.take_along_axis(arr.values, wrapped_around(places, length), axis=axis))


def _padded(array: Wrapped, pad_width: Any, mode: str = "constant", constant_values: Any = 0) -> Wrapped:
    if mode == "constant":
        return call_on_values(array.device, pad, np.pad, (array, pad_width, constant_values), {})
    return _composition(np.pad, "pad")(array, pad_width, mode)


def _repeat(a: Wrapped, repeats: Any, axis: int | None = None) -> Wrapped:
    a, axis = (views.reshape(a, -1), 0) if axis is None else (a, axis)
    if isinstance(repeats, Wrapped):  # they determine the result's shape
        repeats = a.device.copy_out(repeats, "repeat", explicit=False)
    return _take(a, np.repeat(np.arange(a.shape[axis]), repeats), axis)


def _nonzero(a: Wrapped) -> tuple:
    """The host finds the elements: their number determines the result's shape."""
    found = np.nonzero(a.device.copy_out(a, "nonzero", explicit=False))
    return tuple(a.device.copy_in(places, explicit=False) for places in found)


def _copyto(dst: Wrapped, src: Any) -> None:
    if isinstance(src, np.ndarray):
        raise refusal(np.copyto, src, dst.device)
    dst[...] = src


def _device(*xs: Any) -> Any:
    return next(x.device for x in xs if isinstance(x, Wrapped))


def _choice(condition: Any, *given: Any) -> Any:
    if not given:
        return _nonzero(condition)
    return call_on_values(_device(condition, *given), where, np.where, (condition, *given), {})


def _printed(function: Callable) -> Callable:
    return lambda a, *args, **kwargs: function(a.device.copy_out(a, function.__name__, False), *args, **kwargs)


def _of_dtypes(function: Callable) -> Callable:
    return lambda *given, **kwargs: function(*(x.dtype if isinstance(x, Wrapped) else x for x in given), **kwargs)


ON_ARRAYS: dict[str, Callable] = {
    "transpose": views.transpose,
    "swapaxes": views.swapaxes,
    "moveaxis": views.moveaxis,
    "matrix_transpose": lambda x: views.swapaxes(x, -1, -2),
    "reshape": views.reshape,
    "ravel": lambda a, order="C": views.reshape(a, -1, order),
    "expand_dims": views.expand_dims,
    "squeeze": views.squeeze,
    "flip": views.flip,
    "broadcast_to": views.broadcast_to,
    "copy": lambda a, order="K": a.copy(order),
    "ascontiguousarray": lambda a: a if a.flags.c_contiguous else a.copy(),
    "copyto": _copyto,
    "zeros_like": _like(0),
    "empty_like": _like(0),
    "ones_like": _like(1),
    "full_like": _full_like,
    "clip": _clip,
    "where": _choice,
    "take": _take,
    "pad": _padded,
    "repeat": _repeat,
    "take_along_axis": _take_along_axis,
    "nonzero": _nonzero,
    "flatnonzero": lambda a: _nonzero(views.reshape(a, -1))[0],
    "argwhere": lambda a: np.stack(_nonzero(a), axis=-1),
    "shape": lambda a: a.shape,
    "ndim": lambda a: a.ndim,
    "size": lambda a, axis=None: a.size if axis is None else a.shape[axis],
    "iscomplexobj": lambda x: x.dtype.kind == "c",
    "isrealobj": lambda x: x.dtype.kind != "c",
    "result_type": _of_dtypes(np.result_type),
    "can_cast": _of_dtypes(np.can_cast),
    "min_scalar_type": _of_dtypes(np.min_scalar_type),
    "array_repr": _printed(np.array_repr),
    "array_str": _printed(np.array_str),
    "array2string": _printed(np.array2string),
}
# NumPy functions that MLX lacks, and what we do instead. `test_metal.py` checks the installed MLX.
LACKING: dict[str, frozenset[str]] = {
    "computed otherwise, in a line": names(
        """
        amax amin around asanyarray ascontiguousarray cbrt copy copysign copyto exp2 fmax fmin fmod heaviside hypot
        lib.stride_tricks.sliding_window_view logaddexp2 ravel signbit sinc
        """
    ),
    "made of other functions, as for derivatives": names(
        """
        append array_split average block choose column_stack compress corrcoef cov cross delete dot dsplit dstack
        ediff1d extract fix fliplr flipud gradient hsplit hstack insert interp linalg.matrix_power linalg.multi_dot
        linalg.vecdot linalg.vector_norm nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar
        percentile piecewise polyval ptp quantile rollaxis rot90 select trapezoid vander vdot vsplit vstack
        """
    ),
    "found on the host, after a wait: how many there are is the shape": names("argwhere flatnonzero nonzero"),
    "known without asking the device": names("iscomplexobj isrealobj min_scalar_type ndim shape size"),
    "printed on the host": names("array2string array_repr array_str"),
    "raises: nothing in a neural network needs it": names(
        """
        angle apply_along_axis apply_over_axes array_equiv asfortranarray bincount bitwise_count common_type correlate
        diag_indices_from diagflat digitize fft.hfft fft.ihfft fill_diagonal frexp fromfunction gcd geomspace histogram
        histogram2d histogram_bin_edges histogramdd i0 intersect1d iscomplex isin isreal ix_ lcm ldexp lexsort
        linalg.cond linalg.diagonal linalg.lstsq linalg.matmul linalg.matrix_norm linalg.matrix_rank
        linalg.matrix_transpose linalg.outer linalg.svdvals linalg.tensordot linalg.tensorinv linalg.tensorsolve
        linalg.trace logspace matvec may_share_memory modf nanargmax nanargmin nanmedian nanpercentile nanquantile
        nextafter packbits place poly polyadd polyder polydiv polyfit polyint polymul polysub put putmask
        ravel_multi_index real_if_close require resize roots setdiff1d setxor1d shares_memory sort_complex spacing
        tril_indices_from trim_zeros triu_indices_from union1d unique_all unique_counts unique_inverse unique_values
        unpackbits unravel_index unwrap vecmat
        """
    ),
    "raises: it is about files, text or dates": names(
        """
        busday_count busday_offset datetime_as_string frombuffer fromfile fromiter fromstring genfromtxt
        is_busday isnat loadtxt savetxt
        """
    ),
}
# Their derivatives are made of others, their values are not: they raise as well.
NEEDING_THEMSELVES = names("bincount histogram linalg.eigh linalg.svd linalg.svdvals unique")
LACKING_MODULES = ("lib.recfunctions", "lib.scimath")  # raise as well

# Arguments that MLX doesn't take but NumPy does, and what we do instead.
LACKING_WAYS = {
    "add(out=)": "computed, then written",
    "sum(dtype=)": "converted first",
    "x[mask]": "the places are found on the host",
    "x[host array]": "copied to the device",
    "matmul of integers": "multiplied and summed",
    "einsum of integers": "raises",
    "var with a fraction as ddof": "squared and summed",
    "nan_to_num of Float64": "chosen by np.where",
}

# These make an array from host values, on the device of ``like=x``.
FROM_HOST = names("array asarray asanyarray arange zeros ones full empty eye identity")


# ---------------------------------------------------------------------------------------------
# The path that every call takes
# ---------------------------------------------------------------------------------------------


def call(device: Any, function: Callable, args: tuple, kwargs: dict) -> Any:
    """The result of ``function(*args, **kwargs)``, where some arguments are our arrays."""
    name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
    if name in FROM_HOST:
        return _from_host(device, function, args, kwargs)
    out = kwargs.get("out")
    given = {key: value for key, value in kwargs.items() if key != "out"}
    if name in NOT_OF_NOTHING and isinstance(args[0], Wrapped) and args[0].size == 0:
        result = _of_nothing(device, function, args, given)
    elif name in ON_ARRAYS:
        result = _checked(name, ON_ARRAYS[name], given)(*args, **given)
    elif name in ON_VALUES:
        result = call_on_values(device, _checked(name, ON_VALUES[name], given), function, args, given)
    else:
        result = _checked(name, _composition(function, name), given)(*args, **given)
    return result if out is None else written(function, out[0] if isinstance(out, tuple) else out, result)


def _composition(function: Callable, name: str) -> Callable:
    """How to compose `function` of others. The derivatives' recipes work for plain arrays too."""
    from ...autodiff.derivatives import rarer  # noqa: F401  (fills the table)

    if function not in COMPOSED or name in NEEDING_THEMSELVES:
        raise lacking(name)
    return COMPOSED[function]


def call_on_values(device: Any, ours: Callable, function: Callable, args: tuple, kwargs: dict) -> Any:
    """Unwrap the MLX arrays, compute, and wrap the results."""

    def unwrapped(x: Any) -> Any:
        if isinstance(x, Wrapped):
            return x.values
        if isinstance(x, (list, tuple)):
            return type(x)(map(unwrapped, x))
        if isinstance(x, np.ndarray):
            raise refusal(function, x, device)
        return x

    result = ours(*map(unwrapped, args), **{key: unwrapped(x) for key, x in kwargs.items()})
    return tuple(map(device.new, result)) if isinstance(result, (list, tuple)) else device.new(result)


def _of_nothing(device: Any, function: Callable, args: tuple, kwargs: dict) -> Any:
    """`function` of an array without elements. There are no numbers to compute with, so NumPy can do it."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # the mean of nothing is NaN, and a GPU doesn't warn about it
        result = function(np.zeros(args[0].shape, args[0].dtype), *args[1:], **kwargs)
    results = [np.asarray(part) for part in (result if isinstance(result, tuple) else (result,))]
    made = [device.copy_in(x.astype(narrowed(x.dtype, args[0].dtype)), explicit=False) for x in results]
    return tuple(made) if isinstance(result, tuple) else made[0]


def _checked(name: str, ours: Callable, kwargs: dict) -> Callable:
    """Return `ours` if it takes these keywords."""
    known = parameter_names(ours)
    for keyword in kwargs:
        if keyword not in known and not ours.__code__.co_flags & inspect.CO_VARKEYWORDS:
            raise TypeError(f"np.{name} takes no keyword {keyword!r} for arrays on Metal; it takes {', '.join(known)}")
    return ours


def _from_host(device: Any, function: Callable, args: tuple, kwargs: dict) -> Any:
    """``np.asarray(values, like=x)``. Numbers without a dtype become Float32, not NumPy's Float64."""
    if args and isinstance(args[0], Wrapped):
        return args[0].copy() if function is np.array else args[0]
    made = np.asarray(function(*args, **kwargs))
    return device(made, dtype=None) if "dtype" in kwargs else device.copy_in(made.astype(narrowed(made.dtype)))
