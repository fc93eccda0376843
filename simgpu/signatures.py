"""CuPy's functions with a signature of their own: they take other arguments than NumPy's, or NumPy hasn't got them.

Here is what they take. What they then compute is NumPy's, or in `values.py`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from . import surface
from .arrays import SimulatedArray
from .creation import asarray
from .device import current, on_device
from .dispatch import call
from .memory import Stored
from .refusals import refusal
from .words import in_words


def get_array_module(*args: Any) -> Any:
    """simgpu if one of these is an array on a device, otherwise NumPy (`cupy.get_array_module`)."""
    if any(isinstance(x, Stored) for x in args):
        return surface.here()
    return np


def is_available() -> bool:
    """There's always a simulated GPU."""
    return True


def _place_of(name: str) -> Callable:
    def function(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
        if not name.startswith("nan"):
            return getattr(a, name)(axis, out, dtype, keepdims)
        given = {key: value for key, value in (("out", out), ("keepdims", keepdims)) if value is not None}
        places = getattr(np, name)(on_device(function, a), axis, **given)
        if dtype is None:
            return places
        return places.astype(dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`cupy.{name}`: the place of an element, as `dtype`."
    return function


argmax, argmin, nanargmax, nanargmin = map(_place_of, ("argmax", "argmin", "nanargmax", "nanargmin"))


def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: Any = None) -> Any:
    """How many points are in each rectangle, and the edges along both axes."""
    x, y = on_device(np.histogram2d, x), on_device(np.histogram2d, y)
    return np.histogram2d(x, y, bins, range, density, weights)


def histogramdd(sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: Any = False) -> Any:
    """How many points, the rows of `sample` or its arrays, are in each box, and a list of the edges."""
    if isinstance(bins, (list, tuple)) and not all(isinstance(b, (int, np.integer, Stored)) for b in bins):
        raise ValueError("histogramdd takes bins as numbers or as arrays on the device")
    on_device(np.histogramdd, sample if isinstance(sample, Stored) else sample[0])
    return np.histogramdd(sample, bins, range, bool(density), weights)


def _share_of(name: str) -> Callable:
    def function(a: Any, q: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(q, (int, float)):
            q = asarray(q)
        return getattr(np, name)(on_device(function, a), q, *args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`cupy.{name}`. A list `q` is copied to the device."
    return function


percentile, quantile = map(_share_of, ("percentile", "quantile"))


def may_share_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether the memory that one array spans and that of the other overlap."""
    if max_work is not None:
        raise NotImplementedError("Only supported for `max_work` is `None`")
    return np.may_share_memory(on_device(np.may_share_memory, a), on_device(np.may_share_memory, b))


def shares_memory(a: Any, b: Any, max_work: Any = None) -> bool:
    """Whether two arrays have an element in common. For "MAY_SHARE_BOUNDS", only whether their memory overlaps."""
    if max_work == "MAY_SHARE_BOUNDS":
        return may_share_memory(a, b)
    if max_work not in (None, "MAY_SHARE_EXACT"):
        raise NotImplementedError("Not supported for integer `max_work`.")
    return np.shares_memory(on_device(np.shares_memory, a), on_device(np.shares_memory, b))


def put(a: Any, ind: Any, v: Any, mode: str = "wrap") -> None:
    """Write `v` at the places `ind` in the flattened array."""
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"put: mode is 'raise', 'wrap' or 'clip', got {mode!r}")
    return a.put(ind, v, mode)


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "wrap", order: str = "C") -> Any:
    """Places in a flattened array, from places along each axis. CuPy wraps around what's out of range."""
    multi_index = tuple(multi_index)
    if isinstance(dims, np.ndarray):
        dims = tuple(dims.tolist())
    return call(np.ravel_multi_index, (multi_index, dims, mode, order), {}, multi_index[0].device)


def piecewise(x: Any, condlist: Any, funclist: Any) -> Any:
    """For each element of `x`, the number in `funclist` whose condition holds. CuPy takes no functions there."""
    x = asarray(x) if np.isscalar(x) else on_device(np.piecewise, x)
    return call(np.piecewise, (x, condlist, funclist), {}, x.device)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """For each place, the choice whose condition is the first to hold there."""
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(f"select takes as many choices as conditions, got {len(choicelist)} and {len(condlist)}")
    if not np.isscalar(default):
        raise TypeError(f"select on a GPU takes a number as default, got {in_words(default)}")
    if wrong := [x for x in condlist if not isinstance(x, Stored)]:
        raise AttributeError(f"select takes arrays on the device as conditions, got {in_words(wrong[0])}")
    return call(np.select, (condlist, choicelist, default), {}, condlist[0].device)


def einsum(*operands: Any, **kwargs: Any) -> Any:
    """Sums of products, by Einstein's convention."""
    if any(isinstance(x, Stored) for x in operands):
        return np.einsum(*operands, **kwargs)
    has_text = bool(operands) and isinstance(operands[0], str)  # otherwise the lists are axes
    for x in operands:
        if isinstance(x, np.ndarray) or isinstance(x, list) and has_text:
            raise refusal(np.einsum, x, current(), alone=True)
    return asarray(np.einsum(*operands, **kwargs))  # of numbers


def meshgrid(*xi: Any, indexing: str = "xy", copy: bool = True, sparse: bool = False) -> tuple:
    """The coordinates of a grid, from those along each of its axes, which are arrays with one axis."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is 'xy' or 'ij', got {indexing!r}")
    if wrong := [x for x in xi if x.ndim != 1 or not isinstance(x, Stored)]:
        raise ValueError(f"meshgrid takes arrays on the device with one axis, got {in_words(wrong[0])}")
    if len(xi) < 2:
        return xi
    return tuple(call(np.meshgrid, xi, {"indexing": indexing, "copy": copy, "sparse": sparse}, xi[0].device))


def load(file: Any, mmap_mode: Any = None, allow_pickle: Any = None) -> Any:
    """The array in a .npy file, on the device in use. For an .npz file, an object that gives each array by its name."""
    values = np.load(file, mmap_mode, bool(allow_pickle))
    if isinstance(values, np.ndarray):
        return asarray(values)
    values.__class__ = _Archive
    return values


class _Archive(np.lib.npyio.NpzFile):
    """The arrays of an .npz file: each is copied to the device when it's asked for."""

    def __getitem__(self, key: str) -> Any:
        return asarray(super().__getitem__(key))


class broadcast:  # noqa: N801  (CuPy's name)
    """What `arrays` and numbers become together: ``shape``, ``size``, ``nd``, and ``values``, which are views."""

    def __init__(self, *arrays: Any) -> None:
        self.shape = np.broadcast_shapes(*(getattr(x, "shape", ()) for x in arrays))
        self.nd, self.size = len(self.shape), int(np.prod(self.shape))
        self.values = tuple(np.broadcast_to(x, self.shape) if isinstance(x, SimulatedArray) else x for x in arrays)


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """Whether each element of `ar1` is in `ar2`, in one axis."""
    return call(np.isin, (ar1.ravel(), ar2, assume_unique, invert), {}, on_device(np.isin, ar2).device)


def _bits(name: str) -> Callable:
    def function(a: Any, axis: Any = None, bitorder: str = "big") -> Any:
        if bitorder not in ("big", "little"):
            raise ValueError(f"{name}: bitorder is 'big' or 'little', got {bitorder!r}")
        return call(getattr(np, name), (on_device(function, a), axis), {"bitorder": bitorder}, a.device)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`cupy.{name}`: numbers from bits, or bits from numbers."
    return function


packbits, unpackbits = map(_bits, ("packbits", "unpackbits"))


def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = False) -> Any:
    """The mean, or with `weights` the weighted one. CuPy moves both to the device."""
    a = asarray(a)
    given = None if weights is None else asarray(weights)
    return call(np.average, (a, axis, given, returned), {"keepdims": keepdims}, a.device)
