"""What a layer takes: floating-point numbers of its own type. Other ones are converted, and that is said once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import astype, device_of
from ..autodiff.tracked import plain, untracked_leaf
from ..errors import InputError
from ..messages import notice, was_said
from ..tensors import is_tensor, tensor
from ..tree.ties import is_array
from ..tree.walks import KeyPath
from .printing import brief


def taken(name: str, weight: Any, x: Any, features: int | None = None) -> Any:
    """The input `x` of the layer `name` in the type of its `weight` (Flux: ``_match_eltype``).

    Floating-point numbers are converted where they are, which a gradient sees; a list of numbers has no type of its
    own and takes the layer's. Raises `InputError` for integers, booleans, complex numbers and all else. What the
    layer refuses anyway, another width than `features` (the weight's last axis) or another device, is left for it to
    refuse.
    """
    if type(x) in (list, tuple) and type(plain(weight)) is np.ndarray:
        try:
            numbers = np.asarray(x)
        except (ValueError, RecursionError) as error:
            raise InputError(KeyPath(), f"{name} takes an array, got a list that makes none: {error}") from None
        return numbers.astype(weight.dtype) if numbers.dtype.kind in "biuf" and is_floating(weight) else numbers
    if is_tensor(x):
        raise no_array(name, x)
    if not is_array(untracked_leaf(x)) or x.dtype.name == weight.dtype.name or not is_floating(weight):
        return x
    width = weight.shape[-1:] if features is None else (features,)
    if x.shape[-1:] != width or device_of(plain(x)) != device_of(plain(weight)):
        return x
    if not is_floating(x):
        raise InputError(KeyPath(), f"{name} takes floating-point numbers, got {x.dtype.name}; {_fix(weight, x)}")
    key = ("input of a layer", x.dtype.name, weight.dtype.name)
    if not was_said(key):
        notice(key, _converts(name, weight, x))
    return astype(x, weight.dtype)


def no_array(name: str, x: Any) -> InputError:
    """The error for an input of the layer `name` that isn't an array."""
    got = tensor(x) if is_tensor(x) else f"{brief(x)}; np.asarray(x) makes one"
    return InputError(KeyPath(), f"{name} takes an array, got {got}")


def matching(weight: Any, bias: Any, layer: str = "Dense") -> Any:
    """`bias` in the type of `weight`; two types in one layer would make all that it computes the wider one."""
    if not (is_floating(weight) and is_floating(bias)) or bias.dtype.name == weight.dtype.name:
        return bias
    notice(
        ("bias", bias.dtype.name, weight.dtype.name),
        f"{layer}.of: the weight is {weight.dtype.name}, "
        f"so the {bias.dtype.name} bias becomes {weight.dtype.name}, too.",
    )
    return astype(bias, weight.dtype)


def is_floating(x: Any) -> bool:
    return x.dtype.kind == "f" or x.dtype.name == "bfloat16"  # which NumPy doesn't know by itself


def _converts(name: str, weight: Any, x: Any) -> str:
    text = (
        f"{name} computes in {weight.dtype.name} and converts its {x.dtype.name} input, at each call. "
        f"x.astype({_written(weight)}) does it once."
    )
    numbers = "Numbers such as np.sqrt(64) are float64 too, and make arrays float64; math.sqrt(64) doesn't."
    return f"{text}\n{numbers}" if x.dtype == np.float64 else text


def _fix(weight: Any, x: Any) -> str:
    if x.dtype.kind == "c":
        return "give it real ones: np.abs(x), np.real(x) or np.imag(x)"
    return f"convert them: x.astype({_written(weight)})"


def _written(weight: Any) -> str:
    name = weight.dtype.name
    return f"np.{name}" if hasattr(np, name) else repr(name)
