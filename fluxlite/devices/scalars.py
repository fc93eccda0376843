"""Reading single numbers from a GPU: allowed, forbidden, or pointed out (CUDA.jl: ``allowscalar``).

``float(loss)``, ``x[0].item()`` and ``if loss < 1:`` copy one number to the host and wait for everything before it.
Once per epoch that is nothing, once per element it is the slowest way to use a GPU.
"""

from __future__ import annotations

from typing import Any

from ..messages import in_notebook, notice
from .cupy import device as cupy
from .cupy import waits
from .lines import users_line

_READS = {
    "float": "float(x)",
    "int": "int(x)",
    "complex": "complex(x)",
    "bool": "a condition, such as if x:,",
    "item": "x.item()",
}


class _State:
    """What was asked for last; None until somebody asks."""

    allowed: bool | None = None


def allowscalar(allow: bool = True) -> AllowScalar:
    """Allow or forbid reading single numbers from a GPU from now on; in ``with allowscalar(…):``, inside it.

    Forbidden, ``float(x)``, ``int(x)``, ``bool(x)``, ``if x`` and ``x.item()`` of a device array raise
    `RuntimeError` with the line to change; `cpu` stays allowed: whoever writes it knows what it costs. Until this
    is called scripts may do what they like, and a notebook's first read of this kind is pointed out. On CUDA the
    check is CuPy's, is deprecated there, and holds for this thread (CUDA.jl: ``allowscalar``).

    >>> with fl.simulate_gpu(), allowscalar(False):
    ...     x = fl.gpu(np.ones(3, np.float32))
    ...     float(x.sum())
    Traceback (most recent call last):
    RuntimeError: float(x) reads one number from Simulated:0 and waits for it, ...
    """
    result = AllowScalar(_State.allowed)
    _set(bool(allow))
    return result


class AllowScalar:
    """What `allowscalar` gives: can be used with ``with``, and then what was before comes back."""

    def __init__(self, before: bool | None) -> None:
        self._before = before

    def __enter__(self) -> AllowScalar:
        return self

    def __exit__(self, *exc_info: Any) -> None:
        _set(self._before)

    def __repr__(self) -> str:
        return f"scalar reads are {'forbidden' if _State.allowed is False else 'allowed'}"


def scalar_read(name: str, device: Any) -> None:
    """An array of `device` is about to be read: raise if `name` is a read of one number, and that is forbidden."""
    if name not in _READS:
        return
    if _State.allowed is False:
        raise RuntimeError(
            f"{_READS[name]} reads one number from {device} and waits for it, which allowscalar(False) forbids: "
            f"{users_line()}\nKeep the number on the device and read it once, after the loop; or allow it here: "
            "with allowscalar(True):"
        )
    if _State.allowed is None and in_notebook():
        notice(
            "scalar read",
            f"{_READS[name]} reads one number from {device} and waits for everything before it ({users_line()}). "
            "Said once; allowscalar(False) makes an error of it, allowscalar(True) ends this.",
        )


def _set(allowed: bool | None) -> None:
    _State.allowed = allowed
    waits.allow()
    if allowed is False and (cupy.cuda_functional() or cupy.amdgpu_functional()):
        waits.forbid()
        notice(
            "CuPy's waits",
            "on a real GPU CuPy checks this: there every wait raises cupyx.DeviceSynchronized, printing an array "
            "too, except that of cpu(x) and of synchronize().",
        )
