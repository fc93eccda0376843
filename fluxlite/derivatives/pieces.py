"""Arrays taken to pieces and put together in rarer ways than those of `shaping.py`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import of_type
from ..rules import composed
from ..tracked import TrackedArray, plain
from .elementwise import checked


@composed(np.rollaxis)
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    checked(np.rollaxis, a, axis, start)
    axis, start = axis % a.ndim, start + a.ndim if start < 0 else start
    return np.moveaxis(a, axis, start - 1 if axis < start else start)


@composed(np.rot90)
def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    checked(np.rot90, m, k, axes)
    if k % 4 == 0:
        return m
    if k % 4 == 2:
        return np.flip(m, axes)
    return np.flip(np.swapaxes(m, *axes), axes[0]) if k % 4 == 1 else np.swapaxes(np.flip(m, axes[0]), *axes)


@composed(np.tile)
def tile(A: Any, reps: Any) -> Any:  # noqa: N803  (NumPy's name)
    reps = (reps,) if np.ndim(reps) == 0 else tuple(reps)
    ndim = max(A.ndim, len(reps))
    shape, reps = (1,) * (ndim - A.ndim) + A.shape, (1,) * (ndim - len(reps)) + reps
    once = np.reshape(A, tuple(n for length in shape for n in (1, length)))
    often = np.broadcast_to(once, tuple(n for pair in zip(reps, shape, strict=True) for n in pair))
    return np.reshape(often, tuple(r * n for r, n in zip(reps, shape, strict=True)))


@composed(np.partition)
def partition(a: Any, kth: Any, axis: int | None = -1) -> Any:
    a, axis = (a, axis) if axis is not None else (np.ravel(a), -1)
    return np.take_along_axis(a, np.argpartition(plain(a), kth, axis=axis), axis)


@composed(np.kron)
def kron(a: Any, b: Any) -> Any:
    """Every element of `a` times all of `b`: one axis of each side by side, then joined."""
    ndim = max(np.ndim(a), np.ndim(b))
    rows = (1,) * (ndim - np.ndim(a)) + np.shape(a)
    columns = (1,) * (ndim - np.ndim(b)) + np.shape(b)
    blocks = np.reshape(a, tuple(n for length in rows for n in (length, 1)))
    blocks = blocks * np.reshape(b, tuple(n for length in columns for n in (1, length)))
    return np.reshape(blocks, tuple(m * n for m, n in zip(rows, columns, strict=True)))


@composed(np.full_like)
def full_like(a: Any, fill_value: Any, dtype: Any = None, *, shape: Any = None) -> Any:
    if not isinstance(fill_value, TrackedArray):
        return np.full_like(plain(a), fill_value, dtype, shape=shape)
    return np.broadcast_to(of_type(fill_value, dtype or a.dtype), np.shape(a) if shape is None else shape)


@composed(np.unique)
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Any:
    """Of equal elements the first gets the gradient."""
    _, index, *others = np.unique(plain(ar), True, return_inverse, return_counts, axis)
    values = np.take(ar, index, axis)
    found = (values, *([index] if return_index else []), *others)
    return found if len(found) > 1 else values
