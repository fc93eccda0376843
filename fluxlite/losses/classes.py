"""Losses for classes: one of several, or yes and no. Targets are probabilities, or the numbers of the classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..activations import logsigmoid, logsoftmax
from ..arguments import explained
from ..arrays import device_of, on_card_of
from ..autodiff.tracked import plain
from ..errors import check_number
from ..tree.ties import is_array
from .checks import are_labels, chances, classes, compares, probabilities, true_or_false


@compares(probabilities)
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


@compares(classes)
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


def _eps(prediction: Any, eps: float | None) -> float:
    return float(np.finfo(prediction.dtype).eps if eps is None else eps)


@compares(probabilities)
def kldivergence(
    prediction: Any, target: Any, axis: int = -1, agg: Callable = np.mean, eps: float | None = None
) -> Any:
    """`crossentropy` less what the target's own entropy makes of it: 0 where both agree (Flux: ``kldivergence``).

    >>> kldivergence(np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]])).round(4)
    np.float64(0.6931)
    """
    if are_labels(prediction, target):  # all on one class: no entropy
        return crossentropy(prediction, target, axis, agg, eps)
    entropy = agg(np.sum(target * np.log(np.where(target == 0, 1, target)), axis=axis))
    return entropy + crossentropy(prediction, target, axis, agg, eps)


@compares(chances)
def binarycrossentropy(prediction: Any, target: Any, agg: Callable = np.mean, eps: float | None = None) -> Any:
    """The mean of ``-target * log(prediction) - (1 - target) * log(1 - prediction)`` (Flux: ``binarycrossentropy``).

    Both hold probabilities of *yes*, as from `sigmoid`; `eps`, by default the dtype's, keeps the logs from 0. Given
    scores, `logitbinarycrossentropy` is more accurate. A plain number as target counts for all. Raises `ValueError` for
    what lies outside 0 to 1 on the host.

    >>> binarycrossentropy(np.array([0.5, 0.9]), np.array([1.0, 1.0])).round(4)
    np.float64(0.3993)
    """
    eps = _eps(prediction, eps)
    return agg(-target * np.log(prediction + eps) - (1 - target) * np.log(1 - prediction + eps))


@compares(true_or_false)
def logitbinarycrossentropy(prediction: Any, target: Any, agg: Callable = np.mean) -> Any:
    """`binarycrossentropy` of the sigmoid of scores, in one accurate step (Flux: ``logitbinarycrossentropy``).

    A plain number as target counts for all: ``logitbinarycrossentropy(discriminator(drawn), 0)``.

    >>> logitbinarycrossentropy(np.array([1e4, 0.0]), np.array([0.0, 1.0]), agg=np.sum).round(4)
    np.float64(10000.6931)
    """
    return agg((1 - target) * prediction - logsigmoid(prediction))


@compares(chances)
def binary_focal_loss(
    prediction: Any, target: Any, agg: Callable = np.mean, gamma: float = 2, eps: float | None = None
) -> Any:
    """`binarycrossentropy` that counts what is right already less, by ``(1 - p)**gamma`` (Flux: ``binary_focal_loss``).

    >>> binary_focal_loss(np.array([0.9, 0.5]), np.array([1.0, 1.0])).round(4)
    np.float64(0.0872)
    """
    check_number("gamma", gamma)
    right = target * prediction + (1 - target) * (1 - prediction)
    return agg(-((1 - right) ** gamma) * np.log(right + _eps(prediction, eps)))


@compares(probabilities)
def focal_loss(
    prediction: Any, target: Any, axis: int = -1, agg: Callable = np.mean, gamma: float = 2, eps: float | None = None
) -> Any:
    """`crossentropy` that counts what is right already less, by ``(1 - p)**gamma`` (Flux: ``focal_loss``).

    >>> focal_loss(np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([0, 1])).round(4)
    np.float64(0.0872)
    """
    check_number("gamma", gamma)
    if are_labels(prediction, target):
        right = _at(prediction, target, axis)
        return agg(-((1 - right) ** gamma) * np.log(right + _eps(prediction, eps)))
    logs = np.log(prediction + _eps(prediction, eps))
    return agg(np.sum(-target * (1 - prediction) ** gamma * logs, axis=axis))


@compares(true_or_false)
def dice_coeff_loss(prediction: Any, target: Any, smooth: float = 1) -> Any:
    """1 less how much two regions of a picture overlap (Flux: ``dice_coeff_loss``): for segmentation.

    >>> dice_coeff_loss(np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    np.float64(0.25)
    """
    check_number("smooth", smooth)
    total = np.sum(prediction**2 + target**2)
    return 1 - (2 * np.sum(prediction * target) + smooth) / (total + smooth)


@compares(true_or_false)
def tversky_loss(prediction: Any, target: Any, beta: float = 0.7) -> Any:
    """`dice_coeff_loss` in which a false yes weighs `beta` and a false no ``1 - beta`` (Flux: ``tversky_loss``).

    >>> tversky_loss(np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0])).round(4)
    np.float64(0.2593)
    """
    check_number("beta", beta)
    both = np.sum(prediction * target)
    false_yes, false_no = np.sum((1 - target) * prediction), np.sum(target * (1 - prediction))
    return 1 - (both + 1) / (both + beta * false_yes + (1 - beta) * false_no + 1)


@explained("an array of targets and a share")
def label_smoothing(target: Any, alpha: float, axis: int | None = -1) -> Any:
    """Targets that leave a share `alpha` to all classes alike: ``(1 - alpha) * target + alpha / classes``.

    For yes and no, ``axis=None``: the share goes to the two (Flux: ``label_smoothing``; ``dims=0``). Raises
    `ValueError` for an `alpha` that isn't between 0 and 1.

    >>> label_smoothing(np.array([[1.0, 0.0]]), 0.2)
    array([[0.9, 0.1]])
    """
    check_number("alpha", alpha)
    if not 0 < alpha < 1:
        raise ValueError(f"label_smoothing(target, alpha): alpha lies between 0 and 1, got {alpha}")
    with on_card_of(target):
        return target * (1 - alpha) + alpha / (2 if axis is None else target.shape[axis])
