"""Arrays that no walk reaches are not trained: `setup` and `train` say so each time, `gradient` once per class."""

import functools
import types
from collections import UserDict, deque

import numpy as np
import pytest

import fluxlite as fl
from fluxlite import functor


class Scale:
    """Not registered."""

    def __init__(self, w=None):
        self.w = np.ones(2) if w is None else w

    def __call__(self, x):
        return self.w * x


class Slotted:
    __slots__ = ("w",)

    def __init__(self):
        self.w = np.ones(2)


def dense():
    return fl.Dense.of(np.ones((2, 2)))


def with_default(layer):
    return lambda x, layer=layer: layer(x)


def with_keyword_default(w):
    def scaled(x, *, w=w):
        return w * x

    return scaled


def captured(scale):
    return lambda x: scale(x)


SHARED = fl.Embedding.of(np.ones((2, 3)))
NUMBERS, TEXT, RATE, HELPER = np.arange(3), "text", 0.5, fl.relu


def tied_to_a_global(x):
    return [x @ table.T for table in [SHARED.weight]]


def reads_what_never_trains(x):
    return HELPER(x) * RATE + NUMBERS[len(TEXT)] + np.tanh(x)


SCALE = "Scale is not registered. Write @functor above class Scale"
HIDDEN = {
    "an unregistered class": (Scale, "layers[1].w", SCALE),
    "with slots": (Slotted, "layers[1].w", "above class Slotted"),
    "a list in one": (lambda: Scale([{"v": np.ones(2)}]), "layers[1].w[0]['v']", SCALE),
    "a method of one": (lambda: Scale().__call__, "layers[1].w", SCALE),
    "a list in a closure": (lambda: captured([Scale()]), "layers[1].scale[0].w", "<lambda> captured scale"),
    "a layer in a closure": (lambda: captured(dense()), "layers[1].scale.weight", "<lambda> captured scale"),
    "a method in a closure": (lambda: captured(dense().__call__), "layers[1].scale.weight", "<lambda> captured scale"),
    "a partial in a closure": (
        lambda: captured(functools.partial(np.add, np.ones(2))), "layers[1].scale.args[0]", "<lambda> captured scale"),
    "a partial": (lambda: functools.partial(np.add, Scale()), "layers[1].args[0].w", SCALE),
    "a default": (lambda: with_default(dense()), "layers[1].layer.weight", "<lambda> has the default layer"),
    "a keyword's default": (lambda: with_keyword_default(np.ones(2)), "layers[1].w", "scaled has the default w"),
    "a global": (lambda: tied_to_a_global, "layers[1].SHARED.weight", "tied_to_a_global reads the global SHARED"),
    "a global that an activation reads": (
        lambda: fl.Dense.of(np.ones((2, 2)), None, lambda x: x * SHARED.weight[0, 0]),
        "layers[1].activation.SHARED.weight", "<lambda> reads the global SHARED"),
    "a deque": (lambda: deque([dense()]), "layers[1][0].weight", "it is in a deque"),
    "a set": (lambda: {Scale()}, "layers[1].w", "it is in a set"),
    "a frozen set": (lambda: frozenset({Scale()}), "layers[1].w", "it is in a frozenset"),
    "a namespace": (lambda: types.SimpleNamespace(a=np.ones(2)), "layers[1].a", "or a class with @functor"),
    "a UserDict": (lambda: UserDict(a=np.ones(2)), "layers[1].data['a']", "it is in a UserDict"),
}  # fmt: skip


def model_with(hidden):
    model = fl.Chain(dense(), fl.Dense.of(np.ones((1, 2))))
    model.layers = (model.layers[0], hidden)
    return model


def loss(m, x=1.0):
    return np.sum(m.layers[0].weight) * x


@pytest.mark.parametrize("what", HIDDEN)
def test_setup_and_train_say_it_each_time_and_gradient_once(what, capsys):
    make, place, fix = HIDDEN[what]

    def said_once(words):
        said = capsys.readouterr().err
        assert said.count("Warning") == 1 and f"{place} {words}: " in said and fix in said

    model = model_with(make())
    for _ in range(2):
        state = fl.setup(fl.Descent(0.1), model)
        said_once("isn't trained")
    fl.train(loss, model, [1.0, 2.0], state, progress=False)
    said_once("isn't trained")
    fl.reset_notices()
    for _ in range(2):
        fl.gradient(loss, model_with(make()))
    said_once("gets no gradient")


def test_gpu_and_save_use_the_same_words(tmp_path, simulated, capsys):
    fl.gpu(model_with(Scale()))
    assert f"layers[1].w was not moved to Simulated:0: {SCALE}" in capsys.readouterr().err
    with pytest.raises(TypeError, match=rf"model.layers\[1\].w: {SCALE}"):
        fl.save(tmp_path / "m.safetensors", model_with(Scale()))
    fl.gpu([with_default(dense()), deque([np.ones(2)])])
    said = capsys.readouterr().err
    assert "[0].layer.weight was not moved to Simulated:0: <lambda> has the default layer" in said
    assert "[1][0] was not moved to Simulated:0: it is in a deque" in said
    fl.gpu([lambda x: x * SHARED.weight, lambda x: x + SHARED.weight])  # two functions of one name
    assert capsys.readouterr().err.count("was not moved to Simulated:0: <lambda> reads the global SHARED") == 2


def test_a_layer_tied_through_a_function_is_not_trained_there_and_that_is_said(capsys):
    def norm(model):
        (g,) = fl.gradient(lambda m: np.sum(m(np.array([0, 1]))), model)
        return np.linalg.norm(g[0].weight)

    table = SHARED
    whole = norm(fl.Chain(table, fl.Dense.of(table.weight)))
    assert capsys.readouterr().err == ""
    assert norm(fl.Chain(table, lambda h: h @ table.weight.T)) == pytest.approx(whole / 2)
    assert "layers[1].table.weight gets no gradient: <lambda> captured table" in capsys.readouterr().err
    assert norm(fl.Chain(SHARED, lambda h: h @ SHARED.weight.T)) == pytest.approx(whole / 2)
    assert "layers[1].SHARED.weight gets no gradient: <lambda> reads the global SHARED" in capsys.readouterr().err


@functor(trainable=("w",))
class Declared(Scale):
    def __init__(self, frozen):
        self.w, self.frozen = np.ones(2), frozen


@functor(children=("w",))
class Subset(Scale):
    def __init__(self, other):
        self.w, self.other = np.ones(2), other


@pytest.mark.parametrize("model", [
    lambda: fl.Chain(dense(), np.tanh, fl.relu, lambda x: x * 2, functools.partial(np.clip, a_min=0)),
    lambda: [dense(), np.random.default_rng(0), "name", range(3), 1.5, None, types, np.float32, slice(2), object()],
    lambda: [np.ones(2), Scale(np.arange(3)), deque([1, 2]), types.SimpleNamespace(rate=0.1)],  # nothing to train
    lambda: [Declared(Scale()), Subset(Scale())],
    lambda: [np.ones(2), with_keyword_default(3), captured("text"), captured((2, 3)), reads_what_never_trains],
])  # fmt: skip
def test_what_is_all_right_says_nothing(model, capsys):
    fl.setup(fl.Adam(), model())
    fl.gradient(lambda m: 0.0, model())
    assert capsys.readouterr().err == ""
