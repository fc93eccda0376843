"""Losses: one number that says how far a prediction is from the target. ``loss(prediction, target)``, as in Flux.

Both have the same shape, ``(N, classes)`` or whatever the model gives; a target that would only broadcast is an error,
since it is nearly always one axis too few. A target of a wider type becomes one of the prediction's, and that is said
once: Float64 targets would make the way back through a Float32 model Float64. `agg` makes one number of the
observations' losses: ``np.mean``, ``np.sum``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .activations import logsoftmax
from .arrays import astype
from .errors import apart
from .messages import notice

Loss = TypeVar("Loss", bound=Callable[..., Any])


def compares(loss: Loss) -> Loss:
    """Gives a loss what all have in common: its two arrays are alike and in one place, or the error says which is not.

    Where they are is asked only after the array library has refused.
    """

    @functools.wraps(loss)
    def checked(prediction: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        _check_shapes(loss.__name__, prediction, target)
        try:
            return loss(prediction, _in_type_of(prediction, target, loss.__name__), *args, **kwargs)
        except (TypeError, ValueError, AttributeError) as error:
            why = apart(loss.__name__, prediction=prediction, target=target)
            if why is None:
                raise
            raise why from error

    return checked  # type: ignore[return-value]


@compares
def mse(prediction: Any, target: Any, agg: Callable = np.mean) -> Any:
    """The mean of ``(prediction - target)**2`` (Flux: ``mse``). Raises `ValueError` if the shapes differ, and
    `TypeError` if the two are on different devices.

    >>> mse(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    np.float64(2.0)
    """
    return agg((prediction - target) ** 2)


@compares
def crossentropy(
    prediction: Any, target: Any, axis: int = -1, agg: Callable = np.mean, eps: float | None = None
) -> Any:
    """The mean of ``-sum(target * log(prediction))`` along `axis` (Flux: ``crossentropy``).

    `prediction` holds probabilities, as from `softmax`; `eps`, by default the dtype's, keeps the log from 0. Given
    scores, `logitcrossentropy` is more accurate. Raises what `mse` raises.

    >>> crossentropy(np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])).round(4)
    np.float64(0.3466)
    """
    eps = np.finfo(prediction.dtype).eps if eps is None else eps
    return agg(-np.sum(target * np.log(prediction + float(eps)), axis=axis))


@compares
def logitcrossentropy(prediction: Any, target: Any, axis: int = -1, agg: Callable = np.mean) -> Any:
    """`crossentropy` of the softmax of scores, in one step that does not lose accuracy (Flux: ``logitcrossentropy``).

    Raises what `mse` raises.

    >>> logitcrossentropy(np.array([[1e4, 0.0]], np.float32), np.array([[0.0, 1.0]], np.float32))
    np.float32(10000.0)
    """
    return agg(-np.sum(target * logsoftmax(prediction, axis), axis=axis))


def _check_shapes(name: str, prediction: Any, target: Any) -> None:
    got: tuple[int, ...]
    wanted: tuple[int, ...]
    got, wanted = getattr(prediction, "shape", ()), getattr(target, "shape", ())
    if got != wanted:
        hint = ""
        if len(got) == 2 and len(wanted) == 1 and got[0] == wanted[0]:
            hint = "; give the target an axis, y[:, None]" if got[1] == 1 else "; classes as numbers need one-hot rows"
        raise ValueError(f"{name}(prediction, target) takes two of the same shape, got {got} and {wanted}{hint}")


def _in_type_of(prediction: Any, target: Any, name: str) -> Any:
    """`target`, where it is, in a type that leaves the loss in that of the `prediction`."""
    mine, its = getattr(prediction, "dtype", None), getattr(target, "dtype", None)
    if its is mine or mine is None or its is None or mine.kind != "f" or np.result_type(mine, its) == mine:
        return target
    if its.kind == "f":  # integers stay the same numbers: no need to say it
        notice(
            ("target of a loss", its.name, mine.name),
            f"{name}: the target is {its.name} and becomes {mine.name}, as the prediction is, at each call. "
            f"y.astype(np.{mine.name}) does it once.",
        )
    return astype(target, mine)
