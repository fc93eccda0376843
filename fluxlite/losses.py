"""Losses: one number that says how far a prediction is from the target. ``loss(prediction, target)``, as in Flux.

Both have the same shape, ``(N, classes)`` or whatever the model gives; a target that would only broadcast is an error,
since it's nearly always one axis too few. A plain number as target counts for all. Classes may also be given by their
numbers, of shape ``(N,)``. A target of a wider type becomes one of the prediction's, and that's said once: Float64
targets would make the way back through a Float32 model Float64. `agg` makes one number of the observations' losses:
``np.mean``, ``np.sum``. `eps`, by default the dtype's, keeps a logarithm from 0.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .activations import logsigmoid, logsoftmax, relu
from .arrays import astype, device_of, on_card_of
from .autodiff.tracked import TrackedArray, plain
from .messages import DeviceError, Function, explained, in_words, mover, note, notice
from .tensors import refuse_tensor
from .tree.ties import is_array
from .tree.walks import KeyPath


def compares(check: Callable) -> Callable[[Function], Function]:
    """Above a loss: `check` looks whether its two arrays fit; then they're compared in one place and one type."""

    def decorate(loss: Function) -> Function:
        name, call = loss.__name__, f"{loss.__name__}(prediction, target)"

        @functools.wraps(loss)
        def compared(prediction: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                refuse_tensor(call, prediction)
                refuse_tensor(call, target)
                check(call, prediction, target, *args, **kwargs)
                with on_card_of(prediction):
                    return loss(prediction, _in_type_of(prediction, target, name), *args, **kwargs)
            except Exception as error:
                if why := _two_devices(name, prediction, target):
                    raise why from error
                note(error, loss, (prediction, target, *args), kwargs)
                raise

        return compared  # type: ignore[return-value]

    return decorate


def _two_devices(name: str, prediction: Any, target: Any) -> DeviceError | None:
    x, y = plain(prediction), plain(target)
    if not (is_array(x) and is_array(y)) or device_of(x) == device_of(y):
        return None
    where = f"prediction is on {device_of(x)}, target is on {device_of(y)}"
    return DeviceError(KeyPath(), f"{name}: {where}; move one of them: target = {mover(device_of(x))}(target)")


def _in_type_of(prediction: Any, target: Any, name: str) -> Any:
    """`target`, where it is, in a type that leaves the loss in that of the `prediction`."""
    mine, its = getattr(prediction, "dtype", None), getattr(target, "dtype", None)
    if mine is its or mine is None or its is None or mine.kind != "f" or _are_labels(prediction, target):
        return target
    if its.kind == "f":  # integers stay the same numbers: no need to say it. But -y of uint8 would be 255
        if np.result_type(mine, its) == mine:
            return target
        what = f"{name}: the target is {its.name} and becomes {mine.name}, as the prediction is, at each call."
        notice(("target of a loss", its.name, mine.name), f"{what} y.astype(np.{mine.name}) does it once.")
    return astype(target, mine)


def _same_shape(call: str, prediction: Any, target: Any, *args: Any, number: bool = True, **kwargs: Any) -> None:
    got: Any = getattr(prediction, "shape", ())
    wanted = getattr(target, "shape", ())
    if got == wanted or (number and type(target) in (int, float, bool)):
        return
    hint = ""
    if len(got) == 2 and wanted == got[:1]:
        hint = "; give the target an axis, y[:, None]" if got[1] == 1 else "; for classes, write one-hot rows"
    one, other = (getattr(x, "shape", in_words(x)) for x in (prediction, target))
    raise ValueError(f"{call} takes two of the same shape, got {one} and {other}{hint}")


def _classes(call: str, prediction: Any, target: Any, axis: int = -1, *args: Any, **kwargs: Any) -> None:
    write = f"{call.partition('(')[0]}(model(x), y)"
    if type(target) is TrackedArray and type(prediction) is not TrackedArray:
        what = "the target is tracked for a gradient, the prediction isn't: the two are swapped"
        raise TypeError(f"{call}: {what}. Write {write}")
    has_values = _on_the_host(prediction, target)
    if _are_labels(prediction, target):
        wanted, count = prediction.shape[:axis] + prediction.shape[axis:][1:], prediction.shape[axis]
        if np.shape(target) != wanted:
            raise ValueError(f"{call}: numbers of classes have the prediction's axes, {wanted}, got {target.shape}")
        low, high = _ends(target) if has_values else (0, 0)
        if low < 0 or high >= count > 0:
            raise ValueError(f"{call}: numbers of {count} classes are 0 to {count - 1}, got {low if low < 0 else high}")
        return
    _same_shape(call, prediction, target, number=False)
    if not has_values:
        return
    # Done at each step, so by the ufuncs themselves: np.sum and np.min take twice as long.
    low, (least, most) = np.minimum.reduce(plain(target), None), _ends(np.add.reduce(plain(target), axis))
    if low < -0.001 or least < 0.98 or most > 1.02:  # thirds may be written 0.33
        wrong = f"{low:.3g}" if low < -0.001 else f"a sum of {least if least < 0.98 else most:.3g}"
        raise ValueError(
            f"{call}: the target holds probabilities, which aren't negative and have the sum 1 along axis {axis}; "
            f"got {wrong}. The prediction comes first: {write}"
        )


def _probabilities(call: str, prediction: Any, target: Any, *args: Any, **kwargs: Any) -> None:
    _classes(call, prediction, target, *args, **kwargs)
    if _on_the_host(prediction, target):
        low, high = _ends(plain(prediction))
        if low < 0 or high > 1.02:
            raise ValueError(
                f"{call}: the prediction holds probabilities, from 0 to 1, as softmax gives; got "
                f"{low if low < 0 else high:.3g}. For scores there is logitcrossentropy"
            )


def _are_labels(prediction: Any, target: Any) -> bool:
    """Whether `target` is whole numbers with one axis less than `prediction` has: those of classes."""
    if type(target) is int:
        return getattr(prediction, "ndim", 0) == 1
    is_whole = getattr(getattr(target, "dtype", None), "kind", "") in ("i", "u")
    return is_whole and target.ndim == getattr(prediction, "ndim", 0) - 1


def _on_the_host(prediction: Any, target: Any) -> bool:
    """Whether there are values to look at: for a GPU's, the program would have to wait at each step."""
    host, x = (np.ndarray, np.generic, int), plain(prediction)
    return isinstance(x, host) and isinstance(plain(target), host) and np.size(x) > 0


def _ends(x: Any) -> tuple[Any, Any]:
    return np.minimum.reduce(x, None), np.maximum.reduce(x, None)


@compares(_same_shape)
def mae(prediction: Any, target: Any, agg: Callable = np.mean) -> Any:
    """The mean of ``|prediction - target|`` (Flux: ``mae``)."""
    return agg(np.abs(prediction - target))


@compares(_same_shape)
def mse(prediction: Any, target: Any, agg: Callable = np.mean) -> Any:
    """The mean of ``(prediction - target)**2`` (Flux: ``mse``)."""
    return agg((prediction - target) ** 2)


@compares(_same_shape)
def msle(prediction: Any, target: Any, agg: Callable = np.mean, eps: float | None = None) -> Any:
    """The mean of ``(log(prediction + eps) - log(target + eps))**2``, for what differs by factors (Flux: ``msle``)."""
    eps = _eps(prediction, eps)
    return agg(np.log((prediction + eps) / (target + eps)) ** 2)


@compares(_same_shape)
def huber_loss(prediction: Any, target: Any, agg: Callable = np.mean, delta: float = 1) -> Any:
    """`mse` / 2 for what is off by less than `delta`, beyond it a straight line (Flux: ``huber_loss``)."""
    error = np.abs(prediction - target)
    return agg(np.where(error < delta, error**2 / 2, delta * (error - delta / 2)))


@compares(_same_shape)
def poisson_loss(prediction: Any, target: Any, agg: Callable = np.mean) -> Any:
    """The mean of ``prediction - target * log(prediction)``, for counts (Flux: ``poisson_loss``)."""
    return agg(prediction - target * np.log(np.where(target == 0, 1, prediction)))


@compares(_same_shape)
def hinge_loss(prediction: Any, target: Any, agg: Callable = np.mean) -> Any:
    """The mean of ``max(0, 1 - prediction * target)``, for targets of -1 and 1 (Flux: ``hinge_loss``)."""
    return agg(relu(1 - prediction * target))


@compares(_same_shape)
def squared_hinge_loss(prediction: Any, target: Any, agg: Callable = np.mean) -> Any:
    """The mean of ``max(0, 1 - prediction * target)**2``, for -1 and 1 (Flux: ``squared_hinge_loss``)."""
    return agg(relu(1 - prediction * target) ** 2)


@compares(_same_shape)
def siamese_contrastive_loss(prediction: Any, target: Any, agg: Callable = np.mean, margin: float = 1) -> Any:
    """For distances of pairs: near for target 0, at least `margin` apart for 1 (Flux: the same name)."""
    return agg((1 - target) * prediction**2 + target * relu(margin - prediction) ** 2)


@compares(_probabilities)
def crossentropy(
    prediction: Any, target: Any, axis: int = -1, agg: Callable = np.mean, eps: float | None = None
) -> Any:
    """The mean of ``-sum(target * log(prediction))`` along `axis`, for probabilities (Flux: ``crossentropy``).

    For scores there's `logitcrossentropy`, which is more accurate and takes the same targets.
    """
    eps = _eps(prediction, eps)
    if _are_labels(prediction, target):
        return agg(-np.log(_at(prediction, target, axis) + eps))
    return agg(-np.sum(target * np.log(prediction + eps), axis=axis))


@compares(_classes)
def logitcrossentropy(prediction: Any, target: Any, axis: int = -1, agg: Callable = np.mean) -> Any:
    """`crossentropy` of the softmax of scores, in one step that doesn't lose accuracy (Flux: ``logitcrossentropy``).

    `target` holds probabilities, not negative and with the sum 1 along `axis`, as `onehotbatch` gives, or the numbers
    of the classes, whole ones from 0, in the shape that `prediction` has without `axis`. A class that is ruled out by a
    score of -inf takes numbers: with rows, 0 * -inf is NaN. On a GPU, where looking at the values would mean to wait, a
    number that is too large wraps around.
    """
    logs = logsoftmax(prediction, axis)
    return agg(-(_at(logs, target, axis) if _are_labels(logs, target) else np.sum(target * logs, axis=axis)))


@compares(_probabilities)
def kldivergence(
    prediction: Any, target: Any, axis: int = -1, agg: Callable = np.mean, eps: float | None = None
) -> Any:
    """`crossentropy` less what the target's own entropy makes of it: 0 where both agree (Flux: ``kldivergence``)."""
    if _are_labels(prediction, target):  # all on one class: no entropy
        return crossentropy(prediction, target, axis, agg, eps)
    entropy = agg(np.sum(target * np.log(np.where(target == 0, 1, target)), axis=axis))
    return entropy + crossentropy(prediction, target, axis, agg, eps)


@compares(_probabilities)
def focal_loss(
    prediction: Any, target: Any, axis: int = -1, agg: Callable = np.mean, gamma: float = 2, eps: float | None = None
) -> Any:
    """`crossentropy` that counts what is right already less, by ``(1 - p)**gamma`` (Flux: ``focal_loss``)."""
    eps = _eps(prediction, eps)
    if _are_labels(prediction, target):
        right = _at(prediction, target, axis)
        return agg(-((1 - right) ** gamma) * np.log(right + eps))
    return agg(np.sum(-target * (1 - prediction) ** gamma * np.log(prediction + eps), axis=axis))


def _at(x: Any, labels: Any, axis: int) -> Any:
    """The elements of `x` at the classes whose numbers are `labels`."""
    if not is_array(labels):
        return x[labels]
    if device_of(labels) != device_of(plain(x)):
        raise TypeError  # `compares` explains it; a GPU's library might copy the labels, each time
    return np.squeeze(np.take_along_axis(x, np.expand_dims(labels, axis), axis), axis)


def _eps(prediction: Any, eps: float | None) -> float:
    return float(np.finfo(prediction.dtype).eps if eps is None else eps)


@compares(_same_shape)
def binarycrossentropy(prediction: Any, target: Any, agg: Callable = np.mean, eps: float | None = None) -> Any:
    """For yes and no: the mean of ``-target * log(prediction) - (1 - target) * log(1 - prediction)`` (Flux: the same).

    Both hold probabilities of *yes*. For scores there's `logitbinarycrossentropy`, which is more accurate.
    """
    eps = _eps(prediction, eps)
    return agg(-target * np.log(prediction + eps) - (1 - target) * np.log(1 - prediction + eps))


@compares(_same_shape)
def logitbinarycrossentropy(prediction: Any, target: Any, agg: Callable = np.mean) -> Any:
    """`binarycrossentropy` of the sigmoid of scores, in one accurate step (Flux: ``logitbinarycrossentropy``)."""
    return agg((1 - target) * prediction - logsigmoid(prediction))


@compares(_same_shape)
def binary_focal_loss(
    prediction: Any, target: Any, agg: Callable = np.mean, gamma: float = 2, eps: float | None = None
) -> Any:
    """`binarycrossentropy` that counts what is right already less, by ``(1 - p)**gamma`` (Flux: the same name)."""
    right = target * prediction + (1 - target) * (1 - prediction)
    return agg(-((1 - right) ** gamma) * np.log(right + _eps(prediction, eps)))


@compares(_same_shape)
def dice_coeff_loss(prediction: Any, target: Any, smooth: float = 1) -> Any:
    """1 less how much two regions of a picture overlap (Flux: ``dice_coeff_loss``): for segmentation."""
    total = np.sum(prediction**2 + target**2)
    return 1 - (2 * np.sum(prediction * target) + smooth) / (total + smooth)


@compares(_same_shape)
def tversky_loss(prediction: Any, target: Any, beta: float = 0.7) -> Any:
    """`dice_coeff_loss` in which a false yes weighs `beta` and a false no ``1 - beta`` (Flux: ``tversky_loss``)."""
    both = np.sum(prediction * target)
    false_yes, false_no = np.sum((1 - target) * prediction), np.sum(target * (1 - prediction))
    return 1 - (both + 1) / (both + beta * false_yes + (1 - beta) * false_no + 1)


@explained()
def label_smoothing(target: Any, alpha: float, axis: int | None = -1) -> Any:
    """Targets that leave a share `alpha` to all classes alike: ``(1 - alpha) * target + alpha / classes``.

    For yes and no, ``axis=None``: the share goes to the two (Flux: ``label_smoothing``; ``dims=0``).
    """
    if not 0 < alpha < 1:
        raise ValueError(f"label_smoothing(target, alpha): alpha lies between 0 and 1, got {alpha}")
    with on_card_of(target):
        return target * (1 - alpha) + alpha / (2 if axis is None else target.shape[axis])
