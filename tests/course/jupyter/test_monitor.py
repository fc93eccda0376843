"""The training monitor: its thread, its button, its drawings; and the plain call that draws a history."""

import _thread
import threading
import time

import numpy as np
import pytest

import fluxlite as fl
from fluxlite.training import History
from fluxlite_course.lesson03 import training_monitor as of_module
from fluxlite_course.lesson03.training_monitor import Monitor, loss_curve, monitor

DATA = [(np.array([1.0]), np.array([2.0])), (np.array([2.0]), np.array([4.0]))]


def loss(model, x, y):
    return np.sum((model["w"] * x - y) ** 2)


def fresh(rate=0.01):
    model = {"w": np.zeros(1)}
    return model, DATA, fl.setup(fl.Descent(rate), model)


def button(shown):
    return shown.widget.children[0]


def status(shown):
    return shown.widget.children[1].value


class Gate:
    """An each_step that waits in a step until it is let go."""

    def __init__(self, step):
        self.step, self.reached, self.open = step, threading.Event(), threading.Event()

    def __call__(self, history):
        if history.steps == self.step:
            self.reached.set()
            assert self.open.wait(10)
        return False


def test_without_a_click_it_ends_by_itself_as_train_does():
    model, data, opt_state = fresh()
    history = monitor(loss, model, data, opt_state, epochs=5).result()
    other, data, opt_state = fresh()
    assert history.losses == fl.train(loss, other, data, opt_state, 5).losses
    assert not history.stopped and np.array_equal(model["w"], other["w"])


def test_the_button_stops_after_the_step_that_is_going_on():
    model, data, opt_state = fresh()
    gate = Gate(7)
    shown = monitor(loss, model, data, opt_state, epochs=1000, each_step=gate)
    assert gate.reached.wait(10) and not button(shown).disabled
    button(shown).click()
    gate.open.set()
    history = shown.result()
    assert (history.steps, history.stopped, history.reason) == (7, True, "stopped by the button")
    assert button(shown).disabled and "stopped by the button" in status(shown)
    assert loss(model, *DATA[0]) < 4
    assert fl.train(loss, model, data, opt_state).steps == 2  # it can go on


def test_a_mistake_in_the_first_step_raises_at_once_a_later_one_in_result():
    with pytest.raises(TypeError, match="takes 1 positional argument but 3 were given"):
        monitor(lambda m: 0.0, *fresh())
    model, data, opt_state = fresh()
    shown = monitor(loss, model, [*data, (np.array([np.nan]), np.array([1.0]))], opt_state)
    with pytest.raises(FloatingPointError, match="the loss is nan in batch 3"):
        shown.result()
    assert "the loss is nan in batch 3" in status(shown) and button(shown).disabled
    assert "The loss of" in shown.widget.children[2].value


def test_an_interrupt_while_waiting_stops_the_training():
    waiting = threading.Event()

    class Ended(threading.Event):
        def wait(self, timeout=None):
            waiting.set()
            return super().wait(timeout)

    def press_stop(history):
        if history.steps == 4:
            assert waiting.wait(10)
            _thread.interrupt_main()  # as ■ does, while the main thread is in result()
            while not shown._stopped:
                time.sleep(0.01)

    gate = Gate(3)
    shown = monitor(loss, *fresh(), epochs=1000, each_step=lambda history: gate(history) or press_stop(history))
    assert gate.reached.wait(10)
    shown._ended = Ended()
    gate.open.set()
    history = shown.result()
    assert (history.steps, history.stopped, history.reason) == (4, True, "interrupted")


def test_a_second_monitor_of_the_model_stops_the_first(capsys):
    model, data, opt_state = fresh()
    first = monitor(loss, model, data, opt_state, epochs=1_000_000)
    second = monitor(loss, model, data, opt_state, epochs=2)
    assert first.result().reason == "stopped by the button" and second.result().steps == 4
    assert "a new one begins" in capsys.readouterr().out


def test_where_no_thread_can_start_the_model_is_free_again(monkeypatch):
    model, data, opt_state = fresh()

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="can't start new thread"):
            monitor(loss, model, data, opt_state)
    assert of_module._running == {}
    assert monitor(loss, model, data, opt_state).result().steps == 2


def test_it_draws_at_the_first_step_and_at_the_end_and_in_between_no_oftener_than_it_may(monkeypatch):
    drawn = []
    real = of_module.loss_curve
    monkeypatch.setattr(of_module, "loss_curve", lambda history: (drawn.append(history.steps), real(history))[1])
    monkeypatch.setattr(of_module, "PAUSE", 1e9)
    shown = monitor(loss, *fresh(), epochs=5)
    shown.result()
    assert drawn == [1, 10]
    assert "ends at" in shown.widget.children[2].value


def test_a_picture_that_cannot_be_drawn_stops_no_training(monkeypatch):
    def no_plots(*_, **__):
        raise ModuleNotFoundError("No module named 'matplotlib'")

    monkeypatch.setattr(of_module, "plots", no_plots)
    shown = monitor(loss, *fresh(), epochs=5)
    assert shown.result().steps == 10 and "ended: History(5 epochs" in status(shown)
    assert "cannot be drawn here: No module named" in shown.widget.children[2].value


def test_the_time_of_a_training_that_outlives_the_simulated_gpu():
    gate = Gate(3)
    with fl.simulate_gpu():
        shown = monitor(loss, *fresh(), epochs=5, each_step=gate)
        assert gate.reached.wait(10)
    gate.open.set()
    history = shown.result()
    assert history.steps == 10 and history.seconds.kind == "simulated" and 0 <= float(history.seconds) < 60


def test_the_words_while_it_runs():
    with fl.simulate_gpu():
        model = fl.gpu({"w": np.zeros(1, np.float32)})
        gate = Gate(1)
        shown = monitor(loss, model, fl.gpu(DATA), fl.setup(fl.Descent(0.01), model), epochs=3, each_step=gate)
        assert gate.reached.wait(10)
        assert status(shown).startswith("epoch 1 of 3; step 1; loss 4; ") and status(shown).endswith(" launches")
        gate.open.set()
        assert shown.result().steps == 6
    shown._before = 10, 0.0
    assert "steps per second, measured here" in shown._text(History(wanted=2, losses=[1.0], steps=20))


def test_where_it_does_not_live_a_sentence_stands():
    shown = monitor(loss, *fresh())
    shown.result()
    assert isinstance(shown, Monitor) and repr(shown) in shown._repr_mimebundle_()["text/html"]


def test_loss_curve_needs_a_loss_and_takes_losses_below_zero():
    with pytest.raises(ValueError, match="no loss to draw yet"):
        loss_curve(History(wanted=1))
    assert repr(loss_curve(History(wanted=1, losses=[0.25], steps=1))[1]) == "The loss of the first step is 0.25."
    numbers, picture = loss_curve(History(wanted=1, losses=[1.0, -1.0], steps=2))
    assert numbers["lowest"] == -1 and numbers["rises"] == 0 and "0 times" in repr(picture)


def test_a_long_history_is_drawn_with_as_many_points_as_can_be_told_apart():
    figure = of_module._figure([1.0] * 5001, [1.0] * 5)
    lines = figure.axes[0].get_lines()
    assert len(lines[0].get_xdata()) <= 2000 and list(lines[1].get_xdata())[0] == 500.5
