"""Reading single numbers from a GPU: allow it, forbid it, or point it out (CUDA.jl: ``allowscalar``).

``float(loss)`` and ``if loss < 1:`` copy one number to the host, and wait for all earlier work. Once per epoch, that's
nothing. Once per element, it's the slowest way to use a GPU.
"""

from typing import Any

from ..words import check_bool
from .base import SETTINGS, Change
from .cupy.device import forbid_waits
from .cupy.usable import usable


def allowscalar(allow: bool = True) -> "AllowScalar":
    """Allow or forbid reading single numbers from a GPU, from now on or inside ``with allowscalar(…):``.

    If it's forbidden, ``float(x)``, ``int(x)``, ``bool(x)``, ``if x`` and ``x.item()`` of a device array raise
    `RuntimeError` with the line to change; `cpu` stays allowed. Until you call this, a notebook points out the first
    such read. On CUDA, CuPy does the check, for this thread only, and points out nothing (CUDA.jl: ``allowscalar``).
    """
    check_bool("allowscalar(allow)", allow)
    made = AllowScalar(SETTINGS.scalar_reading, bool(allow))
    _tell_cupy()
    return made


class AllowScalar(Change):
    """What `allowscalar` returns. At the end of its ``with`` block, the earlier setting comes back."""

    def __exit__(self, *exc_info: Any) -> None:
        super().__exit__(*exc_info)
        _tell_cupy()

    def __repr__(self) -> str:
        if SETTINGS.scalar_reads is False:
            return "scalar reads are forbidden"
        return "scalar reads are allowed"


def _tell_cupy() -> None:
    if usable("CUDA") or usable("AMDGPU"):
        forbid_waits(SETTINGS.scalar_reads is False)
