"""What a whole model is switched to: training or testing, and another floating-point type."""

from typing import Any

import numpy as np

from ..arrays import astype
from ..autodiff.tracked import plain
from ..tree.contract import attributes, children, has_mode, is_leaf, put_attribute
from ..tree.ties import is_array
from ..tree.walks import fmap, nodes
from ..words import explained, in_words


@explained()
def testmode(model: Any, mode: Any = True) -> "Mode":
    """Switch `model`'s layers to testing, for good, or for a ``with`` block (Flux: ``testmode!``).

    Layers such as `Dropout` and `BatchNorm` have an attribute `active`: True while `gradient` and its kin run, else
    None. `testmode` sets it to False, for exceptions: ``with testmode(teacher):`` around its answers in a loss. None or
    "auto" as `mode` ends that. A layer of your own takes part if its class has ``@functor`` and ``active = None``.
    """
    if isinstance(mode, bool):
        mode = not mode
    return trainmode(model, mode)


@explained()
def trainmode(model: Any, mode: Any = True) -> "Mode":
    """Switch `model`'s layers to training, for good, or for a ``with`` block (Flux: ``trainmode!``). See `testmode`.

    It's there to draw several answers from a model with `Dropout`, or for the older style of `param` and `back`.
    """
    if type(mode) is not bool and mode not in (None, "auto"):
        raise TypeError(f"mode is True, False, or None, with which layers decide by themselves; got {in_words(mode)}")
    if is_leaf(model) and (isinstance(model, type) or not callable(model)):  # a function has nothing to switch
        raise TypeError(f"trainmode and testmode take a model, got {in_words(model)}: @functor above a class makes one")
    if mode == "auto":
        mode = None
    return Mode(model, mode)


class Mode:
    """What `trainmode` and `testmode` return. At the end of a ``with`` block, the layers get back what they had."""

    def __init__(self, model: Any, mode: bool | None) -> None:
        self.model = model
        self.mode = mode
        self._before: list[tuple[Any, Any]] = []  # each layer that has a mode, with what it held; ... is nothing
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


@explained()
def f16(x: Any) -> Any:
    """`x` with all its floating-point arrays in half precision (Flux: ``f16``). Integers stay, ties survive.

    Inside a gradient too: then the gradient comes back in the type that `x` had. Python's own numbers stay. It's for
    whole models, not for a step inside one: each layer converts its input to the type of its weights. To train, keep
    float32 in the model and write ``f16(m)(x)`` in the loss: a float16 can't change by less than 1/2,000 of its size.

    Layers, losses, gradients and optimizers add up in float32, and round once. NumPy's ``x.sum(axis=0)`` of your own
    doesn't, on the CPU: there it's ``x.astype(np.float32).sum(axis=0)``.
    """
    return _cast(x, np.float16)


@explained()
def f32(x: Any) -> Any:
    """`x` with all its floating-point arrays in float32, the usual type of a model (Flux: ``f32``)."""
    return _cast(x, np.float32)


@explained()
def f64(x: Any) -> Any:
    """`x` with all its floating-point arrays in float64 (Flux: ``f64``)."""
    return _cast(x, np.float64)


def _cast(x: Any, dtype: Any) -> Any:
    def cast_leaf(leaf: Any) -> Any:
        value = plain(leaf)
        has_type = is_array(value) or isinstance(value, np.floating)
        if has_type and leaf.dtype.kind == "f":
            return astype(leaf, dtype)
        return leaf

    return fmap(cast_leaf, x)
