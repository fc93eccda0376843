"""The C of a kernel means what C says. The numbers here are computed by hand."""

import math

import numpy as np
import pytest

import simgpu


def computed(operation, x=(0,), dtype=np.int32, out="float64", **keywords):
    """The output `y` of a kernel with one input `x`."""
    kernel = simgpu.ElementwiseKernel("T x", f"{out} y", operation, **keywords)
    return simgpu.asnumpy(kernel(simgpu.asarray(np.array(x, dtype)))).tolist()


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("-7 / 2", -3), ("7 / -2", -3), ("-7 % 2", -1), ("7 % -2", 1), ("1 / 2 * 3.0", 0), ("5 / 2.0", 2.5),
        ("(unsigned char)300", 44), ("(signed char)200", -56), ("(int)-2.7", -2), ("int(2.7)", 2),
        ("float(1) / 4", 0.25),
        ("static_cast<double>(7) / 2", 3.5), ("static_cast<int>(static_cast<float>(7) / 2)", 3), ("(bool)5", 1),
        ("-5 >> 1", -3), ("1 << 3 + 1", 16), ("~0", -1), ("6 & 3 | 8", 10), ("6 ^ 3", 5), ("1 + 2 * 3 - 4", 3),
        ("3 > 2 > 1", 0), ("-1 < 1u", 0), ("-1 < 1", 1), ("true + true", 2), ("!3", 0), ("!0", 1), ("1 == 1.0", 1),
        ("0x10", 16), ("010", 8), ("1e3", 1000), (".5", 0.5), ("2.f", 2), ("0.1f == 0.1", 0),
        ("4294967295 > -1", 1), ("0xffffffff > -1", 0),
        ("2147483647 + 1", -(2**31)), ("2147483647ll + 1", 2**31), ("0u - 1", 2**32 - 1), ("0xffffffff", 2**32 - 1),
        ("1 ? 2 : 3 ? 4 : 5", 2), ("0 ? 1 : 0.5", 0.5), ("1 ? 1 : 0.5", 1), ("0 || 2 && 3", 1), ("not 0 and 1", 1),
        ("(unsigned long long)-1 / 2 == 9223372036854775807", 1), ("(short)32768", -32768),
        ("(1, 2)", 2), ("'a'", 97), ("0b101", 5),
        ("size_t(3) - 4 > 0", 1), ("ptrdiff_t(3) - 4 > 0", 0), ("(uint8_t)255 + 1", 256),
    ],
)  # fmt: skip
def test_an_expression(expression, value):
    assert computed(f"y = {expression}") == [value]


FLOATS = [0, -0.5, 0.6, -1, -1.5, 300, 3e9, -3e9, 1e19, -1e19, 2e19, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("out", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("source", ["float16", "float32", "float64"])
@pytest.mark.parametrize("operation", ["y = ({out})x", "y = x", "{out} z = x; y = z", "y = 0; y += ({out})x"])
@pytest.mark.filterwarnings("ignore:overflow")
def test_a_float_that_an_integer_cannot_hold(operation, source, out):
    from simgpu import arithmetic

    wanted = arithmetic.cast(np.array(FLOATS, source), np.dtype(out)).tolist()
    assert computed(operation.format(out=out), FLOATS, source, out) == wanted


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("pow(2.0, 10)", 1024), ("sqrt(2)", math.sqrt(2)), ("fabs(-1.5)", 1.5), ("abs(-3)", 3), ("min(2, 3.5)", 2),
        ("max(NAN, 1.0f)", 1), ("round(-2.5)", -3), ("round(2.5)", 3), ("rint(2.5)", 2), ("floor(-0.5)", -1),
        ("atan2(1.0, -1.0)", 3 * math.pi / 4), ("fmod(-7.5, 2.0)", -1.5), ("hypot(3, 4)", 5), ("rsqrt(4.0)", 0.5),
        ("isnan(NAN) + isinf(INFINITY)", 2), ("erf(0.5)", math.erf(0.5)), ("tgamma(5.0)", 24),
        ("erfinv(erf(0.3))", 0.3), ("erfcinv(1.0)", 0), ("erfinv(-1.0)", -math.inf),
        ("std::max(1, 2)", 2), ("::exp(0.0)", 1), ("__popc(255u)", 8), ("fma(2.0, 3.0, 4.0)", 10),
        ("cbrt(27.0)", 3),
        ("expf(1) == exp(1.0)", 0), ("__expf(1.0) == expf(1.0)", 1), ("copysign(2.0, -1.0)", -2), ("M_PI", math.pi),
    ],
)  # fmt: skip
def test_a_function(call, value):
    assert computed(f"y = {call}") == pytest.approx([value])


def test_a_type_that_a_letter_stands_for_takes_part_as_in_c():
    assert computed("y = T(x) / 2", (7,), np.int32) == [3]
    assert computed("y = T(x) / 2", (7,), np.float32) == [3.5]
    assert computed("y = x + x", (200,), np.uint8) == [400], "at least an int"
    assert computed("T t = x + x; y = t", (200,), np.uint8) == [400 - 256]
    assert computed("y = x + x", (30000,), np.int16) == [60000]
    assert computed("y = x * 3", (1 / 3,), np.float16) == [np.float32(np.float16(1 / 3)) * 3], "float16 becomes float"
    assert computed("y = x == 0.1", (0.1,), np.float32) == [0]


def test_complex_numbers():
    z = np.array([3 + 4j], np.complex64)
    assert computed("y = abs(x) + x.real() + x.imag() + norm(x)", z, z.dtype) == [5 + 3 + 4 + 25]
    assert computed("y = x * conj(x) + complex<float>(0, 2)", z, z.dtype, out="complex64") == [25 + 2j]
    with pytest.raises(simgpu.kernels.CompileException, match="complex number doesn't become float64"):
        computed("y = x", z, z.dtype)


@pytest.mark.parametrize(
    ("operation", "values"),
    [
        ("if (x > 1) y = 1; else if (x < 1) { y = -1; } else y = 0;", [-1, 0, 1, 1]),
        ("int n = 0; for (int k = 0; k < x; k++) n += k; y = n;", [0, 0, 1, 3]),
        ("int n = 0, k = x; while (k > 0) { --k; if (k == 1) continue; n += 10 + k; } y = n;", [0, 10, 10, 22]),
        ("int n = 0; while (true) { if (n * n >= x) break; ++n; } y = n;", [0, 1, 2, 2]),
        ("y = 5; if (x == 2) return; y = 6;", [6, 6, 5, 6]),
        ("y = 0; for (int a = 0; a < 3; ++a) for (int b = 0; b < 9; ++b) { if (b > x) break; y += 1; }", [3, 6, 9, 12]),
        ("int i = 7; { int i = x; y = i; } y += i;", [7, 8, 9, 10]),
        ("int t = x++ + 1, s; s = t *= 2; y = s + t;", None),
        ("int t = x; y = t++; y += 10 * t; y += 100 * --t;", [10, 121, 232, 343]),
        ("const int w[] = {5, 6, 7}; y = w[0] + 10 * w[2] + x;", [75, 76, 77, 78]),
        ("int w[2]; w[0] = x; w[1] = w[0] * 2; y = w[1];", [0, 2, 4, 6]),
        ("double w[] = {4, x, 6, 7}; y = x < 3 ? w[x + 1] : w[0];", [0, 6, 7, 4]),
        ("int w[] = {8, 9}; y = 0; for (int k = 0; k < 4; k++) y += k < 2 && w[k] == 9 ? w[k] : 1;", [12] * 4),
        ("y = x; double old = y++; y = 10 * y + old;", [10, 21, 32, 43]),
        ("y = 1; // y = 2;\n/* y = 3;\n*/ y += x;", [1, 2, 3, 4]),
    ],
)
def test_statements(operation, values):
    """Each thread goes its own way: here four, with x from 0 to 3."""
    if values is None:
        with pytest.raises(simgpu.kernels.CompileException, match="only write to its outputs: line 1 of the operation"):
            computed(operation, range(4))
    else:
        assert computed(operation, range(4)) == values


PREAMBLE = """
#include <cupy/math_constants.h>
typedef unsigned long long u64;
__constant__ float third = 1.0f / 3;
template <typename U> __device__ inline U squared(U x) { return x * x; }
__device__ static int factorial(int n) { return n <= 1 ? 1 : n * factorial(n - 1); }
__device__ int sign_of(const float x) { if (x > 0) return 1; if (x < 0) return -1; return 0; }
__device__ void both_of(int x, int *a, int &b) { *a = x + 1; b = x + 2; }
__device__ float thrice() { return third * 3; }
__device__ u64 next(u64* state) { state[0] = state[0] * 3 + state[1]; return state[0]; }
"""


@pytest.mark.parametrize(
    ("operation", "values"),
    [
        ("y = squared(x) + squared(0.5)", [1.25, 0.25, 1.25, 4.25]), ("y = squared(int(x + 0.5))", [0, 0, 1, 4]),
        ("y = factorial(x + 2)", [1, 2, 6, 24]), ("y = sign_of(x * 0.5)", [-1, 0, 1, 1]),
        ("int a, b; both_of(x, &a, b); y = 10 * a + b", [1, 12, 23, 34]),
        ("u64 s[2]; s[0] = x + 1; s[1] = 1; next(s); y = next(s)", [4, 13, 22, 31]),
        ("y = third * 3 * (x + 1)", [0, 1, 2, 3]), ("float third = x; y = thrice() + third", [0, 1, 2, 3]),
    ],
)  # fmt: skip
def test_what_the_preamble_defines(operation, values):
    assert computed(operation, range(-1, 3), preamble=PREAMBLE) == values


@pytest.mark.parametrize(
    ("operation", "text"),
    [
        ("y = 1;\ny = foo(x);", r"function foo can't be translated to NumPy: line 2 of the operation, y = foo\(x\);"),
        ("/* y =\n*/ y = bar(x)", "line 2 of the operation, y = bar"),
        ("int w[3]; w[x + i] = 1;", "writing to this"),
        ("y = threadIdx.x", "threadIdx"), ("struct A { int b; }; A a;", "the type A"), ("y = x +", "; where"),
        ("switch (x) { }", "switch"), ("goto end;", "goto"), ("y = (float*)x", r"a cast to float\*"),
        ("if (x", "where"),
        ("y = x$", r"\$ where"), ("{ y = 1", "the end where"), ("5 = x", "writing to this"),
        ("do x++; while (0);", "do"), ("__shared__ int s[3];", "__shared__"), ("y = _ind.get()", "an array, a pointer"),
    ],
)  # fmt: skip
def test_what_cant_be_translated_says_where(operation, text):
    with pytest.raises(NotImplementedError, match=text):
        computed(operation)


def test_outside_of_a_threads_own_array():
    for index in "2", "x + 2":
        with pytest.raises(IndexError, match="an index is outside, there are 2 elements: line 1 of the operation"):
            computed(f"int w[2]; y = w[{index}]")


def test_a_loop_without_an_end(monkeypatch):
    monkeypatch.setattr(simgpu.kernels.threads, "_MOST_ROUNDS", 100)
    with pytest.raises(RuntimeError, match="hasn't ended: line 1 of the operation, while"):
        computed("while (x < 1) { }")


def test_the_parts_of_complex_numbers_in_memory():
    """``T::value_type`` is the type of a complex number's parts, of which atomics change one at a time."""
    kernel = simgpu.ElementwiseKernel(
        "raw T x, raw int32 place", "raw T out",
        """
        atomicAdd(reinterpret_cast<T::value_type*>(&(out[place[i]])), x[i].real());
        atomicAdd(reinterpret_cast<T::value_type*>(&(out[place[i]])) + 1, x[i].imag());
        """,
    )  # fmt: skip
    x, out = np.array([1 + 2j, 3 - 1j, 5j], np.complex64), simgpu.zeros(2, "F")
    kernel(simgpu.asarray(x), simgpu.asarray(np.array([1, 0, 1], np.int32)), out, size=3)
    assert out.tolist() == [3 - 1j, 1 + 7j]


def test_macros():
    preamble = "#define TWICE(v) ((v) + (v))\n#if 1\n#define MORE 10\n#else\nno C\n#endif"
    assert computed("y = TWICE(x) * MORE", [3], preamble=preamble) == [60]
