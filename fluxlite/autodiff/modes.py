"""Modes: some layers behave otherwise in training, and a gradient lets them know that it is training.

Such a layer has an attribute `active`: None, True or False. While it's None, the layer is active in the copy that
`gradient` hands to its function, and nowhere else. A class that says ``active = None`` declares it: then what the
function decides ends with the function, while any other attribute that it assigns stays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tree.contract import attributes, fields_of, has_mode, put_attribute
from ..tree.walks import nodes

_NONE = object()  # it holds no mode of its own: its class says that it decides by itself


def mode_of(x: Any) -> Any:
    """What `x` holds as its mode, which may be nothing at all."""
    held = x.__dict__ if fields_of(type(x)) is not None else attributes(x)
    return held.get("active", _NONE)


def modal_layers(model: Any) -> list:
    """Everything in `model` that has a mode, each once."""
    found = [(node, mode_of(node)) for _, node in nodes(model)]
    return [node for node, mode in found if mode is None or type(mode) is bool or has_mode(node.__class__)]


def put_mode(layer: Any, mode: Any) -> None:
    """Let `layer` hold what `mode_of` gave."""
    if mode is not _NONE:
        put_attribute(layer, "active", mode)
    elif mode_of(layer) is not _NONE:
        object.__delattr__(layer, "active")


def activate(layers: list) -> Callable[[], None]:
    """Make those of the `layers` active that decide by themselves. The function it returns gives all modes back."""
    before = [(layer, mode_of(layer)) for layer in layers]
    before = [(layer, mode) for layer, mode in before if mode is None or has_mode(layer.__class__)]
    for layer, mode in before:
        if type(mode) is not bool:
            put_attribute(layer, "active", True)

    def settle() -> None:
        for layer, mode in before:
            put_mode(layer, mode)

    return settle
