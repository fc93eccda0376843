"""Reading single numbers from a GPU: allow it, forbid it, or point it out (CUDA.jl: ``allowscalar``).

``float(loss)``, ``x[0].item()`` and ``if loss < 1:`` copy one number to the host, and wait for all earlier work.
Once per epoch, that's nothing. Once per element, it's the slowest way to use a GPU.
"""

from __future__ import annotations

from typing import Any

from ..arguments import check_bool
from ..messages import in_notebook, notice
from .base import checks_of_reads
from .cupy import device as cupy
from .cupy import waits

_READS = {
    "float": "float(x)",
    "int": "int(x)",
    "complex": "complex(x)",
    "bool": "a condition, such as if x:,",
    "item": "x.item()",
}


def _users_line() -> str:
    from .simulated import users_line

    return users_line()


class _State:
    """The latest setting; None until `allowscalar` is called."""

    allowed: bool | None = None


def allowscalar(allow: bool = True) -> AllowScalar:
    """Allow or forbid reading single numbers from a GPU, from now on or inside ``with allowscalar(…):``.

    If it's forbidden, ``float(x)``, ``int(x)``, ``bool(x)``, ``if x`` and ``x.item()`` of a device array raise
    `RuntimeError` with the line to change. `cpu` stays allowed, since you write it knowing what it costs. Until you
    call this, scripts may read freely, and a notebook points out the first such read. On CUDA, CuPy does the check:
    it's deprecated there, and applies to this thread only (CUDA.jl: ``allowscalar``).

    >>> with fl.simulate_gpu(), allowscalar(False):
    ...     x = fl.gpu(np.ones(3, np.float32))
    ...     float(x.sum())
    Traceback (most recent call last):
    RuntimeError: float(x) reads one number from Simulated:0 and waits for it, ...
    """
    check_bool("allowscalar(allow)", allow)
    result = AllowScalar(_State.allowed)
    _set(bool(allow))
    return result


class AllowScalar:
    """What `allowscalar` returns. At the end of its ``with`` block, the earlier setting comes back."""

    def __init__(self, before: bool | None) -> None:
        self._before = before

    def __enter__(self) -> AllowScalar:
        return self

    def __exit__(self, *exc_info: Any) -> None:
        _set(self._before)

    def __repr__(self) -> str:
        return f"scalar reads are {'forbidden' if _State.allowed is False else 'allowed'}"


def scalar_read(name: str, device: Any) -> None:
    """Called before a read from an array on `device`: raises if `name` reads one number and that's forbidden."""
    if name not in _READS:
        return
    if _State.allowed is False:
        raise RuntimeError(
            f"{_READS[name]} reads one number from {device} and waits for it, which allowscalar(False) forbids: "
            f"{_users_line()}\nKeep the number on the device and read it once, after the loop; or allow it here: "
            "with allowscalar(True):"
        )
    if _State.allowed is None and in_notebook():
        notice(
            "scalar read",
            f"{_READS[name]} reads one number from {device} and waits for everything before it ({_users_line()}). "
            "Said once; allowscalar(False) makes an error of it, allowscalar(True) ends this.",
        )


def _read_on_a_real_gpu() -> None:
    """CuPy is about to copy to the host. It doesn't say what asked for that."""
    if _State.allowed is None and in_notebook():
        notice(
            "scalar read",
            f"this line reads from the GPU and waits for everything before it ({_users_line()}). Said once; "
            "allowscalar(False) makes an error of it, allowscalar(True) ends this.",
        )


checks_of_reads.append(scalar_read)
waits.on_wait.append(_read_on_a_real_gpu)


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
