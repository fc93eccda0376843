"""What can be told of an installed CuPy without importing it, which takes 180 MB of every lesson's kernel."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import sys
from typing import NamedTuple


class Package(NamedTuple):
    """For which backend's GPUs a package of CuPy is, and its version."""

    backend: str
    version: str


def of_no_use(backend: str) -> Package | None:
    """The installed package if, without importing it, it is plain that it cannot use a GPU of this backend; else None.

    It is made for the other maker's GPUs, or there is no driver of NVIDIA's.
    """
    package = _not_imported()
    if package is None or (package.backend == backend and (backend != "CUDA" or _nvidia_driver())):
        return None
    return package


def _not_imported() -> Package | None:
    """The installed package; None if CuPy is imported already, or if only importing it can tell."""
    spec = None if "cupy" in sys.modules else importlib.util.find_spec("cupy")
    if spec is None or not spec.origin:
        return None
    from pathlib import Path  # 4 ms, which a program without CuPy need not pay

    names = (path.name for path in Path(spec.origin).parents[1].glob("cupy_*.dist-info"))
    found = [match for name in names if (match := re.fullmatch(r"cupy_(cuda|rocm)\w*-(.+)\.dist-info", name))]
    if len(found) != 1:  # built from source, or from conda-forge, or several that overwrote each other
        return None
    return Package({"cuda": "CUDA", "rocm": "AMDGPU"}[found[0][1]], found[0][2])


def _nvidia_driver() -> bool:
    """Whether the library of NVIDIA's driver can be loaded, as CuPy does it."""
    try:
        ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return False
    return True
