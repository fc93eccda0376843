"""RawKernel and RawModule: how they're made, found, given their arguments, and launched, as CuPy has it."""

import copy
import pickle

import numpy as np
import pytest

import simgpu
from simgpu import raw
from simgpu.kernels import CompileException

ADD = 'extern "C" __global__ void add(float* x, float by, int n) { if (threadIdx.x < n) x[threadIdx.x] += by; }'
KINDS = """
template<typename T> __global__ void scale(T* x, T by) { x[threadIdx.x] *= by; }
template<typename T, int N> __global__ void fill(T* x) { x[threadIdx.x] = N; }
__global__ void plain(float* x) { x[threadIdx.x] = 1; }
extern "C" {
    __global__ void one(float* x) { x[threadIdx.x] = 1; }
    __global__ void __launch_bounds__(64) two(float* __restrict__ x) { x[threadIdx.x] = 2; }
}
"""


def zeros(n=4, dtype="f"):
    return simgpu.zeros(n, dtype)


def test_it_is_made_without_complaint_and_translated_at_its_launch():
    for kernel in (simgpu.RawKernel("no C $", "f"), simgpu.RawKernel(ADD, "other")):
        assert kernel.name == kernel.__name__
    with pytest.raises((NotImplementedError, CompileException), match="line 1 of the code, no C"):
        simgpu.RawKernel("no C $", "f")((1,), (1,), ())
    with pytest.raises(raw.CUDADriverError, match="named symbol not found: there is no kernel other, only add"):
        simgpu.RawKernel(ADD, "other")((1,), (1,), ())
    with pytest.raises(CompileException, match="identifier y is undefined: line 1"):
        simgpu.RawKernel('extern "C" __global__ void f(float* x) { x[0] = y; }', "f").compile()


def test_a_name_of_cplusplus_is_found_only_if_it_was_asked_for():
    with pytest.raises(raw.CUDADriverError, match='Write extern "C"'):
        simgpu.RawKernel(KINDS, "plain")((1,), (4,), (zeros(),))
    module = simgpu.RawModule(code=KINDS, name_expressions=("plain", "scale<double>", "fill<int, 7>"))
    x = zeros()
    module.get_function("plain")((1,), (4,), (x,))
    assert x.tolist() == [1] * 4
    y = simgpu.asarray(np.arange(4.0))
    module.get_function("scale<double>")((1,), (4,), (y, 2.0))
    assert y.tolist() == [0, 2, 4, 6]
    z = zeros(4, "i")
    module.get_function("fill<int, 7>")((1,), (4,), (z,))
    assert z.tolist() == [7] * 4
    with pytest.raises(raw.CUDADriverError, match="scale<float>"):
        module.get_function("scale<float>")


def test_a_template_needs_its_letters_and_may_be_written_for_some_of_them():
    code = """
    template<typename T, int N> __global__ void fill(T* x) { x[threadIdx.x] = N; }
    template<> __global__ void fill<int, 7>(int* x) { x[threadIdx.x] = 70; }
    template<int N> __global__ void count(int* x) { x[threadIdx.x] = N; }
    template<> __global__ void count<-1>(int* x) { x[threadIdx.x] = 100; }
    """
    names = ("fill<int, 7>", "fill<int, 8>", "fill< int,7 >", "count<-1>", "count<1>", "fill<float, 7>")
    module = simgpu.RawModule(code=code, name_expressions=(*names, "fill", "missing"))
    found = []
    for name in names:
        x = zeros(1, "f" if "float" in name else "i")
        module.get_function(name)((1,), (1,), (x,))
        found.append(int(x[0]))
    assert found == [70, 8, 70, 100, 1, 7]
    for name in ("fill", "missing"):
        with pytest.raises(raw.CUDADriverError, match=f"there is no kernel {name}, only fill, count"):
            module.get_function(name)
    with pytest.raises(raw.CUDADriverError, match="there is no kernel f, only none"):
        simgpu.RawKernel("__device__ int g() { return 1; }", "f")((1,), (1,), ())


def test_what_it_was_made_with():
    kernel, module = simgpu.RawKernel(ADD, "add"), simgpu.RawModule(code=ADD)
    for made in (kernel, module, module.get_function("add")):
        assert (made.code, made.file_path, made.options, made.backend) == (ADD, None, (), "nvrtc")
        assert (made.translate_cucomplex, made.enable_cooperative_groups, made.name_expressions) == (False, False, None)
    other = simgpu.RawKernel(ADD, "add", ("-DN=1",), "nvcc", translate_cucomplex=True, enable_cooperative_groups=True)
    assert (other.options, other.backend) == (("-DN=1",), "nvcc")
    assert (other.translate_cucomplex, other.enable_cooperative_groups) == (True, True)
    assert (kernel.most_rounds, kernel.jitify) == (1_000_000, None)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: simgpu.RawKernel(3, "f"), TypeError, "takes its code and its name as text, got 3"),
        (lambda: simgpu.RawKernel(ADD, None), TypeError, "takes its code and its name as text, got"),
        (lambda: simgpu.RawModule(code=ADD, path="f.cu"), TypeError, "Exactly one of `code` and `path`"),
        (lambda: simgpu.RawModule(path="f.cu", name_expressions=["f"]), ValueError, "need CUDA C"),
        (lambda: simgpu.RawModule(code=ADD, backend="nvcc", name_expressions=["f"]), ValueError, "only nvrtc supports"),
    ],
)  # fmt: skip
def test_what_cannot_be_made(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_another_backend_needs_no_name_expressions():
    x = zeros()
    simgpu.RawModule(code=ADD, backend="nvcc").get_function("add")((1,), (4,), (x, np.float32(2), 4))
    assert x.tolist() == [2] * 4


def test_several_kernels_of_one_module():
    module, x = simgpu.RawModule(code=KINDS), zeros()
    for name, value in (("one", 1), ("two", 2)):
        module.get_function(name)((1,), (4,), (x,))
        assert x.tolist() == [value] * 4


def test_a_module_from_a_file(tmp_path):
    path = tmp_path / "kernels.cu"
    path.write_text(f'#include "by.h"\n{ADD.replace("+= by", "+= by * FACTOR")}', encoding="utf-8")
    (tmp_path / "by.h").write_text("#define FACTOR 3\n", encoding="utf-8")
    x = zeros()
    module = simgpu.RawModule(path=str(path), options=(f"-I{tmp_path}",))
    module.get_function("add")((1,), (4,), (x, np.float32(2), 3))
    assert x.tolist() == [6, 6, 6, 0]
    with pytest.raises(NotImplementedError, match="the header by.h, which isn't here"):
        simgpu.RawModule(path=str(path)).compile()
    with pytest.raises(NotImplementedError, match="what NVIDIA's compiler made"):
        simgpu.RawModule(path="kernels.cubin").get_function("add")
    with pytest.raises(TypeError, match="Exactly one of"):
        simgpu.RawModule()


def test_options_define_macros():
    code = """
    #if KIND == 2
    #define TYPE double
    #else
    #error KIND is 2
    #endif
    extern "C" __global__ void f(TYPE* x) { x[threadIdx.x] = sizeof(TYPE); }"""
    x = zeros(2, "d")
    simgpu.RawKernel(code, "f", ("-DKIND=2", "--std=c++17"))((1,), (2,), (x,))
    assert x.tolist() == [8, 8]
    with pytest.raises(CompileException, match="#error KIND is 2: line 5"):
        simgpu.RawKernel(code, "f")((1,), (2,), (x,))


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (lambda x: (x, 1.5, 4), r"by is 1.5, which CuPy passes as float64, and .* float: .* Write np.float32\(1.5\)"),
        (lambda x: (x, 1, 4), "by is 1, which CuPy passes as int64"),
        (lambda x: (x, np.float32(1), np.int16(4)), "passes as int16"),
        (lambda x: (x, np.float32(1), 4.0), "passes as float64"),
        (lambda x: (x.get(), np.float32(1), 4), "x is on the host"),
        (lambda x: (x.astype("d"), np.float32(1), 4), r"x holds float64, and the kernel's parameter is float\*"),
        (lambda x: (x.astype("i"), np.float32(1), 4), r"Make it x.astype\(np.float32\)"),
        (lambda x: (7, np.float32(1), 4), r"give it an array on a GPU"),
        (lambda x: (x, x, 4), "by is an array, and the kernel's parameter is float"),
        (lambda x: (x, np.float32(1)), "takes 3 arguments, got 2"),
        (lambda x: (x, "1", 4), "float takes a number"),
    ],
)  # fmt: skip
def test_what_a_card_would_take_for_something_else(args, text):
    with pytest.raises(TypeError, match=text):
        simgpu.RawKernel(ADD, "add")((1,), (4,), args(zeros()))


def test_numbers_are_passed_as_cupy_passes_them():
    """An int is an int64, of which a card takes the four bytes that it wants."""
    x = zeros()
    kernel = simgpu.RawKernel(ADD, "add")
    kernel((1,), (4,), (x, np.float32(1), 3))
    kernel((1,), (4,), (x, np.float32(1), np.uint32(2)))
    kernel((1,), (4,), (x, np.float32(1), 2**32 + 1))
    assert x.tolist() == [3, 2, 1, 0]
    with pytest.warns(UserWarning, match="takes 3 arguments, got 4: a card doesn't look"):
        kernel((1,), (4,), (x, np.float32(1), 4, 5))
    code = """
    struct Line { float slope; int more; };
    extern "C" __global__ void f(float* x, Line line, bool is_on, const float* none) {
        if (is_on && !none) x[threadIdx.x] = line.slope * threadIdx.x + line.more;
    }"""
    line = np.array((0.5, 10), np.dtype([("a", "f"), ("b", "i")]))
    simgpu.RawKernel(code, "f")((1,), (4,), (x, line, True, None))
    assert x.tolist() == [10, 10.5, 11, 11.5]
    short, long = np.dtype([("a", "f")]), np.dtype([("a", "f"), ("b", "q"), ("c", "i")])
    for wrong in (np.zeros((), short), np.zeros((), long), np.zeros(1, line.dtype), 1.0):
        with pytest.raises(TypeError, match="line is .*, and Line has 8 bytes: give it a NumPy array without axes"):
            simgpu.RawKernel(code, "f")((1,), (4,), (x, wrong, True, None))


def test_pointers_of_other_types():
    code = """extern "C" __global__ void f(const float2* x, void* out) {
        double* made = (double*)out;
        made[threadIdx.x] = x[threadIdx.x].x * 10 + x[threadIdx.x].y;
    }"""
    x, out = simgpu.asarray(np.array([1 + 2j, 3 + 4j], np.complex64)), zeros(2, "d")
    simgpu.RawKernel(code, "f")((1,), (2,), (x, out))
    assert out.tolist() == [12, 34]
    simgpu.RawKernel(code, "f")((1,), (2,), (simgpu.asarray(np.arange(4, dtype="f").reshape(2, 2)), out))
    assert out.tolist() == [1, 23]


def test_bytes_may_be_anything():
    """An array of uint8 or int8 is memory for whatever a kernel reads there, and a char* reads any array's bytes."""
    code = 'extern "C" __global__ void f(const float* x, float* out) { out[threadIdx.x] = x[threadIdx.x]; }'
    wanted, out = np.array([1.5, -2], "f"), zeros(2)
    for dtype in (np.uint8, np.int8):
        simgpu.RawKernel(code, "f")((1,), (2,), (simgpu.asarray(wanted.view(dtype)), out))
        assert out.tolist() == [1.5, -2]
    for dtype in (bool, np.float16, np.int32):
        with pytest.raises(TypeError, match="a card would take its bytes for other numbers"):
            simgpu.RawKernel(code, "f")((1,), (2,), (zeros(8, dtype), out))
    code = 'extern "C" __global__ void f(const char* x, float* out) { out[threadIdx.x] = x[threadIdx.x]; }'
    for dtype in (np.int32, np.float64, bool):
        given = np.array([1, 0], dtype)
        simgpu.RawKernel(code, "f")((1,), (2,), (simgpu.asarray(given), out))
        assert out.tolist() == given.view(np.int8)[:2].tolist()


@pytest.mark.parametrize(
    ("own", "c_type", "fits"),
    [
        ("f", "int", False), ("i", "float", False), ("i", "unsigned int", True), ("I", "int", True),
        ("f", "float2", True), ("F", "float", True), ("F", "complex<float>", True), ("f", "complex<float>", True),
        ("d", "complex<float>", False),
        ("D", "float", False), ("F", "int", False), ("q", "int", False), ("h", "int", False), ("i", "int4", True),
        ("d", "float2", False), ("?", "bool", True), ("?", "unsigned char", True), ("e", "__half", True),
    ],
)  # fmt: skip
def test_which_pointers_an_array_fits(own, c_type, fits):
    """A card looks at bytes alone: it's taken if the numbers have the same bytes, also two by two."""
    kernel = simgpu.RawKernel(f'extern "C" __global__ void f({c_type}* x) {{ }}', "f")
    if fits:
        kernel((1,), (1,), (zeros(8, own),))
    else:
        with pytest.raises(TypeError, match="a card would take its bytes for other numbers"):
            kernel((1,), (1,), (zeros(8, own),))


@pytest.mark.parametrize(
    ("x", "c_type", "count"),
    [
        (np.zeros((1, 7), "B"), "short", 3), (np.zeros((2, 4), "B"), "int", 2), (np.zeros((3, 4), "f"), "float2", 6),
        (np.zeros((4, 6), "f")[:, :4], "float2", 11), (np.zeros(8, "f")[::2], "float2", 3),
        (np.zeros((0, 4), "f"), "float2", 0),
        (np.zeros(4, "F"), "float", 8),
    ],
)  # fmt: skip
def test_how_many_items_of_another_type_an_array_has(x, c_type, count):
    """From its first byte to its last: whole ones."""
    array = simgpu.asarray(x.base if x.base is not None else x)
    if x.base is not None:
        array = array[:, :4] if x.ndim == 2 else array[::2]
    code = f'extern "C" __global__ void f(const {c_type}* x, int n) {{ {c_type} v = x[n]; }}'
    kernel = simgpu.RawKernel(code, "f")
    for n in {0, count - 1} if count else ():
        kernel((1,), (1,), (array, n))
    with pytest.raises(simgpu.jit.OutOfBounds, match=f"index {count} is outside"):
        kernel((1,), (1,), (array, count))


def test_strides_are_the_kernels_own_business():
    """A pointer is where the array begins: what lies after it in memory is its elements in the memory's order."""
    x = simgpu.asarray(np.arange(6, dtype=np.float32).reshape(2, 3))
    out = zeros(6)
    code = 'extern "C" __global__ void f(const float* x, float* out) { out[threadIdx.x] = x[threadIdx.x]; }'
    simgpu.RawKernel(code, "f")((1,), (6,), (simgpu.asfortranarray(x), out))
    assert out.tolist() == [0, 3, 1, 4, 2, 5]
    simgpu.RawKernel(code, "f")((1,), (5,), (x[:, 1:], out))
    assert out.tolist() == [1, 2, 3, 4, 5, 5]


def test_the_sizes_of_a_launch():
    code = """extern "C" __global__ void f(unsigned int* x) {
        int i = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * (blockIdx.x + gridDim.x * blockIdx.y));
        x[i] = threadIdx.y * 100 + blockIdx.y * 10 + gridDim.z;
    }"""
    x = zeros(24, "I")
    kernel = simgpu.RawKernel(code, "f")
    kernel((2, 3), (2, 2), (x,))
    assert x.get().reshape(3, 2, 2, 2)[2, 1].tolist() == [[21, 21], [121, 121]]
    assert kernel.figures.threads == 24
    for grid, block in ((2, (2,)), ((2,), [2])):
        with pytest.raises(TypeError, match="expected tuple"):
            kernel(grid, block, (x,))
    with pytest.raises(simgpu.jit.TooMuch, match="2,048 threads a block"):
        kernel((1,), (2048,), (x,))


def test_it_can_be_pickled_and_copied():
    x = zeros()
    kernel = simgpu.RawKernel(ADD, "add")
    for other in (kernel, pickle.loads(pickle.dumps(kernel)), copy.deepcopy(kernel)):
        other((1,), (4,), (x, np.float32(1), 4))
    assert x.tolist() == [3] * 4


def test_attributes():
    code = """__constant__ float table[3] = {1, 2, 3};
    extern "C" __global__ void f(float* x) {
        __shared__ float part[32];
        extern __shared__ float more[];
        part[threadIdx.x] = more[threadIdx.x] = table[0];
        x[threadIdx.x] = part[threadIdx.x];
    }"""
    one = 'extern "C" __global__ void f() { __shared__ double s; __shared__ int w[2][3]; }'
    assert simgpu.RawKernel(one, "f").shared_size_bytes == 8 + 24
    many = f'extern "C" __global__ void f(int n) {{ int {", ".join(f"v{k} = n" for k in range(300))}; }}'
    assert simgpu.RawKernel(many, "f").num_regs == 255, "no thread has more"
    kernel = simgpu.RawKernel(code, "f")
    found = kernel.attributes
    assert (found["shared_size_bytes"], found["const_size_bytes"], found["max_threads_per_block"]) == (128, 12, 1024)
    assert 16 < kernel.num_regs < 256 and kernel.max_dynamic_shared_size_bytes == 48 * 1024
    assert found.keys() == {
        "max_threads_per_block", "shared_size_bytes", "const_size_bytes", "local_size_bytes", "num_regs", "ptx_version",
        "binary_version", "cache_mode_ca", "max_dynamic_shared_size_bytes", "preferred_shared_memory_carveout",
    }  # fmt: skip
    x = zeros(32)
    capability = int(x.device.compute_capability)
    assert (found["ptx_version"], found["binary_version"], found["cache_mode_ca"]) == (capability, capability, 0)
    assert (found["local_size_bytes"], found["preferred_shared_memory_carveout"]) == (0, -1)
    kernel.preferred_shared_memory_carveout = 50
    assert kernel.attributes["preferred_shared_memory_carveout"] == 50
    with pytest.raises(simgpu.jit.OutOfBounds, match="more has no elements; index 0 is outside"):
        kernel((1,), (32,), (x,))
    with pytest.raises(simgpu.jit.TooMuch, match="65,536 bytes of shared memory; a block has 49,152"):
        kernel((1,), (32,), (x,), shared_mem=65536)
    kernel.max_dynamic_shared_size_bytes = 90_000
    kernel((1,), (32,), (x,), shared_mem=65536)
    assert x.tolist() == [1] * 32
    assert kernel.figures.shared_bytes == 128 + 65536
    for size in (-1, 96 * 1024 + 1):
        with pytest.raises(raw.CUDADriverError, match="INVALID_VALUE"):
            kernel.max_dynamic_shared_size_bytes = size
    for size in (0, 96 * 1024):
        kernel.max_dynamic_shared_size_bytes = size
        assert kernel.max_dynamic_shared_size_bytes == size


def test_shared_memory_has_as_many_bytes_as_the_launch_says():
    code = """extern "C" __global__ void f(float* x) {
        extern __shared__ char bytes[];
        bytes[threadIdx.x] = 1;
        x[threadIdx.x] = bytes[threadIdx.x];
    }"""
    x, kernel = zeros(2), simgpu.RawKernel(code, "f")
    with pytest.raises(simgpu.jit.OutOfBounds, match="bytes has no elements; index 0 is outside"):
        kernel((1,), (2,), (x,))
    with pytest.raises(simgpu.jit.OutOfBounds, match="bytes has 1 elements, 0 to 0; index 1 is outside"):
        kernel((1,), (2,), (x,), shared_mem=1)
    kernel((1,), (2,), (x,), shared_mem=2)
    assert x.tolist() == [1, 1]


def test_variables_outside_of_functions_keep_their_values():
    code = """__device__ int count;
    extern "C" __global__ void f(int* x) { x[threadIdx.x] = atomicAdd(&count, 1); }"""
    module, x = simgpu.RawModule(code=code), zeros(3, "i")
    for first in (0, 3):
        module.get_function("f")((1,), (3,), (x,))
        assert sorted(x.tolist()) == [first, first + 1, first + 2]
    with pytest.raises(NotImplementedError, match="count: a program can't write"):
        module.get_global("count")


def test_a_launch_is_counted():
    x = zeros(1000)
    kernel = simgpu.RawKernel(ADD, "add")
    kernel((1,), (32,), (x, np.float32(1), 32))
    with simgpu.receipt() as r:
        kernel((1,), (32,), (x, np.float32(1), 32))
    assert r.launches == 1 and "add" in str(r)
    assert kernel.figures.sectors == 8
    stream = simgpu.cuda.Stream()
    kernel((1,), (32,), (x, np.float32(1), 32), stream=stream)
    assert x[0] == 3


def test_cublas():
    from simgpu import cublas

    x, y = simgpu.asarray(np.array([3.0, -4])), simgpu.asarray(np.array([1.0, 2]))
    z = simgpu.asarray(np.array([1 + 2j, 3j]))
    assert [float(v) for v in (cublas.nrm2(x), cublas.asum(x), cublas.dot(x, y), cublas.asum(z))] == [5, 7, -5, 6]
    assert (complex(cublas.dotu(z, z)), complex(cublas.dotc(z, z))) == (-12 + 4j, 14)
    cublas.axpy(2, x, y)
    cublas.scal(10, y)
    assert y.tolist() == [70, -60]
    with pytest.raises(ValueError, match="must be a 1D array"):
        cublas.nrm2(simgpu.zeros((2, 2)))
    with pytest.raises(NotImplementedError, match="cupy.cublas.gemm isn't simulated"):
        cublas.gemm  # noqa: B018


def test_zero_is_the_null_pointer():
    code = """extern "C" __global__ void f(const float* x, const float* more, float* out) {
        out[threadIdx.x] = x[threadIdx.x] + (more == nullptr ? 0 : more[threadIdx.x]);
    }"""
    x, out = simgpu.arange(4, dtype="f"), simgpu.zeros(4, "f")
    for nothing in None, 0, np.intp(0), np.uint64(0):
        out[:] = -1
        simgpu.RawKernel(code, "f")((1,), (4,), (x, nothing, out))
        assert out.tolist() == [0, 1, 2, 3]
    for number in 1, np.int32(0), False, 0.0:  # no address, or not as many bytes
        with pytest.raises(TypeError, match="more is .* the kernel's parameter is const float"):
            simgpu.RawKernel(code, "f")((1,), (4,), (x, number, out))
