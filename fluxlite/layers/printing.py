"""How layers print: as Flux's do, with the number of their parameters, and where they are if not on the CPU."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any

from ..arrays import device_of
from ..autodiff.tracked import untracked_leaf
from ..tensors import is_tensor, tensor
from ..tree.contract import trainable
from ..tree.walks import trainables
from ..tree.ties import is_array, parameter_key
from ..tree.walks import fmap, leaves


def described(layer: Any) -> str:
    """How a layer prints by itself: as its `_call` says, with its parameters, and where they are if not on the CPU."""
    if not trainable(layer):  # a layer that never has parameters
        return layer._call()
    return f"{layer._call()}      # {comment_of(layer)}{said_where(places_of(layer))}"


def comment_of(x: Any, how: str = "") -> str:
    """How many parameters there are in `x`, and how many other numbers, such as the running means of `BatchNorm`."""
    count = count_of(x)
    arrays = {parameter_key(leaf): leaf.size for leaf in leaves(fmap(untracked_leaf, x)) if is_array(leaf)}
    others = sum(arrays.values()) - count
    plus = f"{number(others)} not trained"
    return plus if others and not count else f"{number(count)} parameters{how}{f', plus {plus}' if others else ''}"


def number(count: int) -> str:
    return f"{count:,}" if count >= 10_000 else str(count)


def call_of(layer: Any) -> str:
    """How a layer, or any function, is written within another one, on one line."""
    return layer._call() if hasattr(layer, "_call") else name_of(layer)


def calls_of(layers: Any) -> str:
    """The same for a container of layers, which may have names."""
    named = layers.items() if isinstance(layers, Mapping) else (("", layer) for layer in layers)
    return ", ".join(f"{name}={call_of(layer)}" if name else call_of(layer) for name, layer in named)


def count_of(layer: Any) -> int:
    """How many numbers training may change; a tied array counts once, a tracked one like its value."""
    return sum(array.size for _, array in trainables(fmap(untracked_leaf, layer)))


def places_of(layer: Any) -> list[str]:
    """The devices on which the arrays of `layer` are."""
    arrays = filter(is_array, leaves(fmap(untracked_leaf, layer)))
    return list(dict.fromkeys(str(device_of(array)) for array in arrays))


def said_where(places: list[str]) -> str:
    """Said where it is not the usual one."""
    return "" if places in ([], ["CPU"]) else f", on {' and '.join(places)}"


def name_of(function: Any) -> str:
    parameters = getattr(type(function), "__dataclass_params__", None)
    if parameters is not None and parameters.repr:  # that text would hold all values, and fetch them from a device
        return f"{type(function).__name__}(…)"
    name = getattr(function, "__name__", None) or repr(function)
    return f"{type(function).__name__}(…)" if "\n" in name else name


def text_of(x: Any) -> str:
    return brief(x) if is_array(x) else repr(x)


def brief(x: Any) -> str:
    shape = getattr(x, "shape", None)
    if shape is not None:
        return tensor(x) if is_tensor(x) else f"an array of shape {shape}"
    text = reprlib.repr(x)
    return f"{type(x).__name__} {text}" if "\n" not in text else f"a {type(x).__name__}"
