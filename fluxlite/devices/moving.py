"""What ``gpu(model)`` does: it walks the tree and moves each leaf to its device."""

from __future__ import annotations

import functools
import io
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import arrays
from ..arguments import in_words
from ..messages import notice, warn
from ..tensors import refuse_tensor
from ..tree.ties import is_array, is_tracked, overlaps
from ..tree.walks import KeyPath, fmap_with_path
from .unmoved import explain_unmoved

# It shows up in signatures, so it says what it stands for.
DEFAULT = "Float32 for Float64"


def moved(device: Any, x: Any, dtype: Any = DEFAULT) -> Any:
    """`x` with all its arrays on `device`. This is `Device.__call__`."""
    trip = _Trip(device, dtype if dtype is DEFAULT or dtype is None else type_of_numbers(dtype))
    if _moves(x):
        return trip.array(KeyPath(), x)
    result = fmap_with_path(trip.leaf, x)
    _warn_of_overlaps(trip.departed)
    return result


def type_of_numbers(dtype: Any) -> np.dtype:
    try:
        return np.dtype(dtype)
    except (TypeError, ValueError, RecursionError):
        raise TypeError(f"dtype=… is a type of numbers, such as np.float16, or None, got {in_words(dtype)}") from None


def _moves(x: Any) -> bool:
    """Whether `x` is an array, possibly one that's tracked for a gradient."""
    return is_array(x) or is_tracked(x)


class _Trip:
    """One move of one tree."""

    def __init__(self, device: Any, dtype: Any) -> None:
        self.device, self.dtype = device, dtype
        self.departed: list[tuple[KeyPath, np.ndarray]] = []

    def leaf(self, path: KeyPath, x: Any) -> Any:
        return self.array(path, x) if _moves(x) else send(x, self.device, self.dtype, path)

    def array(self, path: KeyPath, x: Any) -> Any:
        dtype = self._dtype_for(path, x.dtype)
        result = arrays.move(x, self.device, None if dtype == x.dtype else dtype)
        if result is not x and isinstance(x, np.ndarray):
            self.departed.append((path, x))
        return result

    def _dtype_for(self, path: KeyPath, dtype: np.dtype) -> np.dtype:
        if self.dtype is None:
            return dtype
        if self.dtype is not DEFAULT:
            return self.dtype if dtype.kind == "f" else dtype
        usual = self.device.usual_dtypes.get(dtype, dtype)
        if usual != dtype:
            notice(
                "precision",
                "Float64 arrays become Float32 on their way to a GPU, which computes with those much faster; "
                "gpu(x, dtype=None) keeps them as they are.",
            )
        return usual


@functools.singledispatch
def send(x: Any, device: Any, dtype: Any, path: KeyPath) -> Any:
    """Move a leaf that isn't an array to `device`: one method per type. `path` is where it is in the tree.

    Most leaves work on any device. An object that holds arrays and can't be walked stays, and we say so; likewise what
    a function reads. Raises `TypeError` for a tensor of another library.
    """
    refuse_tensor(f"a move to {device}{f', at {path},' if path else ''}", x)
    explain_unmoved(x, device, path)
    return x


@send.register(str)
@send.register(int)
@send.register(float)
@send.register(complex)
@send.register(bytes)
@send.register(type(None))
@send.register(np.generic)
@send.register(np.ufunc)
@send.register(np.dtype)
@send.register(range)
@send.register(slice)
@send.register(type)
@send.register(types.ModuleType)
@send.register(types.BuiltinFunctionType)
@send.register(io.IOBase)
def _stays(x: Any, device: Any, dtype: Any, path: KeyPath) -> Any:
    return x


@send.register(Iterator)
def _send_iterator(x: Any, device: Any, dtype: Any, path: KeyPath) -> Any:
    place = f" at {path}" if path else ""
    raise TypeError(
        f"a {type(x).__name__}{place} cannot be moved to {device}: its values do not exist yet. What can be moved: "
        "arrays, registered models, and tuples, lists and dicts of them. Move each value: map(gpu, values)."
    )


def _warn_of_overlaps(departed: list[tuple[KeyPath, np.ndarray]]) -> None:
    """Warn, in one line, of arrays that shared memory before the move and don't after it. Tied arrays move as one.

    Whole numbers are data, such as windows of a text, which nothing changes.
    """
    pairs = list(overlaps((path, x) for path, x in departed if x.dtype.kind in "fc"))
    if pairs:
        (first, second), more = pairs[0], len(pairs) - 1
        others = f", as {more:,} more {'pair does' if more == 1 else 'pairs do'}" if more else ""
        warn(
            ("overlap", str(first), str(second)),
            f"{first} and {second} share memory{others}, and no longer do after the move: a change in one won't "
            "show in the other. Keep one of them, and compute the other where you use it.",
        )
