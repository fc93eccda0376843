"""The report on a computer's GPUs, and that a computer without one is no trouble."""

import os
import subprocess
import sys

import numpy as np

import fluxlite as fl


def rows(report):
    """Name → text of a report, lines that belong together joined."""
    found, name = {}, ""
    width = report.index(fl.__version__)
    for line in report.splitlines():
        name = line[:width].strip() or name
        found[name] = f"{found.get(name, '')} {line[width:].strip()}".strip()
    return found


def test_it_is_a_text_that_prints():
    with fl.simulate_gpu(2, like="A100"):
        report = fl.doctor()
    assert isinstance(report, str) and repr(report) == str(report) == f"{report}"
    found = rows(report)
    assert set(found) >= {
        "fluxlite", "gpu uses", "CUDA", "AMDGPU", "Metal", "CPU", "Simulated", "FLUXLITE_GPU_BACKEND",
        "FLUXLITE_PROJECT", "CUDA_VISIBLE_DEVICES", "LocalPreferences.toml",
    }  # fmt: skip
    assert found["gpu uses"] == "Simulated:0, simulated A100: simulate_gpu() was called"
    assert found["Simulated"] == "functional Simulated:0  simulated A100 Simulated:1  simulated A100"


def test_for_every_backend_what_is_missing_and_how_to_get_it():
    with fl.pretend(CUDA="no driver", AMDGPU="not installed", Metal="functional"):
        found = rows(fl.doctor())
    assert found["CUDA"].startswith("not functional: CuPy is installed, but there is no NVIDIA driver")
    for words in ('pip install "cupy-cuda12x[ctk]" or "cupy-cuda13x[ctk]"', "nvidia.com/drivers"):
        assert words in found["CUDA"]
    assert "pip install cupy-rocm-7-0" in found["AMDGPU"]
    assert found["Metal"].startswith("functional Metal:0 (pretended)")
    assert found["gpu uses"].startswith("Metal:0 (pretended)") and "first that is functional" in found["gpu uses"]


def test_why_it_is_the_CPU():
    with fl.pretend(CUDA="no driver"):
        found = rows(fl.doctor())
        assert found["gpu uses"] == "the CPU: no GPU is functional"
        assert "no NVIDIA driver" in found["because"] and "simulate_gpu()" in found["because"]
    with fl.pretend(CUDA=1, preference="CPU"):
        assert "set in preferences is CPU" in rows(fl.doctor())["because"]


def test_file_and_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("FLUXLITE_PROJECT", str(tmp_path))
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "3")
    assert rows(fl.doctor())["LocalPreferences.toml"].startswith("none; gpu_backend(name) would write ")
    fl.gpu_backend("CPU")
    found = rows(fl.doctor())
    assert found["LocalPreferences.toml"].endswith("LocalPreferences.toml [fluxlite] gpu_backend = CPU")
    assert found["FLUXLITE_PROJECT"] == str(tmp_path) and found["HIP_VISIBLE_DEVICES"] == "3"
    (tmp_path / "LocalPreferences.toml").write_text("[other]\n")
    assert rows(fl.doctor())["LocalPreferences.toml"].endswith("has no gpu_backend")


def run(*arguments, **environment):
    command = [sys.executable, "-W", "error", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


def test_from_the_command_line():
    result = run("-m", "fluxlite", "doctor", FLUXLITE_GPU_BACKEND="CPU")
    assert result.returncode == 0 and result.stderr == ""
    assert rows(result.stdout)["gpu uses"] == "the CPU: set in FLUXLITE_GPU_BACKEND"


def test_on_this_computer_it_agrees_with_functional():
    found = rows(fl.doctor())
    for name in fl.supported_devices():
        answer = fl.functional(name)
        assert found[name].startswith("functional" if answer else f"not functional: {answer.reason[:40]}")
    assert fl.device_of(np.ones(1)) is fl.get_device("CPU")
