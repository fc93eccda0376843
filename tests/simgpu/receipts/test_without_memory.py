"""Shapes alone take no memory: a full card fits into a few megabytes, and all is as if its arrays were there."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import simgpu as cp
from simgpu import estimate, meta
from simgpu.meta import MetaArray, address_of

GIB = 2**30
FEW = 4 * 2**20  # bytes


def fill_the_card(x, places):
    """With `x`, of 1 GiB, a T4's 16 GiB are full in the end; in between, functions of every kind."""
    rows, columns = x.shape
    kept = [x, x + 1, x @ x.T, x.T.copy(), np.concatenate([x, x]), np.stack([x, x]), x.astype(np.float16)]
    for view in (x[1:, ::2], x.T, x.reshape(-1, 2), np.broadcast_to(x[:, :1], (rows, 2**40)), np.flip(x), x[None]):
        assert view.base is x
    assert x[places].shape == (len(places), columns)
    assert x[:, places].sum(axis=0).shape == places.shape
    assert np.sort(x, axis=1).argmax(axis=1).shape == (rows,)
    assert np.cumsum(x, axis=0)[-1].shape == (columns,)
    assert np.diff(x).shape == (rows, columns - 1) and np.pad(x[:9], 3).shape == (15, columns + 6)
    assert np.repeat(x[0], 3).shape == (3 * columns,) and np.tile(x[0], (4, 1)).shape == (4, columns)
    assert np.linalg.svd(x[:, :8], full_matrices=False)[0].shape == (rows, 8)
    assert np.fft.rfft(x, axis=1)[:1].shape == (1, columns // 2 + 1)
    assert np.where(x > 0, x, 0).nonzero()[0].shape == (0,)
    kept += [cp.zeros(x.shape, np.float32), cp.ones(x.shape, np.int32), cp.arange(2**27), cp.random.rand(2**25)]
    kept += [np.einsum("ij,kj->ik", x, x), cp.empty(11 * 2**28, np.uint8)]
    return kept


def full_card():
    x = np.broadcast_to(np.float32(0), (2**14, 2**14))
    return estimate(fill_the_card, x, np.arange(2000), like="NVIDIA T4", shapes_only=True)


def most_memory(program):
    """What it takes of this computer's memory at once, in bytes. NumPy tells `tracemalloc` of its arrays."""
    tracemalloc.start()
    try:
        result = program()
        return result, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_full_card_takes_a_few_megabytes():
    found, taken = most_memory(full_card)
    assert 15 * GIB < found.receipt.peak_memory <= 16 * GIB
    assert taken < FEW


def test_the_measure_sees_memory(monkeypatch):
    def program():
        return estimate(lambda x: x + 1, np.zeros((1024, 2048), np.float32), shapes_only=True)

    assert most_memory(program)[1] > FEW  # the argument
    x = np.broadcast_to(np.float32(0), (1024, 2048))
    assert most_memory(lambda: estimate(lambda x: x + 1, x, shapes_only=True))[1] < FEW
    monkeypatch.setattr(meta, "SMALL", 2**62)
    assert most_memory(lambda: estimate(lambda x: x + 1, x, shapes_only=True))[1] > FEW


def test_what_does_not_fit_is_out_of_the_cards_memory():
    def program(x):
        return [cp.zeros(2**32, np.float32) for _ in range(2)]

    with pytest.raises(cp.cuda.memory.OutOfMemoryError, match="17,179,869,184 bytes asked for"):
        estimate(program, np.zeros(1), shapes_only=True)


LIMITED = """
import resource, sys
sys.path[:0] = [{folder!r}]
import numpy as np, numpy.fft, numpy.random
import simgpu as cp
from simgpu import meta
import {module} as test
cp.estimate(np.matmul, np.ones((2, 2)), np.ones((2, 2)), shapes_only=True)
with open("/proc/self/status") as status:
    pages = next(line for line in status if line.startswith("VmSize"))
most = int(pages.split()[1]) * 1024 + 100 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (most, most))
meta.SMALL = {small}
print(test.full_card().receipt.peak_memory)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a program's addresses, and says how many it has")
@pytest.mark.parametrize(("small", "works"), [(meta.SMALL, True), (2**62, False)])
def test_a_full_card_needs_no_addresses(small, works, tmp_path):
    """With 100 MB more than a small estimate has. If arrays were in memory, it would fail."""
    from pathlib import Path

    program = LIMITED.format(folder=str(Path(__file__).parent), module=Path(__file__).stem, small=small)
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (found.returncode == 0) is works, found.stderr
    if works:
        assert int(found.stdout) > 15 * GIB
    else:
        assert "MemoryError" in found.stderr


def test_a_result_comes_to_the_host_as_zeros():
    x = estimate(lambda x: x.T, np.ones((300, 200)), shapes_only=True).result
    values = x.get()
    values[0] = 1
    assert values.sum() == 300 and x.get().sum() == 0


def test_a_kernel_of_ones_own_has_memory():
    from simgpu import jit

    @jit.rawkernel()
    def doubled(x, y):
        i = jit.grid(1)
        if i < x.size:
            y[i] = 2 * x[i] + 1

    def program(x):
        y = cp.empty_like(x)
        doubled[(x.size + 255) // 256, 256](x, y)
        return y[1:] + y[:-1]

    x = np.ones(20_000, np.float32)
    computed, shapes = (estimate(program, x, shapes_only=only) for only in (False, True))
    assert shapes.result.shape == computed.result.shape == (19_999,)
    assert shapes.receipt.launched == computed.receipt.launched and float(shapes.seconds) == float(computed.seconds)


def test_a_graph_of_large_arrays():
    def program(x):
        stream = cp.cuda.Stream(non_blocking=True)
        with stream:
            stream.begin_capture()
            y = np.tanh(x * 2).sum(axis=0)
            x[0] = 1
            graph = stream.end_capture()
            for _ in range(3):
                graph.launch()
        return y

    x = np.broadcast_to(np.float32(1), (2048, 1024))
    computed = estimate(program, x)
    shapes, taken = most_memory(lambda: estimate(program, x, shapes_only=True))
    assert computed.receipt.in_graphs == shapes.receipt.in_graphs
    assert float(shapes.seconds) == float(computed.seconds) and taken < FEW


def test_what_no_card_holds_raises_before_it_fills_this_computers_memory():
    def program(make):
        with pytest.raises(cp.cuda.memory.OutOfMemoryError, match="137,438,953,472 bytes asked for"):
            make(2**34)

    for make in (cp.ones, cp.zeros, cp.empty, lambda n: cp.full(n, 1.0), lambda n: np.ones_like(cp.ones(1), shape=n)):
        assert most_memory(lambda make=make: program(make))[1] < FEW


# -- views are NumPy's -------------------------------------------------------------------------------------------------


INTEGERS = st.integers(-5, 5)
BOUNDS = st.none() | INTEGERS
SLICES = st.builds(slice, BOUNDS, BOUNDS, st.sampled_from([None, -3, -2, -1, 1, 2, 3]))
INDEX = st.lists(INTEGERS | st.none() | SLICES | st.just(Ellipsis), max_size=4).map(tuple)
ORDER = st.sampled_from("CFA")


@st.composite
def shapes_for(draw, x):
    """A shape that `x` may have: its size in factors, with ones in between, and maybe with -1."""
    rest, shape = x.size, []
    while rest > 1:
        factor = draw(st.sampled_from([n for n in range(2, rest + 1) if rest % n == 0]))
        shape.append(factor)
        rest //= factor
    if not x.size:
        shape = draw(st.lists(st.integers(0, 3), max_size=3))
    for _ in range(draw(st.integers(0, 2))):
        shape.insert(draw(st.integers(0, len(shape))), 1)
    if shape and draw(st.booleans()):
        shape[draw(st.integers(0, len(shape) - 1))] = -1
    return tuple(shape)


@st.composite
def views(draw, x):
    """A function that gives a view of an array like `x`, or a copy where NumPy can't give a view."""
    a, b = draw(st.tuples(st.integers(-3, 3), st.integers(-3, 3)))
    index, axes, shape = draw(INDEX), draw(st.permutations(range(x.ndim))), draw(shapes_for(x))
    order, kind = draw(ORDER), draw(st.sampled_from(["f4", "c8", "i2", "f8", "i1", "c16"]))
    return draw(st.sampled_from([
        lambda v: v[(*index, *[Ellipsis] * (Ellipsis not in index))],
        lambda v: v[(*index, *[Ellipsis] * (Ellipsis not in index))],
        lambda v: v.transpose(*axes) if axes else v.T, lambda v: v.reshape(shape, order=order),
        lambda v: np.reshape(v, shape, order), lambda v: v.ravel(order), lambda v: v.ravel("K"),
        lambda v: v.diagonal(a, b, abs(a)), lambda v: v.view(kind), lambda v: np.moveaxis(v, a, b),
        lambda v: np.expand_dims(v, a), lambda v: np.flip(v, a), lambda v: np.flip(v), lambda v: np.rot90(v, a),
        lambda v: v.squeeze(), lambda v: v.squeeze(a), lambda v: v.swapaxes(a, b), np.atleast_3d, np.atleast_2d,
        lambda v: np.rollaxis(v, a, b), lambda v: v.real, lambda v: v.imag if v.dtype.kind == "c" else v,
        lambda v: np.broadcast_to(v, (2, *v.shape)), lambda v: np.split(v, 2, a)[1], lambda v: v.T,
        lambda v: np.lib.stride_tricks.sliding_window_view(v, 2, a),
    ]))  # fmt: skip


def about(x, root):
    flags = x.flags.c_contiguous, x.flags.f_contiguous, x.flags.forc, x.flags.fnc
    return x.shape, x.strides, x.dtype, x.ndim, x.size, x.nbytes, flags, address_of(x) - address_of(root)


def result_or_words(function, x):
    try:
        return function(x)
    except Exception as error:
        return type(error), str(error)


@given(st.data(), st.lists(st.integers(0, 4), max_size=4), st.sampled_from("CF"), st.sampled_from(["f4", "c8", "i2"]))
def test_views_and_errors_are_numpys(data, shape, order, kind):
    real = root = np.zeros(shape, kind, order)
    ours = first = MetaArray(shape, kind, real.strides)
    for _ in range(3):
        function = data.draw(views(real))
        found, right = result_or_words(function, ours), result_or_words(function, real)
        if isinstance(right, tuple):
            assert found == right
            return
        if isinstance(right, np.generic):  # of a view of one element, NumPy makes a number
            return
        if not np.may_share_memory(right, root):
            root, first = right, found  # a copy, in memory of its own
        assert about(found, first) == about(right, root)
        real, ours = right, found


@given(st.data(), st.lists(st.integers(0, 4), min_size=1, max_size=3))
def test_an_index_with_arrays_gives_numpys_shape(data, shape):
    real = np.zeros(shape)
    part = st.just(np.array([0, -1, 0])) | st.just(np.zeros((2, 1), int)) | st.integers(-1, 0) | st.none() | SLICES
    index = tuple(data.draw(st.lists(part, max_size=len(shape) + 1)))
    found, right = (result_or_words(lambda x: x[index], x) for x in (MetaArray(shape, float), real))
    if isinstance(right, tuple):
        assert found == right
    else:
        assert (found.shape, found.dtype) == (right.shape, right.dtype)


def test_what_shares_memory():
    x = MetaArray((100, 100), float)
    y = MetaArray((100, 100), float)
    assert np.may_share_memory(x, x[1:]) and not np.may_share_memory(x, y) and not np.may_share_memory(x[:1], x[1:])
    assert np.may_share_memory(x[:, ::2], x[:, 1::2]) and not np.shares_memory(x[:, ::2], x[:, 1::2])
    assert np.shares_memory(x[:, ::2], x[:, ::3]) and not np.may_share_memory(x, np.zeros(3))


def test_numpys_copy_has_memory_of_its_own():
    values = np.array(MetaArray((100, 100), np.int32))
    values[0] = 1
    assert values.sum() == 100 and values.dtype == np.int32


def test_a_frozen_array_can_be_thawed():
    x = MetaArray((100, 100), float)
    x.flags.writeable = False
    assert not x[1:].flags.writeable and not x.flags["WRITEABLE"]
    x.flags.writeable = True
    assert x.T.flags.writeable and x.flags["C"]
