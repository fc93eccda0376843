"""What notebooks add to the library: pictures with words, a timeline to browse, and ``%device_time``."""

from typing import Any

from ..messages import ipython
from ..pictures import BLUE, GREEN, GREY, ORANGE, look, plots, projector, show
from .drawing import trees
from .timeline_viewer import timeline
from .two_boxes import boxes, host_and_device
from .warps import warp, warp_picture

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "ORANGE",
    "boxes",
    "host_and_device",
    "look",
    "plots",
    "projector",
    "show",
    "timeline",
    "trees",
    "warp",
    "warp_picture",
]


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext fluxlite.jupyter`` calls this. It adds ``%device_time``."""
    from .magics import DeviceMagics

    shell.register_magics(DeviceMagics)


def _load_here() -> None:
    """In a notebook, importing this is enough. Elsewhere we don't even look for IPython."""
    shell = ipython()
    if shell is not None:
        load_ipython_extension(shell)


_load_here()
