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
