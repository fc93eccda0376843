"""The layers that bring their input to mean 0 and variance 1: they differ in which numbers they take together."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from operator import index
from typing import Any, ClassVar

import numpy as np

from ..activations import identity
from ..arguments import explained
from ..autodiff.tracked import plain
from ..errors import InputError, ShapeError
from ..tree.contract import functor
from ..tree.walks import KeyPath
from .combine import split_activation
from .inputs import check_activation, is_floating, taken
from .layer import Layer, layer_call
from .printing import settings
from .standardizing import Moments, standardized


@dataclass(eq=False, repr=False, init=False)
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
        if reference is not None and getattr(x, "dtype", None) is not reference.dtype:
            x = taken(self._name(), reference, x)
        self._check(x)
        y = self._normalized(x)
        return self.activation(y if self.scale is None else y * self.scale + self.bias)

    def _check(self, x: Any) -> None:
        """Raise what there is to say about an `x` that can't be normalized. NumPy would broadcast some of them."""
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


@functor(trainable=("activation", "scale", "bias"))
@dataclass(eq=False, repr=False, init=False)
class LayerNorm(Normalization):
    """Each observation by itself, over its last axes: ``(x - mean) / sqrt(var + eps)`` (Flux: ``LayerNorm``).

    ``LayerNorm(64)`` takes the last axis, ``LayerNorm(28, 28)`` the last two, of these sizes. Then comes
    ``* scale + bias``, unless ``affine=False``, and the activation, which is the last argument. `x` has shape
    ``(…, *size)``.

    >>> LayerNorm(2)(np.array([[1, 3], [10, 50]], np.float32)).round(2)
    array([[-1.,  1.],
           [-1.,  1.]], dtype=float32)
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


@functor(trainable=("activation", "scale", "bias"))
@dataclass(eq=False, repr=False, init=False)
class GroupNorm(Normalization):
    """Groups of channels, each observation by itself: ``(x - mean) / sqrt(var + eps)`` (Flux: ``GroupNorm``).

    ``GroupNorm(channels, groups)`` takes the neighbouring ``channels / groups`` channels together. `x` has shape
    ``(N, …, channels)``. Then comes ``* scale + bias``, unless ``affine=False``, and the activation.

    >>> GroupNorm(4, 2)(np.array([[1, 3, 10, 50]], np.float32)).round(2)
    array([[-1.,  1., -1.,  1.]], dtype=float32)
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


@functor(trainable=("activation", "scale", "bias"))
@dataclass(eq=False, repr=False, init=False)
class BatchNorm(Normalization):
    """Each channel by itself, over the whole batch: ``(x - mean) / sqrt(var + eps)`` (Flux: ``BatchNorm``).

    `x` has shape ``(N, channels)`` or ``(N, …, channels)``; then ``* scale + bias`` and the activation. In training,
    mean and variance are those of the batch. The layer also keeps running ones, `mean` and `var`, which move a
    `momentum` of the way at each call, and uses them outside of training; `testmode` says when that is. They are saved
    and moved, but not trained. With ``track_stats=False`` there are none, and it's always the batch's.

    >>> layer = BatchNorm(2)
    >>> layer
    BatchNorm(2)      # 4 parameters, plus 4 not trained
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
        """By its own mean and variance, or outside of training by the running ones, if there are any."""
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


@functor(trainable=("activation", "scale", "bias"))
@dataclass(eq=False, repr=False, init=False)
class InstanceNorm(BatchNorm):
    """Each channel of each observation by itself: ``(x - mean) / sqrt(var + eps)`` (Flux: ``InstanceNorm``).

    `x` has shape ``(N, …, channels)``, with at least one axis between: the pixels of a picture, the steps of a
    sequence. As in Flux, there's no scale and no bias unless ``affine=True``, and it's always the observation's own
    mean and variance, unless ``track_stats=True``, which then works as in `BatchNorm`, with the means over the batch.
    """

    _axes_before = 2
    _one_by_one = True

    @explained()
    def __init__(
        self, channels: int, activation: Callable = identity, *, affine: bool = False, track_stats: bool = False,
        eps: float = 1e-5, momentum: float = 0.1,
    ) -> None:  # fmt: skip
        super().__init__(channels, activation, affine=affine, track_stats=track_stats, eps=eps, momentum=momentum)
