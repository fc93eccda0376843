"""The RNN playground: its numbers, its gradient written by hand, and its controls, moved from Python."""

import threading

import numpy as np
import pytest

import fluxlite as fl
from fluxlite_course.lesson04 import pictures as of_module
from fluxlite_course.lesson04.pictures import playground, rnn_demo
from fluxlite_course.sine_wave import problem, train_by_hand


def controls(shown):
    return dict(zip(("hidden", "seed", "lr", "carry", "closed_loop"), shown.widget.children))


def view(shown):
    return shown.widget.children[-1].value


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


def test_a_moved_control_trains_again_and_draws_what_the_plain_call_draws():
    shown = playground()
    assert repr(shown) in view(shown).replace("&#x27;", "'")
    control = controls(shown)
    control["hidden"].value = 3
    control["closed_loop"].value = True
    assert view(shown) == rnn_demo(3, closed_loop=True)[1]._repr_html_()
    assert "loss 0.19" in shown.widget.children[-2].value
    control["carry"].value = False
    assert "wiped at each step" in view(shown)


def test_of_changes_made_while_it_trains_the_last_one_wins(monkeypatch):
    trained = []
    begun, go_on = threading.Event(), threading.Event()

    def slow(**wanted):
        trained.append(wanted["hidden"])
        begun.set()
        assert go_on.wait(10)
        return rnn_demo(**wanted)

    shown = playground()
    hidden = controls(shown)["hidden"]
    monkeypatch.setattr(of_module, "rnn_demo", slow)
    threads = [threading.Thread(target=setattr, args=(hidden, "value", 2))]
    threads[0].start()
    assert begun.wait(10)
    for size in (3, 4, 5):
        threads.append(threading.Thread(target=setattr, args=(hidden, "value", size)))
        threads[-1].start()
        while hidden.value != size:
            pass
    go_on.set()
    for thread in threads:
        thread.join()
    assert trained == [2, 5]
    assert "Memory of 5 numbers" in view(shown)
