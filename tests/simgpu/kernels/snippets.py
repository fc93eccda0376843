"""What cupyx.jit takes in a kernel and what it refuses, as small kernels: the simulated GPU has to agree with each.

Each is the body of ``def kernel(x, z, n_, d, out, n)``: `x` and `out` are float32 arrays of 8, `z` is 4 x 4, `n_`
int32, `d` float64, and `n` the number 8. ``YES`` are accepted, ``NO`` refused by cupyx.jit. What's in ``NVRTC`` is
translated by cupyx.jit and then refused by NVIDIA's compiler. ``STRICTER`` are accepted there and refused here, with
the reason.
"""

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


@jit.rawkernel()
def other_kernel(x):
    x[0] = 1.0


@jit.rawkernel()
def kernel(x, z, n_, d, out, n):
"""

YES = {
    "nothing": "pass",
    "docstring": '"What it does"\nout[jit.grid(1)] = x[0]',
    "map": "i = jit.grid(1)\nif i < x.size:\n    out[i] = x[i] * 2",
    "names_from_jit": "i = grid(1)\nsyncthreads()\nif i < n:\n    out[i] = x[i]",
    "from_fluxlite": "i = fluxlite.cuda.jit.grid(1)\nif i < n:\n    out[i] = x[i]",
    "while_": "i = jit.grid(1)\nwhile i < x.size:\n    out[i] = x[i]\n    i = i + jit.gridsize(1)",
    "while_unsigned_step": "i = jit.grid(1)\nwhile i < x.size:\n    out[i] = x[i]\n    i += jit.gridsize(1)",
    "while_signed": "i = int(jit.grid(1))\nwhile i < x.size:\n    out[i] = x[i]\n    i += int(jit.gridsize(1))",
    "stride": "for i in range(jit.grid(1), x.size, jit.gridsize(1)):\n    out[i] = x[i]",
    "down": "for i in range(n - 1, -1, -1):\n    out[i] = x[i]",
    "jit_range": "for k in jit.range(0, x.shape[0], 2):\n    out[k] = x[k]",
    "unrolled": "for k in jit.range(4, unroll=True):\n    out[k] = x[k]",
    "unrolled_by_2": "for k in jit.range(0, 4, 1, unroll=2):\n    out[k] = x[k]",
    "break_continue": (
        "for k in range(4):\n    if k == 1:\n        continue\n    if k == 2:\n        break\n    out[k] = x[k]"
    ),
    "early_return": "i = jit.grid(1)\nif i >= x.size:\n    return\nout[i] = x[i]",
    "return_none": "i = jit.grid(1)\nif i >= 1:\n    return None\nout[i] = x[i]",
    "else_if": "i = jit.grid(1)\nif i < 1:\n    out[i] = 1.0\nelif i < 2:\n    out[i] = 2.0\nelse:\n    out[0] = 3.0",
    "unsigned_less_one": "i = jit.grid(1)\nif i > 0:\n    out[i] = x[i - 1]",
    "signed_and_unsigned_compared": "if jit.grid(1) < n and n > jit.blockDim.x:\n    out[0] = 1.0",
    "unpack": "a, b = 1.0, 2.0\nout[jit.grid(1)] = a + b",
    "swap": "a, b = x[0], x[1]\na, b = b, a\nout[jit.grid(1)] = a",
    "grid_2": "i, j = jit.grid(2)\nif i < 4 and j < 4:\n    z[i, j] = 1.0",
    "grid_3": "i, j, k = jit.grid(3)\nout[i + j + k] = 1.0",
    "gridsize_2": "a, b = jit.gridsize(2)\nout[jit.grid(1)] = np.float32(a)",
    "tuple_index": "p = jit.grid(2)\nz[p] = 1.0\nz[p[0], p[1]] = 2.0",
    "and_or_not": "i = int(jit.grid(1))\nif 0 <= i and not (i >= x.size or i > 99):\n    out[i] = 1.0",
    "short": "i = int(jit.grid(1))\nif i + 99 < n and x[i + 99] > 0:\n    out[i] = 1.0",
    "ternary": "i = jit.grid(1)\nout[i] = x[i] if i < 2 else 0.0",
    "ternary_int": "i = jit.grid(1)\nout[i] = 1 if i < 2 else n",
    "number_of_a_branch": "i = jit.grid(1)\nif i < 2:\n    a = 1.0\nelse:\n    a = 2.5\nout[i] = a",
    "float_into_float": "s = 0.0\nfor k in range(4):\n    s += x[k]\nout[jit.grid(1)] = s",
    "int_into_float": "s = 0.0\ns += jit.grid(1)\nout[jit.grid(1)] = s",
    "store_unsigned_into_float": "out[jit.grid(1)] = jit.grid(1)",
    "double_into_float": "out[jit.grid(1)] = d[0] * 0.1",
    "aug_element": "out[0] += x[0]\nout[0] *= 2\nout[0] /= 3.0\nout[0] -= 1",
    "aug_power": "out[0] **= 2.0\nn_[0] //= 2\nn_[0] %= 3",
    "tanh": "out[jit.grid(1)] = np.tanh(x[0])",
    "tanh_imported": "out[jit.grid(1)] = my_tanh(x[0])",
    "tanh_of_int": "out[jit.grid(1)] = np.float32(np.tanh(np.float32(n_[0])))",
    "functions": "out[0] = np.exp(x[0]) + np.log(x[1]) + np.sqrt(x[2]) + np.abs(x[3]) + np.floor(x[4])",
    "functions_of_two": "out[0] = np.maximum(x[0], 0.0) + np.minimum(x[1], x[2]) + np.arctan2(x[0], x[1])",
    "function_power": "out[0] = np.power(x[0], 2.0) + np.hypot(x[1], x[2]) + np.copysign(x[3], x[4])",
    "functions_of_ints": "n_[0] = np.maximum(n_[0], 3) + np.abs(n_[1]) + np.sign(n_[2]) + np.bitwise_and(n_[3], 1)",
    "max_min": "out[jit.grid(1)] = max(x[0], 0.0) + min(x[0], x[1], 2.0)",
    "isnan": "if np.isnan(x[0]) or np.isfinite(x[1]):\n    out[0] = 1.0",
    "cast": "out[jit.grid(1)] = np.float32(n_[0]) + np.float32(0.5)",
    "cast_double": "out[jit.grid(1)] = float(n_[0])",
    "cast_bool": "if bool(n_[0]):\n    out[0] = 1.0",
    "cast_down": "n_[0] = int(x[0])\nn_[1] = np.int32(d[0])",
    "uint8": "a = np.uint8(n_[0])\nn_[0] = int(a)",
    "divide_ints": "out[jit.grid(1)] = n_[0] / 2",
    "floor_divide": "n_[jit.grid(1)] = n_[0] // 2",
    "modulo": "n_[jit.grid(1)] = n_[0] % 4",
    "power": "out[jit.grid(1)] = x[0] ** 2",
    "shifts": "n_[0] = (n_[1] << 2) | (n_[2] >> 1) ^ (n_[3] & ~n_[4])",
    "negative": "out[0] = -x[0]\nn_[0] = -n_[1]",
    "comparisons": "if x[0] == 1.0 or x[1] != 2.0 or x[2] >= 1 or x[3] <= 1 or n_[0] > x[0]:\n    out[0] = 1.0",
    "row": "r = z[1]\nout[jit.grid(1)] = r[2]",
    "row_written": "r = z[1]\nr[2] = 5.0",
    "double_index": "out[jit.grid(1)] = z[0][1]",
    "row_length": "r = z[1]\nout[0] = np.float32(len(r)) + np.float32(r.size) + np.float32(z.ndim)",
    "length": "if jit.grid(1) < len(x):\n    out[0] = np.float32(len(z))",
    "shape": "if jit.grid(1) < z.shape[0]:\n    out[0] = np.float32(z.shape[1])",
    "global_number": "out[jit.grid(1)] = x[0] * RATE",
    "global_tuple": "out[jit.grid(1)] = x[PAIR[0]]",
    "global_table": "out[jit.grid(1)] = x[0] * TABLE[1]",
    "math_of_numbers": "out[jit.grid(1)] = x[0] * math.sqrt(2.0) * math.pi",
    "pi": "out[jit.grid(1)] = np.pi * x[0]",
    "string": 'a = "x"\nout[jit.grid(1)] = x[0]',
    "if_known": "if SIZE > 3:\n    out[0] = 1.0\nelse:\n    out[0] = nobody_knows_this",
    "helper": "out[jit.grid(1)] = helper(x[0])",
    "helper_twice": "out[jit.grid(1)] = helper(helper(x[0])) + helper(d[0])",
    "helper_of_two": "a, b = two(x[0], x[1])\nout[0] = a - b",
    "helper_writes": "put(out, 0, 3.0)\nput(out, jit.grid(1), x[1])",
    "shared": "s = jit.shared_memory(np.float32, 4)\nt = jit.threadIdx.x\nif t < 4:\n    s[t] = x[t]",
    "shared_global_size": "s = jit.shared_memory(np.float32, SIZE)\ns[jit.threadIdx.x] = x[jit.threadIdx.x]",
    "shared_aligned": "s = jit.shared_memory(np.int32, 8, alignment=16)\ns[jit.threadIdx.x] = 1",
    "shared_moved": "s = jit.shared_memory(np.float32, 8)\np = s + 4\np[0] = 1.0\nout[0] = s[4]",
    "shared_to_helper": "s = jit.shared_memory(np.float32, 8)\nput(s, 0, 1.0)\nout[0] = s[0]",
    "barrier": "jit.syncthreads()\njit.syncwarp()",
    "axes": "out[0] = np.float32(jit.threadIdx.y + jit.blockIdx.z + jit.blockDim.x + jit.gridDim.y)",
    "warpsize": "n_[0] = jit.warpsize",
    "laneid": "out[jit.laneid()] = 1.0",
    "shuffles": (
        "a = jit.shfl_sync(0xffffffff, x[0], 0, width=32)\n"
        "b = jit.shfl_down_sync(0xffffffff, a, 1, width=8)\n"
        "c = jit.shfl_up_sync(0xffffffff, b, 1, width=16)\ne = jit.shfl_xor_sync(0xffffffff, c, 1, width=4)\n"
        "if jit.laneid() == 0:\n    out[0] = e"
    ),
    "atomics": "jit.atomic_add(out, 0, 1)\njit.atomic_add(z, (0, 1), x[0])\njit.atomic_add(d, 0, 0.5)",
    "atomics_of_ints": (
        "jit.atomic_sub(n_, 0, 1)\njit.atomic_min(n_, 1, 2)\njit.atomic_max(n_, 2, 3)\njit.atomic_and(n_, 3, 1)\n"
        "jit.atomic_or(n_, 4, 2)\njit.atomic_xor(n_, 5, 3)\njit.atomic_cas(n_, 6, 6, 9)\njit.atomic_exch(out, 0, 2.0)"
    ),
    "atomic_result": "old = jit.atomic_add(n_, 0, 1)\nout[1] = np.float32(old)",
    "atomic_row": "jit.atomic_add(z[1], 2, 1.0)",
    "atomic_shared": "s = jit.shared_memory(np.int32, 1)\ns[0] = 0\njit.atomic_add(s, 0, 1)",
    "complex_": "a = 1j\nout[jit.grid(1)] = x[0]",
    "long": "a = 5000000000\nif a > n:\n    out[0] = 1.0",
    "same_name_as_outside": "RATE = 2.0\nout[0] = RATE",
    "copy_of_an_array": "y = x\nout[0] = y[1]",
    "float16": "a = np.float16(x[0])\nout[0] = a + x[1]",
    "strides": "out[0] = np.float32(z.strides[0])",
    "assigned_in_a_loop": "for k in range(3):\n    a = x[k]\nout[0] = a",
    "fmod": "out[0] = np.fmod(x[0], 2.0) + x[0] % 2.0 + x[0] // 2.0",
    "hyperbolic": "out[0] = np.sinh(x[0]) + np.arccosh(x[1] + 2.0) + np.expm1(x[2]) + np.log1p(x[3]) + np.cbrt(x[4])",
    "rounding": "out[0] = np.ceil(x[0]) + np.trunc(x[1]) + np.rint(x[2]) + np.fix(x[3])",
    "loop_in_loop": "for i in range(2):\n    for k in range(i, 4):\n        out[k] = x[k]",
    "tests_by_ampersand": "i = int(jit.grid(1))\nif (i >= 0) & (i < x.size):\n    out[i] = 1.0",
    "table_by_name": "t = TABLE\nout[0] = t[1]",
    "number_alone": "SIZE\nx[0]\nout[0] = 1.0",
    "while_true": "k = 0\nwhile True:\n    k += 1\n    if k > 3:\n        break\nout[0] = np.float32(k)",
}

THREADS = {"shuffles": 32}  # where one thread isn't enough

NO = {
    "uint_plus_loop": "for k in range(4):\n    out[0] = x[jit.threadIdx.x * 0 + k]",
    "uint_plus_argument": "out[0] = x[jit.threadIdx.x + n]",
    "uint_plus_one_in_place": "i = jit.grid(1)\ni += 1",
    "uint_times_minus_1": "i = jit.grid(1) * -1",
    "chained": "i = int(jit.grid(1))\nif 0 <= i < x.size:\n    out[i] = 1.0",
    "ternary_mixed": "i = int(jit.grid(1))\nout[i] = x[i] if i < 2 else i",
    "ternary_known": "out[0] = 1.0 if SIZE > 3 else x[0]",
    "int_then_float": "s = 0\ns += x[0]\nout[jit.grid(1)] = s",
    "int_then_float_in_a_branch": "i = jit.grid(1)\nif i < 2:\n    a = 1\nelse:\n    a = 2.5\nout[i] = a",
    "float_into_int": "n_[jit.grid(1)] = x[0]",
    "math_tanh": "out[jit.grid(1)] = math.tanh(x[0])",
    "abs": "out[jit.grid(1)] = abs(x[0])",
    "where": "out[jit.grid(1)] = np.where(x[0] > 0, x[0], 0.0)",
    "clip": "out[jit.grid(1)] = np.clip(x[0], 0.0, 1.0)",
    "round": "out[jit.grid(1)] = round(x[0])",
    "sign_of_float": "out[0] = np.sign(x[0])",
    "sum_of_array": "out[0] = np.sum(x)",
    "sum_python": "out[0] = sum(x)",
    "dot": "out[0] = np.dot(x, x)",
    "matmul": "out[jit.grid(1)] = x @ x",
    "array_plus_array": "out[0] = x + x",
    "slice": "out[jit.grid(1)] = x[0:2][0]",
    "slice_written": "out[0:2] = 1.0",
    "transposed": "out[jit.grid(1)] = z.T[0, 1]",
    "ravel": "out[jit.grid(1)] = z.ravel()[0]",
    "method": "out[0] = x.sum()",
    "dtype": "a = x.dtype",
    "too_many_indices": "out[0] = x[0, 1]",
    "float_index": "out[jit.grid(1)] = x[n_[0] / 2]",
    "array_index": "out[0] = x[n_]",
    "row_assigned": "z[0] = 1.0",
    "nested_function": "def f(a):\n    return a + 1\nout[jit.grid(1)] = f(x[0])",
    "lambda_": "f = lambda a: a + 1\nout[jit.grid(1)] = f(x[0])",
    "plain_function": "out[jit.grid(1)] = plain(x[0])",
    "kernel_in_kernel": "other_kernel(x)",
    "recursive": "out[0] = around(x[0])",
    "helper_of_two_types": "out[0] = mixed(x[0])",
    "helper_too_few": "out[0] = two(x[0])",
    "list_": "a = [1.0, 2.0]\nout[jit.grid(1)] = a[0]",
    "comprehension": "out[jit.grid(1)] = sum([x[k] for k in range(4)])",
    "dict_": 'a = {"k": 1}',
    "enumerate_": "for k, v in enumerate(x):\n    out[k] = v",
    "for_tuple": "for k in (1, 2):\n    out[k] = x[k]",
    "for_array": "for v in x:\n    out[0] = v",
    "range_kept": "r = range(3)\nfor k in r:\n    out[k] = 1.0",
    "for_else": "for k in range(3):\n    out[k] = 0.0\nelse:\n    out[0] = 1.0",
    "while_else": "while n < 3:\n    out[0] = 0.0\nelse:\n    out[0] = 1.0",
    "range_of_floats": "for k in range(0.0, 3.0):\n    out[0] = 1.0",
    "unroll_unknown": "for k in jit.range(x.shape[0], unroll=True):\n    out[k] = x[k]",
    "print_": "print(x[0])",
    "format": 'a = f"{n}"',
    "annotated": "s: float = 0.0\nout[jit.grid(1)] = s",
    "two_targets": "a = b = 1.0\nout[jit.grid(1)] = a + b",
    "walrus": "if (i := jit.grid(1)) < 4:\n    out[i] = 1.0",
    "starred": "a, *b = 1.0, 2.0, 3.0\nout[jit.grid(1)] = a",
    "assert_": "assert x[0] > 0\nout[jit.grid(1)] = 1.0",
    "try_": "try:\n    out[0] = 1.0\nexcept IndexError:\n    pass",
    "raise_": "if n > 3:\n    raise ValueError",
    "with_": "with x:\n    pass",
    "import_": "import math",
    "global_": "global RATE\nRATE = 1.0",
    "delete": "a = 1.0\ndel a",
    "is_none": "if x is None:\n    out[0] = 1.0",
    "in_": "if n in (1, 2):\n    out[0] = 1.0",
    "unary_plus": "out[jit.grid(1)] = +x[0]",
    "return_value": "return x[0]",
    "unknown_name": "out[0] = nobody_knows_this",
    "unknown_attribute": "out[0] = np.nobody(x[0])",
    "keyword_of_function": "out[0] = np.maximum(x[0], 1.0, out=x)",
    "too_few_for_function": "out[0] = np.maximum(x[0])",
    "shared_2d": "s = jit.shared_memory(np.float32, (4, 4))\ns[0, 0] = x[0]",
    "shared_variable": "s = jit.shared_memory(np.float32, n)\ns[0] = x[0]",
    "shared_shape": "s = jit.shared_memory(np.float32, 8)\nout[0] = np.float32(s.shape[0])",
    "shared_in_a_branch_other_type": "s = jit.shared_memory(np.float32, 8)\ns = x",
    "atomic_float_into_int": "jit.atomic_add(n_, 0, x[0])",
    "atomic_max_of_float": "jit.atomic_max(out, 0, x[0])",
    "atomic_sub_of_float": "jit.atomic_sub(out, 0, x[0])",
    "grid_4": "i = jit.grid(4)",
    "grid_unknown": "i = jit.grid(n)",
    "shift_float": "out[0] = x[0] << 1",
    "invert_float": "out[0] = ~x[0]",
    "loop_name_of_other_type": "k = 0.0\nfor k in range(3):\n    out[k] = 1.0",
    "string_in_a_branch": 'if n > 3:\n    a = "x"',
    "unpack_too_few": "a, b = x[0], x[1], x[2]",
    "unpack_number": "a, b = x[0]",
    "len_of_number": "a = len(n)",
    "aug_of_outside": "RATE += 1.0",
    "subscript_of_number": "a = n[0]",
    "call_of_number": "a = n(0)",
    "matrix_class": "class A:\n    pass",
    "barrier_without_parentheses": "jit.syncthreads\nout[0] = 1.0",
    "grid_without_parentheses": "jit.grid\nout[0] = 1.0",
    "array_made_inside": "part = np.zeros(34, np.float32)\npart[jit.threadIdx.x] = 1.0",
    "math_sqrt": "out[jit.grid(1)] = math.sqrt(x[0])",
    "ampersand_for_and": "i = int(jit.grid(1))\nif i >= 0 & i < x.size:\n    out[i] = 1.0",
    "row_into_an_element": "out[0] = z[0]",
    "row_into_a_number": "s = 0.0\ns = z[0]",
    "number_into_a_row": "r = z[0]\nr = x[0]",
    "table_by_threads": "t = TABLE\nout[0] = t[n]",
    "shared_by_block_size": "s = jit.shared_memory(np.float32, jit.blockDim.x)\ns[0] = x[0]",
    "signed_into_unsigned": "i, j = jit.grid(2)\nj = int(j)",
}

NVRTC = {
    "unpack_shape": "a, b = z.shape\nout[jit.grid(1)] = z[a - 1, b - 1]",
    "cpp_word": "double = x[0]\nout[0] = double",
    "cpp_word_this": "this = 1\nout[0] = this",
    "negative_part": "out[0] = np.float32(z.shape[-1])",
    "atomic_row_of_two": "jit.atomic_add(z, 0, x[0])",
    "void_assigned": "a = put(out, 0, 1.0)",
}

STRICTER = {
    "syncwarp_mask": ("jit.syncwarp(mask=15)", "barriers of a part of a warp aren't simulated"),
    "shared_dynamic": ("s = jit.shared_memory(np.float32, None)", "the size isn't in the kernel"),
    "print_text": ("print('here')\nout[0] = x[0]", "cupyx.jit prints it once, while it compiles, and no thread does"),
    "print_number": ("print(SIZE)\nout[0] = x[0]", "the same"),
    "begin": ("a = x.begin()", "iterators are for CUDA's own libraries"),
}


def module_text(bodies):
    """The text of a module with one kernel for each body, named ``kernel_NAME``."""
    head, kernels = HEAD.rsplit("@jit.rawkernel()", 1)[0], []
    for name, body in bodies.items():
        lines = "\n".join("    " + line for line in body.split("\n"))
        kernels.append(f"@jit.rawkernel()\ndef kernel_{name}(x, z, n_, d, out, n):\n{lines}\n")
    return head + "\n\n".join(kernels)
