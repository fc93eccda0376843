"""Reading a device array's values on the host, explicitly or as a side effect. The program waits for the device."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .scalars import scalar_read


class HostReads:
    """For our own array types, whose ``device`` can copy out. Receipts hear of each read."""

    __slots__ = ()

    device: Any
    size: Any

    def get(self) -> np.ndarray:
        """A copy on the host, as a NumPy array, like ``cpu(x)``."""
        return self.device.copy_out(self)

    def _on_host(self, name: str) -> np.ndarray:
        """A copy on the host that the program didn't ask for explicitly."""
        scalar_read(name, self.device)
        return self.device.copy_out(self, name, explicit=False)

    def item(self, *args: int) -> Any:
        one = self[args] if args else self  # type: ignore[index]
        return one._on_host("item").item()

    def tolist(self) -> Any:
        return self._on_host("tolist").tolist()

    def __bool__(self) -> bool:
        if self.size == 0:  # as CuPy's _core/core.pyx:1530
            warnings.warn("no elements are neither true nor false: use x.size > 0", DeprecationWarning, stacklevel=2)
            return False
        if self.size > 1:
            raise ValueError("the truth value of an array with several elements is ambiguous: use a.any() or a.all()")
        return bool(self._on_host("bool"))

    def __int__(self) -> int:
        return int(self._on_host("int"))

    def __float__(self) -> float:
        return float(self._on_host("float"))

    def __complex__(self) -> complex:
        return complex(self._on_host("complex"))

    def __repr__(self) -> str:
        return f"{self._on_host('repr')!r}  # {self.device}"

    def __str__(self) -> str:
        return str(self._on_host("str"))

    def __format__(self, spec: str) -> str:
        return format(self._on_host("format"), spec)
