"""What a call asks of a GPU: kernels, and besides them memory set to zero, copies, and waits. It's what CuPy 14 does.

Most calls are one kernel. What asks for more, or for none, stands in the table `KERNELS`; a result that's a view of an
operand asks for nothing, and needs no entry, and nor does what the host answers (`ABOUT_ARRAYS`). An entry is what the
call asks for, or a function of the call's arguments (NumPy arrays with their values). Behind it stands where CuPy
decides that. ``benchmarks/launch_table.py`` has the same for whole lines of a program, and tests compare the two, and
CuPy's own decisions.

Not counted is what happens inside of cuSOLVER, cuFFT and Thrust (decompositions, Fourier transforms, sorting): each of
these is one kernel here, and several there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import reductions as by
from .asked import BY_LIBRARY, NOTHING, ONE, Asked, understood
from .surface import names

_MANY = 2 * 1024 * 1024  # bytes per array, from which CuPy copies arrays one by one, however many there are
_CHUNK = 512  # a scan's kernels each take this many elements together


def _joined(arrays: Sequence[Any], *rest: Any, **kwargs: Any) -> Asked:
    """One copy per array. But a single kernel joins more than eight small ones of one type: it gets their addresses."""
    if len(arrays) <= 8:
        return Asked(len(arrays))
    arrays = [np.asarray(array) for array in arrays]
    small = sum(array.nbytes for array in arrays) < _MANY * len(arrays)
    if not small or len({array.dtype for array in arrays}) > 1:
        return Asked(len(arrays))
    alike = len({array.shape for array in arrays}) == 1 and all(array.flags.c_contiguous for array in arrays)
    return Asked(1, uploads=(8 * len(arrays),) * (1 if alike else 3))  # also their lengths and steps


def _along_axis(x: Any, indices: Any, *rest: Any, **kwargs: Any) -> Asked:
    """An arange for each other axis; then zeros, one kernel per axis to add up the positions, and the take."""
    return Asked(2 * x.ndim, memsets=1) if x.ndim > 1 else ONE


def _rolled(x: Any, shift: Any, axis: Any = None) -> Asked:
    """Each rolled axis cuts the array in two, and each piece is copied: as it is, if it's in one piece of memory."""
    pieces = 2 ** np.broadcast(shift, 0 if axis is None else axis).size
    if pieces > 2 or not x.flags.c_contiguous or not (axis is None or axis == 0 or axis == -x.ndim):
        return Asked(pieces)
    length = x.size if axis is None else x.shape[0]
    lengths = [n for n in (int(shift) % max(length, 1), -int(shift) % max(length, 1)) if n]
    return Asked(lengths.count(1), copies=len(lengths) - lengths.count(1))  # one row has one axis less


def _padded(x: Any, width: Any, mode: str = "constant", **kwargs: Any) -> Asked:
    """Memory for the result, and a copy into it. Other values than 0 take a kernel for each edge."""
    if mode == "constant" and np.all(np.asarray(kwargs.get("constant_values", 0)) == 0):
        return Asked(0, memsets=1, copies=1) if x.ndim == 1 and x.flags.c_contiguous else Asked(1, memsets=1)
    return Asked(1 + x.ndim * (2 if mode == "constant" else 3))


def scans(size: int) -> int:
    """The kernels of running totals over this many elements: in chunks, then over the chunks' totals, and so on."""
    return 1 if size <= _CHUNK else 2 + scans(-(-size // _CHUNK))


def _positions(x: Any, *rest: Any, **kwargs: Any) -> Asked:
    """Whether each is not 0; running totals, whose last one the host reads; the positions."""
    x = np.asarray(x)
    running = scans(x.size) if x.size <= _CHUNK else 1 + scans(-(-x.size // _CHUNK))
    return Asked((x.dtype.kind != "b") + running + 1, reads=(4,))


def _chosen(condition: Any, x: Any = None, y: Any = None) -> Asked:
    if x is None:
        return _positions(condition)
    return ONE if getattr(condition, "dtype", np.dtype(bool)).kind == "b" else Asked(2)


def _taken_where(condition: Any, x: Any, axis: Any = None, out: Any = None) -> Asked:
    return _positions(condition).and_kernels(1)


def _summed_products(subscripts: Any, *operands: Any, **kwargs: Any) -> Asked:
    """What's summed of one operand is one kernel; a product of two is one of batches, of copies in its order."""
    if not isinstance(subscripts, str) or len(operands) > 2:
        return Asked(1 + 2 * (len(operands) - 1))
    terms, arrow, result = subscripts.replace(" ", "").partition("->")
    contracts = set(terms) - {",", "."} - set(result) if arrow else {c for c in terms if terms.count(c) > 1} - {","}
    if len(operands) == 1:
        return ONE if contracts else NOTHING
    return Asked(3, library=True) if contracts else ONE


def _running(x: Any, axis: Any = None, *rest: Any, **kwargs: Any) -> Asked:
    """A copy, and then CUB's two kernels in place; along an axis, one of CuPy's own."""
    return Asked(3) if axis is None else Asked(2)


def _differences(x: Any, n: int = 1, *rest: Any, **kwargs: Any) -> Asked:
    return Asked(n)


def _sorted(x: Any, axis: Any = -1, *rest: Any, **kwargs: Any) -> Asked:
    """A copy, which Thrust sorts. Other axes than the last one are turned around before and after."""
    last = axis is None or x.ndim < 2 or axis in (-1, x.ndim - 1)
    return Asked(2) if last else Asked(4)


Entry = Asked | Callable[..., Asked]

KERNELS: dict[str, Entry] = {
    "zeros": Asked(0, memsets=1),  # _creation/basic.py:224
    "zeros_like": Asked(0, memsets=1),  # _creation/basic.py:257
    "empty": NOTHING,
    "empty_like": NOTHING,
    "ix_": NOTHING,
    # sums and their like, _core/_routines_math.pyx:88 and _core/_routines_statistics.pyx
    "sum": by.total, "prod": by.total, "mean": by.mean, "average": by.average, "var": by.var, "std": by.std,
    "max": by.extreme, "min": by.extreme, "amax": by.extreme, "amin": by.extreme, "ptp": by.spread,
    "argmax": by.place, "argmin": by.place,
    "all": by.own, "any": by.own, "count_nonzero": by.own,
    "nansum": by.own, "nanprod": by.own, "nanmean": by.own, "nanmax": by.nan_extreme, "nanmin": by.nan_extreme,
    "nanvar": by.nan_var, "nanstd": by.nan_std,
    "linalg.norm": by.norm,  # linalg/_norms.py:33
    "allclose": by.agreement, "array_equal": by.agreement, "array_equiv": by.agreement,  # _logic/comparison.py:44
    "cov": Asked(10), "corrcoef": Asked(15),  # _statistics/correlation.py:12
    "median": Asked(5),  # _core/_routines_statistics.pyx:398: copy, sort, mean, is there a NaN, where
    "percentile": Asked(5), "quantile": Asked(5),  # _statistics/order.py:296
    "histogram": Asked(17, memsets=1, copies=2, reads=(1, 1, 1, 1)),  # _statistics/histogram.py:180
    "bincount": Asked(5, memsets=1, reads=(1, 8)),  # _statistics/histogram.py:520: none below 0, and the largest
    # products; `launches_of_product` for @
    "dot": lambda x, y, *rest, **kwargs: launches_of_product(x, y) if np.ndim(x) < 3 > np.ndim(y) else BY_LIBRARY,
    "inner": lambda x, y: launches_of_product(x, y.T) if np.ndim(x) < 3 > np.ndim(y) else BY_LIBRARY,
    "vdot": lambda x, y: launches_of_product(x.ravel(), y.ravel()),
    "tensordot": BY_LIBRARY,  # linalg/_product.py:358
    "einsum": _summed_products,  # linalg/_einsum.py:443
    "cross": Asked(9),  # linalg/_product.py:127: two products and a difference for each element
    "trapezoid": Asked(4),  # _math/sumprod.py:712
    "gradient": Asked(6, copies=3),  # _math/sumprod.py:428
    "polyval": Asked(4),  # lib/_routines_poly.py:310
    "vander": Asked(2),  # _creation/matrix.py:146
    # pieces: a copy per piece, _core/_routines_manipulation.pyx:734
    "concatenate": _joined, "stack": _joined, "vstack": _joined, "hstack": _joined, "dstack": _joined,
    "column_stack": _joined,
    "append": Asked(2), "meshgrid": lambda *arrays, **kwargs: Asked(len(arrays)),
    "roll": _rolled,  # _manipulation/rearrange.py:75
    "pad": _padded,  # _padding/pad.py:419
    "diff": _differences,  # _math/sumprod.py:363
    "tril": Asked(2), "triu": Asked(2),  # _creation/matrix.py:104: tri, where
    "diag": lambda x, k=0: Asked(1, memsets=x.ndim == 1),  # _creation/matrix.py:9
    "fill_diagonal": Asked(2),  # _indexing/insert.py:144
    "nan_to_num": Asked(3, memsets=1),  # _math/misc.py:448: three numbers, and where they go
    "select": Asked(2),  # _indexing/indexing.py:165
    # at places that arrays say
    "take_along_axis": _along_axis, "put_along_axis": lambda x, *rest: _along_axis(x, None),  # _indexing/indexing.py:33
    "nonzero": _positions, "flatnonzero": _positions, "argwhere": _positions,  # _core/_routines_indexing.pyx:91
    "where": _chosen,  # _sorting/search.py:175
    "compress": _taken_where, "extract": _taken_where,  # _core/_routines_indexing.pyx:214
    "choose": lambda x, choices, out=None, mode="raise": {  # _core/_routines_indexing.pyx:182
        "raise": Asked(5, reads=(1, 1)), "wrap": Asked(2), "clip": ONE,  # whether every choice is one of them
    }[mode],
    "putmask": lambda x, mask, values: Asked(scans(x.size) + 2, reads=(4,)),
    "trim_zeros": Asked(2, reads=(8, 8)),
    # in order
    "cumsum": _running, "cumprod": _running,  # _core/_routines_math.pyx:702
    "nancumsum": lambda x, *rest, **kwargs: _running(x, *rest, **kwargs).and_kernels(1),
    "sort": _sorted, "argsort": Asked(2),  # _core/_routines_sorting.pyx
    "partition": lambda x, kth, axis=-1: _sorted(x, axis),
    # sorts, then looks twice whether each place is one in the array
    "argpartition": lambda x, *rest, **kwargs: Asked(6 + 2 * max(x.ndim, 1), reads=(1, 1)),
    "unique": Asked(7, copies=1, reads=(4,)),  # _manipulation/add_remove.py:196
    "isin": Asked(3),  # _logic/truth.py:194
    "searchsorted": Asked(1, memsets=1), "digitize": Asked(1, memsets=1),  # _sorting/search.py:405
    "interp": Asked(2, memsets=1),  # _math/misc.py:533
}  # fmt: skip

# The results of these lie in memory as their first argument does; of all others, row by row.
KEEPING_ORDER = names("zeros_like ones_like full_like empty_like roll pad astype sort zeros full")

# These answer on the host, from what the host knows.
ABOUT_ARRAYS = names(
    "ndim shape size result_type can_cast min_scalar_type common_type iscomplexobj isrealobj may_share_memory "
    "shares_memory"
)

# These need all values on the host.
ON_HOST = names("array_repr array_str array2string save savez savez_compressed savetxt")

# With ``like=x``, these make a device array from host values.
FROM_HOST = names("array asarray asanyarray ascontiguousarray asfortranarray frombuffer fromiter fromstring loadtxt")

# These accept host arrays: CuPy uses them on the host (parameters), or copies them (indices).
HOST_PARAMETERS = names("split array_split hsplit vsplit dsplit pad tile reshape transpose")
HOST_INDICES = names("take take_along_axis put_along_axis put choose compress delete")


def asked_by(name: str, args: Sequence, kwargs: dict) -> Asked:
    """What a call of the NumPy function `name` asks for."""
    entry = KERNELS.get(name, ONE)
    return entry if isinstance(entry, Asked) else understood(ONE, entry, *args, **kwargs)


def asked_by_method(ufunc: np.ufunc, method: str, values: Sequence, kwargs: dict) -> Asked:
    """What ``np.add.reduce(x)`` and the like ask for. A ufunc that's just called is one kernel."""
    if method == "__call__":
        return ONE
    if method == "outer":
        return Asked(3)  # copies of both operands, stretched
    if method == "accumulate":
        return _running(*values[:1], kwargs.get("axis", values[1] if len(values) > 1 else 0))
    axis = kwargs.get("axis", values[1] if len(values) > 1 else 0)
    return by.total(values[0], axis) if method == "reduce" and ufunc.__name__ in ("add", "multiply") else ONE


def launches_of_product(x: np.ndarray, y: np.ndarray) -> Asked:
    """What ``x @ y`` asks for: one kernel for two matrices, and one for two equally large batches of them.

    A result of one element isn't left to cuBLAS: that's a product, a sum and a copy (`tensordot_core` in CuPy's
    _core/_routines_linalg.pyx:541). Of batches, CuPy first lists where each matrix begins if one of the two is the same
    for the whole batch: a kernel for each axis of the batch, for both operands and the result (`matmul`, :821). It
    copies what doesn't lie in memory as cuBLAS wants it, and what has another type than the result.
    """
    kind = x.dtype if x.dtype == y.dtype else np.promote_types(x.dtype, y.dtype)
    if x.ndim > 2 or y.ndim > 2:
        return _product_of_batches(x, y, kind)
    if not x.ndim or not y.ndim:
        return ONE
    if not x.size or not y.size:
        return Asked(0, memsets=1)
    apart = sum([not (array.flags.c_contiguous or array.flags.f_contiguous) for array in (x, y)])
    if x.size == y.size == x.shape[-1]:
        return Asked(3 + apart + (by.of_size(x.size * kind.itemsize) - 1))
    casts = 0 if x.dtype is y.dtype else sum(array.dtype != kind for array in (x, y))
    return BY_LIBRARY.and_kernels(max(apart, casts)) if casts or apart else BY_LIBRARY


def _product_of_batches(x: np.ndarray, y: np.ndarray, kind: np.dtype) -> Asked:
    dtype = np.dtype("f") if kind.char == "e" else kind  # products of batches in float16 are computed in float32
    batch = max(x.ndim, y.ndim) - 2
    left, right = ((1,) * (batch - len(array.shape[:-2])) + array.shape[:-2] for array in (x, y))
    copies = sum(array.dtype != dtype or not array.flags.c_contiguous for array in (x, y)) + (dtype != kind)
    return Asked(1 + copies + (3 * batch if left != right else 0), library=True)


def asked_at(arrays: Sequence[np.ndarray], x: np.ndarray, found: bool = True) -> Asked:
    """What reading or writing `x` with these index arrays asks for. With a mask, it may be that nothing was `found`."""
    masks = [array for array in arrays if array.dtype.kind == "b"]
    if masks:
        running = scans(masks[0].size)
        if masks[0].ndim < x.ndim:  # a mask of rows is made one of all elements
            running += 1 + scans(x.size)
        return Asked(running + found, reads=(4,))
    # One array takes one kernel. Several are combined first: zeros, a kernel for each, then the read or write.
    return ONE if len(arrays) <= 1 else Asked(len(arrays) + 1, memsets=1)
