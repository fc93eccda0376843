"""What a layer takes, numbers of its own type, and what it is made of; and an activation in one launch on a GPU."""

import functools
import operator
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from .. import activations as known
from ..arrays import astype, device_of, fusing
from ..autodiff.tracked import plain
from ..messages import InputError, in_words, notice, said
from ..tensors import is_tensor, refuse_tensor, tensor
from ..tree.ties import is_array, is_tracked
from ..tree.walks import KeyPath


def taken(name: str, weight: Any, x: Any, features: int | None = None) -> Any:
    """The input `x` of the layer `name` in the type of its `weight` (Flux: ``_match_eltype``).

    A list of numbers has no type of its own and takes the layer's. What the layer refuses anyway, another width than
    `features` (the weight's last axis) or another device, is left for it to refuse.
    """
    if type(x) in (list, tuple) and type(plain(weight)) is np.ndarray:
        numbers = np.asarray(x)
        return numbers.astype(weight.dtype) if numbers.dtype.kind in "biuf" and is_floating(weight) else numbers
    if not is_array(plain(x)) or x.dtype.name == weight.dtype.name or not is_floating(weight):
        return x
    width = weight.shape[-1:] if features is None else (features,)
    if x.shape[-1:] != width or device_of(plain(x)) != device_of(plain(weight)):
        return x
    mine, its = weight.dtype.name, x.dtype.name
    once = f"x.astype({f'np.{mine}' if hasattr(np, mine) else repr(mine)})"
    if not is_floating(x):
        real = "give it real ones: np.abs(x), np.real(x) or np.imag(x)"
        fix = real if x.dtype.kind == "c" else f"convert them: {once}"
        raise InputError(KeyPath(), f"{name} takes floating-point numbers, got {its}; {fix}")
    key = ("input of a layer", its, mine)
    if key not in said:
        more = "Numbers such as np.sqrt(64) are float64 too, and make arrays float64; math.sqrt(64) doesn't."
        text = f"{name} computes in {mine} and converts its {its} input, at each call. {once} does it once."
        notice(key, f"{text}\n{more}" if x.dtype == np.float64 else text)
    return astype(x, weight.dtype)


def is_floating(x: Any) -> bool:
    return x.dtype.kind == "f" or x.dtype.name == "bfloat16"  # which NumPy doesn't know by itself


def no_array(name: str, x: Any) -> InputError:
    got = tensor(x) if is_tensor(x) else f"{in_words(x)}; np.asarray(x) makes one"
    return InputError(KeyPath(), f"{name} takes an array, got {got}")


def check_activation(layer: str, activation: Any) -> Callable:
    if not callable(activation):
        raise TypeError(f"{layer}'s activation is a function such as np.tanh, got {in_words(activation)}")
    return activation


def check_array(what: str, x: Any, *shape: Any) -> Any:
    """Raises `ValueError` unless `x` has this `shape`, in which a name stands for any length."""
    refuse_tensor(what, x)
    got = getattr(x, "shape", ())
    fits = len(got) == len(shape) and all(type(size) is str or size == n for size, n in zip(shape, got))
    if not fits:
        wanted = f"{shape[0]}," if len(shape) == 1 else ", ".join(map(str, shape))
        raise ValueError(f"{what} has shape ({wanted}), got {in_words(x)}")
    return x


def matching(layer: str, weight: Any, bias: Any, *shape: int) -> Any:
    """`bias`, of this `shape`, in the type of `weight`: two types in one layer would make all results the wider one."""
    if bias is None:
        return None
    check_array(f"{layer}.of: bias", bias, *shape)
    its, mine = bias.dtype.name, weight.dtype.name
    if its == mine or not (is_floating(weight) and is_floating(bias)):
        return bias
    notice(("bias", its, mine), f"{layer}.of: the weight is {mine}, so the {its} bias becomes {mine}, too.")
    return astype(bias, weight.dtype)


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
