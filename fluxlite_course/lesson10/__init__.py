"""What notebook 10, sequences, uses: from the kit, and what only this lesson has."""

from .. import answer, check, guess, start, todo
from .pictures import an_lstm_step, left_picture, temperatures
from .sequences import error_after, gap_picture, story_batches, write

__all__ = ["an_lstm_step", "answer", "check", "error_after", "gap_picture", "guess", "left_picture", "start",
           "story_batches", "temperatures", "todo", "write"]  # fmt: skip
