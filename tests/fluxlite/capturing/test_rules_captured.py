"""An optimizer in a captured step: what its rule reads, remembers and is told meanwhile."""

import types

import numpy as np
import pytest

import fluxlite as fl


def both(rule, between, step=None, calls=9):
    """The parameter after each call, as it's written and captured; `between` gets the call's number, rule and state."""
    found = []
    for captured in (False, True):
        w = np.zeros(2)
        own = rule()
        state = fl.setup(own, w)

        def plain(g, state=state, w=w):
            fl.update(state, w, g)
            return w * 1

        run = step(state, w) if step else plain
        if captured:
            run = fl.captured(run)
        values = []
        for i in range(calls):
            between(i, state.rule, state)
            values.append(np.asarray(run(np.full(2, 3.0) + i)).tobytes())
        found.append(values)
    return found


class Own(fl.OptimiserRule):
    factor = 1.0

    def __init__(self):
        self.eta = 0.1
        self.clip = None
        self.name = "plain"
        self.options = {"scale": 1.0}
        self.rates = [1.0, 2.0]
        self.inner = types.SimpleNamespace(power=1.0)
        self.scale = np.float32(2)
        self.table = np.array([1.0, 2.0])
        self.shape = np.tanh
        self.repeats = 1

    def change(self, memory, x, g):
        if self.clip is not None:
            g = np.clip(g, -self.clip, self.clip)
        if self.name == "sign":
            g = np.sign(g)
        for _ in range(self.repeats):
            g = g + self.shape(g)
        g = g * self.options["scale"] * self.rates[0] * self.inner.power * self.scale * self.factor
        return self.eta * g * self.table


CHANGES = {
    "a number": lambda rule: setattr(rule, "eta", 0.5),
    "none": lambda rule: setattr(rule, "clip", 0.5),
    "a text": lambda rule: setattr(rule, "name", "sign"),
    "an item of a dict": lambda rule: rule.options.update(scale=5.0),
    "another dict": lambda rule: setattr(rule, "options", {"scale": 5.0}),
    "an item of a list": lambda rule: rule.rates.__setitem__(0, 5.0),
    "an object's attribute": lambda rule: setattr(rule.inner, "power", 5.0),
    "a number of NumPy's": lambda rule: setattr(rule, "scale", np.float32(9)),
    "another array": lambda rule: setattr(rule, "table", np.array([7.0, 8.0])),
    "an array's item": lambda rule: rule.table.__setitem__(0, 9.0),
    "a function": lambda rule: setattr(rule, "shape", np.sign),
    "a whole number": lambda rule: setattr(rule, "repeats", 3),
    "an attribute in place of the class's": lambda rule: setattr(rule, "factor", 4.0),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_a_rule_reads_may_change_between_calls(name):
    plain, captured = both(Own, lambda i, rule, state: i == 5 and CHANGES[name](rule))
    assert captured == plain


@pytest.mark.parametrize(("name", "value"), [("factor", 4.0), ("change", lambda self, memory, x, g: g * 7)])
def test_a_rules_class_may_change_between_calls(name, value, monkeypatch):
    first = getattr(Own, name)

    def between(i, rule, state):
        monkeypatch.setattr(Own, name, first if i < 5 else value)

    plain, captured = both(Own, between)
    assert captured == plain


def test_a_step_that_looks_at_its_rate_sees_todays():
    def step(state, w):
        def run(g):
            fl.update(state, w, g)
            return w * state.rule.eta

        return run

    plain, captured = both(lambda: fl.Descent(0.1), lambda i, rule, state: i == 5 and fl.adjust(state, 0.7), step)
    assert captured == plain


class Remembers(fl.OptimiserRule):
    def init(self, x):
        return {"phase": "slow"}

    def change(self, memory, x, g):
        return g if memory["phase"] == "slow" else 10 * g + len(memory)


@pytest.mark.parametrize("key", ["phase", "more"])
def test_what_is_remembered_may_change_between_calls(key):
    plain, captured = both(Remembers, lambda i, rule, state: i == 5 and state.memory.update({key: "fast"}))
    assert captured == plain


class Counts(fl.OptimiserRule):
    def __init__(self):
        self.n = 0

    def change(self, memory, x, g):
        self.n += 1
        return g / self.n


class Decays(fl.OptimiserRule):
    def __init__(self):
        self.eta = 1.0

    def change(self, memory, x, g):
        self.eta *= 0.9
        return self.eta * g


@pytest.mark.parametrize("rule", [Counts, Decays, lambda: fl.OptimiserChain(fl.Descent(0.1), Decays())])
def test_a_rule_that_changes_itself_is_refused_by_name(rule):
    w = np.zeros(2)
    state = fl.setup(rule(), w)
    with pytest.raises(fl.CaptureError, match="changes its own (n|eta), and a replay"):
        fl.captured(lambda g: fl.update(state, w, g) and None)(np.ones(2))
    assert (w == 0).all()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda state: fl.adjust(state, 0.5), r"an optimizer's numbers \(fl.adjust"),
        (lambda state: fl.seed(3), r"where random numbers begin \(fl.seed"),
    ],
)
def test_what_a_replay_would_not_do_again_is_refused(call, words):
    w = np.zeros(2)
    state = fl.setup(fl.Descent(0.1), w)

    def step(g):
        call(state)
        fl.update(state, w, g)
        return w * 1

    run = fl.captured(step)
    with pytest.raises(fl.CaptureError, match=words):
        for _ in range(4):
            before = state.rule
            run(np.ones(2))
    assert state.rule is before


def test_the_norm_that_clips_may_be_a_float():
    plain, captured = both(lambda: fl.OptimiserChain(fl.ClipNorm(1.0, p=2.0), fl.Descent(0.1)), lambda *words: None)
    assert captured == plain


class Remembering(fl.OptimiserRule):
    """In each step it remembers `after` in place of `before`."""

    def __init__(self, before, after):
        self.before, self.after = before, after

    def init(self, x):
        return dict(self.before)

    def apply(self, memory, x, g):
        return dict(self.after), g


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ({"n": 1, "m": 2}, {"n": 1}, r"remembers \['n'\] after \['n', 'm'\]"),
        ({"n": 1}, {"n": 1, "m": 2}, r"remembers \['n', 'm'\] after \['n'\]"),
        ({"phase": "slow"}, {"phase": "fast"}, "remembers phase='fast'"),
    ],
)
def test_a_rule_that_remembers_something_else_is_refused(before, after, words):
    w = np.zeros(2)
    state = fl.setup(Remembering(before, after), w)
    with pytest.raises(fl.CaptureError, match=words):
        fl.captured(lambda g: fl.update(state, w, g) and None)(np.ones(2))
    assert state.memory == before
