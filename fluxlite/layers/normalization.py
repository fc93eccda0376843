"""The layers that bring their input to mean 0 and variance 1: they differ in which numbers they take together."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..activations import identity
from ..arguments import check_bool, check_whole, explained
from ..autodiff.tracked import plain
from ..errors import InputError, ShapeError
from ..tree.contract import functor
from ..tree.ties import is_array
from ..tree.walks import KeyPath
from .combine import split_activation
from .inputs import check_activation, is_floating, no_array, taken
from .layer import Layer, layer_call
from .printing import settings
from .standardizing import Moments, standardized


class Normalization(Layer):
    """What the four have in common: scale, bias and activation, and what they say to a wrong input."""

    activation: Any
    scale: Any
    bias: Any
    mean: Any = None
    var: Any = None

    def _start(self, size: tuple[int, ...], activation: Any, affine: bool, eps: float) -> None:
        for length in size:
            check_whole(f"{type(self).__name__}(*size)", length)
        check_bool(f"{type(self).__name__}(affine=…)", affine)
        self.size = tuple(map(int, size))
        self.activation, self.eps = check_activation(type(self).__name__, activation), eps
        self.scale = np.ones(self.size, np.float32) if affine else None
        self.bias = np.zeros(self.size, np.float32) if affine else None

    @layer_call
    def __call__(self, x: Any) -> Any:
        reference = self.mean if self.scale is None else self.scale
        if reference is not None and getattr(x, "dtype", None) is not reference.dtype:
            x = taken(self._name(), reference, x)
        self._check(x)
        y = self._normalized(x)
        return self.activation(y if self.scale is None else y * self.scale + self.bias)

    def _normalized(self, x: Any) -> Any:
        raise NotImplementedError

    def _check(self, x: Any) -> None:
        """Raise what there is to say about an `x` that can't be normalized. NumPy would broadcast some of them."""
        values, n = plain(x), len(self.size)
        if not is_array(values):
            raise no_array(self._name(), values)
        if not is_floating(values):
            raise InputError(KeyPath(), f"{self._name()} takes floating-point numbers, got {values.dtype.name}")
        if x.shape[len(x.shape) - n :] != self.size or len(x.shape) < n + self._axes_before():
            hint = ""
            if n == 1 and len(x.shape) > 2 and x.shape[1:2] == self.size:
                hint = "; the channels come last: np.moveaxis(x, 1, -1)"
            raise ShapeError(KeyPath(), f"{self._name()} takes an input of shape {self._shapes()}, got {x.shape}{hint}")

    def _axes_before(self) -> int:
        return 1

    def _shapes(self) -> str:
        return f"(N, …, {self.size[0]})"

    def _sizes(self) -> str:
        return ", ".join(map(str, self.size))

    def _options(self) -> str:
        return settings(self.activation, affine=self.scale is not None)


@functor(trainable=("activation", "scale", "bias"))
@dataclass(eq=False, repr=False, init=False)
class LayerNorm(Normalization):
    """Each observation by itself, over its last axes: ``(x - mean) / sqrt(var + eps)`` (Flux: ``LayerNorm``).

    ``LayerNorm(64)`` takes the last axis, ``LayerNorm(28, 28)`` the last two, of these sizes. Then comes
    ``* scale + bias``, unless ``affine=False``, and the activation, which is the last argument. `x` has shape
    ``(…, *size)``.

    Raises `ValueError` for an input of another size, `TypeError` for one on another device, or of integers.

    >>> LayerNorm(2)(np.array([[1, 3], [10, 50]], np.float32)).round(2)
    array([[-1.,  1.],
           [-1.,  1.]], dtype=float32)
    """

    activation: Any
    scale: Any
    bias: Any

    @explained()
    def __init__(self, *size: Any, affine: bool = True, eps: float = 1e-5) -> None:
        size, activation = split_activation(size)
        if not size:
            raise TypeError("LayerNorm(*size) takes the size of the last axis, or of the last ones: LayerNorm(64)")
        self._start(size, activation, affine, eps)

    def _normalized(self, x: Any) -> Any:
        rows = math.prod(x.shape[: len(x.shape) - len(self.size)])
        return standardized(x, (rows, 1, math.prod(self.size)), 1, self.eps, Moments())

    def _axes_before(self) -> int:
        return 0

    def _shapes(self) -> str:
        return f"(…, {', '.join(map(str, self.size))})"


class Running(Normalization):
    """A layer that also keeps running means and variances, for the time when it's not training."""

    mean: Any
    var: Any
    active = None

    def _start_tracking(self, channels: int, track_stats: bool, momentum: float) -> None:
        self.momentum = momentum
        self.mean = np.zeros(channels, np.float32) if track_stats else None
        self.var = np.ones(channels, np.float32) if track_stats else None

    def _by_block(self, x: Any, blocks: int) -> Any:
        """`x` by its own mean and variance, or outside of training by the running ones, if there are any."""
        if self.mean is not None and not self.active:
            factor = 1 / np.sqrt(self.var + self.eps)
            return (x - self.mean) * factor
        channels, moments = self.size[0], Moments()
        rows = math.prod(x.shape[:-1]) // max(blocks, 1)
        if self.active and rows == 1:
            what = f"{self._name()} has one number for each channel, in x of shape {x.shape}, and so no variance"
            raise ShapeError(KeyPath(), f"{what}: train with more observations at once, or use fl.testmode(layer)")
        result = standardized(x, (blocks, rows, channels), channels, self.eps, moments)
        if self.active and self.mean is not None and rows and blocks:
            self._track(moments, rows)
        return result

    def _track(self, moments: Moments, rows: int) -> None:
        """New arrays are assigned: `gradient` writes them to the layer that it was given."""
        self.mean = self._moved(self.mean, moments.mean, 1)
        self.var = self._moved(self.var, moments.variance, rows / (rows - 1))

    def _moved(self, before: Any, found: Any, factor: float) -> Any:
        found = found[0, 0] if len(found) == 1 else np.mean(found[:, 0], axis=0)
        moved = (1 - self.momentum) * plain(before) + self.momentum * factor * found
        return moved.astype(before.dtype, copy=False)


@functor(trainable=("activation", "scale", "bias"))
@dataclass(eq=False, repr=False, init=False)
class BatchNorm(Running):
    """Each channel by itself, over the whole batch: ``(x - mean) / sqrt(var + eps)`` (Flux: ``BatchNorm``).

    `x` has shape ``(N, channels)`` or ``(N, …, channels)``; then ``* scale + bias`` and the activation. In training,
    mean and variance are those of the batch. The layer also keeps running ones, `mean` and `var`, which move a
    `momentum` of the way at each call, and uses them outside of training; `testmode` says when that is. They are saved
    and moved, but not trained.

    With ``track_stats=False`` there are none, and it's always the batch's. With ``affine=False`` there's no scale and
    no bias.

    Raises `ValueError` for an input of another width, and in training for one number per channel, `TypeError` for one
    on another device, or of integers.

    >>> layer = BatchNorm(2)
    >>> layer
    BatchNorm(2)      # 4 parameters, plus 4 not trained
    >>> x = np.array([[1, 10], [3, 50]], np.float32)
    >>> loss, _ = fl.withgradient(lambda layer: np.sum(layer(x) ** 2), layer)
    >>> layer.mean, layer.var
    (array([0.2, 3. ], dtype=float32), array([ 1.1, 80.9], dtype=float32))
    """

    activation: Any
    scale: Any
    bias: Any
    mean: Any
    var: Any

    @explained()
    def __init__(
        self,
        channels: int,
        activation: Callable = identity,
        *,
        affine: bool = True,
        track_stats: bool = True,
        eps: float = 1e-5,
        momentum: float = 0.1,
    ) -> None:
        self._start((channels,), activation, affine, eps)
        self._start_tracking(channels, track_stats, momentum)

    def _normalized(self, x: Any) -> Any:
        return self._by_block(x, 1)


@functor(trainable=("activation", "scale", "bias"))
@dataclass(eq=False, repr=False, init=False)
class InstanceNorm(Running):
    """Each channel of each observation by itself: ``(x - mean) / sqrt(var + eps)`` (Flux: ``InstanceNorm``).

    `x` has shape ``(N, …, channels)``, with at least one axis between: the pixels of a picture, the steps of a
    sequence. As in Flux, there's no scale and no bias unless ``affine=True``, and it's always the observation's own
    mean and variance, unless ``track_stats=True``, which then works as in `BatchNorm`, with the means over the batch.

    Raises `ValueError` for an input of another width or too few axes, `TypeError` for one on another device, or of
    integers.

    >>> InstanceNorm(1)(np.array([[[1], [3]], [[10], [50]]], np.float32))[..., 0].round(2)
    array([[-1.,  1.],
           [-1.,  1.]], dtype=float32)
    """

    activation: Any
    scale: Any
    bias: Any
    mean: Any
    var: Any

    @explained()
    def __init__(
        self,
        channels: int,
        activation: Callable = identity,
        *,
        affine: bool = False,
        track_stats: bool = False,
        eps: float = 1e-5,
        momentum: float = 0.1,
    ) -> None:
        self._start((channels,), activation, affine, eps)
        self._start_tracking(channels, track_stats, momentum)

    def _normalized(self, x: Any) -> Any:
        return self._by_block(x, len(x))

    def _axes_before(self) -> int:
        return 2


@functor(trainable=("activation", "scale", "bias"))
@dataclass(eq=False, repr=False, init=False)
class GroupNorm(Normalization):
    """Groups of channels, each observation by itself: ``(x - mean) / sqrt(var + eps)`` (Flux: ``GroupNorm``).

    ``GroupNorm(channels, groups)`` takes the neighbouring ``channels / groups`` channels together. `x` has shape
    ``(N, …, channels)``. Then comes ``* scale + bias``, unless ``affine=False``, and the activation.

    Raises `ValueError` where the groups don't divide the channels and for an input of another width, `TypeError` for
    one on another device, or of integers.

    >>> GroupNorm(4, 2)(np.array([[1, 3, 10, 50]], np.float32)).round(2)
    array([[-1.,  1., -1.,  1.]], dtype=float32)
    """

    activation: Any
    scale: Any
    bias: Any

    @explained()
    def __init__(
        self, channels: int, groups: int, activation: Callable = identity, *, affine: bool = True, eps: float = 1e-5
    ) -> None:
        self._start((channels,), activation, affine, eps)
        check_whole("GroupNorm(groups)", groups, 1)
        if channels % groups:
            raise ValueError(f"GroupNorm(channels, groups): groups divide the {channels} channels, got {groups}")
        self.groups = int(groups)

    def _normalized(self, x: Any) -> Any:
        blocks, *rows, channels = x.shape
        return standardized(x, (blocks, math.prod(rows), channels), self.groups, self.eps, Moments())

    def _sizes(self) -> str:
        return f"{self.size[0]}, {self.groups}"
