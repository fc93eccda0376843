"""Reading single numbers from a GPU: allow it, forbid it, or point it out (CUDA.jl: ``allowscalar``).

``float(loss)`` and ``if loss < 1:`` copy one number to the host, and wait for all earlier work. Once per epoch, that's
nothing. Once per element, it's the slowest way to use a GPU.
"""

from typing import Any

from ..messages import check_bool
from .base import SETTINGS
from .cupy.device import forbid_waits
from .cupy.usable import usable


def allowscalar(allow: bool = True) -> "AllowScalar":
    """Allow or forbid reading single numbers from a GPU, from now on or inside ``with allowscalar(…):``.

    If it's forbidden, ``float(x)``, ``int(x)``, ``bool(x)``, ``if x`` and ``x.item()`` of a device array raise
    `RuntimeError` with the line to change; `cpu` stays allowed. Until you call this, a notebook points out the first
    such read. On CUDA, CuPy does the check, for this thread only, and points out nothing (CUDA.jl: ``allowscalar``).
    """
    check_bool("allowscalar(allow)", allow)
    before = AllowScalar(SETTINGS.scalar_reads)
    _set(bool(allow))
    return before


class AllowScalar:
    """What `allowscalar` returns. At the end of its ``with`` block, the earlier setting comes back."""

    def __init__(self, before: bool | None) -> None:
        self._before = before

    def __enter__(self) -> "AllowScalar":
        return self

    def __exit__(self, *exc_info: Any) -> None:
        _set(self._before)

    def __repr__(self) -> str:
        return f"scalar reads are {'forbidden' if SETTINGS.scalar_reads is False else 'allowed'}"


def _set(allowed: bool | None) -> None:
    SETTINGS.scalar_reads = allowed
    if usable("CUDA") or usable("AMDGPU"):
        forbid_waits(allowed is False)
