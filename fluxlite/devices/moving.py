"""What ``gpu(model)`` does: each leaf of the tree moves to its device."""

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..annotations import Array, DType, LibraryArray, T, Tree
from ..arrays import device_of, move, refuse_tensor
from ..messages import notice, warn
from ..tree.flat import Flat, KeyPath, flatten
from ..tree.ties import is_array, is_tracked, overlaps
from ..tree.unreached import WITHOUT_ARRAYS, arrays_inside, shut_boxes
from ..tree.walks import check_open

DEFAULT = "float32 for float64"  # it shows up in signatures


def moved(device: Any, x: T, dtype: DType | None = DEFAULT) -> T:
    """`x` with all its arrays on `device`. This is `Device.__call__`."""
    wanted: Any = dtype
    if dtype is not None and dtype is not DEFAULT:
        wanted = np.dtype(dtype)
    flat = flatten(x)
    paths = functools.cache(flat.paths)
    made: list[Any] = []
    for number, leaf in enumerate(flat.leaves):
        try:
            if is_array(leaf) or is_tracked(leaf):
                made.append(_moved_array(device, leaf, wanted))
            elif isinstance(leaf, WITHOUT_ARRAYS):
                made.append(leaf)
            else:
                made.append(send(leaf, device, wanted, paths()[number]))
        except RuntimeError:
            check_open(flat, [number])
            raise
    _warn_of_overlaps(flat, made)
    return flat.results(made)[flat.root]


def _moved_array(device: Any, x: LibraryArray, wanted: Any) -> Array:
    dtype = x.dtype
    if wanted is DEFAULT:
        dtype = device.usual_dtypes.get(x.dtype, x.dtype)
    elif wanted is not None and dtype.kind == "f":
        dtype = wanted
    if wanted is DEFAULT and dtype != x.dtype:
        notice(
            "precision",
            "float64 arrays become float32 on their way to a GPU, which computes with those much faster; "
            "gpu(x, dtype=None) keeps them as they are.",
        )
    if dtype != x.dtype:
        return move(x, device, dtype)
    if is_tracked(x):
        return move(x, device, None)
    return device.receive(x)


@functools.singledispatch
def send(x: Tree, device: Any, dtype: Any, path: KeyPath) -> Tree:
    """Move a leaf that isn't an array, at `path`: one method per type.

    Most leaves work on any device. Arrays in an object that can't be walked, or in a function, stay: we say so once.
    """
    where = f", at {path}," if path else ""
    refuse_tensor(f"a move to {device}{where}", x)
    for key, place, value, why in shut_boxes(x, path):
        found = [inside for inside, array in arrays_inside(value, place) if device_of(array) != device]
        if found:
            notice(("unmoved", *key), f"{found[0] or type(x).__name__} was not moved to {device}: {why}")
    return x


@send.register(Iterator)
def _(x: Any, device: Any, dtype: Any, path: KeyPath) -> Any:
    where = f" at {path}" if path else ""
    raise TypeError(f"a {type(x).__name__}{where} can't be moved: write map(gpu, values)")


def _warn_of_overlaps(flat: Flat, made: list) -> None:
    """Warn, in one line, of arrays that shared memory before the move and don't after it. Tied arrays move as one.

    Whole numbers are data, such as windows of a text, which nothing changes.
    """
    leaves = enumerate(zip(flat.leaves, made))
    departed = [(i, x) for i, (x, y) in leaves if y is not x and type(x) is np.ndarray and x.dtype.kind in "fc"]
    if all(x.base is None for _, x in departed):  # each has memory of its own
        return
    pairs = list(overlaps(departed))
    if pairs:
        first, second = [flat.paths()[number] for number in pairs[0]]
        more = len(pairs) - 1
        others = ""
        if more == 1:
            others = ", as 1 more pair does"
        elif more:
            others = f", as {more:,} more pairs do"
        warn(
            ("overlap", str(first), str(second)),
            f"{first} and {second} share memory{others}, and no longer do after the move: a change in one won't "
            "show in the other. Keep one of them, and compute the other where you use it.",
        )
