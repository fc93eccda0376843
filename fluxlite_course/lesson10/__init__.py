"""What notebook 16, sequences, uses: from the kit, from `draw`, and what only this lesson has."""

from ..data import island
from ..kit.exercises import check, todo
from ..kit.guesses import answer, guess
from ..kit.starting import start
from .pictures import gap_picture, gates_picture, kept, left_picture, next_letter, temperatures

__all__ = [
    "answer", "check", "gap_picture", "gates_picture", "guess", "island", "kept", "left_picture", "next_letter",
    "start", "temperatures", "todo",
]  # fmt: skip
