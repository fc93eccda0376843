"""What notebook 10, sequences, uses: from the kit, from `draw`, and what only this lesson has."""

from .. import answer, check, guess, island, start, todo
from .pictures import gap_picture, gates_picture, kept, left_picture, temperatures

__all__ = [
    "answer", "check", "gap_picture", "gates_picture", "guess", "island", "kept", "left_picture", "start",
    "temperatures", "todo",
]  # fmt: skip
