"""Record once, replay: `captured` makes one order of a whole step. Read it in this order.

1. ``program.py``: the notes of one run, call by call.
2. ``recorded.py``: the array that notes the calls it's used in.
3. ``places.py``: what a step can reach, where those arrays stand meanwhile, and what's guarded.
4. ``recording.py``, ``agreement.py``: a run, and whether two of them did the same.
5. ``plan.py``: from notes to a function.
6. ``signature.py``, ``step.py``: what the user calls. ``optimizing.py``: rates and counts; ``checking.py``: ``check=``.

What the rest of fluxlite does for it, a line each:

- `take_steps` in optim/update.py hands a captured parameter's step to `take_captured_step`.
- `Dropout` and `rrelu` draw through `drawn_like`, which a captured array answers with its program's `draw`.
- `train(captured=True)` captures its step.
- Derivatives that are quicker for plain arrays ask `is_plain`, and a captured array is one.
"""

from ..arrays import device_of, own_draws, own_steps, plain_types, read_only_types
from ..devices.base import CPU
from ..tree.ties import address
from .optimizing import take_captured_step
from .program import CaptureError
from .recorded import CapturedArray, draw_like
from .step import CapturedStep, captured

__all__ = ["CaptureError", "CapturedStep", "captured"]

address.register(CapturedArray, lambda x: x.value.__array_interface__["data"][0])
device_of.register(CapturedArray, lambda x: CPU)
read_only_types.add(CapturedArray)
plain_types.add(CapturedArray)
own_steps[CapturedArray] = take_captured_step
own_draws[CapturedArray] = draw_like
