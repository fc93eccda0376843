"""Kernels that CUDA's books and courses have, in CUDA C as people write it, compared with NumPy.

They're written for this project. Each has what such a kernel is known for: a grid-stride loop, tiles with a padded row,
shuffles, double buffers, constant memory, templates, macros.
"""

import numpy as np
import pytest

import simgpu

SOURCE = r"""
#include <cuda_runtime.h>
#include <math.h>

#define DIV_UP(a, b) (((a) + (b) - 1) / (b))
#define FULL_MASK 0xffffffffu
#define WARP_SIZE 32
#define TILE_DIM 16
#define BLOCK_ROWS 4

// ---------------------------------------------------------------- y = a x + y, a grid-stride loop

extern "C" __global__ void saxpy(const int n, const float a, const float* __restrict__ x, float* __restrict__ y)
{
    const int stride = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        y[i] = fmaf(a, x[i], y[i]);
}

// ---------------------------------------------------------------- C = A B, a tile at a time

template <int TILE>
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float As[TILE][TILE], Bs[TILE][TILE];
    const unsigned int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * TILE + ty;
    const int col = blockIdx.x * TILE + tx;
    float acc = 0.0f;

    for (int t = 0; t < DIV_UP(K, TILE); ++t) {
        As[ty][tx] = (row < M && t * TILE + tx < K) ? A[row * K + t * TILE + tx] : 0.f;
        Bs[ty][tx] = (col < N && t * TILE + ty < K) ? B[(t * TILE + ty) * N + col] : 0.f;
        __syncthreads();
        #pragma unroll
        for (int k = 0; k < TILE; ++k)
            acc += As[ty][k] * Bs[k][tx];
        __syncthreads();
    }
    if (row < M && col < N)
        C[row * N + col] = acc;
}

// ---------------------------------------------------------------- a transpose whose tile has a padded row

extern "C" __global__ void transpose(float *odata, const float *idata, int width, int height)
{
    __shared__ float tile[TILE_DIM][TILE_DIM + 1];

    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        if (x < width && y + j < height)
            tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * width + x];

    __syncthreads();

    x = blockIdx.y * TILE_DIM + threadIdx.x;
    y = blockIdx.x * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        if (x < height && y + j < width)
            odata[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

// ---------------------------------------------------------------- a sum: warps with shuffles, then the block, then all

template <typename T>
__inline__ __device__ T warp_reduce(T val)
{
    for (int offset = WARP_SIZE / 2; offset > 0; offset >>= 1)
        val += __shfl_down_sync(FULL_MASK, val, offset);
    return val;
}

template <typename T>
__inline__ __device__ T block_reduce(T val)
{
    static __shared__ T shared[WARP_SIZE];
    int lane = threadIdx.x & (WARP_SIZE - 1), wid = threadIdx.x >> 5;
    val = warp_reduce(val);
    if (lane == 0) shared[wid] = val;
    __syncthreads();
    val = (threadIdx.x < blockDim.x / WARP_SIZE) ? shared[lane] : T(0);
    if (wid == 0) val = warp_reduce(val);
    return val;
}

template <typename T>
__global__ void sum_all(const T* in, T* out, size_t n)
{
    T sum = 0;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        sum += in[i];
    sum = block_reduce<T>(sum);
    if (threadIdx.x == 0)
        atomicAdd(out, sum);
}

// ---------------------------------------------------------------- prefix sums: Hillis and Steele's, and Blelloch's

extern "C" __global__ void scan_hillis_steele(const int* in, int* out, int n)
{
    extern __shared__ int temp[];  // two buffers
    int tid = threadIdx.x, pout = 0, pin = 1;
    temp[tid] = (tid > 0) ? in[tid - 1] : 0;
    __syncthreads();
    for (int offset = 1; offset < n; offset *= 2) {
        pout = 1 - pout;
        pin = 1 - pout;
        if (tid >= offset)
            temp[pout * n + tid] = temp[pin * n + tid] + temp[pin * n + tid - offset];
        else
            temp[pout * n + tid] = temp[pin * n + tid];
        __syncthreads();
    }
    out[tid] = temp[pout * n + tid];
}

#define LOG_BANKS 5
#define PAD(i) ((i) >> LOG_BANKS)

extern "C" __global__ void scan_blelloch(const int* g_idata, int* g_odata, int n)
{
    extern __shared__ int s[];
    int thid = threadIdx.x, offset = 1;
    int ai = thid, bi = thid + n / 2;
    s[ai + PAD(ai)] = g_idata[ai];
    s[bi + PAD(bi)] = g_idata[bi];

    for (int d = n >> 1; d > 0; d >>= 1) {      // up
        __syncthreads();
        if (thid < d) {
            int a = offset * (2 * thid + 1) - 1, b = offset * (2 * thid + 2) - 1;
            s[b + PAD(b)] += s[a + PAD(a)];
        }
        offset <<= 1;
    }
    if (thid == 0) s[n - 1 + PAD(n - 1)] = 0;
    for (int d = 1; d < n; d *= 2) {            // and down
        offset >>= 1;
        __syncthreads();
        if (thid < d) {
            int a = offset * (2 * thid + 1) - 1, b = offset * (2 * thid + 2) - 1;
            a += PAD(a), b += PAD(b);
            int t = s[a];
            s[a] = s[b];
            s[b] += t;
        }
    }
    __syncthreads();
    g_odata[ai] = s[ai + PAD(ai)];
    g_odata[bi] = s[bi + PAD(bi)];
}

// ---------------------------------------------------------------- a histogram of bytes, a block's own first

#define NUM_BINS 256

extern "C" __global__ void histogram(const unsigned char* data, unsigned int* bins, unsigned int n)
{
    __shared__ unsigned int local[NUM_BINS];
    for (int b = threadIdx.x; b < NUM_BINS; b += blockDim.x)
        local[b] = 0u;
    __syncthreads();
    for (unsigned int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x)
        atomicAdd(&local[data[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < NUM_BINS; b += blockDim.x)
        if (local[b]) atomicAdd(bins + b, local[b]);
}

// ---------------------------------------------------------------- a convolution: weights in constant memory, a halo

#define RADIUS 2
#define DIAMETER (2 * RADIUS + 1)
#define OUT_TILE 12
#define IN_TILE (OUT_TILE + 2 * RADIUS)

__constant__ float WEIGHTS[DIAMETER][DIAMETER] = {
    {1.f, 4.f, 6.f, 4.f, 1.f}, {4.f, 16.f, 24.f, 16.f, 4.f}, {6.f, 24.f, 36.f, 24.f, 6.f},
    {4.f, 16.f, 24.f, 16.f, 4.f}, {1.f, 4.f, 6.f, 4.f, 1.f},
};

extern "C" __global__ void convolve(const float* in, float* out, int width, int height)
{
    __shared__ float halo[IN_TILE][IN_TILE];
    int col = blockIdx.x * OUT_TILE + threadIdx.x - RADIUS;
    int row = blockIdx.y * OUT_TILE + threadIdx.y - RADIUS;
    const bool inside = row >= 0 && row < height && col >= 0 && col < width;
    halo[threadIdx.y][threadIdx.x] = inside ? in[row * width + col] : 0.0f;
    __syncthreads();

    int ty = (int)threadIdx.y - RADIUS, tx = (int)threadIdx.x - RADIUS;
    if (!inside || ty < 0 || ty >= OUT_TILE || tx < 0 || tx >= OUT_TILE)
        return;
    float value = 0.0f;
    for (int dy = 0; dy < DIAMETER; dy++)
        for (int dx = 0; dx < DIAMETER; dx++)
            value += WEIGHTS[dy][dx] * halo[ty + dy][tx + dx];
    out[row * width + col] = value / 256.0f;
}

// ---------------------------------------------------------------- stars that pull at each other, a tile at a time

__device__ __forceinline__ float3 pull(const float4 bi, const float4 bj, float3 ai)
{
    const float eps2 = 1e-2f;
    float3 r;
    r.x = bj.x - bi.x;  r.y = bj.y - bi.y;  r.z = bj.z - bi.z;
    float dist2 = r.x * r.x + r.y * r.y + r.z * r.z + eps2;
    float inv = rsqrtf(dist2);
    float s = bj.w * inv * inv * inv;
    ai.x += r.x * s;  ai.y += r.y * s;  ai.z += r.z * s;
    return ai;
}

extern "C" __global__ void n_body(const float4* positions, float4* accelerations, int n)
{
    extern __shared__ float4 tile4[];
    int gid = blockIdx.x * blockDim.x + threadIdx.x;
    float4 mine = positions[gid];
    float3 acc = {0.0f, 0.0f, 0.0f};
    for (int first = 0; first < n; first += blockDim.x) {
        tile4[threadIdx.x] = positions[first + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < blockDim.x; j++)
            acc = pull(mine, tile4[j], acc);
        __syncthreads();
    }
    accelerations[gid] = make_float4(acc.x, acc.y, acc.z, 0.0f);
}

// ---------------------------------------------------------------- softmax: a warp for each row

__device__ float warp_max(float v)
{
    for (int m = 16; m; m /= 2) v = fmaxf(v, __shfl_xor_sync(FULL_MASK, v, m, 32));
    return v;
}
__device__ float warp_sum(float v)
{
    for (int m = 16; m; m /= 2) v += __shfl_xor_sync(FULL_MASK, v, m, 32);
    return v;
}

extern "C" __global__ void __launch_bounds__(128) softmax(const float* __restrict__ in, float* out, int rows, int cols)
{
    int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    const float* x = in + (long long)row * cols;
    float* y = out + (long long)row * cols;
    float top = -INFINITY;
    for (int c = threadIdx.x; c < cols; c += WARP_SIZE) top = fmaxf(top, __ldg(&x[c]));
    top = warp_max(top);
    float total = 0.f;
    for (int c = threadIdx.x; c < cols; c += WARP_SIZE) total += (y[c] = expf(x[c] - top));
    total = warp_sum(total);
    for (int c = threadIdx.x; c < cols; c += WARP_SIZE) y[c] /= total;
}

// ---------------------------------------------------------------- Conway's life, on a torus

typedef unsigned char ubyte;

__device__ inline int alive(const ubyte* cells, int x, int y, int w, int h)
{
    return cells[((y + h) % h) * w + (x + w) % w] ? 1 : 0;
}

extern "C" __global__ void life(const ubyte* cells, ubyte* next, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (!(x < w && y < h)) return;
    int count = 0;
    for (int dy = -1; dy <= 1; ++dy) {
        for (int dx = -1; dx <= 1; ++dx) {
            if (dx == 0 && dy == 0) continue;
            count += alive(cells, x + dx, y + dy, w, h);
        }
    }
    ubyte now = cells[y * w + x];
    next[y * w + x] = count == 3 || (count == 2 && now);
}

// ---------------------------------------------------------------- an activation that a template's number chooses

enum class Activation : int { Relu, Leaky = 4, Sigmoid, Tanh };

template <typename scalar_t>
__device__ __forceinline__ scalar_t activate(scalar_t v, Activation kind, scalar_t slope)
{
    switch (kind) {
        case Activation::Relu:
            return v > scalar_t(0) ? v : scalar_t(0);
        case Activation::Leaky:
            return v > 0 ? v : v * slope;
        case Activation::Sigmoid: {
            scalar_t e = exp(-v);
            return scalar_t(1) / (scalar_t(1) + e);
        }
        default:
            return tanh(v);
    }
}

#define CUDA_KERNEL_LOOP(i, n) \
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)

template <typename scalar_t, Activation KIND>
__global__ void activation(const scalar_t* __restrict__ in, scalar_t* __restrict__ out, const int n, scalar_t slope)
{
    CUDA_KERNEL_LOOP(i, n) { out[i] = activate<scalar_t>(in[i], KIND, slope); }
}

// ---------------------------------------------------------------- bitonic sort: one step a launch, or a block in one

template <typename T>
__device__ void swap_if(T& a, T& b, bool up)
{
    if ((a > b) == up) { T t = a; a = b; b = t; }
}

extern "C" __global__ void bitonic_step(float* values, int j, int k)
{
    unsigned int i = threadIdx.x + blockDim.x * blockIdx.x, ixj = i ^ j;
    if (ixj > i) {
        if ((i & k) == 0) {
            if (values[i] > values[ixj]) { float t = values[i]; values[i] = values[ixj]; values[ixj] = t; }
        } else {
            if (values[i] < values[ixj]) { float t = values[i]; values[i] = values[ixj]; values[ixj] = t; }
        }
    }
}

extern "C" __global__ void bitonic_block(float* values)
{
    extern __shared__ float keys[];
    const unsigned tid = threadIdx.x;
    keys[tid] = values[tid];
    __syncthreads();
    for (unsigned k = 2; k <= blockDim.x; k <<= 1) {
        for (unsigned j = k >> 1; j > 0; j >>= 1) {
            unsigned other = tid ^ j;
            if (other > tid) swap_if(keys[tid], keys[other], (tid & k) == 0);
            __syncthreads();
        }
    }
    values[tid] = keys[tid];
}

// ---------------------------------------------------------------- positions of what's kept, a vote for each warp

extern "C" __global__ void compact(const int* in, int* out, int* count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x % warpSize;
    bool keep = i < n && in[i] % 3 == 0;
    unsigned votes = __ballot_sync(FULL_MASK, keep);
    int before = __popc(votes & ((1u << lane) - 1));
    int base = 0;
    if (lane == 0) base = atomicAdd(count, __popc(votes));
    base = __shfl_sync(FULL_MASK, base, 0);
    if (keep) out[base + before] = in[i];
}

// ---------------------------------------------------------------- an atomic operation made of compare-and-swap

__device__ __forceinline__ float atomic_max(float* address, float value)
{
    int* as_int = (int*)address;
    int old = *as_int, assumed;
    do {
        assumed = old;
        old = atomicCAS(as_int, assumed, __float_as_int(fmaxf(value, __int_as_float(assumed))));
    } while (assumed != old);
    return __int_as_float(old);
}

extern "C" __global__ void largest(const float* in, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomic_max(out, in[i]);
}

// ---------------------------------------------------------------- Mandelbrot's set: threads leave at other rounds

extern "C" __global__ void mandelbrot(int* out, int w, int h, double x0, double y0, double step, int most)
{
    const int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= w || py >= h) return;
    double cx = x0 + px * step, cy = y0 + py * step, zx = 0, zy = 0;
    int round = 0;
    while (zx * zx + zy * zy <= 4.0 && round < most) {
        double t = zx * zx - zy * zy + cx;
        zy = 2 * zx * zy + cy;
        zx = t;
        ++round;
    }
    out[py * w + px] = round;
}
"""
KINDS = (
    "<float, Activation::Relu>",
    "<double, Activation::Leaky>",
    "<double, Activation::Sigmoid>",
    "<float, Activation::Tanh>",
)
TEMPLATES = ("matmul<8>", "sum_all<float>", "sum_all<int>", *[f"activation{kind}" for kind in KINDS])
MODULE = simgpu.RawModule(code=SOURCE, options=("-std=c++14",), name_expressions=TEMPLATES)


def launch(name, grid, block, *args, shared_mem=0):
    MODULE.get_function(name)(grid, block, args, shared_mem=shared_mem)


def on_card(x, dtype=np.float32):
    return simgpu.asarray(np.asarray(x, dtype))


@pytest.fixture
def generator():
    return np.random.default_rng(54)


def test_saxpy_with_a_grid_stride(generator):
    x, y = generator.standard_normal((2, 1000)).astype("f")
    on_y = on_card(y)
    launch("saxpy", (3,), (64,), 1000, np.float32(2.5), on_card(x), on_y)
    np.testing.assert_allclose(on_y.get(), np.float32(2.5) * x + y, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("m", "n", "k"), [(16, 16, 16), (13, 21, 30)])
def test_a_matrix_product_in_tiles(generator, m, n, k):
    a, b, out = generator.random((m, k)), generator.random((k, n)), simgpu.zeros((m, n), "f")
    launch("matmul<8>", (-(-n // 8), -(-m // 8)), (8, 8), on_card(a), on_card(b), out, m, n, k)
    np.testing.assert_allclose(out.get(), a @ b, rtol=1e-5)


@pytest.mark.parametrize(("height", "width"), [(32, 32), (20, 37)])
def test_a_transpose_with_a_padded_tile(generator, height, width):
    x, out = on_card(generator.random((height, width))), simgpu.zeros((width, height), "f")
    launch("transpose", (-(-width // 16), -(-height // 16)), (16, 4), out, x, width, height)
    np.testing.assert_array_equal(out.get(), x.get().T)


@pytest.mark.parametrize(("c", "dtype"), [("float", np.float32), ("int", np.int32)])
def test_a_sum_of_blocks_with_shuffles(generator, c, dtype):
    x, out = generator.integers(-50, 50, 5000).astype(dtype), simgpu.zeros(1, dtype)
    launch(f"sum_all<{c}>", (6,), (256,), on_card(x, dtype), out, x.size)
    assert out.tolist() == [x.sum()]


def test_prefix_sums(generator):
    x = generator.integers(0, 100, 128).astype(np.int32)
    before = np.cumsum(x) - x
    out = simgpu.zeros(128, "i")
    launch("scan_hillis_steele", (1,), (128,), on_card(x, "i"), out, 128, shared_mem=2 * 128 * 4)
    np.testing.assert_array_equal(out.get(), before)
    out = simgpu.zeros(128, "i")
    launch("scan_blelloch", (1,), (64,), on_card(x, "i"), out, 128, shared_mem=(128 + 4) * 4)
    np.testing.assert_array_equal(out.get(), before)


def test_a_histogram_with_shared_atomics(generator):
    x, out = generator.integers(0, 256, 3000), simgpu.zeros(256, np.uint32)
    launch("histogram", (4,), (96,), on_card(x, np.uint8), out, np.uint32(3000))
    np.testing.assert_array_equal(out.get(), np.bincount(x, minlength=256))


def test_a_convolution_with_constant_weights(generator):
    x, out = generator.random((30, 41)), simgpu.zeros((30, 41), "f")
    launch("convolve", (-(-41 // 12), -(-30 // 12)), (16, 16), on_card(x), out, 41, 30)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, 2), (5, 5))
    line = np.array([1, 4, 6, 4, 1]) / 16
    np.testing.assert_allclose(out.get(), np.einsum("ijkl,k,l->ij", windows, line, line), rtol=1e-5)


def test_a_step_of_n_bodies(generator):
    stars, out = generator.random((128, 4)), simgpu.zeros((128, 4), "f")
    launch("n_body", (4,), (32,), on_card(stars), out, 128, shared_mem=32 * 16)
    r = stars[None, :, :3] - stars[:, None, :3]
    pull = r * (stars[:, 3] / ((r**2).sum(2) + 1e-2) ** 1.5)[..., None]
    np.testing.assert_allclose(out.get()[:, :3], pull.sum(1), rtol=1e-3, atol=1e-2)


def test_softmax_a_warp_a_row(generator):
    x, out = generator.standard_normal((10, 45)) * 3, simgpu.zeros((10, 45), "f")
    launch("softmax", (3,), (32, 4), on_card(x), out, 10, 45)
    expected = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out.get(), expected / expected.sum(1, keepdims=True), rtol=1e-4)


def test_the_game_of_life(generator):
    cells = generator.integers(0, 2, (11, 21)).astype(np.uint8)
    here, there = on_card(cells, "B"), simgpu.zeros((11, 21), "B")
    for _ in range(3):
        launch("life", (3, 2), (8, 8), here, there, 21, 11)
        here, there = there, here
        count = sum(np.roll(cells, (y, x), (0, 1)) for y in (-1, 0, 1) for x in (-1, 0, 1) if y or x)
        cells = ((count == 3) | (count == 2) & (cells == 1)).astype(np.uint8)
    np.testing.assert_array_equal(here.get(), cells)


def _leaky(x):
    return np.where(x > 0, x, x / 10)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize(
    ("kind", "expected"), list(zip(KINDS, (lambda x: np.maximum(x, 0), _leaky, _sigmoid, np.tanh)))
)
def test_an_activation_of_a_template(generator, kind, expected):
    dtype = np.float32 if "float" in kind else np.float64
    x, out = generator.standard_normal(100).astype(dtype), simgpu.zeros(100, dtype)
    launch(f"activation{kind}", (2,), (32,), on_card(x, dtype), out, 100, dtype(0.1))
    np.testing.assert_allclose(out.get(), expected(x), rtol=1e-5)


def test_bitonic_sorts(generator):
    x = generator.permutation(256).astype("f")
    in_steps, in_a_block = on_card(x), on_card(x)
    k = 2
    while k <= 256:
        j = k // 2
        while j:
            launch("bitonic_step", (4,), (64,), in_steps, j, k)
            j //= 2
        k *= 2
    launch("bitonic_block", (1,), (256,), in_a_block, shared_mem=1024)
    assert in_steps.tolist() == in_a_block.tolist() == sorted(x.tolist())


def test_what_is_kept_by_votes(generator):
    x = generator.integers(0, 100, 500).astype(np.int32)
    out, count = simgpu.zeros(500, "i"), simgpu.zeros(1, "i")
    launch("compact", (4,), (128,), on_card(x, "i"), out, count, 500)
    kept = x[x % 3 == 0]
    assert count.tolist() == [kept.size]
    assert sorted(out.tolist()[: kept.size]) == sorted(kept.tolist())


def test_an_atomic_maximum_of_compare_and_swap(generator):
    x, out = generator.standard_normal(150).astype("f"), simgpu.zeros(1, "f")
    launch("largest", (3,), (64,), on_card(x), out, 150)
    assert out.tolist() == [x.max()]


def test_mandelbrots_set():
    out = simgpu.zeros((24, 36), "i")
    launch("mandelbrot", (5, 3), (8, 8), out, 36, 24, -2.0, -1.0, 1 / 12, 50)
    c = (-2.0 + np.arange(36) / 12) + 1j * (-1.0 + np.arange(24) / 12)[:, None]
    z, rounds = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(50):
        on = z.real**2 + z.imag**2 <= 4
        z = np.where(on, z * z + c, z)
        rounds += on
    assert np.mean(out.get() == rounds) > 0.99  # a point at the border may leave one round later
