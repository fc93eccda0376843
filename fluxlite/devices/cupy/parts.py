"""The libraries that a GPU's arrays use. Each may be missing, so you can ask: ``functional("AMDGPU", "MIOpen")``."""

from __future__ import annotations

import importlib
from typing import Any

from ...arguments import in_words
from ..availability import Functional

# The maker's name for each library, and CuPy's, which is the same for NVIDIA and AMD.
CUDA_PARTS = {
    "cuBLAS": "cublas", "cuRAND": "curand", "cuFFT": "cufft", "cuSOLVER": "cusolver", "cuSPARSE": "cusparse",
    "NVRTC": "nvrtc", "NCCL": "nccl", "cuTENSOR": "cutensor", "cuDNN": "cudnn",
}  # fmt: skip
AMDGPU_PARTS = {
    "rocBLAS": "cublas", "rocRAND": "curand", "rocFFT": "cufft", "rocSOLVER": "cusolver", "rocSPARSE": "cusparse",
    "HIPRTC": "nvrtc", "RCCL": "nccl", "MIOpen": "cudnn",
}  # fmt: skip

# The guide asks about these, but no CuPy that we support has them.
_GONE = {
    "cuDNN": "CuPy works without cuDNN since its version 14, and fluxlite's layers do too",
    "MIOpen": "CuPy works without MIOpen, and fluxlite's layers do too",
}
# Computing on one GPU needs none of these, and CuPy's packages don't bring them.
OPTIONAL_PARTS = {*_GONE, "NCCL", "RCCL", "cuTENSOR"}


def known_part(backend: str, name: str, parts: dict[str, str]) -> str:
    """A library's name as its maker spells it. Julia's ``:MIOpen`` and lower case work too.

    Raises `ValueError`, which lists the ones that `backend` has.

    >>> known_part("AMDGPU", ":miopen", AMDGPU_PARTS)
    'MIOpen'
    """
    if not isinstance(name, str):
        raise TypeError(f"functional(part) takes the name of a library of {backend}, got {in_words(name)}")
    for part in parts:
        if part.lower() == name.removeprefix(":").lower():
            return part
    known = f"its parts are {', '.join(parts)}" if parts else "it is asked as a whole"
    raise ValueError(f"{backend} has no part called {in_words(name)}; {known}")


def cupy_part(name: str) -> Functional:
    """Whether CuPy can use this library, given that there's a GPU."""
    if name in _GONE:
        return Functional(_GONE[name], installed=False)
    try:
        _load_and_ask((CUDA_PARTS | AMDGPU_PARTS)[name])
    except ImportError as error:
        return Functional(f"CuPy cannot load {name}: {_first_line(error)}", installed=False)
    except Exception as error:  # each library raises its own errors
        return Functional(f"{name} does not start: {_first_line(error)}")
    return Functional()


def pretended_part(name: str) -> Functional:
    """The same for a pretended GPU: what no CuPy has isn't here either."""
    return Functional(_GONE.get(name, ""), installed=name not in _GONE)


def _first_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def _load_and_ask(name: str) -> Any:
    """Use the library once, since some are loaded only then. Raises whatever the library raises."""
    import cupy

    try:
        library = getattr(cupy.cuda, name)
    except AttributeError:
        library = importlib.import_module(f"cupy_backends.cuda.libs.{name}")
    handle = getattr(cupy.cuda.device, f"get_{name}_handle", None)
    version = getattr(library, "getVersion", None) or getattr(library, "get_version", None)
    return handle() if handle else version() if version else None
