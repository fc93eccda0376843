"""The picture of a warp: what it says, its buttons, and its plain call."""

import numpy as np
import pytest

import fluxlite as fl
from fluxlite.cuda import jit
from fluxlite_course.draw.pictures import plots
from fluxlite_course.lesson08.warps import _draw_grid, warp, warp_picture

pytestmark = pytest.mark.usefixtures("simulated")
IMPORT = "from fluxlite_course.lesson08 import warp_picture"


@jit.rawkernel()
def along_rows(x, out):
    column, row = jit.grid(2)
    out[row, column] = x[row, column]


@jit.rawkernel()
def along_columns(x, out):
    row, column = jit.grid(2)
    out[row, column] = x[row, column]


@jit.rawkernel()
def turned(x, out):
    tile = jit.shared_memory(np.float32, 1024)
    t = int(jit.threadIdx.x)
    for k in range(32):
        tile[k * 32 + t] = x[k, t]
    jit.syncthreads()
    out[0, t] = tile[t * 32]


def traces(block=3, warp=0):
    x = fl.gpu(np.ones((32, 32), np.float32))
    return {
        kernel.name: kernel.trace((1, 4), (32, 8), (x, x.copy()), block, warp) for kernel in (along_rows, along_columns)
    }


def test_where_each_lane_goes():
    rows, columns = traces(block=3, warp=2).values()
    assert len(rows) == len(columns) == 2
    assert rows[0].elements == {lane: (3 * 8 + 2) * 32 + lane for lane in range(32)}
    assert columns[0].elements == {lane: lane * 32 + 3 * 8 + 2 for lane in range(32)}
    assert (rows[0].sectors, rows[0].used, columns[0].sectors, columns[0].used) == (4, 128, 32, 128)
    assert [touch.way for touch in rows] == ["read", "write"]


def test_shared_memory_and_its_turns():
    x = fl.gpu(np.ones((32, 32), np.float32))
    trace = turned.trace(1, 32, (x, x.copy()))
    assert [touch.turns for touch in trace if touch.is_shared] == [1] * 32 + [32]
    assert "32 lanes read tile, in 32 turns: they meet at the same banks" in repr(trace)


def test_a_still_says_what_is_to_be_seen():
    found = warp_picture(traces(), 0)
    assert "along_rows: Line" in found.sentence and "in 4 sectors, 100% of their bytes used" in found.sentence
    assert "along_columns: Line" in found.sentence and "in 32 sectors, 12% of their bytes used" in found.sentence
    assert found.png.startswith(b"\x89PNG")
    with pytest.raises(IndexError, match="along_rows has 2 accesses of this warp, 0 to 1; got 2"):
        warp_picture(traces(), 2)


def test_a_picture_with_fewer_boxes_than_blocks_says_so():
    x = fl.gpu(np.zeros((1024, 1024), np.float32))
    trace = along_rows.trace((32, 32), (32, 32), (x, x.copy()))
    figure, axes = plots()
    _draw_grid(axes, "", trace)
    assert [text.get_text() for text in axes.texts] == [
        "1,024 blocks (128 drawn): number 0", "its 1,024 threads (512 drawn): warp 0"
    ]  # fmt: skip
    axes.clear()
    _draw_grid(axes, "", traces(block=3, warp=2)["along_rows"])
    assert [text.get_text() for text in axes.texts] == ["4 blocks: number 3", "its 256 threads: warp 2"]


def test_the_buttons_go_step_by_step():
    shown = warp(traces())
    assert "read x" in shown.sentence and shown.call == f"{IMPORT}; warp_picture(trace, 0)"
    shown.after.click()
    assert "write out" in shown.sentence and shown.call == f"{IMPORT}; warp_picture(trace, 1)"
    assert shown.sentence == warp_picture(traces(), 1).sentence
    shown.after.click()  # there's no further one
    assert shown.number.value == 1
    shown.before.click()
    assert "read x" in shown.sentence
    shown.number.value = 1
    assert "write out" in shown.sentence


def test_large_arrays_are_drawn_in_part():
    x = fl.gpu(np.ones((200, 300), np.float32), dtype=None)
    trace = along_rows.trace((9, 25), (32, 8), (x[:, :288], x.copy()[:, :288]), block=100, warp=3)
    assert warp_picture(trace, 0).png


def test_no_such_warp():
    with pytest.raises(ValueError, match="has 4 blocks of 8 warps, from 0 on; there is no warp 8 in block 0"):
        traces(block=0, warp=8)


def test_a_kernel_is_traced_first():
    with pytest.raises(TypeError, match=r"got Kernel: warp\(along_rows.trace\(blocks, threads, \(x, out\)\)\)"):
        warp(along_rows)
    with pytest.raises(TypeError, match="got Kernel"):
        warp_picture({"rows": along_rows})


def test_a_trace_says_how_many_warps_there_are():
    x = fl.gpu(np.ones((32, 32), np.float32))
    with pytest.raises(ValueError, match="has 1 block of 1 warp, from 0 on; there is no warp 1 in block 0"):
        along_rows.trace(1, 32, (x, x.copy()), warp=1)


def test_the_plain_call_runs_as_it_stands():
    names = {"trace": traces()["along_rows"]}
    exec(warp(traces()).call, names)
    assert names["warp_picture"] is warp_picture
