"""What notebook 04, the sine-wave RNN, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import answer, check, expect_error, guess, start, todo
from ..draw.falling import falling
from .network import memories, playground, rnn_demo, unrolled
from .pictures import by_seed, pairs, predicted, reaching_back, trained

__all__ = [
    "answer", "by_seed", "check", "expect_error", "falling", "guess", "memories", "pairs", "playground",
    "predicted", "reaching_back", "rnn_demo", "start", "todo", "trained", "unrolled",
]  # fmt: skip
