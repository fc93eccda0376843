"""Kernels that learners of lesson 08 may write: wrong ones, and right ones that aren't the lesson's own."""

import numpy as np

from fluxlite.cuda import jit


@jit.rawkernel()
def affine_in_place(x, out):
    i = int(jit.grid(1))
    x[i] = 3 * x[i] + 1


@jit.rawkernel()
def affine_thread_of_its_block(x, out):
    i = int(jit.threadIdx.x)
    if jit.blockIdx.x == 0:
        out[i] = 3 * x[i] + 1


@jit.rawkernel()
def affine_by_all(x, out):
    for i in range(x.size):
        out[i] = 3 * x[i] + 1


@jit.rawkernel()
def affine_forgets_one(x, out):
    i = int(jit.grid(1))
    out[i] = 3 * x[i]


@jit.rawkernel()
def affine_into_a_name(x, out):
    i = int(jit.grid(1))
    result = 3 * x[i] + 1  # noqa: F841


@jit.rawkernel()
def affine_shifted(x, out):
    i = int(jit.grid(1)) + 1
    out[i] = 3 * x[i] + 1


@jit.rawkernel()
def affine_returns(x, out):
    return 3 * x[jit.grid(1)] + 1


def affine_undecorated(x, out):
    out[...] = 3 * x + 1


@jit.rawkernel()
def affine_by_hand(x, out):
    i = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
    if i < x.size:
        out[i] = x[i] + x[i] + x[i] + 1


@jit.rawkernel()
def affine_in_a_loop(x, out):
    i = int(jit.grid(1))
    while i < x.size:
        value = x[i]
        out[i] = 3 * value + 1
        i += int(jit.gridsize(1))


@jit.rawkernel()
def pairs_without_a_guard(x, out):
    i = int(jit.grid(1))
    out[i] = x[i] + x[i + 1]


@jit.rawkernel()
def pairs_guarded_too_late(x, out):
    i = int(jit.grid(1))
    if i < x.size:
        out[i] = x[i] + x[i + 1]


@jit.rawkernel()
def pairs_without_the_last(x, out):
    i = int(jit.grid(1))
    if i < x.size - 1:
        out[i] = x[i] + x[i + 1]


@jit.rawkernel()
def pairs_with_the_left(x, out):
    i = int(jit.grid(1))
    if i > 0 and i < x.size:
        out[i] = x[i] + x[i - 1]
    elif i == 0:
        out[i] = x[i]


@jit.rawkernel()
def pairs_in_place(x, out):
    i = int(jit.grid(1))
    if i < x.size - 1:
        x[i] += x[i + 1]


@jit.rawkernel()
def pairs_by_return(x, out):
    i = int(jit.grid(1))
    if i >= x.size:
        return
    out[i] = x[i]
    if i + 1 < x.size:
        out[i] += x[i + 1]


@jit.rawkernel()
def pairs_by_expression(x, out):
    i = int(jit.grid(1))
    if i < x.size:
        out[i] = x[i] + (x[i + 1] if i + 1 < x.size else np.float32(0))


@jit.rawkernel()
def eight_in_a_row(x, out):
    t = int(jit.grid(1))
    for k in range(8):
        i = 8 * t + k
        out[i] = 2 * x[i]


@jit.rawkernel()
def eight_by_the_block(x, out):
    t = int(jit.grid(1))
    for k in range(8):
        i = t + k * int(jit.blockDim.x)
        out[i] = 2 * x[i]


@jit.rawkernel()
def eight_by_1024(x, out):
    t = int(jit.grid(1))
    for k in range(8):
        i = t + k * 1024
        out[i] = 2 * x[i]


@jit.rawkernel()
def eight_by_one_block(x, out):
    if jit.blockIdx.x == 0:
        for i in range(int(jit.threadIdx.x), x.size, int(jit.blockDim.x)):
            out[i] = 2 * x[i]


@jit.rawkernel()
def only_the_first_eighth(x, out):
    i = int(jit.grid(1))
    out[i] = 2 * x[i]


@jit.rawkernel()
def eight_not_doubled(x, out):
    for i in range(int(jit.grid(1)), x.size, int(jit.gridsize(1))):
        out[i] = x[i]


@jit.rawkernel()
def eight_forever(x, out):
    i = int(jit.grid(1))
    while i < x.size:
        out[i] = 2 * x[i]


@jit.rawkernel()
def eight_by_range(x, out):
    for i in range(int(jit.grid(1)), x.size, int(jit.gridsize(1))):
        out[i] = x[i] + x[i] if i < 0 else 2 * x[i]


@jit.rawkernel()
def eight_while(x, out):
    i = int(jit.grid(1))
    while i < x.size:
        out[i] = x[i] * 2
        i += int(jit.blockDim.x * jit.gridDim.x)


def summed(first=128, barrier_before=False, barrier_inside=False, barrier_after=True):
    """A block's sum by halving, and what can go wrong with it. A kernel takes numbers from outside as they are."""

    @jit.rawkernel()
    def summed(x, out):
        part = jit.shared_memory(np.float32, 256)
        t = int(jit.threadIdx.x)
        part[t] = x[int(jit.grid(1))]
        jit.syncthreads()
        half = first
        while half > 0:
            if barrier_before:
                jit.syncthreads()
            if t < half:
                part[t] += part[t + half]
                if barrier_inside:
                    jit.syncthreads()
            if barrier_after:
                jit.syncthreads()
            half = half // 2
        if t == 0:
            out[jit.blockIdx.x] = part[0]

    return summed


@jit.rawkernel()
def sum_alone(x, out):
    part = jit.shared_memory(np.float32, 256)
    t = int(jit.threadIdx.x)
    part[t] = x[int(jit.grid(1))]
    jit.syncthreads()
    if t == 0:
        total = 0.0
        for k in range(256):
            total += part[k]
        out[jit.blockIdx.x] = total


@jit.rawkernel()
def sum_by_atomics(x, out):
    jit.atomic_add(out, jit.blockIdx.x, x[jit.grid(1)])


@jit.rawkernel()
def sum_in_the_first_block_alone(x, out):
    part = jit.shared_memory(np.float32, 256)
    t = int(jit.threadIdx.x)
    part[t] = x[jit.grid(1)]
    jit.syncthreads()
    if jit.grid(1) == 0:
        total = 0.0
        for k in range(256):
            total += part[k]
        out[0] = total


@jit.rawkernel()
def sum_of_one(x, out):
    if jit.threadIdx.x == 0:
        out[jit.blockIdx.x] = x[jit.grid(1)]


@jit.rawkernel()
def sum_unwritten(x, out):
    part = jit.shared_memory(np.float32, 256)
    t = int(jit.threadIdx.x)
    if t < 128:
        part[t] = x[int(jit.grid(1))]
    jit.syncthreads()
    if t < 128:
        part[t] += part[t + 128]
    jit.syncthreads()
    if t == 0:
        out[jit.blockIdx.x] = part[0]


@jit.rawkernel()
def sum_by_shuffles(x, out):
    part = jit.shared_memory(np.float32, 8)
    value = x[jit.grid(1)]
    for k in range(5):
        value += jit.shfl_xor_sync(0xFFFFFFFF, value, 1 << k, width=32)
    if jit.laneid() == 0:
        part[jit.threadIdx.x // 32] = value
    jit.syncthreads()
    if jit.threadIdx.x == 0:
        total = 0.0
        for k in range(8):
            total += part[k]
        out[jit.blockIdx.x] = total


@jit.rawkernel(device=True)
def halved(part, t):
    """Adds up 256 numbers in shared memory, into the first."""
    jit.syncthreads()
    half = 128
    while half > 0:
        if t < half:
            part[t] += part[t + half]
        jit.syncthreads()
        half = half // 2


ADDED, ASSIGNED, FOR_EACH_BLOCK, BY_THE_FIRST, BY_ALL = range(5)


def dot(guarded=True, zeros=True, with_y=True, inside=False, end=ADDED):
    """A dot product, and what can go wrong with it; `end` is how a block's share gets into out."""

    @jit.rawkernel()
    def dot(x, y, out):
        part = jit.shared_memory(np.float32, 256)
        t = int(jit.threadIdx.x)
        i = int(jit.grid(1))
        if zeros:
            part[t] = 0.0
        if i < x.size or not guarded:
            part[t] = x[i]
            if with_y:
                part[t] *= y[i]
            if inside:
                halved(part, t)
        if not inside:
            halved(part, t)
        if end == ADDED and t == 0 or end == BY_ALL:
            jit.atomic_add(out, 0, part[0])
        if end == ASSIGNED and t == 0:
            out[0] += part[0]
        if end == FOR_EACH_BLOCK and t == 0:
            out[jit.blockIdx.x] = part[0]
        if end == BY_THE_FIRST and i == 0:
            out[0] = part[0]

    return dot


@jit.rawkernel()
def dot_with_an_atomic_each(x, y, out):
    i = int(jit.grid(1))
    if i < x.size:
        jit.atomic_add(out, 0, x[i] * y[i])


@jit.rawkernel()
def dot_alone(x, y, out):
    if jit.grid(1) == 0:
        total = 0.0
        for k in range(x.size):
            total += x[k] * y[k]
        out[0] = total


@jit.rawkernel()
def dot_in_strides(x, y, out):
    part = jit.shared_memory(np.float32, 256)
    t = int(jit.threadIdx.x)
    total = 0.0
    for i in range(int(jit.grid(1)), x.size, int(jit.gridsize(1))):
        total += x[i] * y[i]
    part[t] = total
    halved(part, t)
    if t == 0:
        jit.atomic_add(out, 0, part[0])


@jit.rawkernel()
def dot_by_the_first_block(x, y, out):
    """One block does everything: no atomic at all."""
    part = jit.shared_memory(np.float32, 256)
    t = int(jit.threadIdx.x)
    total = 0.0
    if jit.blockIdx.x == 0:
        for i in range(t, x.size, 256):
            total += x[i] * y[i]
    part[t] = total
    halved(part, t)
    if t == 0 and jit.blockIdx.x == 0:
        out[0] = part[0]


@jit.rawkernel()
def product_of_rows(a, b, out):
    column, row = jit.grid(2)
    total = 0.0
    for k in range(a.shape[1]):
        total += a[row, k] * b[k, column]
    out[row, column] = total


def tiled(second_barrier=True, first_barrier=True, mixed=False, tiles=None, step=16):
    """A product by tiles, and what can go wrong with it."""
    most = tiles or 1000

    @jit.rawkernel()
    def product(a, b, out):
        left = jit.shared_memory(np.float32, 256)
        right = jit.shared_memory(np.float32, 256)
        tx = int(jit.threadIdx.x)
        ty = int(jit.threadIdx.y)
        column, row = jit.grid(2)
        total = 0.0
        for tile in range(min(int(a.shape[1]) // 16, most)):
            first = tile * step
            left[16 * ty + tx] = a[row, first + tx]
            if mixed:
                right[16 * ty + tx] = b[first + tx, column]
            else:
                right[16 * ty + tx] = b[first + ty, column]
            if first_barrier:
                jit.syncthreads()
            for k in range(16):
                total += left[16 * ty + k] * right[16 * k + tx]
            if second_barrier:
                jit.syncthreads()
        out[row, column] = total

    return product


@jit.rawkernel()
def tiles_on_their_side(a, b, out):
    """Its tile of b is turned, so the lanes of a warp are 16 places apart."""
    left = jit.shared_memory(np.float32, 256)
    right = jit.shared_memory(np.float32, 256)
    tx = int(jit.threadIdx.x)
    ty = int(jit.threadIdx.y)
    column, row = jit.grid(2)
    total = 0.0
    for first in jit.range(0, a.shape[1], 16):
        left[16 * ty + tx] = a[row, first + tx]
        right[16 * tx + ty] = b[first + ty, column]
        jit.syncthreads()
        for k in range(16):
            total += left[16 * ty + k] * right[16 * tx + k]
        jit.syncthreads()
    out[row, column] = total


@jit.rawkernel()
def padded_tiles(a, b, out):
    left = jit.shared_memory(np.float32, 272)
    right = jit.shared_memory(np.float32, 272)
    tx = int(jit.threadIdx.x)
    ty = int(jit.threadIdx.y)
    row = int(jit.blockIdx.y) * 16 + ty
    column = int(jit.blockIdx.x) * 16 + tx
    total = 0.0
    done = 0
    while done < a.shape[1]:
        left[17 * ty + tx] = a[row, done + tx]
        right[17 * ty + tx] = b[done + ty, column]
        jit.syncthreads()
        for k in range(16):
            total += left[17 * ty + k] * right[17 * k + tx]
        jit.syncthreads()
        done += 16
    out[row, column] = total
