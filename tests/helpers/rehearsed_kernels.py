"""The answers of a rehearsal: what a kernel does, by its name, with NumPy on the same memory."""

import ctypes
import re
import sys
import types

import numpy as np
import pytest
import rehearsal

only_counting = []  # while it's not empty, kernels without an answer are asked for, and do nothing


def not_rehearsed(name):
    if not only_counting:
        pytest.skip(f"not rehearsed: {name}")


def host(x):
    """The memory of a `cupy.ndarray`, as a NumPy array; a scalar argument as it is."""
    if not hasattr(x, "data"):
        return np.asarray(x.value)
    memory = {"data": (x.data.ptr, False), "shape": x.shape, "strides": x.strides, "typestr": x.dtype.str, "version": 3}
    return np.asarray(types.SimpleNamespace(__array_interface__=memory))


# -- one element after the other: cupy_NAME__types(inputs, outputs, indexer) -----------------------------------------


def _copy(x):
    return x


def _power(x, y):
    """Of integers also to a negative power, as `integral_power` in CuPy's _core/_routines_math.pyx."""
    if x.dtype.kind != "i":
        return np.power(x, y)
    return np.where(y < 0, np.where(x == -1, np.where(y & 1, -1, 1), x == 1), np.power(x, np.maximum(y, 0)))


def _sign(x):
    """Of booleans, too, for which NumPy has none."""
    if x.dtype == bool:
        return x.astype(np.int8)
    return np.sign(x)


UFUNCS = {
    "copy": _copy, "fill": _copy, "where": np.where, "clip": np.clip, "true_divide": np.true_divide, "real": np.real,
    "imag": np.imag, "angle": np.angle, "round": lambda x, decimals: np.round(x, int(decimals)), "i0": np.i0,
    "arange": lambda start, step: None, "sinc": np.sinc, "power": _power, "sign": _sign,
    "is_close": lambda a, b, rtol, atol, nan: np.isclose(a, b, rtol, atol, bool(nan)),
}  # fmt: skip


def elementwise(kernel, name, args):
    function = UFUNCS.get(name, getattr(np, name, None))
    if not (name in UFUNCS or isinstance(function, np.ufunc)):
        not_rehearsed(kernel)
        return
    count = function.nout if isinstance(function, np.ufunc) else 1
    inputs, outputs = args[:-1][:-count], args[:-1][-count:]
    out = host(outputs[0])
    with np.errstate(all="ignore"):
        if name == "arange":
            results = np.asarray(host(inputs[0]) + np.arange(out.size).reshape(out.shape) * host(inputs[1]))
        else:
            results = function(*map(host, inputs))
        for there, result in zip(outputs, results if count > 1 else [results]):
            there = host(there)
            there[...] = np.asarray(result).astype(there.dtype)


# -- reductions: cupy_NAME(input, output, two indexers, …), with the axes that go away in front -----------------------

REDUCTIONS = {
    "sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "argmax": np.argmax, "argmin": np.argmin,
    "mean": np.mean, "all": np.all, "any": np.any, "nansum": np.nansum, "nanprod": np.nanprod, "nanmax": np.nanmax,
    "nanmin": np.nanmin, "nanmean": np.nanmean, "count_nonzero": np.count_nonzero,
}  # fmt: skip


def reduction(name, args):
    x, out = host(args[0]), host(args[1])
    x = x.astype(np.float32) if x.dtype == np.float16 else x  # which the kernels add up as float
    with np.errstate(all="ignore"):
        result = REDUCTIONS[name](x.reshape(-1, max(out.size, 1)), axis=0)
    out[...] = np.asarray(result).reshape(out.shape).astype(out.dtype)


def variance(args):
    x, mean, alpha, out = map(host, args[:4])
    x, mean = (np.reshape(part, (-1, max(out.size, 1))) for part in (x, mean))
    out[...] = (alpha * np.square(x - mean).sum(axis=0)).reshape(out.shape)


def multiply_and_sum(args):
    """What CuPy does for a product of one element, ``v @ v``."""
    x, y, out = map(host, args[:3])
    out[...] = (x * y).reshape(-1, max(out.size, 1)).sum(axis=0).reshape(out.shape)


# -- indexing ----------------------------------------------------------------------------------------------------------


def take(args):
    x, indices, ldim, cdim, rdim, length, out = map(host, args[:7])
    i = np.arange(out.size).reshape(out.shape)
    where = indices.astype(np.intp) % length + (i // (cdim * rdim) * length if ldim != 1 else 0)
    where = where * rdim + i % rdim if rdim != 1 else where
    out[...] = x.reshape(-1)[where]


def scatter(operation):
    def run(args):
        values, indices, cdim, rdim, adim, x = map(host, args[:6])
        i = np.arange(args[6].size)
        values, indices = (np.broadcast_to(part, np.shape(indices)).reshape(-1) for part in (values, indices))
        where = (i // (rdim * cdim) * adim + indices.astype(np.intp) % adim) * rdim + i % rdim
        operation(x, np.unravel_index(where, x.shape), values)

    return run


def _assign(x, where, values):
    x[where] = values


def prepare_indices(args):
    indices, length, stride, out = map(host, args[:4])
    out += (stride * (indices % length)).astype(out.dtype)


def pointers(args):
    base, stride, out = map(host, args[:3])
    out[...] = base + np.arange(out.shape[-1], dtype=out.dtype) * out.dtype.type(stride)


def concatenate(args):
    addresses, base, out = map(host, args[:3])
    size, count = out.size // len(addresses), len(addresses)
    memory = [(ctypes.c_char * (size * out.itemsize)).from_address(int(address)) for address in addresses]
    parts = np.stack([np.ndarray(size, out.dtype, part) for part in memory])
    i = np.arange(out.size)
    middle = i // base
    top = middle // count
    out[...] = parts[middle - top * count, i + (top - middle) * base].reshape(out.shape)


def put(fit):
    def run(args):
        indices, values, _, length, x = map(host, args[:5])
        x[np.unravel_index(fit(indices, length), x.shape)] = np.resize(values, indices.shape)

    return run


def put_or_say(args):
    indices, values, _, length, x, is_out = map(host, args[:6])
    inside = (-length <= indices) & (indices < length)
    x[np.unravel_index(indices[inside] % length, x.shape)] = np.resize(values, indices.shape)[inside]
    is_out[...] = not inside.all()


def choose(args):
    which, choices, each, out = map(host, args[:4])
    out[...] = choices.reshape(-1)[np.arange(out.size).reshape(out.shape) + each * which.reshape(out.shape)]


def sorted_place(args):
    x, bins, _, is_right, _, out = map(host, args[:6])
    out[...] = np.searchsorted(bins, x, "right" if is_right else "left")


def flat_read(args):
    x, start, step, out = map(host, args[:4])
    out[...] = x.reshape(-1)[start + step * np.arange(out.size)]


def flat_write(args):
    values, start, step, x = map(host, args[:4])
    for i in range(args[4].size):
        x[np.unravel_index(start + step * i, x.shape)] = values.reshape(-1)[i % values.size]


# -- CUB's sums, which CuPy has precompiled, and its own kernels with CUB's blocks -------------------------------------

# Which of them is asked for, and when, is CuPy's decision. How many kernels CUB launches is from its source: one for
# what one block of threads can reduce, otherwise two; for running totals, one to begin with and one for the rest.
_BLOCK = 16 * 1024  # bytes
_SUM, _MIN, _MAX, _ARGMIN, _ARGMAX, _CUMSUM, _, _PROD = range(8)
_REDUCTIONS = {_SUM: np.sum, _MIN: np.min, _MAX: np.max, _ARGMIN: np.argmin, _ARGMAX: np.argmax, _PROD: np.prod}


def _launched(name, count=1):
    rehearsal.log.extend([("launch", f"CUB {name}", rehearsal.state.device)] * count)


def _filled(cupy, shape, dtype, values, order="C"):
    made = cupy.ndarray(shape, dtype, order=order)
    host(made)[...] = values
    return made


def act_cub(cupy):
    """Put the answers into CuPy's module for CUB."""
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
        not_rehearsed("CUB's histogram")

    cub.device_reduce, cub.device_segmented_reduce, cub.device_scan = reduce, segmented_reduce, scan
    cub.device_histogram = histogram


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
    if name not in REDUCTIONS:
        not_rehearsed(f"cupy_{name}")
        return
    with np.errstate(all="ignore"):
        out[...] = np.asarray(REDUCTIONS[name](_between.pop())).astype(out.dtype)


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


def bytes_swapped(args):
    x, out = map(host, args[:2])
    out[...] = x.byteswap()


def written_where(args):
    values, mask, running, x = map(host, args[:4])
    x[mask] = np.ravel(values)[running[mask] - 1]


OTHERS = {
    "cupy_put_wrap": put(np.remainder), "cupy_put_clip": put(lambda i, n: np.clip(i, 0, n - 1)), "cupy_choose": choose,
    "cupy_put_raise": put_or_say, "cupy_byteswap": bytes_swapped,
    "cupy_searchsorted_kernel": sorted_place, "cupy_flatiter_getitem_slice": flat_read,
    "cupy_flatiter_setitem_slice": flat_write, "cupy_scatter_max": scatter(np.maximum.at),
    "cupy_scatter_min": scatter(np.minimum.at),
    "cupy_concatenate_same_size": concatenate, "_tensordot_core_mul_sum": multiply_and_sum,
    "cupy_var_core_float32": variance, "cupy_var_core_float64": variance, "cupy_var_core_out": variance,
    "cupy_take": take, "cupy_take_scalar": take, "cupy_prepare_array_indexing": prepare_indices,
    "cupy_scatter_add": scatter(np.add.at), "cupy_scatter_update": scatter(_assign), "cupy_mat_ptrs": pointers,
    "cupy_bsum_shfl": block_sums, "cupy_bsum_smem": block_sums, "cupy_scan_naive": running_total,
    "cupy_scan_btree": running_total, "cupy_getitem_mask": masked, "cupy_nonzero_kernel": positions,
    "cupy_nonzero_kernel_incomplete_scan": positions, "cupy_scatter_update_mask": written_where,
}  # fmt: skip


def answer(name, args):
    """Do what the kernel `name` does."""
    short = re.sub(r"^cupy_|__.*$", "", name)
    if name in OTHERS:
        OTHERS[name](args)
    elif short.endswith("_pass1"):
        first_pass(args)
    elif short.endswith("_pass2"):
        second_pass(re.sub("^cub_|_with_dtype|_pass2$", "", short), args)
    elif short.removesuffix("_with_dtype") in REDUCTIONS and len(args) >= 4:
        reduction(short.removesuffix("_with_dtype"), args)
    else:
        elementwise(name, short, args)


# -- products, in place of cuBLAS, which counts matrices column by column ----------------------------------------------

_DTYPES = {0: np.float32, 1: np.float64, 2: np.float16, 4: np.complex64, 5: np.complex128}


def _matrix(pointer, rows, columns, ld, dtype):
    size = np.dtype(dtype).itemsize
    memory = (ctypes.c_char * max(size * ld * columns, 1)).from_address(pointer)
    return np.ndarray((rows, columns), dtype, memory, strides=(size, size * ld))


def _product(transa, transb, m, n, k, a, lda, b, ldb, c, ldc, dtype):
    left = _matrix(a, k, m, lda, dtype).T if transa else _matrix(a, m, k, lda, dtype)
    right = _matrix(b, n, k, ldb, dtype).T if transb else _matrix(b, k, n, ldb, dtype)
    wide = np.float32 if dtype is np.float16 else dtype  # as on a card: rounded once
    _matrix(c, m, n, ldc, dtype)[...] = (left.astype(wide) @ right.astype(wide)).astype(dtype)


class Cublas(types.ModuleType):
    """In place of CuPy's module for cuBLAS. What isn't here isn't rehearsed."""

    create = staticmethod(lambda: 1)
    destroy = setMathMode = staticmethod(lambda *_: None)
    getVersion = staticmethod(lambda handle: 12000)

    @staticmethod
    def gemmEx(handle, transa, transb, m, n, k, one, a, a_kind, lda, b, b_kind, ldb, zero, c, c_kind, ldc, *_):
        rehearsal.log.append(("launch", "gemm", rehearsal.state.device))
        _product(transa, transb, m, n, k, a, lda, b, ldb, c, ldc, _DTYPES[c_kind])

    @staticmethod
    def gemmStridedBatchedEx(
        handle, transa, transb, m, n, k, one, a, kind, lda, next_a, b, _b, ldb, next_b, zero, c, _c, ldc, next_c,
        count, *_
    ):  # fmt: skip
        rehearsal.log.append(("launch", "batched gemm", rehearsal.state.device))
        size = np.dtype(_DTYPES[kind]).itemsize
        for i in range(count):
            where = (a + i * next_a * size, lda, b + i * next_b * size, ldb, c + i * next_c * size, ldc)
            _product(transa, transb, m, n, k, *where, _DTYPES[kind])

    def __getattr__(self, name):
        if name.startswith("CUBLAS_"):
            return 0
        if name.startswith("__"):
            raise AttributeError(name)
        if not name.endswith("gemmBatched"):
            return lambda *_: not_rehearsed(f"cuBLAS {name}")
        dtype = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}[name[0]]

        def batched(handle, transa, transb, m, n, k, one, a, lda, b, ldb, zero, c, ldc, count):
            rehearsal.log.append(("launch", "batched gemm", rehearsal.state.device))
            a, b, c = (np.ndarray(count, np.uint64, (ctypes.c_char * (8 * count)).from_address(p)) for p in (a, b, c))
            for i in range(count):
                _product(transa, transb, m, n, k, int(a[i]), lda, int(b[i]), ldb, int(c[i]), ldc, dtype)

        return batched


class Missing(types.ModuleType):
    """In place of a library of the toolkit that has no answers."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        library = self.__name__.rpartition(".")[2]
        if name in ("create", "spCreate", "getVersion"):  # what `functional` and `doctor` ask
            raise ImportError(f"{library} is not rehearsed")
        return lambda *_: not_rehearsed(f"{library} {name}")


# -- CuPy's own classes, with answers ----------------------------------------------------------------------------------


def act():
    """Put the answers into CuPy, which is imported here."""
    from cupy_backends.cuda import libs

    for kind, name in ((Cublas, "cublas"), (Missing, "cusolver"), (Missing, "cusparse")):
        module = kind(f"{libs.__name__}.{name}")
        setattr(libs, name, module)
        sys.modules[module.__name__] = module
    import cupy
    from cupy.cuda import compiler, function

    class Kernel(function.Function):
        def __init__(self, name, source):
            self.name, self.source = name, source

        def linear_launch(self, size, args, *_, **__):
            rehearsal.log.append(("launch", self.name, rehearsal.state.device))
            if not rehearsed_fused.answer(self.name, self.source, args):
                answer(self.name, args)

        def __call__(self, grid, block, args, *_, **__):
            """A kernel with a grid of its own, such as one written by hand."""
            rehearsal.log.append(("launch", self.name, rehearsal.state.device, grid, block))
            if self.name in OTHERS:
                OTHERS[self.name](args)
            else:
                not_rehearsed(self.name)

    class Module(function.Module):
        def __init__(self, source):
            self._set_mapping({})
            self.source = source

        def get_function(self, name):
            return Kernel(name if isinstance(name, str) else name.decode(), self.source)

    import rehearsed_fused

    act_cub(cupy)
    rehearsed_fused.act()
    real, compiled = compiler._compile_module_with_cache, set()

    def compile_(source, *args, **kwargs):
        if _nvrtc() and source not in compiled:
            real(source, *args, **kwargs)
            compiled.add(source)
            rehearsal.log.append(("compile", len(source)))
        return Module(source)

    compiler._compile_module_with_cache = compile_
    cupy.random.Generator = _generator(cupy)
    for name in ("sort", "argsort", "lexsort"):
        setattr(cupy.cuda.thrust, name, lambda *_, name=name: _sort(f"Thrust's {name}"))


def _sort(name):
    rehearsal.log.append(("launch", name, rehearsal.state.device))
    not_rehearsed(name)


def _nvrtc():
    """Whether NVIDIA's compiler is installed: it needs no card."""
    from cupy_backends.cuda.libs import nvrtc

    try:
        return bool(nvrtc.getVersion())
    except Exception:  # CuPy raises its own error for each way in which a library can be missing
        return False


def _generator(cupy):
    """Draws with NumPy's Philox, for cuRAND's."""

    class Philox4x3210:
        def __init__(self, seed):
            self.seed = seed

    class Generator:
        def __init__(self, bits):
            self.drawn = np.random.Generator(np.random.Philox(bits.seed))

        def random(self, size=None, dtype=np.float64):
            return cupy.array(self.drawn.random(size).astype(dtype))

        def standard_normal(self, size=None, dtype=np.float64):
            return cupy.array(self.drawn.standard_normal(size).astype(dtype))

        def uniform(self, low=0.0, high=1.0, size=None, dtype=np.float64):
            return cupy.array(self.drawn.uniform(low, high, size).astype(dtype))

        def integers(self, low, high=None, size=None, dtype=np.int64):
            return cupy.array(self.drawn.integers(low, high, size, dtype))

    cupy.random.Philox4x3210 = Philox4x3210
    return Generator
