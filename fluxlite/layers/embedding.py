"""`Embedding`: for each number of a vocabulary, a row of features."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments import check_whole, explained
from ..arrays import astype, device_of, getitem, on_card_of, on_device_of
from ..autodiff.tracked import plain
from ..errors import LayerError, apart
from ..seeds import WEIGHTS, next_generator
from ..tree.ties import is_array
from ..tree.walks import Attribute, KeyPath
from .dense import product
from .initializers import start
from .inputs import check_array
from .layer import Layer, layer_call, layer_class


def normal(*shape: int, rng: np.random.Generator | None = None) -> Any:
    """Normal numbers with mean 0 and deviation 1, Float32, on the CPU."""
    return (next_generator(WEIGHTS) if rng is None else rng).standard_normal(shape, dtype=np.float32)


@layer_class
class Embedding(Layer):
    """For each number of a vocabulary, a row of features that are learned: ``weight[x]`` (Flux: ``Embedding``).

    ``Embedding(vocabulary, features)`` starts with normal numbers. `weight` has shape ``(vocabulary, features)``. `x`
    holds whole numbers from 0 to ``vocabulary - 1``, in any shape; the result has that shape and the features behind
    it. One-hot rows, of shape ``(…, vocabulary)``, work too: floating-point numbers are read as such. On a GPU, a
    number that isn't in the vocabulary wraps around, as all indices do there.

    >>> Embedding.of(np.array([[0.0, 0.5], [1.0, 1.5], [2.0, 2.5]]))(np.array([2, 0]))
    array([[2. , 2.5],
           [0. , 0.5]])
    """

    weight: Any

    @explained()
    def __init__(
        self, vocabulary: int, features: int, *, init: Callable = normal, rng: np.random.Generator | None = None
    ):
        check_whole("Embedding(vocabulary)", vocabulary)
        check_whole("Embedding(features)", features)
        self.weight = start(init, int(vocabulary), int(features), rng, layer="Embedding")

    @classmethod
    @explained()
    def of(cls, weight: Any) -> "Embedding":
        """A layer made of this array, of shape ``(vocabulary, features)``."""
        layer = object.__new__(cls)
        layer.weight = check_array("Embedding.of: weight", weight, "vocabulary", "features")
        return layer

    @layer_call
    def __call__(self, x: Any) -> Any:
        with on_card_of(self.weight):  # where a list goes, too
            numbers, weight = plain(x), plain(self.weight)
            if isinstance(numbers, (list, tuple)):
                numbers = np.asarray(numbers)
                x = numbers = on_device_of(weight, numbers if numbers.size else numbers.astype(np.int64))
            elif is_array(numbers) and device_of(numbers) != device_of(weight):  # CuPy would copy a host's index
                raise apart(KeyPath((Attribute("weight"),)), device_of(weight), device_of(numbers))
            if type(numbers) is not int and numbers.dtype.kind in "fb":  # one-hot rows
                return product(astype(x, self.weight.dtype), self.weight)
            self._check_known(numbers)
            return getitem(self.weight, numbers)

    def _check_known(self, numbers: Any) -> None:
        """NumPy takes a negative number for one from the end. What is on a GPU isn't looked at: that would wait."""
        if isinstance(numbers, (np.ndarray, np.integer, int)) and np.size(numbers):
            low, high, count = np.min(numbers), np.max(numbers), self.weight.shape[0]
            if low < 0 or high >= count:
                knows = f"knows the numbers 0 to {count - 1}, got {low if low < 0 else high}"
                raise UnknownError(KeyPath(), f"{self._name()} {knows}")

    def _sizes(self) -> str:
        return "{} => {}".format(*self.weight.shape)


class UnknownError(LayerError, IndexError):
    """A number isn't in the vocabulary."""
