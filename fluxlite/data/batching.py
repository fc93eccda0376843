"""Turning observations into a batch, and a batch into observations (MLUtils: ``batch``, ``unbatch``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..arguments import explained, in_words
from ..arrays import device_of, on_card_of
from ..tensors import refuse_tensor
from ..tree.contract import children
from ..tree.ties import is_array
from ..tree.walks import KeyPath, steps

_NUMBERS = (bool, int, float, complex, np.generic)
_TEXT = (str, bytes)


@explained("several observations, such as a list")
def batch(observations: Iterable[Any]) -> Any:
    """Put observations into one batch, along a new first axis (MLUtils: ``batch``).

    Arrays are stacked on their device. Numbers become an array on the host. Tuples, named tuples and dicts become one
    of batches. A list counts as rows: ``[[1, 2], [3, 4]]`` becomes an array. Text stays a list.

    Raises `ValueError` for no observations or arrays of different shapes, and `TypeError` for observations of different
    kinds, or of a kind that no array can hold. The error names the place.

    >>> batch([(np.zeros(3), 1), (np.ones(3), 2)])
    (array([[0., 0., 0.],
           [1., 1., 1.]]), array([1, 2]))
    """
    if not isinstance(observations, Iterable):
        raise TypeError(f"batch(observations) takes several of them, such as a list, got {in_words(observations)}")
    together = list(observations)
    if not together:
        raise ValueError("a batch of no observations: its shape could not be known")
    try:
        return _together(together, KeyPath())
    except RecursionError:
        raise RecursionError(
            f"the parts of this {type(together[0]).__name__} are nested too deep for a batch"
        ) from None


def _together(together: list, path: KeyPath) -> Any:
    first = together[0]
    _check_kinds(together, path)
    if isinstance(first, (tuple, dict)):
        parts, rebuild = children(first)
        others = [children(one)[0] for one in together]
        keys = parts if isinstance(parts, dict) else range(len(parts))
        names = [name for name, _ in steps(first, parts)]
        made = [_together([other[key] for other in others], path + (name,)) for key, name in zip(keys, names)]
        return rebuild(dict(zip(keys, made)) if isinstance(parts, dict) else made)
    if isinstance(first, list):
        rows = [_row(number, one, path) for number, one in enumerate(together)]
        return rows if isinstance(rows[0], list) else _together(rows, path)
    if is_array(first):
        return _stacked(together, path)
    return list(together) if isinstance(first, _TEXT) else np.array(together)


def _row(number: int, elements: list, path: KeyPath) -> Any:
    try:
        return _together(elements, path + (number,)) if elements else np.zeros(0)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"observation {number}{_at(path)} is a list, and so taken for numbers of one array: for an observation of "
            f"several parts give a tuple. As an array it does not do: {error}"
        ) from None


def _stacked(arrays: list, path: KeyPath) -> Any:
    for number, x in enumerate(arrays):
        if x.shape != arrays[0].shape:
            raise ValueError(
                f"observation {number}{_at(path)} has shape {x.shape}, observation 0 has {arrays[0].shape}: a batch is "
                "one array. Pad them to one shape, or keep them apart: DataLoader(…, collate=False)."
            )
        if device_of(x) != device_of(arrays[0]):
            raise TypeError(
                f"observation {number}{_at(path)} is on {device_of(x)}, observation 0 on {device_of(arrays[0])}: move "
                "the batch instead of single observations, gpu(batch(…))"
            )
    with on_card_of(arrays[0]):
        return np.stack(arrays)


def _check_kinds(together: list, path: KeyPath) -> None:
    first = _kind(together[0])
    for number, one in enumerate(together):
        if _kind(one) != first:
            raise TypeError(
                f"observation {number}{_at(path)} is {_words(one)}, observation 0 is {_words(together[0])}: a batch is "
                "of one kind. DataLoader(…, collate=False) gives lists of observations."
            )
    refuse_tensor(f"a batch{_at(path)}", together[0])
    if not isinstance(first, (str, tuple)) and first not in (list, *_TEXT):
        raise TypeError(
            f"observations are put together from arrays, numbers, text, tuples and dicts{_at(path)}, got "
            f"{_words(together[0])}. Make an array of it first, or say how: DataLoader(…, collate=function)."
        )


def _kind(x: Any) -> Any:
    """Equal for observations that can share a batch."""
    if isinstance(x, (tuple, dict)):
        parts = children(x)[0]
        return (type(x), frozenset(parts)) if isinstance(parts, dict) else (type(x), len(parts))
    if is_array(x) or isinstance(x, _NUMBERS):
        return "array" if is_array(x) else "number"
    return type(x)


def _words(x: Any) -> str:
    if isinstance(x, tuple) and not hasattr(x, "_fields"):
        return f"a tuple of {len(x)}"
    if isinstance(x, dict):
        return f"a dict with the keys {', '.join(map(repr, x))}"
    return "None" if x is None else f"a {type(x).__name__}"


def _at(path: KeyPath) -> str:
    return f" at {path}" if path else ""
