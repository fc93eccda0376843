"""What a GPU does in silence, or refuses to compile: each an error with the kernel, the block, the thread and the
line."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class KernelError(Exception):
    """Something is wrong in a kernel. A real GPU would often say nothing, and give wrong numbers."""


class OutOfBounds(KernelError, IndexError):
    """An index outside of its array. A GPU doesn't check, and a negative index doesn't count from the end."""


class DataRace(KernelError):
    """Two threads meet at an element, at least one of them writes, and nothing says which comes first."""


class StuckBarrier(KernelError):
    """A barrier that some threads of the block never reach, so that the others wait forever."""


class NeverWritten(KernelError):
    """A value that's read before anything was written there."""


class TooMuch(KernelError, ValueError):
    """More threads, blocks or shared memory than a card has."""


class Endless(KernelError):
    """A loop that doesn't seem to end."""


class Refused(KernelError, TypeError):
    """What `cupyx.jit` wouldn't compile. The message says what to write instead."""


def without_our_lines(function: Callable) -> Callable:
    """An error about a kernel names its line: above that, show the user's launch, and no line of ours."""

    @functools.wraps(function)
    def called(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except (KernelError, TypeError) as error:
            if isinstance(error, KernelError) or str(error).startswith("kernel "):
                error.__traceback__ = None  # a bare raise then doesn't add this line either
            raise

    return called
