"""Lesson 08's checks: each likely wrong kernel gets its own helpful message."""

import shutil

import kernels_of_lesson08 as learners
import numpy as np
import pytest
from answers import not_right, right

import fluxlite as fl
from fluxlite.cuda import jit
from fluxlite_course import sine_wave
from fluxlite_course.kit.exercises import judge
from fluxlite_course.lesson08 import by_halves, chip, in_python, map_of_losses, networks, on_one_core, train_all, wider
from fluxlite_course.lesson08.halves import NUMBERS, PACES, add_up
from fluxlite_course.lesson08.loss_map import predictions

test_a_wrong_kernel_is_not_right_and_the_reply_says_why = not_right(
    ("08.1", [learners.affine_thread_of_its_block], "only the first 256"),
    ("08.1", [learners.affine_by_all], "several threads write the same element"),
    ("08.1", [learners.affine_forgets_one], "with 4 blocks of 256 threads, the + 1 is missing"),
    ("08.1", [learners.affine_of_something_else], "1,024 of 1,024 numbers are wrong, out[0]"),
    ("08.1", [learners.affine_undecorated], "that's no kernel: a kernel is a function with @jit.rawkernel()"),
    ("08.1", [None], "that's no kernel"),
    ("08.1", [learners.affine_swapped], "the kernel takes two arrays: x, and then out"),
    ("08.1", [learners.affine_in_place], "x has changed"),
    ("08.1", [learners.affine_for_256], "with 16 blocks of 64 threads, a thread leaves the array"),
    ("08.1", [learners.affine_by_one_thread], "one thread writes 1,024 times"),
    ("08.1", [learners.affine_into_a_name], "still all zeros"),
    ("08.1", [learners.affine_shifted], "a thread leaves the array"),
    ("08.1", [learners.affine_returns], "that's no kernel that a GPU could run"),
    ("08.2", [learners.pairs_without_a_guard], "goes past the end"),
    ("08.2", [learners.pairs_without_the_last], "it has no right neighbour"),
    (
        "08.2",
        [learners.pairs_with_the_left],
        "before the beginning. The neighbour is the one to the right",
    ),
    ("08.2", [learners.pairs_with_the_left_guarded], "the neighbour is the one to the right, x[i + 1]"),
    ("08.2", [learners.pairs_in_a_ring], "it has no right neighbour"),
    ("08.2", [learners.pairs_by_one_thread], "one thread writes 1,024 times"),
    ("08.2", [learners.pairs_with_the_left_and_no_guard], "The neighbour is the one to the right"),
    ("08.2", [learners.pairs_with_the_left_but_the_first], "the neighbour is the one to the right, x[i + 1]"),
    ("08.2", [learners.pairs_for_1000], "with 1,024 elements and 1,024 threads"),
    ("08.3", [learners.eight_by_one_warp], "one thread writes 256 times: each does 8"),
    ("08.3", [learners.eight_zeros], "numbers are wrong, out[0]"),
    ("08.3", [learners.eight_for_1024], "with 2 blocks of 64 threads, a thread leaves the array"),
    ("08.3", [learners.eight_in_a_row], "only 12% of what's fetched is used"),
    ("08.3", [learners.eight_by_the_block], "several threads write the same element"),
    ("08.3", [learners.only_the_first_eighth], "7,168 of 8,192 elements of out were never written"),
    ("08.4", [learners.summed(barrier_after=False)], "there's still a race"),
    ("08.4", [learners.summed(barrier_after=False, barrier_inside=True)], "a barrier inside an if"),
    ("08.4", [learners.summed(first=64)], "4 of 4 numbers are wrong"),
    ("08.4", [learners.summed(barrier_before=True)], "one barrier isn't needed"),
    ("08.4", [learners.summed(barrier_before=True, barrier_after=False)], "one barrier isn't needed"),  # at par
    ("08.4", [learners.summed_with_one_more_at_the_end], "one barrier isn't needed"),
    ("08.5", [None], "that's no kernel"),
    ("08.5", [learners.train_step], "that's no kernel"),
    ("08.5", [learners.summed()], "the kernel takes six arguments"),
    ("08.5", [learners.trained("never")], "shared memory is gone when its block is done"),
    ("08.5", [learners.trained("before")], "shared memory is gone when its block is done"),
    ("08.5", [learners.trained("by one thread")], "only one weight of each network is kept"),
    ("08.5", [learners.trained("the first network's")], "only the first network's weights are kept"),
    ("08.5", [learners.trained("in one row")], "several networks write the same weight"),
    ("08.5", [learners.trained("without a barrier")], "all the barriers that were there are needed"),
    ("08.5", [learners.trained("turned")], "weights has a row for each network n"),
    ("08.5", [learners.trained("too early")], "one epoch too early"),
    ("08.5", [learners.trained("in each epoch")], "a thread writes 6 times: once is enough"),
    ("08.5", [learners.trained(rounds=3)], "with 1 network and 2 epochs, the losses are wrong"),
    ("08.5", [learners.trained(factor=0.0)], "the losses are wrong"),
    ("08.5", [learners.trained("spoils the rates")], "rates has changed"),
)
test_a_right_kernel_may_be_written_otherwise = right(
    ("08.1", [learners.affine_by_hand], "3 reads, 1 write"),
    ("08.1", [learners.affine_by_atomics], "1 atomic on one element\n"),
    ("08.2", [learners.pairs_by_return], "3 reads, 2 writes"),
    ("08.3", [learners.eight_while], "100% of the sectors"),
    ("08.4", [learners.summed()], "the sums of 4 and of 3 blocks, and no race"),
    ("08.4", [learners.summed_with_the_barrier_at_the_top], "9 shared writes, 8 barriers"),
    ("08.4", [learners.summed_atomically], "1 read, 1 write, 256 atomics on one element"),
    ("08.1", [learners.affine_with_other_names], "1 read, 1 write"),
    ("08.1", [learners.affine_by_strides], "1 read, 1 write"),
    ("08.2", [learners.pairs_in_two_steps], "2 reads"),
    ("08.3", [learners.eight_of_the_block], "100% of the sectors"),
    ("08.5", [learners.trained()], "each network's 48 weights, each written once"),
    ("08.5", [learners.trained("in the last epoch")], "each network's 48 weights, each written once"),
)


def test_the_score_stands_beside_par():
    rows = judge("08.1", learners.affine_by_hand).message.splitlines()
    assert rows[1:] == ["      your score  3 reads, 1 write", "      par         1 read, 1 write"]


def test_the_lessons_own_sum_is_at_par():
    rows = judge("08.4", learners.summed()).message.splitlines()
    assert rows[1].split("score")[1].strip() == rows[2].split("par")[1].strip()
    assert rows[2].endswith("9 barriers")


def test_a_needless_barrier_is_named_by_its_line():
    rows = dict(judge("08.4", learners.summed_with_one_more_at_the_end).rows)
    last = learners.summed_with_one_more_at_the_end.source
    assert rows["yours"] == f"line {last.first + 11}: jit.syncthreads()"


def test_a_verdict_names_the_place_of_an_error():
    rows = dict(judge("08.4", learners.summed(barrier_after=False, barrier_inside=True)).rows)
    assert "block (0), thread (0), line" in rows["yours"] and "jit.syncthreads()" in rows["yours"]


def test_a_verdict_names_the_line_that_wrote_a_wrong_number():
    yours, line = dict(judge("08.1", learners.affine_forgets_one).rows)["yours"].splitlines()
    assert yours == "0.484" and line.startswith("written in line ") and line.endswith(": out[i] = 3 * x[i]")


def test_a_verdict_gives_one_advice():
    for id, kernel, advice in (
        ("08.1", learners.affine_shifted, "Guard the line"),
        ("08.1", learners.affine_by_all, "Let each do its own"),
        ("08.3", learners.eight_by_the_block, "atomic_add"),
    ):
        yours = dict(judge(id, kernel).rows)["yours"].splitlines()
        assert len(yours) == 2 and advice not in yours[1]


# -- the pictures -----------------------------------------------------------------------------------------------------


def test_the_chip_has_the_simulators_numbers(simulated):
    from fluxlite_course.lesson08 import pictures as drawn
    from simgpu.jit.figures import card_of
    from simgpu.presets import PRESETS

    preset = PRESETS["NVIDIA T4"]
    card = card_of(preset)
    assert card.shared_memory[1] == drawn.TO_SHARED
    assert card.level_2 == drawn.TO_LEVEL_2 and card.far[1] == drawn.TO_MEMORY
    assert preset.multiprocessors == drawn.MULTIPROCESSORS and card.issue * drawn.WARP == drawn.LANES
    assert card.shared == 64 * 1024 and preset.memory == 16 * 2**30
    assert card.level_1 == drawn.TO_LEVEL_1 and "2,560" in chip().at(part="lanes")


@jit.rawkernel()
def halves(x, y, weights, rates, losses, epochs):
    """It has hardly anything to do, so it takes the least time."""
    if jit.threadIdx.x == 0:
        losses[jit.blockIdx.x] = rates[jit.blockIdx.x] / 2


def test_many_networks_are_slower_on_one_core_and_not_in_one_launch(simulated):
    scene = wider(halves, fl.gpu(networks()), fl.Seconds(1e-3, "recorded"))
    assert scene.at(networks="1").endswith("the T4 is faster, by 333 times.") and "1 ms recorded" in scene.sentences[0]
    assert scene.at(networks="1,024").startswith("1,024 networks: one core: 1.02 s recorded, T4: ")


def test_each_network_has_its_rate_and_its_seed():
    x, y, weights, rates, losses = networks([0.1, 0.5], [3, 4, 5])
    assert rates.tolist() == [np.float32(0.1), 0.5] * 3 and losses.shape == (6,) and x[1] == y[0]
    assert (weights[2] == weights[3]).all() and (weights[2] != weights[4]).any()


def test_all_are_trained_in_parts_as_in_one_launch(simulated):
    one, parts, lost = (fl.gpu(networks([0.1, 0.3], [2, 5])) for _ in range(3))
    kernel = learners.trained()
    kernel[4, 48](*one, 12)
    in_one = kernel.figures.seconds
    seconds = train_all(kernel, parts, 12)
    np.testing.assert_array_equal(fl.cpu(parts[2]), fl.cpu(one[2]))
    np.testing.assert_array_equal(fl.cpu(parts[4]), fl.cpu(one[4]))
    assert seconds.kind == "simulated" and in_one < seconds < 1.2 * in_one
    assert train_all(learners.trained("never"), lost, 12) == pytest.approx(in_one, rel=0.01)  # it can't go on
    np.testing.assert_array_equal(fl.cpu(lost[4]), fl.cpu(one[4]))


def loss_map():
    """Of four networks: two rates and two seeds. One blew up."""
    x, y, weights, rates, _ = networks([0.1, 1], [3, 4])
    weights[0] = 0.0
    return map_of_losses(x, y, weights, rates, np.array([0.5, np.nan, 0.25, 0.03]))


def test_the_map_says_each_networks_loss_and_begins_with_the_smallest():
    scene = loss_map()
    assert repr(scene) == "Rate 1, seed 2: final loss 0.03. It's the smallest of all 4."
    assert scene.at(rate="0.1", seed="1") == "Rate 0.1, seed 1: final loss 0.5."
    assert scene.at(rate="1", seed="1") == "Rate 1, seed 1: the loss blew up."


def test_each_pixel_shows_its_own_wave():
    x, y, weights, rates, losses = networks([0.1, 1], [3, 4])
    weights[3, :6] = np.nan
    scene = map_of_losses(x, y, weights, rates, losses + np.float32([4, 3, 2, 1]))
    (moved,) = [part for part in scene.picture.parts() if "ys" in part.attributes]
    expected = predictions(x, weights)
    heights = np.array(moved.attributes["ys"])
    for at, n in enumerate((0, 2, 1)):  # seed by seed, for each rate
        slope, offset = np.polyfit(expected[n], heights[at], 1)
        np.testing.assert_allclose(heights[at], slope * expected[n] + offset, atol=1)
        assert slope < -10  # upwards on the page
    (shown,) = [part for part in scene.picture.parts() if moved in part.inside]
    assert shown.attributes["display"] == (None, None, None, "none")  # nothing to see of what isn't a number


def test_a_wave_is_the_networks_own():
    x, _, w1, w2 = sine_wave.problem(seed=3)
    weights = np.append(w1, w2)[None]
    np.testing.assert_allclose(predictions(x.ravel(), weights)[0], sine_wave.predict(x, w1, w2), atol=1e-5)


def test_the_map_says_if_the_weights_are_those_of_the_beginning():
    x, y, weights, rates, losses = networks([0.1, 1], [3, 4])
    words = [part.text for part in map_of_losses(x, y, weights, rates, losses).picture.parts()]
    assert "line: before the training" in words
    assert "line: before the training" not in [part.text for part in loss_map().picture.parts()]


@pytest.mark.parametrize("quick", PACES)
def test_with_a_barrier_the_sum_is_right_whichever_is_quick(quick):
    run = add_up(NUMBERS, PACES[quick], barrier=True)
    assert run.total == sum(NUMBERS) and not any(one.early for one in run.additions) and run.waits


def test_without_a_barrier_a_quick_thread_reads_too_early():
    run = add_up(NUMBERS, PACES["thread 0"], barrier=False)
    assert run.total == 22 and not run.waits  # 3 + 5, then 4, which lacks 2, then 1 + 9, which lacks 1 + 6
    assert [(one.thread, one.other) for one in run.additions if one.early] == [(0, 2), (1, 3), (0, 1)]
    assert add_up(NUMBERS, PACES["thread 3"], barrier=False).total == sum(NUMBERS)


def test_the_scene_of_the_halves_ends_with_the_sum():
    scene = by_halves()
    ends = {(setting["barrier"], setting["quickest"]): said for setting, said in zip(scene.settings, scene.sentences)}
    assert ends["with", "thread 3"].endswith("The sum is 31, whichever thread is the quickest.")
    assert ends["without", "thread 0"].endswith("The sum is 22, and it should be 31.")
    assert "right by luck" in ends["without", "thread 3"]


@pytest.mark.parametrize("compiler", ["no-such-compiler", "false"])
def test_without_a_compiler_the_core_is_recorded(monkeypatch, compiler):
    monkeypatch.setenv("CC", compiler)
    on_one_core.__globals__["_compile"].cache_clear()
    assert on_one_core().kind == "recorded"
    on_one_core.__globals__["_compile"].cache_clear()


@pytest.mark.skipif(shutil.which("cc") is None, reason="there's no C compiler")
def test_with_a_compiler_the_core_is_measured():
    core = on_one_core()
    assert core.kind == "measured" and 1e-5 < float(core) < 1


def test_python_is_measured_here():
    seconds = in_python()
    assert seconds.kind == "measured" and seconds > 0
