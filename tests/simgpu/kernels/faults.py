"""Twenty kernels, each with a fault that's often made, and what `check` finds then."""

from typing import Any, NamedTuple

import numpy as np

HEAD = "import numpy as np\nfrom simgpu import jit\n\nT = 16\n\n"


class Fault(NamedTuple):
    """A kernel's head and body, the fault as (right, wrong), NumPy's function, and the options of `check`.

    Then what's found: the kind of error or the element, the beginning of the line, block and thread.
    """

    head: str
    body: str
    fault: tuple[str, str]
    against: Any
    options: dict
    found: str
    line: str | None
    place: tuple[tuple[int, ...], tuple[int, ...]] | None

    @property
    def name(self) -> str:
        return self.head.partition("(")[0]

    def text(self, is_wrong: bool) -> str:
        assert self.body.count(self.fault[0]) == 1
        lines = (self.body.replace(*self.fault) if is_wrong else self.body).strip("\n").splitlines()
        return f"{HEAD}@jit.rawkernel()\ndef {self.head}:\n" + "\n".join(f"    {line}" for line in lines) + "\n"


def numbers(*shape, seed=1):
    return np.random.default_rng(seed).integers(-8, 9, shape).astype(np.float32)


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


def neighbours(x):
    return np.convolve(x, np.ones(3, np.float32), "same")[: x.size] if x.size > 2 else np.full_like(x, x.sum())


I = "i = int(jit.grid(1))\n"  # noqa: E741
T = "t = int(jit.threadIdx.x)\n"
PART = "part = jit.shared_memory(np.float32, 256)\n" + T + I
HALVES = """
jit.syncthreads()
half = 128
while half > 0:
    if t < half:
        part[t] += part[t + half]
    jit.syncthreads()
    half = half // 2
if t == 0:
"""
TILES = """
left = jit.shared_memory(np.float32, T * T)
right = jit.shared_memory(np.float32, T * T)
tx = int(jit.threadIdx.x)
ty = int(jit.threadIdx.y)
column, row = jit.grid(2)
total = 0.0
for first in range(0, a.shape[1], T):
    left[T * ty + tx] = a[row, first + tx]
    right[T * ty + tx] = b[first + ty, column]
    jit.syncthreads()
    for k in range(T):
        total += left[T * ty + k] * right[T * k + tx]
    jit.syncthreads()  # all have used the tiles
out[row, column] = total
"""
FAULTS = [
    # -- guards
    Fault("doubled(x, out)", I + "if i < x.size:\n    out[i] = x[i] * 2", ("i < x.size", "i <= x.size"),
          lambda x: x * 2, {}, "OutOfBounds", "out[i] = x[i] * 2", ((0,), (1,))),
    Fault("squared(x, out, n)", I + "if i < n:\n    out[i] = x[i] ** 2", ("i < n", "i < n - 1"),
          np.square, {}, "out[0]", None, None),
    Fault("smoothed(x, out)", I + "if i < x.size:\n    total = x[i]\n    if i > 0:\n        total += x[i - 1]\n"
          "    if i < x.size - 1:\n        total += x[i + 1]\n    out[i] = total", ("i > 0", "i >= 0"),
          neighbours, {}, "OutOfBounds", "total += x[i - 1]", ((0,), (0,))),
    Fault("added_in_two(x, y, out)", "column, row = jit.grid(2)\nif row < x.shape[0] and column < x.shape[1]:\n"
          "    out[row, column] = x[row, column] + y[row, column]", ("column < x.shape[1]", "column < x.shape[0]"),
          np.add, {}, "out[0, 1]", None, None),
    # -- off by one, wrong indices, wrong numbers
    Fault("reversed(x, out)", I + "if i < x.size:\n    out[int(x.size) - 1 - i] = x[i]", ("- 1 - i", "- i"),
          lambda x: x[::-1], {}, "OutOfBounds", "out[int(x.size) - i] = x[i]", ((0,), (0,))),
    Fault("rolled(x, out)", I + "n = int(x.size)\nif i < n:\n    out[i] = x[(i + 1) % n]", ("(i + 1)", "(i + 2)"),
          lambda x: np.roll(x, -1), {}, "out[0]", "out[i] = x[(i + 2) % n]", ((0,), (0,))),
    Fault("saxpy(n, a, x, y)", I + "if i < n:\n    y[i] = a * x[i] + y[i]", ("+ y[i]", "+ x[i]"),
          lambda a, x, y: a * x + y, {"arguments": lambda n: (n, 2.0, numbers(n), numbers(n, seed=2))},
          "y[0]", "y[i] = a * x[i] + x[i]", ((0,), (0,))),
    Fault("clipped(x, out)", I + "if i < x.size:\n    value = x[i]\n    if value > 2.0:\n        value = 2.0\n"
          "    out[i] = value", ("value = 2.0", "value = 2.5"),
          lambda x: np.minimum(x, 2), {}, "out[0]", "out[i] = value", ((0,), (0,))),
    Fault("transposed(x, out)", "column, row = jit.grid(2)\nif row < x.shape[0] and column < x.shape[1]:\n"
          "    out[column, row] = x[row, column]", ("out[column, row]", "out[row, column]"),
          np.transpose, {}, "OutOfBounds", "out[row, column] = x[row, column]", ((0,), (1, 0))),
    Fault("rows_added(x, out)", I + "if i < x.shape[0]:\n    total = 0.0\n    for k in range(x.shape[1]):\n"
          "        total += x[i, k]\n    out[i] = total", ("range(x.shape[1])", "range(1, x.shape[1])"),
          lambda x: x.sum(1), {"launch": 64}, "out[0]", "out[i] = total", ((0,), (0,))),
    Fault("product(a, b, out)", "column, row = jit.grid(2)\nif row < out.shape[0] and column < out.shape[1]:\n"
          "    total = 0.0\n    for k in range(a.shape[1]):\n        total += a[row, k] * b[k, column]\n"
          "    out[row, column] = total", ("b[k, column]", "b[column, k]"),
          np.matmul, {"arguments": lambda n: (numbers(n, n), numbers(n, n, seed=2), zeros(n, n))},
          "out[1, 0]", "out[row, column] = total", ((0,), (0, 1))),
    # -- strides
    Fault("in_strides(x, out)", "for i in range(jit.grid(1), x.size, jit.gridsize(1)):\n    out[i] = x[i] + 1",
          ("jit.gridsize(1)", "jit.blockDim.x"), lambda x: x + 1, {"launch": lambda n: (2, 32)},
          "DataRace", "out[i] = x[i] + 1", ((0,), (0,))),
    Fault("pairs_swapped(x)", I + "if 2 * i + 1 < x.size:\n    first = x[2 * i]\n    x[2 * i] = x[2 * i + 1]\n"
          "    x[2 * i + 1] = first", ("x[2 * i] = x[2 * i + 1]", "x[2 * i] = x[i + 1]"),
          lambda x: x.reshape(-1, 2)[:, ::-1].ravel(), {"sizes": range(2, 200, 2)},
          "x[2]", "x[2 * i] = x[i + 1]", ((0,), (1,))),
    # -- sums: where they begin, barriers, atomics
    Fault("summed(x, out)", PART + "part[t] = x[i] if i < x.size else 0.0" + HALVES +
          "    jit.atomic_add(out, 0, part[0])", ("half = 128", "half = 64"),
          np.sum, {}, "out[0]", "jit.atomic_add(out, 0, part[0])", ((0,), (0,))),
    Fault("largest(x, out)", PART + "part[t] = x[i] if i < x.size else x[0]" + HALVES.replace(
          "part[t] += part[t + half]", "part[t] = max(part[t], part[t + half])") + "    out[jit.blockIdx.x] = part[0]",
          ("else x[0]", "else 0.0"), lambda x: [x.max()], {"sizes": [1, 2, 3, 31, 32, 33, 255, 256]},
          "out[0]", "out[jit.blockIdx.x] = part[0]", ((0,), (0,))),
    Fault("dot(x, y, out)", PART + "part[t] = x[i] * y[i] if i < x.size else 0.0" + HALVES.replace(
          "    jit.syncthreads()\n", "    jit.syncthreads()  # in each round\n") +
          "    jit.atomic_add(out, 0, part[0])", ("    jit.syncthreads()  # in each round\n", ""),
          np.dot, {}, "DataRace", "part[t] += part[t + half]", ((0,), (0,))),
    Fault("counted(x, counts)", I + "if i < x.size:\n    jit.atomic_add(counts, x[i], 1)",
          ("jit.atomic_add(counts, x[i], 1)", "counts[x[i]] += 1"), lambda x: np.bincount(x, minlength=4),
          {"arguments": lambda n: (np.arange(n, dtype=np.int32) % 4, zeros(4, dtype=np.int32))},
          "DataRace", "counts[x[i]] += 1", ((0,), (0,))),
    Fault("averaged(x, out)", PART + "part[t] = x[i] if i < x.size else 0.0\nif i < x.size:\n    part[t] /= x.size\n"
          "jit.syncthreads()" + HALVES + "    jit.atomic_add(out, 0, part[0])",
          ("jit.syncthreads()\njit.syncthreads()", "    jit.syncthreads()"),
          np.mean, {}, "StuckBarrier", "jit.syncthreads()", ((0,), (0,))),
    # -- shared memory
    Fault("turned(x, out)", PART + "part[t] = x[i] if i < x.size else 0.0\njit.syncthreads()\nif i < x.size:\n"
          "    out[i] = part[255 - t]", ("np.float32, 256", "np.float32, 128"),
          lambda x: np.pad(x, (0, -x.size % 256)).reshape(-1, 256)[:, ::-1].ravel()[: x.size], {},
          "OutOfBounds", "part[t] = x[i] if i < x.size else 0.0", ((0,), (128,))),
    Fault("by_tiles(a, b, out)", TILES, ("jit.syncthreads()  # all have used the tiles", "pass"),
          np.matmul, {"arguments": lambda n: (numbers(n, n), numbers(n, n, seed=2), zeros(n, n)),
                      "sizes": [16, 32, 48]}, "DataRace", "left[T * ty + tx] = a[row, first + tx]", ((0, 0), (0, 0))),
]  # fmt: skip
