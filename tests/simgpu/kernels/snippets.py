"""What cupyx.jit takes in a kernel and what it refuses, as small kernels: the simulated GPU has to agree with each.

Each is the body of a kernel with the arguments of `arguments`: `x` and `out` are float32 arrays of 8, `z` is 4 by 8,
`col` 3 by 1, `n_` int32, `d` float64, and `n` the number 8. ``YES`` are accepted. ``NO`` are refused by cupyx.jit, and
so with words of ours, if any stand there; ``.*`` is anything. What's in ``NVRTC`` is translated by cupyx.jit and then
refused by NVIDIA's compiler. ``STRICTER`` are accepted there and refused here.
"""

import importlib.util
import re

import numpy as np

HEAD = """import math
import numpy as np
from numpy import tanh as my_tanh
import fluxlite
from fluxlite.cuda import jit
from fluxlite.cuda.jit import grid, syncthreads

RATE, SIZE, PAIR, TABLE = 0.1, 128, (2, 3), np.array([0.5, 1.5], np.float32)


def plain(a):
    return a + 1


@jit.rawkernel(device=True)
def helper(a):
    return a * a + 1.0


@jit.rawkernel(device=True)
def two(a, b):
    if a > b:
        return a, b
    return b, a


@jit.rawkernel(device=True)
def put(array, i, value):
    array[i] = value


@jit.rawkernel(device=True)
def around(a):
    return around(a)


@jit.rawkernel(device=True)
def mixed(a):
    if a > 0:
        return a
    return 1


@jit.rawkernel(device=True)
def positive(a):
    if a > 0:
        return a


@jit.rawkernel(device=True)
def element(x, i):
    return x[i]


@jit.rawkernel()
def other_kernel(x):
    x[0] = 1.0


"""
I = "i = int(jit.grid(1))\n"  # noqa: E741

YES = [
    "pass",
    '"What it does"\nout[jit.grid(1)] = x[0]',
    "i = grid(1)\nsyncthreads()\nif i < n:\n    out[i] = x[i]",
    "i = fluxlite.cuda.jit.grid(1)\nif i < n:\n    out[i] = x[i]",
    "i = jit.grid(1)\nwhile i < x.size:\n    out[i] = x[i]\n    i = i + jit.gridsize(1)",
    "i = jit.grid(1)\nwhile i < x.size:\n    out[i] = x[i]\n    i += jit.gridsize(1)",
    "for i in range(jit.grid(1), x.size, jit.gridsize(1)):\n    out[i] = x[i]",
    "for i in range(n - 1, -1, -1):\n    out[i] = x[i]",
    "for k in jit.range(4, unroll=True):\n    out[k] = x[k]",
    "for k in jit.range(0, 4, 1, unroll=2):\n    out[k] = x[k]",
    "for k in range(4):\n    if k == 1:\n        continue\n    if k == 2:\n        break\n    out[k] = x[k]",
    "i = jit.grid(1)\nif i >= x.size:\n    return\nout[i] = x[i]",
    "i = jit.grid(1)\nif i >= 1:\n    return None\nout[i] = x[i]",
    "i = jit.grid(1)\nif i < 1:\n    out[i] = 1.0\nelif i < 2:\n    out[i] = 2.0\nelse:\n    out[0] = 3.0",
    "i = jit.grid(1)\nif i > 0:\n    out[i] = x[i - 1]",
    "if jit.grid(1) < n and n > jit.blockDim.x:\n    out[0] = 1.0",
    "a, b = x[0], x[1]\na, b = b, a\nout[jit.grid(1)] = a",
    "i, j = jit.grid(2)\nif i < 4 and j < 4:\n    z[i, j] = 1.0",
    "i, j, k = jit.grid(3)\nout[i + j + k] = 1.0",
    "p = jit.grid(2)\nz[p] = 1.0\nz[p[0], p[1]] = 2.0",
    "i = int(jit.grid(1))\nif 0 <= i and not (i >= x.size or i > 99):\n    out[i] = 1.0",
    "i = int(jit.grid(1))\nif i + 99 < n and x[i + 99] > 0:\n    out[i] = 1.0",
    "i = jit.grid(1)\nout[i] = 1 if i < 2 else n",
    "i = jit.grid(1)\nif i < 2:\n    a = 1.0\nelse:\n    a = 2.5\nout[i] = a",
    "s = 0.0\ns += jit.grid(1)\nout[jit.grid(1)] = s",
    "out[jit.grid(1)] = jit.grid(1)",
    "out[jit.grid(1)] = d[0] * 0.1",
    "out[0] += x[0]\nout[0] *= 2\nout[0] /= 3.0\nout[0] -= 1",
    "out[0] **= 2.0\nn_[0] //= 2\nn_[0] %= 3",
    "out[jit.grid(1)] = my_tanh(x[0])",
    "out[jit.grid(1)] = np.float32(np.tanh(np.float32(n_[0])))",
    "out[0] = np.exp(x[0]) + np.log(x[1]) + np.sqrt(x[2]) + np.abs(x[3]) + np.floor(x[4])",
    "out[0] = np.power(x[0], 2.0) + np.hypot(x[1], x[2]) + np.copysign(x[3], x[4])",
    "n_[0] = np.maximum(n_[0], 3) + np.abs(n_[1]) + np.sign(n_[2]) + np.bitwise_and(n_[3], 1)",
    "out[jit.grid(1)] = max(x[0], 0.0) + min(x[0], x[1], 2.0)",
    "if np.isnan(x[0]) or np.isfinite(x[1]):\n    out[0] = 1.0",
    "out[jit.grid(1)] = float(n_[0])",
    "if bool(n_[0]):\n    out[0] = 1.0",
    "n_[0] = int(x[0])\nn_[1] = np.int32(d[0])",
    "a = np.uint8(n_[0])\nn_[0] = int(a)",
    "out[jit.grid(1)] = x[0] ** 2",
    "n_[0] = (n_[1] << 2) | (n_[2] >> 1) ^ (n_[3] & ~n_[4])",
    "out[0] = -x[0]\nn_[0] = -n_[1]",
    "if x[0] == 1.0 or x[1] != 2.0 or x[2] >= 1 or x[3] <= 1 or n_[0] > x[0]:\n    out[0] = 1.0",
    "r = z[1]\nout[jit.grid(1)] = r[2]",
    "r = z[1]\nr[2] = 5.0",
    "out[jit.grid(1)] = z[0][1]",
    "r = z[1]\nout[0] = np.float32(len(r)) + np.float32(r.size) + np.float32(z.ndim)",
    "out[jit.grid(1)] = x[PAIR[0]]",
    "out[jit.grid(1)] = x[0] * TABLE[1]",
    "out[jit.grid(1)] = x[0] * math.sqrt(2.0) * math.pi",
    "if SIZE > 3:\n    out[0] = 1.0\nelse:\n    out[0] = nobody_knows_this",
    "out[jit.grid(1)] = helper(helper(x[0])) + helper(d[0])",
    "a, b = two(x[0], x[1])\nout[0] = a - b",
    "s = jit.shared_memory(np.float32, SIZE)\ns[jit.threadIdx.x] = x[jit.threadIdx.x]",
    "s = jit.shared_memory(np.float32, 8)\nput(s, 0, 1.0)\nout[0] = s[0]",
    "jit.syncthreads()\njit.syncwarp()",
    "out[0] = np.float32(jit.threadIdx.y + jit.blockIdx.z + jit.blockDim.x + jit.gridDim.y)",
    "jit.syncwarp(mask=15)\njit.syncwarp(mask=n * 2 - 1)",
    "s = jit.shared_memory(np.float32, None)",
    "a = jit.shfl_sync(0xffffffff, x[0], 0, width=n)\nif jit.laneid() == 0:\n    out[0] = a",
    'a = "x"\nout[jit.grid(1)] = x[0]',
    "kind = np.int32\nn_[0] = kind(x[0])",
    "n_[0] = np.add(n_[0], 1, dtype=np.int32)",
    "n_[0] = jit.warpsize",
    "out[jit.laneid()] = 1.0",
    ("a = jit.shfl_sync(0xffffffff, x[0], 0, width=32)\nb = jit.shfl_down_sync(0xffffffff, a, 1, width=8)\n"
     "c = jit.shfl_up_sync(0xffffffff, b, 1, width=16)\ne = jit.shfl_xor_sync(0xffffffff, c, 1, width=4)\n"
     "if jit.laneid() == 0:\n    out[0] = e"),
    "jit.atomic_add(out, 0, 1)\njit.atomic_add(z, (0, 1), x[0])\njit.atomic_add(d, 0, 0.5)",
    ("jit.atomic_sub(n_, 0, 1)\njit.atomic_min(n_, 1, 2)\njit.atomic_max(n_, 2, 3)\njit.atomic_and(n_, 3, 1)\n"
     "jit.atomic_or(n_, 4, 2)\njit.atomic_xor(n_, 5, 3)\njit.atomic_cas(n_, 6, 6, 9)\n"
     "jit.atomic_exch(out, 0, 2.0)"),
    "old = jit.atomic_add(n_, 0, 1)\nout[1] = np.float32(old)",
    "jit.atomic_add(z[1], 2, 1.0)",
    "s = jit.shared_memory(np.int32, 1)\ns[0] = 0\njit.atomic_add(s, 0, 1)",
    "a = 1j\nout[jit.grid(1)] = x[0]",
    "a = 5000000000\nif a > n:\n    out[0] = 1.0",
    "RATE = 2.0\nout[0] = RATE",
    "a = np.float16(x[0])\nout[0] = a + x[1]",
    "out[0] = np.float32(z.strides[0])",
    "out[0] = np.fmod(x[0], 2.0) + x[0] % 2.0 + x[0] // 2.0",
    "out[0] = np.ceil(x[0]) + np.trunc(x[1]) + np.rint(x[2]) + np.fix(x[3])",
    "for i in range(2):\n    for k in range(i, 4):\n        out[k] = x[k]",
    "i = int(jit.grid(1))\nif (i >= 0) & (i < x.size):\n    out[i] = 1.0",
    "SIZE\nx[0]\nout[0] = 1.0",
    "k = 0\nwhile True:\n    k += 1\n    if k > 3:\n        break\nout[0] = np.float32(k)",
]  # fmt: skip

NO = {
    # -- types
    "i = jit.grid(1)\ni += 1": "uint32 and int32 don't mix.*write int(jit.threadIdx.x), int(jit.grid(1))",
    "i = jit.grid(1) * -1": "",
    "t = jit.threadIdx.x\nk = 3\nout[0] = x[t + k]": "write int(jit.threadIdx.x)",
    "for k in range(3):\n    out[k + jit.threadIdx.x] = 1.0": "write int(jit.threadIdx.x)",
    "step = 16\nout[0] = jit.shfl_down_sync(0xffffffff, x[0], step)":
        "the third argument of shfl_down_sync must be unsigned: np.uint32(step)",
    "i, j = jit.grid(2)\nj = int(j)": "A variable keeps its type: take a new name",
    "column, row = jit.grid(2)\nrow = int(row) - 1": "take a new name",
    I + "out[i] = x[i] if i < 2 else i": "one side is float32 and the other int64",
    "out[0] = 1.0 if SIZE > 3 else x[0]": "",
    "s = 0\ns += x[0]": "s holds int32 and can't take float32. Begin with s = 0.0",
    "s = 0\ns = x[0]": "Begin with s = 0.0",
    "i = jit.grid(1)\nif i < 2:\n    a = 1\nelse:\n    a = 2.5\nout[i] = a": "Begin with a = 0.0",
    "step = 16\nstep = step / 2": "Begin with step = 0.0, or divide with //, which gives an int",
    "step = 16\nwhile step > 0:\n    step /= 2": "divide with //",
    "step = 16\nstep = (step + 1) / (step / 2)": "Begin with step = 0.0",
    "n_[jit.grid(1)] = x[0]": "n_ holds int32 and can't take float32. Make it one of float32, or write n_[",
    "m = jit.shared_memory(np.int64, 4)\nm[0] = x[0]": "Make it one of float32, or write m[0] = int(…)",
    "m = jit.shared_memory(np.int32, 4)\nm[0] += x[0]": "m holds int32 and can't take float32",
    "out[0] = np.sign(x[0])": "sign doesn't take float32",
    "out[0] = x[0] << 1": "",
    "out[0] = ~x[0]": "",
    "k = 0.0\nfor k in range(3):\n    out[k] = 1.0": "k holds float32 already",
    'if n > 3:\n    a = "x"': "a can stand for a str only outside of branches and loops",
    "x = np.float32": "Type mismatch of variable: x holds float32 array",
    "s = jit.shared_memory(np.float32, 8)\ns = x": "",
    "r = z[0]\nr = x[0]": "",
    # -- arrays and indices
    "out[0] = x[n_[0] / 2]": "an index is an integer, not float64; //",
    "out[0] = x[n_]": "not an array",
    "a = n[0]": "only arrays have elements",
    "t = TABLE\nout[0] = t[n]": "",
    I + "out[i] = col[i]": "col[i] is a whole array: write col[i, j]",
    "s = 0.0\ns += z": "z is a whole array of 2 axes: write z[i, j]",
    "s = 0.0\ns = z[0]": "z[0] is a whole array: write z[0, i]",
    "z[0] = 1.0": "z[0] is a whole array: write z[0, i]",
    "out[0] = z[0, 1, 2]": "z has 2 axes, got 3 indices",
    "row = 1\nout[0] = x[row, 0]": "x has 1 axis, got 2 indices",
    "out[0:2] = 1.0": "no slices",
    "i = 1\ns = z[i, :] @ z[:, i]": "a kernel has no @: write a loop over k, s += A[i, k] * B[k, j]",
    "out[0] = x * 2": "x is a whole array: write x[i]",
    I + "out += x[i]": "out is a whole array: write out[i]",
    I + "s = x[i] + out": "out is a whole array: write out[i]",
    "out[0] = z.T[0, 1]": "no .T",
    "out[0] = x.sum()": "no .sum",
    "s = jit.shared_memory(np.float32, 8)\nout[0] = np.float32(s.shape[0])": "no .shape",
    # -- functions
    "out[0] = abs(x[0])": "There's np.abs",
    "out[0] = math.sqrt(x[0])": "There's np.sqrt",
    "out[0] = np.where(x[0] > 0, x[0], 0.0)": "a if test else b",
    "out[0] = sum(x)": "a loop",
    "out[0] = plain(x[0])": "a kernel doesn't know plain",
    "other_kernel(x)": "other_kernel is a kernel",
    "out[0] = around(x[0])": "can't call itself",
    "out[0] = mixed(x[0])": "returns float32 elsewhere, and here int32",
    "out[0] = two(x[0])": "two takes 2 arguments, got 1",
    "out[0] = np.maximum(x[0], 1.0, out=x)": "no keywords",
    "out[0] = np.maximum(x[0])": "np.maximum takes 2 numbers",
    "print(x[0])": "a kernel doesn't know print. There's kernel.watched",
    "a = len(n)": "",
    "a = n(0)": "a value, not a function",
    "out[0] = nobody_knows_this": "nothing is called nobody_knows_this here",
    "out[0] = np.nobody(x[0])": "no attribute 'nobody'",
    "def f(a):\n    return a": "@jit.rawkernel(device=True)",
    # -- names of jit
    "i = jit.grid()": "write jit.grid(1)",
    "i = jit.gridsize()": "write jit.gridsize(1)",
    "i = jit.grid(4)": "1, 2 or 3 axes",
    "i = jit.grid(n)": "",
    "i = jit.grid\nout[i] = 1.0": "jit.grid alone isn't a number: call it",
    "jit.grid": "write jit.grid(1)",
    "jit.syncthreads": "jit.syncthreads does nothing without (): write jit.syncthreads()",
    "s = jit.shared_memory(np.float32, (4, 4))": "row * width + column",
    "s = jit.shared_memory(np.float32, n)": "a number in the text or a global, such as T = 32",
    "pa = jit.shared_memory(np.float32, 16)\ny = 0\npa[y, 1] = 0.0": "pa has 1 axis, got 2 indices",
    "part = np.zeros(34, np.float32)":
        "a kernel makes no arrays.*jit.shared_memory(np.float32, 34), which all threads of the block share",
    "jit.atomic_add(n_, 0, x[0])": "float32 doesn't become int32 by itself",
    "jit.atomic_max(out, 0, x[0])": "only int",
    "jit.atomic_add(out, (0, 1), 1.0)": "out has 1 axis, got 2 indices",
    # -- statements
    "col, row = jit.grid(2)": "col is an argument; take another name",
    "a = b = 1.0": "one assignment at a time",
    "a, b = x[0], x[1], x[2]": "2 names take 2 values, and here is a tuple of 3",
    "a, b = x[0]": "here is a float32",
    "RATE += 1.0": "RATE isn't the kernel's own",
    "part = [0.0] * 128": "lists: take one variable for each number, or jit.shared_memory(np.float32, n), which",
    "part = [0.0, 1.0]": "lists: take one variable for each number",
    "out[0] = sum([x[k] for k in range(4)])": "no comprehensions",
    "if (i := jit.grid(1)) < 4:\n    out[i] = 1.0": "no :=",
    "assert x[0] > 0": "no assert",
    "try:\n    out[0] = 1.0\nexcept IndexError:\n    pass": "no try",
    "if n > 3:\n    raise ValueError": "no raise",
    "return x[0]": "a kernel returns nothing",
    "for k, v in enumerate(x):\n    out[k] = v": "a loop has one name",
    "for v in x:\n    out[0] = v": "for goes over range(…) or jit.range(…) alone",
    "for k in range(3):\n    out[k] = 0.0\nelse:\n    out[0] = 1.0": "a loop has no else",
    "while n < 3:\n    out[0] = 0.0\nelse:\n    out[0] = 1.0": "a loop has no else",
    "for k in range(0.0, 3.0):\n    out[0] = 1.0": "range takes one to three integers",
    "for k in jit.range(x.shape[0], unroll=True):\n    out[k] = x[k]": "unrolled",
    # -- tests
    I + "if 0 <= i < 3:\n    pass": "0 <= i and i < n",
    I + "if i > 0 & i < x.size:\n    out[i] = 1.0": "compare two values at a time, with `and` between",
    "if x is None:\n    out[0] = 1.0": "no `is`",
    "out[0] = +x[0]": "no unary +",
}  # fmt: skip

NVRTC = {
    "a, b = z.shape": "n = x.shape[0]",
    "double = x[0]\nout[0] = double": "double is a word of CUDA C++",
    "this = 1\nout[0] = this": "this is a word of CUDA C++",
    "out[0] = np.float32(z.shape[-1])": "there are 2 values, 0 to 1; got -1",
    "jit.atomic_add(z, 0, x[0])": "z[0] is a whole array: write z[0, i]",
    "a = put(out, 0, 1.0)": "nothing that could be assigned",
}

STRICTER = {
    "s = jit.shared_memory(np.float32, 8)\np = s + 4": "s is a whole array: write s[i]",  # there, a pointer
    "print('here')": "doesn't know print.*kernel.watched",  # cupyx.jit prints it once, while it compiles
    "a = x.begin()": "no .begin",  # iterators are for CUDA's own libraries
}


def arguments(size=8):
    """What the kernels are given: x, z, col, n_, d, out, n."""
    x, z = np.arange(size, dtype="f"), np.ones((4, 8), "f")
    return x, z, np.ones((3, 1), "f"), np.arange(8, dtype="i"), np.ones(4), np.zeros_like(x), size


def text_of(body, name):
    lines = "\n".join("    " + line for line in body.split("\n"))
    return f"@jit.rawkernel()\ndef {name}(x, z, col, n_, d, out, n):\n{lines}\n"


def imported(path, text):
    """The module of this text: a kernel's text has to be in a file."""
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def escaped(words):
    """A pattern where only ``.*`` means something, also across lines."""
    return "(?s)" + ".*".join(re.escape(part) for part in words.split(".*"))
