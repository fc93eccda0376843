"""Whether CuPy, and each library that it uses, can compute here; and if not, why, and what to install."""

import ctypes
import importlib.util
import os
from typing import Any, NamedTuple

import numpy as np

from ..base import Functional

_OLDEST = 14  # CuPy 13 promotes types by value, not as NumPy 2 does, and lacks functions that we use


class Needs(NamedTuple):
    """What one maker's GPUs need, as messages put it."""

    maker: str
    package: str  # how the names of CuPy's packages for them begin
    install: str
    hidden_by: str

    @property
    def not_installed(self) -> str:
        return f"CuPy is not installed: {self.install}, if this computer has an {self.maker} GPU"

    @property
    def hidden(self) -> str:
        return f"the GPUs are hidden: the environment variable {self.hidden_by} is set to none"

    def no_driver(self, cupy: str = "CuPy") -> str:
        return f"{cupy} is installed, but there is no {self.maker} driver that it can use"


NEEDS = {
    "CUDA": Needs("NVIDIA", "cupy_cuda", 'pip install "cupy-cuda12x[ctk]"', "CUDA_VISIBLE_DEVICES"),
    "AMDGPU": Needs("AMD", "cupy_rocm", "pip install cupy-rocm-7-0", "HIP_VISIBLE_DEVICES"),
}


def usable(backend: str) -> Functional:
    """Whether CuPy computes on this maker's GPUs here: it finds one, and a kernel and a product run."""
    from pathlib import Path

    needs, spec = NEEDS[backend], importlib.util.find_spec("cupy")
    if spec is None:
        return Functional(needs.not_installed, installed=False)
    # Its import takes 180 MB, so we look first whether that's of any use.
    packages = [path.stem for path in Path(spec.origin or "").parent.parent.glob("cupy_*.dist-info")]
    name, _, version = packages[0].partition("-") if len(packages) == 1 else ("", "", "")
    if name and not name.startswith(needs.package):
        return _for_the_other_maker(needs, version)
    if os.environ.get(needs.hidden_by, "0").split(",")[0].strip() in ("", "-1"):
        return Functional(needs.hidden)
    if name and backend == "CUDA" and not nvidia_driver():
        return Functional(needs.no_driver(f"CuPy {version}"))
    try:
        import cupy

        if cupy.cuda.runtime.is_hip != (backend == "AMDGPU"):
            return _for_the_other_maker(needs, cupy.__version__)
        return Functional(_trouble(cupy))
    except Exception as error:  # a broken installation can raise anything
        return Functional(f"CuPy cannot compute here: {_first_line(error)}. {needs.install} brings what it needs")


def _for_the_other_maker(needs: Needs, version: str) -> Functional:
    other = "AMD" if needs.maker == "NVIDIA" else "NVIDIA"
    there = f"(the one that is installed, CuPy {version}, is for {other})"
    return Functional(f"CuPy for {needs.maker} is not installed: {needs.install} {there}", installed=False)


def _trouble(cupy: Any) -> str:
    """A kernel needs the compiler, a product cuBLAS; counting GPUs needs neither."""
    if int(cupy.__version__.split(".")[0]) < _OLDEST:
        return f"CuPy {cupy.__version__} is too old, fluxlite needs {_OLDEST} or newer"
    if cupy.cuda.runtime.getDeviceCount() == 0:
        return "CuPy finds no GPU"
    x = np.array([[1, 2], [3, 4]], np.float32)
    there = cupy.array(x)
    result = cupy.asnumpy((there + there) @ there)
    return "" if np.array_equal(result, (x + x) @ x) else f"CuPy computes wrongly on this GPU: {result.tolist()}"


def nvidia_driver() -> bool:
    """Whether the NVIDIA driver's library can be loaded. CuPy checks the same way."""
    try:
        ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return False
    return True


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


# -- its libraries: ``functional("AMDGPU", "MIOpen")`` -----------------------------------------------------------------

# The maker's name for each, and CuPy's, which is the same for NVIDIA and AMD. The last one no CuPy has, but the guide.
PARTS = {
    "CUDA": {
        "cuBLAS": "cublas", "cuRAND": "curand", "cuFFT": "cufft", "cuSOLVER": "cusolver", "cuSPARSE": "cusparse",
        "NVRTC": "nvrtc", "NCCL": "nccl", "cuTENSOR": "cutensor", "cuDNN": "",
    },
    "AMDGPU": {
        "rocBLAS": "cublas", "rocRAND": "curand", "rocFFT": "cufft", "rocSOLVER": "cusolver", "rocSPARSE": "cusparse",
        "HIPRTC": "nvrtc", "RCCL": "nccl", "MIOpen": "",
    },
}  # fmt: skip
# Computing on one GPU needs none of these, and CuPy's packages don't bring them.
OPTIONAL_PARTS = {"NCCL", "RCCL", "cuTENSOR", "cuDNN", "MIOpen"}


def cupy_part(name: str, pretended: bool = False) -> Functional:
    """Whether CuPy can load this library, given that there's a GPU. A pretended GPU has all of them."""
    ours = (PARTS["CUDA"] | PARTS["AMDGPU"])[name]
    if not ours:
        return Functional(f"CuPy works without {name}, and fluxlite's layers do too", installed=False)
    try:
        if not pretended:
            import cupy

            getattr(cupy.cuda, ours)
    except Exception as error:  # each library raises its own errors
        return Functional(f"CuPy cannot load {name}: {_first_line(error)}", installed=False)
    return Functional()
