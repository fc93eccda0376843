"""The training of lesson 5, an RNN that learns a sine wave, as one kernel: one block, 64 threads, one launch."""

import numpy as np

from fluxlite.cuda import jit

STEPS = 20


@jit.rawkernel()
def training(x, y, first, second, losses, epochs, rate):
    """`first` is (7, 6): the input's and the memory's weights, one for each thread. `second` is (6, 1)."""
    w = jit.shared_memory(np.float32, 42)
    v = jit.shared_memory(np.float32, 6)
    memory = jit.shared_memory(np.float32, 6)
    hidden = jit.shared_memory(np.float32, 6)
    t = int(jit.threadIdx.x)
    row = t // 6
    column = t % 6
    if t < 42:
        w[t] = first[row, column]
    if t < 6:
        v[t] = second[t, 0]
    for epoch in range(epochs):
        total = 0.0
        if t < 6:
            memory[t] = 0.0
        for step in range(STEPS):
            jit.syncthreads()  # the weights and the memory of the step before are there
            if t < 6:
                s = x[step] * w[t]
                for k in range(6):
                    s += memory[k] * w[(k + 1) * 6 + t]
                hidden[t] = np.tanh(s)
            jit.syncthreads()
            error = -y[step]
            for k in range(6):
                error += hidden[k] * v[k]
            total += error * error / 2
            slope = 0.0
            if t < 42:
                slope = error * v[column] * (1 - hidden[column] * hidden[column])
                if row == 0:
                    slope *= x[step]
                else:
                    slope *= memory[row - 1]
            jit.syncthreads()  # everybody has read the weights
            if t < 42:
                w[t] -= rate * slope
            if t < 6:
                v[t] -= rate * error * hidden[t]
                memory[t] = hidden[t]
        if t == 0:
            losses[epoch] = total
    jit.syncthreads()
    if t < 42:
        first[row, column] = w[t]
    if t < 6:
        second[t, 0] = v[t]
