"""What notebook 04, the sine-wave RNN, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import check, guess, start, todo
from ..draw import falling
from ..sine_wave import train_by_hand
from .network import memories, same_height, unrolled
from .waves import continued, playground, your_wave

__all__ = ["check", "continued", "falling", "guess", "memories", "playground", "same_height", "start", "todo",
           "train_by_hand", "unrolled", "your_wave"]  # fmt: skip
