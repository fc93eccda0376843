"""In a rehearsal: CUB's sums, which CuPy has precompiled, and CuPy's own kernels with CUB's blocks, with NumPy.

Which of them is asked for, and when, is CuPy's decision. How many kernels CUB launches is from its source: one for what
one block of threads can reduce, otherwise two; for running totals, one to begin with and one for the rest.
"""

import numpy as np
import rehearsal
import rehearsed_kernels
from rehearsed_kernels import host

_BLOCK = 16 * 1024  # bytes
_SUM, _MIN, _MAX, _ARGMIN, _ARGMAX, _CUMSUM, _, _PROD = range(8)
_REDUCTIONS = {
    _SUM: np.sum, _MIN: np.min, _MAX: np.max, _ARGMIN: np.argmin, _ARGMAX: np.argmax, _PROD: np.prod
}  # fmt: skip


def _launched(name, count=1):
    rehearsal.log.extend([("launch", f"CUB {name}", rehearsal.state.device)] * count)


def _filled(cupy, shape, dtype, values, order="C"):
    made = cupy.ndarray(shape, dtype, order=order)
    host(made)[...] = values
    return made


def act():
    """Put the answers into CuPy's module for CUB."""
    import cupy
    from cupy.cuda import cub

    def reduce(x, op, reduce_axis, out_axis, out=None, keepdims=False):
        _launched("reduce", 1 if x.nbytes <= _BLOCK else 2)
        with np.errstate(all="ignore"):
            values = _REDUCTIONS[int(op)](host(x))
        if int(op) in (_ARGMIN, _ARGMAX):  # CUB gives the place and the value, and CuPy takes the first
            pair = _filled(cupy, (2,), np.int32, [values, 0])
            result = pair[:1].astype(np.int64)[0].reshape(())
        else:
            result = _filled(cupy, (), x.dtype, values)
        return _handed_over(cupy, result.reshape((1,) * x.ndim) if keepdims else result, out)

    def segmented_reduce(x, op, reduce_axis, out_axis, out=None, keepdims=False, contiguous_size=0):
        _launched("segmented reduce")
        axes = tuple(reduce_axis)
        shape = tuple(n if i not in axes else 1 for i, n in enumerate(x.shape) if keepdims or i not in axes)
        with np.errstate(all="ignore"):
            values = _REDUCTIONS[int(op)](host(x), axis=axes, keepdims=bool(keepdims))  # of prod it's None
        return _handed_over(cupy, _filled(cupy, shape, x.dtype, values, "C" if x.flags.c_contiguous else "F"), out)

    def scan(x, op):
        _launched("scan", 2)
        there = host(x)
        there[...] = (np.cumsum if int(op) == _CUMSUM else np.cumprod)(there.ravel()).reshape(there.shape)
        return x

    def histogram(x, y, bins):
        rehearsed_kernels.not_rehearsed("CUB's histogram")

    cub.device_reduce, cub.device_segmented_reduce, cub.device_scan = reduce, segmented_reduce, scan
    cub.device_histogram = histogram
    rehearsed_kernels.OTHERS.update(_OTHERS)


def _handed_over(cupy, result, out):
    if out is None:
        return result
    cupy._core.elementwise_copy(result, out)
    return out


# -- reductions of a whole array in two passes, by the name of their kernel ------------------------------------------

_between = []


def first_pass(args):
    _between.append(host(args[0]).copy())


def second_pass(name, args):
    out = host(args[1])
    if name not in rehearsed_kernels.REDUCTIONS:
        rehearsed_kernels.not_rehearsed(f"cupy_{name}")
        return
    with np.errstate(all="ignore"):
        out[...] = np.asarray(rehearsed_kernels.REDUCTIONS[name](_between.pop())).astype(out.dtype)


# -- running totals, and what is found with them ----------------------------------------------------------------------


def block_sums(args):
    x, sums = map(host, args[:2])
    sums[...] = [x[i : i + 512].sum() for i in range(0, x.size, 512)]


def running_total(args):
    _, x, out = map(host, args[:3])
    out[...] = np.cumsum(x)


def masked(args):
    x, mask, running, out = map(host, args[:4])
    out.reshape(-1)[running[mask] - 1] = x[mask]


def positions(args):
    x, _, out = map(host, args[:3])
    out[...] = np.argwhere(x)


def written_where(args):
    values, mask, running, x = map(host, args[:4])
    x[mask] = np.ravel(values)[running[mask] - 1]


_OTHERS = {
    "cupy_bsum_shfl": block_sums, "cupy_bsum_smem": block_sums, "cupy_scan_naive": running_total,
    "cupy_scan_btree": running_total, "cupy_getitem_mask": masked, "cupy_nonzero_kernel": positions,
    "cupy_nonzero_kernel_incomplete_scan": positions, "cupy_scatter_update_mask": written_where,
}  # fmt: skip
