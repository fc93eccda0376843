"""`doctor()`: which device is used here and why, the state of each backend, and how to install what's missing."""

from __future__ import annotations

import os
from typing import Any

from ..devices import preferences
from ..devices.base import CHOICE, current
from ..devices.choosing import backends, choose, functional
from ..devices.cupy.usable import NEEDS, OPTIONAL_PARTS
from ..devices.selection import why_no_gpu

# The library for each kind of GPU, and how to install it.
_LIBRARIES = {"CUDA": "cupy", "AMDGPU": "cupy", "Metal": "mlx.core"}
_NAMES = {"cupy": "CuPy", "mlx.core": "MLX"}
_HOW = {
    "CUDA": (
        'an NVIDIA GPU with its driver (nvidia.com/drivers), and pip install "cupy-cuda12x[ctk]" or "cupy-cuda13x[ctk]"'
    ),
    "AMDGPU": "an AMD GPU with ROCm 7 (rocm.docs.amd.com), and pip install cupy-rocm-7-0",
    "Metal": "a Mac with Apple's own processor, and pip install mlx",
}
_VARIABLES = (preferences.VARIABLE, preferences.FOLDER_VARIABLE, "CUDA_VISIBLE_DEVICES")
_OTHERS = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")  # mentioned only if they're set


class Report(str):
    """Text that prints as it is when it's the value of a notebook cell or after ``>>>``."""

    def __repr__(self) -> str:
        return str(self)


def doctor() -> Report:
    """A report on this computer's GPUs, as text: which one `gpu` uses and why, and what the others lack.

    You can also run ``python -m fluxlite doctor``. Flux has no such function; CUDA.jl's is ``CUDA.versioninfo()``.

    >>> with fl.pretend(CUDA="no driver", preference="AMDGPU"):
    ...     print(doctor().splitlines()[1])
    gpu uses   the CPU: no GPU is functional
    """
    choice = choose()
    rows = [("fluxlite", _versions()), ("gpu uses", _in_use(choice))]
    rows += [("warning", text) for level, text in choice.lines if level == "Warning"]
    rows += [("because", why_no_gpu())] if choice.backend == "CPU" else []
    rows += [(name, _state_of(name)) for name in backends()]
    rows += [(name, os.environ.get(name, "not set")) for name in _VARIABLES]
    rows += [(name, os.environ[name]) for name in _OTHERS if name in os.environ]
    rows.append((preferences.FILE, _preference()))
    width = 2 + max(len(name) for name, _ in rows)
    return Report("\n".join(_row(name, text, width) for name, text in rows))


def _row(name: str, text: str, width: int) -> str:
    return f"{name:<{width}}" + text.replace("\n", "\n" + " " * width)


def _versions() -> str:
    import platform

    import numpy

    from .. import __version__

    system = f"{platform.system()} {platform.machine()}"
    return f"{__version__}, NumPy {numpy.__version__}, Python {platform.python_version()}, {system}"


def _in_use(choice: Any) -> str:
    if choice.backend == "CPU":
        return f"the CPU: {choice.why}"
    device = current(backends()[choice.backend].devices())
    return f"{device!r}, {getattr(device, 'name', '')}: {choice.why}"


def _state_of(name: str) -> str:
    """Whether the library is installed, its version, and whether it works; if not, why, and how to get it."""
    answer = functional(name)
    devices = backends()[name].devices()
    version = _version(name)
    told = answer.reason + ("" if version.strip(" ()") in answer.reason else version)  # already there?
    lines = [f"functional{version}" if answer else f"not functional: {told}"]
    if name != "CPU":
        lines += [f"{device!r}  {device.name}" for device in devices]
    if answer:
        lines += _without(name)
    elif name in _HOW:
        lines.append(f"it takes {_HOW[name]}")
    return "\n".join(lines)


def _without(name: str) -> list[str]:
    """What computes here, but not with all its libraries: which are missing, and what brings them."""
    if CHOICE.pretended or name not in NEEDS:
        return []
    parts = {part: functional(name, part) for part in backends()[name].parts if part not in OPTIONAL_PARTS}
    missing = [f"without {part}: {answer.reason}" for part, answer in parts.items() if not answer]
    return missing and [*missing, f"they come with {NEEDS[name].install}"]


def _version(name: str) -> str:
    """The library's version, if it's installed and could be imported when `functional` tried."""
    import sys

    library = sys.modules.get(_LIBRARIES.get(name, ""))
    if library is None or CHOICE.pretended or not functional(name).installed:
        return ""
    return f" ({_NAMES[_LIBRARIES[name]]} {getattr(library, '__version__', '')})"


def _preference() -> str:
    stored = preferences.stored_backend()
    if CHOICE.pretended:
        return f"pretended: {stored}"
    path = preferences.preference_file()
    if not os.path.exists(path):
        return f"none; gpu_backend(name) would write {path}"
    return f"{path}\n[fluxlite] {f'gpu_backend = {stored}' if stored else 'has no gpu_backend'}"
