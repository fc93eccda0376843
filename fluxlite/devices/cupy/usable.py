"""Whether CuPy, and each library that it uses, can compute here; and if not, why, and what to install."""

import functools
import os

import numpy as np

from ..base import Functional

INSTALL = {"CUDA": 'pip install "cupy-cuda12x[ctk]"', "AMDGPU": "pip install cupy-rocm-7-0"}
_HIDDEN_BY = {"CUDA": "CUDA_VISIBLE_DEVICES", "AMDGPU": "HIP_VISIBLE_DEVICES"}
SITUATIONS = {
    backend: {
        "not installed": Functional(f"CuPy is not installed: {install}, if this computer has an {maker} GPU", False),
        "for other cards": Functional(f"CuPy for {maker} is not installed: {install}", False),
        "no driver": Functional(f"CuPy is installed, but there is no {maker} driver that it can use"),
        "hidden": Functional(f"the GPUs are hidden: the environment variable {_HIDDEN_BY[backend]} is set to none"),
    }
    for (backend, install), maker in zip(INSTALL.items(), ("NVIDIA", "AMD"))
}
# Its libraries, as their makers call them. CuPy's packages don't bring the optional ones.
PARTS = {
    "CUDA": ("cuBLAS", "cuRAND", "cuFFT", "cuSOLVER", "cuSPARSE", "NVRTC", "NCCL", "cuTENSOR", "cuDNN"),
    "AMDGPU": ("rocBLAS", "rocRAND", "rocFFT", "rocSOLVER", "rocSPARSE", "HIPRTC", "RCCL", "MIOpen"),
}
OPTIONAL_PARTS = {"NCCL", "RCCL", "cuTENSOR", "cuDNN", "MIOpen"}


@functools.cache  # GPUs don't come or go while a program runs
def usable(backend: str) -> Functional:
    """Whether CuPy computes on this maker's GPUs here: it finds one, and a kernel and a product run."""
    import importlib.util
    from pathlib import Path

    is_cuda = backend == "CUDA"
    situations = SITUATIONS[backend]
    spec = importlib.util.find_spec("cupy")
    if spec is None or Path(spec.origin or "").parent.name == "simgpu":  # `python -m simgpu` stands in: that's no GPU
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

        if cupy.cuda.runtime.is_hip == is_cuda:
            return situations["for other cards"]
        if int(cupy.__version__.split(".")[0]) < 14:  # 13 promotes types by value, and lacks functions that we use
            return Functional(f"CuPy {cupy.__version__} is too old, fluxlite needs 14 or newer")
        if cupy.cuda.runtime.getDeviceCount() == 0:
            return Functional("CuPy finds no GPU")
        x = cupy.array(np.ones((2, 2), np.float32))
        cupy.asnumpy((x + x) @ x)  # a kernel needs the compiler, a product cuBLAS; counting GPUs needs neither
        return Functional()
    except Exception as error:  # a broken installation can raise anything
        return Functional(f"CuPy can't compute here: {_first_line(error)}. {INSTALL[backend]} brings what it needs")


def nvidia_driver() -> bool:
    try:
        import ctypes

        return bool(ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1"))
    except (ImportError, OSError):
        return False


def cupy_part(name: str, pretended: bool = False) -> Functional:
    """Whether CuPy can load this library, given that there's a GPU. A pretended GPU has all of them."""
    if name in ("cuDNN", "MIOpen"):
        return Functional(f"CuPy works without {name}, and fluxlite's layers do too", installed=False)
    module = name.lower().replace("roc", "cu").replace("hip", "nv").replace("rccl", "nccl")  # NVIDIA's names for both
    try:
        if not pretended:
            import cupy

            getattr(cupy.cuda, module)
            getattr(cupy.cuda.device, f"get_{module}_handle", int)()  # some are loaded only then
    except Exception as error:  # each library raises its own errors
        return Functional(f"CuPy can't load {name}: {_first_line(error)}", installed=False)
    return Functional()


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
