"""All that an array library of one's own needs of fluxlite. MLX's, in ``metal/``, takes nothing else.

A program outside of fluxlite imports it from here, too: ``from fluxlite.devices.plugin import ArrayKind, register``.
How it's done is in docs/adding.md, under "An array library".
"""

from ..array_kinds import ArrayKind, register
from ..autodiff.rules import COMPOSED, load_rarer
from ..autodiff.tracked import ArrayMethods
from .base import (
    DEVICE_TO_DEVICE,
    DEVICE_TO_HOST,
    GPU,
    HOST_TO_DEVICE,
    SYNCHRONIZE,
    Device,
    Functional,
    Memory,
    tell,
)
from .simulated import COMPARISONS, SCALARS, CountedGenerator, HostReads, ScalarReads, one_number, refusal

__all__ = [
    "ArrayKind", "register",  # the record, and where it goes
    "Device", "GPU", "Memory", "Functional",  # the device, and whether there's one
    "ArrayMethods", "HostReads", "ScalarReads", "CountedGenerator",  # what an array, a device, a generator is made with
    "tell", "HOST_TO_DEVICE", "DEVICE_TO_HOST", "DEVICE_TO_DEVICE", "SYNCHRONIZE",  # what receipts hear of
    "COMPARISONS", "SCALARS", "one_number", "refusal",  # the rules of a GPU, and what it says if they're broken
    "COMPOSED", "load_rarer",  # NumPy's functions that are composed of others
]  # fmt: skip
