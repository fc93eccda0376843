"""Errors that name the place in a model."""

import pickle

import numpy as np
import pytest
from inside import Attribute, DeviceError, InputError, LayerError, ShapeError, misplaced

import fluxlite as fl
from fluxlite import KeyPath

PATH = KeyPath((Attribute("layers"), 0))


def test_the_place_stands_in_front_and_grows_from_further_out():
    assert [str(ShapeError(path, "takes …")) for path in (KeyPath(), PATH)] == ["takes …", "layers[0]: takes …"]
    error = DeviceError(KeyPath((Attribute("weight"),)), "is on CPU")
    outer = error.within(Attribute("layers"), 1).within(Attribute("layers"), "encoder")
    assert type(outer) is DeviceError and str(outer) == "layers['encoder'].layers[1].weight is on CPU"
    assert str(error) == "weight is on CPU"


def test_they_are_errors_of_the_kinds_that_python_knows_also_in_another_process():
    for kind, pythons in ((ShapeError, ValueError), (DeviceError, TypeError), (InputError, TypeError)):
        assert issubclass(kind, pythons) and issubclass(kind, LayerError)
    error = pickle.loads(pickle.dumps(ShapeError(PATH, "too wide")))
    assert type(error) is ShapeError and str(error) == "layers[0]: too wide"


def test_the_cause_is_kept_without_the_chains_in_between():
    with pytest.raises(ShapeError) as error:
        fl.Chain(fl.Chain(fl.Dense(3, 2)))(np.ones(4))
    assert "matmul" in str(error.value.__cause__) and error.value.__cause__.__cause__ is None


def test_misplaced_finds_the_first_array_that_is_elsewhere():
    with fl.simulate_gpu(2):
        one, two = fl.gpu(np.ones(2, np.float32)), np.ones(2, np.float32)
        assert misplaced({"a": one, "b": (one,)}, one) is None
        assert str(misplaced({"a": one, "b": (two,)}, one)).startswith("['b'][0] is on CPU, the input is on Simul")
        assert str(misplaced([one], two)).startswith("[0] is on Simulated:0, the input is on CPU")
        seen = []
        fl.gradient(lambda x: (seen.append(misplaced([one], x)), x.sum())[1], two)
        assert "the input is on CPU" in str(seen[0])
    assert misplaced([two], 3.0) is None and misplaced([two], None) is None and misplaced([], two) is None


@fl.functor
class Scale:
    def __init__(self):
        self.factor = np.ones(3, np.float32)

    def __call__(self, x):
        try:
            return x * self.factor
        except TypeError as error:
            raise misplaced(self, x) or error from error


def test_a_users_own_layer_is_named_too(simulated):
    with pytest.raises(TypeError, match=r"^layers\[1\]\.factor is on CPU, the input is on"):
        fl.Chain(np.tanh, Scale())(fl.gpu(np.ones(3, np.float32)))
