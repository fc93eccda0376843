"""Losses for numbers: how far each one is off, how far counts are, on which side of a margin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..activations import relu
from ..errors import check_number
from .checks import compares, positive, same_shape, signs, true_or_false


@compares(same_shape)
def mae(prediction: Any, target: Any, agg: Callable = np.mean) -> Any:
    """The mean of ``|prediction - target|`` (Flux: ``mae``). Raises as `mse` does.

    >>> mae(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    np.float64(1.0)
    """
    return agg(np.abs(prediction - target))


@compares(same_shape)
def mse(prediction: Any, target: Any, agg: Callable = np.mean) -> Any:
    """The mean of ``(prediction - target)**2`` (Flux: ``mse``). Raises `ValueError` if the shapes differ, and
    `TypeError` if the two are on different devices.

    >>> mse(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
    np.float64(2.0)
    """
    return agg((prediction - target) ** 2)


@compares(positive)
def msle(prediction: Any, target: Any, agg: Callable = np.mean, eps: float | None = None) -> Any:
    """The mean of ``(log(prediction + eps) - log(target + eps))**2``, for what differs by factors (Flux: ``msle``).

    `eps`, by default the dtype's, keeps the log from 0. Raises `ValueError` for negative numbers on the host.

    >>> msle(np.array([1.0, 20.0]), np.array([2.0, 10.0])).round(4)
    np.float64(0.4805)
    """
    eps = float(np.finfo(prediction.dtype).eps) if eps is None else eps
    return agg(np.log((prediction + eps) / (target + eps)) ** 2)


@compares(same_shape)
def huber_loss(prediction: Any, target: Any, agg: Callable = np.mean, delta: float = 1) -> Any:
    """`mse` / 2 for what is off by less than `delta`, a straight line beyond it (Flux: ``huber_loss``).

    So a few numbers that are far off don't decide alone.

    >>> huber_loss(np.array([0.0, 0.0]), np.array([0.5, 10.0]), agg=np.sum)
    np.float64(9.625)
    """
    check_number("delta", delta)
    error = np.abs(prediction - target)
    return agg(np.where(error < delta, error**2 / 2, delta * (error - delta / 2)))


@compares(positive)
def poisson_loss(prediction: Any, target: Any, agg: Callable = np.mean) -> Any:
    """The mean of ``prediction - target * log(prediction)``, for counts (Flux: ``poisson_loss``).

    Raises `ValueError` for negative numbers on the host.

    >>> poisson_loss(np.array([1.0, 3.0]), np.array([1.0, 0.0]))
    np.float64(2.0)
    """
    return agg(prediction - target * np.log(np.where(target == 0, 1, prediction)))


@compares(signs)
def hinge_loss(prediction: Any, target: Any, agg: Callable = np.mean) -> Any:
    """The mean of ``max(0, 1 - prediction * target)``, for targets of -1 and 1 (Flux: ``hinge_loss``).

    Raises `ValueError` for other targets on the host.

    >>> hinge_loss(np.array([0.5, 2.0]), np.array([1.0, 1.0]))
    np.float64(0.25)
    """
    return agg(relu(1 - prediction * target))


@compares(signs)
def squared_hinge_loss(prediction: Any, target: Any, agg: Callable = np.mean) -> Any:
    """The mean of ``max(0, 1 - prediction * target)**2`` (Flux: ``squared_hinge_loss``). Raises as `hinge_loss` does.

    >>> squared_hinge_loss(np.array([0.5, 2.0]), np.array([1.0, 1.0]))
    np.float64(0.125)
    """
    return agg(relu(1 - prediction * target) ** 2)


@compares(true_or_false)
def siamese_contrastive_loss(prediction: Any, target: Any, agg: Callable = np.mean, margin: float = 1) -> Any:
    """For distances of pairs: near for target 0, at least `margin` apart for 1 (Flux: ``siamese_contrastive_loss``).

    The mean of ``(1 - target) * prediction**2 + target * max(0, margin - prediction)**2``.

    >>> siamese_contrastive_loss(np.array([0.5, 0.25]), np.array([0.0, 1.0]), agg=np.sum)
    np.float64(0.8125)
    """
    check_number("margin", margin)
    return agg((1 - target) * prediction**2 + target * relu(margin - prediction) ** 2)
