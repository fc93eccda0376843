"""A whole model in another floating-point type."""

from typing import Any

import numpy as np

from ..annotations import Model
from ..arrays import astype
from ..autodiff.tracked import plain
from ..tree.ties import is_array
from ..tree.walks import fmap
from ..words import explained


@explained()
def f16(x: Model) -> Model:
    """`x` with all its floating-point arrays in half precision (Flux: ``f16``). Integers stay, ties survive.

    Inside a gradient too: then the gradient comes back in the type that `x` had. Python's own numbers stay. It's for
    whole models, not for a step inside one: each layer converts its input to the type of its weights. To train, keep
    float32 in the model and write ``f16(m)(x)`` in the loss: a float16 can't change by less than 1/2,000 of its size.

    Layers, losses, gradients and optimizers add up in float32, and round once. NumPy's ``x.sum(axis=0)`` of your own
    doesn't, on the CPU: there it's ``x.astype(np.float32).sum(axis=0)``.
    """
    return _cast(x, np.float16)


@explained()
def f32(x: Model) -> Model:
    """`x` with all its floating-point arrays in float32, the usual type of a model (Flux: ``f32``)."""
    return _cast(x, np.float32)


@explained()
def f64(x: Model) -> Model:
    """`x` with all its floating-point arrays in float64 (Flux: ``f64``)."""
    return _cast(x, np.float64)


def _cast(x: Model, dtype: type) -> Model:
    def cast_leaf(leaf: Any) -> Any:
        value = plain(leaf)
        has_type = is_array(value) or isinstance(value, np.floating)
        if has_type and leaf.dtype.kind == "f":
            return astype(leaf, dtype)
        return leaf

    return fmap(cast_leaf, x)
