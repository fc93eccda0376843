"""Reading a device array's values on the host, explicitly or as a side effect. The program waits for the device."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np

from .words import in_words


def _converted_to(kind: type) -> Any:
    return lambda self: kind(self._on_host(kind.__name__))


class HostReads:
    """For our own array types, whose ``device`` can copy out. Receipts hear of each read."""

    __slots__ = ()
    device: Any
    size: Any
    flags: Any
    copy: Any

    def get(self, stream: Any = None, order: str = "C", out: Any = None, blocking: bool = True) -> np.ndarray:
        """A copy on the host, as a NumPy array, like ``cupy.asnumpy(x)``: row by row, or as `order` says, or in `out`.

        There's one stream, and a copy to ordinary memory blocks in any case, so `stream` and `blocking` change nothing.
        """
        order = order.upper()
        if out is not None:
            check_host("x.get(out=…)", self, out)
            order = "C" if out.flags.c_contiguous else "F"
            if not out.flags.forc:
                raise RuntimeError("x.get(out=…) takes an array that lies in one piece, got a part of another")
        elif order == "A":
            order = "F" if self.flags.f_contiguous else "C"
        lies_so = self.flags.c_contiguous if order == "C" else self.flags.f_contiguous
        values = self.device.copy_out(self if lies_so else self.copy(order))
        if out is None:
            return values
        out[...] = values
        return out

    def _on_host(self, name: str) -> np.ndarray:
        """A copy on the host that the program didn't ask for explicitly."""
        self.device._reads(name)
        return self.device.copy_out(self, name, explicit=False)

    __int__, __float__, __complex__, __str__ = map(_converted_to, (int, float, complex, str))

    def item(self) -> Any:
        return self._on_host("item").item()

    def tolist(self) -> Any:
        return self._on_host("tolist").tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        return self._on_host("tobytes").tobytes(order)

    __bytes__ = tobytes

    def tofile(self, fid: Any, sep: str = "", format: str = "%s") -> None:
        self._on_host("tofile").tofile(fid, sep, format)

    def dump(self, file: Any) -> None:
        pickle.dump(self, file, -1)

    def dumps(self) -> bytes:
        return pickle.dumps(self, -1)

    def __bool__(self) -> bool:
        if self.size == 0:  # as CuPy's _core/core.pyx:1530
            warnings.warn("no elements are neither true nor false: use x.size > 0", DeprecationWarning, stacklevel=2)
            return False
        if self.size > 1:
            raise ValueError("the truth value of an array with several elements is ambiguous: use a.any() or a.all()")
        return bool(self._on_host("bool"))

    def __repr__(self) -> str:
        return f"{self._on_host('repr')!r}  # {self.device}"

    def __format__(self, spec: str) -> str:
        return format(self._on_host("format"), spec)


def check_host(name: str, x: Any, host: Any) -> None:
    """Raises `TypeError` or `ValueError` if `host` is no host array of the same type and shape as `x`."""
    wanted = f"{name} takes a NumPy array of {x.dtype}, shape {x.shape}, got {in_words(host)}"
    if hasattr(host, "device") and not isinstance(host, np.ndarray):
        wanted += f", on {host.device}"
    if not isinstance(host, np.ndarray) or host.dtype != x.dtype:
        raise TypeError(wanted)
    if host.shape != x.shape:
        raise ValueError(wanted)
