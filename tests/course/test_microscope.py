"""The microscope: its lanes, sectors, banks and outcomes are those of the launch."""

import re

import kernels_of_lesson08 as learners
import numpy as np
import pytest

import fluxlite as fl
from fluxlite.cuda import jit
from fluxlite_course.kit.exercises import judge
from fluxlite_course.lesson08.microscopes import _View, microscope
from fluxlite_course.lesson08.steps import look

pytestmark = pytest.mark.usefixtures("simulated")


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


def numbers(count, *shape):
    return fl.gpu(np.arange(1, count + 1, dtype=np.float32).reshape(shape or count))


def launches():
    x, square = numbers(1024), numbers(32 * 32, 32, 32)
    return {
        "affine": (learners.affine_by_hand, 5, 256, (x, np.zeros_like(x))),
        "pairs": (learners.pairs_by_return, 5, 250, (x, np.zeros_like(x))),
        "eight": (learners.eight_in_a_row, 2, 64, (x, np.zeros_like(x))),
        "sums": (learners.summed(), 4, 256, (x, np.zeros_like(x[:4]))),
        "turned": (turned, 1, 32, (square, np.zeros_like(square))),
        "rows": (along_rows, (1, 4), (32, 8), (square, np.zeros_like(square))),
    }


@pytest.mark.parametrize("name", ["affine", "pairs", "eight", "sums", "turned", "rows"])
def test_all_warps_together_touch_what_the_figures_count(name):
    kernel, grid, block, args = launches()[name]
    before = [fl.cpu(x) for x in args]
    threads, blocks = int(np.prod(block)), int(np.prod(grid))
    pairs = [(b, w) for b in range(blocks) for w in range(-(-threads // 32))]
    seen = look(kernel, grid, block, args, pairs, 10_000)
    assert all(np.array_equal(fl.cpu(x), y) for x, y in zip(args, before))  # looking changes nothing
    kernel[grid, block](*args)
    steps = [step for pair in pairs for step in seen.steps[pair]]
    touches = [step.touch for step in steps if step.touch]
    assert sum(touch.sectors for touch in touches if not touch.is_shared) == kernel.figures.sectors
    assert sum(touch.turns - 1 for touch in touches if touch.is_shared) == kernel.figures.conflicts
    assert len(touches) == sum(line.requests for line in kernel.figures.lines)
    assert all(tuple(step.touch.addresses) == step.on for step in steps if step.touch)
    assert not seen.ends


@pytest.mark.parametrize("copied", [lambda kernel, *args: judge("08.4", kernel),
                                    lambda kernel, *args: kernel.shuffled(1)[1, 256](*args)])  # fmt: skip
def test_a_kernel_is_seen_that_was_copied_before(copied):
    kernel, x = learners.summed(), numbers(256)
    copied(kernel, x, numbers(1))
    assert "t = 0, 1, 2, … 31" in microscope(kernel, 1, 256, (x, numbers(1))).sentences[0]


def test_who_sits_out():
    x = numbers(1000)
    steps = look(learners.affine_by_hand, 4, 256, (x, np.zeros_like(x)), [(3, 6), (3, 7)], 40).steps
    assert [len(step.on) for step in steps[3, 6]] == [32] * 6
    assert [len(step.on) for step in steps[3, 7]] == [32, *[8] * 5]
    assert steps[3, 7][1].said == "yes in 8 lanes, no in 24: those sit out"
    assert steps[3, 7][-1].on == tuple(range(8)) and steps[3, 7][-1].said == "lane 0: out[992] = 2980"


def test_several_kernels_and_what_they_say():
    x = numbers(1024, 32, 32)
    scene = microscope([along_rows, along_columns], (1, 4), (32, 8), (x, x.copy()), [(3, 2)])
    assert scene.at(step="1 of 3").endswith("column = 0, 1, 2, … 31; row = 26.")
    assert "32 lanes read x, in 4 sectors, 100%" in scene.at(step="2 of 3")
    said = scene.at(kernel="along_columns", step="2 of 3")
    assert said.endswith("32 lanes read x, in 32 sectors, 12% of their bytes used. Lane 0: x[0, 26] = 27.")
    assert said.startswith("Line ") and "out[row, column] = x[row, column]: " in said


def test_what_lights_up():
    x = numbers(1024, 32, 32)
    steps = look(turned, 1, 32, (x, x.copy()), [(0, 0)], 200).steps[0, 0]
    read = next(step for step in steps if step.touch and step.touch.is_shared and step.touch.way == "read")
    view = _View(read, True, 0)
    assert view.late.count("M") == 31 and view.wanted.count("M") == 1 and view.ways.count("M") == 32
    assert not view.along and view.rows == list(range(32)) and "a column is a bank" in view.about
    first = _View(next(step for step in steps if step.touch), True, 0)
    assert first.along.count("M") == 4 and first.wanted.count("M") == 32 and not first.late
    assert [text for _, text in first.labels] == [f"{row}, 0" for row in range(8)]
    assert not _View(read, False, 0).ways  # another step's memory is there, without lights


def test_a_warp_waits_until_all_are_there():
    steps = look(learners.summed(), 1, 256, (numbers(256), numbers(1)), [(0, 0), (0, 7)], 60).steps
    arrivals = [step.waiting for step in steps[0, 0] if step.waiting]
    assert [sum(waiting) for waiting in arrivals[:4]] == [1, 8, 1, 8]
    assert [sum(step.waiting) for step in steps[0, 7] if step.waiting][0] == 8  # the last one to come


def test_memory_is_there_before_anyone_touches_it():
    x = numbers(64)
    drawn = microscope(along_rows, (1, 1), (8, 4), (x.reshape(8, 8), x.reshape(8, 8).copy())).picture
    (there,) = (part for part in drawn.parts() if part.attributes.get("class") == "there")
    (ways,) = (part for part in drawn.parts() if part.attributes.get("class") == "ways")
    assert there.attributes["d"][0] == there.attributes["d"][1] != ""
    assert ways.attributes["d"][0] == "" != ways.attributes["d"][1]


def test_of_many_lanes_that_write_one_place_the_last_one_is_named():
    @jit.rawkernel()
    def add_all(x, out):
        out[0] += x[int(jit.grid(1))]

    @jit.rawkernel()
    def add_atomically(x, out):
        jit.atomic_add(out, 0, x[int(jit.grid(1))])

    x, out = numbers(64), fl.gpu(np.zeros(1, np.float32))
    steps = look(add_all, 1, 64, (x, out), [(0, 0)], 40).steps[0, 0]
    assert steps[-1].said == "lane 31: out[0] = 32"  # x has 1, 2, 3, …
    steps = look(add_atomically, 1, 64, (x, out), [(0, 0)], 40).steps[0, 0]
    assert steps[-1].said == f"32 lanes: out[0] = {32 * 33 // 2}"


def test_a_race_comes_to_another_number_in_another_order():
    x, out = numbers(256), numbers(1)
    kernel = learners.summed(barrier_after=False)
    ends = look(kernel, 1, 256, (x, out), [(0, 0)], 40).ends
    assert ends.startswith("A race: out[0] ends as ") and ". In other orders: " in ends
    scene = microscope(kernel, 1, 256, (x, out))
    assert scene.at(step="40 of 40").endswith(f"The warp goes on, but we stop here. {ends}")
    assert len(scene._repr_html_()) < 60_000


def test_other_orders_are_tried_if_there_are_few_threads():
    x = numbers(8192)
    assert not look(learners.affine_by_all, 4, 32, (x[:128], x[:128].copy()), [(0, 0)], 40).ends
    many = look(learners.summed(barrier_after=False), 32, 256, (x, np.zeros_like(x[:32])), [(31, 7)], 40)
    assert not many.ends and many.steps[31, 7]


def test_a_kernel_that_fails_raises_what_the_launch_raises():
    x = numbers(1024)
    with pytest.raises(jit.OutOfBounds, match="index 1,024 is outside"):
        microscope(learners.affine_shifted, 4, 256, (x, np.zeros_like(x)))
    assert fl.cpu(x)[0] == 1


def test_what_cant_be_seen():
    x = numbers(32)
    with pytest.raises(TypeError, match=r"got affine_undecorated: write @jit.rawkernel\(\) above its def"):
        microscope(learners.affine_undecorated, 1, 32, (x, x))
    with pytest.raises(TypeError, match=r"write microscope\(along_rows, blocks, threads, \(x, out,\)\)"):
        microscope(along_rows, 1, 32, x)
    with pytest.raises(TypeError, match="x is on the host"):
        microscope(along_rows, 1, 32, (np.zeros((2, 2)), x))
    with pytest.raises(ValueError, match="has 1 block of 1 warp, from 0 on; there is no warp 1 in block 0"):
        microscope(learners.affine_by_hand, 1, 32, (x, x.copy()), [(0, 1)])


def test_each_film_counts_its_own_steps():
    x = numbers(256)
    scene = microscope([learners.affine_by_hand, learners.summed()], 1, 256, (x, x.copy()), [(0, 0)])
    shown = dict(zip([tuple(setting.values()) for setting in scene.settings], scene.shown))
    short, long = [knob.options for knob in scene.knobs if knob.name == "kernel"][0]
    last = scene.knobs[-1].options[-1]
    assert last == "40 of 40" and shown[long, "0 of block 0", last] == last
    own = len(look(learners.affine_by_hand, 1, 256, (x, x.copy()), [(0, 0)], 40).steps[0, 0])
    assert own < 40 and shown[short, "0 of block 0", last] == f"{own} of {own}"
    assert shown[short, "0 of block 0", "2 of 40"] == f"2 of {own}"


def test_sectors_that_are_mostly_unused_stand_out():
    x = numbers(1024, 32, 32)
    scene = microscope([along_rows, along_columns], (1, 4), (32, 8), (x, x.copy()), [(3, 2)])
    used, unused = (scene.picture.markup(k) for k in range(len(scene.sentences)) if k in (1, 4))
    assert 'class="end bold">4 sectors, 100% used' in re.sub(' (x|y|data-moves)="[^"]*"', "", used)
    assert 'class="end bold waste">32 sectors, 12% used' in re.sub(' (x|y|data-moves)="[^"]*"', "", unused)
