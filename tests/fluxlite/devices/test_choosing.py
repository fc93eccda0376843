"""Which device is chosen, and which messages appear, in pretended situations."""

import re

import numpy as np
import pytest
from inside import CUDADevice

import fluxlite as fl
from fluxlite import pretend
from fluxlite.devices import CPU, devices

MISSING = {
    "CUDA": 'CuPy is not installed: pip install "cupy-cuda12x[ctk]", if this computer has an NVIDIA GPU',
    "AMDGPU": "CuPy is not installed: pip install cupy-rocm-7-0, if this computer has an AMD GPU",
    "Metal": "MLX is not installed: pip install mlx",
}
ONES = np.ones(2, np.float32)


@pytest.fixture
def said(capsys):
    """The lines printed since the last call."""
    return lambda: capsys.readouterr().err.splitlines()


def wish(backend, source="preferences"):
    return f"[ Info: Using backend set in {source}: {backend}."


def using(backend):
    return f"[ Info: Using backend: {backend}."


def missing(backend, source="preferences"):
    """The warning if the preferred backend isn't installed."""
    return [
        f"┌ Warning: Trying to use backend: {backend}, but {MISSING[backend]}.",
        f"└ Install what is missing to have the wish in {source} respected. Choosing automatically.",
    ]


NO_DRIVER = [
    "┌ Warning: Backend: CUDA, set in preferences, isn't functional: CuPy is installed, but there is no NVIDIA driver "
    "that it can use.",
    "└ Choosing automatically.",
]
ENV = "FLUXLITE_GPU_BACKEND"
# What's pretended, which backend that gives, and all that `get_device(verbose=True)` says.
SITUATIONS = [
    (dict(CUDA=1, AMDGPU=1, Metal=1), "CUDA", [using("CUDA")]),
    (dict(AMDGPU=1, Metal=1), "AMDGPU", [using("AMDGPU")]),
    (dict(CUDA="no driver", Metal=1), "Metal", [using("Metal")]),
    (dict(CUDA="no driver", AMDGPU="hidden", Metal="no driver"), "CPU", [using("CPU")]),
    (dict(CUDA=1, preference="CUDA"), "CUDA", [wish("CUDA")]),
    (dict(CUDA=1, preference="CPU"), "CPU", [wish("CPU")]),
    *[(dict(preference=name), "CPU", [wish(name), *missing(name), using("CPU")]) for name in MISSING],
    (dict(CUDA=1, preference="AMDGPU"), "CUDA", [wish("AMDGPU"), *missing("AMDGPU"), using("CUDA")]),
    (dict(CUDA="no driver", AMDGPU=1, preference="CUDA"), "AMDGPU", [wish("CUDA"), *NO_DRIVER, using("AMDGPU")]),
    (dict(CUDA=1, AMDGPU=1, preference="CUDA", environment="AMDGPU"), "AMDGPU", [wish("AMDGPU", ENV)]),
    (dict(CUDA=1, environment="AMDGPU"), "CUDA", [wish("AMDGPU", ENV), *missing("AMDGPU", ENV), using("CUDA")]),
]  # fmt: skip


@pytest.mark.parametrize(("situation", "chosen", "lines"), SITUATIONS)
def test_get_device_chooses_and_says_why_and_a_model_moves_there(situation, chosen, lines, said):
    with pretend(**situation):
        device = fl.get_device(verbose=True)
        assert said() == lines and device.backend == chosen == fl.gpu_name()
        assert repr(device) == ("CPU" if chosen == "CPU" else f"{chosen}:0 (pretended)")
        said()
        for _ in range(2):  # warnings are printed verbose or not, and each time
            assert fl.get_device() == device
            assert said() == [line for line in lines if "[ Info" not in line]
        model = fl.Dense(2, 3)
        moved = device(model)
        assert fl.device_of(moved(device(ONES))) == fl.device_of(moved) == device
        assert (moved.weight is model.weight) == (device is CPU)
        np.testing.assert_array_equal(fl.cpu(moved.weight), model.weight)


def test_gpu_says_once_that_the_preferred_one_is_missing_or_is_the_CPU(said):
    with pretend(CUDA="functional", preference="AMDGPU"):
        for _ in range(3):
            assert fl.device_of(fl.gpu(ONES)).backend == "CUDA"
        assert said() == missing("AMDGPU")
    with pretend(CUDA="functional", preference="CPU"):
        assert fl.gpu(ONES) is ONES
        (line,) = said()
        assert "set in preferences is CPU" in line and "gpu_backend(None)" in line


@pytest.mark.parametrize("where", ["preference", "environment"])
def test_a_preference_that_is_none_is_said_and_ignored(where, said):
    with pretend(Metal="functional", **{where: "Vulkan"}):
        assert fl.get_device().backend == "Metal"
        (line,) = said()
        assert "is set to Vulkan, which isn't allowed: CUDA, AMDGPU, Metal, CPU, Simulated are." in line
        assert (ENV in line) == (where == "environment")


# -- beside a simulation -------------------------------------------------------------------------------------------


def test_simulate_gpu_counts_more_than_a_preference_and_an_argument_more_than_that(said):
    with pretend(CUDA=1, preference="AMDGPU", environment="CPU"), fl.simulate_gpu(2):
        said()
        assert fl.get_device(verbose=True) is devices()[0] and said() == [using("Simulated")]
        assert fl.gpu_name() == fl.GPU_BACKEND == "Simulated"
        assert repr(fl.get_device("CUDA")) == "CUDA:0 (pretended)" and fl.functional("CUDA")
        assert repr(fl.get_device("Simulated", 1)) == "Simulated:1"
    with pretend(), fl.simulate_gpu():
        assert not fl.functional("CUDA")
        with pytest.raises(RuntimeError, match=r"Unavailable backend: CUDA.*cupy-cuda12x"):
            fl.get_device("CUDA")


@pytest.mark.parametrize("where", ["preference", "environment"])
def test_Simulated_can_be_preferred(where, said):
    with pretend(CUDA="functional", **{where: "Simulated"}):
        assert fl.functional("Simulated") and fl.gpu_name() == "Simulated"
        assert fl.device_of(fl.gpu(ONES)) is fl.get_device() is fl.device_of(fl.cu(ONES))
        fl.gpu_backend("CUDA")
        assert fl.gpu_name() == ("CUDA" if where == "preference" else "Simulated")
    assert not fl.functional("Simulated")


def test_simulation_on_off_and_for_a_block(said):
    with pretend():
        fl.simulate_gpu()
        assert said() == ["[ Info: Simulated:0, a simulated NVIDIA T4, stands in for a GPU."]
        assert fl.require_gpu() is fl.gpu_device() is devices()[0] and not fl.functional("CUDA")
        x = fl.cu(np.ones(2))
        assert fl.device_of(x) is devices()[0] and x.dtype == np.float32
        said()
        fl.simulate_gpu(2, like="GTX 1650")
        assert said() == ["[ Info: Simulated:0 to Simulated:1, simulated GTX 1650, stand in for GPUs."]
        before = devices()
        with fl.simulate_gpu(like="A100", memory=1000) as device:
            assert devices() == [device] and device.memory().capacity == 1000 and "A100" in device.name
        assert devices()[1] is before[1] and devices()[0].memory().capacity == 4 * 2**30
        with fl.simulate_gpu(False):
            assert fl.gpu_device() is None
        assert devices() == before
        fl.simulate_gpu(False)
        assert fl.gpu_name() == "CPU" and devices() == [] and not fl.functional("Simulated")


@pytest.mark.on("CUDA")
def test_a_real_gpu_is_used_unless_one_is_simulated(device):
    assert fl.gpu_name() == "CUDA" and fl.gpu_device() == device == fl.device_of(fl.gpu(ONES))
    with fl.simulate_gpu():
        assert fl.device_of(fl.gpu(ONES)).backend == "Simulated"
    assert fl.device_of(fl.cu(ONES)) == device


# -- errors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("situation", "call", "error", "words"),
    [
        ({}, lambda: fl.get_device("cuda"), ValueError, "Unsupported backend: cuda.*CUDA, AMDGPU, Metal, CPU"),
        ({}, lambda: fl.functional("Voodoo"), ValueError, "CUDA, AMDGPU, Metal, CPU, Simulated"),
        ({}, lambda: fl.simulate_gpu(like="Voodoo 2"), ValueError, "NVIDIA T4"),
        ({}, lambda: fl.get_device("CUDA"), RuntimeError, f"Unavailable backend: CUDA.*{re.escape(MISSING['CUDA'])}"),
        ({}, lambda: fl.get_device("Metal"), RuntimeError, f"Unavailable backend: Metal.*{MISSING['Metal']}"),
        ({}, lambda: fl.get_device("Simulated"), RuntimeError, r"Unavailable.*Simulated.*is off: simulate_gpu\(\)"),
        (dict(AMDGPU=3), lambda: fl.get_device("AMDGPU", -1), IndexError, "device -1: there are 3, numbers 0 to 2"),
        (dict(AMDGPU=3), lambda: fl.get_device("AMDGPU", 3), IndexError, "no AMDGPU device 3: there are 3"),
        (dict(Metal=1), lambda: fl.get_device("Metal", 1), IndexError, "no Metal device 1: there is 1, number 0"),
        (dict(CUDA=1), lambda: fl.get_device("CUDA", "first"), IndexError, "first"),
        (dict(preference="CPU"), fl.require_gpu, RuntimeError, "set in preferences is CPU"),
        (dict(CUDA="on fire"), fl.require_gpu, RuntimeError, r"on fire\. simulate_gpu\(\) puts"),
        (dict(AMDGPU=1), lambda: fl.cu(np.ones(2)), RuntimeError, "no NVIDIA GPU.*cupy-cuda12x"),
        (dict(CUDA=0), fl.require_gpu, ValueError, "GPUs is at least 1, got 0"),
    ],
)  # fmt: skip
def test_get_device_says_what_is_not_there_and_what_is(situation, call, error, words):
    with pytest.raises(error, match=words), pretend(**situation):
        call()


# -- pretending is honest ------------------------------------------------------------------------------------------


def test_pretended_devices_say_so_and_can_be_compared():
    with pretend(CUDA=2, AMDGPU=1):
        first, second, other = fl.get_device("CUDA", 0), fl.get_device("CUDA", 1), fl.get_device("AMDGPU")
        assert len({first, second, other, fl.get_device("CUDA")}) == 3
        assert [repr(d.deviceID).split(":")[0] for d in (first, second)] == ["CuDevice(0)", "CuDevice(1)"]
        assert "pretended" in repr(first) and "pretended" in first.name and "simulated" in repr(other.deviceID)
        x = first(np.ones(3, np.float32))
        for there in (second, other, CPU):
            y = there(x)
            assert fl.device_of(y) == there and fl.cpu(y).sum() == 3
        with pytest.raises(ValueError, match=r"CUDA:0 \(pretended\).*CUDA:1 \(pretended\)"):
            x + second(x)
        assert first != CUDADevice(0, "a card") and CUDADevice(0, "a card") != first
    assert fl.cpu(x * 2).sum() == 6  # arrays on it stay usable
    assert CUDADevice(0) == CUDADevice(0, "named") != CPU and CPU != "CPU"
    assert fl.get_device("CPU") is CPU is fl.get_device("CPU", 7) and CPU.deviceID is None


def test_gpu_without_a_gpu_gives_the_argument_and_says_why_once(said):
    with pretend(CUDA="no driver"):
        assert fl.gpu(ONES) is ONES and fl.gpu(3) == 3
        (line,) = said()
        assert "arrays stay on the CPU" in line and "driver" in line and "simulate_gpu()" in line
        assert fl.gpu_device() is None and devices() == []
