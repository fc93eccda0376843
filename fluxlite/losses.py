"""Losses: one number that says how far a prediction is from the target. ``loss(prediction, target)``, as in Flux.

Both have the same shape, ``(N, classes)`` or whatever the model gives; a target that would only broadcast is an error,
since it is nearly always one axis too few. Classes may also be given by their numbers, of shape ``(N,)``. A target of a
wider type becomes one of the prediction's, and that is said once: Float64 targets would make the way back through a
Float32 model Float64. `agg` makes one number of the observations' losses: ``np.mean``, ``np.sum``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .activations import logsoftmax
from .arrays import astype, device_of
from .autodiff.tracked import TrackedArray, plain
from .errors import mixed_devices
from .messages import notice
from .tree.ties import is_array

Loss = TypeVar("Loss", bound=Callable[..., Any])


def compares(check: Callable) -> Callable[[Loss], Loss]:
    """Gives a loss what all have in common: its two arrays are alike and in one place, or the error says which is not.

    ``check(name, prediction, target, …)`` looks at what the loss is called with. Where the arrays are is asked only
    after the array library has refused.
    """

    def with_check(loss: Loss) -> Loss:
        @functools.wraps(loss)
        def checked(prediction: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            check(loss.__name__, prediction, target, *args, **kwargs)
            try:
                return loss(prediction, _in_type_of(prediction, target, loss.__name__), *args, **kwargs)
            except (TypeError, ValueError, AttributeError) as error:
                why = mixed_devices(loss.__name__, prediction=prediction, target=target)
                if why is None:
                    raise
                raise why from error

        return checked  # type: ignore[return-value]

    return with_check


# -- what is checked ------------------------------------------------------------------------------------------------


def _same_shape(name: str, prediction: Any, target: Any, *args: Any, numbers: bool = False, **kwargs: Any) -> None:
    """`numbers`: whether this loss also takes the numbers of classes."""
    got: tuple[int, ...]
    wanted: tuple[int, ...]
    got, wanted = getattr(prediction, "shape", ()), getattr(target, "shape", ())
    if got == wanted:
        return
    hint = ""
    if isinstance(target, (list, tuple)):
        hint = f"; the target is a {type(target).__name__}, np.array(target) makes an array"
    elif len(got) == 2 and wanted == got[:1] and got[1] == 1:
        hint = "; give the target an axis, y[:, None]"
    elif len(got) == 2 and wanted == got[:1]:
        hint = "; classes as numbers " + ("are whole numbers, y.astype(int)" if numbers else "need one-hot rows")
    elif len(got) == 2 and wanted == (got[0], 1) and numbers and _whole(target):
        hint = "; classes as numbers have one axis less, y[:, 0]"
    raise ValueError(f"{name}(prediction, target) takes two of the same shape, got {got} and {wanted}{hint}")


def _classes(name: str, prediction: Any, target: Any, axis: Any = -1, *args: Any, **kwargs: Any) -> None:
    """The target is probabilities, or numbers of classes.

    Values are looked at on the host only: for a GPU's the program would have to wait at each step.
    """
    if type(target) is TrackedArray and type(prediction) is not TrackedArray:
        raise TypeError(
            f"{name}(prediction, target): the target is tracked for a gradient, the prediction isn't: the two are "
            f"swapped. Write {name}(model(x), y)"
        )
    if are_labels(prediction, target):
        _labels(name, prediction, target, axis)
        return
    _same_shape(name, prediction, target, numbers=True)
    values = plain(target)
    if _on_the_host(prediction, target):
        # Done at each step, so by the ufuncs themselves: np.sum and np.min take twice as long.
        low, sums = np.minimum.reduce(values, None), np.add.reduce(values, axis)
        least, most = np.minimum.reduce(sums, None), np.maximum.reduce(sums, None)
        if low < -0.001 or least < 0.98 or most > 1.02:  # thirds may be written 0.33
            wrong = f"{low:.3g}" if low < -0.001 else f"a sum of {least if least < 0.98 else most:.3g}"
            raise ValueError(
                f"{name}(prediction, target): the target holds probabilities, which aren't negative and have the sum 1 "
                f"along axis {axis}; got {wrong}. The prediction comes first: {name}(model(x), y)"
            )


def _probabilities(name: str, prediction: Any, target: Any, *args: Any, **kwargs: Any) -> None:
    """As for `_classes`, and the prediction holds probabilities, not scores."""
    _classes(name, prediction, target, *args, **kwargs)
    values = plain(prediction)
    if _on_the_host(prediction, target):
        low, high = np.minimum.reduce(values, None), np.maximum.reduce(values, None)
        if low < 0 or high > 1.02:
            raise ValueError(
                f"{name}(prediction, target): the prediction holds probabilities, from 0 to 1, as softmax gives; got "
                f"{low if low < 0 else high:.3g}. For scores there is logitcrossentropy"
            )


def _on_the_host(prediction: Any, target: Any) -> bool:
    """Whether both are there, with values to look at. If only one is, the error is another one."""
    if not isinstance(plain(target), (np.ndarray, np.generic, int)):
        return False
    prediction = plain(prediction)
    return isinstance(prediction, (np.ndarray, np.generic)) and prediction.size > 0


def are_labels(prediction: Any, target: Any) -> bool:
    """Whether `target` is whole numbers with one axis less than `prediction` has: those of classes."""
    if type(target) is int:
        return getattr(prediction, "ndim", 0) == 1
    return _whole(target) and target.ndim == getattr(prediction, "ndim", 0) - 1


def _whole(x: Any) -> bool:
    return getattr(getattr(x, "dtype", None), "kind", "") in ("i", "u")


def _labels(name: str, prediction: Any, labels: Any, axis: int) -> None:
    count, wanted = prediction.shape[axis], list(prediction.shape)
    del wanted[axis]
    got = getattr(labels, "shape", ())
    if got != tuple(wanted):
        raise ValueError(
            f"{name}(prediction, target): for a prediction of shape {prediction.shape}, numbers of classes have shape "
            f"{tuple(wanted)}, got {got}"
        )
    if _on_the_host(prediction, labels):
        low, high = np.minimum.reduce(labels, None), np.maximum.reduce(labels, None)
        if low < 0 or high >= count:
            wrong = low if low < 0 else high
            raise ValueError(
                f"{name}(prediction, target): numbers of {count} classes are 0 to {count - 1}, got {wrong}"
            )


def _in_type_of(prediction: Any, target: Any, name: str) -> Any:
    """`target`, where it is, in a type that leaves the loss in that of the `prediction`."""
    mine, its = getattr(prediction, "dtype", None), getattr(target, "dtype", None)
    if (
        its is mine
        or mine is None
        or its is None
        or mine.kind != "f"
        or are_labels(prediction, target)
        or np.result_type(mine, its) == mine
    ):
        return target
    if its.kind == "f":  # integers stay the same numbers: no need to say it
        notice(
            ("target of a loss", its.name, mine.name),
            f"{name}: the target is {its.name} and becomes {mine.name}, as the prediction is, at each call. "
            f"y.astype(np.{mine.name}) does it once.",
        )
    return astype(target, mine)


# -- losses -----------------------------------------------------------------------------------------------------------


@compares(_same_shape)
def mse(prediction: Any, target: Any, agg: Callable = np.mean) -> Any:
    """The mean of ``(prediction - target)**2`` (Flux: ``mse``). Raises `ValueError` if the shapes differ, and
    `TypeError` if the two are on different devices.

    >>> mse(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    np.float64(2.0)
    """
    return agg((prediction - target) ** 2)


@compares(_probabilities)
def crossentropy(
    prediction: Any, target: Any, axis: int = -1, agg: Callable = np.mean, eps: float | None = None
) -> Any:
    """The mean of ``-sum(target * log(prediction))`` along `axis` (Flux: ``crossentropy``).

    `prediction` holds probabilities, as from `softmax`; `eps`, by default the dtype's, keeps the log from 0. Given
    scores, `logitcrossentropy` is more accurate, and takes the same targets. Raises what it raises, and `ValueError`
    for a prediction on the host that doesn't lie between 0 and 1.

    >>> crossentropy(np.array([[0.5, 0.5], [0.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 1.0]])).round(4)
    np.float64(0.3466)
    """
    eps = np.finfo(prediction.dtype).eps if eps is None else eps
    if are_labels(prediction, target):
        return agg(-np.log(_at(prediction, target, axis) + float(eps)))
    return agg(-np.sum(target * np.log(prediction + float(eps)), axis=axis))


@compares(_classes)
def logitcrossentropy(prediction: Any, target: Any, axis: int = -1, agg: Callable = np.mean) -> Any:
    """`crossentropy` of the softmax of scores, in one step that does not lose accuracy (Flux: ``logitcrossentropy``).

    `target` holds probabilities, not negative and with the sum 1 along `axis`, as `onehotbatch` gives, or the numbers
    of the classes, whole ones from 0, in the shape that `prediction` has without `axis`. A class that is ruled out by a
    score of -inf takes numbers: with rows, 0 * -inf is NaN.

    Raises `ValueError` for another shape, and for a target on the host that is neither. On a GPU values are not looked
    at, since the program would wait for them: there a number that is too large wraps around. Raises `TypeError` if the
    two are on different devices, or swapped inside a gradient: then only the target is tracked.

    >>> logitcrossentropy(np.array([[1e4, 0.0]], np.float32), np.array([[0.0, 1.0]], np.float32))
    np.float32(10000.0)
    >>> logitcrossentropy(np.array([[1e4, 0.0]], np.float32), np.array([1]))
    np.float32(10000.0)
    """
    logs = logsoftmax(prediction, axis)
    return agg(-(_at(logs, target, axis) if are_labels(logs, target) else np.sum(target * logs, axis=axis)))


def _at(x: Any, labels: Any, axis: int) -> Any:
    """The elements of `x` at the classes whose numbers are `labels`."""
    if not is_array(labels):
        return x[labels]
    if device_of(labels) != device_of(plain(x)):
        raise TypeError  # `compares` explains it; a GPU's library might copy the labels, each time
    return np.squeeze(np.take_along_axis(x, np.expand_dims(labels, axis), axis), axis)
