"""Layers made of layers that don't simply follow each other, and small ones: `Scale`, `Embedding` and `flatten`."""

import math
from collections.abc import Callable
from functools import reduce
from operator import index
from typing import Any

import numpy as np

from ..arrays import astype, device_of, getitem, on_card_of, on_device_of
from ..autodiff.tracked import plain
from ..messages import LayerError, ShapeError, apart, explained
from ..tensors import refuse_tensor
from ..tree.ties import is_array
from ..tree.walks import Attribute, KeyPath
from .basic import Chain, Container, multiply_rows
from .layer import LAYERS, Layer, activated, called, check_activation, check_array, generator, identity, layer_call

from .layer import layer_class, matching, start, taken  # isort: skip
from .printing import call_of, name_of, settings


@layer_class()
class SkipConnection(Container):
    """A layer, and a way past it: ``connection(layer(x), x)`` (Flux: ``SkipConnection``).

    With ``np.add`` it's a residual block; ``lambda y, x: np.concatenate([y, x], axis=-1)`` keeps both.
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


@layer_class()
class Parallel(Container):
    """Layers side by side: ``connection(layers[0](x), layers[1](x), …)`` (Flux: ``Parallel``).

    All get the same `x`. Given several inputs, or a tuple of them, each layer gets its own. Layers can have names, as
    in `Chain`. The connection takes all results at once. ``np.add`` and its kin work for more than two layers, too.
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
        count = len(self.layers)
        if len(inputs) == 1:
            inputs = inputs[0] if isinstance(inputs[0], tuple) else inputs * count
        if len(inputs) != count:
            takes = f"takes one input, or {count}, got {len(inputs)}"
            raise ShapeError(KeyPath(), f"{self._name()} of {count} layers {takes}")
        return zip(self._items(), inputs)

    def _sizes(self) -> str:
        return f"{name_of(self.connection)}, {super()._sizes()}"


@layer_class()
class PairwiseFusion(Parallel):
    """Layers in a row, which meet a new input before each (Flux: ``PairwiseFusion``).

    ``PairwiseFusion(connection, first, second)(x, y)`` gives ``(a, b)`` with ``a = first(x)`` and
    ``b = second(connection(a, y))``, and so on. Given one input, all get the same.
    """

    @layer_call
    def __call__(self, *inputs: Any) -> tuple:
        found: list = []
        for (where, layer), x in self._with_inputs(inputs):
            joined = self.connection(found[-1], x) if found else x
            found.append(called(layer, joined, LAYERS, where))
        return tuple(found)


@layer_class()
class Maxout(Container):
    """The largest of what several layers give, number by number (Flux: ``Maxout``).

    ``Maxout(layer, other, …)``, or ``Maxout(lambda: Dense(5, 7), 3)`` for three of a kind. Where two are equal, they
    share the gradient.
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


@layer_class()
class Scale(Layer):
    """A weight and a bias for each feature: ``activation(x * scale + bias)`` (Flux: ``Scale``).

    ``Scale(3)`` is for inputs of shape ``(…, 3)``, ``Scale(3, 4)`` for ``(…, 3, 4)``. `scale` starts with ones, `bias`
    with zeros, both Float32; ``bias=False`` leaves it out. The activation comes last. `Scale.of` takes arrays.
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
        x, size = taken(self, self.scale, x), self.scale.shape
        if x.shape[len(x.shape) - len(size) :] != size:  # NumPy would broadcast some of them
            wanted = ", ".join(map(str, ("…", *size)))
            raise ShapeError(KeyPath(), f"{self._name()} takes an input of shape ({wanted}), got {x.shape}")
        return activated(self.activation, x * self.scale, self.bias)

    def _sizes(self) -> str:
        return ", ".join(map(str, self.scale.shape))

    def _options(self) -> str:
        return settings(self.activation, bias=self.bias is not None)


def split_activation(size: tuple) -> tuple[tuple, Callable]:
    return (size[:-1], size[-1]) if size and callable(size[-1]) else (size, identity)


def normal(*shape: int, rng: np.random.Generator | None = None) -> Any:
    """Normal numbers with deviation 1."""
    return generator(rng).standard_normal(shape, dtype=np.float32)


@layer_class()
class Embedding(Layer):
    """For each number of a vocabulary, a row of features that are learned: ``weight[x]`` (Flux: ``Embedding``).

    `weight` has shape ``(vocabulary, features)`` and starts with normal numbers. `x` holds whole numbers from 0 to
    ``vocabulary - 1``, in any shape; the result has that shape and the features behind it. Floating-point numbers and
    booleans are one-hot rows, ``(…, vocabulary)``. On a GPU, a number that isn't in the vocabulary wraps around.

    >>> Embedding.of(np.array([[0.0, 0.5], [1.0, 1.5], [2.0, 2.5]]))(np.array([2, 0]))
    array([[2. , 2.5],
           [0. , 0.5]])
    """

    weight: Any

    @explained()
    def __init__(
        self, vocabulary: int, features: int, *, init: Callable = normal, rng: np.random.Generator | None = None
    ):
        self.weight = start(init, index(vocabulary), index(features), rng, layer="Embedding")

    @classmethod
    @explained()
    def of(cls, weight: Any) -> "Embedding":
        """A layer made of this array, of shape ``(vocabulary, features)``."""
        layer = object.__new__(cls)
        layer.weight = check_array("Embedding.of: weight", weight, "vocabulary", "features")
        return layer

    @layer_call
    def __call__(self, x: Any) -> Any:
        with on_card_of(self.weight):  # where a list goes, too
            numbers, weight = plain(x), plain(self.weight)
            if isinstance(numbers, (list, tuple)):
                numbers = np.asarray(numbers)
                x = numbers = on_device_of(weight, numbers if numbers.size else numbers.astype(np.int64))
            elif is_array(numbers) and device_of(numbers) != device_of(weight):  # CuPy would copy a host's index
                raise apart(KeyPath((Attribute("weight"),)), device_of(weight), device_of(numbers))
            if type(numbers) is not int and numbers.dtype.kind in "fb":  # one-hot rows
                return multiply_rows(astype(x, self.weight.dtype), self.weight)
            # NumPy takes a negative number for one from the end. What's on a GPU isn't looked at: that would wait.
            if isinstance(numbers, (np.ndarray, np.integer, int)) and np.size(numbers):
                low, high, most = np.min(numbers), np.max(numbers), self.weight.shape[0] - 1
                if low < 0 or high > most:
                    got = f"knows the numbers 0 to {most}, got {low if low < 0 else high}"
                    raise UnknownError(KeyPath(), f"{self._name()} {got}")
            return getitem(self.weight, numbers)

    def _sizes(self) -> str:
        return "{} => {}".format(*self.weight.shape)


class UnknownError(LayerError, IndexError):
    """A number isn't in the vocabulary."""


@explained("an array of shape (N, …)")
def flatten(x: Any) -> Any:
    """Each observation as one row: ``(N, H, W, C)`` becomes ``(N, H * W * C)`` (Flux: ``flatten``)."""
    refuse_tensor("flatten", x)  # NumPy would take it without a word
    with on_card_of(x):
        return np.reshape(x, (x.shape[0], math.prod(x.shape[1:])))
