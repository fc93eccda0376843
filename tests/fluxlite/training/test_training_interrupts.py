"""Ctrl-C and ■: the step is finished, the history comes back, the next lines run; whenever it is pressed.

No test depends on how fast anything is: the key is pressed after a word of the training, and the training would
go on for ever.
"""

import random
import signal
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import trainings
from trainings import fingerprint, make

import fluxlite as fl
from fluxlite import Descent

FOR_EVER = 10**9


def press(number=signal.SIGINT):
    signal.raise_signal(number)


@pytest.fixture(autouse=True)
def handler_is_restored():
    before = signal.getsignal(signal.SIGINT)
    yield
    after = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)
    assert after is before


def after(steps):
    """The training that makes so many steps."""
    model, opt_state, data = make()
    history = fl.train(trainings.loss, model, data, opt_state, FOR_EVER, each_step=lambda h: h.steps == steps)
    return fingerprint(model, opt_state, history)


def pressed_at_line(number, times=1):
    """A training that is interrupted when this many lines of fluxlite were run since its first batch."""
    model, opt_state, data = make()
    lines = 0

    def trace(frame, event, argument):
        nonlocal lines
        if "fluxlite" not in frame.f_code.co_filename:
            return None
        # A trace may raise just before a `with lock:` gives the lock back, where a signal can't.
        if times > 1 and frame.f_code.co_qualname.startswith("Level."):
            return None
        if event == "line":
            lines += 1
            if number <= lines < number + times:
                press()
        return trace

    def loss(*arguments):
        if sys.gettrace() is not trace:
            sys.settrace(trace)
        return trainings.loss(*arguments)

    before = sys.gettrace()
    try:
        history = fl.train(loss, model, data, opt_state, FOR_EVER if number else 2, progress=False)
    finally:
        sys.settrace(before)
    return model, opt_state, history, lines


def test_pressed_at_any_line_the_step_is_finished():
    lines = pressed_at_line(0)[3]
    assert lines > 1000
    for number in random.Random(0).sample(range(1, lines), 40):
        model, opt_state, history, _ = pressed_at_line(number)
        assert history.stopped and history.reason == "interrupted" and len(history.losses) == history.steps > 0
        assert fingerprint(model, opt_state, history) == after(history.steps), "half a step was made"


def test_pressed_twice_at_any_line_it_raises_and_the_handler_is_restored():
    before = signal.getsignal(signal.SIGINT)
    for number in random.Random(1).sample(range(1, 1000), 20):
        with pytest.raises(KeyboardInterrupt):
            pressed_at_line(number, times=2)
        assert signal.getsignal(signal.SIGINT) is before


class PressingDescent(Descent):
    def apply(self, memory, x, g):
        press_once()
        super().apply(memory, x, g)


def press_once():
    if not signal.getsignal(signal.SIGINT).__self__.pressed:
        press()


@pytest.mark.parametrize("place, steps", [("loss", 1), ("update", 1), ("data", 0), ("callback", 3), ("each_step", 1)])
def test_pressed_at_the_places_you_would_think_of(place, steps):
    model = {"w": np.ones(1)}
    opt_state = fl.setup((PressingDescent if place == "update" else Descent)(0.25), model)

    def at(this):
        if this == place:
            press_once()

    def loss(m, x):
        at("loss")
        return np.sum(m["w"] ** 2) * x

    class Data(list):
        def __iter__(self):
            for batch in list.__iter__(self):
                at("data")
                yield batch

    history = fl.train(loss, model, Data([1.0, 1.0, 1.0]), opt_state, FOR_EVER, callbacks=[lambda h: at("callback")],
                       each_step=lambda h: at("each_step"))  # fmt: skip
    assert history.steps == steps and model["w"] == 0.5**steps and history.stopped and history.reason == "interrupted"


def test_in_another_thread_there_is_no_handler():
    before, found = signal.getsignal(signal.SIGINT), []

    def loss(m, x):
        found.append(signal.getsignal(signal.SIGINT) is before)
        return np.sum(m["w"])

    model = {"w": np.ones(1)}
    thread = threading.Thread(target=fl.train, args=(loss, model, [1.0], fl.setup(Descent(), model)))
    thread.start()
    thread.join()
    assert found == [True]


BLOCKED = """
    import signal
    import numpy as np
    import fluxlite as fl

    def loss(m, x):
        interrupts = signal.getsignal(signal.SIGINT).__self__
        print("blocked", flush=True)
        while not interrupts.pressed:
            pass
        print("pressed once", flush=True)
        while True:
            pass

    model = {"w": np.ones(1)}
    before = signal.getsignal(signal.SIGINT)
    try:
        fl.train(loss, model, [1.0], fl.setup(fl.Descent(), model), progress=True)
    except KeyboardInterrupt:
        print("raised", signal.getsignal(signal.SIGINT) is before, model)
    model["w"] += 1  # can be written to again
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there a program cannot send Ctrl-C to another one alone")
def test_a_step_that_does_not_end_is_left_at_the_second_press():
    pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(BLOCKED)], **pipes, text=True)
    for word in ("blocked\n", "pressed once\n"):
        assert process.stdout.readline() == word, process.stderr.read()
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=300)
    assert out == "raised True {'w': array([1.])}\n" and process.returncode == 0
    assert "Traceback" not in err and err.splitlines()[-1].strip() == "", "the bar is taken away"
