"""`trainmode` and `testmode`: decide for layers such as `Dropout` whether they're in training."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from ..arguments import in_words
from ..tree.contract import attributes, children, is_leaf, put_attribute
from ..tree.modes import has_mode
from ..tree.walks import nodes

_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, np.ufunc)  # with nothing to switch


def testmode(model: Any, mode: Any = True) -> Mode:
    """Switch `model`'s layers to testing, for good, or for a ``with`` block (Flux: ``testmode!``).

    Layers that behave otherwise in training, such as `Dropout` and `BatchNorm`, have an attribute `active`. While
    nothing is decided, they're active in everything that `gradient`, or `jacobian` or `hessian`, calls in its thread,
    whether the function gets the model as an argument or has it from outside; and nowhere else. So you need `testmode`
    only for exceptions: a teacher that stays as it is, or a picture by whose pixels you differentiate. It sets `active`
    to False, everywhere in `model`. ``testmode(model, None)``, or "auto", lets the layers decide by themselves again,
    and ``testmode(model, False)`` is `trainmode`.

    In ``with testmode(model):`` it's for the block, also inside a gradient.

    A layer of your own takes part if its class is registered with ``@functor``, has ``active = None`` in it, and asks
    ``if self.active:``.

    Raises `TypeError` for what isn't a model.

    >>> model = fl.Chain(fl.Dense(2, 3), fl.Dropout(0.5))
    >>> with fl.trainmode(model):
    ...     model[1].active
    True
    >>> print(model[1].active)
    None
    """
    return trainmode(model, not mode if isinstance(mode, bool) else mode)


def trainmode(model: Any, mode: Any = True) -> Mode:
    """Switch `model`'s layers to training, for good, or for a ``with`` block (Flux: ``trainmode!``).

    It sets `active` to True in all layers that behave otherwise in training. Inside a gradient they're active by
    themselves. You need it outside, for instance to draw several answers from a model with `Dropout`, or for the
    older style of `param` and `back`.
    ``trainmode(model, None)``, or "auto", lets the layers decide by themselves again. More is at `testmode`.

    Raises `TypeError` for what isn't a model.

    >>> layer = fl.Dropout(0.5)
    >>> fl.trainmode(layer)
    trainmode of Dropout(0.5)
    >>> layer.active, bool((layer(np.ones(100)) == 0).any())
    (True, True)
    """
    if not (mode is None or isinstance(mode, (bool, str)) and mode in (True, False, "auto")):
        raise TypeError(f"mode is True, False, or None, with which layers decide by themselves; got {in_words(mode)}")
    if is_leaf(model) and not isinstance(model, _FUNCTIONS):
        kind = type(model).__name__
        raise TypeError(f"trainmode and testmode take a model, got a {kind}: @functor above a class makes one")
    return Mode(model, mode if isinstance(mode, bool) else None)


class Mode:
    """What `trainmode` and `testmode` return. At the end of a ``with`` block, the layers get back what they had."""

    def __init__(self, model: Any, mode: bool | None) -> None:
        self.model, self.mode = model, mode
        held = [(node, attributes(node).get("active", self)) for _, node in nodes(model)]
        modal = [(x, mode) for x, mode in held if mode is None or type(mode) is bool or has_mode(type(x))]
        self._before = [(layer, None if mode is self else mode) for layer, mode in modal]
        for layer, _ in self._before:
            put_attribute(layer, "active", mode)

    def __enter__(self) -> Any:
        return self.model

    def __exit__(self, *exc_info: Any) -> None:
        for layer, before in self._before:
            put_attribute(layer, "active", before)

    def __call__(self, *inputs: Any) -> Any:
        """``testmode(model)(x)`` is ``model(x)`` in this mode."""
        return self.model(*inputs)

    def __repr__(self) -> str:
        names = {True: "trainmode", False: "testmode", None: "automatic mode"}
        return f"{names[self.mode]} of {self.model!r}"


@children.register(Mode)
def _(x: Mode) -> Any:
    raise TypeError("this is what trainmode or testmode returned, not the model. They switch the model itself: use it")
