"""Arrays that no walk reaches are not trained: `setup` and `train` say so each time, `gradient` once per class."""

import functools
import types
from collections import UserDict, deque
from dataclasses import dataclass

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


class Slotted:
    __slots__ = ("w",)

    def __init__(self):
        self.w = np.ones(2)


FIX = "is not registered. Write @functor above class {}, and make the object again."
HIDDEN = {
    "an unregistered class": (Scale, "layers[1].w", FIX.format("Scale")),
    "with slots": (Slotted, "layers[1].w", FIX.format("Slotted")),
    "a list in one": (lambda: Scale([{"v": np.ones(2)}]), "layers[1].w[0]['v']", FIX.format("Scale")),
    "a method of one": (lambda: Scale().__call__, "layers[1].w", FIX.format("Scale")),
    "a closure's variable": (lambda: captured(Scale()), "layers[1].scale.w", FIX.format("Scale")),
    "a list in a closure": (lambda: captured([Scale()]), "layers[1].scale[0].w", FIX.format("Scale")),
    "a partial": (lambda: functools.partial(np.add, Scale()), "layers[1].args[0].w", FIX.format("Scale")),
    "a default": (
        lambda: with_default(dense()),
        "layers[1].layer.weight",
        "layer is a default of <lambda>, and no walk enters those",
    ),
    "a keyword's default": (
        lambda: with_keyword_default(np.ones(2)),
        "layers[1].w",
        "w is a default of scaled, and",
    ),
    "a global": (
        lambda: tied_to_a_global,
        "layers[1].SHARED.weight",
        "tied_to_a_global reads the global SHARED, and no walk enters those. Make it an argument, or a field of a",
    ),
    "a global that an activation reads": (
        lambda: fl.Dense.of(np.ones((2, 2)), None, lambda x: x * SHARED.weight[0, 0]),
        "layers[1].activation.SHARED.weight",
        "<lambda> reads the global SHARED",
    ),
    "a global that a function in a closure reads": (
        lambda: captured(tied_to_a_global),
        "layers[1].scale.SHARED.weight",
        "tied_to_a_global reads the global SHARED",
    ),
    "a deque": (lambda: deque([dense()]), "layers[1][0].weight", "it is in a deque, which no walk enters. Use a list"),
    "a set": (lambda: {Scale()}, "layers[1].w", "it is in a set, whose elements have no places. Use a list"),
    "a namespace": (lambda: types.SimpleNamespace(a=np.ones(2)), "layers[1].a", "Use a dict, or a class with @functor"),
    "a mapping": (lambda: types.MappingProxyType({"a": np.ones(2)}), "layers[1]['a']", "no walk enters. Use a dict"),
    "a UserDict": (lambda: UserDict(a=np.ones(2)), "layers[1]['a']", "it is in a UserDict, which no walk enters"),
}


def model_with(hidden):
    model = fl.Chain(dense(), fl.Dense.of(np.ones((1, 2))))
    model.layers = (model.layers[0], hidden)
    return model


def loss(m, x=1.0):
    return np.sum(m.layers[0].weight) * x


@pytest.mark.parametrize("what", HIDDEN)
def test_setup_and_train_say_it_each_time(what, capsys):
    make, place, fix = HIDDEN[what]
    model = model_with(make())
    for _ in range(2):
        state = fl.setup(fl.Descent(0.1), model)
        said = capsys.readouterr().err
        assert said.count("Warning") == 1 and f"{place} is not trained: " in said and fix in said
    fl.train(loss, model, [1.0, 2.0], state, progress=False)
    said = capsys.readouterr().err
    assert said.count("Warning") == 1 and f"{place} is not trained: " in said


@pytest.mark.parametrize("what", HIDDEN)
def test_gradient_says_it_once(what, capsys):
    make, place, fix = HIDDEN[what]
    for _ in range(2):
        fl.gradient(loss, model_with(make()))
    said = capsys.readouterr().err
    assert said.count("Warning") == 1 and f"{place} gets no gradient: " in said and fix in said


def test_gpu_and_save_use_the_same_words(tmp_path, simulated, capsys):
    model = model_with(Scale())
    fl.gpu(model)
    assert "layers[1].w was not moved to Simulated:0: Scale " + FIX.format("Scale") in capsys.readouterr().err
    with pytest.raises(TypeError, match=r"model.layers\[1\].w: Scale is not registered. Write @functor above"):
        fl.save(tmp_path / "m.safetensors", model)
    fl.gpu(model_with(with_default(dense())))
    assert "layers[1].layer.weight was not moved to Simulated:0: layer is a default of" in capsys.readouterr().err
    fl.gpu([deque([np.ones(2)])])
    assert "[0][0] was not moved to Simulated:0: it is in a deque" in capsys.readouterr().err


def test_a_layer_tied_through_a_closure_is_trained_and_through_a_global_that_is_said(capsys):
    def tied(table):
        return fl.Chain(table, lambda h: h @ table.weight.T)

    def norm(model):
        (g,) = fl.gradient(lambda m: np.sum(m(np.array([0, 1]))), model)
        return np.linalg.norm(g[0].weight)

    whole = norm(tied(SHARED))
    assert capsys.readouterr().err == ""
    assert norm(fl.Chain(SHARED, lambda h: h @ SHARED.weight.T)) == pytest.approx(whole / 2)
    assert "layers[1].SHARED.weight gets no gradient: <lambda> reads the global SHARED" in capsys.readouterr().err


def test_two_functions_of_one_name_are_both_told(simulated, capsys):
    fl.gpu([lambda x: x * SHARED.weight, lambda x: x + SHARED.weight])
    assert capsys.readouterr().err.count("was not moved to Simulated:0: <lambda> reads the global SHARED") == 2


def test_the_guides_program_is_not_trained_in_silence(capsys):
    """Flux's guide: a struct that was not made known, with layers in it."""

    @dataclass
    class ActorCritic:
        actor: object
        critic: object

    fl.setup(fl.Adam(), ActorCritic(dense(), dense()))
    said = capsys.readouterr().err
    assert "actor.weight is not trained: ActorCritic is not registered. Write @functor above class ActorCritic" in said
    assert "setup found nothing to train in this ActorCritic" in said
    functor(ActorCritic)
    fl.setup(fl.Adam(), ActorCritic(dense(), dense()))
    assert capsys.readouterr().err == ""


@functor(trainable=("w",))
class Declared:
    def __init__(self, frozen):
        self.w, self.frozen = np.ones(2), frozen


@functor(children=("w",))
class Subset:
    def __init__(self, other):
        self.w, self.other = np.ones(2), other


@pytest.mark.parametrize(
    "model",
    [
        lambda: fl.Chain(dense(), np.tanh, fl.relu, lambda x: x * 2, functools.partial(np.clip, a_min=0)),
        lambda: [dense(), np.random.default_rng(0), "name", range(3), 1.5, None, types, np.float32, slice(2), object()],
        lambda: [np.ones(2), Scale(np.arange(3)), deque([1, 2]), types.SimpleNamespace(rate=0.1)],  # nothing to train
        lambda: Declared(Scale()),
        lambda: Subset(Scale()),
        lambda: [np.ones(2), with_keyword_default(3), captured(5), captured("text"), captured((2, 3))],
        lambda: [np.ones(2), reads_what_never_trains],
        lambda: captured(dense()),
    ],
)
def test_what_is_all_right_says_nothing(model, capsys):
    fl.setup(fl.Adam(), model())
    fl.gradient(lambda m: 0.0, model())
    assert capsys.readouterr().err == ""


def test_only_what_is_new_is_looked_into(monkeypatch):
    from inside import marking

    looks = []
    monkeypatch.setattr(marking, "say_what_has_no_gradient", looks.append)
    model = [dense(), fl.Dense.of(np.ones((2, 2)), None, lambda x: x), np.random.default_rng(0)]
    for _ in range(5):
        fl.gradient(lambda m: np.sum(m[0].weight), model)
    assert len(looks) == 1
    fl.reset_notices()
    fl.gradient(lambda m: np.sum(m[0].weight), model)
    assert len(looks) == 2


def test_functions_that_hold_each_other_end(capsys):
    def one(x):
        return other(x)

    def other(x):
        return one(x), scale

    scale = Scale()
    fl.setup(fl.Adam(), [np.ones(2), one])
    assert "[1].other.scale.w is not trained" in capsys.readouterr().err
