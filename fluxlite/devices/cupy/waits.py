"""Waiting for a CuPy GPU: what listens, and who forbids it.

CuPy says in one place that it's going to wait, before it copies to the host: `_declare_synchronize`, a function of
Python's. There, `allowscalar(False)` makes it raise, except where a program asks for the wait explicitly. We listen in
the same place, so that receipts know of ``float(loss)`` on a real GPU too. If a CuPy has no such place, they don't.
"""

from __future__ import annotations

import contextlib
import functools
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

on_wait: list[Callable[[], None]] = []  # called before each wait that the program didn't ask for explicitly


class _State:
    """CuPy's own check, while it's on."""

    forbidden: Any = None


class _Ours(threading.local):
    """How many of our own explicit waits this thread is inside of."""

    depth = 0


_ours = _Ours()


def forbid() -> None:
    """From now on, every wait raises `cupyx.DeviceSynchronized` in this thread."""
    _State.forbidden = _allow_synchronize(False)
    _State.forbidden.__enter__()


def allow() -> None:
    """Undo `forbid`, if it was called."""
    if _State.forbidden is not None:
        _State.forbidden.__exit__(None, None, None)
        _State.forbidden = None


@contextlib.contextmanager
def waiting() -> Iterator[None]:
    """``with waiting():`` goes around our own explicit waits, which are never forbidden, and told elsewhere."""
    _ours.depth += 1
    try:
        with contextlib.nullcontext() if _State.forbidden is None else _allow_synchronize(True):
            yield
    finally:
        _ours.depth -= 1


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


@functools.cache
def listen() -> None:
    """From now on, hear of CuPy's waits, if it says where they are."""
    try:
        from cupy._core import syncdetect
    except ImportError:  # it's CuPy's own module: another version may not have it
        return
    declared = getattr(syncdetect, "_declare_synchronize", None)
    if declared is None:
        return

    def told() -> None:
        declared()
        if not _ours.depth:
            for hear in on_wait:
                hear()

    syncdetect._declare_synchronize = told
