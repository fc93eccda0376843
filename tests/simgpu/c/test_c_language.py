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
        ("cbrt(27.0)", 3), ("remainder(5.0, 3.0)", -1), ("lgamma(5.0)", math.log(24)), ("lgamma(-1.0)", math.inf),
        ("normcdf(0.0)", 0.5), ("sinpi(0.5)", 1), ("nearbyint(2.5)", 2), ("fdim(3.0, 5.0)", 0), ("rcbrt(8.0)", 0.5),
        ("fdim(INFINITY, INFINITY)", 0), ("isnan(fdimf(NAN, 1.0f))", 1), ("fdimf(5.0f, 3.0f)", 2),
        ("remainderf(5.0f, INFINITY)", 5), ("remainder(5.0, 0.0) != 0", 1), ("normcdf(1.0)", 0.8413447460685429),
        ("normcdfinv(0.75)", 0.6744897501960817), ("normcdfinv(0.0)", -math.inf), ("normcdfinv(1.0)", math.inf),
        ("erfcinv(0.5)", 0.4769362762044699), ("erfcinv(2.0)", -math.inf), ("erfinv(0.5)", 0.4769362762044699),
        ("erfc(0.5)", math.erfc(0.5)), ("cospi(1.0)", -1), ("ldexp(1.5, 3)", 12), ("exp2(3.0) + expm1(0.0)", 8),
        ("real(polar(2.0, 0.5)) + imag(polar(2, 1))", 2 * math.cos(0.5) + 2 * math.sin(1)), ("log1p(0.0)", 0),
        ("lgamma(0.0)", math.inf), ("isnan(tgamma(-1.0)) + isnan(sqrt(-1.0))", 2), ("isinf(tgamma(200.0))", 1),
        ("round(-0.5) + round(0.49) + round(1.5)", 1), ("fdividef(1.0f, 4.0f) + rsqrtf(4.0f)", 0.75),
        ("__fma_rn(0.1, 1.0, 0.0) == 0.1", 1), ("__fmaf_rn(0.1f, 1.0f, 0.0f) == 0.1", 0), ("signbit(-0.0)", 1),
        ("arg(complex<double>(0, 2)) + norm(complex<double>(3, 4))", math.pi / 2 + 25), ("isfinite(INFINITY)", 0),
        ("fmin(NAN, 2.0) + fmax(3.0, NAN)", 5), ("trunc(-1.5) + ceil(-1.5)", -2), ("log2(8.0) + log10(100.0)", 5),
        ("INT_MAX", 2**31 - 1), ("LLONG_MAX == 9223372036854775807", 1), ("FLT_MAX", 3.4028234663852886e38),
        ("FLT_MIN", 1.1754943508222875e-38), ("FLT_EPSILON", 2.0**-23), ("DBL_EPSILON", 2.0**-52),
        ("DBL_MAX", 1.7976931348623157e308), ("DBL_MIN", 2.2250738585072014e-308), ("M_E", math.e),
        ("M_PI_2 + M_PI_4", 3 * math.pi / 4), ("M_SQRT2 * M_SQRT1_2", 1), ("CUDART_INF + CUDART_INF_F", math.inf),
        ("CUDART_PI - CUDART_PI_F", math.pi - float(np.float32(np.pi))), ("isnan(CUDART_NAN_F)", 1),
        ("cyl_bessel_i0(1.0)", sum(0.25**k / math.factorial(k) ** 2 for k in range(20))),
        ("isnan(CUDART_NAN)", 1), ("UINT_MAX", 2**32 - 1), ("INT_MIN", -(2**31)),
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
    assert computed("y = sizeof(x * 1.0) * 100 + sizeof(x * 1.0f)", z, z.dtype) == [1608]
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
        ("int w[2] = {7, 8}, n = 0; w[n] = n++; y = w[0] * 100 + w[1] * 10 + n;", [701] * 4),
        ("int w[2] = {7, 8}, n = 0; w[n++] = n; y = w[0] * 100 + w[1] * 10 + n;", [81] * 4),
        ("int w[2] = {7, 8}, n = 0; w[n] += ++n; y = w[0] * 100 + w[1] * 10 + n;", [791] * 4),
        ("int v = x; v += v *= 2; y = v;", [0, 4, 8, 12]),
        ("int t = x; y = t++; y += 10 * t; y += 100 * --t;", [10, 121, 232, 343]),
        ("const int w[] = {5, 6, 7}; y = w[0] + 10 * w[2] + x;", [75, 76, 77, 78]),
        ("int w[2]; w[0] = x; w[1] = w[0] * 2; y = w[1];", [0, 2, 4, 6]),
        ("double w[] = {4, x, 6, 7}; y = x < 3 ? w[x + 1] : w[0];", [0, 6, 7, 4]),
        ("int w[] = {8, 9}; y = 0; for (int k = 0; k < 4; k++) y += k < 2 && w[k] == 9 ? w[k] : 1;", [12] * 4),
        ("y = x; double old = y++; y = 10 * y + old;", [10, 21, 32, 43]),
        ("int w[2]; w[x % 2] = x; y = w[x % 2] + 10 * x;", [0, 11, 22, 33]),
        ("int w[] = {1, 1, 1}; if (x < 3) w[x] += x; y = w[0] + 10 * w[1] + 100 * w[2];", [111, 121, 311, 111]),
        ("int w[1] = {1}; if (x > 1) w[0] = 5; y = w[0];", [1, 1, 5, 5]),
        ("int w[] = {0, 0}; w[x % 2] = 7; y = w[0] + 10 * w[1];", [7, 70, 7, 70]),
        ("y = 5; if (x == 2) return; int n = 0; do { n++; } while (n < x); y = 6;", [6, 6, 5, 6]),
        ("y = 5; if (x == 2) return; int n = 0; while (n < x) n++; y = 6;", [6, 6, 5, 6]),
        ("y = 5; if (x == 2) return; do { y++; } while (y < 0); y *= 10;", [60, 60, 5, 60]),
        ("y = 5; if (x == 2) return; while (y < 0) { y++; } y *= 10;", [50, 50, 5, 50]),
        ("y = 5; if (x == 2) return; for (int n = 0; n < x; n++) { if (n == 1) break; } y = 6;", [6, 6, 5, 6]),
        ("int w[2][3] = {{1, 2, 3}, {4, 5}}; w[1][2] = 6; y = 10 * w[1][x % 3] + w[0][2];", [43, 53, 63, 43]),
        ("double w[99]; for (int k = 0; k < 99; k++) w[k] = k; y = w[x * 30];", [0, 30, 60, 90]),
        ("y = 5; switch (x) { case 0: y = 1; break; case 1: y = 2; case 2: y += 7; }", [1, 9, 12, 5]),
        ("switch (x % 3) { default: y = 9; break; case 1: { y = 7; } }", [9, 7, 9, 9]),
        (
            "y = 0; for (int k = 0; k < 3; k++) { switch (k) { case 0: continue; case 1: break; } y += x; }",
            [0, 2, 4, 6],
        ),
        ("int n = 0; do { n++; if (n == 2) continue; } while (n < x); y = n;", [1, 1, 2, 3]),
        ("int n = 0; do { if (n == x) break; n++; } while (true); y = n;", [0, 1, 2, 3]),
        ("int w[3]; y = sizeof(T) + 10 * sizeof(double) + 100 * sizeof(w) + x;", [1284, 1285, 1286, 1287]),
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
        ("y = threadIdx.x", "threadIdx"), ("struct A { int b; }; A a;", "the type A"), ("y = x +", "; where"),
        ("goto end;", "goto"), ("y = (float*)x", r"a cast to float\*"),
        ("if (x", "where"),
        ("y = x$", r"\$ where"), ("{ y = 1", "the end where .* line 1 of the operation, { y"),
        ("5 = x", "writing to this"),
        ("y = y.size()", r"\.size can't"), ("y = first_of(3)", "an array, a pointer or nothing as a number"),
        ("y = same(nothing())", "an array, a pointer or nothing as a number"),
        ("int w[2]; y = w.ndim", r"\.ndim can't"), ("y = _ind.strides", r"\.strides can't"),
        ("y = x.shape()[0]", r"\.shape can't"), ("y = _ind.other", r"\.other can't"),
        ("__shared__ int s[3];", "__shared__"), ("y = _ind.get()", "an array, a pointer"),
    ],
)  # fmt: skip
def test_what_cant_be_translated_says_where(operation, text):
    preamble = """
    __device__ int first_of(const int* p) { return p[0]; }
    __device__ int same(int v) { return v; }
    __device__ void nothing() { }
    """
    with pytest.raises(NotImplementedError, match=text):
        computed(operation, preamble=preamble)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("09", "09 has digits that no octal number has"), ("0189", "0189 has digits"),
        ("18446744073709551616", "18446744073709551616 is too large"),
        ("0x1ffffffffffffffff", "is too large"),
    ],
)  # fmt: skip
def test_a_number_that_c_has_not(number, text):
    with pytest.raises(simgpu.kernels.CompileException, match=f"{text}.*: line 1 of the operation"):
        computed(f"y = {number}")
    assert computed("y = 0xffffffffffffffff == 18446744073709551615ull && 9.0 + 08.5 == 17.5") == [1]


def test_outside_of_a_threads_own_array():
    for use in "y = w[2]", "y = w[x + 2]", "w[x - 1] = 0", "int* p = w; y = p[2]", "int* p = &w[1]; y = *(p + 1)":
        with pytest.raises(IndexError, match="an index is outside, there are 2 elements: line 1 of the operation"):
            computed(f"int w[2]; {use}")
    with pytest.raises(IndexError, match="a pointer to one variable went past it: line 1"):
        computed("int n; int* p = &n; y = p[1]")


@pytest.mark.parametrize(
    ("operation", "values"),
    [
        ("const T* p = &x[2]; y = *(p + 1) + 10 * p[i] + 100 * *p;", [223, 233, 243, 253]),
        ("const T* p = &x[i]; const T* q = p++; y = 10 * *p + *q; p += 2; y += 100 * (p - q);", [310, 321, 332, 343]),
        ("const T* p; if (i < 2) p = &x[0]; else p = &x[4]; y = *p;", [0, 0, 4, 4]),
        ("const T* p = i < 2 ? &x[1] : &x[4]; y = *p + 10 * (p > &x[2]);", [1, 1, 14, 14]),
        ("auto p = &x[i]; y = p[1];", [1, 2, 3, 4]),
        ("int w[] = {1, 2}; int* p = w; p[1] = 7 + i; y = 10 * *p + w[1];", [17, 18, 19, 20]),
        ("int w[2][2] = {{1, 2}, {3, 4}}; const int* p = w[1]; y = p[i % 2];", [3, 4, 3, 4]),
        ("int n = i; int* p = &n; *p += 5; y = n;", [5, 6, 7, 8]),
        ("const char* p = (const char*)&x[0]; y = *(const T*)(p + i * x.strides()[0]);", [0, 1, 2, 3]),
        ("const unsigned char* p = (const unsigned char*)&x[1]; y = *(const T*)&p[i * sizeof(T)];", [1, 2, 3, 4]),
        ("double s, w[2]; sincos(0.0, &s, w); sincospi(i * 0.5, &s, w + 1); y = s + 10 * w[0];", [10, 11, 10, 9]),
        ("const char* p = (const char*)&x[0]; y = i < 1 ? 7 : *(const T*)(p + (i == 0 ? -1 : 4 * i));", [7, 1, 2, 3]),
        ("int n = i; const int* p = &n; y = i == 0 ? *(p + i) : n;", [0, 1, 2, 3]),
        ("int w[] = {1, 2}; y = sum_of(w, 2) + sum_of(&x[i], 2);", [4, 6, 8, 10]),
        ("int w[] = {1, 2}; *last_of(w, 2) = 5; y = w[1];", [5] * 4),
    ],
)
def test_pointers(operation, values):
    """Into memory, where x is 0 to 7, and into what a thread has for itself."""
    preamble = """
    template <typename U> __device__ U sum_of(const U* p, int n) { U s = 0; while (n-- > 0) s += *p++; return s; }
    template <typename U> __device__ U* last_of(U* p, int n) { return p + n - 1; }
    """
    kernel = simgpu.ElementwiseKernel("raw T x", "float64 y", operation, preamble=preamble)
    assert kernel(simgpu.arange(8, dtype=np.int32), simgpu.zeros(4)).tolist() == pytest.approx(values)


def test_pointers_count_an_arrays_strides():
    x = simgpu.arange(24.0).reshape(4, 6)[::-1, ::2].T
    walk = """
        const char* p = (const char*)&x[0];
        const unsigned char* q = (const unsigned char*)p;
        y = *(const T*)&q[i / 4 * x.strides()[0] + i % 4 * x.strides()[1]] + 100 * (&x[i] == (const T*)p);
    """
    kernel = simgpu.ElementwiseKernel("raw T x", "float64 y", walk)
    wanted = simgpu.asnumpy(x).ravel()
    assert kernel(x, simgpu.zeros(12)).tolist() == [118, *wanted[1:]]
    x = simgpu.arange(48.0).reshape(2, 4, 6)[:, ::-1, ::2].transpose(2, 0, 1)
    kernel = simgpu.ElementwiseKernel("raw T x", "float64 y", "const T* p = &x[0]; const T* q = &x[i]; y = q - p;")
    places = simgpu.asnumpy(x).ravel()
    assert kernel(x, simgpu.zeros(24)).tolist() == (places - places[0]).tolist()


@pytest.mark.parametrize(
    "operation",
    [
        "const int v = 1; v = 2;", "const int v = 1; ++v;", "constexpr int v = 1; v += 2;", "const auto v = x; v = 2;",
        "const int w[2] = {1}; w[0] = 2;", "const int w[2] = {1}; *w = 2;", "const int v = 1; atomicAdd(&v, 1);",
        "const int v = 1; int* p = &v; *p = 2;", "y = set<3>(1);",
    ],
)  # fmt: skip
def test_what_is_const_stays_as_it_is(operation):
    preamble = "template <int N> __device__ int set(int v) { N = v; return N; }"
    with pytest.raises(simgpu.kernels.CompileException, match="this is const, so it can't be changed: line 1"):
        computed(operation, preamble=preamble)
    assert computed("const int v = x + 1; const int w[] = {v, 5}; y = v + w[1] + *w;", [2]) == [11]


@pytest.mark.parametrize(
    ("operation", "error", "text"),
    [
        ("const T* p = &x[7]; y = p[i];", IndexError, r"x\[8\] is outside, x has 8 elements: i = 1"),
        (
            "const double* p = (const double*)&x[0]; y = p[i + 1];",
            IndexError,
            r"x as float64\[4\] is outside, x as float64",
        ),
        (
            "const short* p = (const short*)(const double*)&x[0]; y = p[16 + i];",
            IndexError,
            r"^x as int16\[16\] is outside",
        ),
        ("y = *(const T*)((const char*)&x[0] + 2);", NotImplementedError, "a pointer between two elements"),
        ("T* p = &x[0]; *p = 1;", simgpu.kernels.CompileException, "a kernel can only write to its outputs"),
        ("const T* p = x;", simgpu.kernels.CompileException, r"x is an array and no pointer, &x\[0\] is one"),
        ("int w[2]; const int* p = i ? w : &x[0];", NotImplementedError, "a pointer that points into several arrays"),
        ("y = &x[0];", NotImplementedError, "an array, a pointer or nothing as a number"),
        ("int w[2] = {0}; y = *(double*)w;", NotImplementedError, "an array of type int32 as float64"),
    ],
)
def test_pointers_that_are_refused(operation, error, text):
    kernel = simgpu.ElementwiseKernel("raw T x", "float64 y", operation)
    with pytest.raises(error, match=text):
        kernel(simgpu.arange(8, dtype=np.int32), simgpu.zeros(4))


def test_the_array_behind_an_element():
    """``_raw_x`` is the whole array of an argument of which a thread has one element."""
    kernel = simgpu.ElementwiseKernel("T x, T y", "float64 z", "z = x + 10 * _raw_y.shape()[0] + 100 * _raw_x[0] * y;")
    assert kernel(simgpu.arange(2.0, 5.0), simgpu.array(1.0)).tolist() == [232, 233, 234]


def test_functions_are_chosen_by_types_and_traits():
    preamble = """
    template<> struct std::is_floating_point<float16> : std::true_type {};
    template <class B, class A> __device__
    typename std::enable_if<(!std::is_floating_point<A>::value || std::is_signed<B>::value), B>::type
    cast(A a) { return (B)a; }
    template <class B, class A> __device__
    typename std::enable_if<(std::is_floating_point<A>::value && !std::is_signed<B>::value), B>::type
    cast(A a) { return (B)a + 100; }
    __device__ int which(int x) { return 1; }
    __device__ int which(double x) { return 2; }
    template <typename U> __device__ int size_of(U x) { return sizeof(U); }
    template <> __device__ int size_of<float>(float x) { return -4; }
    template <int N, typename U = float> __device__ U times(double x) { return (U)(N * x); }
    """
    for operation, value in (
        ("y = cast<int>(x + 0.5)", 3), ("y = cast<unsigned int>(x + 0.5)", 103), ("y = cast<unsigned int>(x)", 3),
        ("y = which(x) + 10 * which(0.5)", 21), ("y = size_of<double>(1) + 100 * size_of<float>(x)", -392),
        ("y = times<2, int>(x + 0.25)", 6), ("y = times<2>(x + 0.25)", 6.5),
        ("typename std::conditional<std::is_same<T, int>::value, short, double>::type s = 0; y = sizeof(s)", 2),
        ("y = std::is_integral_v<T> + 2 * std::is_unsigned<T>::value", 1),
    ):  # fmt: skip
        assert computed(operation, [3], preamble=preamble) == [value], operation
    for call in ("which(x, x)", "size_of(x, x)", "half_of(x, x)"):
        with pytest.raises(simgpu.kernels.CompileException, match="2 arguments, but it takes 1"):
            computed(f"y = {call}", preamble=f"{preamble} __device__ double half_of(double x) {{ return x / 2; }}")


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("kind(1.0f)", 2), ("kind(true)", 1), ("kind((short)1)", 1),  # promoted: double, int
        ("size(1)", 4), ("size((short)1)", 2), ("size(1.0f)", 104), ("size<float>(1)", 104), ("size<double>(1)", 8),
        ("size(1.0)", 208), ("number<2>(5)", 10), ("number<3>(5)", -3), ("number<int>(5)", 7), ("number(5)", 7),
        ("part(complex<float>(1))", 1),
    ],
)  # fmt: skip
def test_the_nearest_function_is_called(call, value):
    """An exact match, by itself or of a template, before a promotion, before a conversion."""
    preamble = """
    template <typename U> __device__ int size(U v) { return sizeof(U); }
    template <> __device__ int size<float>(float v) { return 104; }
    __device__ int size(double v) { return 208; }
    __device__ int kind(double v) { return 2; }
    __device__ int kind(int v) { return 1; }
    template <int N> __device__ int number(int v) { return N * v; }
    template <> __device__ int number<3>(int v) { return -3; }
    template <typename U> __device__ int number(U v) { return 7; }
    __device__ int part(double v) { return 2; }
    __device__ int part(complex<double> v) { return 1; }
    """
    assert computed(f"y = {call}", preamble=preamble) == [value]


def test_a_const_reference_to_another_type_is_a_copy():
    preamble = (
        "__device__ double half_of(const double& v) { return v / 2; } __device__ void reset(double& v) { v = 0; }"
    )
    assert computed("y = half_of(x)", [3], preamble=preamble) == [1.5]
    with pytest.raises(simgpu.kernels.CompileException, match="a reference to double takes no other type"):
        computed("int n = 3; reset(n); y = n", preamble=preamble)


def test_atomics_give_what_was_there_before():
    kernel = simgpu.ElementwiseKernel(
        "", "raw int32 counts, raw int32 owner, T old, T first",
        "old = atomicAdd(&counts[i % 2], i); first = atomicCAS(&owner[i % 2], -1, i); atomicExch(&counts[2], i);",
    )  # fmt: skip
    counts, owner, old, first = (
        simgpu.zeros(3, "i"),
        simgpu.full(2, -1, "i"),
        simgpu.zeros(6, "i"),
        simgpu.zeros(6, "i"),
    )
    kernel(counts, owner, old, first)
    assert counts.tolist() == [6, 9, 5] and owner.tolist() == [0, 1]
    assert old.tolist() == [0, 0, 0, 1, 2, 4] and first.tolist() == [-1, -1, 0, 1, 0, 1]


@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        ("Inc(&n[0], 4)", 4, 0), ("Inc(&n[0], 4)", 9, 0), ("Inc(&n[0], 4)", 3, 4), ("Inc(&n[0], 4)", 2, 3),
        ("Dec(&n[0], 4)", 0, 4), ("Dec(&n[0], 4)", 1, 0), ("Dec(&n[0], 4)", 4, 3), ("Dec(&n[0], 4)", 5, 4),
        ("CAS(&n[0], 4, 7)", 4, 7), ("CAS(&n[0], 4, 7)", 3, 3), ("CAS(&n[0], 4, 7)", 5, 5), ("Exch(&n[0], 2)", 3, 2),
        ("Sub(&n[0], 2)", 3, 1), ("Max(&n[0], 2)", 3, 3), ("Min(&n[0], 2)", 3, 2), ("And(&n[0], 6)", 3, 2),
        ("Or(&n[0], 6)", 3, 7), ("Xor(&n[0], 6)", 3, 5),
    ],
)  # fmt: skip
def test_an_atomic(change, old, new):
    """As CUDA's guide has them: ((old >= value) ? 0 : (old + 1)), and so on."""
    n, y = simgpu.full(1, old, "uint32"), simgpu.zeros(1, "uint32")
    simgpu.ElementwiseKernel("", "raw uint32 n, uint32 y", f"y = atomic{change}")(n, y)
    assert (int(y[0]), int(n[0])) == (old, new)


def test_threads_that_dont_take_part_read_nothing():
    kernel = simgpu.ElementwiseKernel("raw T x", "T y", "if (i < 1) y = x[i]; else y = 5;")
    assert kernel(simgpu.full(1, 7.0), simgpu.zeros(3)).tolist() == [7, 5, 5]


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
    with pytest.raises(simgpu.kernels.CompileException, match="int has no type value_type: line 1"):
        computed("T::value_type v = 1; y = v")


def test_macros():
    preamble = "#define TWICE(v) ((v) + (v))\n#if 1\n#define MORE 10\n#else\nno C\n#endif"
    assert computed("y = TWICE(x) * MORE", [3], preamble=preamble) == [60]
    with pytest.raises(simgpu.kernels.CompileException, match="a macro's arguments have no end: line 2"):
        computed("y = TWICE\n(x", preamble=preamble)
    with pytest.raises(simgpu.kernels.CompileException, match="a macro takes 1 argument, got 2: line 1"):
        computed("y = TWICE(x, x)", preamble=preamble)
