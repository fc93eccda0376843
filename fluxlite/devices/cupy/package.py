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
    found = None if "cupy" in sys.modules else _installed()
    return found and Package({"cuda": "CUDA", "rocm": "AMDGPU"}[found["maker"]], found["version"])


def name() -> str | None:
    """The installed package as pip calls it, such as ``cupy-cuda13x``. None if we can't tell."""
    found = _installed()
    return found and found["name"].replace("_", "-")


def _installed() -> re.Match[str] | None:
    spec = importlib.util.find_spec("cupy")
    if spec is None or not getattr(spec, "origin", None):
        return None
    from pathlib import Path  # takes 4 ms, which a program without CuPy can save

    pattern = re.compile(r"(?P<name>cupy_(?P<maker>cuda|rocm)\w*)-(?P<version>.+)\.dist-info")
    names = (path.name for path in Path(spec.origin or "").parents[1].glob("cupy_*.dist-info"))
    found = [match for name in names if (match := pattern.fullmatch(name))]
    # More than one overwrote each other. None: built from source, or from conda-forge.
    return found[0] if len(found) == 1 else None


def _nvidia_driver() -> bool:
    """Whether the NVIDIA driver's library can be loaded. CuPy checks the same way."""
    try:
        ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return False
    return True
