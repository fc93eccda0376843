"""What a GPU does in silence, or refuses to compile: each an error with the kernel, the block, the thread and the
line."""

from __future__ import annotations


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
