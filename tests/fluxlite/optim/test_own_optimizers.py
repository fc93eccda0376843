"""Optimizers in your own file do all that ours do, and ours do the same once they're copied into it."""

import importlib.util
import inspect
import math
from dataclasses import dataclass

import numpy as np
import pytest
from inside import optimizers
from test_rules import ALL

import fluxlite as fl


class PlainChange(fl.OptimiserRule):
    def __init__(self, eta=0.1, rho=0.9):
        self.eta = eta
        self.rho = rho

    def init(self, x):
        return {"velocity": np.zeros_like(x), "steps": 0}

    def change(self, memory, x, g):
        memory["steps"] += 1
        velocity = memory["velocity"]
        velocity *= self.rho
        velocity += self.eta * g
        return velocity


@dataclass(frozen=True)
class FieldsChange(fl.OptimiserRule):
    eta: float = 0.1
    rho: float = 0.9

    init = PlainChange.init
    change = PlainChange.change


class NumbersInTheClass(fl.OptimiserRule):
    eta = 0.1
    rho = 0.9

    init = PlainChange.init
    change = PlainChange.change


@dataclass(slots=True)
class InPlace(fl.OptimiserRule):
    """`apply` takes the step itself."""

    eta: float = 0.1
    rho: float = 0.9

    def init(self, x):
        return {"velocity": np.zeros_like(x)}

    def apply(self, memory, x, g):
        memory["velocity"] *= self.rho
        memory["velocity"] += self.eta * g
        x -= memory["velocity"]


class AsInOptimisers(fl.OptimiserRule):
    """`apply` leaves the parameter, and gives new memory and a change."""

    def __init__(self, eta=0.1, rho=0.9):
        self.eta, self.rho = eta, rho

    def init(self, x):
        return {"velocity": np.zeros_like(x)}

    def apply(self, memory, x, g):
        velocity = self.rho * memory["velocity"] + self.eta * g
        return {"velocity": velocity}, velocity


each_kind = pytest.mark.parametrize("kind", [PlainChange, FieldsChange, NumbersInTheClass, InPlace, AsInOptimisers])


def model_and_grads(dtype=np.float32):
    rng = np.random.default_rng(0)
    W = rng.normal(size=(3, 2)).astype(dtype)
    model = {"W": W, "tied": W.T, "b": rng.normal(size=2).astype(dtype)}
    grads = {name: rng.normal(size=x.shape).astype(dtype) for name, x in model.items()}
    return model, grads


def steps_of(rule, count=3, dtype=np.float32, device=fl.cpu, half_way=lambda state: None):
    model, grads = model_and_grads(dtype)
    model, grads = device(model), device(grads)
    state = fl.setup(rule, model)
    for number in range(count):
        if number == 1:
            half_way(state)
        fl.update(state, model, grads)
    return fl.cpu(model)


def assert_same(ours, theirs, rtol=1e-5):
    for name, x in ours.items():
        assert theirs[name].dtype == x.dtype
        np.testing.assert_allclose(theirs[name], x, rtol=rtol, atol=1e-6, err_msg=name)


def chained(*rules):
    return fl.OptimiserChain(fl.ClipGrad(0.5), fl.WeightDecay(0.1), *rules)


@each_kind
def test_steps_of_tied_parameters_in_float32_and_float16_on_a_gpu_and_in_a_chain(kind, simulated):
    assert_same(steps_of(fl.Momentum(0.1)), steps_of(kind(), device=fl.gpu))
    assert_same(steps_of(chained(fl.Momentum(0.1))), steps_of(chained(kind())))
    assert_same(steps_of(chained(fl.Momentum(0.1))), steps_of(chained(kind()), device=fl.gpu))
    assert_same(steps_of(fl.OptimiserChain(fl.Momentum(0.1), fl.ClipGrad(0.01))),
                steps_of(fl.OptimiserChain(kind(), fl.ClipGrad(0.01))))  # fmt: skip
    for device in (fl.cpu, fl.gpu):
        assert_same(steps_of(fl.Momentum(0.1), dtype=np.float16), steps_of(kind(), 3, np.float16, device), 1e-3)


@each_kind
def test_rates_change_and_parts_freeze(kind):
    def slower(state):
        fl.adjust(state, 0.01)
        fl.adjust(state, rho=0.5)
        fl.freeze(state["b"])

    assert_same(steps_of(fl.Momentum(0.1), half_way=slower), steps_of(kind(), half_way=slower))
    state = fl.setup(kind(), [np.ones(1)])
    with pytest.raises(TypeError, match="no rule in this state has 'rate'; there are eta, rho"):
        fl.adjust(state, rate=1.0)
    assert str(fl.adjust(state, 0.5)[0]).startswith(f"Leaf({kind.__name__}(eta=0.5, rho=0.9), {{'velocity': float64")


@each_kind
def test_a_training_follows_a_schedule_and_goes_on_from_its_file(kind, tmp_path):
    def train(rule, epochs, **keywords):
        model = {"w": np.zeros(1)}
        batches = [(np.array([1.0]), np.array([2.0])), (np.array([2.0]), np.array([4.0]))]
        state = fl.setup(rule, model)
        schedule = fl.step_decay(0.1, every=2)
        loss = lambda m, x, y: np.sum((m["w"] * x - y) ** 2)  # noqa: E731
        fl.train(loss, model, batches, state, epochs, schedule=schedule, **keywords)
        return model

    path = tmp_path / "run.safetensors"
    ours = train(fl.Momentum(0.1), 3)
    assert_same(ours, train(kind(), 3))
    train(kind(), 1, checkpoint=path)
    assert_same(ours, train(kind(), 3, checkpoint=path, resume=True))


@each_kind
def test_its_state_is_saved_and_loaded_and_copied(kind, tmp_path):
    model, grads = model_and_grads()
    state = fl.setup(kind(), model)
    fl.update(state, model, grads)
    fl.save(tmp_path / "all.safetensors", model=model, state=state)
    again, _ = model_and_grads()
    its = fl.setup(kind(), again)
    fl.load(tmp_path / "all.safetensors", model=again, state=its)
    untouched = model["W"].copy()
    _, after = fl.updated(state, model, grads)
    assert (model["W"] == untouched).all()
    fl.update(its, again, grads)
    assert_same(after, again, rtol=0)


def test_what_is_remembered_may_have_any_shape(simulated):
    class OneRateARow(fl.OptimiserRule):
        def init(self, x):
            return {"square": np.zeros_like(x, shape=(len(x), 1)), "parts": [np.zeros_like(x)]}

        def change(self, memory, x, g):
            memory["square"] += np.mean(g * g, axis=1, keepdims=True)
            return 0.1 * g / np.sqrt(memory["square"])

    for device in (fl.cpu, fl.gpu):
        w = device(np.ones((2, 3), np.float32))
        state = fl.setup(OneRateARow(), w)
        fl.update(state, w, device(np.full((2, 3), 5, np.float32)))
        np.testing.assert_allclose(fl.cpu(w), 0.9, rtol=1e-6)
        with pytest.raises(ValueError, match=r"the model has shape \(4, 2\), its state \(2, 3\)"):
            fl.update(state, device(np.ones((4, 2), np.float32)), device(np.ones((4, 2), np.float32)))


class EverySecond(fl.OptimiserRule):
    """A rule that holds another one, and lets it step every second time."""

    def __init__(self, inner):
        self.inner = inner

    def init(self, x):
        return {"count": 0, "inner": self.inner.init(x), "history": [np.zeros_like(x)]}

    def change(self, memory, x, g):
        memory["count"] += 1
        if memory["count"] % 2:
            return self.inner.change(memory["inner"], x, g)
        return None


class Usual(fl.OptimiserChain):
    """A chain with a constructor of its own."""

    def __init__(self, eta):
        super().__init__(fl.ClipGrad(1.0), fl.Descent(eta))


def test_the_rates_inside_a_rule_change_too():
    w = np.zeros(2)
    state = fl.setup(EverySecond(fl.Momentum(0.5)), [w])
    assert "Momentum(eta=0.5, rho=0.9)" in repr(state) and "'history': [float64 (2,)]" in repr(state)
    fl.update(state, [w], [np.ones(2)])
    fl.adjust(state, 0.25)
    for _ in range(2):
        fl.update(state, [w], [np.ones(2)])
    np.testing.assert_allclose(w, -0.5 - (0.9 * 0.5 + 0.25))
    state = fl.adjust(fl.setup(Usual(0.1), [w]), 0.2)
    assert type(state[0].rule) is Usual and state[0].rule.rules[1] == fl.Descent(0.2)


def test_a_formula_with_numbers_of_its_own_is_one_launch(simulated):
    @dataclass(frozen=True)
    class Mixed(optimizers.Fusible):
        eta: float = 0.1
        share: float = 0.5
        weights: tuple = (0.25, 0.5, 0.25)
        signed: bool = False
        remembers = "mean"

        def formula(self, x, g, mean):
            optimizers.keep(mean, self.share, g)
            step = self.eta * (self.weights[0] * mean + self.weights[1] * g + self.weights[2] * x)
            if self.signed:
                return self.eta * np.sign(step)
            return step

    class CallsApply(Mixed):
        def apply(self, memory, x, g):
            super().apply(memory, x, 2 * g)

    for rule in (Mixed(), Mixed(share=0.9, weights=(1.0, 0.0, 0.0)), Mixed(signed=True), CallsApply(share=0.2)):
        host = np.ones(3, np.float32)
        x = simulated(host)
        states = fl.setup(rule, host), fl.setup(rule, x)
        g = np.array([1, -2, 3], np.float32)
        there = simulated(g)
        for _ in range(2):
            fl.update(states[0], host, g)
            with fl.receipt() as r:
                fl.update(states[1], x, there)
            assert r.launches == (2 if type(rule) is CallsApply else 1)
        np.testing.assert_allclose(fl.cpu(x), host, rtol=1e-5)


class NoDict(fl.OptimiserRule):
    def init(self, x):
        return np.zeros_like(x)


class WrongReturn(fl.OptimiserRule):
    def apply(self, memory, x, g):
        return 0.1 * g


class Nothing(fl.OptimiserRule):
    pass


class Alone:
    def change(self, memory, x, g):
        return g


@pytest.mark.parametrize(
    "rule, error, words",
    [
        (NoDict(), TypeError, r"NoDict\.init\(x\) gives a dict such as .*, got .*\(2,\)"),
        (WrongReturn(), TypeError, r"WrongReturn\.apply\(memory, x, g\) returned .*: it changes x in place"),
        (fl.OptimiserChain(WrongReturn(), fl.Descent()), TypeError, r"WrongReturn\.apply\(memory, x, g\) returned"),
        (Nothing(), NotImplementedError, r"Nothing says by how much a parameter changes"),
        (Nothing, TypeError, r"got the class Nothing: write Nothing\(\)"),
        (Alone(), TypeError, r"got Alone\. An optimizer of your own is a class Alone\(fl\.OptimiserRule\)"),
    ],
    ids=lambda x: type(x).__name__ if not isinstance(x, (str, type)) else "",
)
def test_what_is_no_optimizer_yet(rule, error, words):
    w = np.ones(2)
    with pytest.raises(error, match=words):
        fl.update(fl.setup(rule, w), w, np.ones(2))
    assert (w == 1).all()


# -- ours, copied ------------------------------------------------------------------------------------------------------

OURS = [kind for kind in vars(optimizers).values()
        if isinstance(kind, type) and issubclass(kind, fl.OptimiserRule) and hasattr(fl, kind.__name__)
        and kind is not fl.OptimiserRule]  # fmt: skip


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """A module of yours, in which all of our optimizers stand once more."""
    path = tmp_path_factory.mktemp("yours") / "my_optimizers.py"
    path.write_text("\n\n".join(map(inspect.getsource, OURS)), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("my_optimizers", path)
    module = importlib.util.module_from_spec(spec)
    ours = {name: x for name, x in vars(optimizers).items() if not name.startswith("__")}
    vars(module).update(ours)  # what our file imports, and its helpers
    spec.loader.exec_module(module)
    return module


def copy_of_rule(rule, module):
    kind = getattr(module, type(rule).__name__)
    assert kind is not type(rule)
    if rule.rules:
        return kind(*[copy_of_rule(one, module) for one in rule.rules])
    return kind(**vars(rule))


@pytest.mark.parametrize("rule", [*ALL, fl.OptimiserChain(fl.WeightDecay(), fl.Descent())], ids=repr)
def test_a_copy_of_ours_takes_the_same_steps_and_prints_the_same(rule, copied, simulated):
    theirs = copy_of_rule(rule, copied)
    assert repr(theirs) == repr(rule)
    for dtype, device in ((np.float64, fl.cpu), (np.float16, fl.cpu), (np.float32, fl.gpu), (np.float16, fl.gpu)):
        with fl.receipt() as its, np.errstate(all="ignore"):
            ours = steps_of(rule, 5, dtype, device)
        with fl.receipt() as copies, np.errstate(all="ignore"):
            same = steps_of(theirs, 5, dtype, device)
        for name, x in ours.items():
            np.testing.assert_array_equal(same[name], x)
        assert copies.launches == its.launches


@pytest.mark.parametrize("name", [kind.__name__ for kind in OURS])
def test_a_copy_of_ours_refuses_the_same(name, copied):
    def answers(kind):
        said = []
        for numbers in (
            {"eta": -1}, {"eta": math.nan}, {"eta": "0.1"}, {"rho": 1.5}, {"beta": 0.9}, {"beta": (0.9, 1.0)},
            {"lr": 1}, {"ell": 1}, {"decay": None}, {"p": 3}, {"n": 0}, {"omega": -1}, {"delta": True},
            {"centred": 2.5}, {"couple": "no"}, {"epsilon": -1}, {},
        ):  # fmt: skip
            try:
                said.append(repr(kind(**numbers)))
            except (TypeError, ValueError) as error:
                said.append((type(error), str(error)))
        return said

    assert answers(getattr(copied, name)) == answers(getattr(fl, name))
