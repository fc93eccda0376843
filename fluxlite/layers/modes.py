"""`trainmode` and `testmode`: decide for layers such as `Dropout` whether they're in training."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from ..arguments import in_words
from ..autodiff.levels import PARAMETERS
from ..autodiff.modes import modal_layers, mode_of, put_mode
from ..autodiff.tracked import TrackedArray
from ..tree.contract import children, is_leaf
from ..tree.walks import nodes

_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, np.ufunc)  # with nothing to switch


def testmode(model: Any, mode: Any = True) -> Mode:
    """Switch `model`'s layers to testing, for good, or for a ``with`` block (Flux: ``testmode!``).

    Layers that behave otherwise in training, such as `Dropout` and `BatchNorm`, have an attribute `active`. It's None
    at first: they're active in the model that `gradient` hands to its function, and nowhere else. So you need
    `testmode` only for exceptions. It sets `active` to False, everywhere in `model`. ``testmode(model, None)``, or
    "auto", lets the layers decide by themselves again, and ``testmode(model, False)`` is `trainmode`.

    In ``with testmode(model):`` it's for the block. It also works inside a gradient, for instance to compare with what
    the model would say in a test. A decision inside a gradient ends with it.

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
    older style of `param` and `back`, and for models that the function doesn't get as an argument.
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
    return Mode(model, mode if isinstance(mode, bool) else True if _is_in_gradient(model) else None)


def _is_in_gradient(model: Any) -> bool:
    """Whether `model` is the copy that a gradient made for its function."""
    return any(type(node) is TrackedArray and node.level is not PARAMETERS for _, node in nodes(model))


class Mode:
    """What `trainmode` and `testmode` return. At the end of a ``with`` block, the layers get back what they had."""

    def __init__(self, model: Any, mode: bool | None) -> None:
        self.model, self.mode = model, mode
        self._before = [(layer, mode_of(layer)) for layer in modal_layers(model)]
        for layer, _ in self._before:
            put_mode(layer, mode)

    def __enter__(self) -> Any:
        return self.model

    def __exit__(self, *exc_info: Any) -> None:
        for layer, before in self._before:
            put_mode(layer, before)

    def __call__(self, *inputs: Any) -> Any:
        """``testmode(model)(x)`` is ``model(x)`` in this mode."""
        return self.model(*inputs)

    def __repr__(self) -> str:
        names = {True: "trainmode", False: "testmode", None: "automatic mode"}
        return f"{names[self.mode]} of {self.model!r}"


@children.register(Mode)
def _(x: Mode) -> Any:
    raise TypeError("this is what trainmode or testmode returned, not the model. They switch the model itself: use it")
