"""`Dropout`: in training, some numbers become 0, at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import device_of, on_device_of
from ..autodiff.tracked import plain
from ..errors import InputError
from ..tree.contract import functor
from ..tree.ties import is_array
from ..tree.walks import KeyPath
from .layer import Layer, on_its_card
from .printing import brief


def check_share(what: str, p: Any) -> None:
    """Raises `TypeError` for what is no number, `ValueError` for one that isn't from 0 to 1."""
    if isinstance(p, bool) or not isinstance(p, (int, float, np.integer, np.floating)):
        raise TypeError(f"{what} is a probability, got {brief(p)}")
    if not 0 <= p <= 1:
        raise ValueError(f"{what} is a probability, 0 to 1, got {p}")


@functor(trainable=())
@dataclass(eq=False, repr=False, init=False)
class Dropout(Layer):
    """In training, each number becomes 0 with probability `p`, else ``x / (1 - p)`` (Flux: ``Dropout``).

    So the mean stays what it is, and in a test nothing happens. It's training inside `gradient`; more is at `testmode`.
    With `dims`, an axis or several, the drawn numbers differ along these axes only:
    ``dims=(0, -1)`` drops whole channels of pictures of shape ``(N, H, W, C)``. `x` has any shape.

    The numbers are drawn by the generator of the device where `x` is, which `fluxlite.seed` starts. With `rng`, NumPy
    draws them on the CPU, and they're copied.

    Raises `ValueError` for a probability that isn't between 0 and 1, and for an axis that `x` lacks, `TypeError` for
    what isn't an array of floating-point numbers.

    >>> layer = Dropout(0.5, rng=np.random.default_rng(0))
    >>> layer(np.ones(6))
    array([1., 1., 1., 1., 1., 1.])
    >>> fl.trainmode(layer)(np.ones(6))
    array([2., 2., 2., 0., 0., 0.])
    """

    rng: Any  # in the tree, so that its state is saved

    active = None

    def __init__(self, p: float, *, dims: int | tuple[int, ...] | None = None, rng: Any = None) -> None:
        check_share("Dropout(p): p", p)
        self.p = float(p)
        self.dims = dims if dims is None or isinstance(dims, int) else tuple(dims)
        self.rng = rng

    @on_its_card
    def __call__(self, x: Any) -> Any:
        if not self.active or self.p == 0:
            return x
        values = plain(x)
        if not is_array(values) or values.dtype.kind != "f" and values.dtype.name != "bfloat16":
            got = f"an array of {values.dtype}" if is_array(values) else f"a {type(values).__name__}"
            raise InputError(KeyPath(), f"{self!r} takes an array of floating-point numbers, got {got}")
        return x * self._factors(values)

    def _factors(self, x: Any) -> Any:
        """0 or ``1 / (1 - p)`` for each number, in the type of `x` and where `x` is."""
        shape = x.shape
        if self.dims is not None:
            axes = np.lib.array_utils.normalize_axis_tuple(self.dims, x.ndim, "dims")
            shape = tuple(length if i in axes else 1 for i, length in enumerate(shape))
        generator = device_of(x).rng if self.rng is None else self.rng
        drawn = on_device_of(x, generator.random(shape, dtype=np.float32))
        scale = 1 / (1 - self.p) if self.p < 1 else 0.0
        return (drawn >= self.p).astype(x.dtype) * scale

    def _call(self) -> str:
        return f"Dropout({self.p:g}{'' if self.dims is None else f', dims={self.dims}'})"
