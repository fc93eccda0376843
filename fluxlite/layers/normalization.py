"""Layers that bring their input to mean 0 and variance 1, and differ in which numbers they take together; `Dropout`."""

import math
from collections.abc import Callable
from operator import index
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from ..annotations import Array
from ..arrays import astype, drawn_like, identity, is_half, narrow, primitive, wide
from ..autodiff.rules import rule
from ..autodiff.tracked import TrackedArray, plain
from ..messages import warn
from ..tree.flat import KeyPath
from ..words import InputError, ShapeError, check_number, check_whole
from .layer import Generator, Layer, layer, split_activation
from .printing import options_text


@layer(trainable=("activation", "scale", "bias"))
class Normalization(Layer):
    """What the four have in common: scale, bias and activation, and what they say to a wrong input."""

    activation: Callable
    scale: Array | None
    bias: Array | None

    mean = var = None
    _normalized: ClassVar[Callable]  # what the four differ in
    _axes_before = 1  # the fewest axes before those that are normalized

    def _start(self, size: tuple[int, ...], activation: Callable, affine: bool, eps: float) -> None:
        self.size = tuple(map(index, size))
        self.eps = eps
        self.activation = self._check_activation(activation)
        self.scale = np.ones(self.size, np.float32) if affine else None
        self.bias = np.zeros(self.size, np.float32) if affine else None

    def __call__(self, x: Array) -> Array:
        reference = self.scale
        if reference is None:
            reference = self.mean
        if reference is not None:
            x = self._converted(x, reference)
        if x.dtype.kind != "f":
            raise InputError(KeyPath(), f"{self._name()} takes floating-point numbers, got {x.dtype.name}")
        self._check_axes(x.shape)
        if is_half(x):
            y = self._normalized(wide(x))
            if self.scale is not None:
                y = y * wide(self.scale) + wide(self.bias)
            return self.activation(narrow(y))  # rounded once, behind scale and bias
        y = self._normalized(x)
        if self.scale is not None:
            y = y * self.scale + self.bias
        return self.activation(y)

    def _check_axes(self, shape: tuple[int, ...]) -> None:
        n = len(self.size)
        if shape[len(shape) - n :] == self.size and len(shape) >= n + self._axes_before:
            return  # NumPy would broadcast some of the others
        before = "N, " if self._axes_before else ""
        wanted = f"({before}…, {', '.join(map(str, self.size))})"
        hint = ""
        if n == 1 and len(shape) > 2 and shape[1:2] == self.size:
            hint = "; the channels come last: np.moveaxis(x, 1, -1)"
        raise ShapeError(KeyPath(), f"{self._name()} takes an input of shape {wanted}, got {shape}{hint}")

    def _arguments_text(self) -> str:
        return ", ".join(map(str, self.size))

    def _options_text(self) -> str:
        return options_text(self.activation, affine=self.scale is not None)


@layer
class LayerNorm(Normalization):
    """Each observation by itself, over its last axes: ``(x - mean) / sqrt(var + eps)`` (Flux: ``LayerNorm``).

    ``LayerNorm(64)`` takes the last axis, ``LayerNorm(28, 28)`` the last two: `x` has shape ``(…, *size)``. Then comes
    ``* scale + bias``, unless ``affine=False``, and the activation, the last argument.
    """

    _axes_before = 0

    def __init__(self, *size: Any, affine: bool = True, eps: float = 1e-5) -> None:
        size, activation = split_activation(size)
        if not size:  # each number would be 0
            raise TypeError("LayerNorm(*size) takes the size of the last axis, or of the last ones: LayerNorm(64)")
        self._start(size, activation, affine, eps)

    def _normalized(self, x: Array) -> Array:
        rows = math.prod(x.shape[: len(x.shape) - len(self.size)])
        return standardized(x, (rows, 1, math.prod(self.size)), 1, self.eps, Moments())


@layer
class GroupNorm(Normalization):
    """Groups of channels, each observation by itself: ``(x - mean) / sqrt(var + eps)`` (Flux: ``GroupNorm``).

    It takes ``channels / groups`` neighbouring channels of `x`, ``(N, …, channels)``, together.
    """

    def __init__(
        self, channels: int, groups: int, activation: Callable = identity, *, affine: bool = True, eps: float = 1e-5
    ) -> None:
        self._start((channels,), activation, affine, eps)
        self.groups = index(groups)
        check_whole("GroupNorm(channels, groups): groups", self.groups, 1)
        if channels % groups:  # PyTorch's order is another one
            raise ValueError(f"GroupNorm(channels, groups): groups divide the {channels} channels, got {groups}")

    def _normalized(self, x: Array) -> Array:
        blocks, *rows, channels = x.shape
        return standardized(x, (blocks, math.prod(rows), channels), self.groups, self.eps, Moments())

    def _arguments_text(self) -> str:
        return f"{self.size[0]}, {self.groups}"


@layer
class BatchNorm(Normalization):
    """Each channel by itself, over the whole batch: ``(x - mean) / sqrt(var + eps)`` (Flux: ``BatchNorm``).

    `x` has shape ``(N, channels)`` or ``(N, …, channels)``; then ``* scale + bias`` and the activation. In training,
    mean and variance are the batch's. The layer keeps running ones, `mean` and `var`, which move a `momentum` of the
    way at each call, and uses them outside of training (see `testmode`); not with ``track_stats=False``.
    """

    mean: Any
    var: Any

    active = None
    _one_by_one = False  # whether each observation has a mean of its own

    def __init__(
        self, channels: int, activation: Callable = identity, *, affine: bool = True, track_stats: bool = True,
        eps: float = 1e-5, momentum: float = 0.1,
    ) -> None:  # fmt: skip
        self._start((channels,), activation, affine, eps)
        self.momentum = momentum
        self.mean = np.zeros(channels, np.float32) if track_stats else None
        self.var = np.ones(channels, np.float32) if track_stats else None

    def _normalized(self, x: Array) -> Array:
        if self.mean is not None and not self.active:
            return (x - wide(self.mean)) * (1 / np.sqrt(wide(self.var) + self.eps))
        blocks = len(x) if self._one_by_one else 1
        rows = math.prod(x.shape[:-1]) // max(blocks, 1)
        channels = self.size[0]
        moments = Moments()
        if self.active and rows == 1:
            what = f"has one number for each channel, in x of shape {x.shape}, and so no variance"
            fix = "train with more observations at once, or use fl.testmode(layer)"
            raise ShapeError(KeyPath(), f"{self._name()} {what}: {fix}")
        result = standardized(x, (blocks, rows, channels), channels, self.eps, moments)
        if self.active and self.mean is not None and rows and blocks:
            self.mean = self._updated("mean", moments.first + moments.beyond)  # `gradient` keeps it as state
            self.var = self._updated("var", moments.variance * (rows / (rows - 1)))
        return result

    def _updated(self, name: str, found: Array) -> Array:
        """The running `mean` or `var` after a batch in whose blocks this was `found`, ``(blocks, 1, channels)``."""
        new = found[0, 0] if len(found) == 1 else np.mean(found[:, 0], axis=0)
        before = plain(getattr(self, name))
        new = (1 - self.momentum) * wide(before) + self.momentum * new
        if is_half(before):
            self._check_size(name, new)
        return new.astype(before.dtype, copy=False)

    def _check_size(self, name: str, new: Array) -> None:
        """Warns if a running value is too large for float16, on the host: on a GPU, we'd wait for it."""
        if not isinstance(new, np.ndarray):
            return
        if not np.any(np.abs(new) > np.finfo(np.float16).max):
            return
        largest = np.max(np.abs(new))
        value = {"mean": "mean", "var": "variance"}[name]
        what = f"{self._name()}: a running {value} of {largest:.3g} is too large for float16 and becomes inf"
        effect = "outside of training, its channel will be wrong"
        fix = f"layer.{name} = layer.{name}.astype(np.float32) keeps it"
        warn(("running", name), f"{what}: {effect}. {fix}.")


@layer
class InstanceNorm(BatchNorm):
    """Each channel of each observation by itself: ``(x - mean) / sqrt(var + eps)`` (Flux: ``InstanceNorm``).

    `x` has shape ``(N, …, channels)``, with at least one axis between. Otherwise it's a `BatchNorm`.
    """

    _axes_before = 2
    _one_by_one = True

    def __init__(
        self, channels: int, activation: Callable = identity, *, affine: bool = False, track_stats: bool = False,
        eps: float = 1e-5, momentum: float = 0.1,
    ) -> None:  # fmt: skip
        super().__init__(channels, activation, affine=affine, track_stats=track_stats, eps=eps, momentum=momentum)


@layer(trainable=())
class Dropout(Layer):
    """In training, each number becomes 0 with probability `p`, else ``x / (1 - p)`` (Flux: ``Dropout``).

    It's training inside `gradient`: see `testmode`. The drawn numbers differ only along `dims`, an axis or
    several: ``dims=(0, -1)`` drops whole channels of pictures. The device of `x` draws them, or `rng`, on the CPU.
    """

    rng: Any  # in the tree, so that its state is saved

    active = None

    def __init__(self, p: float, *, dims: int | tuple[int, ...] | None = None, rng: Generator = None) -> None:
        check_number("Dropout(p), a probability,", p)
        if p > 1:
            raise ValueError(f"Dropout(p) is a probability, at most 1, got {p}")
        self.p = float(p)
        self.dims = dims
        if dims is not None and not isinstance(dims, int):
            self.dims = tuple(dims)
        self.rng = rng

    def __call__(self, x: Array) -> Array:
        if not self.active or self.p == 0:
            return x
        values = plain(x)
        shape = self._drawn_shape(values.shape)
        drawn = drawn_like(values, shape, self.rng)
        scale = 1 / (1 - self.p) if self.p < 1 else 0.0
        return x * ((drawn >= self.p).astype(values.dtype) * scale)

    def _drawn_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if self.dims is None:
            return shape
        axes = np.lib.array_utils.normalize_axis_tuple(self.dims, len(shape), "dims")
        return tuple(length if i in axes else 1 for i, length in enumerate(shape))

    def _arguments_text(self) -> str:
        return f"{self.p:g}"

    def _options_text(self) -> str:
        if self.dims is None:
            return ""
        return f", dims={self.dims}"


# -- numbers with mean 0 and variance 1 -------------------------------------------------------------------------------
# An array is taken as (blocks, rows, channels). Each block by itself is standardized, over its rows, and over the
# channels of each group: in what these are, the four layers differ. A mean is a product with a row of 1/n, which is
# many times quicker than np.mean over the first or the last axis. But 1/n is rounded, and so is the mean of equal
# numbers. Taken from the first of them, they're exactly 0, and so is their mean: then nothing is left of them.

# What `standardized` finds on its way: a `first` number, how far the mean is `beyond` it, the `variance`, and the
# `factor`, 1 / sqrt(variance + eps).
Moments = SimpleNamespace


@primitive
def standardized(x: Array, shape: tuple[int, int, int], groups: int, eps: float, moments: Moments) -> Array:
    """`x` with mean 0 and variance 1 in each block and group; what was found is noted in `moments`."""
    wide = np.reshape(x.astype(np.promote_types(x.dtype, np.float32), copy=False), shape)  # not in half precision
    first = first_of_group(wide, groups)
    result = wide - first
    shares = shares_of(result, groups)
    beyond = average(result, groups, shares)
    result -= beyond
    moments.first = first
    moments.beyond = beyond  # the sum of the two is the mean, which not every layer asks for
    moments.variance = average(result * result, groups, shares)
    moments.factor = 1 / np.sqrt(moments.variance + eps)
    result *= moments.factor
    return np.reshape(result, x.shape).astype(x.dtype, copy=False)


def first_of_group(x: Array, groups: int) -> Array:
    """The first number of each block and group, which broadcasts with `x`."""
    channels = x.shape[2]
    if groups == 1:
        return x[:, :1, :1]
    if groups == channels:
        return x[:, :1, :channels]
    size = channels // groups
    return np.repeat(x[:, :1, ::size], size, 2)


def shares_of(x: Array, groups: int) -> tuple[Array | None, Array | None]:
    """The row of 1/n for the rows of `x`, and the column for the channels of a group; None where there's one."""
    _, rows, channels = x.shape
    size = channels // groups
    over_rows = over_channels = None
    if rows != 1:
        over_rows = np.full_like(plain(x), 1 / max(rows, 1), shape=(1, rows))
    if groups != channels:
        over_channels = np.full_like(plain(x), 1 / max(size, 1), shape=(size, 1))
    return over_rows, over_channels


def average(x: Array, groups: int, shares: tuple[Array | None, Array | None] | None = None) -> Array:
    """The mean of each block and group, which broadcasts with `x`; `shares` are those of an `x` of this shape."""
    blocks, _, channels = x.shape
    if shares is None:
        shares = shares_of(x, groups)
    over_rows, over_channels = shares
    if over_rows is not None:
        x = over_rows @ x
    if over_channels is None:
        return x
    size = channels // groups
    x = np.reshape(x, (blocks * groups, size)) @ over_channels
    if groups == 1:
        return np.reshape(x, (blocks, 1, 1))
    return np.reshape(np.repeat(x, size, 1), (blocks, 1, channels))


def slope(g: Any, out: Any, x: Array, shape: tuple, groups: int, eps: float, moments: Moments) -> Array:
    """The pullback of `standardized`: `g` without its mean, and without what goes in the direction of `out`."""
    dtype = np.promote_types(x.dtype, np.float32)
    g = np.reshape(astype(g, dtype), shape)
    out = np.reshape(astype(out, dtype), shape)
    factor = moments.factor
    if TrackedArray in (type(g), type(out)):  # for the next derivative, as a function of x
        centred = np.reshape(astype(x, dtype), shape)
        centred = centred - first_of_group(plain(centred), groups)
        centred = centred - average(centred, groups)
        factor = 1 / np.sqrt(average(centred * centred, groups) + eps)
    result = (g - average(g, groups) - out * average(g * out, groups)) * factor
    return astype(np.reshape(result, x.shape), x.dtype)


rule(standardized, slope)
