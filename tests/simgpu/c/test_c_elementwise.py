"""`simgpu.ElementwiseKernel`: parameters, shapes, types, raw arrays, errors, and what a launch costs."""

import numpy as np
import pytest

import simgpu
from simgpu import ElementwiseKernel

g, h = simgpu.asarray, simgpu.asnumpy
ADD = ElementwiseKernel("T x, T y", "T z", "z = x + y", "add")


def test_arrays_broadcast_and_numbers_take_their_type():
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([[10], [20]], np.float32)
    np.testing.assert_array_equal(h(ADD(g(x), g(y))), x + y)
    z = ADD(g(x.T), 0.5)  # not row by row in memory
    np.testing.assert_array_equal(h(z), x.T + np.float32(0.5))
    assert z.dtype == np.float32 and z.flags.c_contiguous
    assert h(ADD(g(np.array([250], np.uint8)), 10)).tolist() == [4]
    assert h(ADD(g(np.array(3.0)), 1)).shape == ()


def test_an_output_may_be_an_input():
    x = g(np.arange(3.0))
    ElementwiseKernel("T x", "T y", "T before = x; y = x + 1; y += 10 * x + 100 * before")(x, x)
    assert h(x).tolist() == [1 + 10 + 0, 2 + 20 + 100, 3 + 30 + 200], "x is what was written to y"


def test_raw_arrays():
    x = g(np.arange(5.0))
    diff = ElementwiseKernel("raw T x", "T y", "y = i + 1 < x.size() ? x[i + 1] - x[i] * x[i] : -x.ndim", "diff")
    assert h(diff(x, size=5)).tolist() == [1, 1, -1, -5, -1]
    turned = ElementwiseKernel("raw T x, int64 n", "raw T y", "y[n - 1 - i] = x[i]")
    assert h(turned(g(np.arange(6.0).reshape(2, 3).T), 6, size=6)).tolist() == [5, 2, 4, 1, 3, 0]
    out = g(np.zeros((3, 2)))
    turned(g(np.arange(6.0)), 6, out.T, size=6)  # numbers go by rows, however it lies in memory
    assert h(out.T).tolist() == [[5, 4, 3], [2, 1, 0]]
    axes = ElementwiseKernel("raw T x, int32 n", "T y", "ptrdiff_t at[] = {i % n, i / n}; y = x[at]")
    assert h(axes(g(np.arange(6).reshape(2, 3)), 2, size=6)).tolist() == [0, 3, 1, 4, 2, 5]
    assert h(ElementwiseKernel("T x, raw T c", "T y", "y = c[0] * x")(x, g(np.array(2.0)))).tolist() == [0, 2, 4, 6, 8]
    pointer = ElementwiseKernel("raw T x", "T y", "const T *p = &x[1]; y = p[i] + *p")
    assert h(pointer(x, size=4)).tolist() == [2, 3, 4, 5]


def test_where_a_thread_is():
    x = g(np.zeros((3, 4))).T
    where = "y = 100 * _ind.get()[0] + 10 * _ind.get()[_ind.ndim - 1] + _ind.shape()[0]"
    kernel = ElementwiseKernel("T x", "int64 y", where, reduce_dims=False)
    rows, columns = np.indices((4, 3))
    np.testing.assert_array_equal(h(kernel(x)), 100 * rows + 10 * columns + 4)
    np.testing.assert_array_equal(h(kernel(g(np.zeros((4, 3))))), 100 * rows + 10 * columns + 4)
    flat = ElementwiseKernel("T x", "int64 y", "y = _ind.get()[0] == i && _ind.size() == 12 && _ind.ndim == 1")
    assert h(flat(g(np.zeros((3, 4))))).all(), "axes that lie in one piece are one"


def test_atomic_functions_count_every_thread():
    x = np.array([3, 1, 3, 3, 0], np.int32)
    count = g(np.zeros(4, np.int32))
    ElementwiseKernel("int32 x", "raw int32 n", "if (x > 0) atomicAdd(&n[x], 2)")(g(x), count)
    assert h(count).tolist() == [0, 2, 0, 6]
    most = ElementwiseKernel("raw int32 x", "raw int32 m", "atomicMax(&m[0], x[i] * 10)")
    assert h(most(g(x), g(np.array([5], np.int32)), size=5)).tolist() == [30]
    own = ElementwiseKernel("int32 x", "int32 y", "atomicAdd(&y, x)")
    assert h(own(g(x), g(np.ones(5, np.int32)))).tolist() == [4, 2, 4, 4, 1]


@pytest.mark.parametrize("index", ["i + 1", "i - 1"])
def test_outside_of_an_array(index):
    kernel = ElementwiseKernel("raw T x", "T y", f"y = x[{index}]", "shifted")
    number, i = (5, 4) if "+" in index else (-1, 0)
    with pytest.raises(IndexError, match=rf"x\[{number}\] is outside, x has 5 elements: i = {i}, line 1 of the"):
        kernel(g(np.arange(5.0)), size=5)
    guarded = ElementwiseKernel("raw T x", "T y", f"y = {index} >= 0 && {index} < x.size() && x[{index}] > 0")
    assert h(guarded(g(np.arange(5.0)), size=5)).tolist() in ([1, 1, 1, 1, 0], [0, 0, 1, 1, 1])


def test_before_and_after_the_loop():
    before = "const int half = _ind.size() / 2;"
    kernel = ElementwiseKernel("", "T y", "y = half * i", loop_prep=before, after_loop=";")
    assert h(kernel(g(np.zeros(4)))).tolist() == [0, 2, 4, 6]


def test_what_a_call_gives_back():
    x = g(np.arange(3.0))
    two = ElementwiseKernel("T x", "T y, T z", "y = x + 1; z = x + 2")
    y, z = two(x)
    assert (h(y).tolist(), h(z).tolist()) == ([1, 2, 3], [2, 3, 4])
    assert two(x, y, z) == (y, z)
    (y,) = ElementwiseKernel("T x", "T y", "y = 2 * x", return_tuple=True)(x)
    assert h(y).tolist() == [0, 2, 4]
    assert ElementwiseKernel("T x", "T y", "y = 3 * x", no_return=True)(x, y) is None
    assert h(y).tolist() == [0, 3, 6]


def test_no_elements():
    kernel = ElementwiseKernel("T x", "T y", "this isn't C")
    assert kernel(g(np.zeros((0, 3)))).shape == (0, 3)


@pytest.mark.parametrize(
    ("params", "args", "keywords", "error", "text"),
    [
        (("T x", "T y"), (np.zeros(2),), {}, TypeError, "Unsupported type <class 'numpy.ndarray'>"),
        (("T x", "T x"), (g(np.zeros(2)),), {}, ValueError, "two parameters have one name"),
        (("T x, int32 n", "T y"), (g(np.zeros(2)), np.int64(2**40)), {}, OverflowError, "out of bounds for int32"),
        (("T x", "T y"), ([1.0],), {}, TypeError, "Unsupported type"),
        (("T x", "T y"), (), {}, TypeError, "Wrong number of arguments for 'kernel'. It must be either 1 or 2"),
        (("T x", "T y"), (g(np.zeros(2)),), {"sise": 3}, TypeError, "unexpected keyword argument"),
        (("T x", "T y"), (g(np.zeros(2)),), {"block_size": 0}, ValueError, "block_size must be greater than zero"),
        (("T x", "T y"), (g(np.zeros(2)),), {"size": 2}, ValueError, "Specified 'size' can"),
        (("raw T x", "T y"), (g(np.zeros(2)),), {}, ValueError, "Loop size is undecided."),
        (("T x", "raw T y"), (g(np.zeros(2)),), {}, ValueError, "Output array size is Undecided"),
        (("T x", "T y"), (g(np.zeros((3, 4))), g(np.zeros(4))), {}, ValueError, "Out shape is mismatched"),
        (("T x", "T y"), (g(np.zeros(2)), 1.0), {}, TypeError, "Output arguments type must be"),
        (("T x, T z", "T y"), (g(np.zeros(2)), g(np.zeros(2, "f"))), {}, TypeError, "mismatched. z float32 float64"),
        (("T x", "T y"), (g(np.zeros(2)), g(np.zeros(2, "f"))), {}, TypeError, "mismatched. x float64 float32"),
        (("float32 x", "T y"), (g(np.zeros(2)),), {}, TypeError, "Type is mismatched. x float64 float32"),
        (("T x", "S y"), (g(np.zeros(2)),), {}, KeyError, "S: no array says"),
        (("T x, T z", "T y"), (g(np.zeros(2)), g(np.zeros(3))), {}, ValueError, "broadcast"),
    ],
)
def test_errors_of_a_call(params, args, keywords, error, text):
    with pytest.raises(error, match=text):
        ElementwiseKernel(*params, "")(*args, **keywords)


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        (("T x", "T y", "", "1"), ValueError, 'Invalid kernel name: "1"'),
        (("T i", "T y", ""), ValueError, "Can not use 'i'"),
        (("x", "T y", ""), Exception, "Syntax error: x"), (("row T x", "T y", ""), Exception, 'Unknown keyword "row"'),
        (("floot x", "T y", ""), TypeError, "floot"),
    ],
)  # fmt: skip
def test_errors_of_a_definition(arguments, error, text):
    with pytest.raises(error, match=text):
        ElementwiseKernel(*arguments)


def test_one_launch_of_its_name_and_its_bytes():
    """Operations with float64 count as so many with float32. Threads that don't take part don't count."""
    x = g(np.zeros(1000, np.float32))
    launched = []
    x.device.launch, before = lambda *args: launched.append(args), x.device.launch
    try:
        ElementwiseKernel("T x", "T y", "y = x * 2.0f + 1.0f", "line")(x)
        ElementwiseKernel("T x", "T y", "y += 1.0f", "one")(x, x)
        ElementwiseKernel("raw T x", "T y", "y = x[i / 2]", "half")(x, size=100)
        ElementwiseKernel("T x", "T y", "y = x * 2.0", "double")(x)
        ElementwiseKernel("raw T x", "T y", "if (i < 100) y = x[0] + x[i]", "few")(x, size=1000)
        ElementwiseKernel("raw T x", "T y", "y = x[i % 10]", "ten")(x[:10], size=1000)
        ElementwiseKernel("T x", "T y", "y = expf(x)", "exp")(x)
        ElementwiseKernel("T x", "T y", "float s, c; sincosf(x, &s, &c); y = s + c", "sine")(x)
    finally:
        del x.device.launch
    assert before.__self__ is x.device
    names, nbytes, work = zip(*[call[:3] for call in launched])
    assert names == ("line", "one", "half", "double", "few", "ten", "exp", "sine")
    assert nbytes == (8000, 8000, 800, 8000, 4404, 4040, 8000, 8000)
    card = x.device.settings[0]
    assert work == (2000, 1000, 100, 1000 * card.float32 / card.float64, 1000 + 100, 1000, 10_000, 21_000)


def test_an_estimate_from_shapes_alone():
    kernel = ElementwiseKernel("T x, raw T z", "T y", "y = z[x - 1]", "one")  # it'd be outside, since all is 0
    seconds = simgpu.estimate(lambda x: kernel(x, x), np.ones(10, np.int32), shapes_only=True)
    assert seconds.receipt.launches == 1
