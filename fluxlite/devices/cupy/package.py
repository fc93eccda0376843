"""What we can learn about an installed CuPy without importing it. The import takes 180 MB in every lesson's kernel."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import sys
from typing import NamedTuple


class Package(NamedTuple):
    """The backend that a CuPy package is for, and its version."""

    backend: str
    version: str


def of_no_use(backend: str) -> Package | None:
    """The installed package if it clearly can't use this backend's GPU, otherwise None. It isn't imported to find out.

    Either it's for the other maker's GPUs, or there's no NVIDIA driver.
    """
    package = _not_imported()
    if package is None or (package.backend == backend and (backend != "CUDA" or _nvidia_driver())):
        return None
    return package


def _not_imported() -> Package | None:
    """The installed package. None if CuPy is imported already, or if only an import can tell."""
    spec = None if "cupy" in sys.modules else importlib.util.find_spec("cupy")
    if spec is None or not spec.origin:
        return None
    from pathlib import Path  # takes 4 ms, which a program without CuPy can save

    names = (path.name for path in Path(spec.origin).parents[1].glob("cupy_*.dist-info"))
    found = [match for name in names if (match := re.fullmatch(r"cupy_(cuda|rocm)\w*-(.+)\.dist-info", name))]
    if len(found) != 1:  # built from source, from conda-forge, or several packages that overwrote each other
        return None
    return Package({"cuda": "CUDA", "rocm": "AMDGPU"}[found[0][1]], found[0][2])


def _nvidia_driver() -> bool:
    """Whether the NVIDIA driver's library can be loaded. CuPy checks the same way."""
    try:
        ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return False
    return True
