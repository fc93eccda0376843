"""Lesson 00, start here: a question that stays open until lesson 07, and the first check."""

from __future__ import annotations

from typing import Any

from ..exercises import exercise
from ..expect import number, refuse, wrong_if
from ..guesses import Question

# Asked in lesson 00, answered in lesson 07.
QUESTIONS = {
    "00-A": Question(
        "a",
        a="as far as two totals can tell. Launches and copies explain only a small part of the 13.6 s, and starting "
        "up is the one suspect left that's big enough. Only timing each part of the program would tell for sure.",
        b="the blog's author thought so, too. But all his arrays together are a few kilobytes. Copying them, even at "
        "each step, takes tenths of a second, and we're looking for 13.6 s.",
        c="that's real, and lesson 08 shows how to fix it. But the host gives a launch in about 15 µs. Some 100,000 of "
        "them explain only a small part of the 13.6 s.",
        d="a bug that spoils results is out: with and without a GPU the loss is the same. One that only wastes time, "
        "two totals can't rule out.",
    ),
}

ONE_STEP = 26  # launches of lesson 00's program for each of an epoch's 20 points
ONE_EPOCH = 20 * ONE_STEP


@exercise("00.1", "launches of 1,000 epochs", look_at="the receipt of one epoch, in the cells above")
def launches_of_1000_epochs(launches: Any) -> str:
    right = 1000 * ONE_EPOCH
    two = f"to Python, {right:,} is two numbers; write {right} or {right:_}"
    wrong_if(isinstance(launches, tuple), two, repr(launches), "a number")
    found = number(launches, "your answer")
    slips = {
        "these are the launches of one epoch": found == ONE_EPOCH,
        f"{200 * ONE_EPOCH:,} are the launches of 200 epochs, as in the run above": found in (
            200 * ONE_EPOCH, 200 * right
        ),
        f"{ONE_STEP} launches are those of one point; an epoch has 20 points": found in (ONE_STEP, 1000 * ONE_STEP),
    }  # fmt: skip
    refuse(slips, f"{launches:,}", "those of 1,000 epochs")
    wrong_if(found != right, "that's not the number", f"{launches:,}", "1,000 times the launches of one epoch")
    return f"{right:,} launches: 1,000 epochs of {ONE_EPOCH}"
