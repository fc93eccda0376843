"""Modes: some layers behave otherwise in training, and inside a gradient they are in training.

Such a layer has an attribute `active`: None, True or False. Its class declares it with ``active = None``, and `functor`
puts an `Automatic` there. While nothing is decided, this answers True inside a gradient call and None elsewhere.
"""

from __future__ import annotations

import inspect
import threading
from typing import Any


class _Thread(threading.local):
    gradients = 0


this_thread = _Thread()  # in it, so many gradient calls are open


class Automatic:
    """The attribute `active` of a class: what was decided for the layer, or else what the gradient calls say."""

    def __get__(self, layer: Any, cls: Any = None) -> Any:
        mode = getattr(layer, "__dict__", {}).get("active")
        return True if mode is None and this_thread.gradients else mode

    def __set__(self, layer: Any, mode: Any) -> None:
        self.__delete__(layer)
        if mode is not None:
            layer.__dict__["active"] = mode

    def __delete__(self, layer: Any) -> None:
        layer.__dict__.pop("active", None)


def declare_mode(cls: type) -> None:
    """If ``active = None`` stands in `cls`, let its layers be active inside gradients."""
    if inspect.getattr_static(cls, "active", ...) is None:
        cls.active = Automatic()  # type: ignore[attr-defined]
