"""Waiting for a GPU of CuPy's: `allowscalar(False)` lets CuPy forbid it, except where a program asks for it by name."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any


class _State:
    """CuPy's own prohibition, while it is in force."""

    forbidden: Any = None


def forbid() -> None:
    """From now on every wait raises `cupyx.DeviceSynchronized`, in this thread."""
    _State.forbidden = _allow_synchronize(False)
    _State.forbidden.__enter__()


def allow() -> None:
    """The end of what `forbid` did, if it did."""
    if _State.forbidden is not None:
        _State.forbidden.__exit__(None, None, None)
        _State.forbidden = None


def waiting() -> Any:
    """``with waiting():`` around a wait of our own, which is asked for by name and so never forbidden."""
    return contextlib.nullcontext() if _State.forbidden is None else _allow_synchronize(True)


@contextlib.contextmanager
def _allow_synchronize(allow: bool) -> Iterator[None]:
    import cupyx

    context = cupyx.allow_synchronize(allow)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that it is deprecated; there is nothing else
        context.__enter__()
    try:
        yield
    finally:
        context.__exit__(None, None, None)
