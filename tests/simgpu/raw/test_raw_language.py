"""CUDA C in a RawKernel means what C says. The numbers here are computed by hand."""

import numpy as np
import pytest

import simgpu


def run(body, threads=4, x=None, out="d", before="", n=None):
    """What a kernel of this body writes into `out`, with an input x, from `threads` threads."""
    given = np.arange(threads, dtype=np.int32) if x is None else np.asarray(x)
    c_types = {"i": "int", "d": "double", "f": "float", "I": "unsigned int", "q": "long long", "F": "complex<float>"}
    inner = f"const {c_types[given.dtype.char]}* x, {c_types[out]}* out"
    code = f'{before}\nextern "C" __global__ void f({inner}) {{\nint i = threadIdx.x;\n{body}\n}}'
    result = simgpu.zeros(n or threads, out)
    simgpu.RawKernel(code, "f")((1,), (threads,), (simgpu.asarray(given), result), shared_mem=64)
    return simgpu.asnumpy(result).tolist()


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("-7 / 2", -3), ("-7 % 2", -1), ("1 / 2 * 3.0", 0), ("(unsigned char)300", 44), ("(int)-2.7", -2),
        ("0u - 1", 2**32 - 1), ("2147483647 + 1", -(2**31)), ("-1 < 1u", 0), ("1ll << 40", 2**40), ("0x1F & ~3", 28),
        ("sizeof(double) + sizeof(int*)", 16), ("(1, 2)", 2), ("1 ? 2 : 3 ? 4 : 5", 2), ("!3 || 0 && 1", 0),
        ("static_cast<int>(3.9f) * 2", 6), ("'a' + 1", 98), ("min(3, 2) + max(1.5f, 1)", 3.5), ("__popc(255)", 8),
        ("__clz(1)", 31), ("__ffs(8)", 4), ("__float_as_int(1.0f)", 0x3F800000), ("__brev(1)", 2**31),
        ("__mulhi(1 << 30, 8)", 2), ("__umulhi(0xffffffffu, 2u)", 1), ("fmaf(2.f, 3.f, 4.f)", 10), ("warpSize", 32),
        ("powf(2.0f, 10.0f)", 1024), ("(bool)7 + (short)65537", 2), ("float(1) / 4", 0.25), ("10 >> 1 << 2", 20),
        ("blockDim.x + gridDim.y", 2), ("0.1f == 0.1", 0), ("sizeof(float3)", 12),
        ("fdimf(5.0f, 3.0f) + fdim(3.0, 5.0)", 2), ("fdim(INFINITY, INFINITY)", 0), ("isnan(fdimf(NAN, 1.0f))", 1),
        ("remainderf(5.0f, 3.0f)", -1), ("remainderf(5.0f, INFINITY)", 5), ("ldexpf(1.5f, 3) + ldexp(1.0, -1)", 12.5),
        (r"'\n' + '\x41' * 100 + '\101' * 10000", 656510), (r"'\xff'", -1), (r"'\\' + '\''", 92 + 39),
    ],
)  # fmt: skip
def test_an_expression(expression, value):
    assert run(f"out[i] = {expression};", 1) == [value]


@pytest.mark.parametrize(
    ("body", "values"),
    [
        ("int s = 0; for (int k = 0; k < x[i]; k++) s += k; out[i] = s;", [0, 0, 1, 3]),
        ("int s = 0, k = x[i]; while (k > 0) { --k; if (k == 1) continue; s += 10 + k; } out[i] = s;", [0, 10, 10, 22]),
        ("int k = 0; do { k += 2; } while (k < x[i]); out[i] = k;", [2, 2, 2, 4]),
        ("int k = x[i]; do { k += 10; if (k > 12) break; } while (k < 12); out[i] = k;", [20, 21, 12, 13]),
        ("int s = 0; for (int a = 0, b = 3; a < b; a++, b--) s += 10 * a + b; out[i] = s;", [15] * 4),
        ("int k; for (k = 0; ; k++) { if (k * k >= x[i]) break; } out[i] = k;", [0, 1, 2, 2]),
        (
            "switch (x[i]) { case 0: out[i] = 5; break; case 1: case 2: out[i] = 6; default: out[i] += 10; }",
            [5, 16, 16, 10],
        ),
        ("for (int k = 0; k < 3; k++) { switch (k) { case 1: continue; case 2: break; } out[i] += k + 1; }", [4] * 4),
        ("switch (x[i]) { case 3: out[i] = 1; }", [0, 0, 0, 1]),
        ("out[i] = 5; if (x[i] == 2) return; out[i] = 6;", [6, 6, 5, 6]),
        ("switch (x[i]) { default: out[i] = 9; break; case 1: out[i] = 7; case 2: out[i] += 1; }", [9, 8, 1, 9]),
        ("switch (x[i]) { case 3: out[i] = 1; default: out[i] += 2; case 1: out[i] += 4; }", [6, 4, 6, 7]),
        ("for (int k = 0; k < 2; k++) { switch (x[i]) { case 1: continue; } out[i] += 1; }", [2, 0, 2, 2]),
        ("if (sizeof(int) == 4) out[i] = 1; else out[i] = 2; if (0) out[i] = 3; if (1) ; else out[i] = 4;", [1] * 4),
        ("const int n = 3; if (n > 3) out[i] = 1; else if (n > 2) out[i] = 2; while (false) out[i] = 3;", [2] * 4),
        ("int v = x[i]; out[i] = v++ * 10 + v; out[i] += 100 * --v;", [1, 112, 223, 334]),
        ("int w[2] = {7, 8}, n = 0; w[n] = n++; out[i] = w[0] * 100 + w[1] * 10 + n;", [701] * 4),
        ("int w[2] = {7, 8}, n = 0; w[n++] = n; out[i] = w[0] * 100 + w[1] * 10 + n;", [81] * 4),
        ("int w[2] = {7, 8}, n = 0; w[n] += ++n; out[i] = w[0] * 100 + w[1] * 10 + n;", [791] * 4),
        ("int v = x[i]; v += v *= 2; out[i] = v;", [0, 4, 8, 12]),
        ("int a, b; a = b = x[i]; a += b *= 2; out[i] = a * 10 + b;", [0, 32, 64, 96]),
        ("float v = x[i]; { int v = 7; out[i] = v; } out[i] += v;", [7, 8, 9, 10]),
        ("out[i] = x[i] > 1 ? x[i] : -x[i] - 1;", [-1, -2, 2, 3]),
        ("bool seen = x[i] && 4 / x[i] > 1; out[i] = seen;", [0, 1, 1, 0]),
        ("auto v = x[i] * 0.5; out[i] = v;", [0, 0.5, 1, 1.5]),
        ("unsigned char v = 250 + 2 * x[i]; v += 2; out[i] = v;", [252, 254, 0, 2]),
    ],
)
def test_statements(body, values):
    """Each thread goes its own way: here four, with x from 0 to 3."""
    assert run(body) == values


@pytest.mark.parametrize(
    ("body", "values"),
    [
        ("const int* p = x + 3; out[i] = *(p - i) * 10 + p[-1];", [32, 22, 12, 2]),
        ("const int* p = &x[i]; out[i] = p - x; if (p == x + 2) out[i] += 10;", [0, 1, 12, 3]),
        ("double* p = out; p += i; *p++ = 5; *--p += i;", [5, 6, 7, 8]),
        ("int w[3] = {1, 2}; w[i % 3] += 10; out[i] = w[0] * 10000 + w[1] * 100 + w[2];",
         [110200, 11200, 10210, 110200]),
        ("float v[5]; out[i] = sizeof(v);", [20] * 4),
        ("int w[2][3]; for (int a = 0; a < 2; a++) for (int b = 0; b < 3; b++) w[a][b] = 10 * a + b;"
         "int* row = w[1]; out[i] = row[2] + w[i % 2][1];", [13, 23, 13, 23]),
        ("int n = 0; for (const int* p = x + i; p < x + 3; ++p) n += 1 + *p; out[i] = n;", [6, 5, 3, 0]),
        ("const int *p = x + i, *q = x + 2; out[i] = (p < q) + 10 * (p <= q) + 100 * (p > q) + 1000 * (p >= q);",
         [11, 11, 1010, 1100]),
        ("const int *p = x + i, *q = x + 2; out[i] = (p == q) + 10 * (p != q) + 100 * (p == nullptr);",
         [10, 10, 1, 10]),
        ("int w[] = {4, 5, 6, 7}; int* p = w; p += i; out[i] = *p;", [4, 5, 6, 7]),
        ("int v = x[i]; int* p = &v; *p += 2; out[i] = v;", [2, 3, 4, 5]),
        ("const int* p = i < 2 ? x : x + 1; out[i] = p[1];", [1, 1, 2, 2]),
        ("const int* p = nullptr; if (p) out[i] = 1; p = x; if (p != NULL) out[i] += 2;", [2, 2, 2, 2]),
        ("float4 v = make_float4(1, 2, 3, i); v.y += v.w; out[i] = v.x + v.y * 10;", [21, 31, 41, 51]),
        ("extern __shared__ float a[]; extern __shared__ int b[]; a[i] = 1; out[i] = b[i] == __float_as_int(1);",
         [1] * 4),
        ("int2 v[2]; v[0].x = i; v[0].y = 1; v[1] = v[0]; v[1].x++; out[i] = v[1].x * 10 + v[0].x;", [10, 21, 32, 43]),
        ("uint3 t = threadIdx; dim3 d = blockDim; out[i] = 10 * t.x + d.x + t.y;", [4, 14, 24, 34]),
        ("float4 const* p = (float4 const*)x; out[i] = __float_as_int(p[0].y) + sizeof(p[0]);", [17, 17, 17, 17]),
    ],
)  # fmt: skip
def test_pointers_and_arrays(body, values):
    assert run(body) == values


BEFORE = """
#define SQUARE(v) ((v) * (v))
#define JOINED(a, b) a ## b
#define FIVE() 5
#define SUM(first, ...) sum_of_three(first, __VA_ARGS__)
#define NAMED(v) (first+\\
second_##v)
#define second_b 8
__device__ int sum_of_three(int a, int b, int c) { return a + b + c; }
#define LOOP(k, n) \\
    for (int k = 0; k < (n); ++k)
#if defined(SQUARE) && !defined(OTHER) && 3 > 2
#define KIND 1
#else
#error this isn't read
#endif
#ifndef KIND
int broken(
#elif KIND == 1
constexpr int first = 4, second = first * 2;
#endif
enum Way { UP, DOWN = 5, LEFT };
enum class Near { ONE = 1, TWO };
enum class Far : unsigned char { ONE = 128, TWO = ONE << 1, THREE = TWO | 3 };
struct Pair { float value; int index; };
template<typename T> struct Third {};
template<> struct Third<float> { static constexpr float value = 0.25f; };
template<> struct Third<double> { static constexpr double value = 0.5; };
__constant__ int table[4] = {10, 20, 30, 40};
template<typename T> __device__ __forceinline__ T twice(T v) { return v + v; }
template<typename T, int N> __device__ T power(T v) { T r = 1; for (int k = 0; k < N; k++) r *= v; return r; }
__device__ void both_of(int v, int* a, int& b) { *a = v + 1; b = v + 2; }
__device__ int sign_of(float v) { if (v > 0) return 1; if (v < 0) return -1; return 0; }
__device__ int with_default(int v, int w = 10, int u = 100);
__device__ int with_default(int v, int w, int u) { return v + w + u; }
template<int N> __device__ int corner(const int s[][N]) { return s[1][N - 1]; }
__device__ void fill(int (*s)[3], int v = 5) { for (int a = 0; a < 6; a++) s[a / 3][a % 3] = v + a; }
__device__ Pair better(const Pair& a, Pair b) { return a.value > b.value ? a : b; }
__device__ int which(int v) { return 1; }
__device__ int which(double v) { return 2; }
template<typename T> __device__ T third(T v) { return v * Third<T>::value; }
namespace deep { __device__ int inner(int v) { return v * 3; } }
typedef unsigned long long u64;
using real = double;
typedef unsigned char ubyte;
typedef float f;
"""


@pytest.mark.parametrize(
    ("body", "values"),
    [
        ("out[i] = SQUARE(x[i] + 1);", [1, 4, 9, 16]), ("int ab = 7; out[i] = JOINED(a, b);", [7] * 4),
        ("LOOP(k, 3) out[i] += k;", [3] * 4),
        ("out[i] = FIVE() + FIVE ();", [10] * 4), ("int SQUARE = 3; out[i] = SQUARE + 1;", [4] * 4),
        ("out[i] = SUM(1, (2, 3), 4);", [8] * 4), ("out[i] = NAMED(b);", [12] * 4),
        ("out[i] = first + second;", [12] * 4),
        ("out[i] = UP + DOWN + LEFT;", [11] * 4), ("out[i] = table[3 - i];", [40, 30, 20, 10]),
        ("out[i] = twice(x[i]) + twice<double>(0.5);", [1, 3, 5, 7]), ("out[i] = power<int, 3>(x[i]);", [0, 1, 8, 27]),
        ("int a, b; both_of(x[i], &a, b); out[i] = 10 * a + b;", [12, 23, 34, 45]),
        ("out[i] = sign_of(x[i] - 1.5f) + 10 * sign_of(0);", [-1, -1, 1, 1]),
        ("Pair p = {1.5f, 1}, q; q.value = x[i]; q.index = 2; out[i] = better(p, q).index;", [1, 1, 2, 2]),
        ("out[i] = which(1) * 10 + which(1.0);", [12] * 4), ("out[i] = third(1.0f) + third(1.0);", [0.75] * 4),
        ("out[i] = deep::inner(x[i]);", [0, 3, 6, 9]),
        ("struct Own { int a; float b; }; Own o = {x[i], 0.5f}; out[i] = o.a + o.b;", [0.5, 1.5, 2.5, 3.5]),
        ("{ typedef float real; using ubyte = double; } out[i] = sizeof(real) * 10 + sizeof(ubyte);", [81] * 4),
        ("u64 v = ~0ull; out[i] = (real)(v >> 60);", [15] * 4),
        ("out[i] = with_default(1) + with_default(1, 2) + with_default(1, 2, 3);", [220] * 4),
        ("int s[2][3]; fill(s); out[i] = corner<3>(s); fill(s, x[i]); out[i] += corner<3>(s);", [15, 16, 17, 18]),
        ("out[i] = __CUDA_ARCH__ >= 600;", [1] * 4), ("ubyte v = 250 + 2 * x[i]; out[i] = v;", [250, 252, 254, 0]),
        ("f v = 1.5; out[i] = v * 2;", [3] * 4), ("out[i] = Way::LEFT + (Way)x[i];", [6, 7, 8, 9]),
        ("Near n = Near::TWO; out[i] = n == Near::TWO ? (int)Far::ONE + (int)Far::TWO : 9;", [128] * 4),
        ("out[i] = static_cast<int>(Far::THREE) + sizeof(Far);", [4] * 4),
    ],
)  # fmt: skip
def test_what_stands_before_the_kernel(body, values):
    assert run(body, before=BEFORE) == values


def test_complex_numbers():
    z = np.array([3 + 4j, 1j], np.complex64)
    body = "complex<float> a = x[i]; out[i] = a * conj(a) + complex<float>(0, 2) * a.imag() + abs(a);"
    assert run(body, 2, z, "F") == [25 + 8j + 5, 1 + 2j + 1]
    body = "cuComplex a = make_cuFloatComplex(1, 2); out[i] = cuCmulf(a, x[i]); out[i] = cuCaddf(out[i], a);"
    assert run(body, 2, z, "F", before="#include <cuComplex.h>") == [-5 + 10j + 1 + 2j, -2 + 1j + 1 + 2j]


@pytest.mark.parametrize(
    ("body", "values"),
    [
        ("out[i] = __shfl_sync(0xffffffff, x[i], 2);", [7, 7, 7, 7]),
        ("out[i] = __shfl_down_sync(0xffffffff, x[i], 1, 4);", [6, 7, 8, 8]),
        ("out[i] = __shfl_up_sync(0xffffffff, x[i], 1);", [5, 5, 6, 7]),
        ("out[i] = __shfl_xor_sync(0xf, x[i], 3);", [8, 7, 6, 5]),
        ("out[i] = __ballot_sync(0xffffffff, x[i] & 1);", [5] * 4),
        ("out[i] = __any_sync(0xffffffff, x[i] > 7) + 10 * __all_sync(0xffffffff, x[i] > 7);", [1] * 4),
        ("if (i < 2) out[i] = __activemask();", [3, 3, 0, 0]),
        ("out[i] = __syncthreads_count(x[i] > 6);", [2] * 4),
        (
            "out[i] = __syncthreads_or(x[i] > 7) + 2 * __syncthreads_and(x[i] > 7) + 4 * __syncthreads_or(x[i] > 8);",
            [1] * 4,
        ),
        ("out[i] = __syncthreads_and(x[i] > 4) + 10 * __syncthreads_count(7);", [41] * 4),
        ("out[i] = atomicAdd(&out[i], 2.0) + out[i];", [2] * 4),
    ],
)
def test_warps(body, values):
    """Of a warp only four threads are there. x is 5, 6, 7, 8."""
    assert run(body, 4, np.arange(5, 9, dtype=np.int32)) == values


@pytest.mark.parametrize(
    ("call", "lanes"),
    [
        ("__shfl_xor_sync(0xffffffff, x[i], -1)", range(31, -1, -1)), ("__shfl_sync(0xffffffff, x[i], -1)", [31] * 32),
        ("__shfl_up_sync(0xffffffff, x[i], -1)", [*range(31), 0]),
        ("__shfl_down_sync(0xffffffff, x[i], 33)", [*range(1, 32), 31]),
    ],
)  # fmt: skip
def test_a_shuffle_looks_at_five_bits_and_stays_in_its_warp(call, lanes):
    """As PTX has it. x is each thread's number."""
    expected = [*lanes, *[32 + lane for lane in lanes]]
    assert run(f"out[i] = {call};", 64, np.arange(64, dtype=np.int32)) == expected


@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        ("Add(p, 3)", 5, 8), ("Sub(p, 3)", 5, 2), ("Max(p, 9)", 5, 9), ("Min(p, 3)", 5, 3), ("And(p, 4)", 5, 4),
        ("Or(p, 2)", 5, 7), ("Xor(p, 1)", 5, 4), ("Exch(p, 1)", 5, 1), ("CAS(p, 5, 9)", 5, 9), ("CAS(p, 4, 9)", 5, 5),
        ("Inc((unsigned int*)p, 4)", 5, 0), ("Dec((unsigned int*)p, 9)", 5, 4),
    ],
)  # fmt: skip
def test_an_atomic(change, old, new):
    body = f"int* p = out + 1; out[1] = 5; out[0] = atomic{change};"
    assert run(body, 1, out="i", n=2) == [old, new]


@pytest.mark.parametrize(
    "test",
    [
        "!1 == 0", "(2 && 3) == 1", "(0 || 2) == 1", "-7 / 2 == -3 && -7 % 2 == -1 && 7 / -2 == -3", "!(3 > 2 > 1)",
        "(1 ? 2 : 3) == 2 && (0 ? 1 : 0 ? 2 : 3) == 3", "010 == 8 && 0x1Fu == 31 && 0b11 == 3",
        r"'a' == 97 && '\n' == 10",
        "1 << 3 + 1 == 16", "(6 & 3 | 8) == 10 && (6 ^ 3) == 5 && ~0 == -1", "1 + 2 * 3 - 4 == 3 && 9 >> 1 == 4",
        "!defined(N) || 8 / N > 2", "0 && 1 / 0 || 1", "1 || 1 / 0", "true && !false && !unknown", "!(0 || 0)",
        "2 >= 2 && 1 != 2",
        "1 ? 1 : 1 / 0", "3 < 4 and not (4 <= 3)", "- -1 == +1",
    ],
)  # fmt: skip
def test_what_an_if_of_the_preprocessor_tests(test):
    """Whole numbers as in C. What divides by 0 counts only if it decides."""
    before = f"#if {test}\n#define FOUND 1\n#else\n#define FOUND 0\n#endif"
    assert run("out[i] = FOUND;", 1, before=before) == [1]


@pytest.mark.parametrize(
    "test", ["1 / 0", "1 << 999999999999", "1.5 > 1", "1 +", "(1", "1 2", "1 = 1", '"a"', "", "f(1)", "1 ? 2"]
)
def test_what_an_if_of_the_preprocessor_cant_test(test):
    with pytest.raises(NotImplementedError, match="this test can't be translated to NumPy: line 1 of the code, #if"):
        run("out[i] = 1;", 1, before=f"#if {test}\n#endif")


@pytest.mark.parametrize(
    ("given", "printed"),
    [
        (r'"%5lld|%-6.2lf|%zu|%hhd|%+d%%\n", 7ll, 1.5, sizeof(int), 3, 4', "    7|1.50  |4|3|+4%\n"),
        (r'"%u %x %llu %lX", -1, -1, ~0ull, -1ll', "4294967295 ffffffff 18446744073709551615 FFFFFFFFFFFFFFFF"),
        (r'"%d %i", 4294967295u, (unsigned char)200', "-1 200"), (r'"%o", 8', "10"),
        (r'"%*d|%.*f", 4, 5, 1, 2.25', "   5|2.2"), (r'"%c%c %d", 65, 66 + 256, true', "AB 1"),
        (r'"\"\x41\101\\n\t"', '"AA\\n\t'), (r'"%e %g", 1.5, 1e10f', "1.500000e+00 1e+10"), (r'"%d", 1, 2', "1"),
        (r"NAME_OF(a + b(1))", "a + b ( 1 )"),
    ],
)  # fmt: skip
def test_what_printf_writes(given, printed, capsys):
    run(f"printf({given});", 1, before="#define NAME_OF(v) #v")
    assert capsys.readouterr().out == printed


def test_printf_says_how_many_values_it_takes():
    with pytest.raises(simgpu.kernels.CompileException, match="printf's text takes 3 values, got 2: line 4"):
        run(r'printf("%d %*d", 1, 2);', 1)
    for text in ("%s", "%p"):
        with pytest.raises(NotImplementedError, match=f"printf's {text} can't be translated to NumPy: line 4"):
            run(f'printf("{text}", 1);', 1)


@pytest.mark.parametrize(
    ("body", "values"),
    [
        ("int w[2][2] = {{1}, {3}}; out[i] = w[i / 2][i % 2];", [1, 0, 3, 0]),
        ("int w[][2] = {1, 2, 3}; out[i] = 10 * w[i / 2][i % 2] + sizeof(w);", [26, 36, 46, 16]),
        ("int w[][2] = {{1, 2}, {3}}; out[i] = 10 * w[i / 2][i % 2] + sizeof(w);", [26, 36, 46, 16]),
        ("int w[2][2][2] = {{{1}, {2}}, {3, 4, 5}}; out[i] = w[1][i / 2][i % 2] + 10 * w[0][i / 2][i % 2];",
         [13, 4, 25, 0]),
        ("int w[2][2] = {1, {2, 3}}; out[i] = w[i / 2][i % 2];", [1, 0, 2, 3]),
        ("int w[4] = {{1}, 2, {}}; out[i] = w[i];", [1, 2, 0, 0]), ("int w[4] = {}; out[i] = w[i];", [0] * 4),
        ("float2 w[2] = {{5}, {6, 7}}; out[i] = i % 2 ? w[i / 2].y : w[i / 2].x;", [5, 0, 6, 7]),
        ("out[i] = outer[i / 2][i % 2];", [1, 0, 3, 0]), ("out[i] = single + braced;", [12] * 4),
        ("dim3 d, e(2), f = {2, 3}; dim3 g[2] = {{4}}; out[i] = 10000 * d.y * d.x + 1000 * e.x * e.z + 100 * f.y * f.z"
         "+ 10 * g[0].x * g[0].y + g[1].z;", [12341] * 4),
        ("int2 a = int2{5}, b = {}; uint3 c = {7}; out[i] = a.x + a.y + b.x + c.x + c.z;", [12] * 4),
    ],
)  # fmt: skip
def test_what_braces_begin_with(body, values):
    before = """
    __constant__ int outer[][2] = {{1}, {3}};
    __device__ int single = 5;
    __constant__ int braced = {7};
    """
    assert run(body, before=before) == values


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("int w[2] = {1, 2, 3};", "3 values for 2 elements"), ("int w[2][2] = {{1, 2, 3}};", "3 values for 2 elements"),
        ("int w[];", "an array without a length"), ("int w[2][] = {{1}};", "an array without a length"),
        ("int w[2] = 5;", "an array begins with values in braces"), ("int w = {1, 2};", "2 values for one int"),
        ("int w[2] = {{1, 2}};", "2 values for one int"), ("int w[] = {};", "at least one element, got 0"),
    ],
)  # fmt: skip
def test_braces_that_dont_fit(body, text):
    with pytest.raises(simgpu.kernels.CompileException, match=f"{text}: line 4"):
        run(body)


FIXED = """
__device__ const int fixed = 7;
constexpr int most = 9;
__constant__ const float table[2] = {1, 2};
__device__ int half_of(int* v) { return *v / 2; }
__device__ void reset(int& v) { v = 0; }
__device__ int read(const int* v) { return *v; }
template <typename T> __device__ T first(T* v) { return *v; }
template <typename T> __device__ T same(T& v) { return v; }
"""


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("fixed = 1;", "this is const"), ("most = 1;", "this is const"), ("table[1] = 1;", "this is const"),
        ("const int v[2] = {}; v[0] = 1;", "this is const"),
        ("const int v[2][2] = {}; v[0][1] = 1;", "this is const"), ("const float2 v = {1}; v.x = 2;", "this is const"),
        ("const int v = x[i]; ++v;", "this is const"), ("const int& r = out[i]; r = 1;", "this is const"),
        ("auto& r = fixed; r = 1;", "this is const"), ("const int v[2] = {}; auto p = v; *p = 1;", "this is const"),
        ("int v = 1; const int& r = v; r = 2;", "this is const"), ("int* p = x;", r"const int\* doesn't become int\*"),
        ("sincos(1.0, &out[0], (const double*)out);", r"const double\* doesn't become double\*"),
        ("int* p = &fixed;", r"const int\* doesn't become int\*"),
        ("out[i] = half_of(x);", r"const int\* doesn't become int\*"), ("void* p = x;", r"doesn't become void\*"),
        ("const int v = 1; int& r = v;", "a int& refers to nothing const"),
        ("reset(fixed);", "a int& takes nothing const"),
        ("const void* p = x; const int* q = p;", r"void\* doesn't become const int\* by itself"),
    ],
)  # fmt: skip
def test_what_is_const_stays_as_it_is(body, text):
    with pytest.raises(simgpu.kernels.CompileException, match=f"{text}.*: line"):
        run(body, before=FIXED)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("const int* p = &fixed; out[i] = *p + read(&fixed) + read(x);", 14), ("out[i] = first(x) + first(table);", 1),
        ("int v = 3; const int* p = &v; v = 4; out[i] = *p;", 4), ("int* p = (int*)x; out[i] = *p + half_of(p);", 0),
        ("const int v = x[i]; out[i] = same(v) + same(fixed);", 7), ("auto& r = fixed; out[i] = r;", 7),
        ("int v = 3; const int& r = v; v = 4; out[i] = r;", 4), ("int v = 3; int& r = v; r += 2; out[i] = v;", 5),
        ("const float* p[2] = {table, table + 1}; p[0] = p[1]; out[i] = *p[0];", 2),
        ("int v = 3; const int* p = i ? &v : x; out[i] = *p;", 0),
        ("int v = 3; const int* p = i ? x : &v; out[i] = *p;", 3),
        ("double& r = out[i]; r = 5; r *= 2;", 10), ("double* p = out; const void* q = p; out[i] = q == p;", 1),
    ],
)  # fmt: skip
def test_what_is_const_can_be_read(body, value):
    assert run(body, 1, before=FIXED) == [value]


def test_an_array_outside_of_functions_begins_with_braces():
    with pytest.raises(simgpu.kernels.CompileException, match="an array begins with values in braces: line 1"):
        run("out[i] = w[0];", before="__constant__ int w[2] = 5;")


def test_a_variable_of_the_host_is_none_of_a_kernels():
    for words in ("int", "static int"):
        with pytest.raises(simgpu.kernels.CompileException, match="identifier count is undefined: line"):
            run("out[i] = count;", before=f"{words} count = 3;")
    assert run("out[i] = count + far;", 1, before="static const int count = 3; constexpr float far{1.5f};") == [4.5]


@pytest.mark.parametrize(
    ("change", "old", "new"),
    [
        ("Inc(p, 4)", 4, 0), ("Inc(p, 4)", 9, 0), ("Inc(p, 4)", 3, 4), ("Inc(p, 4)", 2, 3), ("Dec(p, 4)", 0, 4),
        ("Dec(p, 4)", 1, 0),
        ("Dec(p, 4)", 4, 3), ("Dec(p, 4)", 5, 4), ("Dec(p, 4)", 9, 4), ("CAS(p, 4, 7)", 3, 3), ("CAS(p, 4, 7)", 5, 5),
        ("Add_block(p, 2)", 3, 5), ("Exch_system(p, 2)", 3, 2),
    ],
)  # fmt: skip
@pytest.mark.parametrize("place", ["unsigned int* p = out;", "unsigned int own = out[0]; unsigned int* p = &own;"])
def test_an_atomic_of_unsigned_numbers(change, old, new, place):
    """As CUDA's guide has them: ((old >= value) ? 0 : (old + 1)), and so on. A thread's own variable may be changed."""
    assert run(f"out[0] = {old}; {place} out[1] = atomic{change}; out[0] = *p;", 1, out="I", n=2) == [new, old]


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("__clz(0) + __clz(-1) + __clz(0x00ffffff)", 32 + 0 + 8), ("__clzll(1) + __clzll(0)", 63 + 64),
        ("__ffs(0) + __ffs(1) + __ffs(12) + __ffs(1 << 31)", 0 + 1 + 3 + 32), ("__ffsll(1ll << 40) + __ffsll(0)", 41),
        ("__brev(0x80000001u) == 0x80000001u", 1), ("__brev(6)", 0x60000000), ("__popcll(~0ull) + __popc(7)", 67),
        ("__mul24(-3, 5) + __umul24(3, 5)", 0), ("__mulhi(-1, 1) + 1", 0), ("__umulhi(0x80000000u, 6u)", 3),
        ("__half2float(__float2half(0.1f)) == 0.1f", 0), ("__half2float(__float2half_rn(1.5f))", 1.5),
        ("__int2float_rn(16777217)", 16777216), ("__float2int_rn(2.5f) + 10 * __float2int_rn(3.5f)", 42),
        ("__float2int_rd(-1.5f) + 10 * __float2int_ru(-1.5f) + 100 * __float2int_rz(-1.9f)", -2 - 10 - 100),
        ("__float2int_rd(1.5f) + 10 * __float2int_ru(1.5f) + 100 * __float2int_rz(1.9f)", 1 + 20 + 100),
        ("lrint(2.5) + lrintf(3.5f) + llrint(-0.5)", 2 + 4), ("__saturatef(0.25f) + __saturatef(-1.0f)", 0.25),
        ("__saturatef(7.0f) + __saturatef(NAN)", 1), ("__fadd_rn(1, 2) + __fmul_rn(3, 4) + __fsub_rn(9, 2)", 22),
        ("__dadd_rn(1, 2) + __dmul_rn(3, 4) + __dsub_rn(9, 2)", 22), ("__frcp_rn(4) + __fdiv_rn(1, 8)", 0.375),
        ("__ddiv_rn(1, 8) + __fmaf_rn(2, 3, 4)", 10.125), ("exp10f(2.0f) + exp10(3.0)", 1100),
        ("nextafter(1.0, 2.0) - 1.0 == DBL_EPSILON", 1), ("nextafterf(1.0f, 2.0f) - 1.0f == FLT_EPSILON", 1),
        ("norm3df(2.0f, 3.0f, 6.0f)", 7), ("__float_as_uint(-0.0f) == 0x80000000u", 1),
        ("__uint_as_float(0x40490fdbu) > 3.1f", 1),
        ("__int_as_float(__float_as_int(1.5f))", 1.5), ("__longlong_as_double(__double_as_longlong(-2.5))", -2.5),
        ("__double_as_longlong(1.0) == 0x3ff0000000000000", 1), ("__ldg(x) + __ldcg(x) + __ldcs(x)", 0),
    ],
)  # fmt: skip
def test_a_function_of_cudas(call, value):
    assert run(f"out[i] = {call};", 1) == [value]


def test_sines_and_cosines_at_once():
    for name, by, c_type in (
        ("sincosf", 1, "float"), ("sincos", 1, "double"), ("sincospi", np.pi, "double"), ("__sincosf", 1, "float"),
        ("sincospif", np.pi, "float"), ("sincos", 1, "float"),
    ):  # fmt: skip
        body = f"{c_type} s, c; {name}(({c_type})0.25, &s, &c); out[0] = s; out[1] = c;"
        np.testing.assert_allclose(run(body, 1, n=2), [np.sin(0.25 * by), np.cos(0.25 * by)], rtol=1e-6)


def test_complex_numbers_of_cucomplex():
    z = np.array([3 + 4j, 1j], np.complex64)
    for call, wanted in (
        ("cuCsubf(x[i], a)", z - (1 + 2j)), ("cuCdivf(x[i], a)", z / (1 + 2j)), ("cuConjf(x[i])", z.conj()),
        ("make_cuComplex(cuCabsf(x[i]), cuCrealf(x[i]) + cuCimagf(x[i]))", [5 + 7j, 1 + 1j]),
        ("cuCfmaf(x[i], a, a)", z * (1 + 2j) + (1 + 2j)), ("cuComplexDoubleToFloat(cuCmul(b, b))", [-3 + 4j] * 2),
        ("cuComplexDoubleToFloat(cuComplexFloatToDouble(x[i]))", z),
    ):  # fmt: skip
        body = (
            f"cuComplex a = make_cuFloatComplex(1, 2); cuDoubleComplex b = make_cuDoubleComplex(1, 2); out[i] = {call};"
        )
        found = run(body, 2, z, "F", before="#include <cuComplex.h>")
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_the_upper_half_of_a_product_of_64_bits():
    for x, y in (2**64 - 1, 2**64 - 1), (0x123456789ABCDEF0, 0xFEDCBA9876543210), (0xFFFFFFFF00000001, 0x1FFFFFFFF):
        assert run(f"out[i] = __umul64hi({x:#x}, {y:#x}) == {x * y >> 64:#x};", 1) == [1]


@pytest.mark.parametrize(
    ("body", "values"),
    [
        ("out[i] = whole(2.7f) + 10 * half_of(3);", [17] * 4), ("set(out + i, x[i]);", [0, 0, 2, 3]),
        ("out[i] = shape<float>(1) * 100 + shape<char, 2>('a');", [4312] * 4), ("out[i] = shape(1.0);", [83] * 4),
        ("out[i] = first_of(x + i) + sum_of(1, 2);", [3, 4, 5, 6]), ("int1 v = make_int1(5); out[i] = v.x;", [5] * 4),
        ("int w[3] = {0, 0, 0}; if (i < 3) w[i] = i; out[i] = i < 3 ? w[i] : 7;", [0, 1, 2, 7]),
        ("const int v = x[i], w = v; out[i] = by_reference(v, w);", [0, 11, 22, 33]),
        ("out[i] = pair<float, int>(1) + 10 * pair<float>(1) + 100 * pair<int>(1);", [231] * 4),
        ("int v = x[i]; out[i] = moved(v) * 10 + v;", [10, 21, 32, 43]),
        ("out[i] = count_down(x[i]) + 10 * count_down(3);", [60, 61, 63, 66]),
        ("float2 a = {1, 2}, b(a), c = float2(b); c.x = 5; out[i] = c.x * 100 + c.y * 10 + b.x;", [521] * 4),
        ("bool on = blockDim.x > 1; const int *p = on ? x : nullptr, *q = on ? 0 : x; out[i] = p[1] * 2 + !q;",
         [3] * 4),
        ("out[i] = is_null(1, 0) + is_null(2, nullptr) + is_null(4, x);", [13] * 4), ("out[i] = cube<3>(2);", [8] * 4),
        ("out[i] = half_part(complex<float>(3, 4));", [2] * 4), ("out[i] = point<int>(nullptr);", [1] * 4),
        ("int w[2][3] = {{}, {7}}; out[i] = corner_of(w);", [7] * 4),
        ("int w[1] = {5}; out[i] = 7; if (i < 1) out[i] = w[i];", [5, 7, 7, 7]),
        ("int w[2][2] = {{1, 2}, {3, 4}}; out[i] = i && i < 3 ? w[i - 1][1] : 9;", [9, 2, 4, 9]),
        ("int w[2]; if (i < 2) w[0] = 1; if (i > 0) w[0] = 2; if (i > 2) w[0] += 3; out[i] = w[0];", [1, 2, 2, 5]),
        ("int v; if (i < 2) v = 1; else v = 2; out[i] = v;", [1, 1, 2, 2]),
    ],
)  # fmt: skip
def test_functions_and_what_they_give(body, values):
    before = """
    __device__ int whole(float v) { return v; }
    __device__ auto half_of(int v) { return v * 0.5; }
    __device__ void store(double* p, int v) { *p = v; }
    __device__ void set(double* p, int v) { if (v < 2) return; return store(p, v); }
    template <typename T = double, int N = 3> __device__ int shape(T v) { return sizeof(T) * 10 + N; }
    template <typename T, typename U> __device__ int pair(T v) { return 1; }
    template <typename T> __device__ int pair(T v) { return 2; }
    template <> __device__ int pair<float>(float v) { return 3; }
    template <typename T> __device__ T is_null(T v, const int* p) { return p == nullptr ? v : 10; }
    template <typename T, int N> __device__ T power(T v) { T r = 1; for (int k = 0; k < N; k++) r *= v; return r; }
    template <int N> __device__ int cube(int v) { return power<int, N>(v); }
    template <typename T> __device__ typename T::value_type half_part(T z) {
        typename T::value_type part = z.imag();
        return part / 2;
    }
    template <typename T> __device__ int point(T* v) { return v == 0; }
    template <typename T> __device__ T corner_of(const T (*s)[3]) { return s[1][0]; }
    __device__ int moved(int v) { int* p = &v; *p += 1; return v; }
    __device__ void add_to(int& sum, int v) { sum += v; }
    __device__ int count_down(int v) { int sum = 0; while (v > 0) { add_to(sum, v); add_to(v, -1); } return sum; }
    __device__ int first_of(const int* p) { return *p; }
    __device__ int sum_of(int, int v) { return v + 1; }
    __device__ int by_reference(const int& v, const int& w) { return v + 10 * w; }
    """
    assert run(body, before=before) == values


def test_printf_and_assert(capsys):
    run('printf("%d: %.1f %llu\\n", i, x[i] * 0.5, 7ull);', 2)
    assert capsys.readouterr().out == "0: 0.0 7\n1: 0.5 7\n"
    with pytest.raises(simgpu.jit.KernelError, match=r"thread \(1\), line 4: assert"):
        run("assert(x[i] == 0);", 2)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("#if 1.5\n#endif", "this test can't be translated to NumPy: line 4 of the code, #if 1.5"),
        ("out[i] = 1;\ngoto end;", "goto can't be translated to NumPy: line 5 of the code, goto end;"),
        ("struct A { int b; }; { struct A { float c; }; }", "another struct A can't be translated"),
        ("out[i] = curand_uniform(x);", "the function curand_uniform|takes numbers"),
        ("out[i] = unheard_of(1.0);", "the function unheard_of can't be translated"),
        ("static int v = 1;", "a static variable"), ("out[i] = (1;", "where"), ("int v[2] = x$", "where"),
        ("f<<<1, 2>>>(x);", "where"),
    ],
)  # fmt: skip
def test_what_cant_be_translated_says_the_line(body, text):
    with pytest.raises((NotImplementedError, simgpu.kernels.CompileException), match=text) as caught:
        run(body)
    assert "of the code" in str(caught.value)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("out[i] = y;", "identifier y is undefined: line 4"), ("x[i] = 1;", "this is const"),
        ("const int v = 1; v = 2;", "this is const"), ("float* p = x;", r"const int\* doesn't become float\*"),
        ("out[i] = x;", r"const int\* doesn't become double"), ("5 = i;", "can't be changed"),
        ("out[i] = 1.5 % 2;", "% takes whole numbers"), ("int v[i];", "must be known before the launch"),
        ("out[1.5] = 1;", "double as an index"), ("return 1;", "a kernel returns nothing"),
        ("long long v; atomicAdd(&v, 1);", r"atomicAdd doesn't take long long\*"),
        ("out[i] = __shfl(x[i], 0);", "write __shfl_sync"), ("float3 v; out[i] = v.w;", "float3 has no field w"),
        ("double v = 1; out[i] = v.x;", "double has no field x"), ("int& r;", "a reference needs what it refers to"),
        ("{ __shared__ int s[2]; } out[i] = s[0];", "identifier s is undefined"),
        ("int v(1, 2);", "int takes one value, got 2"),
        ("__syncwarp(1, 2);", "__syncwarp takes 0 or 1 argument, got 2"),
        ("atomicAdd(&out[i]);", "atomicAdd takes 2 arguments, got 1"),
        ("atomicCAS(&out[i], 1, 2, 3);", "atomicCAS takes 3 arguments, got 4"),
        ("*i = 1;", r"\* takes a pointer, got int"), ("out[i] = fabs(x);", "fabs takes numbers"),
        ("out[i] = 09;", "09 has digits that no octal number has: line 4"),
        ("out[i] = 99999999999999999999;", "99999999999999999999 is too large for a number of C: line 4"),
        ("out[i] = __shfl_sync(-1, x[i]);", "__shfl_sync takes 3 or 4 arguments, got 2: line 4"),
        ("out[i] = __ldg(x, 1);", "__ldg takes 1 argument, got 2: line 4"),
        ("out[i] = x * x;", r"\* with const int\* and const int\*"), ("out[i] = x + x;", r"const int\* where a number"),
        ("out[i] = x - out;", r"- with const int\* and double\*"), ("out[i] = -x;", r"const int\* where a number"),
        ("out[i] = ~1.5;", "~ takes whole numbers, got double"), ("out[i] = sqrt(1, 2, 3);", "sqrt: "),
    ],
)  # fmt: skip
def test_what_nvidias_compiler_refuses(body, text):
    with pytest.raises(simgpu.kernels.CompileException, match=text) as caught:
        run(body)
    assert "of the code" in str(caught.value)


OVERLOADED = """
template <class T> __device__ inline T product(const T& a, const T& b) { return a * b; }
template <class T> __device__ inline T product(const complex<T>& a, const complex<T>& b) {
    return a.real() * b.real() + a.imag() * b.imag();
}
template <class T> __device__ inline void atomicAdd(complex<T>* x, const complex<T>& y) {
    auto part = reinterpret_cast<T*>(x);
    atomicAdd(part, y.real());
    atomicAdd(part + 1, y.imag());
}
__device__ int kind(int* p) { return 1; }
__device__ int kind(float* p) { return 2; }
__device__ int kind(double x) { return 3; }
"""


def test_functions_of_one_name_are_chosen_by_what_they_take():
    body = "complex<float> a(x[i], 2), b(3, x[i]); out[i] = product(a, b);"
    assert run(body, 2, out="f", before=OVERLOADED) == [0, 3 + 2]
    assert run("out[i] = product(x[i], 4) + product(0.5, 3.0);", 2, before=OVERLOADED) == [1.5, 5.5]
    assert run("int n; float s; out[i] = kind(&n) + 10 * kind(&s) + 100 * kind(7);", 1, before=OVERLOADED) == [321]


CHOSEN = """
template <typename T> __device__ int size(T v) { return sizeof(T); }
template <> __device__ int size<float>(float v) { return 104; }
__device__ int size(double v) { return 208; }
__device__ int kind(double v) { return 2; }
__device__ int kind(int v) { return 1; }
template <int N> __device__ int number(int v) { return N * v; }
template <> __device__ int number<3>(int v) { return -3; }
template <typename T> __device__ int number(T v) { return 7; }
__device__ int layers(float2 v) { return 6; }
template <typename T> __device__ int layers(T v) { return 1; }
template <typename T> __device__ int layers(T* v) { return 2; }
template <typename T> __device__ int layers(complex<T> v) { return 3; }
template <typename T> __device__ int layers(complex<T>* v) { return 4; }
__device__ int layers(const int* v) { return 5; }
__device__ int other(float* v) { return 3; }
__device__ int other(void* v) { return 1; }
__device__ int other(float v) { return 2; }
__device__ int held(const int* v) { return 1; }
template <typename T> __device__ int held(const T* v) { return 4; }
__device__ int held(double* v) { return 2; }
__device__ int held(int* v) { return 3; }
struct Pair { int a, b; };
struct Trio { int a, b, c; };
__device__ int held(Trio v) { return 6; }
__device__ int held(Pair v) { return 5; }
__device__ int rows(const int (*v)[3]) { return 1; }
__device__ int rows(const float (*v)[3]) { return 2; }
__device__ int rows(const float (*v)[3][2]) { return 3; }
"""


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("kind(1.0f)", 2), ("kind(true)", 1), ("kind((short)1)", 1), ("kind('a')", 1),  # promoted: double, int
        ("size(1)", 4), ("size((short)1)", 2), ("size(1.0f)", 104), ("size<float>(1)", 104), ("size<double>(1)", 8),
        ("size(1.0)", 208), ("number<2>(5)", 10), ("number<3>(5)", -3), ("number<int>(5)", 7), ("number(5)", 7),
        ("layers(1.0f)", 1), ("layers(out)", 2), ("layers(x)", 5), ("layers(complex<float>(1))", 3),
        ("layers(float2())", 6), ("other(&nothing)", 3),
        ("other(out)", 1), ("other(1)", 2), ("held(x)", 1), ("held(out)", 2), ("held((int*)x)", 3),
        ("held(&nothing)", 4),
        ("held(Pair())", 5), ("held(Trio())", 6), ("rows(whole)", 1), ("rows(parts)", 2), ("rows(deep)", 3),
    ],
)  # fmt: skip
def test_the_nearest_function_is_called(call, value):
    """An exact match, by itself or of a template, before a promotion, before a conversion; then what says more."""
    own = "float parts[2][3], deep[1][3][2], nothing; int whole[2][3];"
    assert run(f"{own} out[i] = {call};", 1, before=CHOSEN) == [value]


def test_a_pointer_to_a_complex_number_says_more_than_one_to_anything():
    assert run("complex<float> z; out[i] = layers(&z);", 1, before=CHOSEN) == [4]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("out[i] = number(1);", r"what N is in number: write number<…>: line 1"),
        ("out[i] = both(1);", r"what N is in both: write both<…>: line 2"),
        ("out[i] = point(3.0);", r"what T is in point: write point<…>: line 3"),
        ("out[i] = rows(x);", r"what T is in rows: write rows<…>: line 4"),
        ("int w[2][3] = {}; out[i] = after(w, 1);", r"int\[3\]\* doesn't become const int\*: line 1"),
        ("out[i] = plain(1, x);", r"const int\* doesn't become int: line 1"), ("auto v;", "auto needs a value: line 1"),
        ("out[i] = part(3);", "int has no type value_type"),
        ("int w[2][3] = {}; open(w);", "an array without a length: line 8"),
    ],
)  # fmt: skip
def test_letters_that_nothing_says(body, text):
    before = """template <int N> __device__ int number(int v) { return N * v; }
    template <typename T, int N> __device__ int both(T v) { return N; }
    template <typename T> __device__ int point(T* v) { return 1; }
    template <typename T> __device__ int rows(const T (*s)[3]) { return 1; }
    template <typename T> __device__ int after(const int* s, T v) { return v; }
    template <typename T> __device__ int plain(T v, int n) { return n; }
    template <typename T> __device__ typename T::value_type part(T v) { return v; }
    __device__ void open(const int s[2][]) { }"""
    with pytest.raises(simgpu.kernels.CompileException, match=text):
        run(body, 1, before=before)


def test_a_template_that_takes_no_such_letters():
    before = "template <int N> __device__ int number(int v) { return N * v; }"
    with pytest.raises(simgpu.kernels.CompileException, match="no function number takes this in its template: line"):
        run("out[i] = number<float>(1);", 1, before=before)
    with pytest.raises(simgpu.kernels.CompileException, match="number takes 1 argument, got 2: line"):
        run("out[i] = number<2>(1, 2);", 1, before=before)


def test_a_function_of_the_text_beside_one_of_cudas():
    body = "atomicAdd(&out[0], x[i] * x[i]); atomicAdd(reinterpret_cast<float*>(&out[1]), 1.0f);"
    assert run(body, 3, x=np.array([1j, 2, 3 - 1j], "F"), out="F", before=OVERLOADED) == [11 - 6j, 3, 0]


def test_a_const_reference_to_a_complex_numbers_part():
    before = "__device__ float twice(const float& v) { return 2 * v; }"
    assert run("out[i] = twice(x[i].imag());", 2, x=np.array([1j, 3j], "F"), out="f", before=before) == [2, 6]


def test_a_reference_means_a_variable_of_its_own_type():
    """A const one takes another type as a copy, but never its bytes."""
    before = """
    __device__ float norm(const float& v) { return -v; }
    __device__ double half_of(const double& v) { return v / 2; }
    __device__ void reset(int& v) { v = 0; }
    """
    z = np.array([3 + 4j, 1j], "F")
    assert run("out[i] = norm(x[i]);", 2, x=z, out="f", before=before) == [25, 1], "CUDA's own takes complex numbers"
    assert run("out[i] = norm(2.0f) + half_of(x[i]);", 2, before=before) == [-2, -1.5]
    for wrong, text in (
        ("half_of(x[i])", "complex number doesn't become"),
        ("0; reset(out[i])", "int& takes no float"),
    ):
        with pytest.raises(simgpu.kernels.CompileException, match=text):
            run(f"out[i] = {wrong};", 2, x=z, out="f", before=before)


def test_polar_makes_a_complex_number():
    found = run("out[i] = thrust::polar(2.0f, x[i]);", 2, x=np.array([0, np.pi / 2], "f"), out="F")
    np.testing.assert_allclose(found, [2, 2j], atol=1e-6)


def test_a_templates_letter_hides_a_type_only_there():
    before = """
    typedef float T;
    template <typename T> __device__ T* second(T* p) { return p + 1; }
    __device__ T half_of(T v) { return v / 2; }
    """
    assert run("out[i] = half_of(3) + *second(x);", 1, x=np.array([7, 8], "f"), out="f", before=before) == [9.5]
