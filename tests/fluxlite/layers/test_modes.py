"""Modes: a layer is active while a gradient call is open in its thread, and wherever it's told to be."""

import functools
import threading
from dataclasses import dataclass

import numpy as np
import pytest

import fluxlite as fl


@fl.functor
class Noting:
    """A layer of a user's own: it notes each time whether it's active."""

    active = None

    def __init__(self, w=1.0):
        self.w = np.array([w])
        self.seen = ()

    def __call__(self, x):
        self.seen = (*self.seen, self.active)
        return x * self.w


class Doubling:
    """In training, it doubles."""

    def __call__(self, x):
        return x * self.w * (2 if self.active else 1)


@fl.functor
class InClass(Doubling):
    active = None

    def __init__(self, w):
        self.w = w


@fl.functor
@dataclass
class AsField(Doubling):
    w: object
    active: bool | None = None


class OfSubclass(InClass):
    """Not registered itself."""


@fl.functor
class InInit(Doubling):
    """As it's written in Flux, where the mode is a field like the others."""

    def __init__(self, w):
        self.w, self.active = w, None


X = np.array([3.0])


def seen(layer):
    """What it noted, and forget it."""
    found, layer.seen = layer.seen, ()
    return found


@pytest.mark.parametrize("make", [InClass, AsField, OfSubclass, InInit])
def test_where_the_mode_may_stand(make):
    layer = make(np.array([1.0]))
    assert fl.gradient(lambda m: m(X).sum(), layer)[0].w == [6.0] and layer.active is None and layer(X) == [3.0]
    with fl.trainmode(layer):
        assert layer(X) == [6.0]
    fl.testmode(layer)
    assert fl.gradient(lambda m: m(X).sum(), layer)[0].w == [3.0] and layer.active is False
    layer.active = None
    assert fl.gradient(lambda m: m(X).sum(), layer)[0].w == [6.0] and fl.state(layer).keys() == {"w"}
    (_, copies), _ = fl.withgradient(lambda m: (m(X).sum(), (m, fl.fmap(np.copy, layer))), layer)
    assert [one.active for one in copies] == [None, None], "what is made inside isn't stuck in training"


@pytest.mark.parametrize(
    "call",
    [
        lambda layer: fl.gradient(lambda m: m(X).sum(), layer),
        lambda layer: fl.withgradient(lambda m: m["any"][0](X).sum(), {"any": [layer]}),
        lambda layer: fl.gradient(lambda m: m(X).sum(), fl.Chain(layer, fl.Chain(layer))),
        lambda layer: fl.withgradient(lambda x: layer(x).sum(), X),
        lambda layer: fl.jacobian(lambda x: layer(x), X),
        lambda layer: fl.hessian(lambda x: (layer(x) ** 2).sum(), X),
        lambda layer: fl.gradient(lambda: layer(X).sum(), fl.params(layer)),
        lambda layer: fl.gradient(lambda other: layer(other(X)).sum(), Noting()),
    ],
    ids=["argument", "within one", "shared", "withgradient", "jacobian", "hessian", "params", "beside another model"],
)
def test_a_layer_is_active_inside_a_gradient_wherever_it_is(call):
    layer = Noting()
    call(layer)
    assert set(seen(layer)) == {True} and "active" not in vars(layer)
    layer(X)
    assert seen(layer) == (None,)
    with fl.testmode(layer):
        call(layer)
    fl.testmode(layer)
    call(layer)
    assert set(layer.seen) == {False}, "a saliency map, for instance, asks the model as it will be used"


def test_decided_for_good():
    layer = Noting()
    model = fl.Chain(layer)
    fl.testmode(model)
    fl.gradient(lambda m: m(X).sum(), model)
    fl.trainmode(model)
    model(X)
    assert seen(layer) == (False, True)
    for back in (lambda: fl.trainmode(model, None), lambda: fl.testmode(model, "auto")):
        fl.trainmode(model)
        back()
        assert layer.active is None
    fl.trainmode(model, False)
    assert layer.active is False
    fl.testmode(model, False)
    assert layer.active is True


def test_for_a_block_outside():
    layer = Noting()
    with fl.trainmode(layer) as same:
        assert same is layer
        layer(X)
        with fl.testmode(layer):
            layer(X)
        layer(X)
    layer(X)
    assert seen(layer) == (True, False, True, None) and "active" not in vars(layer)
    with pytest.raises(KeyError), fl.trainmode(layer):
        raise KeyError
    layer(X)
    assert seen(layer) == (None,)
    fl.testmode(layer)
    with fl.trainmode(layer):
        pass
    assert layer.active is False


def test_gradients_inside_gradients():
    layer = Noting()

    def outer(m):
        inner = fl.gradient(lambda n: (n(X) ** 2).sum(), m)[0]
        with fl.testmode(m):
            fl.gradient(lambda n: n(X).sum(), m)
        fl.gradient(lambda x: m(x).sum(), X)
        return (inner.w**2).sum()

    assert np.allclose(fl.gradient(outer, layer)[0].w, 2 * (18.0) ** 2)
    assert seen(layer) == (True, False, True) and "active" not in vars(layer)


@pytest.mark.parametrize("call", [fl.gradient, fl.withgradient, fl.jacobian, fl.hessian])
def test_an_exception_leaves_no_mode_behind(call):
    layer = Noting()
    for fails in (
        lambda: call(lambda x: {}["nothing"], X),
        lambda: call(lambda x: layer, "no array"),  # on the way in, and after the function
        lambda: fl.gradient(lambda m: {}["nothing"], layer),
        lambda: fl.gradient(lambda: {}[layer(X) is None], fl.params(layer)),
    ):
        with pytest.raises((KeyError, TypeError)):
            fails()
        assert layer.active is None and "active" not in vars(layer)


def test_other_threads_see_nothing_of_a_gradient():
    layer, inside, outside = Noting(), threading.Event(), []

    def look():
        inside.wait(10)
        outside.append(layer.active)

    thread = threading.Thread(target=look)
    thread.start()

    def loss(m):
        inside.set()
        thread.join(10)
        return m(X).sum()

    fl.gradient(loss, layer)
    assert outside == [None] and seen(layer) == (True,)


def test_every_kind_of_model_takes_a_mode():
    layer = Noting()
    for model in ([layer], {"a": (layer,)}, functools.partial(layer), layer.__call__, fl.Chain(np.tanh, layer)):
        with fl.trainmode(model):
            assert layer.active
        assert not layer.active
    for nothing in (np.tanh, lambda x: x, []):
        fl.testmode(nothing)

    class Unregistered:
        pass

    for wrong in (3, np.ones(2), Unregistered(), None, Noting):
        with pytest.raises(TypeError, match="trainmode and testmode take a model, got"):
            fl.testmode(wrong)
    for wrong in (1, "on"):
        with pytest.raises(TypeError, match="mode is True, False, or None"):
            fl.trainmode(layer, wrong)


def test_what_testmode_returns_computes_but_is_not_the_model():
    layer = Noting()
    assert fl.testmode(layer)(X) == [3.0] and seen(layer) == (False,)
    assert repr(fl.trainmode(fl.Dropout(0.5))) == "trainmode of Dropout(0.5)"
    assert repr(fl.testmode(fl.Dropout(0.5), None)) == "automatic mode of Dropout(0.5)"
    for use in (fl.leaves, fl.trainables, lambda m: fl.gradient(lambda m: m(X).sum(), m)):
        with pytest.raises(TypeError, match="what trainmode or testmode returned"):
            use(fl.testmode(layer))


def test_a_mode_is_neither_moved_nor_saved_nor_trained():
    layer = fl.trainmode(fl.BatchNorm(2)).model
    assert list(fl.state(layer)) == ["activation", "scale", "bias", "mean", "var"]
    with fl.simulate_gpu():
        assert fl.gpu(layer).active is fl.cpu(layer).active is fl.fmap(np.copy, layer).active is True
