"""An array's memory: who owns it, what's in it, and copies of it that NumPy treats as it treats the array."""

from typing import Any

import numpy as np

from ..array_kinds import array_kind
from ..tree.ties import on_card_of


def on_device(x: Any) -> bool:
    """Whether it's an array of a device that launches graphs."""
    if isinstance(x, np.ndarray):
        return False
    kind = array_kind(x)
    return kind is not None and kind.graph is not None


def is_real_array(x: Any) -> bool:
    """Whether it's an array that a program computes with, NumPy's or a device's, and not what stands in for one."""
    return type(x) is np.ndarray or on_device(x)


def values_of(x: Any) -> np.ndarray:
    """The numbers in an array. Those of a simulated GPU are in the host's memory, too."""
    if isinstance(x, np.ndarray):
        return x
    return x.in_memory()


def root_of(x: Any) -> np.ndarray:
    """The array that owns the memory of `x`: `x` itself, or what it views."""
    x = values_of(x)
    base: Any = x.base
    while base is not None:
        if type(base) in (np.ndarray, np.memmap):
            x = base
        base = getattr(base, "base", None)  # NumPy puts an object of its own between a window and its array
    return x


def are_one(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether two arrays are views of the same numbers."""
    return values_of(x).__array_interface__ == values_of(y).__array_interface__


def copy_in_order(x: np.ndarray) -> np.ndarray:
    """A copy with the strides of `x`, so that NumPy adds up in the same order."""
    copy = np.empty_like(x)
    if copy.strides != x.strides and x.size:
        low, high = np.lib.array_utils.byte_bounds(x)
        memory = np.empty(high - low, np.uint8)
        offset = x.__array_interface__["data"][0] - low
        copy = np.ndarray(x.shape, x.dtype, memory, offset, x.strides)
    copy[...] = x
    return copy


def own_copy(x: Any, is_number: bool = False) -> Any:
    """A copy that's the caller's own, as the step would have given it: a number of NumPy's, or in the same order."""
    if is_number:
        return x[()]
    how = way_to_copy(x)
    if how is None:
        copy = copy_in_order(x)
        copy.flags.writeable = not _repeats(x)
        return copy
    with on_card_of(x):
        return x.copy(how)


def way_to_copy(x: Any) -> str | None:
    """The `order` with which NumPy makes a copy that has the strides of `x`; None if there's none."""
    if x.flags.c_contiguous:
        return "C"
    if on_device(x) or np.empty_like(x).strides == x.strides:
        return "K"
    return None


def _repeats(x: np.ndarray) -> bool:
    """Whether several elements are one number in memory, as np.broadcast_to gives: such an array is read-only."""
    return any(step == 0 and length > 1 for step, length in zip(x.strides, x.shape))


def fingerprint(x: np.ndarray) -> bytes:
    """Equal for the same bytes."""
    import hashlib  # which takes a while, and isn't needed before a step is recorded

    return hashlib.blake2b(x.tobytes(), digest_size=16).digest()


def arrays_in(x: Any) -> list[np.ndarray]:
    """The arrays in nested tuples, lists and dicts."""
    return list(filter(is_real_array, innermost(x)))


def innermost(x: Any) -> list:
    """What's in nested tuples, lists and dicts: the outer parts first."""
    found = []
    waiting = [x]
    for part in waiting:  # which gets longer meanwhile
        if isinstance(part, (tuple, list)):
            waiting += part
        elif isinstance(part, dict):
            waiting += part.values()
        else:
            found.append(part)
    return found
