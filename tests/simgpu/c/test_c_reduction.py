"""`simgpu.ReductionKernel` against NumPy: axes, types, expressions, outputs, errors, launches."""

import numpy as np
import pytest

import simgpu
from simgpu import ReductionKernel

g, h = simgpu.asarray, simgpu.asnumpy
SUM = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", "my_sum")
X = np.random.default_rng(0).integers(-9, 9, (2, 5, 3)).astype(np.float64)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (0, 1), (2, 1, 0), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_axes(axis, keepdims):
    for x in X, X.transpose(2, 0, 1), X[:, ::2]:
        np.testing.assert_array_equal(h(SUM(g(x), axis=axis, keepdims=keepdims)), x.sum(axis, keepdims=keepdims))


def test_any_number_of_elements():
    for n in range(1, 70):
        assert int(SUM(g(np.arange(n)))) == n * (n - 1) // 2
    assert h(SUM(g(np.full(300, 1, np.int8)))) == 300 - 256


@pytest.mark.parametrize(
    ("kernel", "wanted"),
    [
        (("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0"), lambda x: np.sqrt((x * x).sum(1))),
        (("T x", "T y", "x", "max(a, b)", "y = a", "-CUDART_INF"), lambda x: x.max(1)),
        (("T x", "T y", "x", "a < b ? a : b", "y = a", "1e30"), lambda x: x.min(1)),
        (("T x", "bool y", "x > 0", "a && b", "y = a", "true"), lambda x: (x > 0).all(1)),
        (("T x", "int64 y", "x > 0 ? 1 : 0", "a + b", "y = a", 0), lambda x: (x > 0).sum(1)),
        (("T x", "T y", "x", "a * b", "y = a", "1"), lambda x: x.prod(1)),
        (("T x", "T y", "x", "max(a, b)", "y = a", None), lambda x: np.maximum(x.max(1), 0)),  # it begins with T()
        (("T x", "T y", "x", "a + b", "y = a / (_in_ind.size() / _out_ind.size())", "0"), lambda x: x.mean(1)),
        (("T x", "float32 y", "x > 0 ? 0.5 : 0", "a + b", "y = a", "0", "halves", "int"), lambda x: 0 * x.sum(1)),
    ],
)  # fmt: skip
def test_expressions(kernel, wanted):
    np.testing.assert_allclose(h(ReductionKernel(*kernel)(g(X), axis=1)), wanted(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("shape", "axis", "with_cub", "without"),
    [  # how often the identity is in a result: _get_cub_block_specs and _get_block_specs in CuPy's _core
        ((1024,), None, 1 + 1024, 512), ((5000,), None, 3 + 1144 + 2046, 512), ((100,), None, 128, 128),
        ((4, 300), 1, 1 + 212, 512), ((300, 4), 0, 128, 128), ((4, 300), 0, 4, 4), ((4, 50), 1, 64, 64),
        ((0, 3), 0, 1, 1), ((2000, 7), 1, 8, 8),
        ((2, 150, 4), (0, 1), 128, 128), ((4, 3, 100), (1, 2), 1 + 212, 512), ((2, 2, 300), 0, 2, 2),
        ((4, 100, 3), (0, 2), 16, 16),
    ],
)  # fmt: skip
def test_an_identity_that_is_not_neutral_counts_for_each_thread(shape, axis, with_cub, without, recwarn):
    x = simgpu.zeros(shape, "i")
    one = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "1", "one")(x, axis=axis)
    two = ReductionKernel("T x, T z", "T y", "x + z", "a + b", "y = a", "1", "two")(x, x, axis=axis)
    assert (one == with_cub).all() and (two == without).all()
    assert len(recwarn) == 2 * (with_cub > 1)
    assert all("isn't neutral" in str(warning.message) for warning in recwarn)


@pytest.mark.filterwarnings("ignore::simgpu.kernels.reduction.NotNeutral")
def test_results_beside_each_other_in_memory_share_a_block():
    one = ReductionKernel("T x", "T y", "x", "a + b", "y = a", "1", "one")
    x = simgpu.zeros((100, 6, 40), "i")
    assert (one(x, axis=0) == 512 // 32).all()
    assert (one(x.transpose(0, 2, 1), axis=0) == 512 // 4).all(), "the last axis isn't in one piece"


def test_an_identity_that_can_be_repeated_is_said_nothing_of(recwarn):
    assert int(ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", "0")(simgpu.full(2000, -5))) == 0
    assert int(ReductionKernel("T x", "T y", "x", "a & b", "y = a", "6")(simgpu.full(2000, -1))) == 6
    assert not recwarn


def test_two_inputs_a_preamble_and_outputs_that_are_given():
    kernel = ReductionKernel("T x, S mask, raw T c", "T y", "mask ? f(x) * c[0] : 0", "a + b", "y += a", "0",
                             preamble="__device__ T f(T x) { return x + 1; }")  # fmt: skip
    mask, out = X[:, :, 0] > 0, g(np.full((5, 3), 100.0))
    assert kernel(g(X), g(mask[..., None]), g(np.array([2.0])), out, axis=0) is out
    np.testing.assert_array_equal(h(out), 100 + ((X + 1) * 2 * mask[..., None]).sum(0))
    out = g(np.zeros(()))
    assert SUM(g(X), out=out) is out and float(out) == X.sum()


def test_the_number_of_an_element():
    picked = ReductionKernel("S t, raw T x, int32 n", "T y", "x[_j * n + t]", "a + b", "y = a", "0")
    x, t = np.arange(12.0).reshape(4, 3), np.array([2, 0, 1, 2])
    assert float(picked(g(t), g(x), 3)) == x[np.arange(4), t].sum()


def test_float16_is_added_as_its_type_says():
    x = g(np.ones(4096, np.float16))
    assert float(SUM(x)) == 4096, "in a tree, as on a card"
    assert float(ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", reduce_type="float")(x)) == 4096


@pytest.mark.parametrize(
    ("args", "keywords", "error", "text"),
    [
        ((), {}, TypeError, "Wrong number of arguments"), ((g(X),), {"axes": 1}, TypeError, "unexpected keyword"),
        ((X,), {}, TypeError, "Unsupported type"), ((1.0,), {}, ValueError, "Loop size is undecided"),
        ((g(X),), {"axis": 3}, np.exceptions.AxisError, "out of"), ((g(X),), {"axis": (1, 1)}, ValueError, "axis"),
        ((g(X), g(np.zeros(3))), {}, ValueError, "Out shape is mismatched"),
        ((g(X), g(np.zeros(()))), {"out": g(np.zeros(()))}, ValueError, "cannot specify 'out' as both"),
        ((g(X),), {"out": np.zeros(())}, TypeError, "Unsupported type"),
    ],
)  # fmt: skip
def test_errors(args, keywords, error, text):
    with pytest.raises(error, match=text):
        SUM(*args, **keywords)


def test_no_elements():
    assert h(SUM(g(np.zeros((0, 3))), axis=0)).tolist() == [0, 0, 0] and SUM(g(np.zeros((0, 3))), axis=1).shape == (0,)
    with pytest.raises(ValueError, match="zero-size array to reduction operation most which has no identity"):
        ReductionKernel("T x", "T y", "x", "max(a, b)", "y = a", None, "most")(g(np.zeros(0)))


def test_what_needs_other_parts_of_c():
    pair = "struct pair { float value; int index; };"
    with pytest.raises(NotImplementedError, match="the type pair can't be translated to NumPy: line 1"):
        ReductionKernel("T x", "T y", "x", "a + b", "y = a", "0", reduce_type="pair", preamble=pair)(g(X))
    with pytest.raises(NotImplementedError, match="with a raw input"):
        ReductionKernel("T x, raw T z", "T y", "x * z[0]", "a + b", "y = a", "0")(g(X), g(X), axis=1)


def test_launches_are_cupys():
    """A whole array that's large takes two kernels, with CUB's blocks; two inputs, other axes and few elements, one."""
    x = g(np.ones((100, 10), np.float32))
    dot = ReductionKernel("T x, T y", "T z", "x * y", "a + b", "z = a", "0", "dot")
    y = x.reshape(4, 25, 10)
    calls = [
        lambda: SUM(x), lambda: SUM(x, axis=0), lambda: SUM(x[:5]), lambda: dot(x, x), lambda: SUM(y, axis=(1, 2)),
        lambda: SUM(y, axis=(0, 1)),
    ]  # fmt: skip
    counts = []
    for call in calls:
        with simgpu.receipt() as r:
            call()
        counts.append(r.launches)
    assert counts == [2, 1, 1, 1, 1, 1]


def test_what_a_launch_computes():
    """Each element is mapped once, and combined once: the identity is the first one."""
    x = g(np.ones((100, 10), np.float32))
    launched = []
    x.device.launch = lambda *args: launched.append(args)
    try:
        SUM(x)
        SUM(x, axis=1)
        ReductionKernel("T x", "T y", "x * x", "a + b", "y = a * 2.0f", "0", "squares")(x, axis=1)
        ReductionKernel("T x", "float64 y", "x", "a + b", "y = a", "0", "sums", "double")(x, axis=0)
    finally:
        del x.device.launch
    card = x.device.settings[0]
    names, nbytes, work = zip(*[call[:3] for call in launched])
    assert names == ("my_sum", "my_sum", "squares", "sums")
    assert nbytes == (4004, 4400, 4400, 4080)
    assert work == (1000, 1000, 2100, 1000 * card.float32 / card.float64)


def test_the_first_input_may_be_a_number_or_raw():
    scaled = ReductionKernel("T c, T x", "T y", "c * x", "a + b", "y = a", "0")
    assert h(scaled(2, g(X), axis=1)).tolist() == (2 * X.sum(1)).tolist()
    picked = ReductionKernel("raw T c, T x", "T y", "c[0] * x", "a + b", "y = a", "0")
    assert h(picked(g(np.array([3.0, 1])), g(X), axis=0)).tolist() == (3 * X.sum(0)).tolist()
