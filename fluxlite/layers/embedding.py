"""`Embedding`: for each number of a vocabulary, a row of features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import device_of, getitem
from ..autodiff.tracked import plain
from ..errors import DeviceError, InputError, LayerError, ShapeError, left_over
from ..seeds import WEIGHTS, next_generator
from ..tree.contract import functor
from ..tree.ties import is_array
from ..tree.walks import Attribute, KeyPath
from .inputs import is_floating
from .printing import brief, described


def normal(*shape: int, rng: np.random.Generator | None = None) -> Any:
    """Normal numbers with mean 0 and deviation 1, Float32, on the CPU."""
    rng = next_generator(WEIGHTS) if rng is None else rng
    return rng.standard_normal(shape, dtype=np.float32)


@functor
@dataclass(eq=False, repr=False, init=False)
class Embedding:
    """For each number of a vocabulary, a row of features that are learned: ``weight[x]`` (Flux: ``Embedding``).

    ``Embedding(vocabulary, features)`` starts with normal numbers. `weight` has shape ``(vocabulary, features)``: one
    row each. `x` holds whole numbers from 0 to ``vocabulary - 1``, in any shape; the result has that shape and the
    features behind it. One-hot rows, of shape ``(…, vocabulary)``, work too: floating-point numbers are taken for such.

    Raises `IndexError` for a number that isn't in the vocabulary (on a GPU such a number wraps around, as all indices
    do there), `ValueError` for one-hot rows of another width, `TypeError` for `x` on another device.

    >>> layer = Embedding.of(np.array([[0.0, 0.5], [1.0, 1.5], [2.0, 2.5]]))
    >>> layer
    Embedding(3 => 2)      # 6 parameters
    >>> layer(np.array([2, 0]))
    array([[2. , 2.5],
           [0. , 0.5]])
    """

    weight: Any

    def __init__(
        self, vocabulary: int, features: int, *, init: Callable = normal, rng: np.random.Generator | None = None
    ) -> None:
        for what, size in (("vocabulary", vocabulary), ("features", features)):
            if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 0:
                hint = "; for an array there is Embedding.of(weight)" if is_array(size) else ""
                raise TypeError(f"Embedding({what}) is a count, 0 or more, got {brief(size)}{hint}")
        weight = init(int(vocabulary), int(features), **({} if rng is None else {"rng": rng}))
        layer = self.of(weight.astype(np.float32) if getattr(weight, "dtype", None) == np.float64 else weight)
        if layer.weight.shape != (vocabulary, features):
            raise ValueError(f"Embedding(init=…) gives shape {(vocabulary, features)}, got {layer.weight.shape}")
        self.weight = layer.weight

    @classmethod
    def of(cls, weight: Any) -> Embedding:
        """A layer made of this array, of shape ``(vocabulary, features)``.

        >>> Embedding.of(np.eye(3))([1, 1])
        array([[0., 1., 0.],
               [0., 1., 0.]])
        """
        if not is_array(plain(weight)) or not is_floating(weight) or len(weight.shape) != 2:
            raise TypeError(f"Embedding.of: weight is floating-point, (vocabulary, features), got {brief(weight)}")
        layer = object.__new__(cls)
        layer.weight = weight
        return layer

    def __call__(self, x: Any) -> Any:
        try:
            return self._rows(x)
        except RuntimeError as error:
            why = left_over(self)
            if why is None:
                raise
            raise why from error

    def _rows(self, x: Any) -> Any:
        values = plain(x)
        if isinstance(values, (int, list, tuple)):
            x = values = np.asarray(values, None if np.size(values) else np.int64)
        if not is_array(values) and not isinstance(values, np.integer):
            raise InputError(KeyPath(), f"{self._name()} takes whole numbers, got {brief(values)}")
        on, place = device_of(plain(self.weight)), device_of(np.asarray(values) if values.ndim == 0 else values)
        if on != place and is_array(values) and values.ndim:
            what = f"is on {on}, the input is on {place}; move one of them: x = device(x)"
            raise DeviceError(KeyPath((Attribute("weight"),)), what)
        if values.dtype.kind == "f" or values.dtype.kind == "b":
            return self._of_onehots(x, values)
        if values.dtype.kind not in "iu":
            raise InputError(KeyPath(), f"{self._name()} takes whole numbers, got {values.dtype.name}")
        if isinstance(values, (np.ndarray, np.integer)) and values.size and not self._are_known(values):
            what = f"{self._name()} knows the numbers 0 to {self.weight.shape[0] - 1}"
            raise UnknownError(KeyPath(), f"{what}, got {values.min()} to {values.max()}")
        return getitem(self.weight, values)

    def _are_known(self, numbers: Any) -> bool:
        return numbers.min() >= 0 and numbers.max() < self.weight.shape[0]

    def _of_onehots(self, x: Any, values: Any) -> Any:
        if values.shape[-1:] != self.weight.shape[:1]:
            what = f"{self._name()} takes whole numbers, or one-hot rows of shape (…, {self.weight.shape[0]})"
            raise ShapeError(KeyPath(), f"{what}; got {values.dtype.name} of shape {values.shape}")
        return (x if values.dtype.kind == "f" else values.astype(self.weight.dtype)) @ self.weight

    def _name(self) -> str:
        return "Embedding({} => {})".format(*self.weight.shape)

    def __repr__(self) -> str:
        return described(self)

    def _call(self) -> str:
        return self._name() if len(getattr(self.weight, "shape", ())) == 2 else f"Embedding.of({self.weight!r})"


class UnknownError(LayerError, IndexError):
    """A number isn't in the vocabulary."""
