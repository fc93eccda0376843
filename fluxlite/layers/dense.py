"""`Dense`: the fully connected layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..activations import identity
from ..arguments import check_callable, in_words
from ..arrays import enter_card, fusing, on_card_of
from ..errors import LayerError, ShapeError, left_over, other_device
from ..tensors import is_tensor
from ..tree.contract import functor
from ..tree.ties import is_array
from ..tree.walks import KeyPath
from .activated import activated
from .initializers import glorot_uniform, start
from .inputs import matching, no_array, taken
from .layer import Layer
from .printing import brief, name_of, text_of
from .rows import product


@functor
@dataclass(eq=False, repr=False, init=False)
class Dense(Layer):
    """A fully connected layer: ``activation(x @ weight.T + bias)`` (Flux: ``Dense``).

    ``Dense(inputs, outputs, activation)`` starts with random weights: `weight` has shape ``(outputs, inputs)``,
    `bias` shape ``(outputs,)`` and starts at zero; ``bias=False`` leaves it out. Both are Float32, and what `init`
    gives in Float64, NumPy's usual type, becomes it. `rng` draws the weights; without it `fluxlite.seed` makes them
    repeatable. `x` has shape ``(N, inputs)`` or ``(inputs,)``. `Dense.of` takes the arrays themselves, of any type.

    As in Flux, an input of another floating-point type is converted to that of the weight, and this is said once.
    Raises `ValueError` for an input of another width, `TypeError` for one on another device, and for integers,
    booleans and complex numbers.

    >>> layer = Dense(10, 5)
    >>> layer
    Dense(10 => 5)      # 55 parameters
    >>> layer(np.ones((3, 10), np.float32)).shape
    (3, 5)
    """

    weight: Any
    bias: Any
    activation: Callable

    def __init__(
        self,
        inputs: int,
        outputs: int,
        activation: Callable = identity,
        *,
        bias: bool = True,
        init: Callable = glorot_uniform,
        rng: np.random.Generator | None = None,
    ):
        for what, size in (("inputs", inputs), ("outputs", outputs)):
            if not isinstance(size, (int, np.integer)) or isinstance(size, bool):
                hint = "; for arrays there is Dense.of(weight, bias, activation)" if is_array(size) else ""
                raise TypeError(f"Dense({what}) is a number of features, got {brief(size)}{hint}")
            if size < 0:
                raise ValueError(f"Dense({what}) is a number of features, got {size}")
        if not callable(activation):
            raise TypeError(f"Dense's activation is a function such as np.tanh, got {in_words(activation)}")
        if not isinstance(bias, (bool, type(None))):
            raise TypeError("Dense's bias is True or False; for arrays there is Dense.of(weight, bias, activation)")
        self.weight = start(init, int(outputs), int(inputs), rng)
        self.bias = np.zeros_like(self.weight, shape=(int(outputs),)) if bias else None
        self.activation = activation

    @classmethod
    def of(cls, weight: Any, bias: Any = None, activation: Callable = identity) -> Dense:
        """A layer made of these arrays: `weight` of shape ``(outputs, inputs)``, `bias` ``(outputs,)`` or None.

        >>> Dense.of(np.ones((2, 3)), np.zeros(2))(np.ones(3))
        array([3., 3.])
        """
        if getattr(weight, "ndim", None) != 2 or is_tensor(weight):
            raise ValueError(f"Dense.of: weight has shape (outputs, inputs), got {brief(weight)}")
        if bias is not None and getattr(bias, "shape", None) != weight.shape[:1]:
            raise ValueError(
                f"Dense.of: for a weight of shape {weight.shape}, bias has {weight.shape[:1]}, got {brief(bias)}"
            )
        check_callable("Dense.of(…, activation)", activation)
        layer = object.__new__(cls)
        layer.weight, layer.bias = weight, None if bias is None else matching(weight, bias)
        layer.activation = activation
        return layer

    def __call__(self, x: Any) -> Any:
        try:
            if enter_card:
                with on_card_of(x):
                    return self._forward(x)
            return self._forward(x)
        except (TypeError, ValueError, AttributeError, RuntimeError) as error:
            why = left_over(self) or self._why(x)
            if why is None:
                raise
            raise why from error

    def _forward(self, x: Any) -> Any:
        same = getattr(x, "dtype", None) is self.weight.dtype and not is_tensor(x)  # JAX has the same types
        y = product(x if same else taken(self._name(), self.weight, x), self.weight.T)
        if fusing:  # there may be a GPU: one launch for both
            return activated(self.activation, y, self.bias)
        return self.activation(y if self.bias is None else y + self.bias)

    def _why(self, x: Any) -> LayerError | None:
        """After an error: what a learner needs to know about it; None if the layer sees nothing wrong."""
        inputs, shape, name = self.weight.shape[1], getattr(x, "shape", None), self._name()
        if shape is None:
            return no_array(name, x)
        if shape == () or shape[-1] != inputs:
            takes = f"takes an input of shape ({inputs},) or (N, {inputs})"
            hint = "; the observations are its rows: x.T?" if len(shape) == 2 and shape[0] == inputs else ""
            return ShapeError(KeyPath(), f"{name} {takes}, got shape {shape}{hint}")
        return other_device(self, x)

    def _name(self) -> str:
        return "Dense({1} => {0})".format(*self.weight.shape)

    def _call(self) -> str:
        if len(getattr(self.weight, "shape", ())) != 2:  # a model may hold anything in an array's place for a while
            return f"Dense.of({text_of(self.weight)}, {text_of(self.bias)})"
        outputs, inputs = self.weight.shape
        activation = "" if self.activation is identity else f", {name_of(self.activation)}"
        return f"Dense({inputs} => {outputs}{activation}{', bias=False' if self.bias is None else ''})"
