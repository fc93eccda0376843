"""`Conv` and its kin: layers whose weights slide over pictures and sequences."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np

from ..activations import identity
from ..arguments import explained
from ..autodiff.derivatives.windows import Windows, convolve, convolve_back
from ..tree.contract import functor
from .activated import activated
from .initializers import glorot_uniform, start
from .inputs import check_activation, check_array, matching, taken
from .layer import Layer, layer_call
from .printing import settings
from .spatial import Pads, SamePad, check_places, check_shape, each_axis, option, pads_of, window_size


@functor(children=("weight", "bias", "activation"))
@dataclass(eq=False, repr=False, init=False)
class Conv(Layer):
    """A convolution: each window's products with the weights, summed, then bias and activation (Flux: ``Conv``).

    ``Conv((3, 3), inputs, outputs, activation)`` takes pictures of shape ``(N, H, W, inputs)`` and gives
    ``(N, …, …, outputs)``; ``Conv((3,), …)`` takes sequences, ``(N, T, inputs)``. `weight` has shape
    ``(*kernel, inputs / groups, outputs)``, as in Flux, whose pictures are ``(W, H, inputs, N)``; PyTorch's is
    ``(outputs, inputs / groups, *kernel)``. As in Flux, the kernel is flipped; `CrossCor` doesn't flip it, as PyTorch
    and Keras don't. For weights that are learned from scratch there's no difference.

    `stride`, `dilation` and `pad` are a number, or one for each axis; a `pad` of twice as many numbers is before and
    after for each axis; ``pad=SamePad()`` keeps the size. `groups` cuts the features into parts that don't see each
    other. `bias`, `init` and `rng` are those of `Dense`; ``init(outputs, inputs / groups, *kernel)`` is how init is
    called. `Conv.of` takes arrays.

    >>> layer = Conv((3, 3), 1, 16, fl.relu)
    >>> layer
    Conv((3, 3), 1 => 16, relu)      # 160 parameters
    >>> layer(np.ones((10, 28, 28, 1), np.float32)).shape
    (10, 26, 26, 16)
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
        if x.dtype is not self.weight.dtype:
            x = taken(self._name(), self.weight, x, features=inputs)
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


@functor(children=("weight", "bias", "activation"))
@dataclass(eq=False, repr=False, init=False)
class ConvTranspose(Conv):
    """The way back of a `Conv`: each element is spread over a window (Flux: ``ConvTranspose``).

    With a stride, pictures grow: a length L becomes ``(L - 1) * stride + (kernel - 1) * dilation + 1`` minus the
    padding, plus `outpad`, one number or one for each axis. `weight` has shape ``(*kernel, outputs / groups, inputs)``.
    All else is as in `Conv`; the kernel is the flipped one of `Conv`, as in Flux, so PyTorch's has to be flipped.

    >>> ConvTranspose((4, 4), 8, 3, stride=2, pad=1)(np.ones((10, 7, 7, 8), np.float32)).shape
    (10, 14, 14, 3)
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
    """A `Conv` with a group for each input feature: it sees no other (Flux: ``DepthwiseConv``).

    `outputs` is a multiple of `inputs`; all other arguments are those of `Conv`.

    >>> DepthwiseConv((3, 3), 4, 8, fl.relu)
    Conv((3, 3), 4 => 8, relu, groups=4)      # 80 parameters
    """
    return Conv(kernel, inputs, outputs, activation, groups=inputs, **settings)
