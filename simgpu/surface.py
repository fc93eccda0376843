"""NumPy functions and keywords that CuPy 14 lacks. A simulated GPU refuses them too.

They come from comparing the two libraries' signatures; ``test_surface.py`` compares again.
"""

from __future__ import annotations

import functools
from typing import Any

from .words import WRITE


def names(text: str) -> frozenset[str]:
    """The words of a text as a set, so that a table reads like a list."""
    return frozenset(text.split())


LACKING = names(
    """
    block busday_count busday_offset datetime_as_string einsum_path geomspace histogram_bin_edges insert is_busday
    nanpercentile nanquantile polyder polydiv polyint unstack
    linalg.diagonal linalg.matrix_norm linalg.multi_dot linalg.outer linalg.svdvals linalg.tensordot linalg.trace
    linalg.vecdot linalg.vector_norm
    """
)
LACKING_MODULES = ("lib.recfunctions", "lib.scimath")
LACKING_UFUNCS = names("isnat matvec spacing vecdot vecmat")
UFUNC_KEYWORDS = names("out dtype casting where")

# keyword: the functions that take it in NumPy but not in CuPy
_REFUSED = {
    "a": "array_str histogram linalg.matrix_power",
    "A": "linalg.matrix_rank",
    "ar1": "intersect1d union1d",
    "ar2": "intersect1d union1d",
    "arr": "extract take_along_axis",
    "arrays": "stack",
    "ary": "ediff1d",
    "axis": "lexsort trim_zeros",
    "correction": "nanstd nanvar std var",
    "casting": "einsum",
    "count": "unpackbits",
    "device": "arange asanyarray asarray astype empty empty_like eye full full_like linspace ones ones_like zeros "
    "zeros_like",
    "hermitian": "linalg.matrix_rank linalg.pinv linalg.svd",
    "initial": "amax amin max min nanmax nanmin nanprod nansum prod sum",
    "keepdims": "count_nonzero",
    "kind": "argpartition isin partition",
    "m": "cov flip fliplr flipud rot90",
    "max": "clip",
    "mean": "nanstd nanvar std var",
    "min": "clip",
    "mode": "take",
    "ndmax": "array",
    "obj": "delete",
    "object": "array",
    "order": "argpartition argsort einsum partition sort",
    "out": "fft.fft fft.fft2 fft.fftn fft.hfft fft.ifft fft.ifft2 fft.ifftn fft.ihfft fft.irfft fft.irfft2 fft.irfftn "
    "fft.rfft fft.rfft2 fft.rfftn einsum",
    "rtol": "linalg.matrix_rank linalg.pinv",
    "shape": "reshape unravel_index",
    "sorted": "unique",
    "stable": "argsort sort",
    "subok": "broadcast_arrays broadcast_to copy",
    "upper": "linalg.cholesky",
    "weights": "percentile quantile",
    "where": "all amax amin any max mean min nanmax nanmean nanmin nanprod nanstd nansum nanvar prod std sum var",
    "x": "corrcoef",
}


@functools.cache
def name_of(function: Any) -> str:
    """``"sum"`` for `np.sum`, ``"linalg.norm"`` for `np.linalg.norm`."""
    return f"{function.__module__}.{function.__name__}".removeprefix("numpy.")


def is_lacking(function: Any) -> bool:
    """Whether CuPy lacks this function."""
    return name_of(function) in LACKING or name_of(function).startswith(LACKING_MODULES)


def refused_keywords(function: Any) -> frozenset[str]:
    """The keywords of this NumPy function that CuPy's version doesn't take."""
    return frozenset(keyword for keyword, names in _REFUSED.items() if name_of(function) in names.split())


def lacking(name: str) -> TypeError:
    """The error for a function that CuPy lacks."""
    return TypeError(
        f"np.{name} does not exist for arrays on a GPU (CuPy has none). Build it from other functions, or use "
        f"{WRITE['to the host']}(x)."
    )


def refused(name: str, keywords: Any) -> TypeError:
    """The error for keywords that CuPy's function doesn't take."""
    if "device" in keywords and name in ("eye", "full", "ones"):  # which NumPy asks for with like=
        return TypeError(
            f"np.{name}(…, like=x) makes no array on a GPU: NumPy adds device=, which CuPy's {name} doesn't take. "
            "These do: np.identity(n, like=x), np.ones_like(x, shape=…), np.full_like(x, value, shape=…)"
        )
    return TypeError(f"np.{name} takes no keyword {min(keywords)!r} for arrays on a GPU (CuPy's has none)")
