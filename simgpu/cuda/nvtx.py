"""CuPy's `cupy.cuda.nvtx`: marks for NVIDIA's profiler, which isn't there to listen."""

from typing import Any

from ..surface import getter, lister

available = True


def RangePush(message: str, id_color: int = -1) -> None:
    """A part of the program begins."""


def RangePop() -> None:
    """The part that began last ends."""


def Mark(message: str, id_color: int = -1) -> None:
    """A moment in the program."""


def RangePushC(message: str, color: int = 0) -> None:
    """A part of the program begins, in a color."""


def MarkC(message: str, color: int = 0) -> None:
    """A moment in the program, in a color."""


def RangeStart(message: str, id_color: int = -1) -> Any:
    """A part that may overlap others begins. Returns what `RangeEnd` takes."""
    return object()


def RangeEnd(mark: Any) -> None:
    """The part with this mark ends."""


__getattr__ = getter(__name__)
__dir__ = lister(__name__)
