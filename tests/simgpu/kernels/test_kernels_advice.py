"""What's wrong in a kernel comes with what to write, in the words of its own line."""

import importlib
import itertools

import numpy as np
import pytest
from test_kernels_run import escaped

import fluxlite as fl
from fluxlite.cuda import jit

pytestmark = pytest.mark.usefixtures("simulated")
_numbers = itertools.count()
HEAD = """import math
import numpy as np
from fluxlite.cuda import jit


@jit.rawkernel()
def wrong(x, z, col, out):
"""


@pytest.fixture
def kernel_of(tmp_path, monkeypatch):
    """A kernel with this body: its text has to be in a file."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(body):
        name = f"advice_{next(_numbers)}"
        lines = "\n".join("    " + line for line in body.split("\n"))
        (tmp_path / f"{name}.py").write_text(f"{HEAD}{lines}\n", encoding="utf-8")
        return importlib.import_module(name).wrong

    return make


def launched(kernel, blocks, threads, size=32):
    x, z = np.arange(size, dtype=np.float32), np.ones((4, 8), np.float32)
    kernel[blocks, threads](fl.gpu(x), fl.gpu(z), fl.gpu(np.ones((3, 1), np.float32)), fl.gpu(np.zeros_like(x)))


I = "i = int(jit.grid(1))\n"  # noqa: E741
T = "t = int(jit.threadIdx.x)\n"
PART = T + "part = jit.shared_memory(np.float32, 32)\n"

OUTSIDE = [
    (I + "out[i] = x[i + 1]", 1, 32, "index 32 is outside.*Guard the line: `if i + 1 < x.size:`."),
    (I + "out[i] = x[i]", 2, 32, "32 threads do this here. A GPU doesn't check. Guard the line: `if i < x.size:`."),
    (I + "out[i] = x[i - 1]", 1, 32, "doesn't count from the end. Guard the line: `if i - 1 >= 0:`."),
    (I + "out[i] = z[i, 0]", 1, 32, "along axis 0.*`if i < z.shape[0]:`"),
    (I + "out[i] = z[0][i]", 1, 32, "along axis 1.*`if i < z.shape[1]:`"),
    (I + "r = z[1]\nout[i] = r[i]", 1, 32, "`if i < r.size:`"),
    ("j, i = jit.grid(2)\nz[i, j] = 1.0", 1, (8, 5), "`if i < z.shape[0]:`"),
    (I + "jit.atomic_add(z, (0, i), 1.0)", 1, 9, "`if i < z.shape[1]:`"),
    (I + "jit.atomic_add(out, i * 2, 1.0)", 1, 32, "`if i * 2 < out.size:`"),
    (PART + "part[t] = x[0]", 1, 64, "part has 32.*`if t < 32:`. Or is the block, with its 64 threads, larger"),
    (PART + "part[t + 1] = x[0]", 1, 32, "`if t + 1 < 32:`."),
    (PART + "part[t] = x[t]\njit.syncthreads()\nout[t] = part[t - 1]", 1, 32, "index -1 .*`if t - 1 >= 0:`."),
    ("t = jit.threadIdx.x\nout[t] = x[t - 1]", 1, 32,
     "index 4,294,967,295 is outside.*write t = int(jit.threadIdx.x).*`if t - 1 >= 0:`"),
    (I + "t = jit.threadIdx.x\nk = t - 1\nout[i] = x[k]", 1, 32, "write t = int(jit.threadIdx.x)"),
    ("j, i = jit.grid(2)\nz[i - 1, j] = 1.0", 1, 4, "write ii = int(i).*`if ii - 1 >= 0:`"),
    ("out[0] = x[jit.grid(1) - 1]", 1, 1, "write int(jit.grid(1))"),
    ("i = jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x\nout[i] = x[i - 1]", 1, 32,
     "write i = int(jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x)"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "blocks", "threads", "words"), OUTSIDE)
def test_the_guard_is_of_the_index_and_the_side_that_failed(body, blocks, threads, words, kernel_of):
    with pytest.raises(jit.OutOfBounds, match=escaped(words)):
        launched(kernel_of(body), blocks, threads)


NO_GUARD = [  # none would help, or it stands there
    ("out[0] = x[40]", 8, "index 40 is outside"),
    (I + "out[i] = x[i if i < 1 else i + 40]", 8, "is outside"),
    ("out[0] = x[-1]", 32, "doesn't count from the end. Write x[x.size - 1]."),
    ("out[0] = z[0, -2]", 32, "Write z[0, z.shape[1] - 2]."),
    (PART + "part[-1] = 0.0", 32, "Write part[32 - 1]."),
    ("i = jit.grid(1)\nif i - 1 >= 0:\n    out[i] = x[i - 1]", 32, "write i = int(jit.grid(1))"),
]


@pytest.mark.parametrize(("body", "threads", "words"), NO_GUARD)
def test_an_index_that_no_guard_helps_gets_none(body, threads, words, kernel_of):
    with pytest.raises(jit.OutOfBounds, match=escaped(words)) as error:
        launched(kernel_of(body), 1, threads)
    assert "Guard" not in str(error.value)


RACES = [
    (I + "out[0] += x[i]", 1, 32, "Several threads add to one element.*: jit.atomic_add(out, 0, x[i])."),
    (I + "out[0] += x[i]", 2, 16, "jit.atomic_add(out, 0, x[i])."),
    (I + "out[0] -= x[i] * 2", 1, 32, "jit.atomic_add(out, 0, -(x[i] * 2))."),
    (I + "z[0, 1] -= x[i]", 1, 32, "jit.atomic_add(z, (0, 1), -x[i])."),
    (PART + "part[t] = x[t]\njit.syncthreads()\nif t < 16:\n    part[t] += part[t + 1]", 1, 32, "jit.syncthreads()"),
    (I + "out[0] *= x[i]", 1, 32, "into another array"),
    ("for i in range(x.size):\n    out[i] = x[i] + 10", 1, 8,
     "write after write, WAW).*Every thread runs the whole function. Let each do its own: i = int(jit.grid(1))."),
    ("for i in range(x.size):\n    out[i] = x[i] + 10", 2, 8, "Let each do its own: i = int(jit.grid(1))."),
    ("for i in range(4):\n    for j in range(8):\n        z[i, j] = 0.0", 1, 8, "its own: j, i = jit.grid(2)."),
    (I + "out[0] = x[i]", 1, 8, "which block (0), thread (7) writes too (line .*own element, or let one of them"),
    (I + "out[i // 2] = x[i]", 1, 8, "Give each thread its own element"),
    (I + "x[i] = x[i] + x[(i + 1) % 32]", 4, 8, "never wait for each other: write into another array"),
    (I + "x[i] = x[i] + x[(i + 1) % 32]", 1, 32, "Read first, then jit.syncthreads(), then write; or write into an"),
    (I + "v = x[(i + 1) % 32]\njit.syncthreads()\nx[i] = v\nout[i] = x[31 - i]", 2, 16, "in a launch of its own"),
    (PART + "part[t] = x[t]\nout[t] = part[31 - t]", 1, 32, "writes (line .*Put jit.syncthreads() between the two."),
]  # fmt: skip


@pytest.mark.parametrize(("body", "blocks", "threads", "words"), RACES)
def test_what_ends_a_race(body, blocks, threads, words, kernel_of):
    with pytest.raises(jit.DataRace, match=escaped(words)) as error:
        launched(kernel_of(body), blocks, threads)
    assert ("too (line" in str(error.value)) == ("write after write" in str(error.value))


def test_a_sum_by_halves_isnt_told_to_add_atomically(kernel_of):
    body = PART + "part[t] = x[t]\njit.syncthreads()\nif t < 16:\n    part[t] += part[t + 1]"
    with pytest.raises(jit.DataRace) as error:
        launched(kernel_of(body), 1, 32)
    assert "atomic_add" not in str(error.value)


def test_several_lines_are_named_in_the_plural(kernel_of):
    with pytest.raises(jit.DataRace, match=r"writes \(lines \d+ and \d+\)"):
        launched(kernel_of(PART + "part[t] = x[t]\npart[t] = 1.0\nout[t] = part[31 - t]"), 1, 32)


def test_a_stale_tile_is_cured_by_zeros(kernel_of):
    with pytest.raises(jit.NeverWritten, match=escaped("with 0 where the array.*every round: `else: part[…] = 0.0`")):
        launched(kernel_of(PART + "if t < 20:\n    part[t] = x[t]\njit.syncthreads()\nout[t] = part[31 - t]"), 1, 32)


def test_threads_that_have_returned_leave_a_hole(kernel_of):
    body = PART + "if t >= 12:\n    return\npart[t] = x[t]\njit.syncthreads()\nout[t] = part[t + 4]"
    words = "20 of the block's 32 threads have returned (line 11) and write nothing any more. Keep all threads until"
    with pytest.raises(jit.NeverWritten, match=escaped(words)) as error:
        launched(kernel_of(body), 2, 32)
    assert "else:" not in str(error.value)
    body = PART + "if jit.blockIdx.x == 1 and t > 7:\n    return\npart[t] = x[t]\njit.syncthreads()\nif t < 8:\n"
    with pytest.raises(jit.NeverWritten, match=escaped("block (1), thread (0).*8 of the block's 16 threads")):
        launched(kernel_of(body + "    out[t] = part[t + 8]"), 2, 16)
    body = PART + "if jit.blockIdx.x == 0:\n    return\npart[t] = x[t]\njit.syncthreads()\nout[t] = part[t + 4]"
    with pytest.raises(jit.NeverWritten) as error:  # of another block
        launched(kernel_of(body), 2, 16)
    assert "returned" not in str(error.value)


def test_a_block_smaller_than_its_tile(kernel_of):
    body = PART + "part[t] = x[t]\njit.syncthreads()\nout[t] = part[31 - t]"
    words = "Or is the block, with its 16 threads, smaller than the tile of 32?"
    with pytest.raises(jit.NeverWritten, match=escaped(words)):
        launched(kernel_of(body), 2, 16)


REFUSED = {
    "i, j = jit.grid(2)\nj = int(j)": "A variable keeps its type: take a new name, jj = int(j)",
    "column, row = jit.grid(2)\nrow = int(row) - 1": "take a new name, signed_row = int(row)",
    "col, row = jit.grid(2)": "col is an argument; take another name",
    I + "out[i] = col[i] + x[i]": "col has 2 axes, and col[i] is a whole row: write col[i, 0] or col[i, j]",
    I + "out[i] = col[i]": "col has 2 axes, and col[i] is a whole row",
    "s = 0.0\ns += z": "z is a whole array of 2 axes: write z[i, j]",
    "z[0] = 1.0": "z has 2 axes, and z[0] is a whole row: write z[0, 0] or z[0, j]",
    "pa = jit.shared_memory(np.float32, 16)\ny = 0\npa[y, 1] = 0.0": "pa has 1 axis: write pa[y * width + 1]",
    "jit.atomic_add(out, (0, 1), 1.0)": "out has 1 axis: write out[1]",
    "out[0] = z[0, 1, 2]": "z has 2 axes, got 3 indices",
    "part = jit.shared_memory(np.float32, jit.blockDim.x)": "a number in the text or a global, such as T = 32",
    "t = jit.threadIdx.x\nk = 3\nout[0] = x[t + k]": "jit.threadIdx.x is unsigned: write t = int(jit.threadI",
    "part = np.zeros(34, np.float32)":
        "a kernel makes no arrays.*jit.shared_memory(np.float32, 34).*all threads of the block share; a thread's own "
        "numbers are variables",
    "print('here')": "no thread prints.*kernel.watched",
    "print(x[0])": "no thread prints.*kernel.watched",
    "jit.syncthreads": "jit.syncthreads does nothing without (): write jit.syncthreads()",
    "jit.grid": "write jit.grid(1)",
    "out[0] = math.sqrt(x[0])": "There's np.sqrt",
    I + "out += x[i]": "out is a whole array: write out[i] += … (and for a sum, jit.atomic_add(out, 0, x[i]))",
    I + "z *= x[i]": "z is a whole array: write z[i, j] *= …",
    I + "s = x[i] + out": "out is a whole array: write out[i]",
    "n = jit.shared_memory(np.int64, 4)\nn[0] = x[0]":
        "n is an array of int64 and can't take float32. Make it jit.shared_memory(np.float32, …), or write n[0] =",
    "n = jit.shared_memory(np.int32, 4)\nn[0] += x[0]": "n is an array of int32 and can't take float32",
    "step = 16\nout[0] = jit.shfl_down_sync(0xffffffff, x[0], step)":
        "the third argument of shfl_down_sync must be unsigned: np.uint32(step)",
    "step = 16\nstep = step / 2": "/ gives a float: write step = step // 2",
    "step = 16\nwhile step > 0:\n    step /= 2": "/ gives a float: write step //= 2",
    "step = 16\nstep = (step + 1) / (step / 2)": "Begin with step = 0.0",
    "step = 16\nstep = (step + 1) / (step - 2)": "write step = (step + 1) // (step - 2)",
    "step = 16\nstep = x[0] / 2": "Begin with step = 0.0",
    I + "if i > 0 & i < x.size:\n    out[i] = 1.0": "write `and` between two tests",
    "row = 1\nz[row * 8 + 2] = 0.0": "z has 2 axes: write z[row, 2]",
    "row = 1\nout[0] = z[2 + 8 * row]": "z has 2 axes: write z[row, 2]",
    "row = 1\nout[0] = z[2 + row * z.shape[1]]": "z has 2 axes: write z[row, 2]",
    "row = 1\nout[0] = x[0, row]": "x has 1 axis: write x[row]",
    "row = 1\nout[0] = x[row, 0]": "x has 1 axis: write x[row]",
    "part = [0.0] * 128": "lists: write jit.shared_memory(np.float32, 128), which all.*or one variable for each",
    "part = [0.0, 1.0]": "lists: take one variable for each number",
    "i = 1\ns = z[i, :] @ z[:, i]": "loop, for k in range(z.shape[1]): s += z[i, k] * z[k, i]",
    "s = z @ z": "a kernel has no @: write a loop",
    "i = jit.grid()": "write jit.grid(1)",
    "i = jit.gridsize()": "write jit.gridsize(1)",
    "out[0] = x * 2": "x is a whole array: write x[i]",
    "i = jit.grid\nout[i] = 1.0": "jit.grid alone is no number: call it",
    "out[0] = np.where(x[0] > 0, x[0], 0.0)": "a if test else b",
    "s = 0\ns += x[0]": "begin with s = 0.0",
    "s = 0\ns = x[0]": "Begin with s = 0.0",
    "for k in range(3):\n    out[k + jit.threadIdx.x] = 1.0": "write int(jit.threadIdx.x)",
    I + "if 0 <= i < 3:\n    pass": "0 <= i and i < n",
    "s = jit.shared_memory(np.float32, (4, 4))": "row * width + column",
    "a, b = z.shape": "n = x.shape[0]",
    "double = 1.0": "double is a word of CUDA C++",
    "def f(a):\n    return a": "@jit.rawkernel(device=True)",
}  # fmt: skip


@pytest.mark.parametrize("body", REFUSED)
def test_what_to_write_instead(body, kernel_of, capsys):
    capsys.readouterr()
    with pytest.raises(jit.Refused, match=escaped(REFUSED[body])) as error:
        launched(kernel_of(body), 1, 4)
    assert "kernel wrong, line " in str(error.value)
    assert not capsys.readouterr().out


def test_an_array_of_another_type(kernel_of):
    words = "out is an array of int64 and can't take float32. Make it np.zeros(n, np.float32), or write out[i] = int(…)"
    x, out = fl.gpu(np.ones(4, np.float32)), fl.gpu(np.zeros(4, int), dtype=None)
    with pytest.raises(jit.Refused, match=escaped(words)):
        kernel_of(I + "out[i] = x[i]")[1, 4](x, x, x, out)


def test_a_shuffle_by_a_variable(kernel_of):
    out = fl.gpu(np.zeros(32, np.float32))
    body = "step = 16\nt = jit.threadIdx.x\nout[t] = jit.shfl_down_sync(0xffffffff, x[t], np.uint32(step))"
    x = fl.gpu(np.arange(32, dtype=np.float32))
    kernel_of(body)[1, 32](x, x, x, out)
    assert fl.cpu(out)[3] == 19.0


def test_arguments_have_no_names_in_a_launch(kernel_of):
    words = r"wrong\[blocks, threads\]\(x, z, col, out\) takes its arguments in order, without names; got out=…"
    with pytest.raises(TypeError, match=words):
        kernel_of("out[0] = x[0]")[1, 8](1, 2, 3, out=4)


# -- a launch with other axes than the kernel's ----------------------------------------------------------------------

TILE = """tx = int(jit.threadIdx.x)
ty = int(jit.threadIdx.y)
part = jit.shared_memory(np.float32, 16)
part[ty * 4 + tx] = z[ty, tx]
jit.syncthreads()
out[ty * 4 + tx] = part[tx * 4 + ty]"""


def test_a_tile_launched_with_one_axis_gets_no_guard(kernel_of):
    words = "jit.threadIdx.y in a launch whose blocks have one axis: it is always 0. Launch with (4, 4)."
    with pytest.raises(jit.OutOfBounds, match=escaped(words)) as error:
        launched(kernel_of(TILE), 1, 16)
    assert "Guard" not in str(error.value)


@pytest.mark.parametrize(("blocks", "row"), [(1, "row is always 0"), ((1, 4), "row is always the block's")])
def test_the_second_axis_of_blocks_with_one(blocks, row, kernel_of):
    kernel = kernel_of("column, row = jit.grid(2)\nif column < 8 and row < 4:\n    z[row, column] = 2.0")
    launched(kernel, blocks, 64)
    words = f"jit.grid(2) in a launch whose blocks have one axis: {row}. Launch with (8, 8)."
    assert dict(kernel.figures.rows())["axes"] == words
    for threads in ((8, 8), (8, 1), 1):  # with a second axis, or without one on purpose
        launched(kernel, (1, 4), threads)
        assert "axes" not in dict(kernel.figures.rows())


def test_a_guard_and_an_axis_may_both_be_missing(kernel_of):
    words = "Guard the line: `if column < z.shape[1]:`.*row is always the block's. Launch with (32, 3)."
    with pytest.raises(jit.OutOfBounds, match=escaped(words)):
        launched(kernel_of("column, row = jit.grid(2)\nz[row, column] = 2.0"), (1, 4), 96)


def test_one_axis_in_blocks_of_two(kernel_of):
    words = "count only the first axis: in blocks of 8 × 4, 4 threads have each number. Launch with 32, or use"
    with pytest.raises(jit.DataRace, match=escaped(words)):
        launched(kernel_of(I + "out[i] = x[i]"), 1, (8, 4))
    with pytest.raises(jit.DataRace, match=escaped("jit.atomic_add(out, 0, x[i])")):
        launched(kernel_of(I + "out[0] += x[i]"), 1, (8, 4))


# -- loops that can't end are found soon, and no loop that ends is taken for one ---------------------------------------

ENDLESS = [
    (PART + I + "part[t] = 0.0\nwhile i < x.size:\n    part[t] += x[i]",
     "`i` and `x.size` don't change in this loop: `while i < x.size` can't end.*Did you forget `i += …`?"),
    ("half = 16\nwhile half >= 0:\n    half = half // 2",
     "begins with the same numbers as an earlier one: `while half >= 0` can't end."),
    ("k = 0\nwhile k < 5:\n    k = (k + 1) % 3", "begins with the same numbers"),
    (I + "while True:\n    if i > 99:\n        break\n    s = x[0]", "`while True` ends by `break` alone"),
    ("while x[0] < 1.0:\n    s = 1.0", "what it tests: `while x[0] < 1.0`.*waits for another one's write may wait"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "words"), ENDLESS)
def test_a_loop_that_sees_the_same_numbers_again(body, words, kernel_of):
    kernel = kernel_of(body)
    kernel.most_rounds = 10**9  # so that no limit of rounds ends it
    with pytest.raises(jit.Endless, match=escaped(words)) as error:
        launched(kernel, 1, 32)
    assert ("waits for" in str(error.value)) == ("waits for" in words)


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
    out = fl.gpu(np.zeros(4, np.float32))
    x = fl.gpu(np.arange(4, dtype=np.float32))
    kernel_of(body)[1, 1](x, x, x, out)
    assert fl.cpu(out)[0] == last


def test_the_limit_of_rounds(kernel_of):
    kernel = kernel_of("k = 0\nwhile k >= 0:\n    k += 1")
    kernel.most_rounds = 2000
    with pytest.raises(jit.Endless, match="2,000 rounds, and 32 threads are still in") as error:
        launched(kernel, 1, 32)
    assert "waits" not in str(error.value)
    assert "100,000" in jit.Kernel.__doc__


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


def test_a_watched_loop_shows_its_first_rounds(kernel_of, capsys):
    kernel = kernel_of("s = 0.0\nfor k in range(x.size):\n    s += x[k]\nh = 2\nwhile h > 5:\n    h = 0")
    lines = watched(kernel, (0, 3), 1, 4, capsys, size=488)
    assert lines[1:3] == ["for k in range(x.size):    k = 0", "s += x[k]    x[0] = 0.0 → s = 0.0"]
    assert lines[15:] == [
        "for k in range(x.size):    k = 7", "s += x[k]    x[7] = 7.0 → s = 28.0", "… 480 more rounds", "h = 2    h = 2",
        "while h > 5:    no round",
    ]  # fmt: skip


def test_a_watched_thread_among_shared_memory_and_atomics(kernel_of, capsys):
    body = PART + "part[t] = x[t]\njit.syncthreads()\nif t < 16:\n    part[t] += part[t + 16]\n"
    body += "jit.atomic_add(out, 0, x[t])"
    lines = watched(kernel_of(body), (0, 3), 1, 32, capsys)
    assert "part[t] += part[t + 16]    part[3] = 3.0, part[19] = 19.0 → part[3] = 22.0" in lines
    assert lines[-1] == "jit.atomic_add(out, 0, x[t])    x[3] = 3.0 → out[0]"


def test_a_loop_in_a_loop_is_short(kernel_of, capsys):
    lines = watched(kernel_of("for i in range(20):\n    for k in range(30):\n        s = 1.0"), (0, 0), 1, 1, capsys)
    assert lines.count("… 22 more rounds") == 8 and lines[-1] == "… 12 more rounds"
    assert lines.count("for i in range(20):    i = 7") == 1 and len(lines) == 8 * 18 + 1


BLOCKS = "this launch has blocks 0 to 1 and threads 0 to 3. Got "


@pytest.mark.parametrize(("which", "blocks", "threads", "words"), [
    (3, 2, 4, f"watched is (block, thread), such as (0, 5) or ((1, 0), (3, 2)), or None; {BLOCKS}3."),
    ((0, 99), 2, 4, f"{BLOCKS}(0, 99)."),
    ((2, 0), 2, 4, f"{BLOCKS}(2, 0)."),
    ((0, -1), 2, 4, f"{BLOCKS}(0, -1)."),
    ((0, 1, 2), 2, 4, BLOCKS),
    (("a", 0), 2, 4, BLOCKS),
    ((0, (4, 0)), (2, 2), (4, 2), "blocks (0, 0) to (1, 1) and threads (0, 0) to (3, 1). Got (0, (4, 0))."),
])  # fmt: skip
def test_a_thread_that_isnt_in_the_launch(which, blocks, threads, words, kernel_of):
    kernel = kernel_of("out[0] = x[0]")
    kernel.watched = which
    with pytest.raises(ValueError, match=escaped(f"kernel wrong: .*{words}")):
        launched(kernel, blocks, threads)


def test_a_thread_by_its_axes(kernel_of, capsys):
    kernel = kernel_of("column, row = jit.grid(2)\nif column < 8 and row < 4:\n    z[row, column] = 2.0")
    by_axes, by_number = (watched(kernel, which, (2, 1), (4, 4), capsys) for which in (((1, 0), (3, 2)), (1, 11)))
    assert by_axes == by_number and by_axes[-1].endswith("z[2, 7] = 2.0")


# -- figures, settings, traces --------------------------------------------------------------------------------------


def test_figures_before_a_launch_and_after_one_that_raised(kernel_of):
    import pydoc

    kernel = kernel_of(I + "out[i] = x[i]")
    assert repr(kernel.figures).startswith("kernel wrong: no launch on a simulated GPU has finished yet. First launch")
    assert "bank conflicts: how often" in pydoc.render_doc(kernel.figures, renderer=pydoc.plaintext)
    with pytest.raises(AttributeError, match="First launch it"):
        _ = kernel.figures.sectors
    launched(kernel, 1, 32)
    assert kernel.figures.sectors == 8
    with pytest.raises(jit.OutOfBounds):
        launched(kernel, 2, 32)
    assert repr(kernel.figures) == "kernel wrong: the latest launch raised OutOfBounds, so there are no figures of it."
    with pytest.raises(RuntimeError, match="the latest launch raised OutOfBounds"):
        fl.explain(kernel)


def test_a_kernel_has_no_other_settings(kernel_of):
    kernel = kernel_of("out[0] = 1.0")
    with pytest.raises(AttributeError, match="a kernel has no watch. Did you mean watched?"):
        kernel.watch = (0, 1)
    with pytest.raises(AttributeError, match="a kernel has no blocks: watched and most_rounds can be set"):
        kernel.blocks = 3
    kernel.watched, kernel.most_rounds = None, 10


def test_how_a_trace_is_asked_for(kernel_of):
    kernel = kernel_of("s = 1.0")
    write = "wrong.trace(1, 32, (x, z, col, out))"
    x = fl.gpu(np.ones(4, np.float32))
    for given in ((), (x,), (x, x), (x, x, x, x)):
        with pytest.raises(TypeError, match=escaped(f"a trace has its arguments in parentheses: write {write}")):
            kernel.trace(*given)
    assert repr(kernel.trace) == f"<trace of wrong: {write} launches it, and gives what one warp touched>"
    assert repr(kernel.trace(2, 64, (x, x, x, x), 1, 1)) == "Warp 1 of block 1 touches no memory."


# -- docstrings -----------------------------------------------------------------------------------------------------


def test_help_is_short_and_begins_with_a_table():
    import pydoc

    text = pydoc.render_doc(jit, renderer=pydoc.plaintext)
    lines = text.splitlines()
    assert len(text.partition("\nDATA\n")[0].splitlines()) < 200, "below it, each name has its example"
    assert "Method resolution order" not in text, "the errors' inherited methods took six hundred lines"
    assert next(k for k, line in enumerate(lines) if "Where am I" in line) < 15
    assert next(k for k, line in enumerate(lines) if line == "FUNCTIONS") < 180
    for word in ("warp", "lane", "sectors", "divergent", "bank conflict", "Occupancy", "request"):
        assert word in text.partition("CLASSES")[0]
    assert "help(fluxlite.cuda.jit)" in fl.cuda.__doc__
    assert issubclass(jit.OutOfBounds, jit.KernelError)  # still there


@pytest.mark.parametrize(("name", "words"), [
    ("grid", "i = int(row); j = int(column)"), ("shared_memory", "part[row * T + column]"),
    ("syncthreads", "Threads that have returned aren't waited for"), ("Kernel", "None ends it"),
    ("Kernel", "help(kernel.figures)"), ("shfl_down_sync", "0xffffffff is all lanes. `index` is unsigned"),
])  # fmt: skip
def test_what_a_docstring_says(name, words):
    assert words in " ".join(getattr(jit, name).__doc__.split())


def test_every_row_of_the_figures_is_explained(kernel_of):
    kernel = kernel_of(PART + "part[t] = x[t]\nif t < 3:\n    jit.atomic_add(out, 0, part[t])")
    launched(kernel, 1, 32)
    rows = [name for name, _ in kernel.figures.rows()]
    assert "written" in rows and "bank conflicts" in rows and "atomics" in rows
    assert all(f"- {name}: " in type(kernel.figures).__doc__ for name in rows)
