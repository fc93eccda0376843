"""Waiting for a CuPy GPU: `allowscalar(False)` makes CuPy forbid it, except where a program asks for it explicitly."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any


class _State:
    """CuPy's own check, while it's on."""

    forbidden: Any = None


def forbid() -> None:
    """From now on, every wait raises `cupyx.DeviceSynchronized` in this thread."""
    _State.forbidden = _allow_synchronize(False)
    _State.forbidden.__enter__()


def allow() -> None:
    """Undo `forbid`, if it was called."""
    if _State.forbidden is not None:
        _State.forbidden.__exit__(None, None, None)
        _State.forbidden = None


def waiting() -> Any:
    """``with waiting():`` goes around our own explicit waits, which are never forbidden."""
    return contextlib.nullcontext() if _State.forbidden is None else _allow_synchronize(True)


@contextlib.contextmanager
def _allow_synchronize(allow: bool) -> Iterator[None]:
    import cupyx

    context = cupyx.allow_synchronize(allow)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it's deprecated and says so, but nothing replaces it
        context.__enter__()
    try:
        yield
    finally:
        context.__exit__(None, None, None)
