"""How good a classifier is: `accuracy`, and the table of what it takes for what."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments import explained
from ..arrays import device_of, on_card_of
from ..autodiff.tracked import plain
from ..tensors import refuse_tensor
from ..tree.ties import is_array


@explained("scores, the classes and an axis")
def accuracy(prediction: Any, target: Any, axis: int = -1) -> Any:
    """The share of observations whose largest score is that of the right class.

    `prediction` has shape ``(N, classes)``; `target` has the same, as `onehotbatch` gives, or holds the numbers of the
    classes, of shape ``(N,)``. The result is a number, which is a look at the device: once an epoch is enough. Raises
    `ValueError` for other shapes, `TypeError` if the two are on different devices.

    >>> scores = np.array([[0.1, 0.9], [0.8, 0.2], [0.4, 0.6]])
    >>> round(accuracy(scores, np.array([1, 0, 0])), 3)
    0.667
    """
    with on_card_of(prediction):
        guess, truth = _numbers("accuracy", prediction, target, axis)
        if guess.size == 0:
            raise ValueError("accuracy(prediction, target) takes at least one observation")
        return float(np.mean(guess == truth))


@explained("scores, the classes and an axis")
def confusion_matrix(prediction: Any, target: Any, axis: int = -1) -> np.ndarray:
    """How often each class (the row) was taken for each (the column), on the host. Arguments as for `accuracy`.

    ``fluxlite.jupyter.confusion(matrix, labels)`` draws it.

    >>> scores = np.array([[0.1, 0.9], [0.8, 0.2], [0.4, 0.6]])
    >>> confusion_matrix(scores, np.array([1, 0, 0]))
    array([[1, 1],
           [0, 1]])
    """
    with on_card_of(prediction):
        guess, truth = _numbers("confusion_matrix", prediction, target, axis)
        count = prediction.shape[axis]
        to_host = device_of(guess).download if hasattr(device_of(guess), "download") else np.asarray
        pairs = np.ravel(to_host(truth * count + guess)).astype(np.int64)
    return np.bincount(pairs, minlength=count * count).reshape(count, count)


def _numbers(name: str, prediction: Any, target: Any, axis: int) -> tuple[Any, Any]:
    """The numbers of the classes: those with the largest score, and the right ones."""
    prediction, target = plain(prediction), plain(target)
    target = np.asarray(target) if isinstance(target, (list, tuple)) else target
    for what, x in (("prediction", prediction), ("target", target)):
        refuse_tensor(f"{name}(prediction, target)", x)
        if not is_array(x):
            raise TypeError(f"{name}(prediction, target): the {what} is an array, got a {type(x).__name__}")
    if prediction.ndim == 0:
        raise ValueError(f"{name}(prediction, target): the prediction has scores, (N, classes); got one number")
    if not isinstance(axis, (int, np.integer)) or not -prediction.ndim <= axis < prediction.ndim:
        raise ValueError(f"{name}(axis=…): a prediction of shape {prediction.shape} has no axis {axis!r}")
    if device_of(prediction) != device_of(target):
        raise TypeError(
            f"{name}(prediction, target): the prediction is on {device_of(prediction)}, the target on "
            f"{device_of(target)}; move one of them"
        )
    wanted = list(prediction.shape)
    del wanted[axis]
    guess = np.argmax(prediction, axis=axis)
    if target.shape == prediction.shape:
        return guess, np.argmax(target, axis=axis)
    if target.dtype.kind in "iu" and target.shape == tuple(wanted):
        return guess, target
    raise ValueError(
        f"{name}(prediction, target): for a prediction of shape {prediction.shape}, the target has the same shape, or "
        f"is whole numbers of shape {tuple(wanted)}; got {target.dtype.name} of shape {target.shape}"
    )


@explained("an array, an axis, and a small number")
def normalise(x: Any, axis: int = -1, eps: float = 1e-5) -> Any:
    """`x` with mean 0 and standard deviation 1 along `axis` (Flux: ``normalise``). `eps` keeps a constant finite.

    The axis of Flux's default is that of the observations: for columns of a table that's ``axis=0`` here.

    >>> normalise(np.array([[1.0, 3.0]])).round(3)
    array([[-1.,  1.]])
    """
    with on_card_of(x):
        mean, deviation = np.mean(x, axis=axis, keepdims=True), np.std(x, axis=axis, keepdims=True)
        return (x - mean) / (deviation + eps)
