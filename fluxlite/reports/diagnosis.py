"""`doctor()`: which device is used here and why, the state of each backend, and how to install what's missing."""

import os
import platform
import sys
from collections.abc import Iterator

import numpy as np

from ..devices import selection
from ..devices.base import SETTINGS, current
from ..devices.cupy.usable import INSTALL, OPTIONAL_PARTS
from ..devices.named import functional
from ..devices.selection import backends, choose, why_no_gpu

# What each kind of GPU takes: its library's module and name, and how to get it.
_CUDA = 'an NVIDIA GPU with its driver (nvidia.com/drivers), and pip install "cupy-cuda12x[ctk]" or "cupy-cuda13x[ctk]"'
_LIBRARIES = {
    "CUDA": ("cupy", "CuPy", _CUDA),
    "AMDGPU": ("cupy", "CuPy", "an AMD GPU with ROCm 7 (rocm.docs.amd.com), and pip install cupy-rocm-7-0"),
    "Metal": ("mlx.core", "MLX", "a Mac with Apple's own processor, and pip install mlx"),
}


class Report(str):
    """Text that prints as it is when it's the value of a notebook cell or after ``>>>``."""

    __repr__ = str.__str__


def doctor() -> Report:
    """A report on this computer's GPUs, as text: which one `gpu` uses and why, and what the others lack.

    You can also run ``python -m fluxlite doctor``. Flux has no such function; CUDA.jl's is ``CUDA.versioninfo()``.
    """
    rows = list(_rows())
    width = 2 + max(len(name) for name, _ in rows)
    return Report("\n".join(f"{name:<{width}}" + text.replace("\n", "\n" + " " * width) for name, text in rows))


def _rows() -> Iterator[tuple[str, str]]:
    from .. import __version__

    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    yield "fluxlite", f"{__version__}, NumPy {np.__version__}, {system}"
    choice = choose()
    device = None if choice.backend == "CPU" else current(backends()[choice.backend].devices())
    yield "gpu uses", f"{'the CPU' if device is None else f'{device!r}, {device.name}'}: {choice.why}"
    if choice.warning:
        yield "warning", choice.warning
    if device is None:
        yield "because", why_no_gpu()
    for name in backends():
        yield name, "\n".join(_state_of(name))
    for name in (selection.VARIABLE, selection.FOLDER_VARIABLE, "CUDA_VISIBLE_DEVICES"):
        yield name, os.environ.get(name, "not set")
    for name in ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        if name in os.environ:
            yield name, os.environ[name]
    yield selection.FILE, _preference()


def _state_of(name: str) -> Iterator[str]:
    """Whether the library is installed, its version, and whether it works; if not, why, and how to get it."""
    answer, (module, library, how) = functional(name), _LIBRARIES.get(name, ("", "", ""))
    version = getattr(sys.modules.get(module), "__version__", "")  # it was imported when `functional` tried
    told = f" ({library} {version})" * bool(version and answer.installed and not SETTINGS.pretended)
    yield f"functional{told}" if answer else f"not functional: {answer.reason}{told * (version not in answer.reason)}"
    if name != "CPU":
        yield from (f"{device!r}  {device.name}" for device in backends()[name].devices())
    if answer and name in INSTALL and not SETTINGS.pretended:  # it computes here, but not with all its libraries
        parts = {part: functional(name, part) for part in backends()[name].parts if part not in OPTIONAL_PARTS}
        missing = [f"without {part}: {answer.reason}" for part, answer in parts.items() if not answer]
        yield from missing and [*missing, f"they come with {INSTALL[name]}"]
    elif not answer and how:
        yield f"it takes {how}"


def _preference() -> str:
    path, stored = selection.preference_file(), selection.stored_backend()
    if SETTINGS.pretended:
        return f"pretended: {stored}"
    if not os.path.exists(path):
        return f"none; gpu_backend(name) would write {path}"
    return f"{path}\n[fluxlite] {f'gpu_backend = {stored}' if stored else 'has no gpu_backend'}"
