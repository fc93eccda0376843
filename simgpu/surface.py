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
    return f"{function.__module__}.{function.__name__}".removeprefix("numpy.")


def is_lacking(function: Any) -> bool:
    return name_of(function) in LACKING or name_of(function).startswith(LACKING_MODULES)


def refused_keywords(function: Any) -> frozenset[str]:
    """The keywords of this NumPy function that CuPy's version doesn't take."""
    return names(next((keywords for given, keywords in _REFUSED.items() if name_of(function) in given.split()), ""))


def lacking(name: str) -> TypeError:
    return TypeError(
        f"np.{name} does not exist for arrays on a GPU (CuPy has none). Build it from other functions, or use "
        f"{WRITE['to the host']}(x)."
    )


def refused(name: str, keywords: Any) -> TypeError:
    if "device" in keywords and name in ("eye", "full", "ones"):  # which NumPy asks for with like=
        return TypeError(
            f"np.{name}(…, like=x) makes no array on a GPU: NumPy adds device=, which CuPy's {name} doesn't take. "
            "These do: np.identity(n, like=x), np.ones_like(x, shape=…), np.full_like(x, value, shape=…)"
        )
    return TypeError(f"np.{name} takes no keyword {min(keywords)!r} for arrays on a GPU (CuPy's has none)")
