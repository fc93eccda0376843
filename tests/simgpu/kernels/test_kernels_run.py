"""Kernels by hand compute what they should; how they're launched, and what of."""

import traceback

import numpy as np
import puzzles
import pytest
import snippets
from puzzles import A, B, X, Y, floats, launched, zeros
from snippets import escaped

import fluxlite as fl
from fluxlite.cuda import jit

pytestmark = pytest.mark.usefixtures("simulated")


@pytest.mark.parametrize(("kernel", "blocks", "threads", "args", "wanted"), puzzles.RIGHT, ids=puzzles.name_of)
def test_right_values(kernel, blocks, threads, args, wanted):
    np.testing.assert_allclose(launched(kernel, blocks, threads, *args), wanted, rtol=1e-4, atol=1e-4)


@jit.rawkernel()
def turned(x, out):
    part = jit.shared_memory(np.float32, None)
    again = jit.shared_memory(np.float32, None)  # the same memory, as with CUDA's extern
    t = int(jit.threadIdx.x)
    part[t] = x[int(jit.grid(1))]
    jit.syncthreads()
    out[int(jit.grid(1))] = again[int(jit.blockDim.x) - 1 - t]


@pytest.mark.parametrize("blocks", [1, 3])
def test_shared_memory_as_large_as_the_launch_says(blocks):
    x = floats(32 * blocks)
    wanted = x.reshape(blocks, 32)[:, ::-1].ravel()
    for kernel in (turned, turned.shuffled(1)):
        on_card, out = fl.gpu(x), fl.gpu(np.zeros_like(x))
        kernel((blocks,), (32,), (on_card, out), shared_mem=128)
        assert (fl.cpu(out) == wanted).all()
    assert turned.figures.shared_bytes == 128
    assert len(turned.trace(blocks, 32, (on_card, out), shared_mem=128)) == 4
    found = jit.check(turned, lambda x: x[::-1], [32], launch=lambda n: (1, n, 4 * n))
    assert found, found
    for shared_mem, error, words in (
        (124, jit.OutOfBounds, "(?s)part has 31 elements.*it is: shared_mem=124, and it takes 4 bytes"),
        (-1, ValueError, "got -1"), (49_156, jit.TooMuch, "49,156 bytes"), ("1", TypeError, "number of bytes"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            turned[blocks, 32](on_card, out, shared_mem=shared_mem)


@jit.rawkernel()
def from_the_first(x, out, width):
    t = int(jit.threadIdx.x)
    out[t] = jit.shfl_sync(0xFFFFFFFF, x[t], 0, width=width)


@jit.rawkernel()
def from_lane_3(x, out):
    t = int(jit.threadIdx.x)
    if t == 3:
        value = x[t]
    out[t] = jit.shfl_sync(0xFFFFFFFF, value, 3)


def test_a_shuffle_whose_width_is_an_argument():
    x = np.arange(32, dtype=np.float32)
    for width in (1, 2, 8, 32):
        assert launched(from_the_first, 1, 32, x, zeros(32), width, out=1).tolist() == (x // width * width).tolist()
    with pytest.raises(jit.KernelError, match="the width of a shuffle is 5"):
        launched(from_the_first, 1, 32, x, zeros(32), 5)
    assert launched(from_lane_3, 1, 32, x, zeros(32)).tolist() == [3] * 32, "the others' values aren't asked for"


@jit.rawkernel()
def halves(x, out, width):
    t = int(jit.threadIdx.x)
    group = ((1 << width) - 1) << (t % 32 // width * width)
    for _ in range(2):
        out[t] = x[t // width * width + (t + 1) % width]
        jit.syncwarp(mask=group)
        x[t] = out[t]
        jit.syncwarp(mask=group)


@jit.rawkernel()
def some_of_a_warp(x, count):
    t = int(jit.threadIdx.x)
    if t < count:
        x[t] = x[t] + 1
        jit.syncwarp(mask=(1 << count) - 1)
        x[count - 1 - t] = x[count - 1 - t] * 2


def test_a_barrier_of_a_part_of_a_warp():
    x = np.arange(64, dtype=np.float32)
    for width in (2, 16):
        wanted = np.roll(x.reshape(-1, width), -2, axis=1).ravel()
        assert launched(halves, 1, 64, x, zeros(64), width, out=1).tolist() == wanted.tolist()
    for count in (1, 4, 32):
        got = launched(some_of_a_warp, 1, 32, x[:32].copy(), count, out=0)
        assert got.tolist() == [*((x[:count] + 1) * 2), *x[count:32]]


@pytest.mark.parametrize(
    ("body", "kind"),
    [  # the kinds of cupyx/jit/_compile.py and _builtin_funcs.py
        ("out[0] = nobody", NameError), ("i, = jit.grid(1)", ValueError), ("i = jit.grid(0)", ValueError),
        ("i = jit.grid('x')", TypeError), ("i = jit.threadIdx.w", AttributeError), ("out[0] = z[0, 1, 2]", IndexError),
        ("jit.syncwarp(mask=-1)", ValueError), ("out[0] = jit.shfl_sync(-1, x[0], 0)", ValueError),
        ("out[0] = jit.shfl_sync(15, x[0], 0, width=3)", ValueError), ("del x", NotImplementedError),
        ("a = b = 1", NotImplementedError), ("return 1", ValueError), ("import math", ValueError),
        ("with x:\n    pass", ValueError), ("out[0] = 1 // 0", ZeroDivisionError), ("out[0] = [1]", ValueError),
        ("out[0] = 'x'", NotImplementedError), ("out[0] = np.maximum(x[0])", ValueError),
        ("if 0 < n < 3:\n    pass", NotImplementedError), ("out[0] = x[0] @ x[0]", KeyError),
        ("out[0] = mixed(x[0])", ValueError), ("out[0] = np.uint32(-1)", OverflowError),
        ("for k in x:\n    pass", NotImplementedError), ("out[0] = x.nothing", AttributeError),
    ],
)  # fmt: skip
def test_a_refusal_is_of_the_kind_that_cupy_raises(body, kind, tmp_path):
    text = snippets.HEAD + snippets.text_of(body, "wrong")
    kernel = snippets.imported(tmp_path / f"refused_{abs(hash(body))}.py", text).wrong
    with pytest.raises(kind) as error:
        kernel[1, 1](*[fl.gpu(x, dtype=None) if isinstance(x, np.ndarray) else x for x in snippets.arguments()])
    assert isinstance(error.value, jit.Refused) and isinstance(error.value, TypeError)


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


@jit.rawkernel()
def shifted(x, y, left, right, rest):
    i = int(jit.grid(1))
    left[i] = x[i] << y[i]
    right[i] = x[i] >> y[i]
    rest[i] = np.fmod(x[i], y[i])


def test_shifts_and_fmod_of_integers_are_a_cards():
    x, y = np.int64([5, -5, 2**62 + 1, 1, -1]), np.int64([2**32 + 1, 2**32, 3, 64, -1])
    outs = [np.zeros_like(x) for _ in range(3)]
    got = [launched(shifted, 1, 5, x, y, *outs, out=k).tolist() for k in (2, 3, 4)]
    assert got == [[10, -5, 8, 0, 0], [2, -5, 2**59, 0, -1], [5, -5, 1, 1, 0]]  # PTX's shl.b64; fmod in float64


def test_a_float_that_an_integer_cannot_hold_becomes_the_nearest():
    x = floats(6) * 0 + np.float32([3e9, -3e9, np.inf, np.nan, -1.5, 7.9])
    out = np.zeros(6, np.int32), np.zeros(6, np.uint32)
    most, least = 2**31 - 1, -(2**31)
    assert launched(converted, 1, 6, x, *out, out=1).tolist() == [most, least, most, 0, -1, 7]
    assert launched(converted, 1, 6, x, *out, out=2).tolist() == [3_000_000_000, 0, 2**32 - 1, 0, 0, 7]


@jit.rawkernel()
def squared_and_divided(x, out, total):
    part = jit.shared_memory(np.float16, 32)
    t = int(jit.threadIdx.x)
    part[t] = x[t] * x[t]
    half = np.float16(part[t])
    out[t] = half / x[t]
    x[t] *= x[t]
    jit.atomic_add(total, 0, out[t])


def test_float16_is_rounded_only_where_an_array_stores_it():
    """cupyx.jit makes a float of it: `Scalar.__str__` in _cuda_types.py."""
    x = fl.gpu(np.full(32, 300, np.float16), dtype=None)
    out, total = np.zeros_like(x), np.zeros_like(x[:1])
    squared_and_divided[1, 32](x, out, total)
    assert (fl.cpu(out) == 300).all(), "though 90,000 is more than a float16 holds"
    assert np.isinf(fl.cpu(x)).all() and squared_and_divided.figures.shared_bytes == 4 * 32


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
