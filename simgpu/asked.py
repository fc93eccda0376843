"""`Asked`: what one call asks of a GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """What one call asks of a GPU. Most ask for one kernel and nothing else."""

    kernels: int = 1
    memsets: int = 0  # memory set to zero, which takes no kernel
    copies: int = 0  # from one place in the card's memory to another, without a kernel
    uploads: tuple[int, ...] = ()  # the bytes of copies to the card that the program didn't ask for
    reads: tuple[int, ...] = ()  # the bytes of copies back, for which the host waits
    library: bool = False  # the first kernel comes from cuBLAS or CUB, and CuPy needs longer to ask for it

    def and_kernels(self, count: int) -> Asked:
        return self._replace(kernels=self.kernels + count)


NOTHING, ONE, BY_LIBRARY = Asked(0), Asked(1), Asked(1, library=True)


def understood(default: Any, entry: Callable, *args: Any, **kwargs: Any) -> Any:
    """What an entry of our tables says of a call, or the default if it doesn't understand the call.

    By then the call has its result. Counting mustn't break it.
    """
    try:
        return entry(*args, **kwargs)
    except Exception:
        return default
