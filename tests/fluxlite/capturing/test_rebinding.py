"""A step that assigns another array to a name: the array that was there keeps its values, as eagerly."""

import collections
import dataclasses
import enum
import signal
import types

import numpy as np
import pytest

import fluxlite as fl

X = np.random.default_rng(0).standard_normal((9, 3)).astype(np.float32)
CALLS = 9


def bits(x):
    """All that's to be equal of arrays, numbers and what holds them."""
    if isinstance(x, (tuple, list)):
        return type(x).__name__, list(map(bits, x))
    if isinstance(x, np.generic):
        return type(x), x.tobytes()
    if hasattr(x, "dtype"):
        return "array", x.dtype, x.shape, fl.cpu(x).tobytes()
    return x


def same_on_the_host(x):
    return x


Pair = collections.namedtuple("Pair", "h c")


@dataclasses.dataclass(frozen=True)
class Frozen:
    h: object


class Slotted:
    __slots__ = ("h",)


class Classy:
    h: object = None


def zeros(put):
    return put(np.zeros(3, np.float32))


def an_attribute(put):
    own = types.SimpleNamespace(h=zeros(put))

    def step(x):
        own.h = np.tanh(own.h + x)
        return own.h * 2

    return step, lambda: own.h, lambda h: setattr(own, "h", h)


def an_item(put):
    own = {"ema": zeros(put), "k": 2.0}

    def step(x):
        own["ema"] = 0.5 * own["ema"] + x * own["k"]

    return step, lambda: own["ema"], lambda h: own.__setitem__("ema", h)


class Of(enum.Enum):
    MEAN = 1


def items_by_other_keys(put):
    own = {Of.MEAN: zeros(put), np.float64(2): zeros(put), (1, None): zeros(put), 0.5: zeros(put), True: zeros(put)}

    def step(x):
        for key in own:
            own[key] = own[key] + x
        return own[Of.MEAN] * 2

    return step, lambda: own[Of.MEAN], lambda h: own.__setitem__(Of.MEAN, h)


def an_item_of_a_list(put):
    own = [zeros(put), zeros(put)]

    def step(x):
        own[1] = own[1] + x
        own[0] += own[1]
        return own[0] * 2

    return step, lambda: own[1], lambda h: own.__setitem__(1, h)


def a_variable(put):
    h = zeros(put)

    def step(x):
        nonlocal h
        h = np.tanh(h + x)
        return h

    def assign(value):
        nonlocal h
        h = value

    return step, lambda: h, assign


def a_slot(put):
    own = Slotted()
    own.h = zeros(put)

    def step(x):
        own.h = np.tanh(own.h + x)

    return step, lambda: own.h, lambda h: setattr(own, "h", h)


def a_class(put):
    own = type("Own", (), {"h": zeros(put)})

    def step(x):
        own.h = np.tanh(own.h + x)

    return step, lambda: own.h, lambda h: setattr(own, "h", h)


def a_frozen_dataclass(put):
    own = Frozen(zeros(put))

    def assign(h):
        object.__setattr__(own, "h", h)

    def step(x):
        assign(np.tanh(own.h + x))

    return step, lambda: own.h, assign


def a_number(put):
    own = types.SimpleNamespace(loss=None)

    def step(x):
        own.loss = np.sum(x * x) if own.loss is None else own.loss * np.float32(0.5) + np.sum(x * x)

    return step, lambda: own.loss, lambda h: None


def a_tuple(put):
    own = types.SimpleNamespace(state=(zeros(put), Pair(zeros(put), zeros(put))))

    def step(x):
        h, (c, d) = own.state
        h = np.tanh(h + x)
        own.state = (h, Pair(c + h, d))
        return c

    return step, lambda: own.state, lambda h: None


def two_names_of_one(put):
    own = types.SimpleNamespace(a=zeros(put))
    own.b = own.a

    def step(x):
        own.b += 1
        own.a = own.a + x
        return own.a * own.b

    return step, lambda: (own.a, own.b), lambda h: setattr(own, "a", h)


def one_array_for_two_names(put):
    own = types.SimpleNamespace(a=zeros(put), b=zeros(put))

    def step(x):
        own.a = own.b = np.tanh(own.b + x)

    def get():
        own.a += 1  # whoever changes one of them, changes both
        return own.b

    return step, get, lambda h: setattr(own, "b", h)


def a_swap(put):
    own = types.SimpleNamespace(a=zeros(put) + 1, b=zeros(put))

    def step(x):
        own.a, own.b = own.b, own.a
        return own.a + x

    return step, lambda: (own.a, own.b), lambda h: setattr(own, "a", h)


def in_place_and_then_assigned(put):
    own = types.SimpleNamespace(h=zeros(put))

    def step(x):
        own.h += x
        own.h = np.tanh(own.h)
        own.h *= 2
        return own.h + 1

    return step, lambda: own.h, lambda h: setattr(own, "h", h)


def the_argument_itself(put):
    own = types.SimpleNamespace(last=zeros(put))

    def step(x):
        before = own.last * 2
        own.last = x
        return before

    return step, lambda: own.last, lambda h: setattr(own, "last", h)


def what_stands_elsewhere(put):
    own = types.SimpleNamespace(h=zeros(put), start=zeros(put))

    def step(x):
        y = own.h + x
        own.h = own.start
        return y

    return step, lambda: (own.h, own.start), lambda h: setattr(own, "h", h)


STEPS = [an_attribute, an_item, items_by_other_keys, an_item_of_a_list, a_variable, a_slot, a_class,
         a_frozen_dataclass, a_number, a_tuple,
         two_names_of_one, one_array_for_two_names, a_swap, in_place_and_then_assigned, the_argument_itself,
         what_stands_elsewhere]  # fmt: skip


def history(make, captured, put, reset=0, check=0):
    """All that anybody has kept, as it is at the end: results, and what stood there before and after each call."""
    step, get, assign = make(put)
    run = fl.captured(step, check=check) if captured else step
    start = zeros(put)
    kept = [start, get()]
    for i in range(CALLS):
        if reset and i % reset == 0:
            assign(start)
        kept += [run(put(X[i])), get()]
    if captured and not reset:
        assert run.plans
    return list(map(bits, kept))


@pytest.mark.parametrize("reset", [0, 4])
@pytest.mark.parametrize("make", STEPS)
def test_who_has_the_array_that_was_there_keeps_its_values(make, reset):
    assert history(make, True, same_on_the_host, reset) == history(make, False, same_on_the_host, reset)


@pytest.mark.parametrize("make", STEPS)
def test_the_check_runs_both_ways_and_leaves_what_the_step_leaves(make):
    assert history(make, True, same_on_the_host, check=1) == history(make, False, same_on_the_host)


@pytest.mark.parametrize("make", [make for make in STEPS if make is not a_number])
def test_the_same_on_a_simulated_gpu(make):
    with fl.simulate_gpu():
        assert history(make, True, fl.gpu) == history(make, False, fl.gpu)


def test_a_parameter_that_is_replaced_in_the_step():
    def run(captured):
        model = fl.Dense(3, 2, rng=np.random.default_rng(0))
        state = fl.setup(fl.Momentum(0.1), model)
        start = model.weight

        def step(x):
            (grads,) = fl.gradient(lambda m: np.sum(m(x) ** 2), model)
            fl.update(state, model, grads)
            object.__setattr__(model, "weight", model.weight * np.float32(0.9))

        run = fl.captured(step) if captured else step
        for x in X:
            run(x)
        return bits(start), bits(model.weight), bits(state.weight.memory["velocity"])

    assert run(True) == run(False)


class Recalls(fl.OptimiserRule):
    """A rule that doesn't change its memory in place."""

    eta = 0.1

    def init(self, x):
        return {"mean": np.zeros_like(x)}

    def change(self, memory, x, g):
        memory["mean"] = 0.5 * memory["mean"] + g
        return self.eta * memory["mean"]


def test_it_is_recorded_again_in_two_calls_since_what_is_carried_is_known():
    own = types.SimpleNamespace(h=np.zeros(3, np.float32), factor=2.0)

    @fl.captured
    def step(x):
        own.h = np.tanh(own.h * own.factor + x)

    def calls_to_a_replay():
        for number, x in enumerate(X[:4], 1):
            step(x)
            if step.plans:
                return number
        return None

    assert calls_to_a_replay() == 3
    own.factor = 0.5
    step(X[0])
    assert not step.plans
    assert calls_to_a_replay() == 1


def test_a_rules_memory_is_replaced_if_the_rule_does_so():
    def run(captured):
        w = np.ones(3, np.float32)
        state = fl.setup(Recalls(), w)
        kept = []

        def step(x):
            fl.update(state, w, fl.gradient(lambda w: np.sum((w * x) ** 2), w)[0])

        run = fl.captured(step) if captured else step
        for x in X:
            kept.append(state.memory["mean"])
            run(x)
        assert not captured or run.plans
        return list(map(bits, kept)), bits(w)

    assert run(True) == run(False)


def part_of_the_argument(own, x):
    own.h = x[:1]


def a_generator(own, x):
    own.rng = np.random.default_rng(3)


def part_of_it(own, x):
    own.both = (own.both[0][::-1], x + 1)


def an_array_and_a_part_of_it(own, x):
    whole = np.concatenate([own.both[0] + x, x])
    own.both = (whole[:3], whole[1:4])


def two_names_that_go_on(own, x):
    own.h = own.start
    own.start += 1


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (two_names_that_go_on, "what's at 'h' shares memory with an array that the step changes"),
        (part_of_the_argument, r"keeps a part of an argument.* Keep x\.copy\(\)"),
        (part_of_it, r"keeps a part of .* that it replaces.* Keep x\.copy\(\)"),
        (an_array_and_a_part_of_it, "keeps an array and a part of it, or two parts that overlap"),
        (a_generator, "puts a Generator at 'rng', where a Generator was"),
    ],
)
def test_what_a_replay_could_not_assign_is_refused_and_all_is_as_before(step, words):
    own = types.SimpleNamespace(h=np.zeros(1, np.float32), rng=np.random.default_rng(0), start=np.zeros(1, np.float32))
    own.both = (np.zeros(3, np.float32), np.zeros(3, np.float32))
    run = fl.captured(lambda x: step(own, x))
    before: dict = {}
    with pytest.raises(fl.CaptureError, match=words):
        for _ in range(4):
            before = dict(vars(own))
            run(X[0])
    assert all(vars(own)[name] is value for name, value in before.items())


def test_ctrl_c_in_a_replay_leaves_all_of_it_as_before_the_call_or_as_after_it():
    own = types.SimpleNamespace(total=np.zeros(3, np.float32), h=np.zeros(3, np.float32), g=np.zeros(3, np.float32))

    class Interrupting(dict):
        armed = False

        def __setitem__(self, key, value):
            super().__setitem__(key, value)
            if self.armed:
                signal.raise_signal(signal.SIGINT)

    log = Interrupting(last=np.zeros(3, np.float32))

    def step(x):
        own.total += x
        own.h = own.total * 2
        log["last"] = own.total * 3
        own.g = own.total * 4

    run = fl.captured(step)
    for _ in range(5):
        run(X[0])
    assert run.plans
    log.armed = True
    with pytest.raises(KeyboardInterrupt):
        run(X[0])
    for factor, value in ((2, own.h), (3, log["last"]), (4, own.g)):
        np.testing.assert_array_equal(value, own.total * factor)
