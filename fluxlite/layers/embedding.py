"""`Embedding`: for each number of a vocabulary, a row of features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import in_words
from ..arrays import astype, device_of, getitem, on_card_of, on_device_of
from ..autodiff.tracked import plain
from ..errors import InputError, LayerError, ShapeError, apart, left_over
from ..seeds import WEIGHTS, next_generator
from ..tree.contract import functor
from ..tree.ties import is_array
from ..tree.walks import Attribute, KeyPath
from .dense import product
from .initializers import start
from .inputs import is_floating
from .layer import Layer, on_its_card
from .printing import brief


def normal(*shape: int, rng: np.random.Generator | None = None) -> Any:
    """Normal numbers with mean 0 and deviation 1, Float32, on the CPU."""
    rng = next_generator(WEIGHTS) if rng is None else rng
    return rng.standard_normal(shape, dtype=np.float32)


@functor
@dataclass(eq=False, repr=False, init=False)
class Embedding(Layer):
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
        self.weight = start(init, int(vocabulary), int(features), rng, layer="Embedding")

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

    @on_its_card
    def __call__(self, x: Any) -> Any:
        try:
            with on_card_of(self.weight):  # where a list goes, too
                return self._rows(x)
        except RuntimeError as error:
            why = left_over(self)
            if why is None:
                raise
            raise why from error

    def _rows(self, x: Any) -> Any:
        weight, values = plain(self.weight), plain(x)
        if isinstance(values, (list, tuple)):
            x = values = on_device_of(weight, self._numbers(values))
        kind = getattr(getattr(values, "dtype", None), "kind", "i" if type(values) is int else type(values).__name__)
        if is_array(values) and device_of(values) != device_of(weight):
            raise apart(KeyPath((Attribute("weight"),)), device_of(weight), device_of(values))
        if kind in ("f", "b") and is_array(values):
            return self._of_onehots(x, values)
        if kind not in ("i", "u"):
            raise InputError(KeyPath(), f"{self._name()} takes whole numbers, got {in_words(values)}")
        self._check_known(values)
        return getitem(self.weight, values)

    def _numbers(self, x: Any) -> Any:
        try:
            numbers = np.asarray(x)
        except (ValueError, RecursionError) as error:
            raise InputError(KeyPath(), f"{self._name()} takes whole numbers, got a list of others: {error}") from None
        return numbers if numbers.size else numbers.astype(np.int64)

    def _check_known(self, numbers: Any) -> None:
        """NumPy takes a negative number for one from the end. What is on a GPU isn't looked at: that would wait."""
        if isinstance(numbers, (np.ndarray, np.integer, int)) and np.size(numbers):
            low, high, count = np.min(numbers), np.max(numbers), self.weight.shape[0]
            if low < 0 or high >= count:
                what = f"{self._name()} knows the numbers 0 to {count - 1}, got {low if low < 0 else high}"
                raise UnknownError(KeyPath(), what)

    def _of_onehots(self, x: Any, values: Any) -> Any:
        if values.shape[-1:] != self.weight.shape[:1]:
            what = f"{self._name()} takes whole numbers, or one-hot rows of shape (…, {self.weight.shape[0]})"
            raise ShapeError(KeyPath(), f"{what}; got {values.dtype.name} of shape {values.shape}")
        return product(astype(x, self.weight.dtype), self.weight)

    def _name(self) -> str:
        return "Embedding({} => {})".format(*self.weight.shape)

    def _call(self) -> str:
        return self._name() if len(getattr(self.weight, "shape", ())) == 2 else f"Embedding.of({self.weight!r})"


class UnknownError(LayerError, IndexError):
    """A number isn't in the vocabulary."""
