"""The optimizers' formulas: twenty steps beside PyTorch's, or beside the formula as its paper has it."""

import inspect
import math

import numpy as np
import pytest
from kinds import GPUS
from optimizer_table import BEFORE_ANOTHER, BESIDE_TORCH, BY_FORMULA, OPTIMIZERS

import fluxlite as fl

RNG = np.random.default_rng(0)
A, W, B = RNG.normal(size=(4, 3)), RNG.normal(size=(2, 3)), RNG.normal(size=2)

EXACT = (fl.Descent, fl.Momentum, fl.Adam)  # computed as PyTorch does, but for rounding
CHAIN = fl.OptimiserChain(fl.ClipGrad(0.5), fl.SignDecay(0.01), fl.AccumGrad(2), fl.ClipNorm(0.3), fl.Adam(0.01))
ALL = [*OPTIMIZERS, CHAIN]
each_rule = pytest.mark.parametrize("rule", ALL, ids=repr)


def names_of(rules):
    return {type(rule).__name__ for rule in rules}


def test_every_optimizer_has_a_row():
    public = [name for name in fl.__all__ if inspect.isclass(getattr(fl, name))]
    rules = {name for name in public if issubclass(getattr(fl, name), fl.OptimiserRule)}
    missing = sorted(rules - {"OptimiserRule", "OptimiserChain"} - names_of([*OPTIMIZERS, *BEFORE_ANOTHER]))
    assert not missing, (
        f"{missing}: add a row for each to OPTIMIZERS of tests/helpers/optimizer_table.py, such as `fl.NAME(),`, "
        "or to BEFORE_ANOTHER there, if another one takes the step. All tests of optimizers then try it"
    )


def test_every_optimizer_is_compared():
    compared = names_of(rule for rule, *_ in [*BESIDE_TORCH.values(), *BY_FORMULA])
    missing = sorted(names_of(OPTIMIZERS) - compared)
    assert not missing, (
        f"{missing}: say in tests/helpers/optimizer_table.py which steps are right, by a row in BESIDE_TORCH if "
        "PyTorch has it, else in BY_FORMULA, with the formula of its paper for one number"
    )


def loss_of(model):
    return ((A @ model["W"].T + model["b"]) ** 2).sum()


def twenty_steps(rule):
    """After each step the parameters, and the gradients that led there."""
    model = {"W": W.copy(), "b": B.copy()}
    state, course = fl.setup(rule, model), []
    for _ in range(20):
        (grads,) = fl.gradient(loss_of, model)
        fl.update(state, model, grads)
        course.append(({name: x.copy() for name, x in model.items()}, grads))
    return course


@pytest.mark.parametrize("name", BESIDE_TORCH)
def test_twenty_steps_as_pytorch_makes_them(name):
    torch = pytest.importorskip("torch")
    rule, theirs, keywords = BESIDE_TORCH[name]
    parameters = {key: torch.tensor(x, requires_grad=True) for key, x in (("W", W), ("b", B))}
    optimizer = getattr(torch.optim, theirs)(list(parameters.values()), **keywords)
    for ours, _ in twenty_steps(rule):
        optimizer.zero_grad()
        ((torch.tensor(A) @ parameters["W"].T + parameters["b"]) ** 2).sum().backward()
        optimizer.step()
        for key, x in parameters.items():
            np.testing.assert_allclose(ours[key], x.detach().numpy(), rtol=1e-12 if type(rule) in EXACT else 1e-6)


def test_the_first_steps_by_hand():
    by_hand = (fl.Descent(0.5), [0.5, 0]), (fl.Momentum(0.5, 0.5), [0.5, -0.25]), (fl.Adam(0.25), [0.75, 0.5])
    for rule, steps in by_hand:
        model = [np.ones(1)]
        state = fl.setup(rule, model)
        for expected in steps:
            fl.update(state, model, [np.ones(1)])
            np.testing.assert_allclose(model[0], expected, atol=1e-7)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_variance_of_steady_gradients_is_not_negative(dtype):
    """The square of their mean may be a bit more than the mean of their squares: its root would be NaN."""
    gradients = np.linspace(0.1, 9, 50, dtype=dtype)
    x = np.ones_like(gradients)
    state = fl.setup(fl.RMSProp(centred=True), x)
    for _ in range(400):
        fl.update(state, x, gradients)
    assert np.all(np.isfinite(x))


@pytest.mark.parametrize(("rule", "formula"), BY_FORMULA, ids=lambda x: getattr(x, "__name__", ""))
def test_twenty_steps_by_the_formula(rule, formula):
    course = twenty_steps(rule)
    for name, at in (("W", (0, 1)), ("b", (1,))):
        start = {"W": W, "b": B}[name][at]
        expected = formula(float(start), [float(grads[name][at]) for _, grads in course])
        np.testing.assert_allclose([model[name][at] for model, _ in course], list(expected), rtol=1e-10)


# -- what all rules have in common ----------------------------------------------------------------------------------


@each_rule
def test_a_rule_makes_a_loss_smaller_and_keeps_types(rule):
    model = {"W": W.astype(np.float32), "b": B.astype(np.float32)}
    state, losses = fl.setup(rule, model), []
    for _ in range(60):
        loss, (grads,) = fl.withgradient(lambda m: np.mean((A.astype(np.float32) @ m["W"].T + m["b"]) ** 2), model)
        fl.update(state, model, grads)
        losses.append(loss)
    assert losses[-1] < losses[0]
    assert {x.dtype.name for x in fl.leaves((model, state)) if isinstance(x, np.ndarray)} == {"float32"}


@each_rule
def test_a_rule_changes_neither_the_gradient_nor_another_type(rule):
    for dtype in (np.float16, np.float64):
        x, g = np.ones(2, dtype), np.array([0.5, 0], dtype)
        memory = rule.init(x)
        for _ in range(3):
            rule.apply(memory, x, g)
        assert x.dtype == dtype and np.isfinite(x).all() and g.tolist() == [0.5, 0]


@each_rule
@pytest.mark.on(*GPUS)
def test_a_gpu_gives_the_same_without_a_hidden_copy(device, rule):
    on_host = W.astype(np.float32)
    g = np.sin(on_host)
    x, there = device(on_host.copy()), device(g)
    memory, its = rule.init(on_host), rule.init(x)
    with fl.receipt() as r:
        for _ in range(3):
            rule.apply(its, x, there)
    for _ in range(3):
        rule.apply(memory, on_host, g)
    np.testing.assert_allclose(fl.cpu(x), on_host, rtol=1e-5, atol=1e-6)
    assert r.host_to_device.count == r.device_to_host.count == 0


def test_on_a_gpu_a_rule_leaves_its_step_to_the_next_in_a_chain(simulated):
    found = []
    for place in (fl.cpu, fl.gpu):
        w = place(np.ones(3, np.float32))
        state = fl.setup(fl.OptimiserChain(fl.Adam(0.1), fl.ClipGrad(0.01)), w)
        for _ in range(3):
            fl.update(state, w, place(np.array([1, -2, 0.01], np.float32)))
        found.append(fl.cpu(w))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)


@each_rule
def test_what_a_rule_remembers_can_be_saved(rule, tmp_path):
    model, again = {"W": W.copy(), "b": B.copy()}, {"W": W.copy(), "b": B.copy()}
    state, its = fl.setup(rule, model), fl.setup(rule, again)
    fl.update(state, model, fl.gradient(loss_of, model)[0])
    fl.save(tmp_path / "all.safetensors", model=model, opt_state=state)
    fl.load(tmp_path / "all.safetensors", model=again, opt_state=its)
    for _ in range(3):
        fl.update(state, model, fl.gradient(loss_of, model)[0])
        fl.update(its, again, fl.gradient(loss_of, again)[0])
    np.testing.assert_array_equal(again["W"], model["W"])


def test_clipping():
    g = np.array([3.0, -4.0])
    np.testing.assert_array_equal(fl.ClipGrad(3.5).change({}, g, g), [3, -3.5])
    np.testing.assert_allclose(fl.ClipNorm(0.1).change({}, g / 10, g / 10), [0.06, -0.08])
    np.testing.assert_allclose(fl.ClipNorm(1.0, p=1).change({}, g, g), g / 7)
    np.testing.assert_allclose(fl.ClipNorm(1.0, p=math.inf).change({}, g, g), g / 4)
    for short in (np.zeros(2), np.array([0.3, 0.4]), np.zeros((0, 2))):
        np.testing.assert_array_equal(fl.ClipNorm(1.0).change({}, short, short), short)
    with pytest.raises(FloatingPointError, match=r"shape \(2,\) has the 2-norm nan"):
        fl.ClipNorm().change({}, g, np.array([np.nan, 0]))


def test_accumulated_gradients_make_the_step_of_the_whole_batch():
    whole, parts = {"W": W.copy(), "b": B.copy()}, {"W": W.copy(), "b": B.copy()}
    of_whole, of_parts = (
        fl.setup(fl.Adam(0.1), whole),
        fl.setup(fl.OptimiserChain(fl.AccumGrad(2), fl.Adam(0.1)), parts),
    )

    def step(state, model, a):
        fl.update(state, model, fl.gradient(lambda m: np.mean((a @ m["W"].T + m["b"]) ** 2), model)[0])

    for _ in range(3):
        step(of_whole, whole, A)
        step(of_parts, parts, A[:2])
        step(of_parts, parts, A[2:])
    np.testing.assert_allclose(parts["W"], whole["W"], rtol=1e-9)
    fl.adjust(of_parts, n=1)  # from now on each is a step
    step(of_parts, parts, A)
    step(of_whole, whole, A)
    np.testing.assert_allclose(parts["W"], whole["W"], rtol=1e-9)


# -- in the middle of a training --------------------------------------------------------------------------------------


def test_adjust_keeps_what_was_remembered_in_a_part_or_all_and_in_a_chain():
    model = fl.Chain(fl.Dense(2, 3), fl.Dense(3, 1))
    state = fl.setup(fl.OptimiserChain(fl.WeightDecay(0.1), fl.Momentum(0.1)), model)
    fl.update(state, model, fl.gradient(lambda m: np.sum(m(np.ones((1, 2)))), model)[0])
    velocity = state[1].bias.memory["1"]["velocity"].copy()
    fl.adjust(state.layers[1], 0.5)
    assert state.layers[0].weight.rule.rules[1].eta == 0.1 and state.layers[1].weight.rule.rules[1].eta == 0.5
    assert fl.adjust(state, decay=0.3) is state
    assert state.layers[1].bias.rule == fl.OptimiserChain(fl.WeightDecay(0.3), fl.Momentum(0.5))
    np.testing.assert_array_equal(state[1].bias.memory["1"]["velocity"], velocity)
    with pytest.raises(TypeError, match="no rule in this state has 'rate'; there are decay, eta, rho"):
        fl.adjust(state, rate=0.1)
    with pytest.raises(TypeError, match="takes the new learning rate"):
        fl.adjust(state)
    with pytest.raises(ValueError, match="the learning rate eta is at least 0"):
        fl.adjust(state, -1.0)
    for change in (fl.freeze, fl.thaw, lambda x: fl.adjust(x, 0.1)):
        for wrong in (model, [np.ones(2)], fl.Adam(), None):
            with pytest.raises(TypeError, match=r"the state that setup\(rule, model\) gives"):
                change(wrong)


def test_frozen_parameters_stay_and_remember():
    w, other = np.ones((2, 2)), np.ones(2)
    model, grads = {"a": w, "b": w.T, "c": other}, {"a": np.ones((2, 2)), "b": np.ones((2, 2)), "c": np.ones(2)}
    state = fl.setup(fl.Momentum(0.5), model)
    fl.update(state, model, grads)
    before, velocity = w.copy(), state["a"].memory["velocity"].copy()
    fl.freeze(state["a"])
    assert "frozen=True" in repr(state["a"])
    fl.update(state, model, grads)
    assert (w == before).all() and (state["a"].memory["velocity"] == velocity).all() and other[0] < 0
    fl.thaw(state)
    fl.update(state, model, grads)
    assert (w != before).all()


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: fl.Descent(-1), ValueError, "the learning rate eta is at least 0 and finite, got -1"),
        (lambda: fl.Descent(float("nan")), ValueError, "got nan"),
        (lambda: fl.Descent(float("inf")), ValueError, "got inf"),
        (lambda: fl.Descent("0.1"), TypeError, "the learning rate eta is a number, got '0.1'"),
        (lambda: fl.Descent(True), TypeError, "is a number, got True"),
        (lambda: fl.Adam(np.array([0.1])), TypeError, "is a number"),
        (lambda: fl.Momentum(0.1, 1.5), ValueError, "rho is at least 0 and less than 1, got 1.5"),
        (lambda: fl.Adam(beta=0.9), TypeError, r"beta is two numbers such as \(0.9, 0.999\), got 0.9"),
        (lambda: fl.Adam(0.1, (0.9,)), TypeError, "beta is two numbers"),
        (lambda: fl.Adam(0.1, (0.9, 0.9, 0.9)), TypeError, "beta is two numbers"),
        (lambda: fl.Adam(lr=0.1), TypeError, "Adam has no 'lr'. Here it is eta"),
        (lambda: fl.Lion(beta=(0.9, 1.0)), ValueError, "beta is at least 0 and less than 1"),
        (lambda: fl.Adam(epsilon=-1), ValueError, "epsilon"),
        (lambda: fl.Rprop(ell=0.5), TypeError, "ell is two numbers"),
        (lambda: fl.AdamW(decay="no"), TypeError, "decay is a number"),
        (lambda: fl.ClipNorm(p=3), ValueError, "p is 1, 2 or math.inf"),
        (lambda: fl.AccumGrad(0), ValueError, "the number of gradients, is at least 1"),
        (lambda: fl.AccumGrad(1.5), TypeError, "the number of gradients, is a whole number"),
        (lambda: fl.OptimiserChain(), TypeError, "takes rules such as Adam\\(\\), at least one"),
        (lambda: fl.OptimiserChain([fl.Adam()]), TypeError, r"OptimiserChain\(\*rules\) takes rules"),
    ],
)
def test_numbers_that_make_no_rule(make, error, words):
    with pytest.raises(error, match=words):
        make()


# -- schedules --------------------------------------------------------------------------------------------------------


def test_schedules_as_pytorch_has_them():
    torch = pytest.importorskip("torch")
    kinds = torch.optim.lr_scheduler
    for ours, theirs in [
        (fl.step_decay(0.1, 4, 0.5), lambda o: kinds.StepLR(o, 4, 0.5)),
        (fl.exponential_decay(0.1, 0.9), lambda o: kinds.ExponentialLR(o, 0.9)),
        (fl.cosine(0.1, 12, 0.01), lambda o: kinds.CosineAnnealingLR(o, 12, 0.01)),
        (fl.one_cycle(0.1, 13), lambda o: kinds.OneCycleLR(o, 0.1, total_steps=13)),
    ]:
        optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.1)
        scheduler, rates = theirs(optimizer), []
        for _ in range(13):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            if len(rates) < 13:
                scheduler.step()
        np.testing.assert_allclose([ours(step) for step in range(13)], rates, rtol=1e-9, atol=1e-12)


EDGES = [  # a schedule, and what it is at some steps
    (fl.one_cycle(1.0, 10, up=0), {0: 0.975, 9: 0, 20: 0}),
    (fl.one_cycle(1.0, 10, up=1), {0: 0.04, 9: 1, 10: 1, 99: 1}),
    (fl.one_cycle(1.0, 1), {0: 0, 1: 0}),
    (fl.one_cycle(1.0, 1, up=1), {0: 1, 1: 1}),
    (fl.cosine(1.0, np.int64(4), 0.25), {0: 1, 4: 0.25, 5: 0.25}),
    (fl.step_decay(1.0, 1, 0.0), {0: 1, 1: 0, 2: 0}),
    (fl.exponential_decay(1.0, 0.5), {0: 1, 10**6: 0}),
    (fl.warm_up(2, fl.one_cycle(1.0, 10, up=0.1)), {0: 0.5, 1: 1, 2: 1, 11: 0, 12: 0}),
]


@pytest.mark.parametrize("schedule, expected", EDGES)
def test_a_schedule_at_its_edges(schedule, expected):
    np.testing.assert_allclose([schedule(step) for step in expected], list(expected.values()), atol=1e-3)
