"""``x.flat``: the elements of an array one after the other, row by row, whatever its shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from .indexing import array_of, in_numbers


class Flat:
    """Each read is a copy, by a kernel: ``for v in x.flat`` launches one per element, ``for v in x.ravel()`` none."""

    def __init__(self, base: Any) -> None:
        self.base = base
        self._next = 0

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Flat:
        return self

    def __next__(self) -> Any:
        if self._next >= len(self):
            raise StopIteration
        self._next += 1
        return self[self._next - 1]

    def copy(self) -> Any:
        return self.base.flatten()

    def __getitem__(self, index: Any) -> Any:
        place, x = self._place(index), self.base
        if type(place) is tuple:
            return x[place].copy()
        device = x.device.begin()
        values = x._values.flat[place]
        device.launch("flat", 2 * values.nbytes)
        return device.new(values)

    def __setitem__(self, index: Any, value: Any) -> None:
        place, x = self._place(index), self.base
        if type(place) is tuple:
            x[place] = value
            return
        device = x.device.begin()
        value = array_of(device, value, x.dtype)
        if device.instead is None:
            x._values.flat[place] = value._values
        device.launch("flat", 2 * x._values.itemsize * len(range(*place.indices(x.size))))

    def _place(self, index: Any) -> Any:
        """A slice as it is; a number as a place in the array. CuPy takes nothing else."""
        if index is Ellipsis or isinstance(index, slice):
            return slice(None) if index is Ellipsis else in_numbers(index)
        if isinstance(index, bool) or not isinstance(index, (int, np.integer)):
            raise IndexError(f"x.flat takes a whole number or a slice on a GPU, got {type(index).__name__}")
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} is out of range: x.flat has {len(self)} elements")
        return np.unravel_index(index % len(self), self.base.shape)
