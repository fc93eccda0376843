"""What CuPy 14 lacks or refuses, and so does a simulated GPU. NumPy takes all of it.

What's lacking comes from comparing the two libraries' signatures; ``test_surface.py`` compares again. Each refusal says
what it got, where that is, and what to write instead.
"""

import functools
from typing import Any

import numpy as np

from .words import WRITE, word_set

LACKING = word_set("""
    block busday_count busday_offset datetime_as_string einsum_path geomspace histogram_bin_edges insert is_busday
    nanpercentile nanquantile polyder polydiv polyint unstack
    linalg.diagonal linalg.matrix_norm linalg.multi_dot linalg.outer linalg.svdvals linalg.tensordot linalg.trace
    linalg.vecdot linalg.vector_norm
    polynomial.polynomial.polygrid2d polynomial.polynomial.polyval2d polynomial.polynomial.polyvalnd
""")
LACKING_MODULES = ("lib.recfunctions", "lib.scimath", "strings.", "char.")
LACKING_UFUNCS = word_set("isnat matvec spacing vecdot vecmat")
UFUNC_KEYWORDS = word_set("out dtype casting")

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
    module = getattr(function, "__module__", "numpy")  # a ufunc of NumPy 2.0 has none
    module = module.replace("_scimath_impl", "scimath")  # NumPy 2.0's name for it
    return f"{module}.{function.__name__}".removeprefix("numpy.")


def is_lacking(function: Any) -> bool:
    return name_of(function) in LACKING or name_of(function).startswith(LACKING_MODULES)


def refused_keywords(function: Any) -> frozenset[str]:
    """The keywords of this NumPy function that CuPy's version doesn't take."""
    return word_set(next((keywords for given, keywords in _REFUSED.items() if name_of(function) in given.split()), ""))


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


COMPARISONS = frozenset((np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal))


def refusal(function: Any, x: Any, device: Any, alone: bool = False) -> TypeError:
    """The error that says why `function` can't take `x` together with an array on `device`, or `alone`."""
    if alone:
        return _refusal_alone(function, x, device)
    if isinstance(x, np.ndarray):
        return TypeError(
            f"{function.__name__}: one array is on {device} and another, of shape {x.shape} and dtype {x.dtype}, is on "
            "CPU; a GPU computes only with what is in its own memory. Move it there first: x = "
            f"{device.move_code()}(x).{_make_it_there(x)}"
        )
    return TypeError(
        f"{function.__name__}: unsupported type {type(x).__name__} beside an array on {device}; it takes arrays of "
        f"that device and numbers. Make a list an array there first: {device.move_code()}(np.array(values))."
    )


def _refusal_alone(function: Any, x: Any, device: Any) -> TypeError:
    name = function.__name__
    if isinstance(x, np.ndarray):
        what = f"host array of {x.dtype}, shape {x.shape}"
        advice = f"Move it there first: x = {device.move_code()}(x)."
    elif getattr(type(x), "__array_ufunc__", None) is not None:  # such as one whose gradient is being computed
        what = f"type {type(x).__name__}"
        advice = f"NumPy's functions find out what it is: np.{name}(x)."
    else:
        what = f"type {type(x).__name__}"
        advice = f"Move it there first: x = {device.move_code()}(np.array(values))."
    return TypeError(f"{name}: unsupported {what}; it takes arrays on {device}. {advice}")


def _make_it_there(x: np.ndarray) -> str:
    """How to make the array there in the first place, if it looks like a first state or a mask."""
    if x.dtype.kind not in "biufc" or x.size == 0:
        return ""
    if not x.any():
        call = "np.zeros_like(a, shape=…)"
    elif x.size > 1 and x.ndim == 2 and np.array_equal(x, np.diag(np.diag(x))):
        call = "np.identity(n, like=a)"
    elif x.size > 1 and np.array_equal(x.ravel(), np.arange(x.size)):
        call = "np.arange(n, like=a)"
    else:
        return ""
    return f" Or make it where the array a is: {call}."


def order_of(order: Any) -> str:
    """``"C"``, ``"F"``, ``"A"`` or ``"K"``. CuPy looks at the first letter: ``"FORTRAN"`` will do, and "" is C."""
    letter = order[:1].upper() or "C"
    if letter not in "CFAK":
        raise ValueError(f"order not understood: it's 'C', 'F', 'A' or 'K', got {order!r}")
    return letter


def one_number(value: Any, device: Any) -> Any:
    """`value`, which isn't a device array, as one number to be written to part of an array on `device`."""
    if isinstance(value, SCALARS):
        return value
    if isinstance(value, (np.ndarray, list, tuple)):
        value = np.asarray(value)
        if value.shape != ():
            raise ValueError(
                f"a host array of shape {value.shape} cannot be written to a part of a device array; "
                f"move it first: x[2:4] = {device.move_code()}(values)"
            )
        return value.item()
    return float(value)  # an array that's tracked for a gradient refuses this, and says why
