"""What notebook 05, the sine-wave RNN, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import answer, check, expect_error, guess, start, todo
from ..draw.falling import falling
from .pictures import by_seed, memories, memory, pairs, playground, predicted, reaching_back, rnn_demo, trained

__all__ = [
    "answer", "by_seed", "check", "expect_error", "falling", "guess", "memories", "memory", "pairs", "playground",
    "predicted", "reaching_back", "rnn_demo", "start", "todo", "trained",
]  # fmt: skip
