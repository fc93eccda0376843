"""Layers made of layers that don't simply follow each other, and two small ones: `Scale` and `flatten`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from ..activations import identity
from ..arguments import explained
from ..arrays import on_card_of
from ..autodiff.tracked import untracked_leaf
from ..errors import LayerError, ShapeError, left_over, other_device
from ..tree.contract import functor
from ..tree.ties import is_array
from ..tree.walks import KeyPath
from .activated import activated
from .inputs import is_floating, matching, no_array, taken
from .layer import LAYERS, Layer, called, on_its_card
from .printing import brief, call_of, calls_of, name_of


def checked(layers: tuple, named: Mapping[str, Any], kind: str) -> Any:
    """The layers as a container: a tuple, or a dict if they have names. Raises `TypeError` for what isn't a layer."""
    if layers and named:
        raise TypeError(f"the layers of {kind} all have names, or none has")
    if not layers and not named:
        raise TypeError(f"{kind}(*layers) takes at least one layer")
    for where, layer in [*enumerate(layers), *named.items()]:
        if not callable(layer):
            raise TypeError(f"{kind}'s layers[{where!r}] cannot be called: {brief(layer)}")
    return dict(named) if named else tuple(layers)


def check_connection(connection: Any, kind: str) -> None:
    if not callable(connection):
        raise TypeError(f"{kind}'s connection is a function such as np.add, got {brief(connection)}")


def items_of(layers: Any) -> list:
    return list(layers.items() if isinstance(layers, Mapping) else enumerate(layers))


@functor
@dataclass(eq=False, repr=False, init=False)
class SkipConnection(Layer):
    """A layer, and a way past it: ``connection(layer(x), x)`` (Flux: ``SkipConnection``).

    With ``np.add`` it's a residual block; ``lambda y, x: np.concatenate([y, x], axis=-1)`` keeps both.

    Raises what the layer raises, with ``layers`` in front, and `TypeError` for what can't be called.

    >>> block = SkipConnection(fl.Dense.of(np.eye(2)), np.add)
    >>> block(np.array([1.0, 2.0]))
    array([2., 4.])
    >>> block
    SkipConnection(Dense(2 => 2, bias=False), add)      # 4 parameters
    """

    layers: Any
    connection: Any

    def __init__(self, layers: Any, connection: Callable) -> None:
        check_connection(connection, "SkipConnection")
        self.layers = checked((layers,), {}, "SkipConnection")[0]
        self.connection = connection

    @on_its_card
    def __call__(self, x: Any) -> Any:
        return self.connection(called(self.layers, x, LAYERS), x)

    def _parts(self) -> list[tuple[Any, Any]]:
        return [(("layers",), self.layers), (("connection",), self.connection)]

    def _call(self) -> str:
        return f"SkipConnection({call_of(self.layers)}, {name_of(self.connection)})"


@functor
@dataclass(eq=False, repr=False, init=False)
class Parallel(Layer):
    """Layers side by side: ``connection(layers[0](x), layers[1](x), …)`` (Flux: ``Parallel``).

    All get the same `x`. Given several inputs, or a tuple of them, each layer gets its own:
    ``connection(layers[0](x), layers[1](y))``. Layers can have names, as in `Chain`. The connection takes all results
    at once. One of two arguments, such as ``np.add``, also works for more layers.

    Raises what a layer raises, with its place in front, `ValueError` for another number of inputs than layers, and
    `TypeError` for what can't be called.

    >>> both = Parallel(np.multiply, np.negative, np.square)
    >>> both(np.array([1.0, 2.0])), both(1.0, 3.0)
    (array([-1., -8.]), np.float64(-9.0))
    """

    connection: Any
    layers: Any

    def __init__(self, connection: Callable, /, *layers: Any, **named: Any) -> None:
        check_connection(connection, "Parallel")
        self.connection, self.layers = connection, checked(layers, named, "Parallel")

    @on_its_card
    def __call__(self, *inputs: Any) -> Any:
        items = items_of(self.layers)
        each = own_inputs(self, inputs, len(items))
        found = [called(layer, x, LAYERS, where) for (where, layer), x in zip(items, each)]
        if len(found) > 2 and isinstance(self.connection, np.ufunc):
            return reduce(self.connection, found)
        return self.connection(*found)

    def __getitem__(self, index: Any) -> Any:
        by_number = isinstance(self.layers, Mapping) and not isinstance(index, str)
        return list(self.layers.values())[index] if by_number else self.layers[index]

    def _parts(self) -> list[tuple[Any, Any]]:
        return [(("connection",), self.connection), *items_of(self.layers)]

    def _call(self) -> str:
        return f"{type(self).__name__}({name_of(self.connection)}, {calls_of(self.layers)})"


def own_inputs(layer: Any, inputs: tuple, count: int) -> tuple:
    """For each of the `count` layers its input. A tuple stands for several, one array for as many as are needed."""
    if len(inputs) == 1 and isinstance(inputs[0], tuple):
        inputs = inputs[0]
    elif len(inputs) == 1:
        return inputs * count
    if len(inputs) != count:
        kind = type(layer).__name__
        raise ShapeError(KeyPath(), f"{kind} of {count} layers takes one input, or {count}, got {len(inputs)}")
    return inputs


@functor
@dataclass(eq=False, repr=False, init=False)
class PairwiseFusion(Parallel):
    """Layers in a row, which meet a new input before each (Flux: ``PairwiseFusion``).

    ``PairwiseFusion(connection, first, second)(x, y)`` gives ``(a, b)`` with ``a = first(x)`` and
    ``b = second(connection(a, y))``, and so on. Given one input, all get the same. Raises what `Parallel` raises.

    >>> fusion = PairwiseFusion(np.add, np.negative, np.square)
    >>> fusion(1.0, 3.0)
    (np.float64(-1.0), np.float64(4.0))
    """

    @on_its_card
    def __call__(self, *inputs: Any) -> tuple:
        items = items_of(self.layers)
        found: list = []
        for (where, layer), x in zip(items, own_inputs(self, inputs, len(items))):
            joined = self.connection(found[-1], x) if found else x
            found.append(called(layer, joined, LAYERS, where))
        return tuple(found)


@functor
@dataclass(eq=False, repr=False, init=False)
class Maxout(Layer):
    """The largest of what several layers give, number by number (Flux: ``Maxout``).

    ``Maxout(layer, other, …)``, or ``Maxout(lambda: Dense(5, 7), 3)`` for three of a kind. Where two are equal, they
    share the gradient. Raises what a layer raises, with its place in front, and `TypeError` for what can't be called.

    >>> Maxout(np.negative, np.square)(np.array([-2.0, -0.5, 1.0]))
    array([4. , 0.5, 1. ])
    >>> len(Maxout(lambda: fl.Dense(5, 7), 3).layers)
    3
    """

    layers: Any

    def __init__(self, *layers: Any) -> None:
        if len(layers) == 2 and isinstance(layers[1], (int, np.integer)):
            layers = tuple(layers[0]() for _ in range(layers[1]))
        self.layers = checked(layers, {}, "Maxout")

    @on_its_card
    def __call__(self, x: Any) -> Any:
        return reduce(np.maximum, [called(layer, x, LAYERS, i) for i, layer in enumerate(self.layers)])

    def _parts(self) -> list[tuple[Any, Any]]:
        return items_of(self.layers)

    def _call(self) -> str:
        return f"Maxout({calls_of(self.layers)})"


@functor
@dataclass(eq=False, repr=False, init=False)
class Scale(Layer):
    """A weight and a bias for each feature: ``activation(x * scale + bias)`` (Flux: ``Scale``).

    ``Scale(3)`` is for inputs of shape ``(…, 3)``, ``Scale(3, 4)`` for ``(…, 3, 4)``. `scale` starts with ones, `bias`
    with zeros, both Float32; ``bias=False`` leaves it out. The activation comes last. `Scale.of` takes arrays.

    Raises `ValueError` for an input of another width, `TypeError` for one on another device, or of integers.

    >>> Scale(3)(np.ones((2, 3), np.float32)).shape
    (2, 3)
    >>> Scale.of(np.array([1.0, 10.0]), None, np.negative)(np.ones(2))
    array([ -1., -10.])
    """

    scale: Any
    bias: Any
    activation: Any

    def __init__(self, *size: Any, bias: bool = True) -> None:
        self.activation = size[-1] if size and callable(size[-1]) else identity
        size = size[:-1] if size and callable(size[-1]) else size
        for length in size or (None,):
            if isinstance(length, bool) or not isinstance(length, (int, np.integer)) or length < 0:
                what = f"Scale(*size) takes a number of features, got {brief(length)}"
                raise TypeError(f"{what}; for arrays there is Scale.of")
        self.scale = np.ones(size, np.float32)
        self.bias = np.zeros(size, np.float32) if bias else None

    @classmethod
    def of(cls, scale: Any, bias: Any = None, activation: Callable = identity) -> Scale:
        """A layer made of these arrays, of one shape; `bias` may be None.

        >>> Scale.of(np.array([1.0, 10.0]), np.ones(2))(np.ones(2))
        array([ 2., 11.])
        """
        if not is_array(scale) or not is_floating(scale):
            raise TypeError(f"Scale.of: scale is an array of floating-point numbers, got {brief(scale)}")
        if bias is not None and getattr(bias, "shape", None) != scale.shape:
            raise ValueError(f"Scale.of: bias has the shape of scale, {scale.shape}, got {brief(bias)}")
        layer = object.__new__(cls)
        layer.scale, layer.bias = scale, None if bias is None else matching(scale, bias)
        layer.activation = activation
        return layer

    @on_its_card
    def __call__(self, x: Any) -> Any:
        try:
            x = x if getattr(x, "dtype", None) is self.scale.dtype else taken(self._name(), self.scale, x)
            size, shape = self.scale.shape, getattr(x, "shape", None)
            if shape is None:
                raise no_array(self._name(), x)
            if shape[len(shape) - len(size) :] != size:
                wanted = f"(…, {', '.join(map(str, size))})"
                raise ShapeError(KeyPath(), f"{self._name()} takes an input of shape {wanted}, got {shape}")
            y = x * self.scale
            return activated(self.activation, y, self.bias)
        except (TypeError, ValueError, AttributeError, RuntimeError) as error:
            why = left_over(self) or (None if isinstance(error, LayerError) else other_device(self, x))
            if why is None:
                raise
            raise why from error

    def _name(self) -> str:
        return f"Scale({', '.join(map(str, self.scale.shape))})"

    def _call(self) -> str:
        activation = "" if self.activation is identity else f", {name_of(self.activation)}"
        return f"{self._name()[:-1]}{activation}{', bias=False' if self.bias is None else ''})"


@explained("an array of shape (N, …)")
def flatten(x: Any) -> Any:
    """Each observation as one row: ``(N, H, W, C)`` becomes ``(N, H * W * C)`` (Flux: ``flatten``).

    Raises `TypeError` for what isn't an array, `ValueError` for one number.

    >>> flatten(np.zeros((5, 2, 2, 3))).shape, flatten(np.zeros(5)).shape
    ((5, 12), (5, 1))
    """
    if not is_array(untracked_leaf(x)):
        raise no_array("flatten", x)
    if len(x.shape) == 0:
        raise ValueError("flatten takes an array of shape (N, …), got one number, of shape ()")
    with on_card_of(x):
        return np.reshape(x, (x.shape[0], math.prod(x.shape[1:])))
