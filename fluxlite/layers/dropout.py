"""`Dropout`: in training, some numbers become 0, at random."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import check_number, explained
from ..arrays import device_of, on_device_of
from ..autodiff.tracked import plain
from ..tree.contract import functor
from .layer import Layer, layer_call


@functor(trainable=())
@dataclass(eq=False, repr=False, init=False)
class Dropout(Layer):
    """In training, each number becomes 0 with probability `p`, else ``x / (1 - p)`` (Flux: ``Dropout``).

    So the mean stays what it is, and in a test nothing happens. It's training inside `gradient`; more is at `testmode`.
    With `dims`, an axis or several, the drawn numbers differ along these axes only:
    ``dims=(0, -1)`` drops whole channels of pictures of shape ``(N, H, W, C)``. `x` has any shape.

    The numbers are drawn by the generator of the device where `x` is, which `fluxlite.seed` starts. With `rng`, NumPy
    draws them on the CPU, and they're copied.

    >>> layer = Dropout(0.5, rng=np.random.default_rng(0))
    >>> layer(np.ones(6))
    array([1., 1., 1., 1., 1., 1.])
    >>> fl.trainmode(layer)(np.ones(6))
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
