"""Windows that slide over pictures and sequences: convolution and pooling; and `Upsample`, which makes them larger."""

import itertools
import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from ..annotations import Array
from ..arrays import astype, floats, identity, wide
from ..autodiff.derivatives.windows import Windows, convolve, convolve_back, max_along, padded, sum_along
from ..autodiff.tracked import plain
from ..tree.flat import KeyPath
from ..words import ShapeError, check_whole, explained, in_words
from .layer import Generator, Layer, activated, glorot_uniform, layer, start
from .printing import options_text

Pads = tuple[tuple[int, int], ...]
Each = int | tuple[int, ...]  # a number, or one for each axis


class SamePad:
    """Padding that keeps the size, or the size divided by the stride (Flux: ``SamePad``)."""

    def __repr__(self) -> str:
        return "SamePad()"


@layer(children=("weight", "bias", "activation"))
class Conv(Layer):
    """A convolution: each window's products with the weights, summed, then bias and activation (Flux: ``Conv``).

    ``Conv((3, 3), inputs, outputs)`` takes pictures ``(N, H, W, inputs)``, gives ``(N, …, …, outputs)``; ``Conv((3,),
    …)`` takes sequences ``(N, T, inputs)``. `weight` has shape ``(*kernel, inputs / groups, outputs)``, PyTorch's
    ``(outputs, inputs / groups, *kernel)``. As in Flux, the kernel is flipped; `CrossCor` doesn't flip it.

    `stride`, `dilation` and `pad` are a number, or one for each axis; a `pad` of twice as many numbers is before and
    after each axis; ``pad=SamePad()`` keeps the size. `groups` cuts the features into parts that don't see each other.
    """

    weight: Array
    bias: Array | None
    activation: Callable
    stride: tuple[int, ...]
    pad: Pads
    dilation: tuple[int, ...]
    groups: int

    _flips = True
    _back = False  # from the outputs to the inputs: the weight's last two axes change places

    def __init__(
        self, kernel: tuple[int, ...], inputs: int, outputs: int, activation: Callable = identity, *,
        stride: Each = 1, pad: Each | SamePad = 0, dilation: Each = 1, groups: int = 1, bias: bool = True,
        init: Callable = glorot_uniform, rng: Generator = None,
    ):  # fmt: skip
        name = type(self).__name__
        kernel = window_size(f"{name}(kernel)", kernel)
        check_whole(f"{name}(groups=…)", groups, 1)
        if inputs % groups or outputs % groups:
            raise ValueError(f"{name}: inputs and outputs are multiples of groups={groups}, got {inputs} and {outputs}")
        before, after = inputs, outputs
        if self._back:
            before, after = outputs, inputs
        drawn: Any = start(init, after, before // groups, rng, window=kernel, layer=name)
        self.weight = np.copy(np.moveaxis(drawn, (1, 0), (-2, -1)), order="C")
        self.bias = np.zeros_like(self.weight, shape=(outputs,)) if bias else None
        self._set(activation, stride, pad, dilation, groups)

    @classmethod
    def of(cls, weight: Array, bias: Array | None = None, activation: Callable = identity, *, stride: Each = 1,
           pad: Each | SamePad = 0, dilation: Each = 1, groups: int = 1) -> Self:  # fmt: skip
        """A layer made of these arrays: `weight` of shape ``(*kernel, inputs / groups, outputs)``, `bias` or None."""
        new = object.__new__(cls)
        kernel = ["kernel"] * max(getattr(weight, "ndim", 0) - 2, 1)
        new.weight = new._check_array("weight", weight, *kernel, "inputs", "outputs")
        new._set(activation, stride, pad, dilation, groups)
        _, outputs = new._features()
        new.bias = new._check_bias(bias, weight, outputs)
        return new

    def _set(self, activation: Callable, stride: Each, pad: Each | SamePad, dilation: Each, groups: int) -> None:
        name = type(self).__name__
        dims = self.weight.ndim - 2
        self.activation = self._check_activation(activation)
        self.groups = groups
        self.stride = each_axis(f"{name}'s stride", stride, dims)
        self.dilation = each_axis(f"{name}'s dilation", dilation, dims)
        self.pad = pads_of(f"{name}'s pad", pad, self._padded_extent())

    def __call__(self, x: Array) -> Array:
        dims = len(self.stride)
        inputs, _ = self._features()
        check_shape(self, x, dims, inputs)
        at = Windows(self.weight.shape[:dims], self.stride, self.pad, self.dilation, self.groups)
        kernel = self.weight
        if self._flips:
            kernel = np.flip(kernel, tuple(range(dims)))
        y = self._windows_of(self._converted(x, self.weight), kernel, at)
        return activated(self.activation, y, self.bias)

    def _windows_of(self, x: Array, kernel: Array, at: Windows) -> Array:
        return convolve(x, kernel, at)

    def _padded_extent(self) -> tuple[int, ...]:
        """What `SamePad` makes up for."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.weight.shape, self.dilation))

    def _features(self) -> tuple[int, int]:
        """How many there are of the input, and of the output."""
        *_, before, after = self.weight.shape
        if self._back:
            return after, before * self.groups
        return before * self.groups, after

    def _arguments_text(self) -> str:
        inputs, outputs = self._features()
        return f"{self.weight.shape[:-2]}, {inputs} => {outputs}"

    def _options_text(self) -> str:
        texts = [
            options_text(self.activation),
            option("pad", self.pad, 0),
            option("stride", self.stride, 1),
            option("dilation", self.dilation, 1),
            option("groups", (self.groups,), 1),
            options_text(bias=self.bias is not None),
        ]
        return "".join(texts)


@layer(children=("weight", "bias", "activation"))
class CrossCor(Conv):
    """`Conv` without flipping the kernel: what PyTorch and Keras call convolution (Flux: ``CrossCor``)."""

    _flips = False


@layer(children=("weight", "bias", "activation"))
class ConvTranspose(Conv):
    """The backward pass of a `Conv`: each element is spread over a window (Flux: ``ConvTranspose``).

    A length L becomes ``(L - 1) * stride + (kernel - 1) * dilation + 1`` minus the padding, plus `outpad`. `weight` has
    shape ``(*kernel, outputs / groups, inputs)``. PyTorch's has to be flipped.
    """

    outpad: tuple[int, ...]

    _back = True

    def __init__(
        self, kernel: tuple[int, ...], inputs: int, outputs: int, activation: Callable = identity, *,
        outpad: Each = 0, **settings: Any,
    ):  # fmt: skip
        super().__init__(kernel, inputs, outputs, activation, **settings)
        self.outpad = self._checked(outpad)

    @classmethod
    def of(cls, weight: Array, bias: Array | None = None, activation: Callable = identity, *, outpad: Each = 0,
           **settings: Any) -> Self:  # fmt: skip
        """A layer made of these arrays: `weight` of shape ``(*kernel, outputs / groups, inputs)``, `bias` or None."""
        new = super().of(weight, bias, activation, **settings)
        new.outpad = new._checked(outpad)
        return new

    def _checked(self, outpad: Each) -> tuple[int, ...]:
        each = each_axis("ConvTranspose's outpad", outpad, len(self.stride), 0)
        if any(more >= stride for more, stride in zip(each, self.stride) if more):
            raise ValueError(f"ConvTranspose's outpad is less than the stride, {self.stride}, got {outpad}")
        return each

    def _windows_of(self, x: Array, kernel: Array, at: Windows) -> Array:
        space = []
        for n, stride, extent, pad, more in zip(x.shape[1:-1], at.stride, at.extent(), at.pad, self.outpad):
            space.append((n - 1) * stride + extent - sum(pad) + more)
        if min(space) < 1:
            what = f"of {x.shape[1:-1]} would make {tuple(space)}: there's more padding than there are results"
            raise ShapeError(KeyPath(), f"{self._name()} {what}")
        return convolve_back(x, kernel, at, tuple(space))

    def _padded_extent(self) -> tuple[int, ...]:
        settings = zip(self.weight.shape, self.stride, self.dilation)
        return tuple(max((k - stride) * d + 1, 1) for k, stride, d in settings)

    def _options_text(self) -> str:
        return super()._options_text() + option("outpad", self.outpad, 0)


@explained()
def DepthwiseConv(  # noqa: N802
    kernel: tuple[int, ...], inputs: int, outputs: int, activation: Callable = identity, **settings: Any
) -> Conv:
    """A `Conv` with ``groups=inputs``: each feature by itself (Flux: ``DepthwiseConv``)."""
    return Conv(kernel, inputs, outputs, activation, groups=inputs, **settings)


@layer(children=())
class MaxPool(Layer):
    """The largest element of each window, for each feature (Flux: ``MaxPool``).

    ``MaxPool((2, 2))`` takes pictures, ``(N, H, W, features)``; ``MaxPool((2,))`` sequences. `stride` is usually the
    window's size; `pad` is as in `Conv`, and never the largest. Of equal elements, the first gets the gradient.
    """

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    pad: Pads

    _is_mean = False

    def __init__(self, kernel: tuple[int, ...], *, stride: Each | None = None, pad: Each | SamePad = 0):
        name = type(self).__name__
        self.kernel = window_size(f"{name}(kernel)", kernel)
        self.stride = self.kernel
        if stride is not None:
            self.stride = each_axis(f"{name}'s stride", stride, len(self.kernel))
        self.pad = pads_of(f"{name}'s pad", pad, self.kernel)
        if any(size >= width for sizes, width in zip(self.pad, self.kernel) for size in sizes):
            raise ValueError(f"{name}'s pad is smaller than its window {self.kernel}, got {pad}")

    def __call__(self, x: Array) -> Array:
        check_shape(self, x, len(self.kernel))
        together = (1,) * len(self.kernel)  # a dilation of 1: nothing is left out
        return pool(self, x, Windows(self.kernel, self.stride, self.pad, together))

    def _arguments_text(self) -> str:
        return str(self.kernel)

    def _options_text(self) -> str:
        return option("pad", self.pad, 0) + option("stride", self.stride, self.kernel)


@layer(children=())
class MeanPool(MaxPool):
    """The mean of each window, for each feature (Flux: ``MeanPool``); padding counts, as zeros."""

    _is_mean = True


@layer(children=())
class AdaptiveMaxPool(Layer):
    """Pooling to the size `out`, with windows of one size that suit the input (Flux: ``AdaptiveMaxPool``)."""

    out: tuple[int, ...]

    _is_mean = False

    def __init__(self, out: tuple[int, ...]):
        self.out = window_size(f"{type(self).__name__}(out)", out)

    def __call__(self, x: Array) -> Array:
        check_shape(self, x, len(self.out))
        space = x.shape[1:-1]
        if any(length < out for length, out in zip(space, self.out)):
            raise ShapeError(KeyPath(), f"{self._name()} can't make {self.out} of {space}")
        stride = tuple(length // out for length, out in zip(space, self.out))
        kernel = tuple(length - (out - 1) * step for length, out, step in zip(space, self.out, stride))
        unpadded = ((0, 0),) * len(space)
        together = (1,) * len(space)
        return pool(self, x, Windows(kernel, stride, unpadded, together))

    def _arguments_text(self) -> str:
        return str(self.out)


@layer(children=())
class AdaptiveMeanPool(AdaptiveMaxPool):
    """`AdaptiveMaxPool` with the mean of each window (Flux: ``AdaptiveMeanPool``)."""

    _is_mean = True


def pool(layer: Any, x: Array, at: Windows) -> Array:
    """One axis after the other, which takes fewer steps; the last first, so that of equals the first one counts."""
    if min(at.places(x.shape[1:-1])) < 1:  # no error, but nothing would come out
        raise ShapeError(KeyPath(), f"{layer._name()}: no window of {at.kernel} fits into {x.shape[1:-1]}")
    if layer._is_mean:
        total = _slid(sum_along, _padded(wide(floats(x)), at, 0), at)
        mean = total / math.prod(at.kernel)
        return astype(mean, x.dtype) if x.dtype.char == "e" else mean
    lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
    return _slid(max_along, _padded(x, at, lowest), at)


def _padded(x: Array, at: Windows, value: float) -> Array:
    if any(map(any, at.pad)):
        return padded(x, at.pad, value)
    return x


def _slid(reduce_along: Callable, x: Array, at: Windows) -> Array:
    for axis in reversed(range(len(at.kernel))):
        x = reduce_along(x, axis + 1, at.kernel[axis], at.stride[axis])
    return x


@layer
class GlobalMaxPool(Layer):
    """The largest element of each picture, for each feature: ``(N, 1, 1, features)`` (Flux: ``GlobalMaxPool``)."""

    def __call__(self, x: Array) -> Array:
        check_shape(self, x)
        flat = np.reshape(x, (x.shape[0], math.prod(x.shape[1:-1]), x.shape[-1]))
        largest = np.take_along_axis(flat, np.argmax(flat, axis=1)[:, None], axis=1)
        ones = (1,) * (x.ndim - 2)
        return np.reshape(largest, (x.shape[0], *ones, x.shape[-1]))


@layer
class GlobalMeanPool(Layer):
    """The mean of each picture, for each feature (Flux: ``GlobalMeanPool``)."""

    def __call__(self, x: Array) -> Array:
        check_shape(self, x)
        return np.mean(x, axis=tuple(range(1, x.ndim - 1)), keepdims=True)


@layer(children=())
class Upsample(Layer):
    """Makes pictures larger, ``(N, H, W, features)``, and sequences longer (Flux: ``Upsample``).

    `mode` is ``"nearest"``, which repeats each element, or ``"bilinear"``, which interpolates (PyTorch:
    ``align_corners=True``). Give either `scale`, a number or one for each axis, or `size`, the lengths of the result.
    """

    mode: str
    scale: Any
    size: tuple[int, ...] | None

    def __init__(self, mode: str = "nearest", *, scale: Any = None, size: Any = None):
        if not isinstance(mode, str) or mode not in ("nearest", "bilinear"):
            raise ValueError(f'Upsample\'s mode is "nearest" or "bilinear", got {in_words(mode)}')
        if (scale is None) == (size is None):
            raise ValueError("Upsample takes either scale=, such as 2, or size=, such as (28, 28)")
        self.mode = mode
        self.scale = tuple(scale) if isinstance(scale, list) else scale
        self.size = None
        if size is not None:
            self.size = each_axis("Upsample's size", size, len(size))

    def __call__(self, x: Array) -> Array:
        given = self.size or self.scale
        check_shape(self, x, len(given) if isinstance(given, tuple) else None)
        space = x.shape[1:-1]
        size = self._new_size(space)
        fits = all(space) and all(size)
        if self.mode == "nearest" and fits:
            fits = all(new % length == 0 for new, length in zip(size, space))
        if not fits:
            raise ShapeError(KeyPath(), f"{self._name()} makes multiples of its input's lengths {space}, not {size}")
        if self.mode != "nearest":
            x = floats(x)
        y: Array = np.swapaxes(x, 0, -1)  # in memory, the observations come last; see windows.py
        for axis, length in enumerate(size, 1):
            if self.mode == "nearest":
                y = np.repeat(y, length // y.shape[axis], axis)
            else:
                y = _interpolated(y, axis, length)
        return np.swapaxes(y, 0, -1)

    def _new_size(self, space: tuple[int, ...]) -> tuple[int, ...]:
        if self.size:
            return self.size
        scale = self.scale if isinstance(self.scale, tuple) else (self.scale,) * len(space)
        return tuple(math.floor(length * factor) for length, factor in zip(space, scale))

    def _arguments_text(self) -> str:
        if self.size is None:
            return f'"{self.mode}", scale={self.scale}'
        return f'"{self.mode}", size={self.size}'


def _interpolated(x: Any, axis: int, length: int) -> Array:
    """A product with a matrix that has, in each row, the shares of two neighbours."""
    before = x.shape[axis]
    left, right = x.shape[:axis], x.shape[axis + 1 :]
    kind = np.float64 if x.dtype == np.float64 else np.float32
    old = np.arange(before, dtype=kind, like=plain(x))
    new = np.arange(length, dtype=kind, like=plain(x))
    step = (before - 1) / max(length - 1, 1)  # from one new place to the next, counted in old ones
    distance = abs(new[:, None] * step - old)
    shares = np.maximum(1 - distance, 0).astype(x.dtype)
    rows = np.reshape(x, (math.prod(left), before, math.prod(right)))
    return np.reshape(shares @ rows, (*left, length, *right))


def window_size(what: str, size: object) -> tuple[int, ...]:
    if not isinstance(size, (tuple, list)) or not size:
        raise TypeError(f"{what} is (3, 3) for pictures or (3,) for sequences, got {in_words(size)}")
    return each_axis(what, size, len(size))


def each_axis(what: str, value: Any, dims: int, least: int = 1) -> tuple[int, ...]:
    """A whole number for each of `dims` axes: those given, or one for all."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,) * dims
    for number in values:
        check_whole(what, number, least)
    if len(values) != dims:
        raise ValueError(f"{what} is a number, or {dims}, one for each axis of the window, got {value!r}")
    return tuple(map(int, values))


def pads_of(what: str, pad: Any, extent: tuple[int, ...]) -> Pads:
    """What is added before and after each axis, for windows that reach over so many elements."""
    if isinstance(pad, SamePad) or pad is SamePad:
        pads = []
        for size in extent:
            after = (size - 1) // 2
            pads.append((size - 1 - after, after))
        return tuple(pads)
    dims = len(extent)
    if isinstance(pad, (tuple, list)) and len(pad) == 2 * dims:
        flat = each_axis(what, pad, 2 * dims, 0)
        return tuple(zip(flat[::2], flat[1::2]))
    return tuple((size, size) for size in each_axis(what, pad, dims, 0))


def option(name: str, values: tuple, usual: Any) -> str:
    """How a layer's text names one of its settings; one number if it's the same for all axes."""
    if values and type(values[0]) is tuple:
        is_symmetric = all(before == after for before, after in values)
        if is_symmetric:
            values = tuple(before for before, _ in values)
        else:
            values = tuple(itertools.chain.from_iterable(values))
    value: Any = values
    if all(one == values[0] for one in values):
        value = values[0]
    if usual in (value, values):
        return ""
    return f", {name}={value}"


def check_shape(layer: Layer, x: Array, dims: int | None = None, features: int | None = None) -> None:
    """Raises `ShapeError` if `x` isn't ``(N, …, features)``, with `dims` axes between."""
    shape = x.shape
    if dims is None:
        dims = max(len(shape), 3) - 2
    if len(shape) == dims + 2 and features in (None, shape[-1]):
        return
    many, axes = {1: ("sequences", "T"), 2: ("pictures", "H, W")}.get(dims, ("arrays", "…"))
    hint = ""
    if len(shape) == dims + 2 and shape[1] == features:
        hint = f"; this looks like (N, C, {axes}): np.moveaxis(x, 1, -1) puts the features last"
    elif len(shape) == dims + 1 and features == 1:
        hint = "; x[..., None] has an axis for the one feature"
    takes = f"takes {many} of shape (N, {axes}, {features or 'features'})"
    raise ShapeError(KeyPath(), f"{layer._name()} {takes}, got shape {shape}{hint}")
