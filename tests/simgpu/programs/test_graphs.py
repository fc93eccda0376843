"""Streams that capture, and graphs: what they compute, what they cost, and what they refuse, as CuPy 14 does."""

import re

import numpy as np
import pytest

import fluxlite as fl
import simgpu as cp
from benchmarks import launch_table
from benchmarks.launch_table import ROWS
from simgpu import cuda
from simgpu.cuda.runtime import CUDARuntimeError


@pytest.fixture
def card():
    (device,) = cp.devices(1, "NVIDIA T4")
    return device


@pytest.fixture
def stream(card):
    made = cuda.Stream(non_blocking=True)
    with made:
        yield made


def captured(stream, function, *args):
    stream.begin_capture()
    try:
        made = function(*args)
    finally:
        graph = stream.end_capture()
    return made, graph


# -- values ------------------------------------------------------------------------------------------------------------


def test_nothing_runs_before_the_launch_and_each_launch_runs_it_again(stream):
    x, total = cp.arange(4.0), cp.zeros(4)

    def step():
        nonlocal total
        total += x
        x[1:3] = 7.0
        return cp.sqrt(x).sum()

    root, graph = captured(stream, step)
    assert x.tolist() == [0, 1, 2, 3] and total.tolist() == [0, 0, 0, 0]
    graph.launch()
    assert x.tolist() == [0, 7, 7, 3] and total.tolist() == [0, 1, 2, 3]
    assert float(root) == np.sqrt(x.get()).sum()
    graph.launch(stream)
    assert total.tolist() == [0, 8, 9, 6]


def test_an_array_made_inside_begins_anew_at_each_launch(stream):
    def step():
        x = cp.zeros(3)
        y = cp.array(2.0)
        x += 1
        y *= 3
        return x, y

    (x, y), graph = captured(stream, step)
    for _ in range(2):
        graph.launch()
        assert x.tolist() == [1, 1, 1] and float(y) == 6


LIBRARIES = ("@", "np.dot(x, x)", "np.tensordot", 'einsum("ij,jk', "dense(x)", "m(x)), dense)", "norm(x)",
             "training_step", "windows.convolve", "rnn(", "lstm(", "gru(", "_cell(")  # fmt: skip
ALONE = ("v @ v", "x[:1] @ x[:1].T")  # a result of one element isn't left to cuBLAS
HOST = launch_table.operands()


def changed(x, scale):
    """Other numbers, as many of them true and in the same order."""
    if x.dtype.kind in "fc":
        return (x * scale).astype(x.dtype)
    return x


def operands(line, device, scale):
    """What the line names, on the device."""
    words = set(re.findall(r"\w+", line))
    there = {**vars(launch_table), "rng": device.rng}
    for name in words & HOST.keys():
        there[name] = device.upload(changed(HOST[name], scale))
    if words - there.keys() & {"rnn", "lstm", "gru", "norm", "dense", "wave", "rnn_cell", "lstm_cell", "gru_cell"}:
        there |= {name: device(x) for name, x in launch_table.layers().items()}
    if "adam" in words:
        there["adam"] = fl.setup(fl.Adam(), there["x"])
    return there


def values_in(there):
    return {name: x.host_values.copy() for name, x in there.items() if type(x).__name__ == "SimulatedArray"}


def run(line, there):
    """The line's result, None for a statement."""
    try:
        code = compile(line, "<launch table>", "eval")
    except SyntaxError:
        exec(compile(line, "<launch table>", "exec"), there)
        return None
    return eval(code, there)


def plain(x):
    if isinstance(x, (list, tuple)):
        return [plain(part) for part in x]
    return getattr(x, "host_values", x)


def assert_equal(one, two):
    if isinstance(one, list):
        for x, y in zip(one, two, strict=True):
            assert_equal(x, y)
    elif isinstance(one, np.ndarray):
        assert one.dtype == two.dtype
        np.testing.assert_array_equal(one, two)


LINES = [row for row in ROWS if row.line != "np.empty_like(x)"]  # which has no values


@pytest.mark.parametrize("row", LINES, ids=[row.line for row in LINES])
def test_each_line_of_the_launch_table_gives_at_a_launch_what_it_gives_eagerly(row):
    """On numbers that came after the capture, or it's refused as CuPy refuses it."""
    line = row.line
    with fl.simulate_gpu() as device:
        there = operands(line, device, 1)
        wanted_there = operands(line, device, 2)
        stream = cuda.Stream(non_blocking=True)
        with stream:
            stream.begin_capture()
            try:
                made = run(line, there)
                error = None
            except (RuntimeError, NotImplementedError) as found:
                error = found
            graph = stream.end_capture()
        if line.startswith("rng."):
            assert isinstance(error, NotImplementedError) and "cuRAND" in str(error)
            return
        if row.to_host:
            assert type(error) is RuntimeError and "D2H transfers are disallowed" in str(error)
            return
        if row.to_card:
            assert type(error) is RuntimeError and "H2D transfers are disallowed" in str(error)
            return
        if error is not None:
            assert isinstance(error, NotImplementedError) and "cuBLAS" in str(error)
            assert any(word in line for word in LIBRARIES) and line not in ALONE
            return
        assert line in ALONE or not any(word in line for word in LIBRARIES[:4]) or "long" in line
        for name in there.keys() & HOST.keys():
            there[name].host_values[...] = changed(HOST[name], 2)
        wanted = run(line, wanted_there)
        graph.launch()
        assert_equal(plain(made), plain(wanted))
        after = values_in(wanted_there)
        for name, x in values_in(there).items():
            np.testing.assert_array_equal(x, after[name], err_msg=name)


@cp.fuse()
def fused(x, y):
    return cp.maximum(x, y) * 2


SQUARES = cp.ElementwiseKernel("float32 x", "float32 z", "z = x * x", "squares")
TOTAL = cp.ReductionKernel("float32 x", "float32 z", "x", "a + b", "z = a", "0", "total")


@cp.jit.rawkernel()
def halves(x, out):
    i = cp.jit.grid(1)
    if i < 4:
        out[i] = x[i] / np.float32(2)


@cp.vectorize
def above_one(x):
    if x > 1:
        return x
    return -x


def written_by_hand(x):
    out = cp.empty_like(x)
    halves[1, 32](x, out)
    return out


@pytest.mark.parametrize("function", [lambda x: fused(x, x - 1), SQUARES, TOTAL, above_one, written_by_hand])
def test_kernels_of_ones_own_are_captured(stream, function):
    x = cp.arange(4, dtype=np.float32)
    made, graph = captured(stream, function, x)
    assert x.tolist() == [0, 1, 2, 3]
    for values in ([3, 5, 7, 0], [1, 1, 2, 2]):
        x[...] = cp.asarray(np.array(values, np.float32))
        graph.launch()
        assert made.tolist() == function(x).tolist()


def test_a_generator_draws_anew_at_each_launch(stream):
    rng, same = cp.random.default_rng(5), cp.random.default_rng(5)
    drawn, graph = captured(stream, rng.random, 3)
    for _ in range(2):
        graph.launch()
        assert drawn.tolist() == same.random(3).tolist()


def test_whole_numbers_are_multiplied_without_cublas(stream):
    x = cp.ones((2, 2), int)
    product, graph = captured(stream, cp.matmul, x, x)
    graph.launch()
    assert product.tolist() == [[2, 2], [2, 2]]


def test_what_is_wrong_raises_in_the_capture(stream):
    x = cp.arange(4.0)
    stream.begin_capture()
    with pytest.raises(ValueError, match="could not be broadcast|could not broadcast"):
        x + cp.arange(3.0)
    with pytest.raises(ValueError, match="could not broadcast"):
        x[:2] = x[:3]
    with pytest.raises(ValueError, match="could not broadcast"):
        np.copyto(x, x[:3])
    stream.end_capture().launch()
    assert x.tolist() == [0, 1, 2, 3]


def test_a_graph_is_a_part_of_another_one(stream):
    x = cp.zeros(2)

    def add_one():
        nonlocal x
        x += 1

    _, inner = captured(stream, add_one)
    _, outer = captured(stream, lambda: (inner.launch(), inner.launch(stream)))
    assert x.tolist() == [0, 0]
    outer.launch()
    assert x.tolist() == [2, 2] and outer.debug_dot_str().count("cupy_add") == 2


# -- time and counts ---------------------------------------------------------------------------------------------------


def test_a_graph_is_one_order_of_5_us_and_its_kernels_take_a_microsecond_and_a_half(card, stream):
    x, large = cp.zeros(4), cp.zeros((1000, 1000), np.float32)

    def step():
        for _ in range(20):
            np.add(x, 1, out=x)
        large.fill(0)

    step()
    _, graph = captured(stream, step)
    stream.synchronize()
    host = card.host.now
    with cp.receipt() as r:
        graph.launch()
        assert card.host.now - host == 5_000
        graph.launch()
    each = round(4e6 / (320e9 * 0.75) * 1e9)
    assert r.seconds == pytest.approx((5_000 + 2 * (20 * 1_500 + each)) / 1e9)
    assert (r.launches, r.memsets, r.launched) == (2, 0, {"graph of 20 kernels, 1 memset": 2})
    assert r.in_graphs == {"add": 40, "memset": 2}
    assert repr(r).splitlines()[:2] == [
        "launches          2: 2 graphs of 20 kernels, 1 memset",
        "  in graphs       42: add 40, memset 2",
    ]
    (line, other) = r.by_line()
    assert line.launches == other.launches == 1 and line.seconds == pytest.approx((20 * 1_500 + each) / 1e9)


def test_a_capture_takes_the_host_as_long_as_launching_and_nothing_is_counted(card, stream):
    x = cp.zeros(4)
    x += 1
    stream.synchronize()
    host = card.host.now
    with cp.receipt() as r:
        _, graph = captured(stream, lambda: np.add(x, 1, out=x))
    assert card.host.now - host == 15_000 and r.launches == 0 and r.timeline() == []
    assert graph.debug_dot_str() != graph.debug_dot_str(1)


def test_a_graph_waits_for_the_work_before_it_and_can_go_to_another_stream(card, stream):
    x = cp.zeros((1000, 1000), np.float32)
    _, graph = captured(stream, lambda: np.add(x, 1, out=x))
    other = cuda.Stream(non_blocking=True)
    for _ in range(3):
        graph.launch(other)
    assert not other.done and stream.done and float(x[0, 0]) == 3
    other.synchronize()
    assert other.done


def test_an_estimate_of_shapes_launches_graphs_too():
    def run(x):
        stream = cuda.Stream(non_blocking=True)
        with stream:
            stream.begin_capture()
            for _ in range(10):
                x += 1
            graph = stream.end_capture()
            for _ in range(100):
                graph.launch()

    found = cp.estimate(run, np.zeros(10, np.float32), shapes_only=True)
    assert found.receipt.launches == 100 and found.receipt.in_graphs == {"add": 1000}
    assert found.seconds == pytest.approx(10 * 15e-6 + 5e-6 + 1000 * 1.5e-6)


# -- what's refused, by CuPy and by CUDA: as in CuPy's tests/cupy_tests/cuda_tests/test_graph.py --

READS = [float, lambda x: x.get(), str, lambda x: x[x > 0], lambda x: cp.where(x > 0), cp.asnumpy,
         lambda x: bool(x.sum() > 0), cp.unique]  # fmt: skip


@pytest.mark.parametrize("read", READS)
def test_reading_is_refused_by_cupy_and_the_capture_goes_on(stream, read):
    x = cp.ones(1)
    stream.begin_capture()
    y = x + 1
    with pytest.raises(RuntimeError, match="the current stream is capturing, so D2H transfers are disallowed"):
        read(y)
    z = y * 2
    stream.end_capture().launch()
    assert z.tolist() == [4]


@pytest.mark.parametrize("upload", [lambda x: cp.asarray([1.0]), lambda x: x.set(np.zeros(1)), lambda x: x[[0]]])
def test_a_copy_to_the_card_is_refused_by_cupy(stream, upload):
    x = cp.ones(1)
    stream.begin_capture()
    with pytest.raises(RuntimeError, match="the current stream is capturing, so H2D transfers are disallowed"):
        upload(x)
    stream.end_capture().launch()
    assert x.tolist() == [1]


@pytest.mark.parametrize(
    ("library", "call"),
    [
        ("cuBLAS", lambda x: x @ x), ("cuBLAS", lambda x: cp.dot(x, x)), ("cuBLAS", lambda x: cp.tensordot(x, x, 1)),
        ("cuBLAS", lambda x: cp.einsum("ij,jk", x, x)), ("cuSOLVER", cp.linalg.svd), ("cuSOLVER", cp.linalg.inv),
        ("cuRAND", lambda x: cp.random.random(3)), ("cuRAND", lambda x: cp.random.randn(3)),
    ],
)  # fmt: skip
def test_cudas_libraries_are_refused_by_cupy(stream, library, call):
    x = cp.eye(3)
    stream.begin_capture()
    with pytest.raises(NotImplementedError, match=f"calling {library} API during stream capture is currently unsup"):
        call(x)
    assert stream.is_capturing()
    stream.end_capture()
    assert not stream.is_capturing()


@pytest.mark.parametrize("wait", [lambda s: s.synchronize(), lambda s: cuda.Device().synchronize(),
                                  lambda s: cuda.runtime.deviceSynchronize()])  # fmt: skip
def test_waiting_is_refused_by_cuda_and_ends_the_capture(stream, wait):
    x = cp.ones(3)
    stream.begin_capture()
    with pytest.raises(CUDARuntimeError, match="cudaErrorStreamCaptureUnsupported"):
        wait(stream)
    with pytest.raises(RuntimeError, match="an error has invalidated the capture"):
        stream.is_capturing()
    with pytest.raises(CUDARuntimeError, match="cudaErrorStreamCaptureInvalidated"):
        x + 1
    with pytest.raises(CUDARuntimeError, match="cudaErrorStreamCaptureInvalidated"):
        stream.end_capture()
    assert not stream.is_capturing() and (x + 1).tolist() == [2, 2, 2]
    stream.synchronize()


def test_asking_whether_work_is_done_ends_the_capture(stream):
    stream.begin_capture()
    assert not stream.done
    with pytest.raises(CUDARuntimeError, match="cudaErrorStreamCaptureInvalidated"):
        stream.end_capture()


def test_the_null_stream_captures_nothing_and_cannot_be_used_beside_a_blocking_capture(card):
    with pytest.raises(RuntimeError, match="cannot capture on the default"):
        cuda.Stream.null.begin_capture()
    blocking = cuda.Stream()
    x = cp.ones(3)
    with blocking:
        blocking.begin_capture()
        y = x + 4
        with pytest.raises(CUDARuntimeError, match="cudaErrorStreamCaptureImplicit"):
            cuda.Stream.null.is_capturing()
        graph = blocking.end_capture()
    graph.launch()
    assert y.tolist() == [5, 5, 5] and not cuda.Stream.null.is_capturing()
    with blocking:
        blocking.begin_capture()
    with pytest.raises(CUDARuntimeError, match="cudaErrorStreamCaptureImplicit"):
        x + 1
    with pytest.raises(CUDARuntimeError, match="cudaErrorStreamCaptureInvalidated"):
        blocking.end_capture()
    assert (x + 1).tolist() == [2, 2, 2]


def test_streams_that_wait_for_a_capture_take_part_in_it(stream):
    other, x = cuda.Stream(non_blocking=True), cp.ones(3)
    stream.begin_capture()
    first = x * 100
    begun = stream.record()
    with pytest.raises(CUDARuntimeError, match="cudaErrorCapturedEvent"):
        begun.synchronize()
    other.wait_event(begun)
    assert other.is_capturing()
    with other:
        second = 3 * first + 1
        done = other.record()
    stream.wait_event(done)
    graph = stream.end_capture()
    assert not other.is_capturing()
    graph.launch()
    assert second.tolist() == [301, 301, 301] and len(graph.debug_dot_str().splitlines()) == 2 + 3 + 2


def test_what_cuda_says_of_forks_and_ends_that_do_not_fit(stream):
    other, x = cuda.Stream(non_blocking=True), cp.ones(3)
    with pytest.raises(CUDARuntimeError, match="cudaErrorIllegalState"):
        other.end_capture()
    stream.begin_capture()
    with pytest.raises(CUDARuntimeError, match="cudaErrorIllegalState"):
        stream.begin_capture()
    other.wait_event(stream.record())
    with other:
        x + 1
    with pytest.raises(CUDARuntimeError, match="cudaErrorStreamCaptureUnmatched"):
        other.end_capture()
    with pytest.raises(CUDARuntimeError, match="cudaErrorStreamCaptureInvalidated"):
        stream.end_capture()
    stream.begin_capture()
    other.wait_event(stream.record())
    with pytest.raises(CUDARuntimeError, match="cudaErrorStreamCaptureUnjoined"):
        stream.end_capture()
    before = other.record()
    stream.begin_capture()
    with pytest.raises(CUDARuntimeError, match="cudaErrorStreamCaptureIsolation"):
        stream.wait_event(before)
    with pytest.raises(CUDARuntimeError, match="cudaErrorStreamCaptureInvalidated"):
        stream.end_capture()
    with pytest.raises(CUDARuntimeError, match="cudaErrorInvalidValue"):
        stream.begin_capture(7)
    assert not stream.is_capturing() and not other.is_capturing()


def test_a_function_of_the_host_is_called_at_each_launch(stream):
    calls = []
    stream.launch_host_func(calls.append, 1)
    _, graph = captured(stream, stream.launch_host_func, calls.append, 2)
    graph.upload()
    graph.launch()
    graph.launch()
    assert calls == [1, 2, 2]


def test_only_a_capture_makes_graphs():
    with pytest.raises(NotImplementedError, match="cannot be initiated by the user"):
        cuda.Graph()
    assert cuda.Graph is cuda.graph.Graph
