"""Which device is chosen, and which messages appear: everything that the guide documents, in pretended situations."""

import re

import numpy as np
import pytest
from inside import BACKENDS, Backend, Functional, choose

import fluxlite as fl
from fluxlite import pretend
from fluxlite.devices import CPU, devices

NOT_INSTALLED = {
    "CUDA": 'pip install "cupy-cuda12x[ctk]", if this computer has an NVIDIA GPU',
    "AMDGPU": "pip install cupy-rocm-7-0, if this computer has an AMD GPU",
    "Metal": "pip install mlx",
}


@pytest.fixture
def said(capsys):
    """The lines printed since the last call."""
    return lambda: capsys.readouterr().err.splitlines()


def missing(backend, source="preferences"):
    """The message if the preferred backend isn't installed."""
    reason = f"{_what(backend)} is not installed: {NOT_INSTALLED[backend]}"
    return [
        f"┌ Warning: Trying to use backend: {backend}, but {reason}.",
        f"└ Install what is missing to have the wish in {source} respected. Choosing automatically.",
    ]


def _what(backend):
    return "MLX" if backend == "Metal" else "CuPy"


# -- S1: the guide's examples -------------------------------------------------------------------------------------


def test_S1_19_the_preferred_backend_is_used_and_a_model_moves_there(said):
    """Verbose: one line. `deviceID` names the card; the weights are the same before and after the move."""
    with pretend(CUDA="functional", preference="CUDA"):
        device = fl.get_device(verbose=True)
        assert said() == ["[ Info: Using backend set in preferences: CUDA."]
        assert device.backend == "CUDA" and repr(device.deviceID).startswith("CuDevice(0): ")
        model = fl.Dense(2, 3)
        before = model.weight
        model = device(model)
        assert fl.device_of(model) == device and "(pretended)" in repr(model.weight)
        np.testing.assert_array_equal(fl.cpu(model.weight), before)


def test_S1_21_the_preference_CPU_gives_the_CPU_beside_a_GPU(said):
    with pretend(CUDA="functional", preference="CPU"):
        device = fl.get_device(verbose=True)
        assert device is CPU and device.deviceID is None
        assert said() == ["[ Info: Using backend set in preferences: CPU."]
        model = fl.Dense(2, 3)
        assert device(model).weight is model.weight
        assert fl.gpu(model).weight is model.weight
        (line,) = said()
        assert "set in preferences is CPU" in line and "gpu_backend(None)" in line


@pytest.mark.parametrize("backend", ["CUDA", "AMDGPU", "Metal"])
def test_S1_22_and_S1_28_a_missing_preferred_backend_is_said_and_the_CPU_used(backend, said):
    """S1-22 with CUDA, S1-28 with AMDGPU: info, warning, info; the model stays where it is."""
    with pretend(preference=backend):
        device = fl.get_device(verbose=True)
        wish, *warning, used = said()
        assert wish == f"[ Info: Using backend set in preferences: {backend}."
        assert warning == missing(backend) and used == "[ Info: Using backend: CPU."
        model = fl.Dense(2, 3)
        assert device is CPU and device(model).weight is model.weight


def test_S1_29_a_preference_is_not_exclusive(said):
    """AMDGPU is preferred but missing, and CUDA is there: a warning, then CUDA."""
    with pretend(CUDA="functional", preference="AMDGPU"):
        device = fl.get_device(verbose=True)
        assert said() == [
            "[ Info: Using backend set in preferences: AMDGPU.",
            *missing("AMDGPU"),
            "[ Info: Using backend: CUDA.",
        ]
        assert repr(device) == "CUDA:0 (pretended)"
        assert fl.device_of(device(fl.Dense(2, 3)).weight) == device


def test_S1_27_the_supported_devices():
    assert fl.supported_devices() == ("CUDA", "AMDGPU", "Metal", "CPU")


def test_a_backend_that_is_not_chosen_by_itself_can_be_asked_for(monkeypatch):
    monkeypatch.setitem(BACKENDS, "Toy", Backend(Functional, lambda: [CPU], by_itself=False))
    assert "Toy" not in fl.supported_devices() and fl.functional("Toy")
    with pretend(environment="Toy"):
        assert fl.gpu_name() == "Toy" and "\nToy " in fl.doctor()
    with pretend():
        assert fl.gpu_name() == "CPU"


def test_S1_24_and_S1_30_devices_by_backend_and_number():
    """S1-24 device 0, S1-30 two of them with their deviceIDs, and the CPU, which ignores the number."""
    with pretend(CUDA=2):
        device0, device1 = fl.get_device("CUDA", 0), fl.get_device("CUDA", 1)
        assert device0 != device1 and device0 == fl.get_device("CUDA")
        assert [repr(d.deviceID).split(":")[0] for d in (device0, device1)] == ["CuDevice(0)", "CuDevice(1)"]
    assert fl.get_device("CPU") is CPU is fl.get_device("CPU", 7)


# -- F31 to F38: everything else that's documented ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "chosen"),
    [
        ({"CUDA": 1, "AMDGPU": 1, "Metal": 1}, "CUDA"),
        ({"AMDGPU": 1, "Metal": 1}, "AMDGPU"),
        ({"CUDA": "no driver", "Metal": 1}, "Metal"),
        ({"CUDA": "no driver", "AMDGPU": "hidden", "Metal": "no driver"}, "CPU"),
        ({}, "CPU"),
    ],
)
def test_without_a_preference_the_first_that_is_functional(there, chosen, said):
    with pretend(**there):
        assert fl.get_device(verbose=True).backend == chosen == fl.gpu_name() == fl.GPU_BACKEND
        assert said() == [f"[ Info: Using backend: {chosen}."]
        fl.get_device()
        assert said() == []


def test_F35_the_warning_is_printed_verbose_or_not_each_time(said):
    with pretend(preference="CUDA"):
        for _ in range(2):
            assert fl.get_device() is CPU
            assert said() == missing("CUDA")


def test_gpu_says_it_once(said):
    with pretend(CUDA="functional", preference="AMDGPU"):
        for _ in range(3):
            assert fl.device_of(fl.gpu(np.ones(2, np.float32))).backend == "CUDA"
        assert said() == missing("AMDGPU")


def test_installed_but_not_functional_is_another_warning(said):
    with pretend(CUDA="no driver", AMDGPU="functional", preference="CUDA"):
        assert fl.get_device().backend == "AMDGPU"
        assert said() == [
            "┌ Warning: Backend: CUDA, set in preferences, is not functional: CuPy is installed, but there is no "
            "NVIDIA driver that it can use.",
            "└ Choosing automatically.",
        ]


@pytest.mark.parametrize("where", ["preference", "environment"])
def test_a_preference_that_is_none_is_said_and_ignored(where, said):
    with pretend(Metal="functional", **{where: "Vulkan"}):
        assert fl.get_device().backend == "Metal"
        (line,) = said()
        assert "is set to Vulkan, which is not allowed: CUDA, AMDGPU, Metal, CPU, Simulated are." in line
        assert ("FLUXLITE_GPU_BACKEND" in line) == (where == "environment")


def test_the_environment_counts_more_than_the_file(said):
    with pretend(CUDA=1, AMDGPU=1, preference="CUDA", environment="AMDGPU"):
        assert fl.get_device(verbose=True).backend == "AMDGPU"
        assert said() == ["[ Info: Using backend set in FLUXLITE_GPU_BACKEND: AMDGPU."]
        assert fl.GPU_BACKEND == "AMDGPU"
    with pretend(CUDA=1, environment="AMDGPU"):
        fl.get_device()
        assert said() == missing("AMDGPU", "FLUXLITE_GPU_BACKEND")


def test_the_real_environment_is_read_each_time(monkeypatch):
    monkeypatch.setenv("FLUXLITE_GPU_BACKEND", "CPU")
    assert choose().why == "set in FLUXLITE_GPU_BACKEND" and fl.GPU_BACKEND == "CPU"
    monkeypatch.setenv("FLUXLITE_GPU_BACKEND", "")
    assert choose().why != "set in FLUXLITE_GPU_BACKEND"


def test_simulate_gpu_counts_more_than_all_that(said):
    with pretend(CUDA=1, preference="AMDGPU", environment="CPU"), fl.simulate_gpu():
        said()
        assert fl.get_device(verbose=True) is devices()[0]
        assert said() == ["[ Info: Using backend: Simulated."]
        assert fl.gpu_name() == fl.GPU_BACKEND == "Simulated"


def test_an_argument_counts_more_than_simulate_gpu():
    with pretend(CUDA=1), fl.simulate_gpu(2):
        assert repr(fl.get_device("CUDA")) == "CUDA:0 (pretended)" and fl.functional("CUDA")
        assert repr(fl.get_device("Simulated", 1)) == "Simulated:1"
    with pretend(), fl.simulate_gpu():
        assert not fl.functional("CUDA")
        with pytest.raises(RuntimeError, match=r"Unavailable backend: CUDA.*cupy-cuda12x.*get_device\(\)"):
            fl.get_device("CUDA")
        with fl.simulate_gpu(2), pytest.raises(RuntimeError, match=r"The simulated ones: cuda.devices\(\)"):
            fl.get_device("CUDA", 1)


@pytest.mark.parametrize("where", ["preference", "environment"])
def test_Simulated_can_be_preferred(where, said):
    with pretend(CUDA="functional", **{where: "Simulated"}):
        assert fl.functional("Simulated") and fl.gpu_name() == "Simulated"
        x = fl.gpu(np.ones(2, np.float32))
        assert fl.device_of(x) is fl.get_device() is fl.device_of(fl.cu(np.ones(2, np.float32)))
        fl.gpu_backend("CUDA")
        assert fl.gpu_name() == ("CUDA" if where == "preference" else "Simulated")
    assert not fl.functional("Simulated")


def test_simulated_is_never_chosen_by_itself_and_can_be_asked_for_only_when_on():
    with pretend():
        assert fl.gpu_name() == "CPU"
        with pytest.raises(RuntimeError, match=r"Unavailable backend: Simulated.*is off: simulate_gpu\(\)"):
            fl.get_device("Simulated")


# -- errors -------------------------------------------------------------------------------------------------------


def test_an_unknown_backend_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="Unsupported backend: cuda.*CUDA, AMDGPU, Metal, CPU"):
        fl.get_device("cuda")


@pytest.mark.parametrize("backend", ["CUDA", "AMDGPU", "Metal"])
def test_a_missing_backend_that_is_named_raises(backend):
    told = f"Unavailable backend: {backend}.*{re.escape(NOT_INSTALLED[backend])}"
    with pretend(), pytest.raises(RuntimeError, match=told):
        fl.get_device(backend)


@pytest.mark.parametrize("index", [-1, 3, 4])
def test_F38_an_index_out_of_range_names_both_numbers(index):
    """`0 <= idx < n`; the guide's "between 0 and the number of devices" is one too many."""
    with pretend(AMDGPU=3), pytest.raises(IndexError, match=f"no AMDGPU device {index}: there are 3, numbers 0 to 2"):
        fl.get_device("AMDGPU", index)
    with pretend(Metal=1), pytest.raises(IndexError, match=f"no Metal device {index}: there is 1, number 0"):
        fl.get_device("Metal", index)
    with pytest.raises(TypeError):
        fl.get_device("CPU", "first")


def test_who_needs_a_GPU_is_told_what_is_in_the_way():
    with pretend(preference="CPU"), pytest.raises(RuntimeError, match=r"set in preferences is CPU"):
        fl.require_gpu()
    with pretend(CUDA="on fire"), pytest.raises(RuntimeError, match=r"on fire\. simulate_gpu\(\) puts"):
        fl.require_gpu()
    with pretend(AMDGPU="functional"), pytest.raises(RuntimeError, match=r"no NVIDIA GPU.*cupy-cuda12x"):
        fl.cu(np.ones(2))


# -- pretending is honest ------------------------------------------------------------------------------------------


def test_pretended_devices_say_so_and_can_be_compared():
    with pretend(CUDA=2, AMDGPU=1):
        first, second, other = fl.get_device("CUDA"), fl.get_device("CUDA", 1), fl.get_device("AMDGPU")
        assert len({first, second, other, fl.get_device("CUDA", 0)}) == 3
        assert "pretended" in repr(first) and "pretended" in first.name and "simulated" in repr(other.deviceID)
        x = first(np.ones(3, np.float32))
        for there in (second, other, CPU):
            y = there(x)
            assert fl.device_of(y) == there and fl.cpu(y).sum() == 3
        with pytest.raises(ValueError, match=r"CUDA:0 \(pretended\).*CUDA:1 \(pretended\)"):
            x + second(x)
    assert fl.cpu(x * 2).sum() == 6  # arrays on it stay usable


def test_a_pretended_device_is_no_real_one_of_the_same_name():
    from inside import CUDADevice

    with pretend(CUDA="functional"):
        assert fl.get_device("CUDA") != CUDADevice(0, "a card") and CUDADevice(0, "a card") != fl.get_device("CUDA")
    assert CUDADevice(0) == CUDADevice(0, "named") != CPU and CPU != "CPU"


def test_afterwards_all_is_as_it_was():
    with fl.simulate_gpu(2) as device:
        with pytest.raises(KeyError), pretend(CUDA=1, preference="Metal"):
            assert fl.gpu_name() == "CUDA"
            with pretend(AMDGPU=1):
                assert fl.gpu_name() == "AMDGPU" and fl.GPU_BACKEND == "AMDGPU"
            assert fl.gpu_name() == "CUDA" and fl.GPU_BACKEND == "Metal"
            raise KeyError
        assert fl.gpu_device() is device and fl.GPU_BACKEND == "Simulated"


def test_nonsense_cannot_be_pretended():
    with pytest.raises(ValueError, match="at least 1 GPU"), pretend(CUDA=0):
        pass
