"""Kernels that work, with what they're given and what they compute."""

import numpy as np

import fluxlite as fl
from fluxlite.cuda import jit


@jit.rawkernel()
def twice(x, out):
    i = jit.grid(1)
    out[i] = x[i] * 2


@jit.rawkernel()
def guarded(x, out):
    i = jit.grid(1)
    if i < x.size:
        out[i] = x[i] * 2


@jit.rawkernel()
def map_2d(x, out):
    column, row = jit.grid(2)
    if row < x.shape[0] and column < x.shape[1]:
        out[row, column] = np.tanh(x[row, column]) + 0.5


@jit.rawkernel()
def block_sum(x, out):
    part = jit.shared_memory(np.float32, 128)
    t = int(jit.threadIdx.x)
    part[t] = x[jit.grid(1)]
    jit.syncthreads()
    half = 64
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        jit.syncthreads()
        half = half // 2
    if t == 0:
        out[jit.blockIdx.x] = part[0]


@jit.rawkernel()
def dot_product(x, y, out):
    i = jit.grid(1)
    if i < x.size:
        jit.atomic_add(out, 0, x[i] * y[i])


@jit.rawkernel()
def product_by_tiles(a, b, out):
    left = jit.shared_memory(np.float32, 256)
    right = jit.shared_memory(np.float32, 256)
    tx = int(jit.threadIdx.x)
    ty = int(jit.threadIdx.y)
    column, row = jit.grid(2)
    total = 0.0
    for k in jit.range(0, a.shape[1], 16):
        left[ty * 16 + tx] = a[row, k + tx]
        right[ty * 16 + tx] = b[k + ty, column]
        jit.syncthreads()
        for i in range(16):
            total += left[ty * 16 + i] * right[i * 16 + tx]
        jit.syncthreads()
    out[row, column] = total


@jit.rawkernel()
def transposed(x, out, width):
    """`width` of the tile's rows: 32 has a bank conflict in every access of a column, 33 has none."""
    tile = jit.shared_memory(np.float32, 33 * 32)
    tx = int(jit.threadIdx.x)
    ty = int(jit.threadIdx.y)
    row = int(jit.blockIdx.y) * 32
    column = int(jit.blockIdx.x) * 32
    for k in range(0, 32, 8):
        tile[(ty + k) * width + tx] = x[row + ty + k, column + tx]
    jit.syncthreads()
    for k in range(0, 32, 8):
        out[column + ty + k, row + tx] = tile[tx * width + ty + k]


@jit.rawkernel()
def histogram(x, counts):
    here = jit.shared_memory(np.int32, 16)
    t = jit.threadIdx.x
    if t < 16:
        here[t] = 0
    jit.syncthreads()
    for i in range(jit.grid(1), x.size, jit.gridsize(1)):
        jit.atomic_add(here, x[i], 1)
    jit.syncthreads()
    if t < 16:
        jit.atomic_add(counts, t, here[t])


@jit.rawkernel(device=True)
def warp_maximum(value):
    for k in range(5):
        value = max(value, jit.shfl_xor_sync(0xFFFFFFFF, value, 1 << k, width=32))
    return value


@jit.rawkernel(device=True)
def warp_sum(value):
    for k in range(5):
        value += jit.shfl_xor_sync(0xFFFFFFFF, value, 1 << k, width=32)
    return value


@jit.rawkernel()
def softmax(x, out):
    """One warp for each row."""
    row = jit.blockIdx.x
    lane = int(jit.laneid())
    most = x[row, 0]
    for k in range(lane, x.shape[1], 32):
        most = max(most, x[row, k])
    most = warp_maximum(most)
    total = 0.0
    for k in range(lane, x.shape[1], 32):
        total += np.exp(x[row, k] - most)
    total = warp_sum(total)
    for k in range(lane, x.shape[1], 32):
        out[row, k] = np.exp(x[row, k] - most) / total


@jit.rawkernel()
def exits_before_a_barrier(x, out):
    part = jit.shared_memory(np.float32, 64)
    t = int(jit.threadIdx.x)
    if t >= x.size:
        return
    part[t] = x[t]
    jit.syncthreads()
    out[t] = part[int(x.size) - 1 - t]


@jit.rawkernel()
def warp_reversed(x, out):
    part = jit.shared_memory(np.float32, 64)
    t = int(jit.threadIdx.x)
    part[t] = x[t]
    jit.syncwarp()
    out[t] = part[t ^ 31]


@jit.rawkernel()
def positives(x, out):
    """Each thread with a positive number takes the next free place, and writes there which thread it is."""
    i = jit.grid(1)
    if i < x.size - 1 and x[i] > 0:
        out[jit.atomic_add(out, 1023, 1)] = int(i)


@jit.rawkernel()
def in_three(x, out):
    i = jit.threadIdx.z
    j = jit.threadIdx.y
    k = jit.threadIdx.x
    out[i, j, k] = x[i, j, k] + 1


@jit.rawkernel()
def c_numbers(n, out):
    """Numbers wrap and divide as in C."""
    out[0] = n[0] + 1
    out[1] = n[1] // 2
    out[2] = n[1] % 2
    out[3] = n[2] / 2


@jit.rawkernel()
def square_of_one(x):
    x[()] = x[()] * x[()]


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


def launched(kernel, blocks, threads, *args, out=-1):
    """What's in argument number `out` after a launch on copies of these arguments."""
    there = [fl.gpu(x, dtype=None) if isinstance(x, np.ndarray) else x for x in args]
    kernel[blocks, threads](*there)
    return fl.cpu(there[out])


X, Y = floats(1024), floats(1024, seed=1)
A, B = floats(64, 64, seed=3), floats(64, 64, seed=4)
INTS = np.random.default_rng(5).integers(0, 16, 3000).astype(np.int32)
CUBE = floats(4, 6, 8)
SOFTMAX = np.exp(A - A.max(1, keepdims=True)) / np.exp(A - A.max(1, keepdims=True)).sum(1, keepdims=True)

# The kernel, blocks, threads, arguments, and what's then in the last array.
RIGHT = [
    (twice, 4, 32, (X[:128], zeros(128)), X[:128] * 2),
    (guarded, 4, 32, (X[:100], zeros(100)), X[:100] * 2),
    (map_2d, (3, 2), (16, 16), (A[:25, :40], zeros(25, 40)), np.tanh(A[:25, :40]) + 0.5),
    (block_sum, 8, 128, (X, zeros(8)), X.reshape(8, 128).sum(1)),
    (dot_product, 8, 128, (X, Y, zeros(1)), [X @ Y]),
    (product_by_tiles, (4, 4), (16, 16), (A, B, zeros(64, 64)), A @ B),
    (histogram, 4, 64, (INTS, zeros(16, dtype=np.int32)), np.bincount(INTS, minlength=16)),
    (softmax, 64, 32, (A, zeros(64, 64)), SOFTMAX),
    (exits_before_a_barrier, 1, 64, (X[:40], zeros(40)), X[:40][::-1]),
    (warp_reversed, 1, 64, (X[:64], zeros(64)), X[:64].reshape(2, 32)[:, ::-1].ravel()),
    (in_three, 1, (8, 6, 4), (CUBE, zeros(4, 6, 8)), CUBE + 1),
    (c_numbers, 1, 1, (np.array([2**31 - 1, -7, 7], np.int32), np.zeros(4)), [-(2**31), -4, 1, 3.5]),
    (square_of_one, 1, 1, (np.array(3.0, np.float32),), 9.0),
]


def name_of(x):
    return getattr(x, "name", None)
