"""Lesson 08's checks: each likely wrong kernel gets its own helpful message."""

import kernels_of_lesson08 as learners
from answers import not_right, right

import fluxlite as fl
from fluxlite_course.kit.exercises import judge
from fluxlite_course.lesson08.pictures import chip, compared, halving

test_a_wrong_kernel_is_not_right_and_told_why = not_right(
    ("08.1", [learners.affine_in_place], "x has changed"),
    ("08.1", [learners.affine_thread_of_its_block], "only the first 256"),
    ("08.1", [learners.affine_by_all], "several threads write the same element"),
    ("08.1", [learners.affine_forgets_one], "1,024 of 1,024 numbers are wrong, out[0]"),
    ("08.1", [learners.affine_into_a_name], "still all zeros"),
    ("08.1", [learners.affine_shifted], "a thread leaves the array"),
    ("08.1", [learners.affine_returns], "that's no kernel that a GPU could run"),
    ("08.1", [learners.affine_undecorated], "keep the line @jit.rawkernel()"),
    ("08.1", [learners.halved], "that's no kernel"),
    ("08.2", [learners.pairs_without_a_guard], "goes past the end"),
    ("08.2", [learners.pairs_guarded_too_late], "i, and i + 1"),
    ("08.2", [learners.pairs_without_the_last], "it has no right neighbour"),
    ("08.2", [learners.pairs_with_the_left], "numbers are wrong"),
    ("08.2", [learners.pairs_in_place], "two threads write the same element, or read"),
    ("08.3", [learners.eight_in_a_row], "only 12% of what's fetched is used"),
    ("08.3", [learners.eight_by_the_block], "several threads write the same element"),
    ("08.3", [learners.eight_by_1024], "with 2 blocks of 64 threads, a thread leaves the array"),
    ("08.3", [learners.eight_by_one_block], "one thread handles 64 elements"),
    ("08.3", [learners.only_the_first_eighth], "7,168 of 8,192 elements of out were never written"),
    ("08.3", [learners.eight_not_doubled], "numbers are wrong"),
    ("08.3", [learners.eight_forever], "can't end"),
    ("08.4", [learners.summed(barrier_after=False)], "there's still a race"),
    ("08.4", [learners.summed(barrier_after=False, barrier_inside=True)], "a barrier inside an if"),
    ("08.4", [learners.sum_alone], "one thread reads 256 numbers"),
    ("08.4", [learners.sum_by_atomics], "by 1,024 atomics"),
    ("08.4", [learners.summed(first=64)], "4 of 4 numbers are wrong"),
    ("08.4", [learners.sum_of_one], "each block's first number"),
    ("08.4", [learners.sum_unwritten], "that nobody has written"),
    ("08.5", [learners.dot_with_an_atomic_each], "with 2,000 atomics"),
    ("08.5", [learners.dot(end=learners.ASSIGNED)], "only jit.atomic_add may add to out[0]"),
    ("08.5", [learners.dot(guarded=False)], "x has 2,000 elements, and out has a single one"),
    ("08.5", [learners.dot(zeros=False)], "it needs a 0"),
    ("08.5", [learners.dot(end=learners.FOR_EACH_BLOCK)], "out has a single one"),
    ("08.5", [learners.dot(with_y=False)], "the sum of x: y is missing"),
    ("08.5", [learners.dot(end=learners.BY_THE_FIRST)], "the first block's share alone"),
    ("08.5", [learners.dot(end=learners.BY_ALL)], "256 times as large: only thread 0 adds"),
    ("08.5", [learners.dot(inside=True)], "some threads never reach a barrier"),
    ("08.5", [learners.dot_alone], "one thread reads 4,000 numbers"),
    ("08.6", [learners.product_of_rows], "each thread reads 128 numbers"),
    ("08.6", [learners.tiled(second_barrier=False)], "overwritten while it's in use"),
    ("08.6", [learners.tiled(first_barrier=False)], "read before all of it is there"),
    ("08.6", [learners.tiled(mixed=True)], "numbers are wrong"),
    ("08.6", [learners.tiled(tiles=1)], "the first tile's share"),
    ("08.6", [learners.tiles_on_their_side], "take turns at the banks of shared memory"),
    ("08.6", [learners.tiled(step=32)], "Rows and columns may be mixed up"),
)
test_a_right_kernel_may_be_written_otherwise = right(
    ("08.1", [learners.affine_by_hand], "3 reads, 1 write"),
    ("08.1", [learners.affine_in_a_loop], "1 read, 1 write"),
    ("08.2", [learners.pairs_by_return], "3 reads, 2 writes"),
    ("08.2", [learners.pairs_by_expression], "2 reads, 1 write"),
    ("08.3", [learners.eight_by_range], "8 reads, 8 writes"),
    ("08.3", [learners.eight_while], "100% of the sectors"),
    ("08.4", [learners.summed(barrier_before=True, barrier_after=False)], "17 shared reads, 9 shared writes"),
    ("08.4", [learners.sum_by_shuffles], "8 shared reads, 1 shared write"),
    ("08.5", [learners.dot()], "1,024 atomics for 262,144 products"),
    ("08.5", [learners.dot_in_strides], "1,024 atomics"),
    ("08.5", [learners.dot_by_the_first_block], "0 atomics"),
    ("08.6", [learners.padded_tiles], "6 reads, 1 write"),
    ("08.6", [learners.tiled()], "6 reads, 1 write"),
)


def test_a_kernel_keeps_its_own_limit_of_rounds():
    judge("08.3", learners.eight_forever)
    judge("08.3", learners.eight_while)
    assert learners.eight_forever.most_rounds == learners.eight_while.most_rounds == 100_000


def test_the_score_stands_beside_par():
    rows = judge("08.1", learners.affine_by_hand).message.splitlines()
    assert rows[1:] == ["      your score  3 reads, 1 write", "      par         1 read, 1 write"]


def test_a_verdict_names_the_place_of_an_error():
    rows = dict(judge("08.4", learners.summed(barrier_after=False, barrier_inside=True)).rows)
    assert "block (0), thread (0), line" in rows["yours"] and "jit.syncthreads()" in rows["yours"]


def test_a_verdict_names_the_line_that_wrote_a_wrong_number():
    yours, line = dict(judge("08.1", learners.affine_forgets_one).rows)["yours"].splitlines()
    assert yours == "0.484" and line.startswith("written in line ") and line.endswith(": out[i] = 3 * x[i]")
    assert "no thread has written it" in dict(judge("08.4", learners.sum_in_the_first_block_alone).rows)["yours"]


def test_a_verdict_gives_one_advice():
    for id, kernel, advice in (
        ("08.1", learners.affine_shifted, "Guard the line"),
        ("08.1", learners.affine_by_all, "Let each do its own"),
        ("08.3", learners.eight_by_the_block, "atomic_add"),
    ):
        yours = dict(judge(id, kernel).rows)["yours"].splitlines()
        assert len(yours) == 2 and advice not in yours[1]


def test_a_verdicts_lines_stand_below_each_other():
    yours = dict(judge("08.3", learners.eight_forever).rows)["yours"].splitlines()
    assert len(yours) == 3 and not any(line.startswith(" ") for line in yours)


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


def test_halving_adds_up():
    assert halving((1, 2, 3, 4)).sentences[-1].endswith("In part: 10, 6, 3, 4.")
    assert [knob.options[-1] for knob in halving().knobs] == ["round 3"]


def test_three_times_keep_their_kinds():
    times = {
        "many": (fl.Seconds(0.8, "simulated", "NVIDIA T4"), None),
        "one": (fl.Seconds(3e-3, "simulated", "NVIDIA T4"), (2e-3, 6e-3)),
        "here": (fl.Seconds(0.1, "measured"), None),
    }
    said = "many: 0.8 s simulated (NVIDIA T4); one: 3 ms simulated (NVIDIA T4), 2 ms to 6 ms; here: 0.1 s measured."
    assert compared(times).sentence == said
