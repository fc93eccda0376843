"""Lesson 00, start here: the first check."""

from ..kit.exercises import NotRight, exercise
from ..kit.vocabulary import number, refuse
from .pictures import WAVES


@exercise("00.1", "from how many waves on the GPU wins", look_at="the race's end: which lane has the shorter time?")
def first_win(waves):
    right = 16_384
    if isinstance(waves, tuple) and len(waves) == 2:
        typed = ",".join(map(str, waves))
        raise NotRight(f"to Python, {typed} is two numbers: leave out the comma", repr(waves), "a number")
    got = number(waves, "your answer")
    refuse({
        "the slider doesn't have that number of waves": got not in WAVES,
        "the GPU wins there, but it already does with fewer waves": got > right,
        "the CPU still wins there": got < right,
    }, f"{got:,.0f}" if got.is_integer() else f"{got:,}",
       "the first number on the slider with which the GPU is done before the CPU")  # fmt: skip
    return f"with {right:,} waves at once, the GPU wins"
