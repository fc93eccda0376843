"""Which device gpu, cu and cpu use."""

import subprocess
import sys

import numpy as np
import pytest
from inside import device_of

import fluxlite as fl
from fluxlite import notices
from fluxlite.devices import CPU, cpu, cu, devices, functional, gpu, gpu_device, gpu_name, require_gpu, simulate_gpu


@pytest.fixture
def no_gpu():
    """Pretends that this machine has no GPU."""
    with fl.pretend():
        yield


def test_without_a_gpu_gpu_gives_its_argument_and_says_why_once(no_gpu):
    model = {"W": np.ones(2)}
    assert gpu(model) is model
    assert gpu(3) == 3
    (line,) = notices()
    assert 'CuPy is not installed: pip install "cupy-cuda12x[ctk]"' in line and "simulate_gpu()" in line
    assert gpu_name() == "CPU" and gpu_device() is None and devices() == []


@pytest.mark.parametrize("demand", [require_gpu, lambda: cu(np.ones(2))])
def test_who_insists_gets_an_error_with_the_way_out(no_gpu, demand):
    with pytest.raises(RuntimeError, match=r"pip install \"cupy-cuda12x\[ctk\]\".*simulate_gpu\(\)"):
        demand()


def test_simulation_on_and_off(no_gpu, capsys):
    simulate_gpu()
    assert capsys.readouterr().err == "[ Info: Simulated:0, a simulated NVIDIA T4, stands in for a GPU.\n"
    assert gpu_name() == "Simulated" and require_gpu() is gpu_device() is devices()[0]
    for move in (gpu, cu):
        x = move(np.ones(2))
        assert device_of(x) is devices()[0] and x.dtype == np.float32
    assert functional("Simulated") and not functional("CUDA")
    simulate_gpu(False)
    assert gpu_name() == "CPU" and not functional("Simulated")


def test_simulation_for_a_block_restores_what_was(no_gpu):
    simulate_gpu(2, like="GTX 1650")
    before = devices()
    with simulate_gpu(like="A100", memory=1000) as device:
        assert devices() == [device] and device.memory().capacity == 1000 and "A100" in device.name
    assert devices()[1] is before[1]
    assert devices()[0].memory().capacity == 4 * 2**30
    with simulate_gpu(False):
        assert gpu_device() is None
    assert devices() == before


def test_cards_by_name():
    with pytest.raises(ValueError, match="NVIDIA T4"):
        simulate_gpu(like="Voodoo 2")
    assert devices() == [] or devices()[0].backend == "CUDA"


def test_the_current_device(no_gpu):
    simulate_gpu(3)
    second, third = devices()[1:]
    with second:
        assert gpu_device() is second and device_of(gpu(np.ones(2))) is second
        with third:
            x = gpu(np.ones(2, np.float32))
            assert device_of(x) is third
        assert device_of(np.zeros_like(x)) is second  # new arrays go to the current card, as with CuPy
        assert gpu_device() is second
    assert gpu_device() is devices()[0]


def test_functional_prints_why(no_gpu):
    assert repr(functional("CPU")) == "True" and functional("CPU")
    answer = functional("CUDA")
    assert not answer and repr(answer) == f"False: {answer.reason}"
    with pytest.raises(ValueError, match="CUDA, AMDGPU, Metal, CPU, Simulated"):
        functional("Voodoo")


def test_cpu_is_always_there():
    assert functional("CPU") and device_of(cpu(np.ones(2))) is CPU


def run(program, **environment):
    import os

    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert result.returncode == 0, result.stderr
    return result.stdout + result.stderr


def test_importing_imports_neither_cupy_nor_the_simulation():
    out = run(
        "import sys, fluxlite, fluxlite.devices; print('cupy' in sys.modules, 'fluxlite.simulated' in sys.modules)"
    )
    assert out == "False False\n"


def test_hidden_gpus_are_named_as_that():
    pytest.importorskip("cupy")
    out = run("from fluxlite.devices import functional; print(functional('CUDA'))", CUDA_VISIBLE_DEVICES="-1")
    assert out.startswith("False: ") and "CUDA_VISIBLE_DEVICES" in out


def test_without_cupy_the_line_says_what_to_install():
    program = (
        "import sys, importlib.util\n"
        "find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'cupy' else find(name, *rest)\n"
        "import numpy as np\nfrom fluxlite.devices import gpu\ngpu(np.ones(2)); gpu(1)"
    )
    out = run(program)
    assert out.count("\n") == 1 and 'CuPy is not installed: pip install "cupy-cuda12x[ctk]"' in out


@pytest.mark.on("CUDA")
def test_a_real_gpu_is_used_unless_one_is_simulated(device):
    assert gpu_name() == "CUDA" and gpu_device() == device
    assert device_of(gpu(np.ones(2))) == device
    with simulate_gpu():
        assert device_of(gpu(np.ones(2))).backend == "Simulated"
    assert device_of(cu(np.ones(2))) == device


def test_what_is_on_one_simulated_card_is_not_on_another():
    with fl.simulate_gpu(like="NVIDIA T4"):
        x = fl.gpu(np.ones((2, 2), np.float32))
        with fl.simulate_gpu(like="H200"):
            y = fl.gpu(x)
            assert y is not x and fl.device_of(y).name == "simulated H200"
            words = r"Simulated:0 \(simulated NVIDIA T4\).*Simulated:0 \(simulated H200\)"
            with pytest.raises(ValueError, match=words):
                x @ y
