"""Losses: one number that says how far a prediction is from the target. ``loss(prediction, target)``, as in Flux.

Both have the same shape, ``(N, classes)`` or whatever the model gives; a target that would only broadcast is an error.
A plain number as target counts for all. Classes may also be given by their numbers, of shape ``(N,)``. A target of a
wider type becomes one of the prediction's, and that's said once: it would make the backward pass wider, too. `agg`
makes one number of the observations' losses: ``np.mean``, ``np.sum``. `eps`, by default the dtype's, keeps logs from 0.
In half precision, a loss is computed in float32, which `agg` gets, and its result is rounded to float16. A prediction
of whole numbers, such as pixels, is computed with as floats.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from ..annotations import Array
from ..arrays import astype, device_of, floats, is_half, narrow, on_card_of, refuse_tensor, wide
from ..autodiff.tracked import TrackedArray, plain
from ..messages import notice
from ..tree.flat import KeyPath
from ..tree.ties import is_array
from ..words import DeviceError, Function, explained, in_words, mover
from .activations import logsigmoid, logsoftmax, relu

Eps = float | None


def compares(check: Callable) -> Callable[[Function], Function]:
    """Above a loss: `check` sees that its two arrays fit; then they're compared on one device, in one type."""

    def decorate(formula: Function) -> Function:
        name = formula.__name__
        call = f"{name}(prediction, target)"

        @explained()
        @functools.wraps(formula)
        def loss(prediction: Array, target: Array, *args: Any, **kwargs: Any) -> Array:
            refuse_tensor(call, prediction)
            refuse_tensor(call, target)
            _one_device(name, plain(prediction), plain(target))  # CuPy would copy a host's labels at each step
            check(call, prediction, target, *args, **kwargs)
            with on_card_of(prediction):
                prediction = floats(prediction)
                target = _in_type_of(prediction, target, name)
                if is_half(prediction):
                    return _of_halves(formula, prediction, target, args, kwargs)
                return formula(prediction, target, *args, **kwargs)

        return loss  # type: ignore[return-value]

    return decorate


def _of_halves(formula: Callable, prediction: Array, target: Array, args: tuple, kwargs: dict[str, Any]) -> Array:
    """A loss of float16 numbers, computed in float32 and rounded once: their squares and sums may be too large.

    An epsilon that isn't given stays that of float16, as the slopes at 0 depend on it.
    """
    given = inspect.signature(formula).bind(wide(prediction), wide(target), *args, **kwargs)
    given.apply_defaults()
    if "eps" in given.arguments:
        given.arguments["eps"] = _eps(prediction, given.arguments["eps"])
    return narrow(formula(*given.args, **given.kwargs))


def _one_device(name: str, x: Array, y: Array) -> None:
    if type(x) is type(y) is np.ndarray:
        return
    if not is_array(x) or not is_array(y):
        return
    if device_of(x) != device_of(y):
        where = f"prediction is on {device_of(x)}, target is on {device_of(y)}"
        raise DeviceError(KeyPath(), f"{name}: {where}; move one of them: target = {mover(device_of(x))}(target)")


def _in_type_of(prediction: Array, target: Array, name: str) -> Array:
    """`target`, on its device, in a type that leaves the loss in the `prediction`'s."""
    mine = getattr(prediction, "dtype", None)
    its = getattr(target, "dtype", None)
    if mine is its or mine is None or its is None:
        return target
    if mine.kind != "f" or _are_labels(prediction, target):
        return target
    if its.kind == "f":  # integers stay the same numbers: no need to say it
        if np.result_type(mine, its) == mine:
            return target
        what = f"{name}: the target is {its.name} and becomes {mine.name}, as the prediction is, at each call."
        notice(("target of a loss", its.name, mine.name), f"{what} y.astype(np.{mine.name}) does it once.")
    return astype(target, mine)


def _same_shape(call: str, prediction: Array, target: Any, *args: Any, number: bool = True, **kwargs: Any) -> None:
    """Raises `ValueError` if the two differ in their shapes; a `number` as target may count for all."""
    shape: Any = getattr(prediction, "shape", ())
    wanted = getattr(target, "shape", ())
    if shape == wanted or (number and type(target) in (int, float, bool)):
        return
    hint = ""
    if len(shape) == 2 and wanted == shape[:1]:
        hint = "; for classes, write one-hot rows"
        if shape[1] == 1:
            hint = "; give the target an axis, y[:, None]"
    one = getattr(prediction, "shape", in_words(prediction))
    other = getattr(target, "shape", in_words(target))
    raise ValueError(f"{call} takes two of the same shape, got {one} and {other}{hint}")


def _classes(call: str, prediction: Array, target: Array, axis: int = -1, *args: Any, **kwargs: Any) -> None:
    """Raises `ValueError` if the target is neither classes' numbers, nor rows of probabilities."""
    name = call.partition("(")[0]
    write = f"{name}(model(x), y)"
    if type(target) is TrackedArray and type(prediction) is not TrackedArray:
        what = "the target is tracked for a gradient, the prediction isn't: the two are swapped"
        raise TypeError(f"{call}: {what}. Write {write}")
    has_values = _on_the_host(prediction, target)
    if _are_labels(prediction, target):
        _check_labels(call, prediction, target, axis, has_values)
        return
    _same_shape(call, prediction, target, number=False)
    if not has_values:
        return
    # Done at each step, so by the ufuncs themselves: np.sum and np.min take twice as long.
    low = np.minimum.reduce(plain(target), None)
    least, most = _ends(np.add.reduce(wide(plain(target)), axis))
    if low < -0.001:
        wrong = f"{low:.3g}"
    elif least < 0.98:  # thirds may be written 0.33
        wrong = f"a sum of {least:.3g}"
    elif most > 1.02:
        wrong = f"a sum of {most:.3g}"
    else:
        return
    what = "the target holds probabilities, which aren't negative and have the sum 1 along axis"
    raise ValueError(f"{call}: {what} {axis}; got {wrong}. The prediction comes first: {write}")


def _check_labels(call: str, prediction: Array, target: Array, axis: int, has_values: bool) -> None:
    """Raises `ValueError` if the classes' numbers have other axes, or are too small or too large."""
    wanted = prediction.shape[:axis] + prediction.shape[axis:][1:]
    if np.shape(target) != wanted:
        raise ValueError(f"{call}: numbers of classes have the prediction's axes, {wanted}, got {target.shape}")
    count = prediction.shape[axis]
    if not has_values:
        return
    low, high = _ends(target)
    if low < 0:
        wrong = low
    elif high >= count > 0:
        wrong = high
    else:
        return
    raise ValueError(f"{call}: numbers of {count} classes are 0 to {count - 1}, got {wrong}")


def _probabilities(call: str, prediction: Array, target: Array, *args: Any, **kwargs: Any) -> None:
    """What `_classes` checks; raises `ValueError`, too, if the prediction isn't probabilities."""
    _classes(call, prediction, target, *args, **kwargs)
    if not _on_the_host(prediction, target):
        return
    low, high = _ends(plain(prediction))
    if low < 0:
        wrong = low
    elif high > 1.02:
        wrong = high
    else:
        return
    what = f"as softmax gives; got {wrong:.3g}. For scores there is logitcrossentropy"
    raise ValueError(f"{call}: the prediction holds probabilities, from 0 to 1, {what}")


def _are_labels(prediction: Array, target: Any) -> bool:
    """Whether `target` is whole numbers with one axis less than `prediction` has: those of classes."""
    if type(target) is int:
        return getattr(prediction, "ndim", 0) == 1
    is_whole = getattr(getattr(target, "dtype", None), "kind", "") in ("i", "u")
    return is_whole and target.ndim == getattr(prediction, "ndim", 0) - 1


def _on_the_host(prediction: Array, target: Array) -> bool:
    """Whether there are values to look at: for a GPU's, the program would have to wait at each step."""
    on_the_host = (np.ndarray, np.generic, int)
    values = plain(prediction)
    return isinstance(values, on_the_host) and isinstance(plain(target), on_the_host) and np.size(values) > 0


def _ends(x: Array) -> tuple[Any, Any]:
    """The smallest and the largest number."""
    return np.minimum.reduce(x, None), np.maximum.reduce(x, None)


def _log(x: Array, eps: Eps) -> Array:
    return np.log(x + _eps(x, eps))


def _eps(x: Array, eps: Eps) -> float:
    if eps is None:
        return float(np.finfo(x.dtype).eps)
    return float(eps)


def _focal(p: Array, gamma: float, eps: Eps) -> Array:
    rest = 1 - p
    if isinstance(gamma, (int, float, np.number)) and gamma % 1 == 0:
        return -(rest**gamma) * _log(p, eps)
    # Such a power may be infinitely steep at 0, where the loss is flat, and below, where rounding may lead, it's NaN.
    is_wrong = rest > 0
    powers = np.where(is_wrong, np.where(is_wrong, rest, 1) ** gamma, 0)
    return -powers * _log(p, eps)


def _loss(name: str, what: str, formula: Callable) -> Callable[..., Array]:
    """A row of the table: the `formula` of this name, which compares two arrays of one shape."""
    formula.__name__ = formula.__qualname__ = name
    hint = ""
    if "agg" in inspect.signature(formula).parameters:
        hint = " `agg` gets every element's: see `logitcrossentropy`."
    formula.__doc__ = f"{what} (Flux: ``{name}``).{hint}"
    return compares(_same_shape)(formula)


# fmt: off
mae = _loss("mae", "The mean of ``|prediction - target|``",
    lambda prediction, target, agg=np.mean: agg(np.abs(prediction - target)))
mse = _loss("mse", "The mean of ``(prediction - target)**2``",
    lambda prediction, target, agg=np.mean: agg((prediction - target) ** 2))
msle = _loss("msle", "The mean of ``(log(prediction + eps) - log(target + eps))**2``, for what differs by factors",
    lambda prediction, target, agg=np.mean, eps=None: agg(
        np.log((prediction + _eps(prediction, eps)) / (target + _eps(prediction, eps))) ** 2))
poisson_loss = _loss("poisson_loss", "The mean of ``prediction - target * log(prediction)``, for counts",
    lambda prediction, target, agg=np.mean: agg(prediction - target * np.log(np.where(target == 0, 1, prediction))))
hinge_loss = _loss("hinge_loss", "The mean of ``max(0, 1 - prediction * target)``, for targets of -1 and 1",
    lambda prediction, target, agg=np.mean: agg(relu(1 - prediction * target)))
squared_hinge_loss = _loss("squared_hinge_loss", "The mean of ``max(0, 1 - prediction * target)**2``, for -1 and 1",
    lambda prediction, target, agg=np.mean: agg(relu(1 - prediction * target) ** 2))
siamese_contrastive_loss = _loss(
    "siamese_contrastive_loss", "For distances of pairs: near for target 0, at least `margin` apart for 1",
    lambda prediction, target, agg=np.mean, margin=1: agg(
        (1 - target) * prediction**2 + target * relu(margin - prediction) ** 2))
binarycrossentropy = _loss(
    "binarycrossentropy", "For yes and no: the mean of ``-target * log(prediction) - (1 - target) * log(1 - prediction)"
    "``; both are probabilities of *yes*. For scores there's `logitbinarycrossentropy`, which is more accurate",
    lambda prediction, target, agg=np.mean, eps=None: agg(
        -target * _log(prediction, eps) - (1 - target) * _log(1 - prediction, eps)))
logitbinarycrossentropy = _loss(
    "logitbinarycrossentropy", "`binarycrossentropy` of the sigmoid of scores, in one accurate step",
    lambda prediction, target, agg=np.mean: agg((1 - target) * prediction - logsigmoid(prediction)))
binary_focal_loss = _loss(
    "binary_focal_loss", "`binarycrossentropy` in which what's right already counts less, by ``(1 - p)**gamma``",
    lambda prediction, target, agg=np.mean, gamma=2, eps=None: agg(
        _focal(target * prediction + (1 - target) * (1 - prediction), gamma, eps)))
dice_coeff_loss = _loss(
    "dice_coeff_loss", "1 minus how much two regions of a picture overlap, for segmentation",
    lambda prediction, target, smooth=1:
        1 - (2 * np.sum(prediction * target) + smooth) / (np.sum(prediction**2 + target**2) + smooth))
tversky_loss = _loss(
    "tversky_loss", "`dice_coeff_loss` in which a false yes weighs `beta` and a false no ``1 - beta``",
    lambda prediction, target, beta=0.7: 1 - (np.sum(prediction * target) + 1) / (
        np.sum(prediction * target + beta * (1 - target) * prediction + (1 - beta) * target * (1 - prediction)) + 1))
# fmt: on


@compares(_same_shape)
def huber_loss(prediction: Array, target: Array, agg: Callable = np.mean, delta: float = 1) -> Array:
    """`mse` / 2 for errors below `delta`, and a straight line beyond (Flux: ``huber_loss``)."""
    error = np.abs(prediction - target)
    bent = np.minimum(error, delta)  # without a choice: in the part not chosen, the square might be infinite
    return agg(bent * (error - bent / 2))


@compares(_probabilities)
def crossentropy(prediction: Array, target: Array, axis: int = -1, agg: Callable = np.mean, eps: Eps = None) -> Array:
    """The mean of ``-sum(target * log(prediction))`` along `axis`, for probabilities (Flux: ``crossentropy``).

    For scores there's `logitcrossentropy`, which is more accurate and takes the same targets, and the same `agg`.
    """
    logs = _of_classes(lambda p: _log(p, eps), prediction, target, axis)
    return agg(-logs)


@compares(_classes)
def logitcrossentropy(prediction: Array, target: Array, axis: int = -1, agg: Callable = np.mean) -> Array:
    """`crossentropy` of the softmax of scores, in one step that doesn't lose accuracy (Flux: ``logitcrossentropy``).

    `target` holds probabilities, as `onehotbatch` gives, or the numbers of the classes, from 0, in the shape that
    `prediction` has without `axis`. If a score of -inf rules a class out, give numbers: with rows, 0 * -inf is
    NaN. On a GPU, where looking at the values would mean waiting, a number that is too large wraps around.

    `agg` gets a loss for each observation. It can leave some out, or weigh them: by class with ``mask = weights[y]``.

    >>> scores, y, mask = np.array([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]]), np.array([0, 1, 1]), np.array([1, 1, 0])
    >>> logitcrossentropy(scores, y, agg=lambda losses: np.sum(losses * mask) / np.sum(mask)).round(3)
    np.float64(0.22)
    """
    logs = _of_classes(lambda logs: logs, logsoftmax(prediction, axis), target, axis)
    return agg(-logs)


@compares(_probabilities)
def kldivergence(prediction: Array, target: Array, axis: int = -1, agg: Callable = np.mean, eps: Eps = None) -> Array:
    """`crossentropy` minus the target's own entropy: 0 where both agree (Flux: ``kldivergence``)."""
    losses = -_of_classes(lambda p: _log(p, eps), prediction, target, axis)
    if not _are_labels(prediction, target):  # those are all on one class: no entropy
        negative_entropy = np.sum(target * np.log(np.where(target == 0, 1, target)), axis=axis)
        losses = negative_entropy + losses
    return agg(losses)  # once, since it may be a median or a largest one


@compares(_probabilities)
def focal_loss(
    prediction: Array, target: Array, axis: int = -1, agg: Callable = np.mean, gamma: float = 2, eps: Eps = None
) -> Array:
    """`crossentropy` in which what's right already counts less, by ``(1 - p)**gamma`` (Flux: ``focal_loss``)."""
    return agg(_of_classes(lambda p: _focal(p, gamma, eps), prediction, target, axis))


def _of_classes(function: Callable, x: Any, target: Any, axis: int) -> Array:
    """``function(x)`` at the class that `target` gives the number of, or the mean, by its probabilities, of all."""
    if not _are_labels(x, target):
        return np.sum(target * function(x), axis=axis)
    if not is_array(target):
        return function(x[target])
    chosen = np.take_along_axis(x, np.expand_dims(target, axis), axis)
    return function(np.squeeze(chosen, axis))


@explained()
def label_smoothing(target: Array, alpha: float, axis: int | None = -1) -> Array:
    """Targets that leave a share `alpha` to all classes alike: ``(1 - alpha) * target + alpha / classes``.

    For yes and no, ``axis=None``: the share goes to the two (Flux: ``label_smoothing``; ``dims=0``).
    """
    if not 0 < alpha < 1:
        raise ValueError(f"label_smoothing(target, alpha): alpha lies between 0 and 1, got {alpha}")
    with on_card_of(target):
        kept = target * (1 - alpha)
        classes = 2 if axis is None else target.shape[axis]
        return kept + alpha / classes
