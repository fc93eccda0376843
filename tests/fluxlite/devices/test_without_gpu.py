"""The three things that `gpu` can do on a machine without a GPU."""

import os
import subprocess
import sys

import numpy as np
import pytest

import fluxlite as fl
from fluxlite.devices import without


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch):
    monkeypatch.setattr(without, "_chosen", [])
    monkeypatch.delenv(without.VARIABLE, raising=False)
    with fl.pretend(CUDA="no driver", AMDGPU="not installed", Metal="not installed"):
        yield


def test_unless_told_otherwise_the_argument_comes_back_and_the_reason_is_said_once(capsys):
    x = np.ones(2)
    assert fl.gpu(x) is x and fl.gpu(x) is x
    assert capsys.readouterr().err.count("arrays stay on the CPU") == 1


def test_simulate_turns_the_simulated_gpu_on_when_it_is_needed(capsys):
    assert fl.without_gpu("simulate") == "simulate"
    assert fl.gpu_device() is None
    assert fl.device_of(fl.gpu(np.ones(2, np.float32))).backend == "Simulated"
    assert fl.require_gpu() == fl.gpu_device()
    assert "simulated NVIDIA T4, stands in for a GPU" in capsys.readouterr().err


def test_raise_raises_with_the_reason():
    fl.without_gpu("raise")
    with pytest.raises(RuntimeError, match="there is no GPU to use.*driver"):
        fl.gpu(np.ones(2))


def test_with_a_gpu_the_switch_does_nothing():
    fl.without_gpu("raise")
    with fl.simulate_gpu():
        assert fl.device_of(fl.gpu(np.ones(2, np.float32))).backend == "Simulated"


def test_the_environment_variable_sets_it_and_a_call_counts_more(monkeypatch):
    monkeypatch.setenv(without.VARIABLE, "raise")
    assert fl.without_gpu() == "raise"
    assert fl.without_gpu("cpu") == fl.without_gpu() == "cpu"


def test_another_word_is_refused_with_the_three(monkeypatch):
    with pytest.raises(ValueError, match="'cpu', 'simulate', 'raise', got 'strict'"):
        fl.without_gpu("strict")
    monkeypatch.setenv(without.VARIABLE, "yes")
    with pytest.raises(ValueError, match="FLUXLITE_WITHOUT_GPU is one of"):
        fl.gpu(np.ones(2))


def test_a_program_started_with_the_variable_simulates():
    code = "import fluxlite as fl, numpy as np; print(fl.device_of(fl.gpu(np.ones(1, np.float32))))"
    environment = os.environ | {without.VARIABLE: "simulate", "CUDA_VISIBLE_DEVICES": ""}
    environment.pop("CUDA_VISIBLE_DEVICES")
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] in ("Simulated:0", "CUDA:0")  # the second on a machine with a real one
