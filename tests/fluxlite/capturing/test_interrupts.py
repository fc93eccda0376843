"""Ctrl-C and errors, wherever they come: the state is as before the call or as after it, and no stand-in stays."""

import dis
import enum
import functools
import itertools
import signal
import sys
import types

import numpy as np
import pytest
from inside import uninterrupted

import fluxlite as fl

X = np.random.default_rng(0).standard_normal((6, 3)).astype(np.float32)


class TooLate(Exception):
    pass


@pytest.fixture(autouse=True)
def own_error_state():
    """An interrupt right behind the beginning of ``with np.errstate(…):`` leaves what it set, as it does eagerly."""
    with np.errstate():
        yield


ERRORS = [TooLate, TimeoutError, MemoryError]  # that a signal's handler may raise


@pytest.fixture
def handler_that_raises():
    """``handler_that_raises(error)``: from now on, Ctrl-C raises that."""
    before = signal.getsignal(signal.SIGINT)

    def use(error):
        def handle(number, frame):
            raise error("it takes too long")

        signal.signal(signal.SIGINT, handle)

    yield use
    signal.signal(signal.SIGINT, before)


# -- where it comes ----------------------------------------------------------------------------------------------------


def below_the_replay(frame):
    """How many calls it is from the replay to `frame`: 0 for the replay itself, None for what it didn't call."""
    for depth in itertools.count():
        if frame is None:
            return None
        if frame.f_code.co_filename == "<captured>":
            return depth
        frame = frame.f_back


def can_come_here(frame, depth):
    """Whether Ctrl-C may come before this instruction. In the replay, it can't come between arguments and their call.

    Of what the replay calls, the first instructions will do: elsewhere it can't come to each, as when a lock is taken.
    """
    if frame.f_code.co_filename in (signal.__file__, enum.__file__):
        return False  # it's the same as in the line that asks for a handler
    if depth == 0:
        return "CALL" not in dis.opname[frame.f_code.co_code[frame.f_lasti]]
    return frame.f_lasti <= 4


def interrupted_at(run, wanted):
    """Call ``run(X)``, and stop it at one of its instructions. Whether there was such a one."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        depth = below_the_replay(frame)
        if depth is None:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and count < wanted and can_come_here(frame, depth):
            count += 1
            if count == wanted:
                sys.settrace(None)  # what comes now isn't counted
                signal.raise_signal(signal.SIGINT)
        return trace

    sys._getframe().f_trace_opcodes = True  # Python 3.12 wants to know before settrace
    sys.settrace(trace)
    try:
        run(X)
    except (KeyboardInterrupt, *ERRORS):
        return True
    finally:
        sys.settrace(None)
    return False


def interrupted_after(run, wanted):
    """The same, just after a ufunc of the replay's is done."""
    count = 0

    def interrupting(function):
        def call(*args, **kwargs):
            nonlocal count
            count += 1
            if count != wanted:
                return function(*args, **kwargs)
            function(*args, **kwargs)
            signal.default_int_handler(signal.SIGINT, None)  # raises KeyboardInterrupt

        return call

    (plan,) = run.plans.values()
    before = dict(plan.space)
    plan.space |= {name: interrupting(x) for name, x in before.items() if isinstance(x, np.ufunc)}
    try:
        run(X)
    except KeyboardInterrupt:
        return True
    finally:
        plan.space |= before
    return False


# -- what it interrupts ------------------------------------------------------------------------------------------------


def with_a_generator():
    rng = np.random.default_rng(1)
    w = np.ones(3, np.float32)

    def step(x):
        w[...] = w + rng.random(3, dtype=np.float32)
        return w * x

    return step, [w], rng


def with_the_devices_generator():
    fl.seed(0)
    dropout = fl.trainmode(fl.Dropout(0.5))
    w = np.ones((6, 3), np.float32)

    def step(x):
        w[...] = w + 1
        w[...] = w + dropout(x)
        return w

    return step, [w], fl.get_device("CPU").rng


def with_a_change(change):
    """A step with a call that mustn't be made twice, between two others."""

    def make():
        first, w = np.ones(3, np.float32), np.arange(1, 9, dtype=np.float32)

        def step(x):
            first[...] = first + x[0]
            change(w)
            first[...] = first * 2
            return first * x

        return step, [first, w], None

    return make


def multiply(w):
    w *= 2


def multiply_in_silence(w):
    with np.errstate(all="ignore"):
        w *= np.float32(1.5)


def shift(w):
    np.copyto(w[1:], w[:-1])


def add_up(w):
    np.cumsum(w, out=w)


def mirror(w):
    np.clip(w, 2, 6, out=w)
    w *= w


def add_some(w):
    np.add.at(w, np.array([0, 0, 1]), 1)


def put_some(w):
    np.put(w, [0, 1], w[2:4])
    np.put_along_axis(w, np.array([0, 1]), w[1:3], 0)


CHANGES = [multiply, multiply_in_silence, shift, add_up, mirror, add_some, put_some]
STEPS = [with_a_generator, with_the_devices_generator, *map(with_a_change, CHANGES)]


@pytest.mark.parametrize("interrupted", [interrupted_at, interrupted_after])
@pytest.mark.parametrize("make", STEPS, ids=[make.__name__ for make in STEPS[:2]] + [f.__name__ for f in CHANGES])
def test_ctrl_c_comes_before_a_step_or_after_it_and_never_between(make, interrupted):
    check_that_it_is_never_half_done(make, interrupted)


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("make", STEPS[::2], ids=lambda make: make.__name__)
def test_an_error_of_a_signals_handler_comes_before_a_step_or_after_it(make, error, handler_that_raises):
    handler_that_raises(error)
    check_that_it_is_never_half_done(make, interrupted_at)


def check_that_it_is_never_half_done(make, interrupted):
    step, arrays, generator = make()
    run = fl.captured(step)
    for _ in range(3):
        run(X)
    beginning = [x.copy() for x in arrays]
    state = generator and generator.bit_generator.state

    def begin():
        for x, values in zip(arrays, beginning):
            x[...] = values
        if generator is not None:
            generator.bit_generator.state = state

    def everything():
        return [x.tobytes() for x in arrays], generator and str(generator.bit_generator.state)

    before = everything()
    step(X)
    after = everything()
    assert after != before
    found = []
    for wanted in itertools.count(1):
        begin()
        if not interrupted(run, wanted):
            break
        found.append(everything())
        assert found[-1] in (before, after), f"interrupt {wanted} leaves something half done"
    assert everything() == after
    assert before in found or interrupted is interrupted_after
    assert after in found


def trained():
    model = fl.Dense(3, 2, rng=np.random.default_rng(0))
    state = fl.setup(fl.Adam(0.1), model)

    def step(x):
        loss, (grads,) = fl.withgradient(lambda m: np.mean(m(x) ** 2), model)
        fl.update(state, model, grads)
        return loss

    def everything():
        found = [x.tobytes() for x in (*fl.leaves(model), *fl.leaves(state)) if isinstance(x, np.ndarray)]
        return found + [leaf for leaf in fl.leaves(state) if type(leaf) is int]

    return step, everything


@pytest.mark.parametrize("interrupted", [interrupted_at, interrupted_after])
def test_ctrl_c_comes_between_two_steps_of_a_training(interrupted):
    step, everything = trained()
    run = fl.captured(step)
    eager, all_eager = trained()
    for _ in range(3):
        run(X)
        eager(X)
    were_made = set()
    every = 5 if interrupted is interrupted_at else 1
    for wanted in itertools.count(1, every):
        before = everything()
        assert before == all_eager()
        if not interrupted(run, wanted):
            break
        were_made.add(everything() != before)
        if everything() != before:
            eager(X)
    assert True in were_made
    assert False in were_made or interrupted is interrupted_after


def test_a_second_ctrl_c_waits_for_what_the_first_one_has_left():
    w = np.ones(3, np.float32)

    def step(x):
        w[...] = w + 1
        w[...] = np.tanh(w)
        w[...] = np.exp(w)
        return w * x

    run = fl.captured(step)
    for _ in range(3):
        run(X)
    before = w.copy()
    step(X)
    after = w.tobytes()
    w[...] = before
    (plan,) = run.plans.values()

    def tanh(*arguments):
        np.tanh(*arguments)
        signal.raise_signal(signal.SIGINT)  # at the first call, and when that's repeated

    plan.space |= {name: tanh for name, x in plan.space.items() if x is np.tanh}
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run(X)
    assert w.tobytes() == after
    assert signal.getsignal(signal.SIGINT) is handler


# -- a recording -------------------------------------------------------------------------------------------------------


class Interrupting:
    """Ctrl-C comes while a plain array is put into `a`, once."""

    __slots__ = ("a", "armed", "b")

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        if name == "a" and type(value) is np.ndarray and self.armed:
            self.armed = False
            signal.raise_signal(signal.SIGINT)


def test_ctrl_c_while_arrays_are_put_back_waits_until_all_are():
    own = Interrupting()
    own.armed = False
    own.a, own.b = np.ones(3, np.float32), np.zeros(3, np.float32)
    arrays = own.a, own.b

    def step(x):
        own.a = own.a + x[0]
        own.b = own.b + own.a
        return own.b * x

    own.armed = True
    with pytest.raises(KeyboardInterrupt):
        fl.captured(step)(X)
    assert own.a is arrays[0] and own.b is arrays[1], "the run is undone"
    assert (own.a == 1).all() and (own.b == 0).all()


class Raising:
    def __call__(self, number, frame):
        raise TimeoutError


def raise_it(error, number, frame):
    raise error


@pytest.mark.parametrize("handler", [Raising(), functools.partial(raise_it, TimeoutError)])
def test_a_handler_of_any_kind_is_not_the_steps_own_error(handler):
    before = signal.signal(signal.SIGINT, handler)
    w = np.ones(3)

    def step(x):
        w[...] = w * 2
        signal.raise_signal(signal.SIGINT)
        return x * 1

    try:
        with pytest.raises(TimeoutError):
            fl.captured(step)(X)
    finally:
        signal.signal(signal.SIGINT, before)
    assert (w == 1).all()


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="there's one signal only")
def test_of_two_signals_that_wait_none_is_lost():
    came = []

    def note(number, frame):
        came.append(number)
        raise KeyboardInterrupt

    numbers = (signal.SIGINT, signal.SIGUSR1)
    before = [signal.signal(number, note) for number in numbers]
    try:
        with pytest.raises(KeyboardInterrupt), uninterrupted():
            for number in numbers:
                signal.raise_signal(number)
            assert came == []
    finally:
        for number, handler in zip(numbers, before):
            signal.signal(number, handler)
    assert sorted(came) == sorted(numbers)


def interrupted_while_recording(run, x, wanted, files):
    """Call ``run(x)``, and stop it at one of its lines in these files. Whether there was such a one."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        if frame.f_code.co_filename in (signal.__file__, enum.__file__) or "fluxlite" not in frame.f_code.co_filename:
            return None
        if not frame.f_code.co_filename.endswith(files):
            return trace
        if event == "line":
            count += 1
            if count == wanted:
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
        return trace

    sys.settrace(trace)
    try:
        run(x)
    except (KeyboardInterrupt, *ERRORS):
        return True
    finally:
        sys.settrace(None)
    return False


def recurrent():
    own = types.SimpleNamespace(w=np.ones(3, np.float32), h=np.zeros(3, np.float32))

    def step(x):
        own.w[...] = own.w + x[0]
        own.h = np.tanh(own.h + own.w)
        own.w *= 2
        x += 1
        return own.h * x

    return step, own


@pytest.mark.parametrize(("files", "each"), [(("",), 41), (("step.py", "recording.py"), 1)])
@pytest.mark.parametrize("error", [None, TimeoutError])
@pytest.mark.parametrize("calls", range(4))
def test_ctrl_c_while_a_step_is_recorded_leaves_it_as_before_or_as_after(
    calls, error, files, each, handler_that_raises
):
    if error is not None:
        handler_that_raises(error)
    found = set()
    for wanted in itertools.count(1, each):
        step, own = recurrent()
        run = fl.captured(step)
        eager, expected = recurrent()
        x, y = X.copy(), X.copy()
        for _ in range(calls):
            run(x)
            eager(y)
        before = own.w.tobytes(), own.h.tobytes(), x.tobytes()
        was_interrupted = interrupted_while_recording(run, x, wanted, files)
        assert type(own.w) is np.ndarray and type(own.h) is np.ndarray, "no stand-in stays"
        now = own.w.tobytes(), own.h.tobytes(), x.tobytes()
        if now != before:
            eager(y)
        assert now == (expected.w.tobytes(), expected.h.tobytes(), y.tobytes())
        found.add(now != before)
        run(x)
        eager(y)
        assert own.h.tobytes() == expected.h.tobytes(), "it goes on"
        if not was_interrupted:
            break
    assert found == {False, True}
    for _ in range(3):
        run(x)
    assert run.plans, "steps are still recorded"
