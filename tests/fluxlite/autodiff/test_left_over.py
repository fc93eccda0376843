"""A tracked array that outlived its gradient call says where it stands, whatever meets it."""

import numpy as np
import pytest

import fluxlite as fl
from fluxlite import functor
from fluxlite.devices import device_of


@functor
class Scale:
    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return x * self.w


def left_over():
    kept = []
    fl.gradient(lambda w: (kept.append(w * 2), np.sum(w))[1], np.ones((2, 2)))
    return kept[0]


def model(second=None):
    return fl.Chain(fl.Dense.of(np.ones((2, 2))), Scale(left_over() if second is None else second))


def dense_model():
    chain = fl.Chain(np.tanh, fl.Dense.of(np.ones((2, 2))))
    chain[1].weight = left_over()
    return chain


GOOD = model(np.ones((2, 2)))
STATE = fl.setup(fl.Descent(0.1), GOOD)
GRADS = fl.gradient(lambda m: np.sum(m(np.ones(2))), GOOD)[0]
ENCOUNTERS = {
    "setup": lambda: fl.setup(fl.Descent(0.1), model()),
    "update": lambda: fl.update(STATE, model(), GRADS),
    "updated": lambda: fl.updated(STATE, model(), GRADS),
    "gpu": lambda: fl.gpu(model()),
    "cpu": lambda: fl.cpu(model()),
    "device_of": lambda: device_of(model()),
    "save": lambda: fl.save("never-written.safetensors", model()),
    "state": lambda: fl.state(model()),
    "loadmodel": lambda: fl.loadmodel(model(), GOOD),
    "destructure": lambda: fl.destructure(model()),
    "trainables": lambda: list(fl.trainables(model())),
    "leaves": lambda: fl.leaves(model()),
    "fmap": lambda: fl.fmap(lambda a: a * 2 if hasattr(a, "shape") else a, model()),
    "fmap_with_path": lambda: fl.fmap_with_path(lambda path, a: np.sum(a) if hasattr(a, "shape") else a, model()),
    "gradient": lambda: fl.gradient(lambda m: np.sum(m(np.ones(2))), model()),
    "params": lambda: fl.gradient(lambda: 0.0, fl.params(model())),
    "train": lambda: fl.train(lambda m, x: np.sum(m(x)), model(), [np.ones(2)], STATE),
    "a call": lambda: model()(np.ones(2)),
    "a call in a gradient": lambda: fl.gradient(lambda x: np.sum(model()(x)), np.ones(2)),
    "a call of Dense": lambda: dense_model()(np.ones(2)),
    "a call of Dense in a gradient": lambda: fl.gradient(lambda x: np.sum(dense_model()(x)), np.ones(2)),
}


@pytest.mark.parametrize("how", ENCOUNTERS)
def test_its_place_is_named(how, simulated):
    with pytest.raises(
        RuntimeError, match=r"layers\[1\]\.w(eight)? was computed inside a gradient call that has ended"
    ):
        ENCOUNTERS[how]()


def test_another_array_is_not_blamed():
    kept = left_over()
    with pytest.raises(RuntimeError, match="^this array was computed"):
        fl.fmap(lambda a: a * kept if hasattr(a, "shape") else a, GOOD)
    with pytest.raises(RuntimeError, match="^this array was computed"):
        GOOD(kept)
