"""CuPy's functions that aren't NumPy's: with another signature, given up by NumPy 2, or CuPy's own."""

import functools
import sys
import warnings
from typing import Any

import numpy as np

from .arrays import SimulatedArray
from .creation import asarray
from .device import current
from .dispatch import call, plan_of
from .indexing import Flat
from .memory import Stored
from .rules import refusal, refused
from .ufuncs import ufunc  # noqa: F401  (CuPy's name)
from .words import in_words

ndarray, flatiter = SimulatedArray, Flat


def get_array_module(*args: Any) -> Any:
    """simgpu if one of these is an array on a device, otherwise NumPy (`cupy.get_array_module`)."""
    return sys.modules[__package__] if any(isinstance(x, Stored) for x in args) else np


def is_available() -> bool:
    """There's always a simulated GPU."""
    return True


def _on_device(function: Any, x: Any) -> Any:
    """`x`, which must be an array on a device."""
    if not isinstance(x, Stored):
        raise refusal(function, x, current())
    return x


# -- With another signature ------------------------------------------------------------------------


def argmax(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Where the largest element is, as `dtype`."""
    return a.argmax(axis, out=out, keepdims=keepdims, **({} if dtype is None else {"dtype": dtype}))


def argmin(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Where the smallest element is, as `dtype`."""
    return a.argmin(axis, out=out, keepdims=keepdims, **({} if dtype is None else {"dtype": dtype}))


def nanargmax(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Where the largest element is that isn't NaN. CuPy computes -1 where all are."""
    return _nan_place(np.nanargmax, a, axis, dtype, out, keepdims)


def nanargmin(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False) -> Any:
    """Where the smallest element is that isn't NaN. CuPy computes -1 where all are."""
    return _nan_place(np.nanargmin, a, axis, dtype, out, keepdims)


def _nan_place(function: Any, a: Any, axis: Any, dtype: Any, out: Any, keepdims: bool) -> Any:
    given = {name: value for name, value in (("out", out), ("keepdims", keepdims)) if value}
    places = call(function, (_on_device(function, a), axis), given, a.device)
    return places if dtype is None else places.astype(dtype)


def bincount(x: Any, weights: Any = None, minlength: int | None = None) -> Any:
    """How often each whole number is in `x`, or the sum of its weights."""
    return call(np.bincount, (_on_device(np.bincount, x), weights, minlength or 0), {}, x.device)


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: Any = None
) -> Any:  # fmt: skip
    """How many points are in each rectangle, and the edges along both axes."""
    _on_device(np.histogram2d, y)
    keywords = {"range": range, "weights": weights, "density": density}
    return call(np.histogram2d, (_on_device(np.histogram2d, x), y, bins), keywords, x.device)


def histogramdd(sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: Any = False) -> Any:
    """How many points, the rows of `sample` or its arrays, are in each box, and a list of the edges."""
    if isinstance(bins, (list, tuple)) and not all(isinstance(b, (int, np.integer, Stored)) for b in bins):
        raise ValueError("histogramdd takes bins as numbers or as arrays on the device")
    first = sample if isinstance(sample, Stored) else next((x for x in sample if isinstance(x, Stored)), sample)
    keywords = {"range": range, "weights": weights, "density": bool(density)}
    return call(np.histogramdd, (sample, bins), keywords, _on_device(np.histogramdd, first).device)


def percentile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: bool = False, *, interpolation: str | None = None,
) -> Any:  # fmt: skip
    """What so many per cent of the elements are below."""
    return _quantile(np.percentile, a, q, axis, out, overwrite_input, method, keepdims, interpolation)


def quantile(
    a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, method: str = "linear",
    keepdims: bool = False, *, interpolation: str | None = None,
) -> Any:  # fmt: skip
    """What such a share of the elements is below."""
    return _quantile(np.quantile, a, q, axis, out, overwrite_input, method, keepdims, interpolation)


def _quantile(
    function: Any, a: Any, q: Any, axis: Any, out: Any, overwrite: bool, method: str, keepdims: bool, old: str | None
) -> Any:  # fmt: skip
    if old is not None:
        warnings.warn(f"{function.__name__}: interpolation= is called method= now", DeprecationWarning, 3)
    q = q if isinstance(q, (Stored, int, float)) else asarray(q)
    keywords = {"out": out, "overwrite_input": overwrite, "method": old or method, "keepdims": keepdims}
    return call(function, (_on_device(function, a), q, axis), keywords, a.device)


def corrcoef(
    a: Any, y: Any = None, rowvar: bool = True, bias: Any = None, ddof: Any = None, *, dtype: Any = None
) -> Any:  # fmt: skip
    """Pearson's correlations of the rows. `bias` and `ddof` do nothing, as in CuPy."""
    if bias is not None or ddof is not None:
        warnings.warn("corrcoef: bias and ddof do nothing", DeprecationWarning, 2)
    return call(np.corrcoef, (_on_device(np.corrcoef, a), y, rowvar), {"dtype": dtype}, a.device)


def put(a: Any, ind: Any, v: Any, mode: str = "wrap") -> None:
    """Write `v` at the places `ind` of the flattened array."""
    if mode not in ("raise", "wrap", "clip"):
        raise ValueError(f"put: mode is 'raise', 'wrap' or 'clip', got {mode!r}")
    return a.put(ind, v, mode)


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "wrap", order: str = "C") -> Any:
    """Places in a flattened array, from places along each axis. CuPy wraps around what's out of range."""
    first = next(x for x in multi_index)
    return call(np.ravel_multi_index, (tuple(multi_index), dims, mode, order), {}, first.device)


def piecewise(x: Any, condlist: Any, funclist: Any) -> Any:
    """The number of `funclist` whose condition holds, for each element of `x`. CuPy takes no functions there."""
    funclist = list(funclist._values if isinstance(funclist, Stored) else funclist)
    if any(map(callable, funclist)):
        raise NotImplementedError("piecewise takes numbers on a GPU, no functions (CuPy's does so): use where")
    x = asarray(x) if np.isscalar(x) else _on_device(np.piecewise, x)
    return call(np.piecewise, (x, condlist, funclist), {}, x.device)


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Of each place, the choice whose condition is the first to hold there."""
    if len(condlist) != len(choicelist) or not condlist:
        raise ValueError(f"select takes as many choices as conditions, got {len(choicelist)} and {len(condlist)}")
    if not np.isscalar(default):
        raise TypeError(f"select on a GPU takes a number as default, got {in_words(default)}")
    if wrong := [x for x in condlist if not isinstance(x, Stored)]:
        raise AttributeError(f"select takes arrays on the device as conditions, got {in_words(wrong[0])}")
    return call(np.select, (condlist, choicelist, default), {}, condlist[0].device)


def einsum(*operands: Any, **kwargs: Any) -> Any:
    """Sums of products, by Einstein's convention."""
    if refusing := plan_of(np.einsum).refused_keywords & kwargs.keys():
        raise refused("einsum", refusing)
    if device := next((x.device for x in operands if isinstance(x, Stored)), None):
        return call(np.einsum, operands, kwargs, device)
    for x in operands[isinstance(operands[0], str) if operands else 0 :]:
        if isinstance(x, np.ndarray) or isinstance(x, list) and isinstance(operands[0], str):
            raise refusal(np.einsum, x, current())
    made = np.asarray(np.einsum(*operands, **kwargs))  # of numbers
    current().launch("einsum", made.nbytes)
    return current().new(made)


def row_stack(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    """As `vstack`, which is its name now."""
    warnings.warn("row_stack is called vstack now", DeprecationWarning, 2)
    return np.vstack(tup, dtype=dtype, casting=casting)  # type: ignore[call-overload]


def meshgrid(*xi: Any, indexing: str = "xy", copy: bool = True, sparse: bool = False) -> tuple:
    """Coordinates of a grid, from those along each of its axes, which are arrays of one axis."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing is 'xy' or 'ij', got {indexing!r}")
    for x in xi:
        if x.ndim != 1 or not isinstance(x, Stored):
            raise ValueError(f"meshgrid takes arrays on the device with one axis, got {in_words(x)}")
    if len(xi) < 2:
        return xi
    return tuple(call(np.meshgrid, xi, {"indexing": indexing, "copy": copy, "sparse": sparse}, xi[0].device))


def load(file: Any, mmap_mode: Any = None, allow_pickle: Any = None) -> Any:
    """The array in a .npy file on the device in use; of an .npz file, an object that gives each by its name."""
    values = np.load(file, mmap_mode, bool(allow_pickle))
    return asarray(values) if isinstance(values, np.ndarray) else _Archive(values)


class _Archive:
    """The arrays of an .npz file: each is copied to the device when it's asked for."""

    def __init__(self, values: Any) -> None:
        self.npz_file = values

    def __getitem__(self, key: str) -> Any:
        return asarray(self.npz_file[key])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.npz_file, name)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self.npz_file.close()


class broadcast:  # noqa: N801  (CuPy's name)
    """What `arrays` and numbers become together: ``shape``, ``size``, ``nd``, and ``values``, which are views."""

    def __init__(self, *arrays: Any) -> None:
        self.shape = np.broadcast_shapes(*(getattr(x, "shape", ()) for x in arrays))
        self.nd, self.size = len(self.shape), int(np.prod(self.shape))
        self.values = tuple(np.broadcast_to(x, self.shape) if isinstance(x, SimulatedArray) else x for x in arrays)


class vectorize:  # noqa: N801  (CuPy's name)
    """A Python function of numbers, computed for each element. CuPy makes a kernel of it; so this is one launch."""

    def __init__(
        self, pyfunc: Any, otypes: Any = None, doc: Any = None, excluded: Any = None, cache: bool = False,
        signature: Any = None,
    ) -> None:  # fmt: skip
        for name, value in (("otypes", otypes), ("excluded", excluded), ("signature", signature)):
            if value is not None:
                raise NotImplementedError(f"vectorize takes no {name} on a GPU (CuPy does not support it yet)")
        if not callable(pyfunc):
            raise TypeError(f"vectorize takes a function, got {type(pyfunc).__name__}")
        self.pyfunc, self.__doc__ = pyfunc, doc or pyfunc.__doc__

    def __call__(self, *args: Any) -> Any:
        for x in args:
            if isinstance(x, (list, tuple, np.ndarray)):
                raise refusal(vectorize, x, current())
        device = next((x.device for x in args if isinstance(x, Stored)), None) or current()
        values = [x._values if isinstance(x, Stored) else x for x in args]
        with np.errstate(all="ignore"):
            made = np.asarray(np.vectorize(self._of_numbers)(*values))
        device.launch(f"vectorize {self.pyfunc.__name__}", sum(getattr(x, "nbytes", 0) for x in values) + made.nbytes)
        return device.new(made)

    def _of_numbers(self, *numbers: Any) -> Any:
        result = self.pyfunc(*numbers)
        return result._values[()] if isinstance(result, Stored) else result


# -- What the host knows -----------------------------------------------------------------------------


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether NumPy's rules allow the cast."""
    return np.can_cast(_dtype_of(from_), to, casting)  # type: ignore[arg-type]


def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """The type that these have together."""
    return np.result_type(*map(_dtype_of, arrays_and_dtypes))


def min_scalar_type(a: Any) -> np.dtype:
    """The smallest type that holds the number `a`; of an array, its own type."""
    return a.dtype if isinstance(a, Stored) and a.ndim else np.min_scalar_type(a.item() if hasattr(a, "item") else a)  # type: ignore[attr-defined]


def common_type(*arrays: Any) -> Any:
    """The floating-point type that these arrays have together. `TypeError` for booleans."""
    if any(x.dtype.kind == "b" for x in arrays):
        raise TypeError("can't get common type for non-numeric array")
    types = [np.dtype("f8") if x.dtype.kind in "iu" else x.dtype for x in arrays]
    return functools.reduce(np.promote_types, types, np.dtype("f2")).type


def _dtype_of(x: Any) -> Any:
    return x.dtype if isinstance(x, SimulatedArray) else x


def size(a: Any, axis: int | None = None) -> int:
    """How many elements `a` has, or along one axis."""
    return np.size(a, axis)


# -- Given up by NumPy 2 -----------------------------------------------------------------------------


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> Any:
    """Whether each element of `ar1` is in `ar2`, in one axis."""
    return call(np.isin, (ar1.ravel(), ar2, assume_unique, invert), {}, _on_device(np.isin, ar2).device)


def msort(a: Any) -> Any:
    """`a`, sorted along its first axis."""
    return call(np.sort, (_on_device(np.sort, a), 0), {}, a.device)


def issubclass_(arg1: Any, arg2: Any) -> bool:
    """As `issubclass`, and False for what isn't a class."""
    return isinstance(arg1, type) and issubclass(arg1, arg2)


def obj2sctype(rep: Any, default: Any = None) -> Any:
    """The class of a number of this type, array or name; otherwise the default."""
    try:
        return np.dtype(getattr(rep, "dtype", rep)).type
    except TypeError:
        return default


def issubsctype(arg1: Any, arg2: Any) -> bool:
    """Whether the first type is one of the second."""
    kinds = [x if isinstance(x, type) and issubclass(x, np.generic) else obj2sctype(x) for x in (arg1, arg2)]
    return issubclass(*kinds)


def sctype2char(sctype: Any) -> str:
    """The character of a type, such as ``"f"``."""
    if (kind := obj2sctype(sctype)) is None:
        raise ValueError("unrecognized type")
    return np.dtype(kind).char


def issctype(rep: Any) -> bool:
    """Whether `rep` is a number's type."""
    return isinstance(rep, (type, np.dtype)) and obj2sctype(rep) not in (None, np.object_)


def byte_bounds(a: Any) -> tuple[int, int]:
    """Where the array begins and ends in memory."""
    return np.lib.array_utils.byte_bounds(_on_device(byte_bounds, a)._values)


def who(vardict: Any = None) -> None:
    """Print name, shape, bytes and type of each device array in this dict, or among the caller's global variables."""
    found = sys._getframe(1).f_globals if vardict is None else vardict
    arrays = [(name, x) for name, x in sorted(found.items()) if isinstance(x, SimulatedArray)]
    rows = [(name, " x ".join(map(str, x.shape)), x.nbytes, x.dtype) for name, x in arrays]
    if rows:
        print(f"{'Name':<16}{'Shape':<16}{'Bytes':<16}Type\n{'=' * 60}\n")
    for row in rows:
        print("".join(f"{cell!s:<16}" for cell in row).rstrip())
    total = sum(x.nbytes for x in {id(x): x for _, x in arrays}.values())
    print(f"\nUpper bound on total bytes  =       {total}")
