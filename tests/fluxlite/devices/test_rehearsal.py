"""What the CUDA backend asks of CuPy, on a rehearsed card: ``pytest -m cuda`` on a computer without a real one.

`tests/helpers/rehearsal.py` says what's acted and where that stops. On a real card the conformance suite says more.
"""

import copy
import gc
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import rehearsal
from inside import add_at, cupy_devices

import fluxlite as fl

ROOT = Path(__file__).parents[3]

# What the tests for a card ask for and nothing acts. If a test needs another kernel, answer it or add it here.
NOT_REHEARSED = {
    "Thrust's sort", "Thrust's argsort", "cuBLAS sgeam", "cupy_inclusive_batch_scan_kernel",
    "_tensordot_core_int_kernel<int>", "cuRAND",
}  # fmt: skip


@pytest.mark.slow
def test_the_tests_for_a_card_run_in_a_rehearsal():
    """In a process of its own, since a rehearsal begins before CuPy is imported. These folders ask for most kernels."""
    if not rehearsal.can_start():
        pytest.skip("a rehearsal takes CuPy, and no NVIDIA driver")
    names = [f"fluxlite/{name}" for name in ("devices", "data", "saving")]
    folders = [ROOT / "tests" / name for name in (*names, "simgpu/simulated/test_launch_table.py")]
    command = [sys.executable, "-m", "pytest", "-q", "-m", "cuda", "-p", "no:nbval", "-p", "no:cacheprovider", *folders]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-3000:]
    ran, left_out = map(int, re.search(r"(\d+) tests ran; (\d+) did not", done.stdout).groups())
    assert ran > 10 * left_out
    assert set(re.findall(r"^  (.+): \d+$", done.stdout, re.MULTILINE)) <= NOT_REHEARSED


@pytest.fixture
def cards():
    """The rehearsed cards, with an empty log."""
    if not rehearsal.is_on():
        pytest.skip("no rehearsal: pytest -m cuda begins one on a computer with CuPy and without a card")
    rehearsal.log.clear()
    yield cupy_devices("CUDA")
    rehearsal.streams.all()


def numbers(shape=(2, 3), dtype=np.float32):
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


# -- from gpu(model) to save -------------------------------------------------------------------------------------------


@pytest.mark.cuda
def test_a_model_is_trained_and_saved_as_on_the_cpu(cards, tmp_path):
    fl.seed(1)
    model = fl.Chain(fl.Dense(3, 4, np.tanh), fl.Dense(4, 1))
    data = fl.DataLoader((numbers((12, 3)) / 36, numbers((12, 1)) / 12), batchsize=4)
    before, results = copy.deepcopy(model), []
    for move in (fl.gpu, fl.cpu):
        moved = move(model)
        state = fl.setup(fl.Adam(0.01), moved)
        for x, y in move(data):
            loss, (gradient, *_) = fl.withgradient(lambda m, x=x, y=y: fl.mse(m(x), y), moved)
            state, moved = fl.update(state, moved, gradient)
        fl.save(tmp_path / "model.safetensors", moved)
        results.append(fl.load(tmp_path / "model.safetensors", copy.deepcopy(model))["model"])
        assert type(loss).__module__ == ("cupy" if move is fl.gpu else "numpy")
    for there, here, start in zip(*(moved.layers for moved in results), before.layers):
        np.testing.assert_allclose(there.weight, here.weight, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(there.bias, here.bias, rtol=1e-4, atol=1e-6)
        assert abs(there.weight - start.weight).max() > 0.005


@pytest.mark.cuda
def test_a_batch_is_copied_on_its_own_stream_and_computing_waits_for_it(cards):
    x = fl.gpu(numbers())
    assert [entry[:3] for entry in rehearsal.log if entry[0] == "copy"] == [("copy", 24, "in")]
    assert not any(entry[0].startswith("synchronize") for entry in rehearsal.log)
    fl.cpu(x)
    assert rehearsal.log[-1][0] == "synchronize"
    rehearsal.log.clear()
    for x in fl.gpu(fl.DataLoader(numbers((6, 2)), batchsize=2)):
        y = x + x
        np.testing.assert_array_equal(fl.cpu(y) / 2, fl.cpu(x))
    copies = [i for i, entry in enumerate(rehearsal.log) if entry[0] == "copy" and entry[2] == "in"]
    stream = rehearsal.log[copies[0]][3]
    assert len(copies) == 3 and stream != 0 and {rehearsal.log[i][3] for i in copies} == {stream}
    for before, i in zip([0, *copies], copies):
        assert [entry[:2] for entry in rehearsal.log[before:i]].count(("wait", stream)) == 1  # for the computing so far
        _, event, where = rehearsal.log[i + 1]
        assert where == stream and ("wait", 0, event) in rehearsal.log[i:]


@pytest.mark.cuda
def test_without_waiting_a_late_copy_is_not_there(cards):
    """So the rehearsal would notice: it does late what nobody waits for."""
    there, event = cards[0].copy_in_pinned(np.full(64, -5, np.float32))
    assert not (fl.cpu(there + there) == -10).any()
    cards[0].wait_for(event)
    assert (fl.cpu(there + there) == -10).all()


@pytest.mark.cuda
def test_memory_seeds_choosing_and_refusing(cards):
    before = cards[0].memory()
    x = fl.gpu(np.ones((256, 256), np.float32))
    assert cards[0].memory().used - before.used == x.nbytes and before.capacity == rehearsal.CAPACITY
    draws = []
    for _ in range(2):
        fl.seed(7)
        draws.append(fl.cpu(cards[1].rng.uniform(0, 1, (3,), np.float32)))
    np.testing.assert_array_equal(*draws)
    assert repr(fl.get_device()) == "CUDA:0" and fl.gpu_name() == "CUDA" and len(fl.cuda.devices()) == rehearsal.CARDS
    assert "functional (CuPy" in fl.doctor() and "without cuSOLVER" in fl.doctor()
    for refused in (lambda: fl.gpu(np.array(["a"])), lambda: x + np.ones((256, 256), np.float32)):
        with pytest.raises(TypeError):
            refused()


@pytest.mark.cuda
def test_kernels_are_compiled_where_nvidias_compiler_is(cards):
    import cupy
    import rehearsed_kernels

    if not rehearsed_kernels._nvrtc():
        pytest.skip("NVRTC is not installed: pip install nvidia-cuda-nvrtc-cu12")
    source = 'extern "C" __global__ void f(float* x) { x[0] = %s; }'
    cupy.RawKernel(source % "1", "f").compile()
    assert rehearsal.log[-1][0] == "compile"
    with pytest.raises(cupy.cuda.compiler.CompileException, match="undefined"):
        cupy.RawKernel(source % "y", "f").compile()


# -- measuring ---------------------------------------------------------------------------------------------------------


@pytest.mark.cuda
def test_a_stopwatch_is_two_marks_in_the_cards_work(cards):
    x = fl.gpu(numbers())
    rehearsal.log.clear()
    watch = cards[0].stopwatch()
    x + x
    watch.stop()
    x + x
    assert watch.seconds() > 0
    marks = [entry[0] for entry in rehearsal.log if entry[0] in ("record", "launch", "synchronize event")]
    assert marks == ["record", "launch", "record", "launch", "synchronize event"]
    assert rehearsal.log[-1][1] == [entry[1] for entry in rehearsal.log if entry[0] == "record"][1]


@pytest.mark.cuda
def test_receipts_hear_of_copies_and_of_waits_that_were_asked_for(cards):
    x = fl.gpu(numbers())
    with fl.receipt() as r:
        fl.cpu(x)
        cards[0].synchronize()
    waits = [moment.explicit for moment in r.timeline() if moment.kind == "synchronize"]
    assert (waits, r.device_to_host.explicit) == ([True, True], 1)


@pytest.mark.cuda
def test_parts_of_a_program_have_names_for_the_profiler(cards, monkeypatch):
    from cupy.cuda import nvtx

    pushed = []
    monkeypatch.setattr(nvtx, "RangePush", lambda name, color: pushed.append(name))
    monkeypatch.setattr(nvtx, "RangePop", lambda: pushed.append("end"))
    for available in (True, False):
        monkeypatch.setattr(nvtx, "available", available)
        with fl.cuda.time_range("forward"):
            pushed.append("work")
        assert fl.cuda.time_range("twice")(lambda: 4)() == 4
    assert pushed == ["forward", "work", "end", "twice", "end", "work"]


@pytest.mark.cuda
def test_windows_are_cut_out_without_a_copy_or_a_wait(cards):
    x, layer = fl.gpu(np.ones((2, 6, 6, 1), np.float32)), fl.gpu(fl.Conv((3, 3), 1, 2))
    layer(x)
    rehearsal.log.clear()
    layer(x)
    assert not [entry for entry in rehearsal.log if entry[0] == "copy" or "synchronize" in entry[0]]


# -- what would break on a first card ----------------------------------------------------------------------------------


@pytest.mark.cuda
def test_cupy_computes_on_the_current_card_and_the_backend_enters_that_of_its_arrays(cards):
    first, second = cards
    x = second.upload(numbers())
    with pytest.raises(ValueError, match="Peer access is unavailable"):
        x + x
    assert np.zeros_like(x).device.id == 0  # CuPy's rule: not where x is
    total = second.upload(np.zeros(3, np.float32))
    add_at(total, second.upload(np.array([0, 2, 0])), second.upload(np.ones(3, np.float32)))
    np.testing.assert_array_equal(second.download(total), [2, 0, 1])
    pinned, event = second.copy_in_pinned(numbers())
    second.wait_for(event)
    drawn = second.rng.random((2,), np.float32)
    back = first.receive(x)
    assert [y.device.id for y in (x, total, pinned, drawn, back)] == [1, 1, 1, 1, 0]
    with second:
        np.testing.assert_array_equal(fl.cpu(x + pinned), 2 * numbers())
    assert {entry[2] for entry in rehearsal.log if entry[:2] == ("launch", "cupy_scatter_add")} == {1}


@pytest.mark.cuda
def test_a_model_is_trained_on_the_second_card_while_the_first_is_current(cards):
    second = cards[1]
    fl.seed(1)
    model = second(fl.Chain(fl.Dense(3, 4, np.tanh), fl.Dense(4, 1)))
    state = fl.setup(fl.Adam(), model)
    for x, y in second(fl.DataLoader((numbers((12, 3)), np.ones((12, 1), np.float32)), batchsize=4)):
        _, (grads,) = fl.withgradient(lambda m, x=x, y=y: np.mean((m(x) - y) ** 2), model)  # by NumPy alone
        fl.update(state, model, grads)
    _, again = fl.updated(state, model, grads)
    vector, restructure = fl.destructure(model)
    made = model[0].weight, state.layers[0].weight.memory["mean"], fl.mse(model(x), y), again[0].weight, vector
    more = restructure(vector)[0].weight, fl.tanh(x), fl.relu(x), fl.f16(model)[0].weight
    assert rehearsal.state.device == 0 and {y.device.id for y in (*made, *more)} == {1}


@pytest.mark.cuda
def test_batches_of_what_is_on_the_second_card_and_a_pipeline_of_two(cards):
    first, second = cards
    data = second((numbers((6, 2)), np.arange(6)))
    for shuffle in (False, True):
        for x, y in fl.DataLoader(data, batchsize=3, shuffle=shuffle):
            assert x.device.id == y.device.id == 1 and x.shape == (3, 2)
    fl.batch([data[0], data[0]])
    one, two = first(fl.Dense(3, 4, np.tanh)), second(fl.Dense(4, 1))
    x, target = first(numbers((5, 3))), second(np.zeros((5, 1), np.float32))
    _, (of_one, of_two) = fl.withgradient(lambda one, two: fl.mse(two(second(one(x))), target), one, two)
    assert of_one.weight.device.id == 0 and of_two.weight.device.id == 1 and rehearsal.state.device == 0
    for view in (np.transpose, lambda x: x[:, ::2], lambda x: x[::-1], lambda x: x[:, 1]):
        x = second.upload(numbers((4, 6)))  # CuPy copies only whole blocks from card to card, and raises for others
        np.testing.assert_array_equal(fl.cpu(first(view(x))), view(numbers((4, 6))))


@pytest.mark.cuda
def test_the_memory_of_a_copy_that_was_dropped_goes_to_no_array_of_the_computing_stream(cards):
    """A batch whose second array can't move: the first one's copy is late, and nobody waits for it."""
    batch = (np.full(1000, 7, np.float32), np.array(["a"]))
    with pytest.raises(TypeError, match="a GPU holds numbers"):
        next(iter(fl.CuIterator([batch])))
    gc.collect()  # the error held the frames that held the copy
    others = [fl.gpu(np.ones(1000, np.float32)) for _ in range(4)]
    rehearsal.streams.all()  # now the copy is made
    for x in others:
        np.testing.assert_array_equal(fl.cpu(x), 1)


@pytest.mark.cuda
@pytest.mark.parametrize("dtype", [">f4", "<f4", ">c8"])
def test_a_card_has_one_byte_order(cards, dtype):
    x = numbers(dtype=dtype)
    pinned, event = cards[0].copy_in_pinned(x)
    cards[0].wait_for(event)
    for there in (fl.gpu(x, dtype=None), pinned):
        assert there.dtype == np.dtype(dtype).newbyteorder("=")
        np.testing.assert_array_equal(fl.cpu(there), x)
