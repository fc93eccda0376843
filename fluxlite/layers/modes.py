"""`trainmode` and `testmode`: decide for layers such as `Dropout` whether they're in training."""

from typing import Any

from ..arguments import explained, in_words
from ..tree.contract import attributes, children, has_mode, is_leaf, put_attribute
from ..tree.walks import nodes


@explained()
def testmode(model: Any, mode: Any = True) -> "Mode":
    """Switch `model`'s layers to testing, for good, or for a ``with`` block (Flux: ``testmode!``).

    Layers that behave otherwise in training, such as `Dropout` and `BatchNorm`, have an attribute `active`. It's None
    outside of gradients, and True while `gradient`, `jacobian` or `hessian` runs its function, in the same thread,
    whether the model is an argument or comes from outside. So you need `testmode` only for exceptions: a teacher that
    answers as in a test, or a gradient by the pixels of a picture. It sets `active` to False, everywhere in `model`.
    ``testmode(model, None)``, or "auto", ends that, and ``testmode(model, False)`` is `trainmode`. Both work inside a
    gradient, too. A layer of your own takes part if its class has ``@functor`` above it and ``active = None`` in it.

    >>> teacher = fl.Dropout(0.5)
    >>> def loss(w):
    ...     with fl.testmode(teacher):
    ...         return np.sum(teacher(w))
    >>> fl.gradient(loss, np.ones(3))
    (array([1., 1., 1.]),)
    """
    return trainmode(model, not mode if isinstance(mode, bool) else mode)


@explained()
def trainmode(model: Any, mode: Any = True) -> "Mode":
    """Switch `model`'s layers to training, for good, or for a ``with`` block (Flux: ``trainmode!``).

    It sets `active` to True in all layers that behave otherwise in training. Inside a gradient they're active by
    themselves. You need it outside, for instance to draw several answers from a model with `Dropout`, or for the
    older style of `param` and `back`. ``trainmode(model, None)``, or "auto", ends it. More is at `testmode`.

    >>> layer = fl.Dropout(0.5)
    >>> fl.trainmode(layer)
    trainmode of Dropout(0.5)
    >>> layer.active, bool((layer(np.ones(100)) == 0).any())
    (True, True)
    """
    if type(mode) is not bool and mode not in (None, "auto"):
        raise TypeError(f"mode is True, False, or None, with which layers decide by themselves; got {in_words(mode)}")
    if is_leaf(model) and (isinstance(model, type) or not callable(model)):  # a function has nothing to switch
        raise TypeError(f"trainmode and testmode take a model, got {in_words(model)}: @functor above a class makes one")
    return Mode(model, mode if isinstance(mode, bool) else None)


class Mode:
    """What `trainmode` and `testmode` return. At the end of a ``with`` block, the layers get back what they had."""

    def __init__(self, model: Any, mode: bool | None) -> None:
        self.model, self.mode = model, mode
        found = [(layer, attributes(layer).get("active", ...)) for _, layer in nodes(model)]
        self._before = [(x, held) for x, held in found if held is None or type(held) is bool or has_mode(type(x))]
        for layer, _ in self._before:
            put_attribute(layer, "active", mode)

    def __enter__(self) -> Any:
        return self.model

    def __exit__(self, *exc_info: Any) -> None:
        for layer, before in self._before:
            put_attribute(layer, "active", None if before is ... else before)

    def __call__(self, *inputs: Any) -> Any:
        """``testmode(model)(x)`` is ``model(x)`` in this mode."""
        return self.model(*inputs)

    def __repr__(self) -> str:
        names = {True: "trainmode", False: "testmode", None: "automatic mode"}
        return f"{names[self.mode]} of {self.model!r}"


@children.register(Mode)
def _(x: Mode) -> Any:
    raise TypeError("this is what trainmode or testmode returned, not the model. They switch the model itself: use it")
