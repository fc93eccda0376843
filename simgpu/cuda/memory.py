"""CuPy's memory pools. Here, all of them stand for the one that a simulated card has: `simgpu.memory.Pool`."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ..device import current
from ..memory import OutOfMemoryError  # noqa: F401
from ..surface import getter, lister


class MemoryPool:
    """The memory of the current card, in bytes: what's in use, and what's kept for new arrays.

    As in CuPy, only `free_all_blocks` gives memory back to the card. Here, all pools are one, and no piece is too small
    to be used again.

    >>> pool = MemoryPool()
    >>> pool.free_bytes() == pool.total_bytes() - pool.used_bytes()
    True
    """

    def used_bytes(self) -> int:
        return current().pool.used

    def total_bytes(self) -> int:
        if _allocator is None:
            return self.used_bytes()
        return current().pool.held

    def free_bytes(self) -> int:
        return self.total_bytes() - self.used_bytes()

    def n_free_blocks(self) -> int:
        return int(self.free_bytes() > 0)

    def free_all_blocks(self, stream: Any = None) -> None:
        """Give back what isn't in use, whichever stream used it."""
        current().pool.held = current().pool.used

    def set_limit(self, size: int | None = None, fraction: float | None = None) -> None:
        """Use at most `size` bytes of the current card, or this fraction of its memory. None or 0: all of it."""
        pool = current().pool
        if None not in (size, fraction) or (size or 0) < 0 or not 0 <= (fraction or 0) <= 1:
            raise ValueError(f"set_limit takes a size or a fraction of 0 to 1, got size={size}, fraction={fraction}")
        pool.limit = min(size or int((fraction or 1) * pool.capacity), pool.capacity)

    def get_limit(self) -> int:
        """The limit in bytes, 0 if there's none."""
        pool = current().pool
        if pool.limit == pool.capacity:
            return 0
        return pool.limit

    def malloc(self, size: int) -> Any:
        """For `set_allocator`. Called by itself, it raises `NotImplementedError`."""
        raise NotImplementedError("MemoryPool.malloc isn't simulated: there's no memory with addresses")


class PinnedMemoryPool:
    """Pinned memory: ``np.frombuffer(pool.malloc(nbytes), dtype)``. Here it's like any other, and none is kept."""

    malloc = staticmethod(bytearray)
    n_free_blocks = staticmethod(lambda: 0)
    free_all_blocks = staticmethod(lambda: None)


_pool, _pinned_pool = MemoryPool(), PinnedMemoryPool()
_allocator: Callable | None = _pool.malloc
alloc_pinned_memory = _pinned_pool.malloc


def get_default_memory_pool() -> MemoryPool:
    """The pool of memory on the devices, with what's used, kept and limited: ``used_bytes()``, ``set_limit(…)``."""
    return _pool


def get_default_pinned_memory_pool() -> PinnedMemoryPool:
    """The pool of pinned memory on the host."""
    return _pinned_pool


def get_allocator() -> Callable | None:
    return _allocator


def set_allocator(allocator: Callable | None = None) -> None:
    """Use ``pool.malloc``, or None to keep nothing. Raises `NotImplementedError` for any other function."""
    global _allocator
    if allocator is not None and not isinstance(getattr(allocator, "__self__", None), MemoryPool):
        raise NotImplementedError("set_allocator(…) takes a MemoryPool's malloc, or None: nothing else is simulated")
    _allocator = allocator


@contextlib.contextmanager
def using_allocator(allocator: Callable | None = None) -> Iterator[None]:
    """`set_allocator` for this block."""
    earlier = get_allocator()
    set_allocator(allocator)
    try:
        yield
    finally:
        set_allocator(earlier)


def set_pinned_memory_allocator(allocator: Callable | None = None) -> None:
    """Makes no difference: there's one kind of pinned memory."""


__getattr__ = getter(__name__)
__dir__ = lister(__name__)
