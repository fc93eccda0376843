"""`Dense`: the fully connected layer."""

import math
from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from ..activations import identity
from ..arrays import fusing
from ..messages import LayerError, ShapeError, explained, notice
from ..tree.walks import KeyPath
from .initializers import glorot_uniform, start
from .inputs import activated, check_activation, check_array, matching, taken
from .layer import Layer, layer_call, layer_class
from .printing import settings


@layer_class
class Dense(Layer):
    """A fully connected layer: ``activation(x @ weight.T + bias)`` (Flux: ``Dense``).

    `weight` has shape ``(outputs, inputs)``, `bias` shape ``(outputs,)`` and starts at zero; ``bias=False`` leaves it
    out. Both are Float32. `init` and `rng` draw the weights, which `fluxlite.seed` makes repeatable. `Dense.of` takes
    the arrays themselves, of any type. `x` has shape ``(N, inputs)`` or ``(inputs,)``. As in Flux, an input of another
    floating-point type is converted to that of the weight, which is said once; integers are refused.

    >>> Dense(10, 5)(np.ones((3, 10), np.float32)).shape
    (3, 5)
    """

    weight: Any
    bias: Any
    activation: Callable

    @explained()
    def __init__(
        self, inputs: int, outputs: int, activation: Callable = identity, *, bias: bool = True,
        init: Callable = glorot_uniform, rng: np.random.Generator | None = None,
    ):  # fmt: skip
        self.weight = start(init, index(outputs), index(inputs), rng)
        self.bias = np.zeros_like(self.weight, shape=self.weight.shape[:1]) if bias else None
        self.activation = check_activation("Dense", activation)

    @classmethod
    @explained()
    def of(cls, weight: Any, bias: Any = None, activation: Callable = identity) -> "Dense":
        """A layer made of these arrays: `weight` of shape ``(outputs, inputs)``, `bias` ``(outputs,)`` or None."""
        layer = object.__new__(cls)
        layer.weight = check_array("Dense.of: weight", weight, "outputs", "inputs")
        layer.bias = matching("Dense", weight, bias, len(weight))
        layer.activation = check_activation("Dense", activation)
        return layer

    @layer_call
    def __call__(self, x: Any) -> Any:
        x = x if getattr(x, "dtype", None) is self.weight.dtype else taken(self._name(), self.weight, x)
        y = product(x, self.weight.T)
        if fusing:  # there may be a GPU: one launch for both
            return activated(self.activation, y, self.bias)
        return self.activation(y if self.bias is None else y + self.bias)

    def _why(self, x: Any) -> LayerError | None:
        inputs, shape = self.weight.shape[1], getattr(x, "shape", None)
        if shape is not None and shape[-1:] != (inputs,):
            takes = f"takes an input of shape ({inputs},) or (N, {inputs})"
            hint = "; the observations are its rows: x.T?" if len(shape) == 2 and shape[0] == inputs else ""
            return ShapeError(KeyPath(), f"{self._name()} {takes}, got shape {shape}{hint}")
        return super()._why(x)

    def _sizes(self) -> str:
        return "{1} => {0}".format(*self.weight.shape)

    def _options(self) -> str:
        return settings(self.activation, bias=self.bias is not None)


def product(x: Any, matrix: Any) -> Any:
    """``x @ matrix``, for `x` with any number of axes before the features.

    NumPy multiplies a stack of matrices one by one. All their rows at once are quicker, on the way back too.
    """
    if getattr(x, "ndim", 0) < 3:
        return x @ matrix
    shape = tuple(x.shape)
    if len(shape) == 4 and shape[1] in (1, 3) and shape[2] == shape[3] > 3:  # square pictures of one channel or three
        what = f"a layer multiplies the last axis of its input, of shape {shape}. If these are pictures (N, C, H, W), "
        fix = "fl.flatten(x) makes one row of each picture, np.moveaxis(x, 1, -1) puts the channels last."
        notice(("channels first", shape[1:]), f"{what}that is each row of a picture: {fix}")
    rows = np.reshape(x, (math.prod(shape[:-1]), shape[-1]))
    return np.reshape(rows @ matrix, (*shape[:-1], matrix.shape[-1]))
