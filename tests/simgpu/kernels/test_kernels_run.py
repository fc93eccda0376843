"""Kernels by hand compute what they should, and each planted mistake is found, with its line."""

import inspect
import re
import sys

import numpy as np
import puzzles
import pytest

import fluxlite as fl
from fluxlite.cuda import jit

pytestmark = pytest.mark.usefixtures("simulated")


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def launched(kernel, blocks, threads, *args, out=-1):
    """What's in argument number `out` after a launch on copies of these arguments."""
    there = [fl.gpu(x, dtype=None) if isinstance(x, np.ndarray) else x for x in args]
    kernel[blocks, threads](*there)
    return fl.cpu(there[out])


X, Y, W = floats(1024), floats(1024, seed=1), floats(5, seed=2)
A, B = floats(64, 64, seed=3), floats(64, 64, seed=4)
INTS = np.random.default_rng(5).integers(0, 16, 3000).astype(np.int32)


def zeros(*shape, dtype=np.float32):
    return np.zeros(shape, dtype)


def escape_times():
    c = np.arange(64)[None] / 20 - 2 + 1j * (np.arange(32)[:, None] / 20 - 1)
    z, rounds = np.zeros_like(c), np.zeros(c.shape, int)
    for _ in range(30):
        inside = z.real**2 + z.imag**2 <= 4
        z = np.where(inside, z * z + c, z)
        rounds += inside
    return rounds


SOFTMAX = np.exp(A - A.max(1, keepdims=True)) / np.exp(A - A.max(1, keepdims=True)).sum(1, keepdims=True)

RIGHT = [
    (puzzles.twice, 4, 32, (X[:128], zeros(128)), X[:128] * 2),
    (puzzles.guarded, 4, 32, (X[:100], zeros(100)), X[:100] * 2),
    (puzzles.map_2d, (3, 2), (16, 16), (A[:25, :40], zeros(25, 40)), np.tanh(A[:25, :40]) + 0.5),
    (puzzles.block_sum, 8, 128, (X, zeros(8)), X.reshape(8, 128).sum(1)),
    (puzzles.dot_product, 8, 128, (X, Y, zeros(1)), [X @ Y]),
    (puzzles.convolution, 8, 128, (X, W, zeros(1020)), np.correlate(X, W, "valid")),
    (puzzles.product, (4, 4), (16, 16), (A, B, zeros(64, 64)), A @ B),
    (puzzles.product_by_tiles, (4, 4), (16, 16), (A, B, zeros(64, 64)), A @ B),
    (puzzles.histogram, 4, 64, (INTS, zeros(16, dtype=np.int32)), np.bincount(INTS, minlength=16)),
    (puzzles.running_sum, 1, 64, (X[:64], zeros(64)), np.cumsum(X[:64])),
    (puzzles.softmax, 64, 32, (A, zeros(64, 64)), SOFTMAX),
    (puzzles.mandelbrot, (2, 1), (32, 32), (zeros(32, 64, dtype=np.int32),), escape_times()),
    (puzzles.exits_before_a_barrier, 1, 64, (X[:40], zeros(40)), X[:40][::-1]),
    (puzzles.through_a_function, 2, 64, (X[:128], zeros(128)), X[:128]),
]


def name_of(x):
    return getattr(x, "name", None)


@pytest.mark.parametrize(("kernel", "blocks", "threads", "args", "wanted"), RIGHT, ids=name_of)
def test_right_values(kernel, blocks, threads, args, wanted):
    np.testing.assert_allclose(launched(kernel, blocks, threads, *args), wanted, rtol=1e-4, atol=1e-4)


def test_transposed_with_and_without_padding():
    for width, conflicts in ((33, 0), (32, 31 * 4 * 32)):
        out = launched(puzzles.transposed, (2, 2), (32, 8), A, zeros(64, 64), width, out=1)
        assert (out == A.T).all()
        assert puzzles.transposed.figures.conflicts == conflicts


def test_each_taker_of_a_place_gets_another_one():
    out, count = zeros(1024), zeros(1, dtype=np.int32)
    there = [fl.gpu(x, dtype=None) for x in (X, out, count)]
    puzzles.positives[8, 128](*there)
    taken = int(fl.cpu(there[2])[0])
    assert taken == (X > 0).sum()
    assert sorted(fl.cpu(there[1])[:taken]) == sorted(X[X > 0])


def test_a_product_does_not_depend_on_how_many_blocks_run_at_once(monkeypatch):
    from inside import launch

    results = []
    for lanes in (1, 300, 1 << 16):
        monkeypatch.setattr(launch, "_AT_ONCE", lanes)
        results.append(launched(puzzles.product_by_tiles, (4, 4), (16, 16), A, B, zeros(64, 64)))
        results.append(puzzles.product_by_tiles.figures.sectors)
        with pytest.raises(jit.DataRace):
            launched(puzzles.dot_product_race, 8, 128, X, Y, zeros(1))
    assert all(np.array_equal(result, results[k % 2]) for k, result in enumerate(results))


# -- mistakes -------------------------------------------------------------------------------------------------------


def line_with(kernel, comment):
    """The number of the line with this comment in the text of a kernel."""
    lines, first = inspect.getsourcelines(kernel.function)
    return first + next(k for k, line in enumerate(lines) if f"# {comment}" in line)


SAME = object()  # the second argument is the first one
EMPTY = object()  # it's made by np.empty_like

MISTAKES = [
    (puzzles.twice, 4, 32, (X[:100], zeros(100)), jit.OutOfBounds, None,
     "block (3), thread (4), line .*x has 100 elements, 0 to 99; index 100 is outside.*28 threads"),
    (puzzles.left_neighbour, 1, 32, (X[:32], zeros(32)), jit.OutOfBounds, "index",
     "thread (0), .*index 4,294,967,295 is outside.*int(jit.grid(1))"),
    (puzzles.left_neighbour_signed, 1, 32, (X[:32], zeros(32)), jit.OutOfBounds, "index",
     "thread (0), .*index -1 is outside.*doesn't count from the end"),
    (puzzles.block_sum_without_barrier, 8, 128, (X, zeros(8)), jit.DataRace, "race",
     "this thread reads part[.*], which block (0), thread (.*) writes (lines .* and .*RAW.*jit.syncthreads() between"),
    (puzzles.block_sum_stuck, 8, 128, (X, zeros(8)), jit.StuckBarrier, "stuck",
     "64 of the block's 128 threads do not come here, first of all thread (64).*where all threads pass"),
    (puzzles.dot_product_race, 8, 128, (X, Y, zeros(1)), jit.DataRace, "race",
     "out[0], which block (.*), thread (.*) reads (line.*jit.atomic_add(out, 0, x[i] * y[i])"),
    (puzzles.dot_product_race, 1, 128, (X[:128], Y[:128], zeros(1)), jit.DataRace, "race",
     "out[0], which block (0), thread"),
    (puzzles.product_by_tiles_race, (4, 4), (16, 16), (A, B, zeros(64, 64)), jit.DataRace, "race",
     "writes left[0], which block (0, 0), thread (.*, 0) reads (line.*write after read, WAR"),
    (puzzles.convolution_unwritten, 8, 128, (X, W, zeros(1024)), jit.NeverWritten, "unwritten",
     "thread (127).*no thread has written tile[128] yet"),
    (puzzles.shifted, 4, 32, (X[:128], SAME), jit.DataRace, "race",
     "which block (.*), thread (.*) reads (line.*WAR.*Blocks never wait for each other: write into another array"),
    (puzzles.shifted, 1, 32, (X[:32], SAME), jit.DataRace, "race",
     "writes out[1], which block (0), thread (1) reads"),
    (puzzles.added, 1, 32, (X[:32], EMPTY), jit.NeverWritten, "unwritten",
     "out was made by `empty`, and nothing has written out[0] yet"),
    (puzzles.too_much_shared, 1, 32, (zeros(1),), jit.TooMuch, "too much",
     "65,536 bytes of shared memory.*49,152"),
    (puzzles.guarded, 1, 2048, (X, zeros(1024)), jit.TooMuch, None, "2,048 threads a block; a block has at most"),
    (puzzles.guarded, (1, 70_000), 32, (X, zeros(1024)), jit.TooMuch, None,
     "70,000 along y, and the most is 65,535"),
    (puzzles.endless, 1, 32, (zeros(1),), jit.Endless, "endless",
     "nothing in this loop changes what it tests: `while x[0] < 1.0` can't end.*waits for another one's write"),
    (puzzles.value_of_a_branch, 1, 32, (X[:32], zeros(32)), jit.NeverWritten, "no value",
     "sign has no value in this thread yet"),
    (puzzles.warp_reversed, 1, 64, (X[:64], zeros(64), False), jit.DataRace, "race", "reads part[.*writes (line.*RAW"),
    (puzzles.half_a_warp_waits, 1, 32, (X[:32], zeros(32)), jit.StuckBarrier, "stuck", "thread (16), of the same warp"),
    (puzzles.shuffle_of_half, 1, 32, (X[:32], zeros(32)), jit.NeverWritten, "asleep", "doesn't come here"),
    (puzzles.through_a_function, 2, 64, (X[:100], zeros(128)), jit.OutOfBounds, None,
     "kernel element, block (1), thread (36), line .*index 100"),
]  # fmt: skip


@pytest.mark.parametrize(("kernel", "blocks", "threads", "args", "kind", "comment", "words"), MISTAKES, ids=name_of)
def test_mistakes_are_found(kernel, blocks, threads, args, kind, comment, words, monkeypatch):
    monkeypatch.setattr(kernel, "most_rounds", 2000)
    there = [fl.gpu(x, dtype=None) if isinstance(x, np.ndarray) else x for x in args]
    there = [there[0] if x is SAME else np.empty_like(there[0]) if x is EMPTY else x for x in there]
    with pytest.raises(kind, match=escaped(words)) as error:
        kernel[blocks, threads](*there)
    if comment:
        assert f"line {line_with(kernel, comment)}: " in str(error.value)


def escaped(words):
    """A pattern where only ``.*`` means something, also across lines."""
    import re

    return "(?s)" + ".*".join(re.escape(part) for part in words.split(".*"))


def test_a_barrier_of_the_warp_orders_its_threads():
    out = launched(puzzles.warp_reversed, 1, 64, X[:64], zeros(64), True, out=1)
    assert (out.reshape(2, 32) == X[:64].reshape(2, 32)[:, ::-1]).all()


def test_written_memory_from_empty_can_be_read():
    x = fl.gpu(X[:32])
    out = np.empty_like(x)
    puzzles.twice[1, 32](x, out)
    puzzles.added[1, 32](x, out)
    other = np.empty_like(x)
    other[...] = 0.0  # written without a kernel
    puzzles.added[1, 32](x, other)
    assert (fl.cpu(out) == X[:32] * 3).all() and (fl.cpu(other) == X[:32]).all()


def test_views_share_memory_and_its_log():
    x = fl.gpu(X[:64].copy())
    puzzles.guarded[1, 32](x[:32], x[32:])  # they don't overlap
    assert (fl.cpu(x)[32:] == X[:32] * 2).all()
    with pytest.raises(jit.DataRace):
        puzzles.guarded[2, 32](x[:48], x[16:])
    flipped = np.zeros_like(x[:32])
    puzzles.guarded[1, 32](x[:32][::-1], flipped)
    assert (fl.cpu(flipped) == X[:32][::-1] * 2).all()


@pytest.mark.parametrize(("x", "words"), [
    (X, "x is on the host, an array of shape (1024,).*on an NVIDIA GPU, or on a simulated one.*x = fl.gpu(x)"),
    ([1.0], "x is list; it takes numbers, and arrays on a GPU"),
])  # fmt: skip
def test_what_is_not_on_a_gpu(x, words):
    with pytest.raises(TypeError, match=escaped(words)):
        puzzles.endless[1, 1](x)


def test_a_host_array_beside_one_on_a_gpu():
    with pytest.raises(TypeError, match=escaped("out is on the host.*A kernel runs on Simulated:0")):
        puzzles.twice[1, 1](fl.gpu(X), X)


def test_how_a_kernel_is_called():
    x = fl.gpu(X[:32])
    out = np.zeros_like(x)
    puzzles.guarded((1,), (32,), (x, out))  # as in cupyx.jit
    assert (fl.cpu(out) == X[:32] * 2).all()
    for call, words in [
        (lambda: puzzles.guarded(x, out), "launch it as guarded[blocks, threads]"),
        (lambda: puzzles.guarded[1](x, out), "write guarded[blocks, threads]"),
        (lambda: puzzles.guarded[1, 32](x), "takes 2 arguments, got 1"),
        (lambda: puzzles.guarded[0, 32](x, out), "blocks are one to three numbers from 1 on, got 0"),
        (lambda: puzzles.element(x, 1), "only a kernel can call it"),
        (lambda: jit.grid(1), "only inside a kernel"),
        (lambda: jit.threadIdx.x, "only inside a kernel"),
        (lambda: jit.rawkernel(mode="numpy"), 'mode="cuda"'),
    ]:
        with pytest.raises((TypeError, RuntimeError, ValueError), match=escaped(words)):
            call()


def test_names_from_outside_mean_what_they_mean_now(monkeypatch):
    x = fl.gpu(X[:32])
    out = np.zeros_like(x)
    for rate in (2.0, 3.0):
        monkeypatch.setitem(globals(), "RATE", rate)
        scaled[1, 32](x, out)
        np.testing.assert_allclose(fl.cpu(out), X[:32] * rate, rtol=1e-6)


RATE = 1.0


@jit.rawkernel()
def scaled(x, out):
    i = jit.grid(1)
    out[i] = x[i] * RATE


def test_numbers_wrap_and_divide_as_in_c():
    n = fl.gpu(np.array([2**31 - 1, -7, 7, 0], np.int32), dtype=None)
    out = fl.gpu(np.zeros(4), dtype=None)
    c_numbers[1, 1](n, out)
    assert fl.cpu(out).tolist() == [-(2**31), -4.0, 1.0, 3.5]


@jit.rawkernel()
def c_numbers(n, out):
    out[0] = n[0] + 1
    out[1] = n[1] // 2
    out[2] = n[1] % 2
    out[3] = n[2] / 2


def test_a_watched_thread_says_what_it_does(capsys, monkeypatch):
    monkeypatch.setattr(puzzles.block_sum, "watched", (1, 2))
    launched(puzzles.block_sum, 2, 128, X[:256], zeros(2))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("part = jit.shared_memory(np.float32, 128)")
    assert lines[1].endswith("t = int(jit.threadIdx.x)    t = 2")
    assert sum("part[t] += part[t + half]" in line for line in lines) == 5  # 64, 32, 16, 8, 4
    assert "half = 32" in "".join(lines)


def test_a_kernel_that_is_called_like_one_of_cudas_functions():
    with pytest.raises(jit.Refused, match="tanh is a word of CUDA C"):
        tanh[1, 1](fl.gpu(X))


@jit.rawkernel()
def tanh(x):
    x[0] = 1.0


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_arrays_in_any_order_of_memory(order):
    x = floats(4, 6, 8).transpose(order)
    there = fl.gpu(x)
    out = fl.gpu(np.zeros(x.shape, np.float32, order="F"))
    in_three[1, x.shape[::-1]](there, out)
    assert (fl.cpu(out) == x + 1).all()
    in_three[1, x.shape](there.T, out.T)  # a view
    assert (fl.cpu(out) == x + 1).all()


@jit.rawkernel()
def in_three(x, out):
    i = jit.threadIdx.z
    j = jit.threadIdx.y
    k = jit.threadIdx.x
    out[i, j, k] = x[i, j, k] + 1


def test_two_types_in_one_memory_share_a_log():
    x = fl.gpu(X[:64].copy())
    halves = x.view(np.int16)
    puzzles.guarded[2, 32](halves[64:96], halves[:32])
    with pytest.raises(jit.DataRace):
        mixed[1, 32](x, halves)


@jit.rawkernel()
def mixed(x, halves):
    i = jit.grid(1)
    halves[i] = 1
    x[i] = 1.0


def test_an_array_of_no_axes():
    x = fl.gpu(np.array(3.0, np.float32))
    square_of_one[1, 1](x)
    assert float(fl.cpu(x)) == 9.0


@jit.rawkernel()
def square_of_one(x):
    x[()] = x[()] * x[()]


def test_arrays_on_two_devices():
    with fl.simulate_gpu(2):
        x, y = (fl.get_device("Simulated", i)(X[:32]) for i in range(2))
        with pytest.raises(ValueError, match="arrays of two devices"):
            puzzles.guarded[1, 32](x, y)


LAUNCHES = {
    "in brackets": lambda x, out: puzzles.twice[4, 32](x, out),
    "as a call": lambda x, out: puzzles.twice((4,), (32,), (x, out)),
    "traced": lambda x, out: puzzles.twice.trace(4, 32, (x, out)),
    "too many threads": lambda x, out: puzzles.twice[1, 2048](x, out),
    "on the host": lambda x, out: puzzles.twice[4, 32](x, zeros(100)),
    "too few arrays": lambda x, out: puzzles.twice[4, 32](x),
}


@pytest.mark.parametrize("launch", LAUNCHES.values(), ids=LAUNCHES)
def test_an_error_shows_the_launch_and_no_line_of_ours(launch):
    import traceback

    with pytest.raises((jit.KernelError, TypeError)) as error:
        launch(fl.gpu(X[:100]), fl.gpu(zeros(100)))
    files = {frame.filename for frame in traceback.extract_tb(error.value.__traceback__)}
    assert files == {__file__} and "kernel twice" in str(error.value)


def test_in_a_notebook_an_error_shows_the_launch_and_its_message_alone(capsys, monkeypatch, tmp_path):
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    from traitlets.config import Config

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # a shell puts its own there
    shell = interactive.InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    shell.user_ns |= {"shift": puzzles.twice, "x": fl.gpu(X[:100]), "out": fl.gpu(zeros(100))}
    shell.run_cell("y = 1\nshift[4, 32](x, out)\nz = 2")
    shown = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    head, _, message = shown.strip("-\n").partition("\n\n")
    assert [line.strip() for line in head.splitlines()[-3:]] == ["1 y = 1", "----> 2 shift[4, 32](x, out)", "3 z = 2"]
    assert ".py" not in head and message.startswith("OutOfBounds: kernel twice, block (3), thread (4), line ")
