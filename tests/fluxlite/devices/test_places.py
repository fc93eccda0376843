"""device_of: the device of an array, or of everything in a model."""

from dataclasses import dataclass

import numpy as np
import pytest
from inside import DeviceError

import fluxlite as fl
from fluxlite.devices import CPU


@dataclass
class Closed:
    weight: object


@fl.functor
@dataclass
class Holder:
    model: object


def test_arrays_and_tracked_arrays():
    with fl.simulate_gpu() as device:
        x = fl.gpu(np.ones(2, np.float32))
        assert fl.device_of(x) is device and fl.device_of(np.ones(2)) is CPU
        seen = []
        fl.gradient(lambda w: seen.append(fl.device_of(w)) or seen.append(fl.device_of([w, w * 2])) or w.sum(), x)
        assert seen == [device, device]
        assert fl.device_of(fl.param(x)) is device


def test_models_and_containers():
    model = fl.Chain(fl.Dense(3, 2), fl.Dense(2, 1))
    with fl.simulate_gpu(2):
        second = fl.get_device("Simulated", 1)
        assert fl.device_of(model) is CPU and fl.device_of(second(model)) is second
        assert fl.device_of({"a": [second(model), (second(np.ones(1)), 3)], "b": "text"}) is second


@pytest.mark.parametrize("x", [3, "text", None, [], {"a": (1, 2.0)}, np.float32(1), np.tanh, range(3), fl.relu])
def test_what_has_no_arrays_is_at_home_everywhere(x):
    assert fl.device_of(x) is None


def test_two_places_that_disagree_are_named():
    model = fl.Chain(fl.Dense(3, 2), fl.Dense(2, 1))
    with fl.simulate_gpu():
        mixed = fl.Chain(model.layers[0], fl.gpu(model.layers[1]))
        with pytest.raises(DeviceError, match=r"layers\[0\]\.weight is on CPU, layers\[1\]\.weight is on Simulated:0"):
            fl.device_of(mixed)


def test_arrays_that_no_walk_reaches_are_no_silent_None():
    with pytest.raises(
        TypeError, match=r"array in model\.weight: Closed is not registered.*@functor above class Closed"
    ):
        fl.device_of(Holder(Closed(np.ones(1))))
    assert fl.device_of(Closed(3)) is None
