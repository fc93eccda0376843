"""Windows that slide over pictures and sequences: convolution and pooling; and `Upsample`, which makes them larger."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import astype, floats, identity, wide
from ..autodiff.derivatives.windows import Windows, convolve, convolve_back, max_along, padded, sum_along
from ..autodiff.tracked import plain
from ..messages import ShapeError, check_whole, explained, in_words
from ..tree.flat import KeyPath
from .layer import Generator, Layer, activated, glorot_uniform, start
from .printing import settings

Pads = tuple[tuple[int, int], ...]
Each = int | tuple[int, ...]  # a number, or one for each axis


class SamePad:
    """Padding that keeps the size, or the size divided by the stride (Flux: ``SamePad``)."""

    def __repr__(self) -> str:
        return "SamePad()"


class Conv(Layer, children=("weight", "bias", "activation")):
    """A convolution: each window's products with the weights, summed, then bias and activation (Flux: ``Conv``).

    ``Conv((3, 3), inputs, outputs)`` takes pictures ``(N, H, W, inputs)``, gives ``(N, …, …, outputs)``; ``Conv((3,),
    …)`` takes sequences ``(N, T, inputs)``. `weight` has shape ``(*kernel, inputs / groups, outputs)``, PyTorch's
    ``(outputs, inputs / groups, *kernel)``. As in Flux, the kernel is flipped; `CrossCor` doesn't flip it.

    `stride`, `dilation` and `pad` are a number, or one for each axis; a `pad` of twice as many numbers is before and
    after each axis; ``pad=SamePad()`` keeps the size. `groups` cuts the features into parts that don't see each other.
    """

    weight: Any
    bias: Any
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
        before, after = (outputs, inputs) if self._back else (inputs, outputs)
        drawn = start(init, after, before // groups, rng, window=kernel, layer=name)
        self.weight = np.copy(np.moveaxis(drawn, (1, 0), (-2, -1)), order="C")
        self.bias = np.zeros_like(self.weight, shape=(outputs,)) if bias else None
        self._set(activation, stride, pad, dilation, groups)

    @classmethod
    def of(cls, weight: Any, bias: Any = None, activation: Callable = identity, *, stride: Any = 1, pad: Any = 0,
           dilation: Any = 1, groups: int = 1) -> Any:  # fmt: skip
        """A layer made of these arrays: `weight` of shape ``(*kernel, inputs / groups, outputs)``, `bias` or None."""
        layer = object.__new__(cls)
        kernel = ["kernel"] * max(getattr(weight, "ndim", 0) - 2, 1)
        layer.weight = layer._check_array("weight", weight, *kernel, "inputs", "outputs")
        layer._set(activation, stride, pad, dilation, groups)
        layer.bias = layer._check_bias(bias, weight, layer._features()[1])
        return layer

    def _set(self, activation: Callable, stride: Any, pad: Any, dilation: Any, groups: int) -> None:
        name, dims = type(self).__name__, self.weight.ndim - 2
        self.activation, self.groups = self._check_activation(activation), groups
        self.stride = each_axis(f"{name}'s stride", stride, dims)
        self.dilation = each_axis(f"{name}'s dilation", dilation, dims)
        self.pad = pads_of(f"{name}'s pad", pad, self._padded_extent())

    def __call__(self, x: Any) -> Any:
        dims = len(self.stride)
        check_shape(self, x, dims, self._features()[0])
        at = Windows(self.weight.shape[:dims], self.stride, self.pad, self.dilation, self.groups)
        kernel = np.flip(self.weight, tuple(range(dims))) if self._flips else self.weight
        return activated(self.activation, self._windows_of(self._converted(x, self.weight), kernel, at), self.bias)

    def _windows_of(self, x: Any, kernel: Any, at: Windows) -> Any:
        return convolve(x, kernel, at)

    def _padded_extent(self) -> tuple[int, ...]:
        """What `SamePad` makes up for."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.weight.shape, self.dilation))

    def _features(self) -> tuple[int, int]:
        *_, before, after = self.weight.shape
        return (after, before * self.groups) if self._back else (before * self.groups, after)

    def _sizes(self) -> str:
        return "{}, {} => {}".format(self.weight.shape[:-2], *self._features())

    def _options(self) -> str:
        windows = option("pad", self.pad, 0) + option("stride", self.stride, 1) + option("dilation", self.dilation, 1)
        groups = option("groups", (self.groups,), 1)
        return f"{settings(self.activation)}{windows}{groups}{settings(bias=self.bias is not None)}"


class CrossCor(Conv):
    """`Conv` without flipping the kernel: what PyTorch and Keras call convolution (Flux: ``CrossCor``)."""

    _flips = False


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
    def of(cls, weight: Any, bias: Any = None, activation: Callable = identity, *, outpad: Any = 0,
           **settings: Any) -> Any:  # fmt: skip
        """A layer made of these arrays: `weight` of shape ``(*kernel, outputs / groups, inputs)``, `bias` or None."""
        layer = super().of(weight, bias, activation, **settings)
        layer.outpad = layer._checked(outpad)
        return layer

    def _checked(self, outpad: Any) -> tuple[int, ...]:
        each = each_axis("ConvTranspose's outpad", outpad, len(self.stride), 0)
        if any(more >= stride for more, stride in zip(each, self.stride) if more):
            raise ValueError(f"ConvTranspose's outpad is less than the stride, {self.stride}, got {outpad}")
        return each

    def _windows_of(self, x: Any, kernel: Any, at: Windows) -> Any:
        lengths = zip(x.shape[1:-1], at.stride, at.extent(), at.pad, self.outpad)
        space = tuple((n - 1) * stride + extent - sum(pad) + more for n, stride, extent, pad, more in lengths)
        if min(space) < 1:
            what = f"of {x.shape[1:-1]} would make {space}: there's more padding than there are results"
            raise ShapeError(KeyPath(), f"{self._name()} {what}")
        return convolve_back(x, kernel, at, space)

    def _padded_extent(self) -> tuple[int, ...]:
        lengths = zip(self.weight.shape, self.stride, self.dilation)
        return tuple(max((k - stride) * d + 1, 1) for k, stride, d in lengths)

    def _options(self) -> str:
        return super()._options() + option("outpad", self.outpad, 0)


@explained()
def DepthwiseConv(  # noqa: N802
    kernel: tuple[int, ...], inputs: int, outputs: int, activation: Callable = identity, **settings: Any
) -> Conv:
    """A `Conv` with ``groups=inputs``: each feature by itself (Flux: ``DepthwiseConv``)."""
    return Conv(kernel, inputs, outputs, activation, groups=inputs, **settings)


class MaxPool(Layer, children=()):
    """The largest element of each window, for each feature (Flux: ``MaxPool``).

    ``MaxPool((2, 2))`` takes pictures, ``(N, H, W, features)``; ``MaxPool((2,))`` sequences. `stride` is usually the
    window's size; `pad` is as in `Conv`, and never the largest. Of equal elements, the first gets the gradient.
    """

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    pad: Pads

    _is_mean = False

    def __init__(self, kernel: tuple[int, ...], *, stride: Any = None, pad: Each | SamePad = 0):
        name = type(self).__name__
        self.kernel = window_size(f"{name}(kernel)", kernel)
        self.stride = self.kernel if stride is None else each_axis(f"{name}'s stride", stride, len(self.kernel))
        self.pad = pads_of(f"{name}'s pad", pad, self.kernel)
        if any(size >= width for sizes, width in zip(self.pad, self.kernel) for size in sizes):
            raise ValueError(f"{name}'s pad is smaller than its window {self.kernel}, got {pad}")

    def __call__(self, x: Any) -> Any:
        check_shape(self, x, len(self.kernel))
        return pool(self, x, Windows(self.kernel, self.stride, self.pad, (1,) * len(self.kernel)))

    def _sizes(self) -> str:
        return str(self.kernel)

    def _options(self) -> str:
        return option("pad", self.pad, 0) + option("stride", self.stride, self.kernel)


class MeanPool(MaxPool):
    """The mean of each window, for each feature (Flux: ``MeanPool``); padding counts, as zeros."""

    _is_mean = True


class AdaptiveMaxPool(Layer, children=()):
    """Pooling to the size `out`, with windows of one size that suit the input (Flux: ``AdaptiveMaxPool``)."""

    out: tuple[int, ...]

    _is_mean = False

    def __init__(self, out: tuple[int, ...]):
        self.out = window_size(f"{type(self).__name__}(out)", out)

    def __call__(self, x: Any) -> Any:
        check_shape(self, x, len(self.out))
        space = x.shape[1:-1]
        if any(length < out for length, out in zip(space, self.out)):
            raise ShapeError(KeyPath(), f"{self._name()} can't make {self.out} of {space}")
        stride = tuple(length // out for length, out in zip(space, self.out))
        kernel = tuple(length - (out - 1) * step for length, out, step in zip(space, self.out, stride))
        return pool(self, x, Windows(kernel, stride, ((0, 0),) * len(space), (1,) * len(space)))

    def _sizes(self) -> str:
        return str(self.out)


class AdaptiveMeanPool(AdaptiveMaxPool):
    """`AdaptiveMaxPool` with the mean of each window (Flux: ``AdaptiveMeanPool``)."""

    _is_mean = True


def pool(layer: Any, x: Any, at: Windows) -> Any:
    """One axis after the other, which takes fewer steps; the last first, so that of equals the first one counts."""
    if min(at.places(x.shape[1:-1])) < 1:  # no error, but nothing would come out
        raise ShapeError(KeyPath(), f"{layer._name()}: no window of {at.kernel} fits into {x.shape[1:-1]}")
    dtype, is_mean = x.dtype, layer._is_mean
    if is_mean:
        x = wide(floats(x))
    if any(map(any, at.pad)):
        lowest = np.iinfo(x.dtype).min if x.dtype.kind in "iu" else -np.inf
        x = padded(x, at.pad, 0 if is_mean else lowest)
    for axis in reversed(range(len(at.kernel))):
        x = (sum_along if is_mean else max_along)(x, axis + 1, at.kernel[axis], at.stride[axis])
    if not is_mean:
        return x
    mean = x / math.prod(at.kernel)
    return astype(mean, dtype) if dtype.char == "e" else mean


class GlobalMaxPool(Layer):
    """The largest element of each picture, for each feature: ``(N, 1, 1, features)`` (Flux: ``GlobalMaxPool``)."""

    def __call__(self, x: Any) -> Any:
        check_shape(self, x)
        flat = np.reshape(x, (x.shape[0], math.prod(x.shape[1:-1]), x.shape[-1]))
        largest = np.take_along_axis(flat, np.argmax(flat, axis=1)[:, None], axis=1)
        return np.reshape(largest, (x.shape[0], *(1,) * (x.ndim - 2), x.shape[-1]))


class GlobalMeanPool(Layer):
    """The mean of each picture, for each feature (Flux: ``GlobalMeanPool``)."""

    def __call__(self, x: Any) -> Any:
        check_shape(self, x)
        return np.mean(x, axis=tuple(range(1, x.ndim - 1)), keepdims=True)


class Upsample(Layer, children=()):
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
        self.mode, self.scale = mode, tuple(scale) if isinstance(scale, list) else scale
        self.size = None if size is None else each_axis("Upsample's size", size, len(size))

    def __call__(self, x: Any) -> Any:
        given = self.size or self.scale
        check_shape(self, x, len(given) if isinstance(given, tuple) else None)
        space = x.shape[1:-1]
        scale = self.scale if isinstance(self.scale, tuple) else (self.scale,) * len(space)
        size = self.size or tuple(math.floor(length * factor) for length, factor in zip(space, scale))
        is_near = self.mode == "nearest"
        if not all(space) or not all(size) or is_near and any(new % length for new, length in zip(size, space)):
            raise ShapeError(KeyPath(), f"{self._name()} makes multiples of its input's lengths {space}, not {size}")
        x = x if is_near else floats(x)
        y = np.swapaxes(x, 0, -1)  # in memory, the observations come last; see windows.py
        for axis, length in enumerate(size, 1):
            y = np.repeat(y, length // y.shape[axis], axis) if is_near else _interpolated(y, axis, length)
        return np.swapaxes(y, 0, -1)

    def _sizes(self) -> str:
        return f'"{self.mode}", ' + (f"scale={self.scale}" if self.size is None else f"size={self.size}")


def _interpolated(x: Any, axis: int, length: int) -> Any:
    """A product with a matrix that has, in each row, the shares of two neighbours."""
    before = x.shape[axis]
    like, kind = plain(x), np.float64 if x.dtype == np.float64 else np.float32
    old, new = np.arange(before, dtype=kind, like=like), np.arange(length, dtype=kind, like=like)
    shares = np.maximum(1 - abs(new[:, None] * ((before - 1) / max(length - 1, 1)) - old), 0).astype(x.dtype)
    rows = np.reshape(x, (math.prod(x.shape[:axis]), before, math.prod(x.shape[axis + 1 :])))
    return np.reshape(shares @ rows, (*x.shape[:axis], length, *x.shape[axis + 1 :]))


def window_size(what: str, size: Any) -> tuple[int, ...]:
    if not isinstance(size, (tuple, list)) or not size:
        raise TypeError(f"{what} is (3, 3) for pictures or (3,) for sequences, got {in_words(size)}")
    return each_axis(what, size, len(size))


def each_axis(what: str, value: Any, dims: int, least: int = 1) -> tuple[int, ...]:
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,) * dims
    for number in values:
        check_whole(what, number, least)
    if len(values) != dims:
        raise ValueError(f"{what} is a number, or {dims}, one for each axis of the window, got {value!r}")
    return tuple(map(int, values))


def pads_of(what: str, pad: Any, extent: tuple[int, ...]) -> Pads:
    if isinstance(pad, SamePad) or pad is SamePad:
        return tuple(((size - 1) - (size - 1) // 2, (size - 1) // 2) for size in extent)
    dims = len(extent)
    if isinstance(pad, (tuple, list)) and len(pad) == 2 * dims:
        flat = each_axis(what, pad, 2 * dims, 0)
        return tuple(zip(flat[::2], flat[1::2]))
    return tuple((size, size) for size in each_axis(what, pad, dims, 0))


def option(name: str, values: tuple, usual: Any) -> str:
    """How a layer's text names one of its settings; one number if it's the same for all axes."""
    if values and type(values[0]) is tuple:
        symmetric = all(before == after for before, after in values)
        values = tuple(before for before, _ in values) if symmetric else tuple(size for pair in values for size in pair)
    same = all(value == values[0] for value in values)
    return "" if values == usual or same and values[0] == usual else f", {name}={values[0] if same else values}"


def check_shape(layer: Layer, x: Any, dims: int | None = None, features: int | None = None) -> None:
    shape = x.shape
    dims = max(len(shape), 3) - 2 if dims is None else dims
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
