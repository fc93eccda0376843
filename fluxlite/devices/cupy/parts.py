"""The libraries behind a GPU's arrays, each of which can be there or not: ``functional("AMDGPU", "MIOpen")``."""

from __future__ import annotations

import importlib
from typing import Any

from ..availability import Functional

# Under the maker's name, what CuPy calls it on both makers' GPUs.
CUDA_PARTS = {
    "cuBLAS": "cublas", "cuRAND": "curand", "cuFFT": "cufft", "cuSOLVER": "cusolver", "cuSPARSE": "cusparse",
    "NVRTC": "nvrtc", "NCCL": "nccl", "cuTENSOR": "cutensor", "cuDNN": "cudnn",
}  # fmt: skip
AMDGPU_PARTS = {
    "rocBLAS": "cublas", "rocRAND": "curand", "rocFFT": "cufft", "rocSOLVER": "cusolver", "rocSPARSE": "cusparse",
    "HIPRTC": "nvrtc", "RCCL": "nccl", "MIOpen": "cudnn",
}  # fmt: skip

# What the guide asks for, and no CuPy that we use has.
_GONE = {
    "cuDNN": "CuPy works without cuDNN since its version 14, and fluxlite's layers do too",
    "MIOpen": "CuPy works without MIOpen, and fluxlite's layers do too",
}


def known_part(backend: str, name: str, parts: dict[str, str]) -> str:
    """The name of a part as its maker writes it; Julia's ``:MIOpen`` and lower case are understood.

    Raises `ValueError` with those that `backend` has.

    >>> known_part("AMDGPU", ":miopen", AMDGPU_PARTS)
    'MIOpen'
    """
    for part in parts:
        if part.lower() == name.removeprefix(":").lower():
            return part
    known = f"its parts are {', '.join(parts)}" if parts else "it is asked as a whole"
    raise ValueError(f"{backend} has no part called {name!r}; {known}")


def cupy_part(name: str) -> Functional:
    """Whether CuPy can use this library; a GPU is there."""
    if name in _GONE:
        return Functional(_GONE[name], installed=False)
    try:
        _load_and_ask((CUDA_PARTS | AMDGPU_PARTS)[name])
    except ImportError as error:
        return Functional(f"CuPy cannot load {name}: {_first_line(error)}", installed=False)
    except Exception as error:  # each of the libraries has errors of its own
        return Functional(f"{name} does not start: {_first_line(error)}")
    return Functional()


def pretended_part(name: str) -> Functional:
    """The same for a GPU that is only pretended: what no CuPy has is not there either."""
    return Functional(_GONE.get(name, ""), installed=name not in _GONE)


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _load_and_ask(name: str) -> Any:
    """Raises what the library raises. Some are loaded only when they are asked for something."""
    import cupy

    try:
        library = getattr(cupy.cuda, name)
    except AttributeError:
        library = importlib.import_module(f"cupy_backends.cuda.libs.{name}")
    handle = getattr(cupy.cuda.device, f"get_{name}_handle", None)
    version = getattr(library, "getVersion", None) or getattr(library, "get_version", None)
    return handle() if handle else version() if version else None
