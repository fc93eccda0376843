"""What a call asks of a GPU: kernels, memory set to zero, copies, and waits, as in CuPy 14.

Most calls are one kernel. What asks for more, or for none, is in the table `KERNELS`. Views and what the host answers
(`ABOUT_ARRAYS`) ask for nothing, and need no entry. An entry is what the call asks for, or a function of the call's
arguments, which are NumPy arrays. Its comment says where CuPy decides that. ``benchmarks/launch_table.py`` has the same
for whole lines of a program; tests compare the two, and CuPy.

We don't count what happens inside cuSOLVER, cuFFT and Thrust (decompositions, Fourier transforms, sorting): each of
these is one kernel here, and several on a card.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .events import allowed
from .words import word_set


class Commands(NamedTuple):
    """What one call asks of a GPU."""

    kernels: int = 1
    memsets: int = 0  # memory set to zero, which takes no kernel
    copies: int = 0  # from one place in the card's memory to another, without a kernel
    uploads: tuple[int, ...] = ()  # the bytes of copies to the card that the program didn't ask for
    reads: tuple[int, ...] = ()  # the bytes of copies back, which the host waits for
    library: bool = False  # the first kernel comes from cuBLAS or CUB, which takes CuPy longer to launch

    def and_kernels(self, count: int) -> Commands:
        return self._replace(kernels=self.kernels + count)


NOTHING, ONE, BY_LIBRARY = Commands(0), Commands(1), Commands(1, library=True)
Entry = Commands | Callable[..., Commands]


def from_table(default: Any, entry: Callable, *args: Any, **kwargs: Any) -> Any:
    """What an entry of our tables says of a call. If it fails, the default: the call itself has worked."""
    try:
        return entry(*args, **kwargs)
    except Exception:
        return default


# -- Sums, means and other reductions. CuPy has three ways: ----------------------------------------
#
# 1. CUB, NVIDIA's library, for some types, if memory lies in one piece, over the whole array or the last axes: one
#    kernel, or two for a whole array too large for one block of threads (`cub_reduction` in CuPy's cuda/cub.pyx:446).
# 2. A kernel of CuPy's own with CUB's blocks: two for a whole array (_core/_cub_reduction.pyx:287).
# 3. A kernel of CuPy's own, for everything else: one.

_BLOCK = 16 * 1024  # bytes that one block of threads reduces: 256 threads with 16 numbers of 4 bytes each
_TINY = 128  # CuPy reduces fewer elements without CUB's blocks
_SUMMED = word_set("i8 u8 f2 f4 f8 c8 c16")  # what CUB sums without changing the type (cuda/cub.pyx:36)


def _way(x: np.ndarray, axis: Any) -> str:
    """``"all"`` for the whole array, ``"rows"`` along axes that lie in one piece of memory, otherwise ``"other"``."""
    flags = x.flags
    if not flags.forc:
        return "other"
    if axis is None:
        return "all"
    if type(axis) is not tuple:
        axis = (axis,)
    axes = sorted([i % x.ndim for i in axis])
    if len(axes) == x.ndim:
        return "all"
    if not axes or axes[-1] - axes[0] + 1 != len(axes):
        return "other"
    if flags.c_contiguous:
        is_in_one_piece = axes[-1] == x.ndim - 1
    else:
        is_in_one_piece = axes[0] == 0
    if is_in_one_piece:
        return "rows"
    return "other"


def _by_cupy(x, axis=None, *rest, **kwargs):
    """What CUB has no function for: ``any``, ``all``, and sums without NaNs."""
    if x.size >= _TINY and _way(x, axis) == "all":
        return Commands(2)
    return ONE


def reduces_with_cub(x: np.ndarray, axis: Any) -> bool:
    """Whether CuPy's own kernel reduces these axes with CUB's blocks, if it has one input and one output."""
    if (way := _way(x, axis)) == "other" or not x.size:
        return False
    if way == "rows":
        return math.prod([x.shape[i] for i in axis]) >= _TINY
    return x.size >= _TINY


def _by_cub(x: np.ndarray, axis: Any, is_for_cub: bool, more: int = 0) -> Commands:
    """What CUB asks for, and this many kernels `more`; or what CuPy does by itself."""
    if not is_for_cub:
        return _by_cupy(x, axis)
    way = _way(x, axis)
    if way == "other":
        return ONE
    if way == "all" and x.nbytes > _BLOCK:
        return Commands(more + 2, library=True)
    return Commands(more + 1, library=True)


def _is_summed(x: np.ndarray, dtype: Any) -> bool:
    if dtype is None:
        return x.dtype.str[1:] in _SUMMED
    return np.dtype(dtype) == x.dtype and x.dtype.kind != "b"


def _sum(x, axis=None, dtype=None, out=None, **kwargs):
    return _by_cub(x, axis, _is_summed(x, dtype), more=out is not None)


def _mean(x, axis=None, dtype=None, out=None, **kwargs):
    """With CUB it's a sum and a division, and a conversion if the result has another type."""
    kind = x.dtype.kind
    if dtype is not None:
        summed_as = dtype
    elif kind in "iub":
        summed_as = "f8"
    elif x.dtype.char == "e":
        summed_as = "f4"
    else:
        summed_as = x.dtype
    commands = _by_cub(x, axis, _is_summed(x, summed_as), more=1)
    is_converted = out is None and (dtype is not None or kind in "iub" or x.dtype.char == "e")
    if is_converted:
        return commands.and_kernels(1)
    return commands


def _var(x, axis=None, *rest, **kwargs):
    """The mean, which is converted to its own type, and the squared differences."""
    return _mean(x, axis, x.dtype if x.dtype.kind in "fc" else "f8").and_kernels(1)


def _max(x, axis=None, out=None, **kwargs):
    return _by_cub(x, axis, x.dtype.kind != "b", more=out is not None)


def _ptp(x, axis=None, *rest, **kwargs):
    """The largest, the smallest, and their difference."""
    commands = _max(x, axis)
    return commands.and_kernels(commands.kernels + 1)


def _argmax(x, axis=None, *rest, **kwargs):
    """CUB finds only the place in a whole array, and then its type is changed."""
    if _way(x, axis) == "all":
        return _by_cub(x, axis, x.dtype.kind != "b", more=1)
    return ONE


def _kernels_of_any(size: int) -> int:
    """The kernels that find out whether any of `size` elements is true, or all are."""
    return 2 if size >= _TINY else 1


def _nanmax(x, axis=None, *rest, **kwargs):
    """To warn of a NaN in the result, CuPy looks for one: `isnan`, `any`, and the host reads the answer."""
    if axis is None:
        kept = 1
    else:
        kept = x.size // max(1, math.prod(np.take(x.shape, np.atleast_1d(axis)).tolist()))
    return Commands(_by_cupy(x, axis).kernels + 1 + _kernels_of_any(kept), reads=(1,))


def _nanvar(x, axis=None, *rest, **kwargs):
    """How many numbers there are, their sum, and the squared differences."""
    return Commands(2 * _by_cupy(x, axis).kernels + 1)


def _norm(x, ord=None, axis=None, *rest, **kwargs):
    """For a whole array: products, their sum, the root. Along an axis it's one kernel."""
    if axis is not None:
        return ONE
    has_no_root = ord in (1, np.inf, -np.inf) and x.ndim == 1
    return _sum(x).and_kernels(1 if has_no_root else 2)


def _equal(x, y, *rest, **kwargs):
    try:
        size = math.prod(np.broadcast_shapes(np.shape(x), np.shape(y)))
    except ValueError:  # different shapes: the host knows the answer
        return NOTHING
    return Commands(1 + _kernels_of_any(size))


# -- Pieces, places, order -------------------------------------------------------------------------

_MANY = 2 * 1024 * 1024  # bytes per array, from which CuPy copies arrays one by one, however many there are
_CHUNK = 512  # elements that each kernel of a scan takes together


def _concatenate(arrays, *rest, **kwargs):
    """One copy per array. But one kernel, which gets the addresses, joins more than eight small ones of one type."""
    if len(arrays) <= 8:
        return Commands(len(arrays))
    arrays = [array if isinstance(array, np.ndarray) else np.asarray(array) for array in arrays]
    small = sum(array.nbytes for array in arrays) < _MANY * len(arrays)
    if not small or len({array.dtype for array in arrays}) > 1:
        return Commands(len(arrays))
    addresses = 8 * len(arrays)
    if len({array.shape for array in arrays}) == 1 and all(array.flags.c_contiguous for array in arrays):
        return Commands(1, uploads=(addresses,))
    return Commands(1, uploads=(addresses,) * 3)  # also their lengths and steps


def _take_along_axis(x, *rest, **kwargs):
    """An arange for each other axis, then zeros, a kernel per axis that adds up the positions, and the take."""
    if x.ndim > 1:
        return Commands(2 * x.ndim, memsets=1)
    return ONE


def _roll(x, shift, axis=None):
    """Each rolled axis cuts the array in two, and each part is copied: as it is, if it lies in one piece of memory."""
    axes = 0 if axis is None else axis
    pieces = 2 ** np.broadcast(shift, axes).size
    if pieces > 2 or not x.flags.c_contiguous or not (axis is None or axis == 0 or axis == -x.ndim):
        return Commands(pieces)
    length = x.size if axis is None else x.shape[0]
    lengths = [n for n in (int(shift) % max(length, 1), -int(shift) % max(length, 1)) if n]
    return Commands(lengths.count(1), copies=len(lengths) - lengths.count(1))  # one row has one axis less


def _pad(x, width, mode="constant", **kwargs):
    """Memory for the result, and a copy into it. Other values than 0 take a kernel for each edge."""
    if mode == "constant" and np.all(np.asarray(kwargs.get("constant_values", 0)) == 0):
        if x.ndim == 1 and x.flags.c_contiguous:
            return Commands(0, memsets=1, copies=1)
        return Commands(1, memsets=1)
    kernels_per_axis = 2 if mode == "constant" else 3
    return Commands(1 + x.ndim * kernels_per_axis)


def scans(size: int) -> int:
    """The kernels of running totals over `size` elements: in chunks, then over the chunks' totals, and so on."""
    if size <= _CHUNK:
        return 1
    return 2 + scans(-(-size // _CHUNK))


def _nonzero(x, *rest, **kwargs):
    """Whether each element isn't 0; running totals, where the host reads the last one; the positions."""
    if not isinstance(x, np.ndarray):
        x = np.asarray(x)
    if x.size <= _CHUNK:
        running = scans(x.size)
    else:
        running = 1 + scans(-(-x.size // _CHUNK))
    return Commands((x.dtype.kind != "b") + running + 1, reads=(4,))


def _where(condition, x=None, y=None):
    if x is None:
        return _nonzero(condition)
    if getattr(condition, "dtype", np.dtype(bool)).kind == "b":
        return ONE
    return Commands(2)


def _einsum(subscripts, *operands, **kwargs):
    """A sum over one operand is one kernel; a sum over two is a product of batches, after copies in the right order."""
    if not isinstance(subscripts, str) or len(operands) > 2:
        return Commands(1 + 2 * (len(operands) - 1))
    terms, arrow, result = subscripts.replace(" ", "").partition("->")
    if arrow:
        contracts = set(terms) - {",", "."} - set(result)
    else:
        contracts = {c for c in terms if terms.count(c) > 1} - {","}
    if len(operands) == 1:
        if contracts:
            return ONE
        return NOTHING
    if contracts:
        return Commands(3, library=True)
    return ONE


def _cumsum(x, axis=None, *rest, **kwargs):
    """A copy, then CUB's two kernels in place; along an axis, one of CuPy's own."""
    if axis is None:
        return Commands(3)
    return Commands(2)


def _sort(x, axis=-1, *rest, **kwargs):
    """A copy, which Thrust sorts along the last axis. Another axis takes its place before, and goes back after."""
    if axis is None or x.ndim < 2 or axis in (-1, x.ndim - 1):
        return Commands(2)
    return Commands(4)


KERNELS: dict[str, Entry] = {
    "zeros": Commands(0, memsets=1), "zeros_like": Commands(0, memsets=1),  # _creation/basic.py:224, :257
    "eye": Commands(1, memsets=1),
    "identity": Commands(1, memsets=1),  # _creation/basic.py:111: zeros, and the diagonal
    "ix_": NOTHING,
    "linspace": Commands(2), "logspace": Commands(3),  # _creation/ranges.py:67: all, and then the last one; a power
    # _indexing/generate.py:139: aranges, and copies
    "indices": lambda dimensions, *rest: Commands(2 * len(dimensions)),
    # reductions, _core/_routines_math.pyx:88 and _core/_routines_statistics.pyx
    "sum": _sum, "prod": _sum, "mean": _mean,
    "average": lambda x, axis=None, weights=None, *rest, **kwargs: (
        _mean(x, axis) if weights is None else Commands(6, reads=(1,))
    ),
    "var": _var, "std": lambda x, *rest, **kwargs: _var(x, *rest, **kwargs).and_kernels(1),
    "max": _max, "min": _max, "amax": _max, "amin": _max, "ptp": _ptp,
    "argmax": _argmax, "argmin": _argmax,
    "all": _by_cupy, "any": _by_cupy, "count_nonzero": _by_cupy,
    "nansum": _by_cupy, "nanprod": _by_cupy, "nanmean": _by_cupy, "nanmax": _nanmax, "nanmin": _nanmax,
    "nanvar": _nanvar, "nanstd": lambda x, *rest, **kwargs: _nanvar(x, *rest, **kwargs).and_kernels(1),
    "linalg.norm": _norm,  # linalg/_norms.py:33
    "allclose": _equal, "array_equal": _equal, "array_equiv": _equal,  # _logic/comparison.py:44
    "cov": Commands(10), "corrcoef": Commands(15),  # _statistics/correlation.py:12
    "median": Commands(5),  # _core/_routines_statistics.pyx:398: copy, sort, mean, is there a NaN, where
    "percentile": Commands(5), "quantile": Commands(5),  # _statistics/order.py:296
    "histogram": Commands(17, memsets=1, copies=2, reads=(1, 1, 1, 1)),  # _statistics/histogram.py:180
    "bincount": Commands(5, memsets=1, reads=(1, 8)),  # _statistics/histogram.py:520: none below 0, and the largest
    # products; `launches_of_product` for @
    "dot": lambda x, y, *rest, **kwargs: launches_of_product(x, y) if np.ndim(x) < 3 > np.ndim(y) else BY_LIBRARY,
    "inner": lambda x, y: launches_of_product(x, y.T) if np.ndim(x) < 3 > np.ndim(y) else BY_LIBRARY,
    "vdot": lambda x, y: launches_of_product(x.ravel(), y.ravel()),
    "tensordot": BY_LIBRARY,  # linalg/_product.py:358
    "einsum": _einsum,  # linalg/_einsum.py:443
    "cross": Commands(9),  # linalg/_product.py:127: two products and a difference for each element
    "trapezoid": Commands(4),  # _math/sumprod.py:712
    "gradient": Commands(6, copies=3),  # _math/sumprod.py:428
    "polyval": Commands(4),  # lib/_routines_poly.py:310
    "vander": Commands(2),  # _creation/matrix.py:146
    # joined and cut: a copy per piece, _core/_routines_manipulation.pyx:734
    **dict.fromkeys(word_set("concatenate stack vstack hstack dstack column_stack"), _concatenate),
    "append": Commands(2), "meshgrid": lambda *arrays, **kwargs: Commands(len(arrays)),
    "roll": _roll,  # _manipulation/rearrange.py:75
    "pad": _pad,  # _padding/pad.py:419
    "diff": lambda x, n=1, *rest, **kwargs: Commands(n),  # _math/sumprod.py:363
    "tril": Commands(2), "triu": Commands(2),  # _creation/matrix.py:104: tri, where
    "diag": lambda x, k=0: Commands(1, memsets=x.ndim == 1),  # _creation/matrix.py:9
    "fill_diagonal": Commands(2),  # _indexing/insert.py:144
    "nan_to_num": Commands(3, memsets=1),  # _math/misc.py:448: three numbers, and where they go
    "select": Commands(2),  # _indexing/indexing.py:165
    # at places in index arrays and masks
    "take_along_axis": _take_along_axis, "put_along_axis": _take_along_axis,  # _indexing/indexing.py:33
    "nonzero": _nonzero, "flatnonzero": _nonzero, "argwhere": _nonzero,  # _core/_routines_indexing.pyx:91
    "where": _where,  # _sorting/search.py:175
    # _core/_routines_indexing.pyx:214
    **dict.fromkeys(("compress", "extract"), lambda condition, *rest, **kwargs: _nonzero(condition).and_kernels(1)),
    "choose": lambda x, choices, out=None, mode="raise": {  # _core/_routines_indexing.pyx:182
        "raise": Commands(5, reads=(1, 1)), "wrap": Commands(2), "clip": ONE,  # whether every choice is one of them
    }[mode],
    "putmask": lambda x, mask, values: Commands(scans(x.size) + 2, reads=(4,)),
    "trim_zeros": Commands(2, reads=(8, 8)),
    # in order
    "cumsum": _cumsum, "cumprod": _cumsum,  # _core/_routines_math.pyx:702
    "nancumsum": lambda x, *rest, **kwargs: _cumsum(x, *rest, **kwargs).and_kernels(1),
    "sort": _sort, "argsort": Commands(2),  # _core/_routines_sorting.pyx
    "partition": lambda x, kth, axis=-1: _sort(x, axis),
    # sorts, then checks twice that each place is one in the array
    "argpartition": lambda x, *rest, **kwargs: Commands(6 + 2 * max(x.ndim, 1), reads=(1, 1)),
    "unique": Commands(7, copies=1, reads=(4,)),  # _manipulation/add_remove.py:196
    "isin": Commands(3),  # _logic/truth.py:194
    "searchsorted": Commands(1, memsets=1), "digitize": Commands(1, memsets=1),  # _sorting/search.py:405
    "interp": Commands(2, memsets=1),  # _math/misc.py:533
}  # fmt: skip

# The results of these lie in memory as their first argument does; of all others, row by row.
KEEPING_ORDER = word_set("zeros_like ones_like full_like roll pad astype sort zeros full")
# The host knows the answer.
ABOUT_ARRAYS = word_set("""ndim shape size result_type can_cast min_scalar_type common_type iscomplexobj isrealobj
    may_share_memory shares_memory""")


# Whether a matrix can be inverted is known on the card alone. The host reads it if singular matrices should raise.
_LOOKED_AT = word_set("linalg.inv linalg.solve linalg.cholesky linalg.matrix_power")


def commands_of(name: str, args: Sequence, kwargs: dict) -> Commands:
    entry = KERNELS.get(name, ONE)
    if isinstance(entry, Commands):
        commands = entry
    else:
        commands = from_table(ONE, entry, *args, **kwargs)
    if name in _LOOKED_AT and not allowed.singular:  # inside `cupyx.errstate(linalg="raise")`
        return commands._replace(reads=(4,))
    return commands


def commands_of_method(ufunc: np.ufunc, method: str, values: Sequence, kwargs: dict) -> Commands:
    """What ``np.add.reduce(x)`` and the like ask for. A ufunc by itself is one kernel."""
    axis = kwargs.get("axis", values[1] if len(values) > 1 else 0)
    if method == "outer":
        return Commands(3)  # copies of both operands, stretched
    if method == "accumulate":
        return _cumsum(values[0], axis)
    if method == "reduce" and ufunc.__name__ in ("add", "multiply"):
        return _sum(values[0], axis)
    return ONE


def launches_of_product(x: np.ndarray, y: np.ndarray) -> Commands:
    """What ``x @ y`` asks for: one kernel for two matrices, and one for two equally large batches of them.

    A result of one element isn't left to cuBLAS: it's a product, a sum and a copy (`tensordot_core` in CuPy's
    _core/_routines_linalg.pyx:541). If one matrix meets a whole batch, CuPy first lists where each matrix begins: a
    kernel for each axis of the batch, for both operands and the result (`matmul`, :821). It copies what lies in memory
    in another way than cuBLAS takes it, and what has another type than the result.
    """
    if x.dtype == y.dtype:
        kind = x.dtype
    else:
        kind = np.promote_types(x.dtype, y.dtype)
    if x.ndim > 2 or y.ndim > 2:
        dtype = np.dtype("f") if kind.char == "e" else kind  # these are computed in float32
        batch = max(x.ndim, y.ndim) - 2
        left, right = ((1,) * (batch - len(array.shape[:-2])) + array.shape[:-2] for array in (x, y))
        copies = sum(array.dtype != dtype or not array.flags.c_contiguous for array in (x, y)) + (dtype != kind)
        if left != right:
            copies += 3 * batch
        return Commands(1 + copies, library=True)
    if not x.ndim or not y.ndim:
        return ONE
    if not x.size or not y.size:
        return Commands(0, memsets=1)
    apart = (not x.flags.forc) + (not y.flags.forc)
    if x.size == y.size == x.shape[-1]:
        return Commands(3 + apart + (x.size * kind.itemsize > _BLOCK))
    if x.dtype is y.dtype:
        casts = 0
    else:
        casts = sum(array.dtype != kind for array in (x, y))
    if casts or apart:
        return BY_LIBRARY.and_kernels(max(apart, casts))
    return BY_LIBRARY


def commands_at(arrays: Sequence[np.ndarray], x: np.ndarray, found: bool = True) -> Commands:
    """What reading or writing `x` with these index arrays asks for. With a mask, maybe nothing was `found`."""
    masks = [array for array in arrays if array.dtype.kind == "b"]
    if masks:
        running = scans(masks[0].size)
        if masks[0].ndim < x.ndim:  # a mask of rows becomes one of all elements
            running += 1 + scans(x.size)
        return Commands(running + found, reads=(4,))
    # One array takes one kernel. Several are combined first: zeros, a kernel for each, then the read or write.
    if len(arrays) <= 1:
        return ONE
    return Commands(len(arrays) + 1, memsets=1)


# -- How much work that is: bytes read and written, and operations, about one per element unless it's listed here.
# A kernel takes as long as the slower of the two. Most array functions wait for memory.

# These take a series or a division in steps for each element, not one instruction.
TEN_EACH = word_set("""
    exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2 power float_power sqrt cbrt divmod remainder fmod
    sin cos tan arcsin arccos arctan arctan2 hypot sinh cosh tanh arcsinh arccosh arctanh
    random standard_normal uniform integers i0 sinc linalg.norm var std nanvar nanstd
""")


def tiles(x: Any, y: Any, out: np.ndarray) -> int:
    """A product is computed in tiles of 64 x 64 results, one per multiprocessor."""
    rows = x.shape[-2] if x.ndim > 1 else 1
    columns = y.shape[-1] if y.ndim > 1 else 1
    return out.size // max(1, rows * columns) * -(-rows // 64) * -(-columns // 64)


def _work_of_product(arrays, out, /, *rest, **kwargs):
    """(m·k)·(k·n)·(m·n) is the square of m·n·k: exact for two operands, too large by the square root of a batch."""
    return 2.0 * math.sqrt(math.prod(float(x.size) for x in arrays[:2]) * out)


def _work_of_einsum(arrays, out, /, subscripts="", *rest, **kwargs):
    """As in one loop over all labels: too many if operands are contracted in pairs. At least one for each result."""
    if not isinstance(subscripts, str):
        return float(out)
    terms = subscripts.replace(" ", "").partition("->")[0].replace("...", "").split(",")
    lengths: dict[str, int] = {}
    for term, x in zip(terms, arrays):
        for label, length in zip(reversed(term), reversed(x.shape)):
            lengths[label] = max(length, lengths.get(label, 1))
    return max(2.0 * math.prod(lengths.values()), float(out))


def _n_cubed(factor: float) -> Callable[..., float]:
    """`factor`·n³ for each square matrix: the textbook count, at the full rate, which is optimistic."""
    return lambda arrays, /, *rest, **kwargs: factor * arrays[0].size * min(arrays[0].shape[-2:])


def _n_log_n(arrays, /, *rest, **kwargs):
    return arrays[0].size * math.log2(arrays[0].size + 1)


# Each function's operations, given its array arguments, the size of its result, and all its arguments.
_OPERATIONS: dict[str, Callable[..., float]] = {
    **dict.fromkeys(word_set("dot vdot inner tensordot convolve"), _work_of_product), "einsum": _work_of_einsum,
    "linalg.cholesky": _n_cubed(1 / 3), "linalg.qr": _n_cubed(4 / 3), "linalg.inv": _n_cubed(2),
    **dict.fromkeys(word_set("linalg.det linalg.slogdet linalg.solve"), _n_cubed(2 / 3)), "linalg.eigh": _n_cubed(9),
    **dict.fromkeys(word_set("linalg.eigvalsh linalg.lstsq linalg.matrix_rank linalg.matrix_power"), _n_cubed(4)),
    **dict.fromkeys(word_set("linalg.svd linalg.pinv"), _n_cubed(20)),
    **dict.fromkeys(word_set("sort argsort unique median partition"), _n_log_n),
}  # fmt: skip
_PRODUCTS = word_set("dot inner tensordot einsum")
# These look only at their argument's shape and dtype.
_NOT_READ = word_set("zeros_like ones_like full_like")
# These read as much as they write, however large the array that they pick from.
_PICKING = word_set("choose compress extract")


def work_of(
    name: str, arrays: Sequence[np.ndarray], made: Sequence[Any], args: Sequence, kwargs: dict, multiprocessors: int = 1
) -> tuple[int, float]:
    """The bytes and operations of a NumPy function. A product too small for all multiprocessors counts as more work."""
    nbytes, out = sum([x.nbytes for x in made]), sum([x.size for x in made])
    largest = max([out, *[x.size for x in arrays]])
    if name in _PICKING:
        nbytes *= 2
    elif name not in _NOT_READ:
        nbytes += sum([x.nbytes for x in arrays])
    if name in _OPERATIONS and arrays:
        operands = [x for x in args if isinstance(x, np.ndarray)] or arrays  # here x @ x has two
        operations = from_table(float(largest), _OPERATIONS[name], operands, out, *args, **kwargs)
    else:
        operations = largest * 10.0 if name in TEN_EACH else float(largest)
    if name in _PRODUCTS and out:
        share = min(1.0, -(-out // 4096) / multiprocessors)
    else:
        share = 1.0
    return nbytes, operations / share
