"""What all losses have in common: two arrays that are alike and in one place, and targets that make sense."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..arguments import note
from ..arrays import astype, on_card_of
from ..autodiff.tracked import TrackedArray, plain
from ..errors import mixed_devices
from ..messages import notice
from ..tensors import is_tensor, refuse_tensor

Loss = TypeVar("Loss", bound=Callable[..., Any])


def compares(check: Callable) -> Callable[[Loss], Loss]:
    """Gives a loss what all have in common: its two arrays are alike and in one place, or the error says which is not.

    ``check(name, prediction, target, …)`` looks at what the loss is called with. Where the arrays are is asked only
    after the array library has refused.
    """

    def with_check(loss: Loss) -> Loss:
        @functools.wraps(loss)
        def checked(prediction: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            for x in (prediction, target):
                if is_tensor(x):
                    refuse_tensor(f"{loss.__name__}(prediction, target)", x)
            try:
                check(loss.__name__, prediction, target, *args, **kwargs)
                with on_card_of(prediction):
                    return loss(prediction, in_type_of(prediction, target, loss.__name__), *args, **kwargs)
            except Exception as error:
                why = mixed_devices(loss.__name__, prediction=prediction, target=target)
                if why is None:
                    note(error, loss, (prediction, target, *args), kwargs)
                    raise
                raise why from error

        return checked  # type: ignore[return-value]

    return with_check


# -- what is checked ------------------------------------------------------------------------------------------------


def same_shape(name: str, prediction: Any, target: Any, *args: Any, numbers: bool = False, **kwargs: Any) -> None:
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


def classes(name: str, prediction: Any, target: Any, axis: Any = -1, *args: Any, **kwargs: Any) -> None:
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
    same_shape(name, prediction, target, numbers=True)
    values = plain(target)
    if on_the_host(prediction, target):
        # Done at each step, so by the ufuncs themselves: np.sum and np.min take twice as long.
        low, sums = np.minimum.reduce(values, None), np.add.reduce(values, axis)
        least, most = np.minimum.reduce(sums, None), np.maximum.reduce(sums, None)
        if low < -0.001 or least < 0.98 or most > 1.02:  # thirds may be written 0.33
            wrong = f"{low:.3g}" if low < -0.001 else f"a sum of {least if least < 0.98 else most:.3g}"
            raise ValueError(
                f"{name}(prediction, target): the target holds probabilities, which aren't negative and have the sum 1 "
                f"along axis {axis}; got {wrong}. The prediction comes first: {name}(model(x), y)"
            )


def probabilities(name: str, prediction: Any, target: Any, *args: Any, **kwargs: Any) -> None:
    """As for `classes`, and the prediction holds probabilities, not scores."""
    classes(name, prediction, target, *args, **kwargs)
    values = plain(prediction)
    if on_the_host(prediction, target):
        low, high = np.minimum.reduce(values, None), np.maximum.reduce(values, None)
        if low < 0 or high > 1.02:
            raise ValueError(
                f"{name}(prediction, target): the prediction holds probabilities, from 0 to 1, as softmax gives; got "
                f"{low if low < 0 else high:.3g}. For scores there is logitcrossentropy"
            )


def chances(name: str, prediction: Any, target: Any, *args: Any, **kwargs: Any) -> None:
    """For yes or no: both hold probabilities of yes, from 0 to 1."""
    true_or_false(name, prediction, target)
    if on_the_host(prediction, target):
        _within(name, "prediction", plain(prediction), "; for scores there is logitbinarycrossentropy")


def true_or_false(name: str, prediction: Any, target: Any, *args: Any, **kwargs: Any) -> None:
    """The target says yes, 1, or no, 0, or how likely yes is. A plain number is the same for all."""
    if type(target) not in (int, float, bool):
        same_shape(name, prediction, target)
    if on_the_host(prediction, target):
        hint = f". The prediction comes first: {name}(model(x), y)"
        _within(name, "target", np.asarray(plain(target), float), hint)


def _within(name: str, which: str, values: Any, hint: str) -> None:
    low, high = np.minimum.reduce(values, None), np.maximum.reduce(values, None)
    if low < -0.001 or high > 1.001:
        wrong = low if low < -0.001 else high
        raise ValueError(f"{name}(prediction, target): the {which} lies between 0 and 1; got {wrong:.3g}{hint}")


def signs(name: str, prediction: Any, target: Any, *args: Any, **kwargs: Any) -> None:
    """The target says which side: -1 or 1."""
    same_shape(name, prediction, target)
    if on_the_host(prediction, target):
        values = np.asarray(plain(target), float)
        if not (wrong := values[np.abs(values) != 1]).size:
            return
        raise ValueError(
            f"{name}(prediction, target): the target is -1 or 1; got {wrong.flat[0]:.3g}. "
            "2 * y - 1 makes them of 0 and 1"
        )


def positive(name: str, prediction: Any, target: Any, *args: Any, **kwargs: Any) -> None:
    """Both are counts, or rates at which something is counted: not negative."""
    same_shape(name, prediction, target)
    if on_the_host(prediction, target):
        for which, x in (("prediction", prediction), ("target", target)):
            if (low := np.minimum.reduce(plain(x), None)) < 0:
                raise ValueError(f"{name}(prediction, target): the {which} isn't negative; got {low:.3g}")


def on_the_host(prediction: Any, target: Any) -> bool:
    """Whether both are there, with values to look at. If only one is, the error is another one."""
    if not isinstance(plain(target), (np.ndarray, np.generic, int, float)):
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
    if on_the_host(prediction, labels):
        low, high = np.minimum.reduce(labels, None), np.maximum.reduce(labels, None)
        if low < 0 or high >= count:
            wrong = low if low < 0 else high
            raise ValueError(
                f"{name}(prediction, target): numbers of {count} classes are 0 to {count - 1}, got {wrong}"
            )


def in_type_of(prediction: Any, target: Any, name: str) -> Any:
    """`target`, where it is, in a type that leaves the loss in that of the `prediction`."""
    mine, its = getattr(prediction, "dtype", None), getattr(target, "dtype", None)
    if (
        its is mine
        or mine is None
        or its is None
        or mine.kind != "f"
        or are_labels(prediction, target)
        or np.result_type(mine, its) == mine
        and its.kind == "f"  # 1 - True is a whole number, and -y of uint8 is 255
    ):
        return target
    if its.kind == "f":  # integers stay the same numbers: no need to say it
        notice(
            ("target of a loss", its.name, mine.name),
            f"{name}: the target is {its.name} and becomes {mine.name}, as the prediction is, at each call. "
            f"y.astype(np.{mine.name}) does it once.",
        )
    return astype(target, mine)
