"""Where CuPy 14 differs from NumPy, and so does a simulated GPU: what it lacks or refuses, and what it computes.

What's lacking comes from comparing the two libraries' signatures; ``test_surface.py`` compares again. Each refusal says
what it got, where that is, and what to write instead. What isn't in `DIFFERENT` has NumPy's values.
"""

import contextlib
import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .events import allowed
from .lines import warn_at_call
from .memory import Stored
from .words import WRITE


def names(text: str) -> frozenset[str]:
    """The words of a text as a set. So a table reads like a list."""
    return frozenset(text.split())


LACKING = names("""
    block busday_count busday_offset datetime_as_string einsum_path geomspace histogram_bin_edges insert is_busday
    nanpercentile nanquantile polyder polydiv polyint unstack
    linalg.diagonal linalg.matrix_norm linalg.multi_dot linalg.outer linalg.svdvals linalg.tensordot linalg.trace
    linalg.vecdot linalg.vector_norm
""")
LACKING_MODULES = ("lib.recfunctions", "lib.scimath")
LACKING_UFUNCS = names("isnat matvec spacing vecdot vecmat")
UFUNC_KEYWORDS = names("out dtype casting where")

# Functions: the keywords that they take in NumPy but not in CuPy.
_REFUSED = {
    "arange asanyarray asarray astype empty empty_like eye full full_like linspace ones ones_like zeros zeros_like":
        "device",
    "fft.fft fft.fft2 fft.fftn fft.hfft fft.ifft fft.ifft2 fft.ifftn fft.ihfft fft.irfft fft.irfft2 fft.irfftn "
    "fft.rfft fft.rfft2 fft.rfftn": "out",
    "amax amin max min nanmax nanmin nanprod nansum prod sum": "initial where",
    "nanstd nanvar std var": "correction mean where", "all any mean nanmean": "where",
    "percentile quantile": "weights", "count_nonzero": "keepdims", "corrcoef": "x",
    "sort argsort": "order stable", "partition argpartition": "kind order", "lexsort trim_zeros": "axis",
    "cov flip fliplr flipud rot90": "m", "intersect1d union1d": "ar1 ar2", "ediff1d": "ary", "unique": "sorted",
    "isin": "kind", "clip": "max min", "take": "mode", "extract take_along_axis": "arr", "delete": "obj",
    "array_str histogram linalg.matrix_power": "a", "array": "ndmax object", "stack": "arrays",
    "broadcast_arrays broadcast_to copy": "subok", "reshape unravel_index": "shape", "unpackbits": "count",
    "linalg.matrix_rank": "A hermitian rtol", "linalg.pinv": "hermitian rtol", "linalg.svd": "hermitian",
    "linalg.cholesky": "upper", "einsum": "casting order out",
}  # fmt: skip


@functools.cache
def name_of(function: Any) -> str:
    """``"sum"`` for `np.sum`, ``"linalg.norm"`` for `np.linalg.norm`."""
    module = function.__module__.replace("_scimath_impl", "scimath")  # NumPy 2.0's name for it
    return f"{module}.{function.__name__}".removeprefix("numpy.")


def is_lacking(function: Any) -> bool:
    return name_of(function) in LACKING or name_of(function).startswith(LACKING_MODULES)


def refused_keywords(function: Any) -> frozenset[str]:
    """The keywords of this NumPy function that CuPy's version doesn't take."""
    return names(next((keywords for given, keywords in _REFUSED.items() if name_of(function) in given.split()), ""))


def no_such_function(name: str) -> TypeError:
    return TypeError(
        f"np.{name} does not exist for arrays on a GPU (CuPy has none). Build it from other functions, or use "
        f"{WRITE['to the host']}(x)."
    )


def keyword_refusal(name: str, keywords: Any) -> TypeError:
    if "device" in keywords and name in ("eye", "full", "ones"):  # which NumPy asks for with like=
        return TypeError(
            f"np.{name}(…, like=x) makes no array on a GPU: NumPy adds device=, which CuPy's {name} doesn't take. "
            "These do: np.identity(n, like=x), np.ones_like(x, shape=…), np.full_like(x, value, shape=…)"
        )
    return TypeError(f"np.{name} takes no keyword {min(keywords)!r} for arrays on a GPU (CuPy's has none)")


# -- What a device array computes with: itself, other arrays on its device, and numbers ------------

SCALARS = (np.generic, int, float, complex)


class Unsupported(TypeError, AttributeError):
    """A list or a host array where CuPy takes arrays of a GPU. CuPy raises one or the other."""


COMPARISONS = frozenset((np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal))


def refusal(function: Any, x: Any, device: Any, alone: bool = False) -> TypeError:
    """The error that says why `function` can't take `x` together with an array on `device`, or `alone`."""
    if alone:
        what, how = f"type {type(x).__name__}", "np.array(values)"
        if isinstance(x, np.ndarray):
            what, how = f"host array of {x.dtype}, shape {x.shape}", "x"
        return TypeError(
            f"{function.__name__}: unsupported {what}; it takes arrays on {device}. Move it there first: "
            f"x = {device._mover()}({how})."
        )
    if isinstance(x, np.ndarray):
        return TypeError(
            f"{function.__name__}: one array is on {device} and another, of shape {x.shape} and dtype {x.dtype}, is on "
            "CPU; a GPU computes only with what is in its own memory. Move it there first: x = "
            f"{device._mover()}(x).{_make_it_there(x)}"
        )
    return TypeError(
        f"{function.__name__}: unsupported type {type(x).__name__} beside an array on {device}; it takes arrays of "
        f"that device and numbers. Make a list an array there first: {device._mover()}(np.array(values))."
    )


def _make_it_there(x: np.ndarray) -> str:
    """How to make the array there in the first place, if it looks like a first state or a mask."""
    if x.dtype.kind not in "biufc" or x.size == 0:
        return ""
    if not x.any():
        call = "np.zeros_like(a, shape=…)"
    elif x.size > 1 and x.ndim == 2 and np.array_equal(x, np.diag(np.diag(x))):
        call = "np.identity(n, like=a)"
    else:
        call = "np.arange(n, like=a)" if x.size > 1 and np.array_equal(x.ravel(), np.arange(x.size)) else ""
    return call and f" Or make it where the array a is: {call}."


def one_number(value: Any, device: Any) -> Any:
    """`value`, which isn't a device array, as one number to be written to part of an array on `device`."""
    if isinstance(value, SCALARS):
        return value
    if isinstance(value, (np.ndarray, list, tuple)):
        value = np.asarray(value)
        if value.shape != ():
            raise ValueError(
                f"a host array of shape {value.shape} cannot be written to a part of a device array; "
                f"move it first: x[2:4] = {device._mover()}(values)"
            )
        return value.item()
    return float(value)  # an array that's tracked for a gradient refuses this, and says why


def device_among(values: Iterable) -> Any:
    """The device of the first device array here, or in a list here. None if there's none."""
    for x in values:
        if isinstance(x, Stored):
            return x.device
        if isinstance(x, (list, tuple)) and (device := device_among(x)) is not None:
            return device
    return None


class PerformanceWarning(RuntimeWarning):
    """One card reads the memory of another, which is slow (CuPy: ``PerformanceWarning``)."""


def current_card(device: Any) -> Any:
    """Where CuPy makes new arrays, whichever card the old ones are on: the current one."""
    return device.current_card() if device.cards else device


def computing_card(device: Any) -> Any:
    """The card that computes with an array of `device`: the current one. Raises `ValueError` if that can't reach it.

    CuPy looks at each array before it launches a kernel: `_check_peer_access` in _core/_kernel.pyx:128, called for
    elementwise kernels (:880), ufuncs (:1307), reductions (_reduction.pyx:607, :824) and joined arrays
    (_routines_manipulation.pyx:662). It doesn't look before it calls cuBLAS, CUB, cuFFT or cuSOLVER, or sorts. Then the
    card meets an address that it can't reach, and CUDA's error leaves the program without a GPU. So we raise as well.
    """
    here = current_card(device)
    if here is device:
        return device
    where = f"the array is on {device}, and the current device is {_full_name(here, device)}"
    habit = f"Make the array's device the current one for this line: {device._habit()}"
    if device.settings[0].peers:
        warn_at_call(f"{where}, which now reads it from there: slowly. {habit}", PerformanceWarning)
        return here
    raise ValueError(f"{where}. A GPU computes only with what is in its own memory. {habit}")


# What only makes or moves an array may find it on any card. What writes to one is refused before it begins.
MAKING = names("zeros_like ones_like full_like empty_like reshape ravel")
WRITING = names("copyto put putmask place put_along_axis fill_diagonal")


def one_device(device: Any, x: Stored) -> Any:
    """`device`, or `x`'s device if we had none yet. Raises `ValueError` if they differ and have no peer access."""
    if device is None or x.device is device or x.device == device:  # equal: the same card, simulated once more
        return device or x.device
    if x.device in device.cards and device.settings[0].peers:
        computing_card(x.device)
        return device
    raise ValueError(
        f"arrays of two devices: one is on {_full_name(device, x.device)}, another, of shape {x._values.shape}, on "
        f"{_full_name(x.device, device)}. A GPU computes only with what is in its own memory; move one of them: "
        f"{device._mover(exact=True)}(x)."
    )


def values_on(device: Any, x: Stored) -> np.ndarray:
    """The values of `x`, which must be on this `device`. Raises `ValueError` if it's on another."""
    one_device(device, x)
    return x._values


def _full_name(device: Any, other: Any) -> str:
    """The device's name, and the card's, too, if the numbers of the two devices are the same."""
    return f"{device} ({device.name})" if str(device) == str(other) else str(device)


# -- Values that aren't NumPy's. Each function here is called in place of NumPy's, with NumPy's and its arguments ----


class _Halves(np.ndarray):
    """float16 numbers. Wherever one of NumPy's functions adds or multiplies them up, it does so in float32."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any) -> Any:
        plain = [np.asarray(x) if isinstance(x, _Halves) else x for x in inputs]
        is_rounded = method in ("reduce", "accumulate") and (kwargs.get("dtype") or plain[0].dtype) == np.float16
        if is_rounded:
            result = np.asarray(getattr(ufunc, method)(*plain, **{**kwargs, "dtype": np.float32}), np.float16)
        else:
            result = np.asarray(getattr(ufunc, method)(*plain, out=out and np.asarray(out[0]), **kwargs))
        if out is None:
            return result.view(_Halves)
        out[0][...] = result
        return out[0]


def _is_half(x: Any) -> bool:
    return getattr(x, "dtype", x) == np.float16


def sum_halves(function: Callable, *args: Any, **kwargs: Any) -> Any:
    """Sums of float16 are added up in float32, and then rounded once.

    Some of a card's sums stay in float16: CUB's, running totals, the squares of `var`. It adds them in a tree, which
    comes close to this. We don't follow the tree, but a sum too large for float16 is inf here, too.
    """
    if not any([isinstance(x, np.ndarray) and x.dtype.char == "e" for x in args]):
        return function(*args, **kwargs)
    result = function(*(x.view(_Halves) if isinstance(x, np.ndarray) else x for x in args), **kwargs)
    if result is kwargs.get("out"):
        return result
    return tuple(map(np.array, result)) if isinstance(result, tuple) else np.array(result)


def _var(function: Callable, x: Any, axis: Any = None, *rest: Any, **kwargs: Any) -> Any:
    if _is_half(x):
        kwargs["mean"] = np.mean(x, axis=axis, keepdims=True)
    return sum_halves(function, x, axis, *rest, **kwargs)


def _einsum(function: Callable, *operands: Any, **kwargs: Any) -> Any:
    result = function(*operands, **kwargs)
    is_sum = _is_half(result) and result.base is None  # a view has no sums
    return _in_float32(function, *operands, **{**kwargs, "dtype": None}) if is_sum else result


def _place(function: Callable, x: Any, axis: Any = None, *rest: Any, keepdims: bool = False, **kwargs: Any) -> Any:
    """The place of an element along several axes, which CuPy counts as one axis. NumPy's functions take one."""
    if not isinstance(axis, tuple):
        return function(x, axis, *rest, keepdims=keepdims, **kwargs)
    axes = np.lib.array_utils.normalize_axis_tuple(axis, x.ndim)
    kept = [i for i in range(x.ndim) if i not in axes]
    rows = x.transpose(*kept, *axes).reshape([x.shape[i] for i in kept] + [-1])
    places = function(rows, -1, *rest, **kwargs)
    return np.expand_dims(places, axes) if keepdims else places


def _power(function: Callable, x: Any, y: Any, **kwargs: Any) -> Any:
    """Integers can have a negative power: 1 / x without its fraction."""
    if np.result_type(x, y).kind != "i" or not np.any(np.less(y, 0)):
        return function(x, y, **kwargs)
    is_whole = (y >= 0) | (abs(x) == 1)
    result = function(x, abs(y), **kwargs)
    result *= is_whole
    return result


def _compare(function: Callable, x: Any, y: Any, **kwargs: Any) -> Any:
    """A boolean can be compared with a number that's too large for its type. Records are equal if their fields are."""
    ufunc = getattr(function, "__self__", function)
    if getattr(getattr(x, "dtype", None), "names", None) and ufunc in (np.equal, np.not_equal):
        return x == y if ufunc is np.equal else x != y
    wide = [v.astype(np.int64) if isinstance(v, np.ndarray) and v.dtype == bool else v for v in (x, y)]
    return function(*wide, **kwargs)


def _lexsort(function: Callable, keys: Any, *rest: Any) -> Any:
    if getattr(keys, "ndim", 1) > 2:
        raise NotImplementedError("lexsort on a GPU takes keys with one or two axes (as CuPy's)")
    return function(keys, *rest)


def _select(function: Callable, conditions: Any, choices: Any, *rest: Any) -> Any:
    if any(isinstance(x, np.ndarray) and x.dtype.kind != "b" for x in conditions):
        raise ValueError("select on a GPU takes conditions that are arrays of booleans")
    return function(conditions, choices, *rest)


def _piecewise(function: Callable, x: Any, conditions: Any, values: Any) -> Any:
    if any(map(callable, values)):
        raise NotImplementedError("piecewise on a GPU takes numbers, not functions (as CuPy's does): use where")
    return function(x, conditions, values)


def _in_float32(function: Callable, *args: Any, **kwargs: Any) -> Any:
    if not any(map(_is_half, args)):
        return function(*args, **kwargs)
    made = function(*(x.astype(np.float32) if _is_half(x) else x for x in args), **kwargs)
    if isinstance(made, tuple):
        return type(made)(*(part.astype(np.float16) for part in made))
    return np.asarray(made, np.float16)


# A matrix that can't be inverted or decomposed raises nothing on a card: the host would have to wait to see it. The
# result is inf, nan, or half done. Here it's nan. Other matrices in a stack are right.

LOOKED_AT = names("linalg.inv linalg.solve linalg.cholesky linalg.matrix_power")


def _accepting_singular() -> Any:
    return contextlib.suppress(*[np.linalg.LinAlgError] * allowed.singular)


def _solve(function: Callable, x: Any, *rest: Any) -> Any:
    with _accepting_singular():
        return function(x, *rest)
    is_singular = np.linalg.slogdet(x)[0] == 0  # raises again if it isn't square
    return function(np.where(is_singular[..., None, None], np.nan, x), *rest)


def _cholesky(function: Callable, x: Any) -> Any:
    with _accepting_singular():
        return function(x)
    if x.ndim > 2:
        return np.stack([_cholesky(function, part) for part in x])
    return function(np.eye(*x.shape, dtype=x.dtype)) * np.nan if x.ndim == 2 else function(x)


# By NumPy's name. Each comment says where CuPy decides it.
DIFFERENT: dict[str, Callable] = {
    # _core/_routines_math.pyx:789, _core/_routines_statistics.pyx:667, :712
    **dict.fromkeys(names("sum prod nansum nanprod trace average trapezoid nanmean nanvar nanstd"), sum_halves),
    **dict.fromkeys(names("cumsum cumprod nancumsum nancumprod cumulative_sum cumulative_prod"), sum_halves),
    "var": _var, "std": _var,  # _core/_routines_statistics.pyx:556: the mean by :644, in float32
    "einsum": _einsum,  # linalg/_einsum.py:623
    **dict.fromkeys(names("argmax argmin nanargmax nanargmin"), _place),  # _core/_reduction.pyx:178
    **dict.fromkeys(names("less less_equal greater greater_equal equal not_equal"), _compare),
    **dict.fromkeys(names("linalg.eigh linalg.eigvalsh"), _in_float32),  # linalg/_eigenvalue.py:29
    # _sorting/sort.py:78, _indexing/indexing.py:203, _functional/piecewise.py:48
    "lexsort": _lexsort, "select": _select, "piecewise": _piecewise,
    "power": _power,  # _core/_routines_math.pyx:1000
    # linalg/_util.py:110, with 'ignore' in cupyx/_ufunc_config.py:50
    **dict.fromkeys(names("linalg.inv linalg.solve linalg.matrix_power"), _solve), "linalg.cholesky": _cholesky,
}  # fmt: skip
