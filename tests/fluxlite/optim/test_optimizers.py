"""Optimizers: the rules, and the walk that applies them."""

import functools
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from inside import Leaf
from kinds import EVERYWHERE

import fluxlite as fl
from fluxlite import Adam, Descent, Momentum, gradient, setup, update, updated

each_rule = pytest.mark.parametrize("rule", [Descent(0.1), Momentum(0.1, 0.9), Adam(0.1)], ids=str)


@fl.functor(trainable=("weight",))
@dataclass
class Layer:
    weight: Any
    mean: Any = None


def arrays_in(tree):
    return [x for x in fl.leaves(tree) if isinstance(x, np.ndarray)]


def snapshot(*trees):
    """All arrays and whole numbers, copied."""
    return [np.copy(x) for x in fl.leaves(trees) if isinstance(x, (np.ndarray, int))]


def is_unchanged(before, *trees):
    now = snapshot(*trees)
    return len(before) == len(now) and all(map(np.array_equal, before, now))


# -- setup ------------------------------------------------------------------------------------------------


def test_the_state_is_a_tree_like_the_model_with_one_leaf_for_each_parameter():
    W = np.ones((2, 3))
    model = {"a": Layer(W, np.ones(3)), "b": [W.T, np.arange(3), np.ones(2, bool), 1.5, "x", None, np.tanh]}
    state = setup(Momentum(), model)
    assert isinstance(state["a"].weight, Leaf) and state["b"][0] is state["a"].weight
    assert state["b"][1:] == [None] * 6 and vars(state["a"]).keys() == {"weight"}
    assert state["a"].weight.memory["velocity"].shape == (2, 3)


def test_nothing_to_train_is_said_once(capsys):
    """A warning, no error."""
    fl.reset_notices()
    assert setup(Adam(), {"activation": np.tanh, "n": np.arange(2)}) == {"activation": None, "n": None}
    setup(Adam(), [1])
    assert capsys.readouterr().err == "┌ Warning: setup found nothing to train in this dict\n"
    fl.reset_notices()


def test_parameters_that_cannot_be_changed_in_place_are_refused():
    read_only, stretched = np.ones(3), np.lib.stride_tricks.as_strided(np.ones(1), (3,), (0,))
    read_only.flags.writeable = False
    for array in (read_only, stretched):
        with pytest.raises(ValueError, match=r"\[0\]\.weight can't be changed in place.*x\.copy\(\)"):
            setup(Adam(), [Layer(array)])
    setup(Adam(), [np.lib.stride_tricks.as_strided(np.ones(3), (1, 3), (0, 8))])  # an axis of length 1: any stride
    with pytest.raises(ValueError, match=r"^\[0\] can't be changed in place"):
        setup(Adam(), [fl.param(np.ones(2))])
    with pytest.raises(ValueError, match="^the model can't be changed in place, as nothing can inside a gradient call"):
        gradient(lambda w: setup(Adam(), w) and w.sum(), np.ones(2))


@pytest.mark.parametrize("first", [fl.Chain(np.tanh), Adam, 0.1, None])
def test_setup_takes_the_rule_first(first):
    with pytest.raises(TypeError, match=r"setup\(rule, model\) takes an optimizer such as Adam\(\) first"):
        setup(first, Adam())


def test_the_state_moves_like_a_model():
    model = [np.ones(2), {"b": np.ones(1)}]
    state = setup(Adam(), model)
    update(state, model, [np.ones(2), {"b": np.ones(1)}])
    moved = fl.fmap(lambda x: x.astype(np.float16) if isinstance(x, np.ndarray) else x, state)
    assert {x.dtype.name for x in arrays_in(moved)} == {"float16"} and moved[0].memory["steps"] == 1
    assert moved[0].rule == Adam() and state[0].memory["mean"].dtype == np.float64


# -- update -----------------------------------------------------------------------------------------------


@each_rule
def test_update_works_in_place_and_returns_both(rule):
    """Also with float64 gradients and a float64 learning rate, types stay. Of float16, more digits are remembered."""
    for dtype in (np.float16, np.float64):
        model = Layer(np.ones(2, dtype))
        state = setup(type(rule)(np.float64(0.1)), model)
        weight, leaf, grads = model.weight, state.weight, fl.Gradient(weight=np.array([1.0, 0.0]), mean=None)
        for _ in range(3):
            result = update(state, model, grads)
        assert result[0] is state and result[1] is model and grads.weight.tolist() == [1, 0]
        assert model.weight is weight and state.weight is leaf and weight[0] < 1 == weight[1]
        assert weight.dtype == dtype and {x.dtype for x in arrays_in(state)} <= {np.promote_types(dtype, np.float32)}


@each_rule
def test_updated_leaves_everything_untouched(rule):
    """Ties survive in what it makes."""
    W = np.ones((2, 3))
    model, grads = {"a": W, "b": (W.T, 5)}, {"a": np.ones((2, 3)), "b": (np.ones((3, 2)), None)}
    state = setup(rule, model)
    before = snapshot(model, state, grads)
    new_state, new_model = updated(state, model, grads)
    assert is_unchanged(before, model, state, grads)
    assert new_model["a"][0, 0] < 1 and np.shares_memory(new_model["a"], new_model["b"][0])
    assert not np.shares_memory(new_model["a"], W) and new_state["a"] is new_state["b"][0]
    update(state, model, grads)
    np.testing.assert_array_equal(model["a"], new_model["a"])


@each_rule
def test_the_gradients_of_a_tie_are_added_up_before_the_one_step(rule):
    one, tied = [np.ones((2, 3))], np.ones((2, 3))
    model = {"x": tied, "y": [tied], "z": tied.T}
    state, state_of_one = setup(rule, model), setup(rule, one)
    g1, g2, g3 = np.ones((2, 3)), np.full((2, 3), 2.0), np.arange(6.0).reshape(3, 2)
    for _ in range(3):
        update(state, model, {"x": g1, "y": [g2], "z": g3})
        update(state_of_one, one, [g1 + g2 + g3.T])
    np.testing.assert_allclose(tied, one[0])
    assert model["x"] is tied and model["z"].base is tied


def test_missing_branches_are_fine():
    model = {"a": Layer([np.ones(1), np.ones(1)]), "b": (np.ones(1), {"c": np.ones(1)}), "f": np.tanh}
    state = setup(Descent(1.0), model)
    for grads in ({}, {"a": None}, {"a": fl.Gradient()}, {"b": (None, {})}, {"a": ()}):
        update(state, model, grads)
    assert all(x == 1 for x in arrays_in(model))
    update(state, model, {"a": {"weight": [None, np.ones(1)]}, "b": [None, {"c": np.ones(1)}]})
    assert [float(x[0]) for x in arrays_in(model)] == [1, 0, 1, 0]


def test_a_gradient_for_what_the_model_does_not_have_is_refused_and_nothing_is_changed():
    """Otherwise, a mistyped name would be a step that's never taken."""
    model = {"a": np.ones(1), "b": [np.ones(1)]}
    state = setup(Descent(1.0), model)
    for grads, words in (({"A": np.ones(1)}, "has no 'A'"), ({"b": [np.ones(1), np.ones(1)]}, r"\['b'\].*has no 1"),
                         ([np.ones(1)], "the model, a dict, has no 0")):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            update(state, model, {"a": np.ones(1)} | grads if isinstance(grads, dict) else grads)
    assert all(x == 1 for x in arrays_in(model))


def test_models_of_every_kind_of_container():
    Pair = namedtuple("Pair", "w v")
    w, other = np.ones(2), np.ones(2)
    model = Pair([np.ones(2)], {"p": functools.partial(np.multiply, np.ones(2)), "f": [lambda x: x, other], 3: (w,)})
    state = setup(Adam(0.5), model)

    def loss(m):
        return m.w[0].sum() + m.v["p"](np.ones(2)).sum() + m.v["f"][1].sum() + m.v[3][0].sum()

    update(state, model, gradient(loss, model)[0])
    np.testing.assert_allclose(loss(model), 4.0, rtol=1e-6)
    assert model.v[3][0] is w
    update(setup(Descent(1.0), other), other, gradient(np.sum, np.ones(2))[0])
    np.testing.assert_allclose(other, [-0.5, -0.5], rtol=1e-6)  # a bare array is a model, too


# -- update refuses -----------------------------------------------------------------------------------------


def trained():
    model = fl.Chain(Layer2(np.ones((2, 3)), np.ones(2)), np.tanh)
    state = setup(Momentum(0.1), model)
    (g,) = gradient(lambda m: (m[0].weight ** 2).sum() + m[0].bias.sum(), model)
    update(state, model, g)
    return state, model, g


@fl.functor
@dataclass
class Layer2:
    weight: Any
    bias: Any

    def __call__(self, x):
        return x


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (lambda s, m, g: (Adam(), m, g), "got an Adam in place of the state"),
        (lambda s, m, g: (s, g, m), "got a Gradient in place of the model"),
        (lambda s, m, g: (s, m, m), "got a Chain in place of the gradient"),
        (lambda s, m, g: (g, m, s), "got a Gradient in place of the state"),
        (lambda s, m, g: (s, m, s), "got a State in place of the gradient"),
        (lambda s, m, g: (s, m, (g,)), r"take grads\[0\]"),
        (lambda s, m, g: (s, m, fl.Gradient(layers=np.ones(2))), "layers is a tuple, its gradient a ndarray"),
    ],
)
def test_arguments_in_another_order(order, message):
    state, model, g = trained()
    before = snapshot(state, model, g)
    with pytest.raises(TypeError, match=message) as error:
        update(*order(state, model, g))
    assert is_unchanged(before, state, model, g)
    assert "update(state, model, grads), with state = setup(rule, model)" in str(error.value)


@pytest.mark.parametrize(
    ("g", "error", "message"),
    [
        (np.ones(3), ValueError, r"layers\[0\]\.bias has shape \(2,\), its gradient shape \(3,\)"),
        (np.float64(1), TypeError, r"the gradient of layers\[0\]\.bias is a float64, not an array"),
        (np.ones(2, complex), TypeError, "an array of complex128, not an array of real numbers"),
    ],
)
def test_a_wrong_gradient_is_named_and_nothing_is_changed(g, error, message):
    """The first parameter's gradient is right: it must not be applied either."""
    state, model, grads = trained()
    grads[0].bias = g
    before = snapshot(state, model)
    with pytest.raises(error, match=message):
        update(state, model, grads)
    assert is_unchanged(before, state, model)


@pytest.mark.parametrize("x", [np.arange(2), np.array([True, False]), "text", None, True, np.tanh, print, 1j])
def test_a_gradient_for_what_does_not_train_is_refused_and_nothing_is_changed(x):
    model = {"w": np.ones(2), "rest": [x, None]}
    state = setup(Descent(), model)
    for g in (np.zeros(2), np.ones(2), 0.0, {}):
        with pytest.raises(TypeError, match=r"\['rest'\]\[0\] is .*, which doesn't train: its gradient is None, got "):
            update(state, model, {"w": np.ones(2), "rest": [g, None]})
        np.testing.assert_array_equal(model["w"], np.ones(2))
    update(state, model, {"w": np.ones(2), "rest": [None, None]})
    np.testing.assert_allclose(model["w"], 0.9)


def test_a_gradient_of_whole_numbers_is_one_of_floats():
    """Written by hand, it may be: in eight bits, the square of 20 would be 144."""
    for rule in (Adam(), fl.OptimiserChain(fl.ClipNorm(1.0), fl.Descent())):
        found = []
        for g in (np.array([20, 3], np.uint8), np.array([20.0, 3.0])):
            x = np.ones(2)
            fl.update(fl.setup(rule, x), x, g)
            found.append(x)
        np.testing.assert_array_equal(*found)


def test_the_state_of_another_model_is_noticed():
    _, model, g = trained()
    weight = model[0].weight.copy()
    others = [
        (setup(Momentum(), fl.Chain(Layer2(np.ones((1, 3)), np.ones(2)), np.tanh)), r"has shape.*its state \(1, 3\)"),
        (setup(Momentum(), fl.Chain(Layer2(np.ones((3, 3)), np.ones(2)), np.tanh)), r"has shape.*its state \(3, 3\)"),
        (setup(fl.OptimiserChain(fl.ClipGrad(), Momentum()), fl.Chain(Layer2(np.ones((1, 3)), np.ones(2)), np.tanh)),
         r"has shape.*its state \(1, 3\)"),
        (setup(Momentum(), fl.Chain(Layer2(np.ones((2, 3)), None), np.tanh)), r"nothing for layers\[0\]\.bias"),
        (setup(Momentum(), [np.ones(2)]), r"nothing for layers\[0\]\.weight"),
        (model, "nothing for"),
    ]  # fmt: skip
    for state, message in others:
        with pytest.raises(ValueError, match=message):
            update(state, model, g)
        np.testing.assert_array_equal(model[0].weight, weight)


def test_update_inside_a_gradient_is_refused():
    model = [np.ones(2), np.ones(2)]
    state = setup(Momentum(), model)
    with pytest.raises(ValueError, match=r"\[0\] can't be changed in place, as nothing can inside a gradient call"):
        gradient(lambda m: update(state, model, [np.ones(2), np.ones(2)]) and m[0].sum(), model)
    assert model[0].tolist() == [1, 1] and not state[0].memory["velocity"].any()
    with pytest.raises(TypeError, match=r"the gradient of \[0\] is a TrackedArray"):
        gradient(lambda w: update(setup(Momentum(), model), model, [w]), np.ones(2))


# -- what a state prints --------------------------------------------------------------------------------------------


def test_a_state_prints_its_rules_and_reads_nothing(simulated):
    state = setup(fl.OptimiserChain(fl.ClipNorm(1.0), Adam(0.1)), fl.gpu(fl.Dense(3, 3, bias=False)))
    fl.freeze(fl.adjust(state, 0.2))
    with fl.receipt() as receipt:
        text = repr(state)
    assert receipt.device_to_host.count == receipt.launches == 0
    rule = "OptimiserChain(ClipNorm(omega=1.0, p=2), Adam(eta=0.2, beta=(0.9, 0.999), epsilon=1e-08))"
    memory = "{'0': {}, '1': {'mean': float32 (3, 3), 'square': float32 (3, 3), 'steps': 0}}"
    assert text.startswith(f"State(weight=Leaf({rule}, {memory}, frozen=True), bias=None")


# -- a gradient without anything in it --------------------------------------------------------------------------


def test_a_step_by_a_gradient_that_is_all_none_is_named_once(capsys):
    """In a loop by hand, `train` isn't there to say it."""
    model, outside = fl.Dense(2, 1), fl.Dense(2, 1)
    state = setup(Adam(), model)
    fl.reset_notices()
    for _ in range(2):
        (grads,) = gradient(lambda m: np.sum(outside(np.ones((3, 2), np.float32))), model)
        update(state, model, grads)
    said = "".join(capsys.readouterr())
    words = "the loss doesn't depend on the parameters of this Dense. Does it compute with its first argument"
    assert said.count("update changes nothing: " + words) == 1
    with pytest.raises(ValueError, match=words):
        fl.train(lambda m, x: np.sum(outside(x)), model, [np.ones((3, 2), np.float32)], state)


# -- the norm of all gradients -------------------------------------------------------------------------------------

PARTS = [np.array([3.0, 4.0]), np.array([[0.3], [0.4]])]


def all_numbers(grads):
    return np.concatenate([np.ravel(g) for g in fl.leaves(grads) if g is not None])


@pytest.mark.parametrize("most, length", [(1.0, 1.0), (100.0, np.sqrt(25.25)), (0, 0)])
def test_all_gradients_are_clipped_by_one_norm(most, length):
    a, b = PARTS
    for grads in ((a, b), {"a": a, "b": [b, None]}, fl.Gradient(layers=(fl.Gradient(weight=a, bias=None), b))):
        clipped, norm = fl.clip_grad_norm(grads, most)
        np.testing.assert_allclose(norm, np.sqrt(25.25))
        np.testing.assert_allclose(all_numbers(clipped), all_numbers(grads) * length / norm, rtol=1e-6)
        assert type(clipped) is type(grads) and a.tolist() == [3, 4], "new ones"


def test_types_stay_and_half_precision_does_not_overflow():
    grads, norm = fl.clip_grad_norm([np.full(4, 300.0, np.float16), np.zeros(2, np.float32), np.array(0.0)], 60.0)
    assert norm == 600 and [g.dtype for g in grads] == [np.float16, np.float32, np.float64]
    np.testing.assert_allclose(grads[0], 30, rtol=1e-3)
    assert fl.clip_grad_norm({"w": None}, 1.0) == ({"w": None}, 0.0)
    assert np.isnan(fl.clip_grad_norm([np.array([np.nan, 1.0])], 1.0)[1])
    for wrong in (fl.Dense(2, 1, np.tanh), {"w": 1.0}, "grads", fl.Adam()):
        with pytest.raises(
            AttributeError, match=r"takes what gradient\(f, model\)\[0\] gives, and a number, got grads"
        ):
            fl.clip_grad_norm(wrong, 1.0)


@pytest.mark.on(*EVERYWHERE)
def test_all_gradients_are_clipped_where_they_are(device):
    grads = device({"a": np.array([3, 4], np.float32), "b": [np.array([[0.3], [0.4]], np.float16), None]})
    clipped, norm = fl.clip_grad_norm(grads, 1.0)
    assert fl.device_of(clipped["a"]) == fl.device_of(clipped["b"][0]) == device and not norm.shape
    np.testing.assert_allclose(float(norm), np.sqrt(25.25), rtol=1e-3)
    np.testing.assert_allclose(all_numbers(fl.cpu(clipped)), [0.597, 0.796, 0.0597, 0.0796], rtol=2e-3)


def test_on_a_gpu_the_norm_is_not_waited_for():
    with fl.simulate_gpu(2):
        cards = [fl.get_device("Simulated", i) for i in (0, 1)]
        grads = {"a": cards[0](np.array([3, 4], np.float32)), "b": cards[1](np.array([0.3, 0.4], np.float32))}
        with fl.receipt() as r:
            one, norm = fl.clip_grad_norm({"a": grads["a"]}, 1.0)
        assert r.synchronizations == 0 and r.launches > 0
        for current in (1, 0):
            with cards[current]:
                clipped, norm = fl.clip_grad_norm(grads, 1.0)
            assert fl.device_of(norm) == cards[0]
        assert [fl.device_of(clipped[name]) for name in "ab"] == cards
        np.testing.assert_allclose(all_numbers(fl.cpu(clipped)), [0.597, 0.796, 0.0597, 0.0796], rtol=1e-3)


# -- groups of parameters --------------------------------------------------------------------------------------------


@fl.functor
@dataclass
class Tiny:
    tokens: Any
    blocks: Any
    parts: Any
    head: Any


def test_a_path_of_the_model_leads_to_its_state_and_gradient():
    """In a model nested as a GPT is: lists in objects in lists, and a tie."""
    tokens, blocks = np.ones((4, 2)), [{"attention": fl.Dense(2, 2), "norm": fl.LayerNorm(2)} for _ in range(2)]
    model = Tiny(tokens, blocks, {"a.b": (np.ones(2), fl.Chain(fl.Dense(2, 2), np.tanh))}, tokens.T)
    state = setup(fl.AdamW(0.1, decay=0.5), model)
    (grads,) = gradient(lambda m: sum(np.sum(w**2) for _, w in fl.trainables(m)), model)
    found = list(fl.trainables(model))
    assert len(found) == 1 + 2 * 4 + 3 and model.head.base is model.tokens
    for path, w in found:
        assert isinstance(state[path], Leaf) and state[path] is path.get(state) and grads[path].shape == w.shape
        assert state[tuple(path)] is state[path]
    assert state["blocks", 0, "norm"] is state.blocks[0]["norm"] and state[()] is state
    chain = setup(Adam(), fl.Chain(fl.Dense(2, 1)))
    assert chain["layers", 0, "weight"] is chain[0].weight
    with pytest.raises(KeyError, match="takes the place of a layer, a slice or a path, got"):
        state["blocks", 0, "nrom"]
    with pytest.raises(IndexError, match="takes the place of a layer"):
        chain[9]
    with pytest.raises(IndexError, match="takes the place of a layer"):
        gradient(lambda m: np.sum(m[0].weight), fl.Chain(fl.Dense(2, 1)))[0][9]
