"""Kernels that learners of lesson 08 may write: wrong ones, and right ones that aren't the lesson's own."""

import numpy as np

from fluxlite.cuda import jit


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


@jit.rawkernel()
def affine_of_something_else(x, out):
    i = int(jit.grid(1))
    out[i] = 5 * x[i] + 7


@jit.rawkernel()
def affine_swapped(out, x):
    i = int(jit.grid(1))
    out[i] = 3 * x[i] + 1


@jit.rawkernel()
def affine_in_place(x, out):
    i = int(jit.grid(1))
    out[i] = 3 * x[i] + 1
    x[i] = out[i]


@jit.rawkernel()
def affine_for_256(x, out):
    i = jit.blockIdx.x * 256 + jit.threadIdx.x
    out[i] = 3 * x[i] + 1


@jit.rawkernel()
def affine_by_atomics(x, out):
    i = int(jit.grid(1))
    jit.atomic_add(out, i, 3 * x[i] + 1)


@jit.rawkernel()
def pairs_by_one_thread(x, out):
    if int(jit.grid(1)) == 0:
        for i in range(x.size - 1):
            out[i] = x[i] + x[i + 1]
        out[x.size - 1] = x[x.size - 1]


@jit.rawkernel()
def affine_by_one_thread(x, out):
    if jit.grid(1) == 0:
        for i in range(x.size):
            out[i] = 3 * x[i] + 1


@jit.rawkernel()
def affine_with_other_names(numbers, results):
    i = int(jit.grid(1))
    results[i] = numbers[i] * 3.0 + 1.0


@jit.rawkernel()
def affine_by_strides(x, out):
    for i in range(int(jit.grid(1)), x.size, int(jit.gridsize(1))):
        out[i] = 3 * x[i] + 1


def affine_undecorated(x, out):
    out[...] = 3 * x + 1


@jit.rawkernel()
def affine_by_hand(x, out):
    i = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x
    if i < x.size:
        out[i] = x[i] + x[i] + x[i] + 1


@jit.rawkernel()
def pairs_without_a_guard(x, out):
    i = int(jit.grid(1))
    out[i] = x[i] + x[i + 1]


@jit.rawkernel()
def pairs_without_the_last(x, out):
    i = int(jit.grid(1))
    if i < x.size - 1:
        out[i] = x[i] + x[i + 1]


@jit.rawkernel()
def pairs_by_return(x, out):
    i = int(jit.grid(1))
    if i >= x.size:
        return
    out[i] = x[i]
    if i + 1 < x.size:
        out[i] += x[i + 1]


@jit.rawkernel()
def pairs_with_the_left(x, out):
    i = int(jit.grid(1))
    if i < x.size:
        out[i] = x[i] + x[i - 1]


@jit.rawkernel()
def pairs_with_the_left_guarded(x, out):
    i = int(jit.grid(1))
    if i < x.size:
        out[i] = x[i]
        if i > 0:
            out[i] += x[i - 1]


@jit.rawkernel()
def pairs_with_the_left_and_no_guard(x, out):
    i = int(jit.grid(1))
    out[i] = x[i] + x[i - 1]


@jit.rawkernel()
def pairs_with_the_left_but_the_first(x, out):
    i = int(jit.grid(1))
    if i > 0 and i < x.size - 1:
        out[i] = x[i] + x[i - 1]
    if i == x.size - 1:
        out[i] = x[i]


@jit.rawkernel()
def pairs_in_a_ring(x, out):
    i = int(jit.grid(1))
    if i < x.size:
        out[i] = x[i] + x[(i + 1) % x.size]


@jit.rawkernel()
def pairs_for_1000(x, out):
    i = int(jit.grid(1))
    if i < 999:
        out[i] = x[i] + x[i + 1]
    elif i == 999:
        out[i] = x[i]


@jit.rawkernel()
def pairs_in_two_steps(x, out):
    for i in range(int(jit.grid(1)), x.size, int(jit.gridsize(1))):
        right = np.float32(0)
        if i + 1 < x.size:
            right = x[i + 1]
        out[i] = x[i] + right


@jit.rawkernel()
def eight_by_one_warp(x, out):
    i = int(jit.grid(1))
    if i < 32:
        while i < x.size:
            out[i] = 2 * x[i]
            i += 32


@jit.rawkernel()
def eight_zeros(x, out):
    for k in range(8):
        out[int(jit.grid(1)) + k * int(jit.gridsize(1))] = 0


@jit.rawkernel()
def eight_for_1024(x, out):
    for k in range(8):
        i = int(jit.grid(1)) + 1024 * k
        out[i] = 2 * x[i]


@jit.rawkernel()
def eight_of_the_block(x, out):
    for k in range(8):
        i = (int(jit.blockIdx.x) * 8 + k) * int(jit.blockDim.x) + int(jit.threadIdx.x)
        out[i] = x[i] + x[i]


@jit.rawkernel()
def summed_atomically(x, out):
    jit.atomic_add(out, jit.blockIdx.x, x[int(jit.grid(1))])


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
def only_the_first_eighth(x, out):
    i = int(jit.grid(1))
    out[i] = 2 * x[i]


@jit.rawkernel()
def eight_while(x, out):
    i = int(jit.grid(1))
    while i < x.size:
        out[i] = x[i] * 2
        i += int(jit.blockDim.x * jit.gridDim.x)


@jit.rawkernel()
def summed_with_the_barrier_at_the_top(x, out):
    part = jit.shared_memory(np.float32, 256)
    t = int(jit.threadIdx.x)
    part[t] = x[int(jit.grid(1))]
    half = 128
    while half > 0:
        jit.syncthreads()
        if t < half:
            part[t] += part[t + half]
        half = half // 2
    if t == 0:
        out[jit.blockIdx.x] = part[0]


@jit.rawkernel()
def summed_with_one_more_at_the_end(x, out):
    part = jit.shared_memory(np.float32, 256)
    t = int(jit.threadIdx.x)
    part[t] = x[int(jit.grid(1))]
    half = 128
    while half > 0:
        jit.syncthreads()
        if t < half:
            part[t] += part[t + half]
        half = half // 2
    jit.syncthreads()
    if t == 0:
        out[jit.blockIdx.x] = part[0]


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


@jit.rawkernel(device=True)
def train_step(x, y, rate, memory, hidden, w, t):
    if t < 6:
        s = x * w[t]
        for k in range(6):
            s += memory[k] * w[6 * (k + 1) + t]
        hidden[t] = np.tanh(s)
    jit.syncthreads()
    error = -y
    for k in range(6):
        error += hidden[k] * w[42 + k]
    row, column = t // 6, t % 6
    if row == 7:
        change = error * hidden[column]
    else:
        change = error * w[42 + column] * (1 - hidden[column] * hidden[column])
        if row == 0:
            change *= x
        else:
            change *= memory[row - 1]
    jit.syncthreads()
    w[t] -= rate * change
    if t < 6:
        memory[t] = hidden[t]
    return error * error / 2


def trained(keeps="at the end", rounds=0, factor=1.0):
    """Lesson 08's training, with one of many ways to keep the weights."""
    at_the_end = keeps == "at the end"
    before = keeps == "before"
    by_one = keeps == "by one thread"
    one_row = keeps == "in one row"
    only_first = keeps == "the first network's"
    turned = keeps == "turned"
    each_epoch = keeps == "in each epoch"
    in_the_last = keeps == "in the last epoch"
    too_early = keeps == "too early"
    spoils = keeps == "spoils the rates"
    races = keeps == "without a barrier"

    @jit.rawkernel()
    def training(x, y, weights, rates, losses, epochs):
        w = jit.shared_memory(np.float32, 48)
        memory = jit.shared_memory(np.float32, 6)
        hidden = jit.shared_memory(np.float32, 6)
        n = int(jit.blockIdx.x)
        t = int(jit.threadIdx.x)
        w[t] = weights[n, t]
        if before:
            weights[n, t] = w[t]
        count = epochs
        if rounds:
            count = rounds
        for epoch in range(count):
            if too_early:
                weights[n, t] = w[t]
            loss = 0.0
            if t < 6:
                memory[t] = 0.0
            for step in range(20):
                if not races:
                    jit.syncthreads()
                loss += train_step(x[step], y[step], rates[n], memory, hidden, w, t)
            if t == 0:
                losses[n] = factor * loss
                if by_one:
                    weights[n, t] = w[t]
            if each_epoch or (in_the_last and epoch == epochs - 1):
                weights[n, t] = w[t]
        if at_the_end or spoils:
            weights[n, t] = w[t]
        if spoils and t == 0:
            rates[n] = 0.0
        if one_row:
            weights[0, t] = w[t]
        if only_first and n == 0:
            weights[n, t] = w[t]
        if turned:
            weights[t, n] = w[t]

    return training
