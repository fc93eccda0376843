"""Layers made of layers that don't simply follow each other, and two small ones: `Scale` and `flatten`."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from ..activations import identity
from ..arguments import explained
from ..arrays import on_card_of
from ..errors import ShapeError
from ..tensors import is_tensor
from ..tree.contract import functor
from ..tree.walks import KeyPath
from .activated import activated
from .chain import Chain, Container
from .inputs import check_activation, check_array, matching, no_array, taken
from .layer import LAYERS, Layer, called, layer_call
from .printing import call_of, name_of, settings


@functor
@dataclass(eq=False, repr=False, init=False)
class SkipConnection(Container):
    """A layer, and a way past it: ``connection(layer(x), x)`` (Flux: ``SkipConnection``).

    With ``np.add`` it's a residual block; ``lambda y, x: np.concatenate([y, x], axis=-1)`` keeps both.

    >>> SkipConnection(fl.Dense.of(np.eye(2)), np.add)(np.array([1.0, 2.0]))
    array([2., 4.])
    """

    layers: Any
    connection: Any

    @explained()
    def __init__(self, layers: Any, connection: Callable) -> None:
        self.layers, self.connection = layers, connection

    @layer_call
    def __call__(self, x: Any) -> Any:
        return self.connection(called(self.layers, x, LAYERS), x)

    def _sizes(self) -> str:
        return f"{call_of(self.layers)}, {name_of(self.connection)}"


@functor
@dataclass(eq=False, repr=False, init=False)
class Parallel(Container):
    """Layers side by side: ``connection(layers[0](x), layers[1](x), …)`` (Flux: ``Parallel``).

    All get the same `x`. Given several inputs, or a tuple of them, each layer gets its own:
    ``connection(layers[0](x), layers[1](y))``. Layers can have names, as in `Chain`. The connection takes all results
    at once. One of two arguments, such as ``np.add``, also works for more layers.

    >>> Parallel(np.multiply, np.negative, np.square)(np.array([1.0, 2.0]))
    array([-1., -8.])
    """

    connection: Any
    layers: Any

    @explained()
    def __init__(self, connection: Callable, /, *layers: Any, **named: Any) -> None:
        self.connection = connection
        self._set_layers(layers, named)

    @layer_call
    def __call__(self, *inputs: Any) -> Any:
        found = [called(layer, x, LAYERS, where) for (where, layer), x in self._with_inputs(inputs)]
        if len(found) > 2 and isinstance(self.connection, np.ufunc):
            return reduce(self.connection, found)
        return self.connection(*found)

    __getitem__ = Chain.__getitem__

    def _with_inputs(self, inputs: tuple) -> Any:
        """Each layer with its input. A tuple stands for several, one array for as many as are needed."""
        count = len(self.layers)
        if len(inputs) == 1:
            inputs = inputs[0] if isinstance(inputs[0], tuple) else inputs * count
        if len(inputs) != count:
            what = f"{self._name()} of {count} layers takes one input, or {count}, got {len(inputs)}"
            raise ShapeError(KeyPath(), what)
        return zip(self._items(), inputs)

    def _sizes(self) -> str:
        return f"{name_of(self.connection)}, {super()._sizes()}"


@functor
@dataclass(eq=False, repr=False, init=False)
class PairwiseFusion(Parallel):
    """Layers in a row, which meet a new input before each (Flux: ``PairwiseFusion``).

    ``PairwiseFusion(connection, first, second)(x, y)`` gives ``(a, b)`` with ``a = first(x)`` and
    ``b = second(connection(a, y))``, and so on. Given one input, all get the same.

    >>> PairwiseFusion(np.add, np.negative, np.square)(1.0, 3.0)
    (np.float64(-1.0), np.float64(4.0))
    """

    @layer_call
    def __call__(self, *inputs: Any) -> tuple:
        found: list = []
        for (where, layer), x in self._with_inputs(inputs):
            joined = self.connection(found[-1], x) if found else x
            found.append(called(layer, joined, LAYERS, where))
        return tuple(found)


@functor
@dataclass(eq=False, repr=False, init=False)
class Maxout(Container):
    """The largest of what several layers give, number by number (Flux: ``Maxout``).

    ``Maxout(layer, other, …)``, or ``Maxout(lambda: Dense(5, 7), 3)`` for three of a kind. Where two are equal, they
    share the gradient.

    >>> Maxout(np.negative, np.square)(np.array([-2.0, -0.5, 1.0]))
    array([4. , 0.5, 1. ])
    """

    layers: Any

    @explained()
    def __init__(self, *layers: Any) -> None:
        if len(layers) == 2 and isinstance(layers[1], (int, np.integer)):
            layers = tuple(layers[0]() for _ in range(layers[1]))
        self._set_layers(layers, {})

    @layer_call
    def __call__(self, x: Any) -> Any:
        return reduce(np.maximum, [called(layer, x, LAYERS, where) for where, layer in self._items()])


@functor
@dataclass(eq=False, repr=False, init=False)
class Scale(Layer):
    """A weight and a bias for each feature: ``activation(x * scale + bias)`` (Flux: ``Scale``).

    ``Scale(3)`` is for inputs of shape ``(…, 3)``, ``Scale(3, 4)`` for ``(…, 3, 4)``. `scale` starts with ones, `bias`
    with zeros, both Float32; ``bias=False`` leaves it out. The activation comes last. `Scale.of` takes arrays.

    >>> Scale.of(np.array([1.0, 10.0]), None, np.negative)(np.ones(2))
    array([ -1., -10.])
    """

    scale: Any
    bias: Any
    activation: Any

    @explained()
    def __init__(self, *size: Any, bias: bool = True) -> None:
        size, activation = split_activation(size)
        self.scale = np.ones(size, np.float32)
        self.bias = np.zeros(size, np.float32) if bias else None
        self.activation = activation

    @classmethod
    @explained()
    def of(cls, scale: Any, bias: Any = None, activation: Callable = identity) -> "Scale":
        """A layer made of these arrays, of one shape; `bias` may be None."""
        layer = object.__new__(cls)
        layer.scale = check_array("Scale.of: scale", scale, *getattr(scale, "shape", ("…",)))
        layer.bias = matching("Scale", scale, bias, *scale.shape)
        layer.activation = check_activation("Scale", activation)
        return layer

    @layer_call
    def __call__(self, x: Any) -> Any:
        if getattr(x, "dtype", None) is not self.scale.dtype:
            x = taken(self._name(), self.scale, x)
        size, shape = self.scale.shape, getattr(x, "shape", None)
        if shape is not None and shape[len(shape) - len(size) :] != size:  # NumPy would broadcast some of them
            wanted = f"(…, {', '.join(map(str, size))})"
            raise ShapeError(KeyPath(), f"{self._name()} takes an input of shape {wanted}, got {shape}")
        return activated(self.activation, x * self.scale, self.bias)

    def _sizes(self) -> str:
        return ", ".join(map(str, self.scale.shape))

    def _options(self) -> str:
        return settings(self.activation, bias=self.bias is not None)


def split_activation(size: tuple) -> tuple[tuple, Callable]:
    """The sizes, and the activation that may stand behind them."""
    return (size[:-1], size[-1]) if size and callable(size[-1]) else (size, identity)


@explained("an array of shape (N, …)")
def flatten(x: Any) -> Any:
    """Each observation as one row: ``(N, H, W, C)`` becomes ``(N, H * W * C)`` (Flux: ``flatten``).

    >>> flatten(np.zeros((5, 2, 2, 3))).shape, flatten(np.zeros(5)).shape
    ((5, 12), (5, 1))
    """
    if is_tensor(x):  # NumPy would take it without a word
        raise no_array("flatten", x)
    with on_card_of(x):
        return np.reshape(x, (x.shape[0], math.prod(x.shape[1:])))
