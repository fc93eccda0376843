"""`fl.cuda` and several GPUs: listing, naming and hiding them, waiting, and moving between them, on simulated ones."""

import threading

import numpy as np
import pytest
from inside import SETTINGS

import fluxlite as fl
import simgpu
from fluxlite.devices import devices


@pytest.fixture
def three():
    with fl.simulate_gpu(3, like="RTX 2080 Ti"):
        fl.reset_notices()
        yield fl.cuda.devices()


def test_devices_are_listed_and_describe_themselves(three):
    assert repr(three) == "3 devices:\n0. simulated RTX 2080 Ti\n1. simulated RTX 2080 Ti\n2. simulated RTX 2080 Ti"
    assert list(three) == devices() and three[2].index == 2
    for device in (*three, fl.get_device("CPU")):
        assert device.name and device.memory()._fields == ("used", "free", "peak", "capacity")
        device.synchronize()
        device.seed(1)
        assert device.rng is not None and device in [device] and len({device, device}) == 1
    assert repr(three[1].deviceID) == "SimulatedDevice(1): simulated RTX 2080 Ti"


def test_a_layer_moves_from_one_device_to_another(three):
    """`CUDA.device(weight)` says where it is. Arrays already there aren't copied; printing works anywhere."""
    device0, device1 = (fl.get_device(fl.gpu_name(), i) for i in (0, 1))
    layer = device0(fl.Dense(2, 3))
    assert fl.cuda.device() is device0 is fl.cuda.device(layer.weight) is fl.cuda.device(layer)
    there = device1(layer)
    assert fl.cuda.device(there.weight) is device1 and fl.cuda.device(layer.weight) is device0
    assert device1(there).weight is there.weight
    np.testing.assert_array_equal(fl.cpu(there.weight), fl.cpu(layer.weight))
    assert repr(there).startswith("Dense(2 => 3)") and repr(there.weight).endswith("# Simulated:1")
    with pytest.raises(ValueError, match="Simulated:0.*Simulated:1"):
        layer.weight + there.weight


def test_setting_the_current_device(three):
    """`device!(1)` is `set_device(1)`; `device!(1) do` is `with using(1):`. Each thread has its own."""
    assert fl.cuda.set_device(1) is three[1] is fl.cuda.device() is fl.gpu_device()
    assert fl.device_of(fl.gpu(np.ones(2, np.float32))) is three[1]
    with fl.cuda.using(2) as device:
        assert device is three[2] is fl.cuda.device()
        fl.cuda.set_device(0)
        assert fl.cuda.device() is three[0]
    assert fl.cuda.device() is three[1]
    with fl.simulate_gpu(2, like="A100"):
        assert fl.cuda.device() is devices()[0]  # a new simulation starts at its first device
    seen = []
    thread = threading.Thread(target=lambda: seen.append(fl.cuda.device()))
    thread.start()
    thread.join()
    assert seen == [three[0]] and fl.cuda.device() is three[1]
    for index in (-1, 3):
        with pytest.raises(IndexError, match=f"no Simulated device {index}: there are 3, numbers 0 to 2"):
            fl.cuda.set_device(index)
    with pytest.raises(ValueError, match="number of GPUs is at least 0, got -1"):
        fl.simulate_gpu(-1)
    with pytest.raises(ValueError, match="number of GPUs is at most 1,024, got 1099"):
        fl.simulate_gpu(2**40)
    with pytest.raises(ValueError, match="number of GPUs is at least 1 and at most 1,024, got 1099"):
        simgpu.device.devices(2**40)


@pytest.mark.parametrize("order", ["01", "10"])
def test_blocks_of_several_threads_end_in_any_order_and_leave_no_gpu_behind(order):
    fl.simulate_gpu(4)
    blocks = [fl.simulate_gpu(2), fl.simulate_gpu(3)]
    for block in blocks:
        threading.Thread(target=block.__enter__).start()
    assert len(fl.cuda.devices()) == 3
    first, last = (blocks[int(number)] for number in order)
    first.__exit__(None, None, None)
    assert len(fl.cuda.devices()) == (3 if first is blocks[0] else 2)
    last.__exit__(None, None, None)
    assert len(fl.cuda.devices()) == 4


def test_a_block_takes_back_what_was_simulated_inside():
    fl.simulate_gpu(4)
    with fl.simulate_gpu(2):
        fl.simulate_gpu(3)
        for count in (5, 6):
            with fl.simulate_gpu(count):
                fl.simulate_gpu(False)
            assert len(fl.cuda.devices()) == 3
    assert len(fl.cuda.devices()) == 4
    for _ in range(20):  # a cell that's run again
        fl.simulate_gpu()
    assert len(SETTINGS.simulating._entries) < 12


def test_cuda_sync_runs_and_waits(three):
    x = fl.cuda.cu(np.ones(2, np.float32))
    with fl.receipt() as r:
        y = fl.cuda.sync(lambda: x + x)
        fl.cuda.synchronize()
    assert fl.cpu(y).sum() == 4 and r.synchronizations == 2


def test_cuda_time_waits_before_and_after_and_says_what_was_asked_of_the_gpu(capsys):
    """Earlier work doesn't count, and the time is that of the product, not of launching it."""
    with fl.simulate_gpu() as device:
        x = fl.cu(np.ones((2048, 2048), np.float32))
        earlier = x @ x
        device.synchronize()
        ordered = fl.clock()
        earlier = earlier @ x
        ordered = fl.clock() - ordered
        capsys.readouterr()
        y = fl.cuda.time(lambda: earlier @ x)
        out = capsys.readouterr().out
        assert y.shape == (2048, 2048) and "launches          1: matmul 1" in out and "simulated (NVIDIA T4)" in out
        with fl.receipt() as r:
            fl.cuda.sync(lambda: earlier @ x)
    assert f"{r.seconds}" in out and r.seconds > 100 * ordered


def test_cu_halves_the_width_of_wide_floats_alone(three):
    """float64 and complex128 become half as wide. Half precision, integers and ranges don't change."""
    kinds = {"f8": "f4", "c16": "c8", "f2": "f2", "i8": "i8", "b1": "b1"}
    assert {kind: fl.cu(np.ones(2, kind)).dtype.str[1:] for kind in kinds} == kinds
    assert fl.cu([range(1, 4), np.ones(1)])[0] == range(1, 4)


def test_without_a_GPU_all_of_it_explains_itself():
    with fl.pretend():
        for ask in (fl.cuda.device, fl.cuda.synchronize, lambda: fl.cuda.set_device(0), lambda: fl.cuda.using(0)):
            with pytest.raises(RuntimeError, match=r"no NVIDIA GPU.*cupy-cuda12x.*simulate_gpu\(\)"):
                ask()
        assert fl.cuda.device(np.ones(2)) is fl.get_device("CPU")


# -- CUDA_VISIBLE_DEVICES ------------------------------------------------------------------------------------------


def test_CUDA_VISIBLE_DEVICES_minus_one_hides_all(monkeypatch, capsys):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    hidden, x = "CUDA_VISIBLE_DEVICES hides the simulated GPUs too", np.ones(2)
    with fl.pretend():
        fl.simulate_gpu(3, visible=True)
        assert repr(fl.cuda.devices()) == f"0 devices: {hidden}" and fl.functional("Simulated").reason == hidden
        assert fl.gpu(x) is x and repr(fl.get_device()) == fl.gpu_name() == "CPU"
    told, stays = capsys.readouterr().err.splitlines()
    assert told == "[ Info: CUDA_VISIBLE_DEVICES=-1 leaves 0 of 3 simulated GPUs visible."
    assert stays.startswith("[ Info: arrays stay on the CPU. CUDA_VISIBLE_DEVICES hides")


@pytest.mark.parametrize(
    ("visible", "seen"),
    [
        ("0,1", 2), ("2", 1), ("1,0,2", 3), ("0,7,1", 1), ("0,0,1", 1), ("0, 1 ", 2), ("", 0), ("none", 0), ("0,-1", 1),
        ("GPU-1f2d3c4b-0000-1111-2222-333344445555", 1), ("GPU-1f,GPU-2e", 2), ("GPU-1f,GPU-1f", 1),
        ("GPU-1f,GPU-2e,GPU-3d,GPU-4c", 3), ("MIG-GPU-1f2d3c4b-0000-1111-2222-333344445555/1/0", 1),
        ("9" * 5_000, 0), ("MIG-1f,MIG-2e", 1),  # a process gets one part of a shared card
    ],
)  # fmt: skip
def test_CUDA_VISIBLE_DEVICES_selects(visible, seen, monkeypatch, capsys):
    """The selected ones are renumbered from 0. As in CUDA, the list ends at the first invalid number.

    Simulated cards have no UUIDs, so each that could be one counts.
    """
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    fl.simulate_gpu(3, visible=True)
    assert [device.index for device in fl.cuda.devices()] == list(range(seen))
    left = f"CUDA_VISIBLE_DEVICES={visible} leaves {seen} of 3 simulated GPUs visible"
    assert (left in capsys.readouterr().err) == (seen < 3)
    fl.simulate_gpu()
    assert len(fl.cuda.devices()) == 1  # simulated cards are there whatever hides real ones
