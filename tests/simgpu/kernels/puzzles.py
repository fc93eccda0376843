"""Fourteen kernels that work, and the ways in which they go wrong."""

import numpy as np

from fluxlite.cuda import jit

# -- the eight ------------------------------------------------------------------------------------------------------


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
def convolution(x, w, out):
    tile = jit.shared_memory(np.float32, 132)
    i = jit.grid(1)
    t = int(jit.threadIdx.x)
    tile[t] = x[i] if i < x.size else np.float32(0)
    if t < 4:
        tile[t + 128] = x[i + 128] if i + 128 < x.size else np.float32(0)
    jit.syncthreads()
    if i < out.size:
        total = 0.0
        for k in range(5):
            total += tile[t + k] * w[k]
        out[i] = total


@jit.rawkernel()
def product(a, b, out):
    column, row = jit.grid(2)
    total = 0.0
    for k in range(a.shape[1]):
        total += a[row, k] * b[k, column]
    out[row, column] = total


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


# -- six more -------------------------------------------------------------------------------------------------------


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


@jit.rawkernel()
def running_sum(x, out):
    """Hillis and Steele: each step adds what's twice as far away, from one half of the memory into the other."""
    both = jit.shared_memory(np.float32, 128)
    t = int(jit.threadIdx.x)
    both[t] = x[t]
    jit.syncthreads()
    old = 0
    step = 1
    while step < 64:
        place = 64 - old
        both[place + t] = both[old + t] + both[old + t - step] if t >= step else both[old + t]
        jit.syncthreads()
        old = place
        step *= 2
    out[t] = both[old + t]


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
def mandelbrot(rounds):
    column, row = jit.grid(2)
    x0 = np.float32(column) / 20.0 - 2.0
    y0 = np.float32(row) / 20.0 - 1.0
    x = 0.0
    y = 0.0
    k = 0
    while k < 30 and x * x + y * y <= 4.0:
        x, y = x * x - y * y + x0, 2.0 * x * y + y0
        k += 1
    rounds[row, column] = k


@jit.rawkernel()
def positives(x, out, count):
    """Each thread with a positive number takes the next free place."""
    i = jit.grid(1)
    if i >= x.size:
        return
    if x[i] > 0:
        out[jit.atomic_add(count, 0, 1)] = x[i]


# -- mistakes: the comment says which line -------------------------------------------------------------------------


@jit.rawkernel()
def left_neighbour(x, out):
    i = jit.grid(1)
    if i < x.size:
        out[i] = x[i] - x[i - 1]  # index


@jit.rawkernel()
def left_neighbour_signed(x, out):
    i = int(jit.grid(1))
    if i < x.size:
        out[i] = x[i] - x[i - 1]  # index


@jit.rawkernel()
def block_sum_without_barrier(x, out):
    part = jit.shared_memory(np.float32, 128)
    t = int(jit.threadIdx.x)
    part[t] = x[jit.grid(1)]
    jit.syncthreads()
    half = 64
    while half > 0:
        if t < half:
            part[t] += part[t + half]  # race
        half = half // 2
    if t == 0:
        out[jit.blockIdx.x] = part[0]


@jit.rawkernel()
def block_sum_stuck(x, out):
    part = jit.shared_memory(np.float32, 128)
    t = int(jit.threadIdx.x)
    part[t] = x[jit.grid(1)]
    jit.syncthreads()
    half = 64
    while half > 0:
        if t < half:
            part[t] += part[t + half]
            jit.syncthreads()  # stuck
        half = half // 2
    if t == 0:
        out[jit.blockIdx.x] = part[0]


@jit.rawkernel()
def dot_product_race(x, y, out):
    i = jit.grid(1)
    if i < x.size:
        out[0] += x[i] * y[i]  # race


@jit.rawkernel()
def product_by_tiles_race(a, b, out):
    left = jit.shared_memory(np.float32, 256)
    right = jit.shared_memory(np.float32, 256)
    tx = int(jit.threadIdx.x)
    ty = int(jit.threadIdx.y)
    column, row = jit.grid(2)
    total = 0.0
    for k in jit.range(0, a.shape[1], 16):
        left[ty * 16 + tx] = a[row, k + tx]  # race
        right[ty * 16 + tx] = b[k + ty, column]
        jit.syncthreads()
        for i in range(16):
            total += left[ty * 16 + i] * right[i * 16 + tx]
    out[row, column] = total


@jit.rawkernel()
def convolution_unwritten(x, w, out):
    tile = jit.shared_memory(np.float32, 132)
    i = jit.grid(1)
    t = int(jit.threadIdx.x)
    tile[t] = x[i]
    jit.syncthreads()
    total = 0.0
    for k in range(5):
        total += tile[t + k] * w[k]  # unwritten
    out[i] = total


@jit.rawkernel()
def shifted(x, out):
    i = int(jit.grid(1))
    if i < x.size - 1:
        out[i + 1] = x[i]  # race, if x and out are the same


@jit.rawkernel()
def added(x, out):
    i = jit.grid(1)
    out[i] += x[i]  # unwritten, if out is made by empty


@jit.rawkernel()
def too_much_shared(out):
    first = jit.shared_memory(np.float32, 8192)
    second = jit.shared_memory(np.float64, 4096)  # too much
    first[0] = 1.0
    second[0] = 1.0
    out[0] = first[0]


@jit.rawkernel()
def endless(x):
    i = int(jit.grid(1))
    while x[0] < 1.0:  # endless
        i = i + 1


@jit.rawkernel()
def value_of_a_branch(x, out):
    i = jit.grid(1)
    if x[i] > 0:
        sign = 1.0
    out[i] = sign  # no value


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
def warp_reversed(x, out, with_barrier):
    part = jit.shared_memory(np.float32, 64)
    t = int(jit.threadIdx.x)
    part[t] = x[t]
    if with_barrier:
        jit.syncwarp()
    out[t] = part[t ^ 31]  # race, without the barrier


@jit.rawkernel()
def half_a_warp_waits(x, out):
    t = int(jit.threadIdx.x)
    if t < 16:
        jit.syncwarp()  # stuck
    out[t] = x[t]


@jit.rawkernel()
def shuffle_of_half(x, out):
    t = int(jit.threadIdx.x)
    out[t] = x[t]
    if t < 16:
        out[t] = jit.shfl_sync(0xFFFFFFFF, x[t], 20, width=32)  # asleep


@jit.rawkernel(device=True)
def element(x, i):
    return x[i]  # index, in a function


@jit.rawkernel()
def through_a_function(x, out):
    i = jit.grid(1)
    out[i] = element(x, i)
