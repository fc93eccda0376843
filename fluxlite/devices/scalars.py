"""Reading single numbers from a GPU: allow it, forbid it, or point it out (CUDA.jl: ``allowscalar``).

``float(loss)``, ``x[0].item()`` and ``if loss < 1:`` copy one number to the host, and wait for all earlier work.
Once per epoch, that's nothing. Once per element, it's the slowest way to use a GPU.
"""

from typing import Any

from ..messages import check_bool, in_notebook, notice
from .base import GPU
from .cupy.device import forbid_waits
from .cupy.usable import usable

_CONDITION = "a condition, such as if x:,"
_READS = {"float": "float(x)", "int": "int(x)", "complex": "complex(x)", "bool": _CONDITION, "item": "x.item()"}


class _State:
    allowed: bool | None = None  # None until `allowscalar` is called


def allowscalar(allow: bool = True) -> "AllowScalar":
    """Allow or forbid reading single numbers from a GPU, from now on or inside ``with allowscalar(…):``.

    If it's forbidden, ``float(x)``, ``int(x)``, ``bool(x)``, ``if x`` and ``x.item()`` of a device array raise
    `RuntimeError` with the line to change; `cpu` stays allowed. Until you call this, a notebook points out the first
    such read. On CUDA, CuPy does the check, for this thread only, and points out nothing (CUDA.jl: ``allowscalar``).
    """
    check_bool("allowscalar(allow)", allow)
    before = AllowScalar(_State.allowed)
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
        return f"scalar reads are {'forbidden' if _State.allowed is False else 'allowed'}"


def _set(allowed: bool | None) -> None:
    _State.allowed = allowed
    if usable("CUDA") or usable("AMDGPU"):
        forbid_waits(allowed is False)


def _check_read(device: Any, name: str) -> None:
    """Called before a read from an array on `device`: raises if `name` reads one number and that's forbidden."""
    is_new = _State.allowed is None and in_notebook()
    if name not in _READS or not is_new and _State.allowed is not False:
        return
    from .simulated import users_line

    what = f"{_READS[name]} reads one number from {device} and waits for"
    if is_new:
        notice(
            "scalar read",
            f"{what} everything before it ({users_line()}). Said once; allowscalar(False) makes an error of it, "
            "allowscalar(True) ends this.",
        )
    else:
        raise RuntimeError(
            f"{what} it, which allowscalar(False) forbids: {users_line()}\nKeep the number on the device and read it "
            "once, after the loop; or allow it here: with allowscalar(True):"
        )


GPU._reads = _check_read  # type: ignore[method-assign, assignment]
