"""Lesson 06's checks: each likely wrong answer gets its own helpful message."""

import numpy as np
import pytest
from answers import not_right, right

import fluxlite as fl
from fluxlite_course import crossover
from fluxlite_course.kit.exercises import judge
from fluxlite_course.lesson06 import trial
from simgpu.presets import preset

# Tables that a learner may read: of 64 waves, and the right one, of 1,024.
SIXTY_FOUR, WAVES = crossover(64), crossover(1024)
AT_4096 = WAVES.faster[4096]


test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    ("06.1", [112_000 * 18e-6], "host and GPU work at the same time"),
    ("06.1", [112_000 * 3e-6], "how long the GPU works"),
    ("06.1", [28 * 15e-6], "a single step; there are 4,000 of them"),
    ("06.1", [1680], "the unit isn't: give seconds"),
    ("06.1", ["1.7"], "seconds is text"),
    ("06.1", [5], "not what the launches"),
    ("06.2", [SIXTY_FOUR.smallest, SIXTY_FOUR.faster[4096]], "for a batch of 64"),
    ("06.1", [104_000 * 15e-6], "26 launches a step"),
    ("06.1", [27 * 4_000 * 15e-6], "not what the launches"),
    ("06.1", [112_000 * 15e-6 + 24 * 4_000 * 13e-6], "24 copies are all there are"),
    ("06.1", [lambda: 1.68], "isn't a number"),
    ("06.2", [512, 20], "512 is the size for a batch of 1, 16 or 64"),
    ("06.2", [512, 22.5], "512 and 22.5 times are the figures for a batch of 1 or 16"),
    ("06.2", [WAVES.smallest, crossover(1024, copies=False).faster[4096]], "a program without copies"),
    ("06.2", [WAVES.smallest, 57], "a program without copies"),
    ("06.2", [WAVES.smallest, crossover(1024, copies=False, wait=False).faster[4096]], "nobody saw the work"),
    ("06.2", [round(AT_4096), WAVES.smallest], "have changed places"),
    ("06.2", [60, AT_4096], "60 isn't a size in the table"),
    ("06.2", [WAVES.smallest, float("nan")], "the ratio isn't"),
    ("06.2", [float("inf"), 56], "isn't a size in the table"),
    ("06.2", [WAVES.smallest, 53.2], "the ratio is that at 2048"),
    ("06.2", [WAVES.smallest, 55], "the ratio isn't"),
    ("06.2", [(WAVES.smallest,), AT_4096], "the comma behind the number"),
    ("06.2", [16, AT_4096], "at 16 the CPU is still faster"),
    ("06.2", [2048, AT_4096], "at a different size in the table"),
    ("06.2", [WAVES.smallest, 1 / AT_4096], "upside down"),
    ("06.2", [WAVES.smallest, 5], "the ratio isn't"),
)


test_right_answers_other_than_the_lessons_own = right(
    ("06.1", [1.68]),
    ("06.1", [fl.Seconds(1.68, "simulated", "NVIDIA T4")]),
    ("06.1", [1.7]),
    ("06.1", [np.array([1.680312])]),
    ("06.2", [np.int64(WAVES.smallest), round(AT_4096)]),
    ("06.2", [float(WAVES.smallest), np.float32(AT_4096)]),
    # What comes back at each step has been waited for: the table is the same.
    ("06.2", [crossover(1024, wait=False).smallest, crossover(1024, wait=False).faster[4096]]),
)


def test_what_is_still_to_be_done_is_not_yet():
    assert judge("06.2", ..., ...).word == "not yet"
    assert judge("06.1", ...).word == "not yet"


def test_the_figures_that_the_lesson_names_are_the_cards():
    t4 = preset("NVIDIA T4")
    assert (t4.launch, t4.floor, t4.latency, t4.pageable) == (15e-6, 3e-6, 13e-6, 6e9)
    assert t4.float32 == pytest.approx(6e12, rel=0.01)


def test_the_trials_dot_is_where_a_drag_finds_it():
    scene = trial()
    dot = next(part.attributes for part in scene.picture.parts() if part.attributes.get("class") == "ink glide")
    assert list(zip(dot["cx"], dot["cy"])) == [pytest.approx(place) for place in scene.along]
    assert [knob.name for knob in scene.knobs if knob.slider] == ["starting up", "one order"]  # the last two
    left, right = (scene.along[scene.settings.index({"one copy": "13 µs", "starting up": "4 s", "one order": order})]
                   for order in ("15 µs", "140 µs"))  # fmt: skip
    assert left[0] < right[0] and left[1] == right[1]


def test_the_trials_words_are_never_under_its_dot():
    scene = trial()
    named = ("took most", "something else did", "it can't be")
    words = [part for part in scene.picture.parts() if str(part.text).endswith(named) and part.attributes["y"] > 140]
    heights = {y for _, y in scene.along}
    assert len(words) == 4
    for word in words:
        assert all(abs(word.attributes["y"] - 5 - y) > 8 + 6 for y in heights)


def test_what_the_lesson_finds_on_the_trials_map():
    at = {"one copy": "13 µs"}
    today = trial().at(**at, **{"starting up": "2 s", "one order": "15 µs"})
    assert "Most was something else" in today
    assert "Most was starting up" in trial().at(**at, **{"starting up": "8 s", "one order": "15 µs"})
    assert "Most was the orders" in trial().at(**at, **{"starting up": "2 s", "one order": "70 µs"})
    alone = trial().at(**at, **{"starting up": "0.5 s", "one order": "140 µs"})
    assert "more than the 13.6 s" in alone  # about nine times today's price
    assert not any("Most was the copies" in sentence for sentence in trial().sentences)
