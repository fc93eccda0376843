"""An activation in one launch on a GPU, together with the sum before it."""

import functools
import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from .. import activations as known
from ..arrays import fusing
from ..tree.ties import is_tracked

# Those whose elements are each computed from their own. `rrelu` draws numbers, and `softmax` sums. `identity` isn't
# here: an addition is one launch anyway, and none on the way back.
_BY_ELEMENT = frozenset((
    known.relu, known.leakyrelu, known.relu6, known.trelu, known.hardtanh, known.hardsigmoid, known.hardswish,
    known.softshrink, known.tanh, known.tanh_fast, known.sigmoid, known.sigmoid_fast, known.softsign, known.softplus,
    known.logsigmoid, known.elu, known.celu, known.selu, known.swish, known.mish, known.gelu, known.lisht,
    known.tanhshrink, known.logcosh,
))  # fmt: skip


def activated(activation: Callable, y: Any, *more: Any) -> Any:
    """``activation(y + bias)``, on a GPU as one launch if we know the activation: others may print, or sum."""
    added = [x for x in more if x is not None]
    if fusing and added and _works_by_element(activation) and _is_on_gpu(y):
        return _fused(activation, True)(y, *added)
    return activation(functools.reduce(operator.add, added, y))


def at_once(function: Callable, *args: Any) -> Any:
    """``function(*args)``, on a GPU as one launch. The first argument says where it is."""
    return _fused(function, False)(*args) if fusing and _is_on_gpu(args[0]) else function(*args)


def _is_on_gpu(x: Any) -> bool:
    while is_tracked(x):
        x = x.value
    return type(x) in fusing


def _works_by_element(activation: Any) -> bool:
    if type(activation) is np.ufunc:
        return activation.nin == activation.nout == 1
    return type(activation) is FunctionType and activation in _BY_ELEMENT


@functools.cache
def _fused(function: Callable, of_sum: bool) -> Callable:
    from ..fused.function import fuse

    if not of_sum:
        return fuse(function, kernel_name=function.__name__.strip("_"))

    def of_a_sum(y: Any, *added: Any) -> Any:
        return function(functools.reduce(operator.add, added, y))

    return fuse(of_a_sum, kernel_name=f"bias_{function.__name__}")
