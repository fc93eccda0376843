"""The numbers of a model that training may change: listed with their paths, or as one vector."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .cards import on_card_of, on_first_card_of
from .contract import trainable
from .ties import is_array, is_tracked, parameter_key, same_view
from .walks import KeyPath, check_open, fmap, nodes


def trainables(x: Any) -> Iterator[tuple[KeyPath, Any]]:
    """(path, array) of every floating-point array that an optimizer may change; a tied one at its first place.

    Inside `gradient` these are the tracked arrays: a penalty over them, ``sum(np.sum(w**2) for _, w in
    trainables(model))``, is part of the loss, and of its gradient (Optimisers.jl: ``trainables(x, path=true)``).
    A path leads to the same place in what's beside the model: ``state[path]`` is what an optimizer has there, as in
    ``adjust(state[path], decay=0.0)``. If the model is a dict or a list, it's ``path.get(state)``.

    >>> [(str(path), array.shape) for path, array in trainables({"W": np.zeros((2, 3)), "steps": np.arange(3)})]
    [("['W']", (2, 3))]
    """
    found = [(path, node) for path, node in nodes(x, parts_of=trainable) if _trains(node)]
    for path, node in found:
        check_open(path, node)
    return iter(found)


def _trains(x: Any) -> bool:
    inner = x
    while is_tracked(inner):
        inner = inner.value
    return is_trainable_array(inner)


def is_trainable_array(x: Any) -> bool:
    """Whether a gradient with respect to `x` exists: an array of floating-point numbers."""
    return is_array(x) and x.dtype.kind == "f"


def destructure(model: Any) -> tuple[Any, Callable]:
    """All trainable numbers of `model` as one vector, and the function that makes a model from such a vector.

    Ties are in it once. Returns ``(vector, restructure)``: `vector` has shape ``(P,)`` and the arrays' common dtype;
    ``restructure(vector)`` restores shapes, dtypes and ties, and can be differentiated; inside `gradient` the vector
    is tracked too (Flux: ``destructure``).
    Raises `ValueError` for a vector of another length.

    >>> vector, restructure = destructure({"W": np.ones((2, 2)), "b": np.zeros(2)})
    >>> vector
    array([1., 1., 1., 1., 0., 0.])
    >>> restructure(vector * 3)["W"]
    array([[3., 3.],
           [3., 3.]])
    """
    arrays = [array for _, array in trainables(model)]
    starts = np.cumsum([0] + [array.size for array in arrays]).tolist()
    first = {parameter_key(array): (array, start) for array, start in zip(arrays, starts, strict=False)}
    with on_first_card_of(arrays):
        vector = np.concatenate([np.ravel(array) for array in arrays]) if arrays else np.zeros(0, np.float32)

    as_it_was = fmap(lambda leaf: leaf, model)  # the model may get other arrays later

    def restructure(new: Any) -> Any:
        if getattr(new, "shape", None) != vector.shape:
            got = f"shape {new.shape}" if hasattr(new, "shape") else f"a {type(new).__name__}: np.asarray(x) makes one"
            raise ValueError(f"this model is made from a vector of shape {vector.shape}, got {got}")

        def piece(leaf: Any) -> Any:
            if not _trains(leaf) or parameter_key(leaf) not in first:
                return leaf
            array, start = first[parameter_key(leaf)]
            part = np.reshape(new[start : start + array.size], array.shape).astype(array.dtype)
            return same_view(leaf, array, part)

        with on_card_of(new):
            return fmap(piece, as_it_was)

    return vector, restructure
