"""Losses: one number that says how far a prediction is from the target. ``loss(prediction, target)``, as in Flux.

Both have the same shape, ``(N, classes)`` or whatever the model gives; a target that would only broadcast is an error,
since it is nearly always one axis too few. `agg` makes one number of the observations' losses: ``np.mean``, ``np.sum``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .activations import logsoftmax
from .tracked import plain


def mse(prediction: Any, target: Any, agg: Callable = np.mean) -> Any:
    """The mean of ``(prediction - target)**2`` (Flux: ``mse``). Raises `ValueError` if the shapes differ.

    >>> mse(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    np.float64(2.0)
    """
    _check_shapes("mse", prediction, target)
    return agg((prediction - target) ** 2)


def crossentropy(
    prediction: Any, target: Any, axis: int = -1, agg: Callable = np.mean, eps: float | None = None
) -> Any:
    """The mean of ``-sum(target * log(prediction))`` along `axis` (Flux: ``crossentropy``).

    `prediction` holds probabilities, as from `softmax`; `eps`, by default the dtype's, keeps the log from 0. Given
    scores, `logitcrossentropy` is more accurate. Raises `ValueError` if the shapes differ.

    >>> crossentropy(np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])).round(4)
    np.float64(0.3466)
    """
    _check_shapes("crossentropy", prediction, target)
    eps = np.finfo(prediction.dtype).eps if eps is None else eps
    return agg(-np.sum(target * np.log(prediction + float(eps)), axis=axis))


def logitcrossentropy(prediction: Any, target: Any, axis: int = -1, agg: Callable = np.mean) -> Any:
    """`crossentropy` of the softmax of scores, in one step that does not lose accuracy (Flux: ``logitcrossentropy``).

    Raises `ValueError` if the shapes differ.

    >>> logitcrossentropy(np.array([[1e4, 0.0]], np.float32), np.array([[0.0, 1.0]], np.float32))
    np.float32(10000.0)
    """
    _check_shapes("logitcrossentropy", prediction, target)
    return agg(-np.sum(target * logsoftmax(prediction, axis), axis=axis))


def _check_shapes(name: str, prediction: Any, target: Any) -> None:
    got: tuple[int, ...]
    wanted: tuple[int, ...]
    got, wanted = getattr(prediction, "shape", ()), getattr(target, "shape", ())
    if got != wanted:
        hint = ""
        if plain(prediction) is not None and len(got) == 2 and len(wanted) == 1 and got[0] == wanted[0]:
            hint = "; give the target an axis, y[:, None]" if got[1] == 1 else "; classes as numbers need one-hot rows"
        raise ValueError(f"{name}(prediction, target) takes two of the same shape, got {got} and {wanted}{hint}")
