"""`Conv` and its kin, whose weights slide over pictures and sequences; and what `pooling.py` shares with them."""

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from ..autodiff.derivatives.windows import Windows, convolve, convolve_back
from ..messages import ShapeError, check_whole, explained, in_words
from ..tree.walks import KeyPath
from .layer import Layer, activated, check_activation, check_array, glorot_uniform, identity, layer_call, layer_class

from .layer import matching, no_array, start, taken  # isort: skip
from .printing import settings

Pads = tuple[tuple[int, int], ...]


class SamePad:
    """Padding that keeps the size, or the size divided by the stride, rounded up (Flux: ``SamePad``).

    A `ConvTranspose` makes its input larger by the stride. Where the padding is odd, there's one more in front.
    """

    def __repr__(self) -> str:
        return "SamePad()"


@layer_class(children=("weight", "bias", "activation"))
class Conv(Layer):
    """A convolution: each window's products with the weights, summed, then bias and activation (Flux: ``Conv``).

    ``Conv((3, 3), inputs, outputs, activation)`` takes pictures of shape ``(N, H, W, inputs)`` and gives
    ``(N, …, …, outputs)``; ``Conv((3,), …)`` takes sequences, ``(N, T, inputs)``. `weight` has shape
    ``(*kernel, inputs / groups, outputs)``, as in Flux, whose pictures are ``(W, H, inputs, N)``; PyTorch's is
    ``(outputs, inputs / groups, *kernel)``. As in Flux, the kernel is flipped; `CrossCor` doesn't flip it.

    `stride`, `dilation` and `pad` are a number, or one for each axis; a `pad` of twice as many numbers is before and
    after for each axis; ``pad=SamePad()`` keeps the size. `groups` cuts the features into parts that don't see each
    other. `bias`, `init` and `rng` are those of `Dense`. `Conv.of` takes arrays.
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

    @explained()
    def __init__(
        self, kernel: tuple[int, ...], inputs: int, outputs: int, activation: Callable = identity, *,
        stride: int | tuple[int, ...] = 1, pad: int | tuple[int, ...] | SamePad = 0,
        dilation: int | tuple[int, ...] = 1, groups: int = 1, bias: bool = True, init: Callable = glorot_uniform,
        rng: np.random.Generator | None = None,
    ):  # fmt: skip
        name = type(self).__name__
        kernel = window_size(f"{name}(kernel)", kernel)
        if inputs % groups or outputs % groups:
            raise ValueError(f"{name}: inputs and outputs are multiples of groups={groups}, got {inputs} and {outputs}")
        before, after = (outputs, inputs) if self._back else (inputs, outputs)
        drawn = start(init, index(after), index(before // groups), rng, window=kernel, layer=name)
        self.weight = np.copy(np.moveaxis(drawn, (1, 0), (-2, -1)), order="C")
        self.bias = np.zeros_like(self.weight, shape=(outputs,)) if bias else None
        self._set(activation, stride, pad, dilation, groups)

    @classmethod
    @explained()
    def of(cls, weight: Any, bias: Any = None, activation: Callable = identity, *, stride: Any = 1, pad: Any = 0,
           dilation: Any = 1, groups: int = 1) -> Any:  # fmt: skip
        """A layer made of these arrays: `weight` of shape ``(*kernel, inputs / groups, outputs)``, `bias` or None."""
        layer = object.__new__(cls)
        kernel = ["kernel"] * max(getattr(weight, "ndim", 0) - 2, 1)
        layer.weight = check_array(f"{cls.__name__}.of: weight", weight, *kernel, "inputs", "outputs")
        layer._set(activation, stride, pad, dilation, groups)
        layer.bias = matching(cls.__name__, weight, bias, layer._features()[1])
        return layer

    def _set(self, activation: Callable, stride: Any, pad: Any, dilation: Any, groups: int) -> None:
        name, dims = type(self).__name__, self.weight.ndim - 2
        self.activation, self.groups = check_activation(name, activation), groups
        self.stride = each_axis(f"{name}'s stride", stride, dims)
        self.dilation = each_axis(f"{name}'s dilation", dilation, dims)
        self.pad = pads_of(f"{name}'s pad", pad, self._padded_extent())

    @layer_call
    def __call__(self, x: Any) -> Any:
        inputs, _ = self._features()
        check_shape(self, x, len(self.stride), inputs)
        x = taken(self, self.weight, x)
        dims = len(self.stride)
        at = Windows(self.weight.shape[:dims], self.stride, self.pad, self.dilation, self.groups)
        kernel = np.flip(self.weight, tuple(range(dims))) if self._flips else self.weight
        return activated(self.activation, self._windows_of(x, kernel, at), self.bias)

    def _windows_of(self, x: Any, kernel: Any, at: Windows) -> Any:
        check_places(self, x, at.places(x.shape[1:-1]), at.extent())
        return convolve(x, kernel, at)

    def _padded_extent(self) -> tuple[int, ...]:
        """The extent of the windows that SamePad makes up for."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.weight.shape, self.dilation))

    def _features(self) -> tuple[int, int]:
        """The numbers of inputs and of outputs."""
        *_, before, after = self.weight.shape
        return (after, before * self.groups) if self._back else (before * self.groups, after)

    def _sizes(self) -> str:
        return "{}, {} => {}".format(self.weight.shape[:-2], *self._features())

    def _options(self) -> str:
        windows = option("pad", self.pad, 0) + option("stride", self.stride, 1) + option("dilation", self.dilation, 1)
        groups = option("groups", (self.groups,), 1)
        return f"{settings(self.activation)}{windows}{groups}{settings(bias=self.bias is not None)}"


class CrossCor(Conv):
    """`Conv` without flipping the kernel: what PyTorch and Keras call convolution (Flux: ``CrossCor``).

    A PyTorch layer's weights fit after ``np.transpose(weight, (2, 3, 1, 0))``.
    """

    _flips = False


@layer_class(children=("weight", "bias", "activation"))
class ConvTranspose(Conv):
    """The way back of a `Conv`: each element is spread over a window (Flux: ``ConvTranspose``).

    With a stride, pictures grow: a length L becomes ``(L - 1) * stride + (kernel - 1) * dilation + 1`` minus the
    padding, plus `outpad`, one number or one for each axis. `weight` has shape ``(*kernel, outputs / groups, inputs)``.
    All else is as in `Conv`; the kernel is the flipped one of `Conv`, as in Flux, so PyTorch's has to be flipped.
    """

    outpad: tuple[int, ...]

    _back = True

    @explained()
    def __init__(
        self, kernel: tuple[int, ...], inputs: int, outputs: int, activation: Callable = identity, *,
        outpad: int | tuple[int, ...] = 0, **settings: Any,
    ):  # fmt: skip
        super().__init__(kernel, inputs, outputs, activation, **settings)
        self._set_outpad(outpad)

    @classmethod
    @explained()
    def of(cls, weight: Any, bias: Any = None, activation: Callable = identity, *, outpad: Any = 0,
           **settings: Any) -> Any:  # fmt: skip
        """A layer made of these arrays: `weight` of shape ``(*kernel, outputs / groups, inputs)``, `bias` or None."""
        layer = super().of(weight, bias, activation, **settings)
        layer._set_outpad(outpad)
        return layer

    def _set_outpad(self, outpad: Any) -> None:
        self.outpad = each_axis("ConvTranspose's outpad", outpad, len(self.stride), 0)
        if any(more >= stride for more, stride in zip(self.outpad, self.stride) if more):
            raise ValueError(f"ConvTranspose's outpad is less than the stride, {self.stride}, got {outpad}")

    def _windows_of(self, x: Any, kernel: Any, at: Windows) -> Any:
        lengths = zip(x.shape[1:-1], at.stride, at.extent(), at.pad, self.outpad)
        space = tuple((n - 1) * stride + extent - sum(pad) + more for n, stride, extent, pad, more in lengths)
        check_places(self, x, space, at.extent())
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


def window_size(what: str, size: Any) -> tuple[int, ...]:
    """The size of the windows, as a tuple."""
    if not isinstance(size, (tuple, list)) or not size:
        raise TypeError(f"{what} is (3, 3) for pictures or (3,) for sequences, got {in_words(size)}")
    return each_axis(what, size, len(size))


def each_axis(what: str, value: Any, dims: int, least: int = 1) -> tuple[int, ...]:
    """`value` for each of `dims` axes: a number counts for all."""
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,) * dims
    for number in values:
        check_whole(what, number, least)
    if len(values) != dims:
        raise ValueError(f"{what} is a number, or {dims}, one for each axis of the window, got {value!r}")
    return tuple(map(int, values))


def pads_of(what: str, pad: Any, extent: tuple[int, ...]) -> Pads:
    """The padding before and after, for each axis of windows of this `extent`."""
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


_KINDS = {1: ("sequences", "sequence", "T"), 2: ("pictures", "picture", "H, W")}


def check_shape(layer: Any, x: Any, dims: int | None = None, features: int | None = None) -> None:
    """Raise `InputError` for what is no array, `ShapeError` for one of other axes or other features."""
    shape = getattr(x, "shape", None)
    if shape is None:
        raise no_array(layer, x)
    dims = max(len(shape), 3) - 2 if dims is None else dims
    if len(shape) == dims + 2 and (features is None or shape[-1] == features):
        return
    many, one, axes = _KINDS.get(dims, ("arrays", "array", ", ".join(f"size{i}" for i in range(dims))))
    last = "features" if features is None else features
    hint = ""
    if len(shape) == dims + 2 and shape[1] == features:
        hint = f"; this looks like (N, C, {axes}): np.moveaxis(x, 1, -1) puts the features last"
    elif len(shape) == dims + 1 and features in (None, shape[-1]):
        hint = f"; one {one} alone is x[None]"
    elif len(shape) == dims + 1 and features == 1:
        hint = "; x[..., None] has an axis for the one feature"
    raise ShapeError(KeyPath(), f"{layer._name()} takes {many} of shape (N, {axes}, {last}), got shape {shape}{hint}")


def check_places(layer: Any, x: Any, places: tuple[int, ...], extent: tuple[int, ...]) -> None:
    """Raise `ShapeError` if not even one window fits into `x`."""
    if any(count < 1 for count in places):
        what = f"no window of {extent} fits into {x.shape[1:-1]}, of an input of shape {x.shape}; pad it"
        raise ShapeError(KeyPath(), f"{layer._name()}: {what}")
