"""Lesson 00, start here: a question that stays open until lesson 07, and the first check."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..exercises import NotRight, exercise
from ..guesses import Question

# Asked in lesson 00, answered in lesson 07.
QUESTIONS = {
    "00-A": Question(
        "a",
        a="as far as two totals can tell. They are times of the whole program: to start it, load the libraries and "
        "compile for the GPU is in them, and after launches and copies most of the 13.6 s is left for that.",
        b="so did the blog's author. But all his arrays together are a few kilobytes: copying them, even at each step, "
        "is a matter of tenths of a second, and 13.6 s are to be explained.",
        c="that is real, and it can be mended, as lesson 08 shows. But a launch takes a host about 8 µs: 96,000 of "
        "them are less than 1 s of the 13.6 s.",
        d="a bug would show in the result, and the program ends with the same loss on both. It is right, only too "
        "small for a GPU.",
    ),
}

ONE_EPOCH = 480  # launches of lesson 00's program: 24 for each of the 20 points


@exercise("00.1", "launches of 1,000 epochs", look_at="the receipt of one epoch, in the cells above")
def launches_of_1000_epochs(launches: Any) -> str:
    expected = 1000 * ONE_EPOCH
    if isinstance(launches, str):
        raise NotRight("your answer is text; write a number, without quotes", repr(launches), "a number")
    if isinstance(launches, tuple):
        raise NotRight("Python takes 480,000 for two numbers; write 480000 or 480_000", repr(launches), "a number")
    if not isinstance(launches, (int, float, np.number)):
        raise NotRight("your answer is no number", type(launches).__name__, "a number")
    yours = f"{launches:,}"
    if launches == ONE_EPOCH:
        raise NotRight("these are the launches of one epoch", yours, "those of 1,000 epochs")
    if launches in (200 * ONE_EPOCH, 200 * expected):
        raise NotRight("96,000 are the launches of 200 epochs, as in the run above", yours, "those of 1,000 epochs")
    if launches in (24, 24_000):
        raise NotRight("24 launches are those of one point; an epoch has 20 points", yours, "those of 1,000 epochs")
    if launches != expected:
        raise NotRight("that is not the number", yours, "1,000 times the launches of one epoch")
    return f"{expected:,} launches: 1,000 epochs of {ONE_EPOCH}"
