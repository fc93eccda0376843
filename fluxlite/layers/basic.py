"""`Dense` and `Chain`, and what `Chain` has in common with other layers of layers."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from operator import index
from typing import Any

import numpy as np

from ..annotations import Array
from ..arrays import identity
from ..messages import notice
from ..tree.flat import KeyPath
from ..words import LayerError, ShapeError, check_callable, explained
from .layer import LAYERS, Layer, activated, glorot_uniform, layer, misplaced, run_layer, start
from .printing import call_of, options_text


@layer
class Dense(Layer):
    """A fully connected layer: ``activation(x @ weight.T + bias)`` (Flux: ``Dense``).

    `weight` has shape ``(outputs, inputs)``, `bias` ``(outputs,)``, both float32; `init` and `rng` draw the weights.
    `Dense.of` takes arrays, of any type. `x` has shape ``(N, inputs)`` or ``(inputs,)``. As in Flux, an input of
    another floating-point type is converted to that of the weight, which is said once; integers are refused.

    >>> Dense(10, 5)(np.ones((3, 10), np.float32)).shape
    (3, 5)
    """

    weight: Array  # these fields are its tree
    bias: Array | None
    activation: Callable

    def __init__(
        self, inputs: int, outputs: int, activation: Callable = identity, *, bias: bool = True,
        init: Callable = glorot_uniform, rng: "np.random.Generator | None" = None,
    ):  # fmt: skip
        self.weight = start(init, index(outputs), index(inputs), rng)
        self.bias = np.zeros_like(self.weight, shape=self.weight.shape[:1]) if bias else None
        self.activation = self._check_activation(activation)

    @classmethod
    def of(cls, weight: Array, bias: Array | None = None, activation: Callable = identity) -> "Dense":
        """A layer made of these arrays: `weight` of shape ``(outputs, inputs)``, `bias` ``(outputs,)`` or None."""
        new = object.__new__(cls)
        new.weight = new._check_array("weight", weight, "outputs", "inputs")
        new.bias = new._check_bias(bias, weight, len(weight))
        new.activation = new._check_activation(activation)
        return new

    def __call__(self, x: Array) -> Array:
        if getattr(x, "dtype", None) is not self.weight.dtype:
            x = self._converted(x, self.weight)
        if getattr(x, "ndim", 0) < 3:
            y = x @ self.weight.T
        else:
            y = multiply_rows(x, self.weight.T)
        return activated(self.activation, y, self.bias)

    def _explain_error(self, x: Any) -> LayerError | None:
        why = super()._explain_error(x)
        inputs = self.weight.shape[1]
        shape: Any = getattr(x, "shape", ())
        if why is not None or shape[-1:] == (inputs,):
            return why
        hint = ""
        if len(shape) == 2 and shape[0] == inputs:
            hint = "; the observations are its rows: x.T?"
        takes = f"takes an input of shape ({inputs},) or (N, {inputs})"
        return ShapeError(KeyPath(), f"{self._name()} {takes}, got shape {shape}{hint}")

    def _arguments_text(self) -> str:
        outputs, inputs = self.weight.shape
        return f"{inputs} => {outputs}"

    def _options_text(self) -> str:
        return options_text(self.activation, bias=self.bias is not None)


def multiply_rows(x: Array, matrix: Array) -> Array:
    """``x @ matrix``, for `x` with any number of axes before the features: quicker with all their rows at once."""
    shape = tuple(x.shape)
    is_picture = len(shape) == 4 and shape[1] in (1, 3) and shape[2] == shape[3] > 3
    if is_picture:  # square ones of one channel or three
        what = f"a layer multiplies the last axis of its input, of shape {shape}. If these are pictures (N, C, H, W), "
        fix = "fl.flatten(x) makes one row of each picture, np.moveaxis(x, 1, -1) puts the channels last."
        notice(("channels first", shape[1:]), f"{what}that is each row of a picture: {fix}")
    rows = np.reshape(x, (math.prod(shape[:-1]), shape[-1]))
    return np.reshape(rows @ matrix, (*shape[:-1], matrix.shape[-1]))


class Container(Layer):
    """A layer made of `layers`: a tuple, or a dict if they have names."""

    _in_lines = "if long"

    def _set_layers(self, layers: tuple, named: Mapping[str, Any]) -> None:
        if layers and named:
            raise TypeError(f"the layers of {self._name()} all have names, or none do")
        self.layers: Any = layers
        if named:
            self.layers = dict(named)
        for where, part in self._items():
            check_callable(f"{self._name()}'s layers[{where!r}]", part)

    def _items(self) -> Iterable[tuple[Any, Any]]:
        """(name or number, layer) of each."""
        if isinstance(self.layers, Mapping):
            return self.layers.items()
        return enumerate(self.layers)

    def _explain_error(self, *inputs: Any, **keywords: Any) -> LayerError | None:
        return misplaced(self)  # anything else the layers inside have said

    def _name(self) -> str:
        return type(self).__name__

    def _arguments_text(self) -> str:
        texts = []
        for where, part in self._items():
            name = "" if type(where) is int else f"{where}="
            texts.append(name + call_of(part))
        return ", ".join(texts)


@layer
class Chain(Container):
    """Layers, or any functions, one after the other (Flux: ``Chain``).

    ``chain[0]`` is the first layer, ``chain[1:]`` a chain of the others; ``len`` and iteration work as on a list.
    Layers can have names: ``Chain(encoder=Dense(9, 3), decoder=Dense(3, 9))`` has ``chain["encoder"]``.

    >>> Chain(fl.Dense(4, 3, np.tanh), fl.Dense(3, 2))
    Chain(
      Dense(4 => 3, tanh),      # 15 parameters
      Dense(3 => 2),            # 8 parameters
    )                           # 23 parameters in all
    """

    layers: Any

    _in_lines = "always"

    @explained("layers, or functions; write Chain(*layers) for a list of them")
    def __init__(self, *layers: Any, **named: Any):
        self._set_layers(layers, named)

    def __call__(self, x: Any) -> Any:
        for where, part in self._items():
            x = run_layer(part, x, LAYERS, where)
        return x

    @explained("the place of a layer, or a slice")
    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.layers, Mapping) and isinstance(index, (int, slice)):
            index = list(self.layers)[index]  # a name, or a list of names
        if not isinstance(index, (slice, list)):
            return self.layers[index]
        part = copy(self)
        if isinstance(index, list):
            part.layers = {name: self.layers[name] for name in index}
        else:
            part.layers = self.layers[index]
        return part

    def __len__(self) -> int:
        return len(self.layers)

    def __iter__(self) -> Iterator:
        if isinstance(self.layers, Mapping):
            return iter(self.layers.values())
        return iter(self.layers)
