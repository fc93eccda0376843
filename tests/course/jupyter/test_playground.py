"""The RNN playground: its numbers, its gradient written by hand; and the network's memory."""

import re

import numpy as np
import pytest

import fluxlite as fl
from fluxlite_course.lesson04 import memories, playground, rnn_demo
from fluxlite_course.sine_wave import problem, train, train_by_hand


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
    by_hand = train_by_hand(4, seed=2, carry=carry, lr=0.3, epochs=3)
    np.testing.assert_allclose(by_hand.w1, w1, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(by_hand.w2, w2, rtol=1e-4, atol=1e-6)


def test_without_a_memory_the_network_is_as_bad_as_the_value_of_now_whatever_else():
    for hidden in (2, 16):
        numbers, picture = rnn_demo(hidden, carry=False)
        assert 0.83 < numbers["loss"] < 0.85
        assert "wiped" in repr(picture) and "above the straight line" in repr(picture)


def test_too_large_a_rate_is_said_in_words():
    numbers, picture = rnn_demo(lr=1.0, closed_loop=True)
    assert np.isnan(numbers["loss"]) and "Take a smaller learning rate" in repr(picture)


def test_no_memory_at_all_is_refused():
    with pytest.raises(ValueError, match="1 or more; got 0"):
        rnn_demo(hidden=0)


@pytest.fixture(scope="module")
def scene():
    return playground()


def test_the_playground_says_what_the_plain_call_says(scene):
    words = {"memory size": "4", "seed": "14", "memory": "kept", "fed with": "its own output"}
    assert scene.at(**words) == repr(rnn_demo(4, 14, closed_loop=True)[1])
    assert "wiped at each step" in scene.at(memory="wiped at each step")
    assert len(scene._repr_html_()) < 60_000


def test_what_the_lesson_says_of_the_playground(scene):
    """Without a memory no loss is below 0.8; one loss is below the straight line's, and the output drifts away."""
    lost = [float(re.search(r"ends at (\S+),", said)[1]) for said in scene.sentences]
    wiped = [setting["memory"] != "kept" for setting in scene.settings]
    assert all(0.8 < loss < 1 for loss, without in zip(lost, wiped) if without)
    assert "below the straight line" in scene.at() and min(lost) < 0.01


def test_the_memory_is_that_of_the_network():
    x, y, w1, w2 = problem()
    train(x, y, w1, w2, epochs=range(20))
    h, scene = np.zeros_like(w2.T), memories(w1, w2)
    for point in x[:3]:
        h = np.tanh(np.concatenate([point, h], axis=1) @ w1)
    said = scene.at(point="3")
    np.testing.assert_allclose([float(number) for number in re.findall(r"-?\d\.\d", said)[:6]], h.ravel(), atol=0.051)
    missed = float(re.search(r"misses the next point by (\d\.\d\d)\.$", said)[1])
    assert missed == pytest.approx(abs((h @ w2).item() - y[2].item()), abs=0.0051)
    beside = {"beside it": "point 13"}
    assert scene.at(point="3", **beside).startswith(said) and "After point 13 it holds" in scene.at(point="3", **beside)
    with pytest.raises(ValueError, match="beside is a number from 1 to 20, got 21"):
        memories(w1, w2, 21)
