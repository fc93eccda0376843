"""A device's memory is limited, views share it, and it gets freed. And each device has its own."""

import gc

import numpy as np
import pytest
from kinds import EVERYWHERE

from fluxlite import simulate_gpu
from fluxlite.devices import CPU, Device, cpu, devices, gpu
from fluxlite.simulated import OutOfMemoryError


def used():
    return devices()[0].memory().used


def test_sizes_are_rounded_up_views_share_and_memory_comes_back(simulated):
    x = gpu(np.zeros(100, np.float32))
    assert used() == 512
    views = [x[1:], x.T, x.reshape(10, 10), np.split(x, 2), np.broadcast_to(x, (5, 100)), np.expand_dims(x, 0)]
    assert used() == 512
    del x
    assert used() == 512
    y = views[0][:10] + 1  # 40 bytes
    assert used() == 1024
    del views
    gc.collect()
    assert used() == 512
    del y
    assert used() == 0


def test_what_does_not_fit_raises_before_it_is_copied_and_leaves_the_rest():
    simulate_gpu(memory=2048)
    x = gpu(np.zeros(256, np.float32))
    huge = np.broadcast_to(np.float32(0), (10**6, 10**6))  # a terabyte, in 4 bytes
    for ask in (lambda: gpu(huge), lambda: (x + 1) + (x + 1)):
        with pytest.raises(OutOfMemoryError):
            ask()
    assert used() == 1024
    y = x + 1
    assert cpu(y).sum() == 256 and used() == 2048


def test_waste_in_cycles_is_found_before_giving_up():
    simulate_gpu(memory=1024)

    def waste():
        cycle = [gpu(np.zeros(256, np.float32))]
        cycle.append(cycle)

    gc.disable()
    try:
        waste()
        assert used() == 1024
        gpu(np.zeros(256, np.float32))
    finally:
        gc.enable()


def test_two_devices_do_not_mix():
    simulate_gpu(2)
    first, second = devices()
    x, y = first(np.ones(2, np.float32)), second(np.ones(2, np.float32))
    for mix in (
        lambda: x + y, lambda: np.add(x, y), lambda: np.concatenate([x, y]), lambda: np.stack([y, x]),
        lambda: x.__iadd__(y), lambda: x.__setitem__(slice(None), y[::-1]), lambda: np.add(x, x, out=y),
        lambda: x[second(np.array([0]))], lambda: np.take_along_axis(x, second(np.array([0])), 0), lambda: x == y,
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"Simulated:0.*Simulated:1|Simulated:1.*Simulated:0"):
            mix()
    assert cpu(x + first(y)).tolist() == [2, 2]


def test_devices_are_equal_by_kind_and_number():
    simulate_gpu(2)
    first, second = devices()
    simulate_gpu(2, memory=2**20)
    assert devices()[0] == first and devices()[0] is not first and hash(devices()[0]) == hash(first)
    assert first != second and first != CPU and CPU == CPU and first != "Simulated:0"
    assert [repr(d) for d in (first, second, CPU)] == ["Simulated:0", "Simulated:1", "CPU"]
    assert (second.backend, second.index, second.name) == ("Simulated", 1, "simulated NVIDIA T4")


def test_what_is_on_one_simulated_card_is_not_on_another():
    with simulate_gpu(like="NVIDIA T4"):
        x = gpu(np.ones((2, 2), np.float32))
        with simulate_gpu(like="H200"):
            y = gpu(x)
            assert y is not x and y.device.name == "simulated H200"


@pytest.mark.on(*EVERYWHERE)
def test_every_device_has_a_generator_and_answers(device):
    first = cpu(device.rng.random(5, dtype=np.float32))
    assert ((first >= 0) & (first < 1)).all()
    for name, args in [("uniform", (2, 3, 10)), ("integers", (2, 5, 10)), ("standard_normal", ((2, 3),))]:
        values = getattr(device.rng, name)(*args)
        assert type(values) is type(device(np.ones(2)))
    assert set(cpu(device.rng.integers(0, 2, 100)).tolist()) == {0, 1}
    device.synchronize()
    memory = device.memory()
    assert isinstance(device, Device)
    assert None in (memory.capacity, memory.free) or 0 <= memory.free <= memory.capacity
