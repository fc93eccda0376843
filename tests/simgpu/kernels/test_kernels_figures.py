"""What a receipt says about kernels written by hand, and how long they take on each card."""

import numpy as np
import puzzles
import pytest
from inside import PRESETS

import fluxlite as fl
from fluxlite.cuda import jit

pytestmark = pytest.mark.usefixtures("simulated")
X = np.arange(4096, dtype=np.float32)


@jit.rawkernel()
def strided(x, out, step):
    i = jit.grid(1)
    out[i] = x[i * np.uint32(step)]


@jit.rawkernel()
def shared_strided(out, step):
    tile = jit.shared_memory(np.float32, 1024)
    t = int(jit.threadIdx.x)
    tile[t * step] = 1.0
    out[t] = tile[t * step]


@jit.rawkernel()
def shared_doubles(out, step):
    tile = jit.shared_memory(np.float64, 1024)
    t = int(jit.threadIdx.x)
    tile[t * step] = 1.0
    out[t] = tile[t * step]


@jit.rawkernel()
def parted(x, out):
    i = int(jit.grid(1))
    if i % 2 == 0:
        out[i] = x[i]
    else:
        out[i] = -x[i]


@jit.rawkernel()
def by_warps(x, out):
    i = int(jit.grid(1))
    if i // 32 % 2 == 0:
        out[i] = x[i]
    else:
        out[i] = -x[i]


@jit.rawkernel()
def along_rows(x, out):
    column, row = jit.grid(2)
    out[row, column] = x[row, column] + 1


@jit.rawkernel()
def along_columns(x, out):
    row, column = jit.grid(2)
    out[row, column] = x[row, column] + 1


@jit.rawkernel()
def counted(x, out):
    jit.atomic_add(out, 0, x[jit.grid(1)])


@jit.rawkernel()
def counted_by_blocks(x, out):
    jit.atomic_add(out, jit.blockIdx.x, x[jit.grid(1)])


@jit.rawkernel()
def product_in_place(a, b, out):
    i, j = jit.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        for k in range(a.shape[1]):
            out[i, j] += a[i, k] * b[k, j]


@jit.rawkernel()
def added_one(x, out):
    j, i = jit.grid(2)
    if i < x.shape[0] and j < x.shape[1]:
        out[i, j] = x[i, j] + 1


@jit.rawkernel()
def taken(x, places, out):
    out[0] = x[places[0], jit.atomic_add(places, 1, 1)]


@jit.rawkernel(device=True)
def element(x, i):
    return x[i]


@jit.rawkernel()
def through_a_function(x, out):
    i = int(jit.grid(1))
    if i < x.size:
        out[i] = element(x, i)


def figures(kernel, blocks, threads, *args):
    """Those of a launch. Each time that's likely lies in its range."""
    kernel[blocks, threads](*[fl.gpu(x, dtype=None) if isinstance(x, np.ndarray) else x for x in args])
    found = kernel.figures
    assert all(least <= likely <= most for least, likely, most in found.times.values()), found.times
    assert found.range[0] <= found.seconds <= found.range[1]
    return found


@pytest.mark.parametrize(
    ("step", "sectors", "share"), [(1, 4, 1.0), (2, 8, 0.5), (8, 32, 1 / 8), (32, 32, 1 / 8), (0, 1, 1 / 8)]
)
def test_sectors_of_a_warp(step, sectors, share):
    found = figures(strided, 1, 32, X, np.zeros(32, np.float32), step)
    assert found.sectors == sectors + 4  # four for the result
    assert found.used == round(sectors * 32 * share) + 128
    assert found.lines[-1].text == "out[i] = x[i * np.uint32(step)]"


@pytest.mark.parametrize(("step", "conflicts"), [(1, 0), (2, 1), (4, 3), (31, 0), (32, 31)])
def test_bank_conflicts_of_a_warp(step, conflicts):
    found = figures(shared_strided, 1, 32, np.zeros(32, np.float32), step)
    assert found.conflicts == 2 * conflicts  # of the write and the read


def test_eight_bytes_side_by_side_have_no_conflict():
    assert figures(shared_doubles, 1, 64, np.zeros(64), 1).conflicts == 0


@pytest.mark.parametrize("step", [1, 2, 3, 16])
@pytest.mark.parametrize(("kernel", "dtype"), [(shared_strided, np.float32), (shared_doubles, np.float64)])
def test_a_trace_speaks_of_banks_where_the_figures_count_conflicts(kernel, dtype, step):
    touches = kernel.trace(1, 32, (fl.gpu(np.zeros(32, dtype), dtype=None), step))
    in_shared = [touch for touch in touches if touch.is_shared]
    assert len(in_shared) == 2 and sum(touch.conflicts for touch in in_shared) == kernel.figures.conflicts
    assert ("they meet at the same banks" in repr(touches)) == bool(kernel.figures.conflicts)


def test_divergence_is_of_warps():
    out = np.zeros(128, np.float32)
    assert figures(parted, 1, 128, X[:128], out).divergent == 4
    assert figures(by_warps, 1, 128, X[:128], out).divergent == 0


def test_rows_against_columns():
    x = np.zeros((1024, 1024), np.float32)
    rows = figures(along_rows, (32, 32), (32, 32), x, x.copy())
    columns = figures(along_columns, (32, 32), (32, 32), x, x.copy())
    assert (rows.sectors, columns.sectors) == (262_144, 2_097_152)
    assert (rows.share, columns.share) == (1.0, 1 / 8)
    assert rows.limit == columns.limit == "bandwidth"
    assert columns.seconds > 1.2 * rows.seconds
    assert columns.range[1] == pytest.approx(8 * rows.range[1])


def test_what_limits_a_kernel():
    x = np.ones(1024, np.float32)
    found = figures(puzzles.guarded, 4, 256, x, x.copy())
    assert found.time == "3 µs simulated (NVIDIA T4), the least that any kernel takes"
    assert found.summary.endswith("; 3 µs on the card, the least that any kernel takes")
    x = np.ones((1024, 1024), np.float32)
    found = figures(product_in_place, 1, (8, 8), x, x, np.zeros((8, 8), np.float32))
    assert found.limit == "latency" and found.range[0] > 100e-6


@pytest.mark.parametrize(("shape", "launch", "words"), [
    ((30, 50), ((1, 1), (32, 32)), "out 960 of 1,500 elements"),
    ((30, 50), ((2, 2), (32, 16)), None),
    ((0, 5), (1, 32), None),
    ((30, 50), (1, (8, 4)), "out 32 of 1,500 elements"),
])  # fmt: skip
def test_elements_that_nobody_wrote_are_a_row(shape, launch, words):
    found = figures(added_one, *launch, np.ones(shape, np.float32), np.zeros(shape, np.float32))
    assert dict(found.rows()).get("written") == words
    assert ("elements of out;" in found.summary) == (words is not None)


def test_one_of_each_has_no_plural():
    found = figures(parted, 1, 1, X[:1], np.zeros(1, np.float32))
    assert found.summary.startswith("1 thread, 2 sectors, 12% used;")


def test_atomics_in_one_place():
    x = np.ones(1 << 18, np.float32)
    one = figures(counted, 1024, 256, x, np.zeros(1))
    many = figures(counted_by_blocks, 1024, 256, x, np.zeros(1024))
    assert (one.atomics, one.queue) == (1 << 18, 1 << 18)
    assert (many.atomics, many.queue) == (1 << 18, 256)
    assert one.limit == "atomics in one place" and one.seconds > 3 * many.seconds


def test_an_index_along_two_axes_is_computed_once():
    places = fl.gpu(np.array([1, 2], np.int32))
    found = figures(taken, 1, 1, X.reshape(64, 64), places, np.zeros(1, np.float32))
    assert fl.cpu(places).tolist() == [1, 3] and found.busiest["reads"] == 2 and found.atomics == 1


def test_the_busiest_thread():
    x = np.ones((32, 32), np.float32)
    found = figures(puzzles.product_by_tiles, (2, 2), (16, 16), x, x, x.copy())
    assert found.busiest == {"reads": 4, "writes": 1, "shared reads": 64, "shared writes": 4}
    assert found.barriers == 4 and figures(puzzles.guarded, 1, 32, X, X.copy()).barriers == 0


def test_occupancy():
    x = np.ones(1024, np.float32)
    assert figures(puzzles.guarded, 1, 1024, x, x.copy()).occupancy == 1.0
    assert figures(puzzles.guarded, 1, 32, x, x.copy()).occupancy == 0.5  # 16 blocks of 32 threads
    square = np.ones((32, 32), np.float32)
    assert figures(puzzles.transposed, (1, 1), (32, 8), square, square, 33).resident == 4


def test_a_launch_in_a_receipt():
    x = fl.gpu(X)
    out = np.zeros_like(x)
    with fl.receipt() as r:
        puzzles.guarded[16, 256](x, out)
        fl.cuda.synchronize()
    assert r.launches == 1 and r.launched["guarded"] == 1 and r.first_uses == 1
    assert r.kernels == [puzzles.guarded.figures]
    assert "guarded 1" in repr(r) and "4,096 threads, 1,024 sectors, 100% used" in repr(r)
    moment = next(moment for moment in r.timeline() if moment.kind == "launch")
    assert moment.end - moment.start == pytest.approx(puzzles.guarded.figures.seconds, abs=1e-9)
    assert "puzzles.guarded[16, 256](x, out)" in moment.line


@pytest.mark.parametrize("card", PRESETS)
def test_the_time_on_every_card(card):
    e = fl.estimate(lambda x: puzzles.twice[4096, 256](x, np.zeros_like(x)), np.zeros(1 << 20, np.float32), like=card)
    found = e.receipt.kernels[0]
    low, high = found.range
    assert 0 < low <= found.seconds <= high
    assert found.card.name == card
    assert e.seconds > found.seconds  # and the launch
    nbytes = 2 * 4 * (1 << 20)
    assert found.seconds >= nbytes / PRESETS[card].bandwidth


def test_a_card_that_is_not_listed_is_said_to_be_guessed():
    card = PRESETS["NVIDIA T4"]._replace(name="mine")
    e = fl.estimate(lambda x: puzzles.twice[1, 256](x, np.zeros_like(x)), np.zeros(256, np.float32), like=card)
    assert "its figures guessed" in e.receipt.kernels[0].time


def test_a_kernel_explained():
    x = np.ones((64, 64), np.float32)
    found = figures(puzzles.transposed, (2, 2), (32, 8), x, x, 32)
    text = repr(fl.explain(puzzles.transposed))
    row = next(line for line in text.splitlines() if "out[column + ty + k, row + tx] =" in line)
    assert row.split()[:4] == ["256", "512", "100%", "3,968"]
    assert "def transposed(x, out, width):" in text and repr(found) in text


def test_a_kernel_explained_with_a_function_of_the_device():
    figures(through_a_function, 1, 32, np.ones(32, np.float32), np.ones(32, np.float32))
    assert "element: return x[i]" in repr(fl.explain(through_a_function))
