"""Whether CuPy, and each library that it uses, can compute here; and if not, why, and what to install."""

import ctypes
import functools
import importlib.util
import os
from typing import Any

import numpy as np

from ..base import Functional

_OLDEST = 14  # CuPy 13 promotes types by value, not as NumPy 2 does, and lacks functions that we use


INSTALL = {"CUDA": 'pip install "cupy-cuda12x[ctk]"', "AMDGPU": "pip install cupy-rocm-7-0"}
_HIDDEN_BY = {"CUDA": "CUDA_VISIBLE_DEVICES", "AMDGPU": "HIP_VISIBLE_DEVICES"}


def _situations(backend: str, maker: str) -> dict[str, Functional]:
    install, name = INSTALL[backend], _HIDDEN_BY[backend]
    missing = f"CuPy is not installed: {install}, if this computer has an {maker} GPU"
    return {
        "not installed": Functional(missing, installed=False),
        "for other cards": Functional(f"CuPy for {maker} is not installed: {install}", installed=False),
        "no driver": Functional(f"CuPy is installed, but there is no {maker} driver that it can use"),
        "hidden": Functional(f"the GPUs are hidden: the environment variable {name} is set to none"),
    }


SITUATIONS = {"CUDA": _situations("CUDA", "NVIDIA"), "AMDGPU": _situations("AMDGPU", "AMD")}


@functools.cache  # GPUs don't come or go while a program runs
def usable(backend: str) -> Functional:
    """Whether CuPy computes on this maker's GPUs here: it finds one, and a kernel and a product run."""
    from pathlib import Path

    is_cuda, situations, spec = backend == "CUDA", SITUATIONS[backend], importlib.util.find_spec("cupy")
    if spec is None:
        return situations["not installed"]
    # CuPy's import takes 180 MB, so its package's name and the driver are looked at first.
    names = [path.name for path in Path(spec.origin or "").parent.parent.glob("cupy_*.dist-info")]
    if len(names) == 1 and not names[0].startswith("cupy_cuda" if is_cuda else "cupy_rocm"):
        return situations["for other cards"]
    if os.environ.get(_HIDDEN_BY[backend], "0").split(",")[0].strip() in ("", "-1"):
        return situations["hidden"]
    if is_cuda and len(names) == 1 and not nvidia_driver():
        return situations["no driver"]
    try:
        import cupy

        return situations["for other cards"] if cupy.cuda.runtime.is_hip == is_cuda else Functional(_trouble(cupy))
    except Exception as error:  # a broken installation can raise anything
        return Functional(f"CuPy cannot compute here: {_first_line(error)}. {INSTALL[backend]} brings what it needs")


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
    """Whether the NVIDIA driver's library can be loaded."""
    try:
        ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return False
    return True


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


# Its libraries: the maker's name for each, and CuPy's, which is the same for both. The last one no CuPy has.
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
            start = getattr(cupy.cuda.device, f"get_{ours}_handle", None)  # some are loaded only then
            if start is not None:
                start()
    except Exception as error:  # each library raises its own errors
        return Functional(f"CuPy cannot load {name}: {_first_line(error)}", installed=False)
    return Functional()
