"""Kernels by hand compute what they should; how they're launched, and what of."""

import traceback

import numpy as np
import puzzles
import pytest
from puzzles import A, B, X, Y, floats, launched, zeros
from snippets import escaped

import fluxlite as fl
from fluxlite.cuda import jit

pytestmark = pytest.mark.usefixtures("simulated")


@pytest.mark.parametrize(("kernel", "blocks", "threads", "args", "wanted"), puzzles.RIGHT, ids=puzzles.name_of)
def test_right_values(kernel, blocks, threads, args, wanted):
    np.testing.assert_allclose(launched(kernel, blocks, threads, *args), wanted, rtol=1e-4, atol=1e-4)


@jit.rawkernel()
def divided(x, y, quotient, rest):
    i = int(jit.grid(1))
    quotient[i] = x[i] // y[i]
    rest[i] = x[i]
    rest[i] %= y[i]


@jit.rawkernel()
def converted(x, ints, uints):
    i = int(jit.grid(1))
    ints[i] = np.int32(x[i])
    uints[i] = np.uint32(x[i])


@pytest.mark.parametrize(
    ("kind", "x", "y", "quotients", "rests"),
    [  # carray.cuh, _floor_divide; _routines_math.pyx, cupy_remainder
        ("f", [7.5, -7.5, 1, 5, 1, 0], [2, 2, -2, np.inf, 0, 0], [3, -4, -1, 0, np.inf, np.nan],
         [1.5, 0.5, -1, np.nan, np.nan, np.nan]),
        ("d", [1, 0.9], [0.1, 0.1], [10, 9], [0, 0]), ("e", [-7], [2], [-4], [1]),
        ("i", [7, -7, 7, -7, 5, -(2**31)], [2, 2, -2, -2, 0, -1], [3, -4, -4, 3, 0, -(2**31)], [1, 1, -1, -1, 0, 0]),
        ("b", [-128, -7], [-1, 2], [-128, -4], [0, 1]), ("I", [7, 7], [2, 0], [3, 0], [1, 0]),
    ],
)  # fmt: skip
def test_division_is_a_cards(kind, x, y, quotients, rests):
    x, y = np.array(x, kind), np.array(y, kind)
    for out, wanted in ((2, quotients), (3, rests)):
        got = launched(divided, 1, x.size, x, y, np.zeros_like(x), np.zeros_like(x), out=out)
        np.testing.assert_allclose(got, np.array(wanted, kind), atol=1e-15)


def test_a_float_that_an_integer_cannot_hold_becomes_the_nearest():
    x = floats(6) * 0 + np.float32([3e9, -3e9, np.inf, np.nan, -1.5, 7.9])
    out = np.zeros(6, np.int32), np.zeros(6, np.uint32)
    most, least = 2**31 - 1, -(2**31)
    assert launched(converted, 1, 6, x, *out, out=1).tolist() == [most, least, most, 0, -1, 7]
    assert launched(converted, 1, 6, x, *out, out=2).tolist() == [3_000_000_000, 0, 2**32 - 1, 0, 0, 7]


def test_transposed_with_and_without_padding():
    for width, conflicts in ((33, 0), (32, 31 * 4 * 32)):
        out = launched(puzzles.transposed, (2, 2), (32, 8), A, zeros(64, 64), width, out=1)
        assert (out == A.T).all()
        assert puzzles.transposed.figures.conflicts == conflicts


def test_each_taker_of_a_place_gets_another_one():
    out = launched(puzzles.positives, 8, 128, X, zeros(1024, dtype=np.int32)).tolist()
    positive = np.flatnonzero(X[:-1] > 0)
    assert out.pop() == len(positive) and sorted(out[: len(positive)]) == positive.tolist()


def test_a_product_does_not_depend_on_how_many_blocks_run_at_once(monkeypatch):
    from inside import launch

    results = []
    for lanes in (1, 300, 1 << 16):
        monkeypatch.setattr(launch, "_AT_ONCE", lanes)
        results.append(launched(puzzles.product_by_tiles, (4, 4), (16, 16), A, B, zeros(64, 64)))
        results.append(puzzles.product_by_tiles.figures.sectors)
        with pytest.raises(jit.DataRace):
            launched(added_up, 8, 128, X, Y)
    assert all(np.array_equal(result, results[k % 2]) for k, result in enumerate(results))


@jit.rawkernel()
def added_up(x, out):
    out[0] += x[jit.grid(1)]


def test_views_share_memory_and_its_log():
    x = fl.gpu(X[:64].copy())
    puzzles.guarded[1, 32](x[:32], x[32:])  # they don't overlap
    assert (fl.cpu(x)[32:] == X[:32] * 2).all()
    with pytest.raises(jit.DataRace):
        puzzles.guarded[2, 32](x[:48], x[16:])
    flipped = np.zeros_like(x[:32])
    puzzles.guarded[1, 32](x[:32][::-1], flipped)
    assert (fl.cpu(flipped) == X[:32][::-1] * 2).all()


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_arrays_in_any_order_of_memory(order):
    x = floats(4, 6, 8).transpose(order)
    there = fl.gpu(x)
    out = fl.gpu(np.zeros(x.shape, np.float32, order="F"))
    puzzles.in_three[1, x.shape[::-1]](there, out)
    assert (fl.cpu(out) == x + 1).all()
    puzzles.in_three[1, x.shape](there.T, out.T)  # a view
    assert (fl.cpu(out) == x + 1).all()


@pytest.mark.parametrize(("args", "words"), [
    (lambda x: (X, X), "x is on the host, an array of shape (1024,).*NVIDIA GPU, or on a simulated one.*x = fl.gpu(x)"),
    (lambda x: ([1.0], x), "x is list; it takes numbers, and arrays on a GPU"),
    (lambda x: (x, X), "out is on the host.*A kernel runs on Simulated:0"),
])  # fmt: skip
def test_what_is_not_on_a_gpu(args, words):
    with pytest.raises(TypeError, match=escaped(words)):
        puzzles.twice[1, 1](*args(fl.gpu(X)))


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
        (lambda: puzzles.warp_sum(1), "only a kernel can call it"),
        (lambda: puzzles.guarded[1, 8](x, out=out), "got an unexpected keyword argument 'out'"),
        (lambda: jit.grid(1), "only inside a kernel"),
        (lambda: jit.threadIdx.x, "only inside a kernel"),
        (lambda: jit.rawkernel(mode="numpy"), 'mode="cuda"'),
    ]:
        with pytest.raises((TypeError, RuntimeError, ValueError), match=escaped(words)):
            call()


def test_a_kernel_that_is_called_like_one_of_cudas_functions():
    with pytest.raises(jit.Refused, match="tanh is a word of CUDA C"):
        tanh[1, 1](fl.gpu(X))


@jit.rawkernel()
def tanh(x):
    x[0] = 1.0


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
    with pytest.raises((jit.KernelError, TypeError)) as error:
        launch(fl.gpu(X[:100]), fl.gpu(zeros(100)))
    files = {frame.filename for frame in traceback.extract_tb(error.value.__traceback__)}
    assert files == {__file__} and "kernel twice" in str(error.value)
