"""Layers that bring their input to mean 0 and variance 1, and differ in which numbers they take together; `Dropout`."""

import math
from collections.abc import Callable
from operator import index
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from ..arrays import astype, device_of, on_device_of, primitive
from ..autodiff.rules import rule
from ..autodiff.tracked import TrackedArray, plain
from ..messages import InputError, ShapeError, check_number, explained
from ..tree.walks import KeyPath
from .combine import split_activation
from .layer import Layer, check_activation, identity, is_floating, layer_call, layer_class, taken
from .printing import settings


@layer_class(trainable=("activation", "scale", "bias"))
class Normalization(Layer):
    """What the four have in common: scale, bias and activation, and what they say to a wrong input."""

    activation: Any
    scale: Any
    bias: Any

    mean = var = None
    _normalized: ClassVar[Callable]  # what the four differ in
    _axes_before = 1  # the fewest axes before those that are normalized

    def _start(self, size: tuple[int, ...], activation: Any, affine: bool, eps: float) -> None:
        self.size, self.eps = tuple(map(index, size)), eps
        self.activation = check_activation(type(self).__name__, activation)
        self.scale = np.ones(self.size, np.float32) if affine else None
        self.bias = np.zeros(self.size, np.float32) if affine else None

    @layer_call
    def __call__(self, x: Any) -> Any:
        reference = self.mean if self.scale is None else self.scale
        x = x if reference is None else taken(self, reference, x)
        self._check(x)
        y = self._normalized(x)
        return self.activation(y if self.scale is None else y * self.scale + self.bias)

    def _check(self, x: Any) -> None:
        """NumPy would broadcast some of the inputs that don't fit."""
        shape, n = x.shape, len(self.size)
        if not is_floating(x):
            raise InputError(KeyPath(), f"{self._name()} takes floating-point numbers, got {x.dtype.name}")
        if shape[len(shape) - n :] != self.size or len(shape) < n + self._axes_before:
            wanted = f"({'N, ' * (self._axes_before > 0)}…, {', '.join(map(str, self.size))})"
            is_first = n == 1 and len(shape) > 2 and shape[1:2] == self.size
            hint = "; the channels come last: np.moveaxis(x, 1, -1)" if is_first else ""
            raise ShapeError(KeyPath(), f"{self._name()} takes an input of shape {wanted}, got {shape}{hint}")

    def _sizes(self) -> str:
        return ", ".join(map(str, self.size))

    def _options(self) -> str:
        return settings(self.activation, affine=self.scale is not None)


@layer_class()
class LayerNorm(Normalization):
    """Each observation by itself, over its last axes: ``(x - mean) / sqrt(var + eps)`` (Flux: ``LayerNorm``).

    ``LayerNorm(64)`` takes the last axis, ``LayerNorm(28, 28)`` the last two, of these sizes. Then comes
    ``* scale + bias``, unless ``affine=False``, and the activation, which is the last argument. `x` has shape
    ``(…, *size)``.
    """

    _axes_before = 0

    @explained()
    def __init__(self, *size: Any, affine: bool = True, eps: float = 1e-5) -> None:
        size, activation = split_activation(size)
        if not size:
            raise TypeError("LayerNorm(*size) takes the size of the last axis, or of the last ones: LayerNorm(64)")
        self._start(size, activation, affine, eps)

    def _normalized(self, x: Any) -> Any:
        rows = math.prod(x.shape[: len(x.shape) - len(self.size)])
        return standardized(x, (rows, 1, math.prod(self.size)), 1, self.eps, Moments())


@layer_class()
class GroupNorm(Normalization):
    """Groups of channels, each observation by itself: ``(x - mean) / sqrt(var + eps)`` (Flux: ``GroupNorm``).

    ``GroupNorm(channels, groups)`` takes the neighbouring ``channels / groups`` channels together. `x` has shape
    ``(N, …, channels)``. Then comes ``* scale + bias``, unless ``affine=False``, and the activation.
    """

    @explained()
    def __init__(
        self, channels: int, groups: int, activation: Callable = identity, *, affine: bool = True, eps: float = 1e-5
    ) -> None:
        self._start((channels,), activation, affine, eps)
        self.groups = index(groups)
        if channels % groups:  # PyTorch's order is another one
            raise ValueError(f"GroupNorm(channels, groups): groups divide the {channels} channels, got {groups}")

    def _normalized(self, x: Any) -> Any:
        blocks, *rows, channels = x.shape
        return standardized(x, (blocks, math.prod(rows), channels), self.groups, self.eps, Moments())

    def _sizes(self) -> str:
        return f"{self.size[0]}, {self.groups}"


@layer_class()
class BatchNorm(Normalization):
    """Each channel by itself, over the whole batch: ``(x - mean) / sqrt(var + eps)`` (Flux: ``BatchNorm``).

    `x` has shape ``(N, channels)`` or ``(N, …, channels)``; then ``* scale + bias`` and the activation. In training,
    mean and variance are those of the batch. The layer also keeps running ones, `mean` and `var`, which move a
    `momentum` of the way at each call, and uses them outside of training (see `testmode`). They are saved and moved,
    but not trained. With ``track_stats=False`` there are none, and it's always the batch's.

    >>> layer = BatchNorm(2)
    >>> x = np.array([[1, 10], [3, 50]], np.float32)
    >>> loss, _ = fl.withgradient(lambda layer: np.sum(layer(x) ** 2), layer)
    >>> layer.mean, layer.var
    (array([0.2, 3. ], dtype=float32), array([ 1.1, 80.9], dtype=float32))
    """

    mean: Any
    var: Any

    active = None
    _one_by_one = False  # whether each observation has a mean of its own

    @explained()
    def __init__(
        self, channels: int, activation: Callable = identity, *, affine: bool = True, track_stats: bool = True,
        eps: float = 1e-5, momentum: float = 0.1,
    ) -> None:  # fmt: skip
        self._start((channels,), activation, affine, eps)
        self.momentum = momentum
        self.mean = np.zeros(channels, np.float32) if track_stats else None
        self.var = np.ones(channels, np.float32) if track_stats else None

    def _normalized(self, x: Any) -> Any:
        if self.mean is not None and not self.active:
            factor = 1 / np.sqrt(self.var + self.eps)
            return (x - self.mean) * factor
        blocks, channels, moments = len(x) if self._one_by_one else 1, self.size[0], Moments()
        rows = math.prod(x.shape[:-1]) // max(blocks, 1)
        if self.active and rows == 1:
            what = f"{self._name()} has one number for each channel, in x of shape {x.shape}, and so no variance"
            raise ShapeError(KeyPath(), f"{what}: train with more observations at once, or use fl.testmode(layer)")
        result = standardized(x, (blocks, rows, channels), channels, self.eps, moments)
        if self.active and self.mean is not None and rows and blocks:  # assigned: `gradient` keeps it as state
            self.mean = self._moved(self.mean, moments.mean, 1)
            self.var = self._moved(self.var, moments.variance, rows / (rows - 1))
        return result

    def _moved(self, before: Any, found: Any, factor: float) -> Any:
        found = found[0, 0] if len(found) == 1 else np.mean(found[:, 0], axis=0)
        moved = (1 - self.momentum) * plain(before) + self.momentum * factor * found
        return moved.astype(before.dtype, copy=False)


@layer_class()
class InstanceNorm(BatchNorm):
    """Each channel of each observation by itself: ``(x - mean) / sqrt(var + eps)`` (Flux: ``InstanceNorm``).

    `x` has shape ``(N, …, channels)``, with at least one axis between. As in Flux, there's no scale and no bias unless
    ``affine=True``, and no running mean and variance, as in `BatchNorm`, unless ``track_stats=True``.
    """

    _axes_before = 2
    _one_by_one = True

    @explained()
    def __init__(
        self, channels: int, activation: Callable = identity, *, affine: bool = False, track_stats: bool = False,
        eps: float = 1e-5, momentum: float = 0.1,
    ) -> None:  # fmt: skip
        super().__init__(channels, activation, affine=affine, track_stats=track_stats, eps=eps, momentum=momentum)


@layer_class(trainable=())
class Dropout(Layer):
    """In training, each number becomes 0 with probability `p`, else ``x / (1 - p)`` (Flux: ``Dropout``).

    In a test nothing happens. It's training inside `gradient`; more is at `testmode`. With `dims`, an axis or several,
    the drawn numbers differ along these axes only: ``dims=(0, -1)`` drops whole channels of pictures of shape
    ``(N, H, W, C)``. They're drawn by the generator of the device where `x` is, or by `rng`, on the CPU, and copied.

    >>> fl.trainmode(Dropout(0.5, rng=np.random.default_rng(0)))(np.ones(6))
    array([2., 2., 2., 0., 0., 0.])
    """

    rng: Any  # in the tree, so that its state is saved

    active = None

    @explained()
    def __init__(self, p: float, *, dims: int | tuple[int, ...] | None = None, rng: Any = None) -> None:
        check_number("Dropout(p), a probability,", p)
        if p > 1:
            raise ValueError(f"Dropout(p) is a probability, at most 1, got {p}")
        self.p = float(p)
        self.dims = dims if dims is None or isinstance(dims, int) else tuple(dims)
        self.rng = rng

    @layer_call
    def __call__(self, x: Any) -> Any:
        if not self.active or self.p == 0:
            return x
        values = plain(x)
        shape = values.shape
        if self.dims is not None:
            axes = np.lib.array_utils.normalize_axis_tuple(self.dims, len(shape), "dims")
            shape = tuple(length if i in axes else 1 for i, length in enumerate(shape))
        generator = device_of(values).rng if self.rng is None else self.rng
        drawn = on_device_of(values, generator.random(shape, dtype=np.float32))
        scale = 1 / (1 - self.p) if self.p < 1 else 0.0
        return x * ((drawn >= self.p).astype(values.dtype) * scale)

    def _sizes(self) -> str:
        return f"{self.p:g}"

    def _options(self) -> str:
        return "" if self.dims is None else f", dims={self.dims}"


# -- numbers with mean 0 and variance 1 -------------------------------------------------------------------------------
# An array is taken as (blocks, rows, channels). Each block by itself is standardized, over its rows, and over the
# channels of each group. All four layers differ only in what they take for a block and for a group. A mean is a product
# with a row of 1/n: that's many times quicker than np.mean over the first or the last axis.

# What `standardized` finds on its way, as plain arrays, of each block and channel, or one for all channels: the `mean`,
# the `variance`, and the `factor`, 1 / sqrt(variance + eps).
Moments = SimpleNamespace


@primitive
def standardized(x: Any, shape: tuple[int, int, int], groups: int, eps: float, moments: Moments) -> Any:
    """`x` with mean 0 and variance 1 in each block and group of channels; `shape` is ``(blocks, rows, channels)``.

    What was found is noted in `moments`. Half precision is computed in Float32.
    """
    wide = np.reshape(x.astype(np.promote_types(x.dtype, np.float32), copy=False), shape)
    moments.mean = average(wide, groups)
    result = wide - moments.mean
    moments.variance = average(result * result, groups)
    moments.factor = 1 / np.sqrt(moments.variance + eps)
    result *= moments.factor
    return np.reshape(result, x.shape).astype(x.dtype, copy=False)


def average(x: Any, groups: int) -> Any:
    """The mean of each block and group, which broadcasts with `x`."""
    blocks, rows, channels = x.shape
    if rows != 1:
        x = np.full_like(plain(x), 1 / max(rows, 1), shape=(1, rows)) @ x
    if groups == channels:
        return x
    size = channels // groups
    x = np.reshape(x, (blocks * groups, size)) @ np.full_like(plain(x), 1 / max(size, 1), shape=(size, 1))
    if groups == 1:
        return np.reshape(x, (blocks, 1, 1))
    spread = np.broadcast_to(np.reshape(x, (blocks, groups, 1)), (blocks, groups, size))
    return np.reshape(spread, (blocks, 1, channels))


def slope(g: Any, out: Any, x: Any, shape: tuple, groups: int, eps: float, moments: Moments) -> Any:
    if TrackedArray in (type(g), type(out)):
        return composed_slope(g, out, x, shape, groups, eps)
    wide = moments.factor.dtype
    g, out = (np.reshape(array.astype(wide, copy=False), shape) for array in (g, out))
    result = out * average(g * out, groups)
    result += average(g, groups)
    np.subtract(g, result, out=result)
    result *= moments.factor
    return np.reshape(result, x.shape).astype(x.dtype, copy=False)


def composed_slope(g: Any, out: Any, x: Any, shape: tuple, groups: int, eps: float) -> Any:
    """The same of functions that have rules, for the next derivative."""
    wide = np.promote_types(x.dtype, np.float32)
    g, out, whole = (np.reshape(astype(array, wide), shape) for array in (g, out, x))
    centred = whole - average(whole, groups)
    factor = 1 / np.sqrt(average(centred * centred, groups) + eps)
    result = (g - average(g, groups) - out * average(g * out, groups)) * factor
    return np.reshape(astype(result, x.dtype), x.shape)


rule(standardized, slope)
