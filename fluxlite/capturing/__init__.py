"""Record once, replay: `captured` makes one order of a whole step. Read it in this order.

1. ``program.py``: the notes of one run, call by call. ``memory.py``: whose an array's memory is. ``undoing.py``: how
   all is put back. ``functions.py``: what's known of NumPy's functions.
2. ``recorded.py``: the array that notes the calls it's used in.
3. ``signature.py``: what a step is called with; ``results.py``: what it gives back.
4. ``places.py``: where those arrays stand meanwhile, and what's guarded; ``search.py`` finds what a step reaches.
5. ``recording.py``: a run. ``agreement.py``: whether two of them did the same, and ``terms.py``: whether constants are;
   ``overlaps.py``: memory with two names.
6. ``plan.py``: from notes to a function, with ``liveness.py``, ``layout.py``, ``writer.py`` and ``guards.py``;
   ``interrupts.py``: what's left to do after Ctrl-C. ``on_device.py``: the same on a GPU, where a replay is one order.
7. ``step.py``: what the user calls. ``optimizing.py``: rates and counts; ``checking.py``: ``check=``.

What the rest of fluxlite does for it, a line each:

- `take_steps` of optim/update.py hands a captured parameter's step to ``ArrayKind.take_step``: `take_captured_step`.
- `NUMBER_TYPES` of optim/rules.py gets the type of a rule's number that each replay reads.
- `drawn_like` of arrays.py, through which `Dropout` draws, asks ``ArrayKind.draw``: `draw_like`.
- `is_plain` of array_kinds.py, which derivatives ask that are quicker on the host, says yes to a captured array there.
- `train` of training/loop.py, called with ``captured=True``, captures its step.
- A device that launches graphs says so in ``ArrayKind.graph``: `Order` of devices/graphs.py.
"""

from typing import Any

from ..array_kinds import ArrayKind, register
from ..arrays import add_at_on_the_host
from ..devices.base import CPU
from . import on_device as on_device  # which registers its arrays
from .optimizing import take_captured_step
from .program import CaptureError
from .recorded import CapturedArray, draw_like
from .step import CapturedStep, captured

__all__ = ["CaptureError", "CapturedStep", "captured"]


def _device_of(x: CapturedArray) -> Any:
    return CPU


def _address(x: CapturedArray) -> int:
    return x.value.__array_interface__["data"][0]


register(
    CapturedArray,
    ArrayKind(
        device_of=_device_of,
        address=_address,
        add_at=add_at_on_the_host,
        can_freeze=True,
        is_plain=True,
        take_step=take_captured_step,
        draw=draw_like,
    ),
)
