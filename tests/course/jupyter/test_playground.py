"""Lesson 04's scenes: the playground, the wave that goes on, the memory; and the gradient written by hand."""

import re

import numpy as np
import pytest

import fluxlite as fl
from fluxlite_course.lesson04 import continued, memories, playground, same_height, todo, your_wave
from fluxlite_course.sine_wave import problem, run, train, train_by_hand


@pytest.mark.parametrize("carry", [True, False])
def test_the_gradient_written_by_hand_is_that_of_gradient(carry):
    x, y, w1, w2 = problem(hidden=4, seed=2)
    for _ in range(3):
        memory = np.zeros((1, 4), np.float32)
        for point, target in zip(x, y):

            def loss(w1, w2, point=point, target=target, memory=memory):
                after = np.tanh(np.concatenate([point, memory], axis=1) @ w1)
                return np.sum((after @ w2 - target) ** 2) / 2, after

            (_, after), (g1, g2) = fl.withgradient(loss, w1, w2)
            w1, w2, memory = w1 - 0.3 * g1, w2 - 0.3 * g2, after if carry else memory
    for found, expected in zip(train_by_hand(4, seed=2, carry=carry, lr=0.3, epochs=3), (w1, w2)):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


@pytest.fixture(scope="module")
def scene():
    return playground()


def test_what_the_lesson_says_of_the_playground(scene):
    """Yours has a small loss, and drifts away. Seed 14 keeps the wave. Without a memory, no loss is below 0.8."""
    lost = {tuple(s.values()): float(re.search(r"ends at (\S+),", scene.at(**s))[1]) for s in scene.settings}
    assert all(0.8 < loss < 1 for setting, loss in lost.items() if setting[2] != "kept")
    assert "below the straight line" in scene.at() and "its own output, it's 0.6" in scene.at()
    assert "its own output, it's 0.0" in scene.at(seed="14") and "above the straight line" in scene.at(seed="10")
    assert "true values, it's 0.0" in scene.at(**{"fed with": "true values"})
    assert len(scene._repr_html_()) < 60_000


def test_the_network_of_the_first_picture_keeps_the_wave():
    said = continued()
    assert "makes 40 more, each less than 0.1 off" in said.at(point="41")
    assert said.picture.markup(20).count("data-n") == 40


def test_the_learners_own_wave_waits_for_the_exercise(capsys):
    assert your_wave(lambda x0, n, w1, w2: todo(), 1, 2) is None
    assert "Exercise 04.3 comes first" in capsys.readouterr().out
    assert "makes 1 more, each less than 0.4 off" in your_wave(lambda *_: [0.3] * 40, 1, 2).at(point="2")


def test_the_height_alone_does_not_tell():
    number = [float(found) for found in re.findall(r"at (-?\d\.\d\d)", repr(same_height()))]
    assert abs(number[0] - number[2]) < 0.1 and number[1] > number[0] and number[3] < number[2]


def test_the_memory_is_that_of_the_network():
    x, y, w1, w2 = problem()
    train(x, y, w1, w2, epochs=range(20))
    outputs, kept = run(x, w1, w2)
    scene = memories(w1, w2)
    said = scene.at(point="3")
    of_both = [float(number) for number in re.findall(r"-?\d\.\d(?=[,;.] )", said)]
    np.testing.assert_allclose(of_both, np.concatenate([kept[2].ravel(), kept[12].ravel()]), atol=0.051)
    missed = float(re.search(r"misses the next point by (\d\.\d\d)\.$", said)[1])
    assert missed == pytest.approx(abs(outputs[2].item() - y[2].item()), abs=0.0051)
    assert repr(scene).startswith("After point 18 the memory holds")
