"""A layer's mode: `Dropout` and its kin are in training while a gradient is computed, unless it's decided otherwise."""

import inspect
import threading
from typing import Any

from ..annotations import Tree
from ..tree.contract import NotAPart, attributes, children, is_leaf, on_registration, put_attribute
from ..tree.walks import nodes
from ..words import explained, in_words


class _GradientCalls(threading.local):
    open = 0  # how many of them, in this thread


gradient_calls = _GradientCalls()


class Automatic(NotAPart):
    """The attribute `active` of a class that declares ``active = None``: a layer that behaves differently in training.

    It's what was decided for the layer. As long as nothing is, it's True inside a gradient call and None elsewhere.
    """

    def __get__(self, layer: object, cls: type | None = None) -> bool | None:
        mode = getattr(layer, "__dict__", {}).get("active")
        if mode is None and gradient_calls.open:
            return True
        return mode

    def __set__(self, layer: object, mode: bool | None) -> None:
        self.__delete__(layer)
        if mode is not None:
            layer.__dict__["active"] = mode

    def __delete__(self, layer: object) -> None:
        layer.__dict__.pop("active", None)


def has_mode(cls: type) -> bool:
    return type(inspect.getattr_static(cls, "active", None)) is Automatic


def make_automatic(cls: type) -> None:
    """What ``active = None`` in a class becomes when it's registered."""
    if inspect.getattr_static(cls, "active", ...) is None:
        cls.active = Automatic()  # type: ignore[attr-defined]


on_registration.append(make_automatic)


# -- deciding it ---------------------------------------------------------------------------------------------------


@explained()
def testmode(model: Tree, mode: bool | str | None = True) -> "Mode":
    """Switch `model`'s layers to testing, for good, or for a ``with`` block (Flux: ``testmode!``).

    Layers such as `Dropout` and `BatchNorm` have an attribute `active`: True while `gradient` and its kin run, else
    None. `testmode` sets it to False, for exceptions: ``with testmode(teacher):`` around its answers in a loss. None or
    "auto" as `mode` ends that. A layer of your own takes part if its class has ``@functor`` and ``active = None``.
    """
    if isinstance(mode, bool):
        mode = not mode
    return trainmode(model, mode)


@explained()
def trainmode(model: Tree, mode: bool | str | None = True) -> "Mode":
    """Switch `model`'s layers to training, for good, or for a ``with`` block (Flux: ``trainmode!``). See `testmode`.

    It's there to draw several answers from a model with `Dropout`, or for the older style of `param` and `back`.
    """
    if type(mode) is not bool and mode not in (None, "auto"):
        raise TypeError(f"mode is True, False, or None, with which layers decide by themselves; got {in_words(mode)}")
    if is_leaf(model) and (isinstance(model, type) or not callable(model)):  # a function has nothing to switch
        raise TypeError(f"trainmode and testmode take a model, got {in_words(model)}: @functor above a class makes one")
    if not isinstance(mode, bool):  # "auto" or None
        mode = None
    return Mode(model, mode)


class Mode:
    """What `trainmode` and `testmode` return. At the end of a ``with`` block, the layers get back what they had."""

    def __init__(self, model: Any, mode: bool | None) -> None:
        self.model = model
        self.mode = mode
        self._before: list[tuple[object, Any]] = []  # each layer that has a mode, with what it held; ... is nothing
        for _, layer in nodes(model):
            active = attributes(layer).get("active", ...)
            if active is None or type(active) is bool or has_mode(type(layer)):
                self._before.append((layer, active))
        for layer, _ in self._before:
            put_attribute(layer, "active", mode)

    def __enter__(self) -> Any:
        return self.model

    def __exit__(self, *exc_info: Any) -> None:
        for layer, before in self._before:
            if before is ...:
                before = None
            put_attribute(layer, "active", before)

    def __call__(self, *inputs: Any) -> Any:
        return self.model(*inputs)

    def __repr__(self) -> str:
        names = {True: "trainmode", False: "testmode", None: "automatic mode"}
        return f"{names[self.mode]} of {self.model!r}"


@children.register(Mode)
def _(x: Mode) -> Any:
    raise TypeError("this is what trainmode or testmode returned, not the model. They switch the model itself: use it")
