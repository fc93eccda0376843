"""Each mistake in a kernel is found, with its line and what to write, in the words of that line. Watched threads."""

import inspect
import itertools
import pickle

import numpy as np
import pytest
import snippets
from snippets import I, escaped

import fluxlite as fl
from fluxlite.cuda import jit

pytestmark = pytest.mark.usefixtures("simulated")
_numbers = itertools.count()


@pytest.fixture
def kernel_of(tmp_path):
    """A kernel with this body."""

    def make(body):
        text = snippets.HEAD + snippets.text_of(body, "wrong")
        return snippets.imported(tmp_path / f"mistakes_{next(_numbers)}.py", text).wrong

    return make


def launched(kernel, blocks, threads, size=32):
    """What's in `out` after a launch."""
    there = [fl.gpu(x, dtype=None) if isinstance(x, np.ndarray) else x for x in snippets.arguments(size)]
    kernel[blocks, threads](*there)
    return fl.cpu(there[5])


T = "t = int(jit.threadIdx.x)\n"
PART = T + "part = jit.shared_memory(np.float32, 32)\n"
READ = PART + "part[t] = x[t]\njit.syncthreads()\n"

OUTSIDE = [
    (I + "out[i] = x[i + 1]", 1, 32, "index 32 is outside.*Guard the line: `if i + 1 < x.size:`."),
    (I + "out[i] = x[i]  # here", 2, 32, "block (1), thread (0), line .*x has 32 elements, 0 to 31; index 32 is.*"
     "32 threads do this here. A GPU doesn't check. Guard the line: `if i < x.size:`."),
    (I + "out[i] = x[i - 1]  # here", 1, 32, "thread (0), .*index -1 .*doesn't count from the end.*`if i - 1 >= 0:`"),
    (I + "out[i] = element(x, i)", 2, 32, "kernel element, block (1), thread (0), line .*index 32"),
    (I + "out[i] = z[i, 0]", 1, 32, "along axis 0.*`if i < z.shape[0]:`"),
    (I + "out[i] = z[0][i]", 1, 32, "along axis 1.*`if i < z.shape[1]:`"),
    (I + "r = z[1]\nout[i] = r[i]", 1, 32, "`if i < r.size:`"),
    (I + "jit.atomic_add(z, (0, i), 1.0)", 1, 9, "`if i < z.shape[1]:`"),
    (PART + "part[t] = x[0]", 1, 64, "part has 32.*`if t < 32:`."),
    (READ + "out[t] = part[t - 1]", 1, 32, "index -1 .*`if t - 1 >= 0:`."),
    ("t = jit.threadIdx.x\nout[t] = x[t - 1]", 1, 32,
     "index 4,294,967,295 is outside. It's a number below 0 that an unsigned type can't hold.*int(jit.threadIdx.x)"),
    # no guard would help, or it stands there
    ("out[0] = x[40]", 1, 8, "index 40 is outside but not Guard"),
    (I + "out[i] = x[i if i < 1 else i + 40]", 1, 8, "is outside but not Guard"),
    ("out[0] = x[-1]", 1, 32, "doesn't count from the end. but not Guard"),
    ("out[0] = z[0, -2]", 1, 32, "index -2 is outside but not Guard"),
    (PART + "part[-1] = 0.0", 1, 32, "index -1 is outside but not Guard"),
    ("s = jit.shared_memory(np.int32, None)\ns[0] = 1", 1, 1,
     "s has no elements; .*how large it is: shared_mem=0 but not Guard"),
    ("i = jit.grid(1)\nif i - 1 >= 0:\n    out[i] = x[i - 1]", 1, 32,
     "write int(jit.threadIdx.x), int(jit.grid(1)) but not Guard"),
]  # fmt: skip
RACES = [
    (I + "out[0] += x[i]  # here", 1, 32,
     "out[0], which block (0), thread (.*) reads.*Several threads add to one element.*: jit.atomic_add(out, 0, x[i])."),
    (I + "out[0] += x[i]", 2, 16, "jit.atomic_add(out, 0, x[i])."),
    (I + "out[0] -= x[i] * 2", 1, 32, "jit.atomic_add(out, 0, -(x[i] * 2))."),
    (I + "z[0, 1] -= x[i]", 1, 32, "jit.atomic_add(z, (0, 1), -x[i])."),
    (READ + "if t < 16:\n    part[t] += part[t + 1]  # here", 1, 32, "WAR).*jit.syncthreads() but not atomic_add"),
    (PART + "part[t] = x[t]\nout[t] = part[31 - t]  # here", 1, 32,
     "reads part[.*], which block (0), thread (.*) writes (line .*RAW).*Put jit.syncthreads() between the two."),
    (I + "out[0] *= x[i]", 1, 32, "into another array"),
    ("for i in range(x.size):\n    out[i] = x[i] + 10", 1, 8,
     "write after write, WAW).*Every thread runs the whole function: let each write elements of its own, or use"),
    ("for i in range(4):\n    for j in range(8):\n        z[i, j] = 0.0", 1, 8, "elements of its own, or use"),
    (I + "out[0] = x[i]", 1, 8, "which block (0), thread (7) writes too (line .*elements of its own"),
    (I + "out[i // 2] = x[i]", 1, 8, "elements of its own"),
    (I + "x[i] = x[i] + x[(i + 1) % 32]  # here", 4, 8, "WAR.*never wait for each other: write into another array"),
    (T + "x[t] = 1.0\njit.syncwarp(mask=(255 << (t // 8) * 8))\nout[t] = x[(t + 8) % 32]  # here", 1, 32, "RAW"),
    (T + "if t < 8:\n    x[t] = 1.0\n    jit.syncwarp(mask=255)\nout[t] = x[0]  # here", 1, 32, "RAW"),
    (I + "x[i] = x[i] + x[(i + 1) % 32]", 1, 32, "Read first, then jit.syncthreads(), then write; or write into an"),
    (I + "v = x[(i + 1) % 32]\njit.syncthreads()\nx[i] = v\nout[i] = x[31 - i]", 2, 16, "in a launch of its own"),
    (PART + "part[t] = x[t]\npart[t] = 1.0\nout[t] = part[31 - t]", 1, 32, "writes (lines .* and .*)"),
    (PART + "for k in range(2):\n    part[t] = x[t]  # here\n    jit.syncthreads()\n    out[t] = part[31 - t]", 1, 32,
     "writes part[.*reads (line.*write after read, WAR"),
    (T + "if t == 0:\n    s = x[0]\nif t == 32:\n    s = x[0]\nif t == 1:\n    s = x[0]\njit.syncwarp()\nif t == 0:\n"
     "    x[0] = 1.0  # here", 1, 64, "which block (0), thread (32) reads"),  # a barrier of the other warp
]  # fmt: skip
NEVER_WRITTEN = [
    (READ + "out[t] = part[31 - t]  # here", 2, 16,
     "no thread has written part[31] yet.*Fill the edges with 0.*in every round: `else: part[…] = 0.0`."),
    (PART + "if t < 20:\n    part[t] = x[t]\njit.syncthreads()\nout[t] = part[31 - t]", 1, 32,
     "`else: part[…] = 0.0`"),
    (PART + "if t >= 12:\n    return\npart[t] = x[t]\njit.syncthreads()\nout[t] = part[t + 4]", 2, 32,
     "part[12] yet.*Keep all threads until the last barrier"),
    (PART + "if jit.blockIdx.x == 1 and t > 7:\n    return\npart[t] = x[t]\njit.syncthreads()\nif t < 8:\n"
     "    out[t] = part[t + 8]", 2, 16, "block (1), thread (0)"),
    (PART + "if jit.blockIdx.x == 0:\n    return\npart[t] = x[t]\njit.syncthreads()\nout[t] = part[t + 4]", 2, 16,
     "no thread has written part[16] yet"),
    (I + "if x[i] > 0:\n    sign = 1.0\nout[i] = sign  # here", 1, 32, "sign has no value in this thread yet"),
    (I + "out[i] = positive(1.0 - x[i])", 1, 32, "kernel positive.*thread (1).*gets to the end without a return"),
    (I + "out[i] = positive(-x[i])", 1, 32, "kernel positive.*thread (0).*gets to the end without a return"),
    (T + "if t < 16:\n    out[t] = jit.shfl_sync(0xFFFFFFFF, x[t], 20, width=32)  # here", 1, 32, "doesn't come here"),
]  # fmt: skip
STUCK = [
    (T + "if t < 16:\n    jit.syncthreads()  # here", 1, 32,
     "16 of the block's 32 threads don't come here, first of all thread (16).*where all threads pass"),
    (T + "if t < 16:\n    jit.syncwarp()  # here", 1, 32, "thread (16), of the same warp"),
    (T + "if t < 8:\n    jit.syncwarp(mask=511)  # here", 1, 32, "the mask 0x1ff names thread (8), which doesn't come"),
    (T + "jit.syncwarp(mask=3 | t << 4)  # here", 1, 2, "thread (1), which doesn't come here with the same mask"),
]  # fmt: skip
TOO_MUCH = [
    ("a = jit.shared_memory(np.float32, 8192)\nb = jit.shared_memory(np.float64, 4096)  # here", 1, 32,
     "65,536 bytes of shared memory.*49,152"),
    ("out[0] = 1.0", 1, 2048, "2,048 threads a block; a block has at most"),
    ("out[0] = 1.0", (1, 70_000), 32, "70,000 along y, and the most is 65,535"),
]  # fmt: skip
# Loops where nothing changes are found soon, and no loop that ends is taken for one.
ENDLESS = [
    (PART + I + "part[t] = 0.0\nwhile i < x.size:\n    part[t] += x[i]", 1, 32,
     "`i` and `x.size` don't change in this loop: `while i < x.size` can't end.*Did you forget `i += …`?"),
    ("n_[0] = 1\nwhile True:\n    n_[0] += 1", 1, 1,
     "`True` doesn't change in this loop: `while True` can't end but not forget"),
]  # fmt: skip
KINDS = {
    jit.OutOfBounds: OUTSIDE, jit.DataRace: RACES, jit.NeverWritten: NEVER_WRITTEN, jit.StuckBarrier: STUCK,
    jit.TooMuch: TOO_MUCH, jit.Endless: ENDLESS,
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "body", "blocks", "threads", "words"), [(kind, *row) for kind, rows in KINDS.items() for row in rows]
)
def test_a_mistake_is_found_with_its_line_and_its_remedy(kind, body, blocks, threads, words, kernel_of):
    kernel = kernel_of(body)
    kernel.most_rounds = 10**9  # so that no limit of rounds ends a loop
    words, *never = words.split(" but not ")
    with pytest.raises(kind, match=escaped(words)) as error:
        launched(kernel, blocks, threads)
    message = str(error.value)
    if "# here" in body:
        lines, first = inspect.getsourcelines(kernel.function)
        assert f"line {first + next(k for k, line in enumerate(lines) if '# here' in line)}: " in message
    assert not any(word in message for word in never)
    assert ("too (line" in message) == ("write after write" in message)


def test_an_error_has_its_parts(kernel_of, capsys):
    kernel = kernel_of("column, row = jit.grid(2)\nz[row, column] = 2.0")
    with pytest.raises(jit.OutOfBounds) as raised:
        launched(kernel, (1, 3), (8, 2))
    error = pickle.loads(pickle.dumps(raised.value))
    assert (error.kernel, error.block, error.thread) == ("wrong", (0, 2), (0, 0))
    assert (error.line, error.text) == (kernel.source.first + 3, "z[row, column] = 2.0")
    assert error.what == "z has 4 elements along axis 0, 0 to 3; index 4 is outside."
    assert "Guard the line" in error.advice
    assert str(error) == str(raised.value) == f"{error.where}\n  {error.what}\n  {error.advice}"
    kernel.watched = error.block, error.thread
    with pytest.raises(jit.OutOfBounds):
        launched(kernel, (1, 3), (8, 2))
    assert "row = 4" in capsys.readouterr().out


def test_an_element_of_a_transposed_array_is_named(kernel_of):
    x, z = fl.gpu((np.ones(9, "f"), np.ones((4, 8), "f")))
    with pytest.raises(jit.DataRace, match=escaped("writes z[2, 1], which")):
        kernel_of(I + "z[2, 1] = x[i]")[1, 8](x, z.T, *[1] * 5)


def test_a_guess_before_compare_and_swap_meets_atomics_and_no_plain_write(kernel_of):
    body = (
        "old = n_[0]\nseen = jit.atomic_cas(n_, 0, old, old + 1)\n"
        "while seen != old:\n    old = seen\n    seen = jit.atomic_cas(n_, 0, old, old + 1)\n"
    )
    given = [fl.gpu(x, dtype=None) if isinstance(x, np.ndarray) else x for x in snippets.arguments()]
    kernel_of(body)[1, 8](*given)
    assert given[3][0] == 8
    with pytest.raises(jit.DataRace, match=escaped("n_[0]")):
        kernel_of(body + "if jit.threadIdx.x == 3:\n    n_[0] = 0")[1, 8](*given)


ENDING = [
    ("k = 0\nm = 0\nwhile m < 3:\n    k += 1\n    if k % 500 == 0:\n        m += 1\nout[0] = m", 3),
    ("k = 0\nwhile True:\n    k += 1\n    if k == 700:\n        break\nout[0] = k", 700),
    ("k = 0\na = 5\nb = 5\nwhile a < 9:\n    k += 1\n    a = b\n    b = k // 100\nout[0] = a", 9),
    ("out[0] = 0.0\nwhile out[0] < 400.0:\n    out[0] += 1", 400),
    ("s = 0.0\nout[0] = 0.0\nwhile s < 300.0:\n    s = jit.atomic_add(out, 0, 1.0)", 301),
    ("s = 0.0\nwhile s < 300.0:\n    s += x[1]\nout[0] = s", 300),
]


@pytest.mark.parametrize(("body", "last"), ENDING)
def test_a_loop_that_ends_late(body, last, kernel_of):
    assert launched(kernel_of(body), 1, 1)[0] == last


def test_a_shuffle_by_a_variable(kernel_of):
    body = "step = 16\nt = jit.threadIdx.x\nout[t] = jit.shfl_down_sync(0xffffffff, x[t], np.uint32(step))"
    assert launched(kernel_of(body), 1, 32)[3] == 19.0


# -- a watched thread -----------------------------------------------------------------------------------------------


def watched(kernel, which, blocks, threads, capsys, size=32):
    capsys.readouterr()
    kernel.watched = which
    launched(kernel, blocks, threads, size)
    return [line.partition(": ")[2] for line in capsys.readouterr().out.splitlines()]


def test_a_watched_thread_shows_its_numbers(kernel_of, capsys):
    kernel = kernel_of(I + "if i < x.size:\n    out[i] = x[i] + 10")
    assert watched(kernel, (1, 2), 4, 16, capsys) == [
        "i = int(jit.grid(1))    i = 18",
        "if i < x.size:    yes",
        "out[i] = x[i] + 10    x[18] = 18.0 → out[18] = 28.0",
    ]
    assert watched(kernel, (3, 2), 4, 16, capsys)[1:] == ["if i < x.size:    no"]
    kernel = kernel_of(I + "if (x[i] >\n        x[i + 1]):\n    out[i] = 1.0")
    assert watched(kernel, (0, 2), 1, 16, capsys)[1:] == ["if (x[i] >    x[2] = 2.0, x[3] = 3.0 → no"]


def test_a_watched_thread_shows_no_loop_that_others_go_round(kernel_of, capsys):
    kernel = kernel_of(I + "if i != 2:\n    while x[0] > 5.0:\n        s = 1.0\nfor k in range(2):\n    s = 2.0")
    rounds = [line for k in range(2) for line in (f"for k in range(2):    k = {k}", "s = 2.0    s = 2.0")]
    assert watched(kernel, (0, 2), 1, 16, capsys)[1:] == ["if i != 2:    no", *rounds]


def test_a_watched_loop_in_a_loop_is_short(kernel_of, capsys):
    lines = watched(kernel_of("for i in range(20):\n    for k in range(30):\n        s = 1.0"), (0, 0), 1, 1, capsys)
    assert lines[-1] == "for i in range(20):    …" and "for i in range(20):    i = 7" in lines
    assert len(lines) == 3 * 9


@pytest.mark.parametrize("which", [3, (0, 99), (4, 0), (0, -1), (0, 1, 2), ("a", 0), (0, (4, 0))])
def test_a_watched_thread_that_isnt_in_the_launch(which, kernel_of):
    kernel = kernel_of("out[0] = x[0]")
    kernel.watched = which
    words = f"kernel wrong: watched is a (block, thread) of this launch.*Got {which}."
    with pytest.raises(ValueError, match=escaped(words)):
        launched(kernel, (2, 2), (4, 2))


def test_a_watched_thread_by_its_axes(kernel_of, capsys):
    kernel = kernel_of("column, row = jit.grid(2)\nif column < 8 and row < 4:\n    z[row, column] = 2.0")
    by_axes, by_number = (watched(kernel, which, (2, 1), (4, 4), capsys) for which in (((1, 0), (3, 2)), (1, 11)))
    assert by_axes == by_number and by_axes[-1].endswith("z[2, 7] = 2.0")


# -- figures, settings, traces --------------------------------------------------------------------------------------


def test_every_row_of_the_figures_is_explained(kernel_of):
    kernel = kernel_of(PART + "part[t] = x[t]\nif t < 3:\n    jit.atomic_add(out, 0, part[t])")
    launched(kernel, 1, 32)
    rows = [name for name, _ in kernel.figures.rows()]
    assert "written" in rows and "bank conflicts" in rows and "atomics" in rows
    assert all(f"- {name}: " in type(kernel.figures).__doc__ for name in rows)


def test_how_a_trace_is_asked_for(kernel_of):
    kernel = kernel_of("s = 1.0")
    arguments = [fl.gpu(np.ones(4, np.float32))] * 7
    for given in ((), arguments[:1], arguments[:4]):
        with pytest.raises(TypeError, match=escaped("write wrong.trace(1, 32, (x, z, col, n_, d, out, n,))")):
            kernel.trace(*given)
    assert repr(kernel.trace(2, 64, arguments, 1, 1)) == "Warp 1 of block 1 touches no memory."
