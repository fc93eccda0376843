"""Whether CuPy can really compute here, and if not, what's missing and the line that installs it."""

from __future__ import annotations

import os
import re
from types import ModuleType
from typing import NamedTuple

import numpy as np

from . import package
from .waits import waiting

_OLDEST = 14  # CuPy 13 promotes types by value, not as NumPy 2 does, and lacks functions that we use


class Needs(NamedTuple):
    """What one maker's GPUs need, as messages put it."""

    maker: str
    install: str
    hidden_by: tuple[str, ...]
    list_with: str

    @property
    def not_installed(self) -> str:
        return f"CuPy is not installed: {self.install}, if this computer has an {self.maker} GPU"

    def no_driver(self, cupy: str = "CuPy") -> str:
        return f"{cupy} is installed, but there is no {self.maker} driver that it can use"

    def too_old(self, version: str) -> str:
        """What to install in place of this version of CuPy. Empty if it will do."""
        number = re.match(r"\d+", version)
        if number is None or int(number[0]) >= _OLDEST:
            return ""
        return f"CuPy {version} is too old, fluxlite needs {_OLDEST} or newer: {self._line('--upgrade ')}"

    def toolkit(self) -> str:
        """The line that installs the libraries that CuPy computes with."""
        return self._line("")

    def _line(self, option: str) -> str:
        name = package.name() or ""  # it's for CUDA 12 or 13
        ours = f'pip install "{name}[ctk]"' if "cuda" in name and self.maker == "NVIDIA" else self.install
        return ours.replace("pip install ", f"pip install {option}")


NEEDS = {
    "CUDA": Needs("NVIDIA", 'pip install "cupy-cuda12x[ctk]"', ("CUDA_VISIBLE_DEVICES",), "nvidia-smi -L"),
    "AMDGPU": Needs(
        "AMD",
        "pip install cupy-rocm-7-0",
        ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
        "rocm-smi",
    ),
}


def no_driver(needs: Needs, version: str) -> str:
    """The reason where there's no driver: the user may have hidden the GPUs, too."""
    return _hidden(needs) or needs.no_driver(f"CuPy {version}")


def why_not(needs: Needs, cupy: ModuleType) -> str:
    """Why `cupy` can't compute here. Empty if it can: it counts a GPU, and a kernel and a product ran."""
    runtime, version = cupy.cuda.runtime, f"CuPy {cupy.__version__}"
    try:
        count, error = runtime.getDeviceCount(), ""
    except Exception as trouble:  # CUDARuntimeError, and anything else that a half-installed driver raises
        count, error = 0, str(trouble)
    if count:
        return _tried(needs, cupy, version)
    if "NoDevice" in error or not error:
        nothing_here = f"{version} and a driver are installed, but there is no {needs.maker} GPU"
        return _hidden(needs) or _not_here(needs) or nothing_here
    if hidden := _hidden(needs):
        return hidden
    if "InsufficientDriver" in error and runtime.driverGetVersion():
        return f"{version} is installed, but the {needs.maker} driver is too old for it"
    return needs.no_driver(version) if "InsufficientDriver" in error else f"{version} is installed, but {error}"


def _hidden(needs: Needs) -> str:
    """The setting that hides the GPUs, or an empty string. A list ends at its first entry that names no GPU."""
    first = {name: os.environ.get(name, "0").split(",")[0].strip() for name in needs.hidden_by}
    hidden_by = [name for name in needs.hidden_by if first[name] in ("", "-1")]
    return f"the GPUs are hidden: the environment variable {hidden_by[0]} is set to none" if hidden_by else ""


def _not_here(needs: Needs) -> str:
    """The setting that names only GPUs that aren't here, or an empty string. It may have UUIDs: GPU-…, MIG-…"""
    for name in needs.hidden_by:
        if wanted := os.environ.get(name):
            return f"{name}={wanted} names no {needs.maker} GPU of this computer; `{needs.list_with}` lists them"
    return ""


def _tried(needs: Needs, cupy: ModuleType, version: str) -> str:
    """Why a kernel or a product doesn't run. A kernel needs the compiler, a product cuBLAS; counting needs neither."""
    x = np.array([[1, 2], [3, 4]], np.float32)
    try:
        there = cupy.array(x)
        with waiting():
            result = cupy.asnumpy((there + there) @ there)
    except Exception as error:  # each library raises its own errors
        return _trouble(needs, version, f"{type(error).__name__}: {error}")
    if not np.array_equal(result, (x + x) @ x):
        return f"{version} computes wrongly on the {needs.maker} GPU: {result.tolist()} for {((x + x) @ x).tolist()}"
    return ""


# What CuPy and the system say if a library of the toolkit, or a header for its compiler, isn't there.
_NOT_FOUND = re.compile(r"Failure finding|cannot open|not find|failed to load|No such file", re.IGNORECASE)
_LIBRARY = re.compile(r'Failure finding "([^"]+)"|\b((?:lib[\w-]+\.so[.\d]*|[\w-]+\.dll|[\w/]+\.h)\b)')


def _trouble(needs: Needs, version: str, error: str) -> str:
    library = _LIBRARY.search(error)
    if library and _NOT_FOUND.search(error):
        name = library[1] or library[2]
        return f"{version} finds a GPU but not {name}, which it computes with: {needs.toolkit()}"
    return f"{version} finds a GPU and cannot compute on it: {error.splitlines()[0]}"
