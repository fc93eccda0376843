"""State: what `f` assigns to a model inside `gradient` is there afterwards, in the model itself, as plain values."""

import copy
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from inside import device_of

import fluxlite as fl
from fluxlite import functor
from fluxlite.devices import CPU

X = np.random.default_rng(0).normal(3.0, 2.0, (64, 4)).astype(np.float32)
EVERYWHERE = ("CPU", "Simulated", "Metal")


@functor(trainable=("scale", "shift"))
class BatchNorm:
    """Written the obvious way: it assigns what it has seen to itself."""

    def __init__(self, size, mean=None, var=None):
        self.scale, self.shift = np.ones(size, np.float32), np.zeros(size, np.float32)
        self.mean = np.zeros(size, np.float32) if mean is None else mean
        self.var = np.ones(size, np.float32) if var is None else var
        self.count = 0
        self.test = False

    def __call__(self, x):
        mean, var = (self.mean, self.var) if self.test else (np.mean(x, 0), np.var(x, 0))
        if not self.test:
            self.mean = 0.9 * self.mean + 0.1 * mean
            self.var = 0.9 * self.var + 0.1 * var
            self.count += 1
        return self.scale * (x - mean) / np.sqrt(var + 1e-5) + self.shift


@functor
class Undeclared:
    """Says nothing of what trains: each floating-point array does."""

    def __init__(self, w):
        self.w = w
        self.seen = None

    def __call__(self, x):
        y = self.w * x
        self.seen = np.mean(y, 0) if self.seen is None else 0.5 * self.seen + 0.5 * np.mean(y, 0)
        return y


@functor(trainable=("w",))
class Memory:
    """A weight, and anything else that it gets to hold."""

    def __init__(self, w, **held):
        self.w = w
        self.__dict__.update(held)

    def __call__(self, x):
        return self.w * x


def squares(m, x):
    return np.sum(m(x) ** 2)


def same_kind(x, y):
    return type(x) is type(y) and x.dtype == y.dtype and device_of(x) == device_of(y)


# -- a BatchNorm, everywhere ----------------------------------------------------------------------------------------


@pytest.mark.on(*EVERYWHERE)
def test_a_batchnorm_written_the_obvious_way_keeps_what_it_has_seen(device):
    model = device(fl.Chain(fl.Dense(4, 3, rng=np.random.default_rng(1)), BatchNorm(3)))
    x, layer = device(X), model[1]
    before, scale = layer.mean, layer.scale
    value, (grads,) = fl.withgradient(squares, model, x)[0], fl.gradient(lambda m: squares(m, x), model)
    assert layer.count == 2 and layer.scale is scale
    assert same_kind(layer.mean, before) and layer.mean is not before
    seen = CPU(model[0](x))
    expected = (1 - 0.9**2) * np.mean(seen, 0)
    np.testing.assert_allclose(CPU(layer.mean), expected, rtol=1e-4)
    np.testing.assert_allclose(CPU(layer.var), 0.81 + 0.19 * np.var(seen, 0), rtol=1e-4)
    assert grads[1].mean is grads[1].var is None and same_kind(grads[1].scale, scale)
    layer.test = True
    assert device_of(layer(model[0](x))) == device and np.isfinite(float(CPU(value)))


def test_the_gradient_through_an_assigned_attribute_is_kept():
    """0.9·mean + 0.1·np.mean(x) is state, and also a value of this call: inside the call, it's differentiated."""
    model = Memory(np.ones(2), mean=np.zeros(2))

    def f(m):
        m.mean = 0.5 * m.mean + m.w
        m.mean = m.mean * m.mean
        return np.sum(m.mean)

    assert fl.gradient(f, model)[0].w.tolist() == [2, 2]
    assert type(model.mean) is np.ndarray and model.mean.tolist() == [1, 1]
    assert fl.gradient(f, model)[0].w.tolist() == [3, 3]  # 2 · (0.5 + 1)


# -- what is assigned, and what that is afterwards ------------------------------------------------------------------


def test_None_is_filled_and_then_it_trains_unless_it_is_declared():
    """A filled place is an array like any other: after that, only a declaration lets you replace it."""
    model = Undeclared(np.ones(4, np.float32))
    fl.gradient(squares, model, X)
    assert type(model.seen) is np.ndarray and model.seen.shape == (4,)
    np.testing.assert_allclose(model.seen, np.mean(X, 0), rtol=1e-4)
    seen = model.seen
    with pytest.raises(TypeError, match=r"^seen is a parameter, and was replaced .* @functor\(trainable=\(…,\)\)"):
        fl.gradient(squares, model, X)
    assert model.seen is seen


def test_what_is_written_is_the_models_own():
    """A copy, where it's a view of something else, so nothing else changes it later."""
    model = Memory(np.ones(3), last=None, all=None, given=None)
    x = np.arange(3.0)

    def f(m, x):
        m.last, m.all, m.given = (m.w * x)[:2], [m.w * 2, {"a": m.w + 1}], m.w
        return np.sum(m.w * x)

    fl.gradient(f, model, x)
    for array in (model.last, model.all[0], model.all[1]["a"]):
        assert type(array) is np.ndarray and array.flags.writeable
        array += 1
    model.last[:] = 100
    assert x.tolist() == [0, 1, 2] and model.w.tolist() == [1, 1, 1]
    assert model.given is model.w  # assigned as it is: a tie


def test_what_was_made_in_f_is_written_without_tracking():
    model = Memory(np.ones(2))

    def f(m):
        m.a = m.b = m.w * 3
        m.child = Memory(m.a, deep=[(m.w * 2,)])
        m.layer = fl.Dense.of(np.ones((1, 2)))
        return np.sum(m.child.w)

    fl.gradient(f, model)
    assert model.child.w.tolist() == [3, 3] and model.child.deep[0][0].tolist() == [2, 2]
    assert model.layer(np.ones(2)).tolist() == [2]
    assert model.a is model.b, "what was shared still is"


# -- kinds of classes ------------------------------------------------------------------------------------------------


@functor(trainable=("w",))
class OnlySlots:
    __slots__ = ("w", "mean")

    def __init__(self):
        self.w, self.mean = np.ones(2), None


@functor(children=("w", "mean"), trainable=("w",))
class Property:
    def __init__(self):
        self.w, self._mean = np.ones(2), None

    @property
    def mean(self):
        return self._mean

    @mean.setter
    def mean(self, value):
        self._mean = value


@functor(trainable=("w",))
class OwnSetattr:
    def __init__(self):
        object.__setattr__(self, "w", np.ones(2))
        object.__setattr__(self, "mean", None)

    def __setattr__(self, name, value):
        if name == "w":
            raise AttributeError("w is for good")
        object.__setattr__(self, name, value)


@functor(trainable=("w",))
@dataclass(frozen=True)
class Frozen:
    w: Any = None
    mean: Any = None


class OwnRule:
    def __init__(self, w, mean=None):
        self.w, self.mean = w, mean


functor.register(OwnRule)(lambda x: ([x.w, x.mean], lambda parts: OwnRule(*parts)))


@pytest.mark.parametrize("kind", [OnlySlots, Property, OwnSetattr, Frozen, OwnRule])
def test_every_kind_of_class_keeps_what_is_assigned(kind):
    model = kind(np.ones(2)) if kind in (Frozen, OwnRule) else kind()

    def f(m):
        if kind is Frozen:
            object.__setattr__(m, "mean", m.w * 2)
        else:
            m.mean = m.w * 2
        return np.sum(m.mean)

    for _ in range(1 if kind is OwnRule else 3):  # of OwnRule all trains
        grads = fl.gradient(f, model)[0]
        w = grads[0] if kind is OwnRule else grads.w
        assert w.tolist() == [2, 2] and type(model.mean) is np.ndarray and model.mean.tolist() == [2, 2]
    assert model.w.tolist() == [1, 1] and type(model.w) is np.ndarray


def test_a_computed_property_keeps_its_gradient():
    @functor
    class Computed:
        def __init__(self):
            self.raw = np.ones(2)

        @property
        def w(self):
            return np.exp(self.raw)

    model = Computed()
    np.testing.assert_allclose(fl.gradient(lambda m: np.sum(m.w), model)[0].raw, np.exp([1.0, 1.0]))
    assert vars(model).keys() == {"raw"}


# -- parameters -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: setattr(m, "w", m.w * 2), r"\['layers'\]\[1\]\.w is a parameter, and was replaced inside"),
        (lambda m: delattr(m, "w"), r"\.w is a parameter, and was deleted inside a gradient call"),
        # The gradient would be that of a layer that's no longer there.
        (lambda m: setattr(m, "inner", fl.Dense(2, 1)), r"\.inner holds parameters, and was replaced inside"),
    ],
)
def test_replacing_a_parameter_raises_before_anything_is_written(change, words):
    first, second = Memory(np.ones(2), count=0), Undeclared(np.ones(2))
    w, second.inner = second.w, fl.Dense(2, 1)
    inner = second.inner

    def f(m):
        loss = np.sum(m["layers"][0].w * m["layers"][1].w) + np.sum(m["layers"][1].inner(np.ones(2)))
        m["layers"][0].count += 1
        change(m["layers"][1])
        return loss

    with pytest.raises(TypeError, match=words):
        fl.gradient(f, {"layers": [first, second]})
    assert first.count == 0 and second.w is w and second.inner is inner


def test_a_tied_layer_is_written_once_and_stays_tied():
    layer = Memory(np.ones(2), count=0, mean=np.zeros(2))
    model = fl.Chain(layer, layer, Memory(np.ones(2), count=0, mean=0.0))

    def f(m):
        for part in m:
            part.count += 1
            part.mean = part.mean + part.w
        return np.sum(m[1].mean)

    assert fl.gradient(f, model)[0][0].w.tolist() == [2, 2] and model[2].count == 1
    assert model[0] is model[1] is layer and layer.count == 2 and layer.mean.tolist() == [2, 2]


# -- nested, threaded, interrupted -----------------------------------------------------------------------------------


def test_in_a_nested_gradient_the_inner_call_writes_to_what_it_was_given():
    model = Memory(np.ones(2), count=0, mean=np.zeros(2))

    def inner(m):
        m.count += 1
        m.mean = m.mean + m.w
        return np.sum(m.mean * m.w)

    def outer(m):
        g = fl.gradient(inner, m)[0].w
        assert m.count == 1 and model.count == 0
        return np.sum(g * g)

    grads = fl.gradient(outer, model)[0]
    assert model.count == 1 and type(model.mean) is np.ndarray and model.mean.tolist() == [1, 1]
    # inner's loss is Σ (mean + w) w: its gradient w + (mean + w) = 2w + mean, the square's 2 (2w + mean) 2
    assert grads.w.tolist() == [8, 8]


def test_after_an_exception_nothing_is_written():
    model = Memory(np.ones(2), count=0, mean=np.zeros(2))
    mean = model.mean

    def f(m):
        m.count += 1
        m.mean = m.mean + m.w
        return np.sum(m.w) if m.count > 5 else 1 / 0

    with pytest.raises(ZeroDivisionError):
        fl.gradient(f, model)
    assert model.count == 0 and model.mean is mean
    with pytest.raises(TypeError, match="the loss must be one number"):
        fl.gradient(lambda m: (setattr(m, "count", 9), m.w)[1], model)
    assert model.count == 0 and mean.flags.writeable and model.w.flags.writeable


# -- containers, closures -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("held", "change", "place"),
    [
        ([], lambda m: m.seen.append(1), "a list"),
        ([1, 2], lambda m: m.seen.__setitem__(0, 5), "a list"),
        ({}, lambda m: m.seen.update(a=1), "a dict"),
        ({"a": 1}, lambda m: m.seen.pop("a"), "a dict"),
        (OrderedDict(a=1), lambda m: m.seen.update(a=2), "an OrderedDict"),
    ],
)
def test_a_container_is_a_copy_and_its_change_is_said_once(held, change, place, capsys):
    model = fl.Chain(Memory(np.ones(2), seen=held, count=0))
    before = copy.copy(held)

    def f(m):
        change(m[0])
        m[0].count += 1
        return np.sum(m[0].w)

    for _ in range(2):
        fl.gradient(f, model)
    assert model[0].seen is held and held == before and model[0].count == 2
    said = capsys.readouterr().err
    assert said.count("Warning") == 1 and f"layers[0].seen, {place}, was changed inside a gradient call" in said
    assert "self.seen = [*self.seen, x]" in said or "self.seen = {**self.seen" in said


def test_writing_into_a_buffer_acts_at_once_unless_a_gradient_needs_it():
    model = Memory(np.ones(2), seen=np.zeros(2, int), mean=np.zeros(2))

    def f(m):
        m.seen[0] += 1
        m.mean[:] = 5.0  # not computed with yet
        return np.sum(m.w)

    fl.gradient(f, model)
    assert model.seen.tolist() == [1, 0] and model.mean.tolist() == [5, 5]
    with pytest.raises(ZeroDivisionError):
        fl.gradient(lambda m: (f(m), 1 / 0)[0], model)
    assert model.seen.tolist() == [2, 0]  # also when the call fails


# -- the implicit style ---------------------------------------------------------------------------------------------


def test_with_params_tracked_values_are_detached_and_parameters_put_back():
    model = fl.Chain(Memory(np.ones(2), mean=np.zeros(2), last=None, log=[]))
    layer, w = model[0], model[0].w

    def f():
        layer.last = layer.w * 2
        layer.mean = layer.mean + layer.last
        layer.log.append(layer.last)
        layer.new = {"a": [layer.last]}
        return np.sum(layer.last)

    for i in range(2):
        fl.gradient(f, fl.params(model))
        assert layer.w is w and type(w) is np.ndarray
        assert layer.last.tolist() == [2, 2] and type(layer.last) is np.ndarray and layer.last.flags.writeable
        assert layer.mean.tolist() == [2 * i + 2] * 2
        assert [type(x) for x in layer.log] == [np.ndarray] * (i + 1) and type(layer.new["a"][0]) is np.ndarray
