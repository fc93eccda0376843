"""What a GPU does in silence raises in a RawKernel, with the block, the thread and the line of the C.

Each kernel has one fault, planted where people make it. Beside it is what it would be without: that runs.
"""

import re

import numpy as np
import pytest

import simgpu
from simgpu import jit

SUM = """extern "C" __global__ void f(const float* x, float* out, int n) {
    __shared__ float part[64];
    int t = threadIdx.x;
    part[t] = t < n ? x[t] : 0.0f;
    __syncthreads();
    for (int s = 32; s > 0; s /= 2) {
        if (t < s) part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0) out[0] = part[0];
}"""
STENCIL = """extern "C" __global__ void f(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1)
        out[i] = (x[i - 1] + x[i] + x[i + 1]) / 3;
}"""
MATRIX = """#define T 8
extern "C" __global__ void f(const float* x, float* out, int n) {
    __shared__ float tile[T][T + 1];
    int row = blockIdx.y * T + threadIdx.y, column = blockIdx.x * T + threadIdx.x;
    tile[threadIdx.y][threadIdx.x] = x[row * n + column];
    __syncthreads();
    row = blockIdx.x * T + threadIdx.y; column = blockIdx.y * T + threadIdx.x;
    out[row * n + column] = tile[threadIdx.x][threadIdx.y];
}"""
HISTOGRAM = """extern "C" __global__ void f(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int bin = (int)(x[i] * 8);
    if (bin > 7) bin = 7;
    atomicAdd(&out[bin], 1.0f);
}"""
WARPS = """__device__ float sum_of_warp(float v) {
    for (int by = 16; by > 0; by /= 2)
        v += __shfl_down_sync(0xffffffff, v, by);
    return v;
}
extern "C" __global__ void f(const float* x, float* out, int n) {
    __shared__ float parts[2];
    float s = sum_of_warp(x[threadIdx.x]);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0) out[0] = parts[0] + parts[1];
}"""
LOCAL = """extern "C" __global__ void f(const float* x, float* out, int n) {
    float best[3];
    for (int k = 0; k < 3; ++k) best[k] = -1e30f;
    float* last = best + 2;
    int i = threadIdx.x, count = 0;
    for (int j = i; j < n; j += blockDim.x) {
        if (x[j] > *last) { *last = x[j]; count = 1; }
    }
    out[i] = best[2] + best[count];
}"""
DYNAMIC = """extern "C" __global__ void f(const float* x, float* out, int n) {
    extern __shared__ char bytes[];
    float* values = (float*)bytes;
    int* order = (int*)(values + 64);
    int t = threadIdx.x;
    values[t] = x[t];
    order[t] = 63 - t;
    __syncthreads();
    out[t] = values[order[t]];
}"""

# The text, what's replaced, by what, the error, its line, and words of its message.
FAULTS = [
    (SUM, "        __syncthreads();\n    }", "    }", jit.DataRace, 7, r"reads part\[\d+\].*writes"),
    (SUM, "    __syncthreads();\n    for", "    for", jit.DataRace, 6, r"Put __syncthreads\(\) between the two"),
    (SUM, "        __syncthreads();\n    }", "        if (t < s) __syncthreads();\n    }", jit.StuckBarrier, 8,
     "don't come here"),
    (SUM, "int s = 32", "int s = 64", jit.OutOfBounds, 7, "part has 64 elements, 0 to 63; index 64 is outside"),
    (SUM, "t < n ? x[t] : 0.0f", "x[t]", jit.OutOfBounds, 4, "x has 50 elements, 0 to 49; index 50 is outside"),
    (SUM, "part[t] = t < n ? x[t] : 0.0f", "if (t < n) part[t] = x[t]", jit.NeverWritten, 7, r"part\[50\]"),
    (SUM, "if (t == 0) out", "out", jit.DataRace, 10, "write after write"),
    (SUM, "s > 0; s /= 2", "s > 0; s *= 1", jit.Endless, 6, "still in this loop"),
    (STENCIL, "i > 0 && ", "", jit.OutOfBounds, 4, "x has 50 elements, 0 to 49; index -1 is outside"),
    (STENCIL, "i < n - 1", "i < n", jit.OutOfBounds, 4, "index 50 is outside"),
    (STENCIL, "out[i] = (x", "((float*)x)[i] = (x", jit.DataRace, 4, r"reads x\[\d+\]|writes x\[\d+\]"),
    (MATRIX, "[T][T + 1]", "[T][T - 1]", jit.OutOfBounds, 5, "along this axis, 0 to 6; index 7 is outside"),
    (MATRIX, "    __syncthreads();\n", "", jit.DataRace, 7, r"reads tile\[\d, \d\]"),
    (HISTOGRAM, "atomicAdd(&out[bin], 1.0f)", "out[bin] += 1", jit.DataRace, 6, "each may miss what another one adds"),
    (HISTOGRAM, "    if (bin > 7) bin = 7;\n", "", jit.OutOfBounds, 5, "out has 8 elements, 0 to 7; index 8"),
    (HISTOGRAM, "if (i >= n) return", "if (i > n) return", jit.OutOfBounds, 4, "x has 50 elements"),
    (WARPS, "float s = sum_of_warp(x[threadIdx.x]);", "float s = 0; if (threadIdx.x % 32 < 20) s = sum_of_warp(1);",
     jit.StuckBarrier, 3, "doesn't come here"),
    (WARPS, "if (threadIdx.x % 32 == 0) parts", "if (threadIdx.x == 0) parts", jit.NeverWritten, 11, r"parts\[1\]"),
    (WARPS, "% 32 == 0) parts", "% 16 == 0) parts", jit.DataRace, 9, r"writes parts\[\d\]"),
    (LOCAL, "k < 3; ++k", "k < 2; ++k", jit.NeverWritten, 7, r"best\[2\] has no value"),
    (LOCAL, "count = 0;\n    for (int j = i;", "count;\n    for (int j = i + 200;", jit.NeverWritten, 9,
     "count has no value in this thread yet"),
    (LOCAL, "best + 2", "best + 3", jit.OutOfBounds, 7, "best has 3 elements, 0 to 2; index 3 is outside"),
    (LOCAL, "float* last = best + 2", "float* last = nullptr", jit.OutOfBounds, 7, "null pointer"),
    (DYNAMIC, "values + 64", "values + 65", jit.OutOfBounds, 7, "index 128 is outside.*shared_mem=512 bytes"),
    (DYNAMIC, "(values + 64)", "(bytes + 258)", jit.KernelError, 4, "misaligned address"),
    (DYNAMIC, "    __syncthreads();\n", "", jit.DataRace, 8, "reads"),
]  # fmt: skip


def launch(code, like):
    """Launch it as its text wants."""
    generator = np.random.default_rng(0)
    if like is MATRIX:
        x, out, grid, block, n, shared = generator.random((16, 16)), np.zeros((16, 16)), (2, 2), (8, 8), 16, 0
    elif like is STENCIL or like is HISTOGRAM:
        x, out, grid, block, n, shared = generator.random(50), np.zeros(50), (2,), (32,), 50, 0
    elif like is DYNAMIC or like is WARPS:
        x, out, grid, block, n, shared = generator.random(64), np.zeros(64), (1,), (64,), 64, 512
    else:
        x, out, grid, block, n, shared = generator.random(50), np.zeros(64), (1,), (64,), 50, 0
    if like is HISTOGRAM:
        x[7], out = 1, np.zeros(8)
    if like is LOCAL:
        x = generator.random(200)
        n = 200
    x, out = simgpu.asarray(x.astype("f")), simgpu.asarray(out.astype("f"))
    kernel = simgpu.RawKernel(code, "f")
    if "s *= 1" in code:
        kernel.most_rounds = 50
    kernel(grid, block, (x, out, n), shared_mem=shared)
    return simgpu.asnumpy(x), simgpu.asnumpy(out)


@pytest.mark.parametrize(("text", "old", "new", "error", "line", "words"), FAULTS)
def test_a_planted_fault(text, old, new, error, line, words):
    assert old in text
    with pytest.raises(error) as caught:
        launch(text.replace(old, new), text)
    found = caught.value
    assert (found.kernel, found.line) == ("f", line), str(found)
    assert found.thread is not None and re.search(words, str(found), re.DOTALL), str(found)
    assert "jit." not in str(found)


def test_without_the_faults():
    for text in (SUM, WARPS):
        x, out = launch(text, text)
        np.testing.assert_allclose(out[0], x.sum(), rtol=1e-5)
    x, out = launch(STENCIL, STENCIL)
    np.testing.assert_allclose(out[1:-1], (x[:-2] + x[1:-1] + x[2:]) / 3, rtol=1e-5)
    x, out = launch(MATRIX, MATRIX)
    np.testing.assert_array_equal(out, x.T)
    x, out = launch(HISTOGRAM, HISTOGRAM)
    np.testing.assert_array_equal(out, np.histogram(x, 8, (0, 1))[0])
    x, out = launch(LOCAL, LOCAL)
    assert out.shape == (64,)
    x, out = launch(DYNAMIC, DYNAMIC)
    np.testing.assert_array_equal(out, x[::-1])


def test_a_part_of_an_array_ends_where_it_ends():
    """A pointer knows the array that was given, not what else is in memory."""
    code = 'extern "C" __global__ void f(const float* x, float* out) { out[threadIdx.x] = x[threadIdx.x]; }'
    x, out = simgpu.asarray(np.arange(12, dtype=np.float32).reshape(3, 4)), simgpu.zeros(4, "f")
    kernel = simgpu.RawKernel(code, "f")
    kernel((1,), (4,), (x[1], out))
    assert out.tolist() == [4, 5, 6, 7]
    with pytest.raises(jit.OutOfBounds, match="x has 3 elements"):
        kernel((1,), (4,), (x[1, :3], out))
    backwards = simgpu.RawKernel(code.replace("x[threadIdx.x]", "x[-(int)threadIdx.x]"), "f")
    backwards((1,), (4,), (x[2, ::-1], out))
    assert out.tolist() == [11, 10, 9, 8]


def test_a_guess_before_compare_and_swap_meets_no_plain_write():
    """It may meet other threads' atomic operations, which the comparison sees."""
    code = """extern "C" __global__ void f(int* x) {
        int old = x[0];
        while (true) {
            int seen = atomicCAS(&x[0], old, old + 1);
            if (seen == old) break;
            old = seen;
        }
        PLAIN
    }"""
    x = simgpu.zeros(1, "i")
    simgpu.RawKernel(code.replace("PLAIN", ""), "f")((1,), (8,), (x,))
    assert x.tolist() == [8]
    with pytest.raises(jit.DataRace) as caught:
        simgpu.RawKernel(code.replace("PLAIN", "if (threadIdx.x == 3) x[0] = 0;"), "f")((1,), (8,), (x,))
    assert caught.value.line == 8


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("float* p = t < 2 ? x : x + 1;\n*p = t;", 12), ("float* p = t < 2 ? out : out;\np[0] = t;", 12),
        ("give(x, t);", 1), ("float* p = x;\np += 1; float* q = p;\n*q = t;", 13), ("float& r = x[0];\nr = t;", 12),
        ("*second(x) = t;", 11), ("atomicAdd(&x[1], 1.0f);\nout[t] = __ldg(&x[1]);", 12),
        ("atomicAdd(&x[0], 1.0f);\nfloat& r = x[0]; out[t] = r;", 12), ("x[t / 2] += 1;", 11),
        ("sincosf(1, x, out + t);", 11), ("take(x[0], t);", 2), ("float* p[2] = {x, out};\np[0][0] = t;", 12),
        ("float2* p = (float2*)x;\np->y = t;", 12), ("float* p[2];\np[1] = out; p[0] = x;\np[0][0] = t;", 13),
        ("Held h = {x, 1};\nh.p[0] = t;", 12), ("Held h;\nh.p = x; Held g = h;\ng.p[0] = t;", 13),
        ("float* p = x;\nnext(p);\n*p = t;", 13), ("float* p = out;\nset_to(p, x);\n*p = t;", 13),
        ("Held h = {out, 1};\nset_held(h, x);\nh.p[0] = t;", 13), ("Held h = held(x);\nh.p[0] = t;", 12),
        ("store(held(x), t);", 9), ("held(x).p[0] = t;", 11),
        ("float* p = t < 9 ? held(x).p : out;\np[0] = t;", 12),
    ],
)  # fmt: skip
def test_a_race_by_way_of(body, line):
    """However a pointer comes to an array, what's written there is seen."""
    code = """__device__ void give(float* p, int t) { p[1] = t; }
__device__ void take(float& r, int t) { r = t; }
__device__ float* second(float* p) { return p + 1; }
struct Held { float* p; int n; };
__device__ Held held(float* p) { Held h; h.n = 1; h.p = p; return h; }
__device__ void next(float*& p) { p++; }
__device__ void set_to(float*& p, float* q) { p = q; }
__device__ void set_held(Held& h, float* p) { h.p = p; }
__device__ void store(Held h, int t) { h.p[h.n] = t; }
extern "C" __global__ void f(float* x, float* out) { int t = threadIdx.x;
BODY
}"""
    with pytest.raises(jit.DataRace) as caught:
        simgpu.RawKernel(code.replace("BODY", body), "f")((1,), (4,), (simgpu.zeros(4, "f"), simgpu.zeros(4, "f")))
    assert caught.value.line == line


def test_what_is_only_read_may_be_read_only():
    """Wherever its pointer is put: NumPy's read-only arrays can be given to such a kernel."""
    code = """struct Held { const float* p; int n; };
    __device__ int count;
    extern "C" __global__ void f(const float* x, float* out) {
        const float* p[2]; p[0] = x; p[1] = x + 1;
        Held h; h.p = x; h.n = 2;
        int w[2] = {}; w[1] += h.n;
        if (threadIdx.x == 0) count = 1;
        out[threadIdx.x] = p[1][0] + h.p[w[1]];
    }"""
    x, out = simgpu.asarray(np.arange(4, dtype="f")), simgpu.zeros(2, "f")
    fixed = simgpu.broadcast_to(x, (4,))
    assert not fixed.host_values.flags.writeable
    simgpu.RawKernel(code, "f")((1,), (2,), (fixed, out))
    assert out.tolist() == [3, 3]
    with pytest.raises(ValueError, match="kernel f writes into out, which is read-only"):
        simgpu.RawKernel(code, "f")((1,), (2,), (x, simgpu.broadcast_to(out, (2,))))


@pytest.mark.parametrize(
    ("blocks", "use", "what"),
    [
        (1, "w[t] = 0;", "index 3 is outside.*1 thread does"), (2, "w[t] = 0;", "index 3 is outside.*2 threads do"),
        (1, "w[t - 1] = 0;", "index -1 is outside.*1 thread does"),
        (2, "w[3] = 0;", "index 3 is outside.*8 threads do"),
        (1, "if (t) x[t] = w[t + 1];", "index 3 is outside.*2 threads do"),
        (2, "x[t + 1] = 0;", "x has 4 elements, 0 to 3; index 4 is outside.*2 threads do"),
        (1, "x[t + 2] = 0;", "x has 4 elements, 0 to 3; index 4 is outside.*2 threads do"),
        (2, "if (blockIdx.x) w[t] = 0;", "index 3 is outside.*1 thread does"),
        (2, "if (blockIdx.x) x[t + 1] = 0;", "x has 4 elements, 0 to 3; index 4 is outside.*1 thread does"),
    ],
)  # fmt: skip
def test_outside_of_a_threads_own_array(blocks, use, what):
    code = f'extern "C" __global__ void f(float* x) {{ int t = threadIdx.x; float w[3] = {{}}; {use} }}'
    with pytest.raises(jit.OutOfBounds, match=re.compile(what, re.DOTALL)):
        simgpu.RawKernel(code, "f")((blocks,), (4,), (simgpu.zeros(4, "f"),))


@pytest.mark.parametrize(
    ("use", "error", "what"),
    [
        ("__shared__ float s[2][3]; s[1][2] = t;", jit.DataRace, r"writes s\[1, 2\]"),
        ("__shared__ float s[2][3]; s[0][2] = t;", jit.DataRace, r"writes s\[0, 2\]"),
        ("__shared__ float s[2][3][4]; s[1][2][3] = t;", jit.DataRace, r"writes s\[1, 2, 3\]"),
        ("int w[2][3] = {}; x[t] = w[1][t];", jit.OutOfBounds, "w has 3 elements along this axis, 0 to 2; index 3"),
        ("int w[2][3] = {}; x[t] = w[t][0];", jit.OutOfBounds, "w has 2 elements along this axis, 0 to 1; index 2"),
        ("int w[2][3] = {}; x[t] = w[1][-1];", jit.OutOfBounds, "w has 3 elements along this axis, 0 to 2; index -1"),
        ("int w[2][3]; w[0][0] = 1; x[t] = w[1][2];", jit.NeverWritten, r"w\[1\]\[2\] has no value in this thread"),
        ("int w[2][3]; w[t % 2][0] = 1; x[t] = w[t % 2][2];", jit.NeverWritten, r"w\[…\] has no value in this thread"),
        ("int w[2]; if (t < 2) w[0] = 1; x[t] = w[0];", jit.NeverWritten, r"w\[0\] has no value in this thread"),
        ("x[t] = past(t);", jit.OutOfBounds, "v has 1 elements, 0 to 0; index 1 is outside"),
        ("int v = 1; int* p = &v; x[t] = p[1];", jit.OutOfBounds, "v has 1 elements, 0 to 0; index 1 is outside"),
        ("int v; int* p = &v; x[t] = *p;", jit.NeverWritten, "v has no value in this thread yet"),
        ("x[t] = small(t);", jit.NeverWritten, "small ends in this thread without a return"),
    ],
)  # fmt: skip
def test_what_the_message_names(use, error, what):
    code = """__device__ int past(int v) { int* p = &v; return p[1]; }
    __device__ int small(int v) { if (v < 3) return v; }
    extern "C" __global__ void f(float* x) { int t = threadIdx.x; BODY }"""
    with pytest.raises(error, match=what):
        simgpu.RawKernel(code.replace("BODY", use), "f")((1,), (4,), (simgpu.zeros(4, "f"),))


@pytest.mark.parametrize(
    ("use", "adds"),
    [
        ("x[0] += t;", True), ("x[0] -= t;", True), ("x[0]++;", True), ("x[0] = t;", False), ("x[0] *= 2;", False),
        ("x[0] = x[0] + t;", False), ("if (t == 0) x[0] = 1; float v = x[0];", False),
    ],
)  # fmt: skip
def test_only_what_adds_is_told_to_add_atomically(use, adds):
    code = f'extern "C" __global__ void f(float* x) {{ int t = threadIdx.x; {use} }}'
    with pytest.raises(jit.DataRace) as caught:
        simgpu.RawKernel(code, "f")((1,), (4,), (simgpu.zeros(4, "f"),))
    assert ("each may miss what another one adds: write atomicAdd(&…, …)" in str(caught.value)) == adds


@pytest.mark.parametrize("mask", ["", "0xffffffff", "~0u"])
def test_a_barrier_of_a_whole_warp(mask):
    code = f'extern "C" __global__ void f(float* x) {{ if (threadIdx.x < 20) __syncwarp({mask}); x[threadIdx.x] = 1; }}'
    with pytest.raises(jit.StuckBarrier, match="of the same warp, doesn't come here") as caught:
        simgpu.RawKernel(code, "f")((1,), (32,), (simgpu.zeros(32, "f"),))
    assert "Put __syncwarp() where all threads of a warp pass" in str(caught.value)


def test_memory_that_empty_made_holds_nothing():
    code = 'extern "C" __global__ void f(const float* x, float* out) { out[threadIdx.x] = x[threadIdx.x]; }'
    with pytest.raises(jit.NeverWritten, match="was made by `empty`"):
        simgpu.RawKernel(code, "f")((1,), (4,), (simgpu.empty(4, "f"), simgpu.zeros(4, "f")))


def test_two_blocks_dont_meet_in_shared_memory():
    code = """extern "C" __global__ void f(float* x) {
        __shared__ float s[2];
        s[threadIdx.x / 2] = 1;
        x[threadIdx.x] = 1;
    }"""
    with pytest.raises(jit.DataRace, match=r"writes s\[0\]") as caught:
        simgpu.RawKernel(code, "f")((2,), (4,), (simgpu.zeros(4, "f"),))
    assert "Blocks never wait" not in str(caught.value)


def test_two_blocks_meet_in_memory():
    code = """extern "C" __global__ void f(float* x) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        x[i] = 1;
        __syncthreads();
        x[(i + 1) % 64] = 2;
    }"""
    with pytest.raises(jit.DataRace, match="Blocks never wait for each other") as caught:
        simgpu.RawKernel(code, "f")((2,), (32,), (simgpu.zeros(64, "f"),))
    assert caught.value.line == 5 and "atomicAdd" in str(caught.value)
