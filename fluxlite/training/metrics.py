"""How good a classifier is: `accuracy`, and the table of what it takes for what; and `normalise`."""

from typing import Any

import numpy as np

from ..annotations import Array
from ..arrays import device_of, floats, is_half, narrow, on_card_of, refuse_tensor, wide
from ..autodiff.tracked import plain
from ..words import explained


@explained()
def accuracy(prediction: Array, target: Array, axis: int = -1) -> float:
    """The share of observations whose class was predicted right. It waits for the device: once an epoch is enough.

    `prediction` holds scores of shape ``(N, classes)``, and the largest counts, or classes' numbers, of shape ``(N,)``.
    `target` holds the right numbers, or, for scores, has their shape, as `onehotbatch` gives. For one score each, of
    shape ``(N, 1)``, say what counts as class 1: ``accuracy(scores[:, 0] > 0, y)``.
    """
    with on_card_of(prediction):
        guess, truth, _ = _class_numbers("accuracy", prediction, target, axis)
        if guess.size == 0:
            raise ValueError("it needs at least one observation")
        return float(np.mean(guess == truth))


@explained()
def confusion_matrix(prediction: Array, target: Array, axis: int = -1) -> np.ndarray:
    """How often each class (the row) was taken for each (the column), on the host. Arguments as for `accuracy`.

    With class numbers, the largest says how many classes there are.
    """
    with on_card_of(prediction):
        guess, truth, count = _class_numbers("confusion_matrix", prediction, target, axis)
        both = np.stack([np.ravel(truth).astype(np.int64), np.ravel(guess).astype(np.int64)])
        download = getattr(device_of(both), "download", np.asarray)
        pairs = download(both)
    if count is None:
        count = int(pairs.max(initial=0)) + 1
    wrong = pairs[(pairs < 0) | (pairs >= count)]
    if wrong.size:
        raise ValueError(f"{wrong[0]} isn't a class, they're 0 to {count - 1}")
    rows, columns = pairs
    counts = np.bincount((rows * count + columns).astype(np.intp), minlength=count * count)
    return counts.astype(np.int64).reshape(count, count)


def _class_numbers(name: str, prediction: Array, target: Array, axis: int) -> tuple[Array, Array, int | None]:
    """The numbers of the classes, predicted and right, and how many classes have scores."""
    refuse_tensor(name, prediction)
    refuse_tensor(name, target)
    prediction = _as_array(prediction)
    target = _as_array(target)
    alike = prediction.shape == target.shape
    one_axis = prediction.ndim == 1
    if alike and one_axis and _are_whole(prediction) and _are_whole(target):
        return prediction, target, None
    count = prediction.shape[axis]
    observations = prediction.shape[:axis] + prediction.shape[axis:][1:]
    if count == 1 or (alike and one_axis and not _are_whole(prediction)):
        scores = "prediction"
        if not one_axis:
            scores = "prediction[:, 0]"
        write = f"{name}({scores} > 0, target), or > 0.5 for probabilities"
        raise ValueError(f"the prediction has one score for each observation; say what is class 1: {write}")
    guess = np.argmax(prediction, axis=axis)
    if alike and not one_axis and _are_rows(target, axis):
        return guess, np.argmax(target, axis=axis), count
    if target.shape == observations and _are_whole(target):
        return guess, target, count
    wanted = f"the target has this shape too, or is whole numbers of shape {observations}; for class numbers, both"
    got = f"have shape (N,). Got {target.dtype.name} of shape {target.shape}"
    raise ValueError(f"{name}: for scores of shape {prediction.shape}, {wanted} {got}")


def _as_array(x: Any) -> Array:
    if isinstance(x, (list, tuple)):
        return np.asarray(x)
    return plain(x)


def _are_rows(target: Array, axis: int) -> bool:
    """Whether it's probabilities or one-hot rows: what's as whole may also be the numbers of pixels' classes."""
    return target.dtype.kind == "f" or bool(np.all(np.sum(target, axis=axis) == 1))


def _are_whole(x: Array) -> bool:
    return x.dtype.kind in "iub" or bool(np.all(x == np.floor(x)))


@explained()
def normalise(x: Array, axis: int = -1, eps: float = 1e-5) -> Array:
    """`x` with mean 0 and standard deviation 1 along `axis`; for a table's columns ``axis=0`` (Flux: ``normalise``)."""
    with on_card_of(x):
        numbers = wide(floats(x))  # the square of a half may be too large, and a difference of pixels below 0
        if hasattr(x, "shape"):
            # Taken from the first of them, equal numbers are exactly 0, and so is their mean. It would be rounded.
            numbers = numbers - plain(numbers)[_first_along(axis, x.ndim)]
        mean = np.mean(numbers, axis=axis, keepdims=True)
        deviation = np.std(numbers, axis=axis, keepdims=True)
        result = (numbers - mean) / (deviation + eps)
        if is_half(x):
            return narrow(result)
        return result


def _first_along(axis: int, ndim: int) -> tuple[slice, ...]:
    """The index of the first numbers along `axis`, or several, in an array of `ndim` axes; all axes stay."""
    if axis is None:
        return (slice(1),) * ndim
    first = [slice(None)] * ndim
    for one in np.lib.array_utils.normalize_axis_tuple(axis, ndim):
        first[one] = slice(1)
    return tuple(first)
