"""Lesson 00, start here: the first check."""

from ..kit.exercises import exercise
from ..kit.vocabulary import expect, number, wrong_if

ONE_STEP = 26  # launches of lesson 00's program for each of an epoch's 20 points
ONE_EPOCH = 20 * ONE_STEP


@exercise("00.1", "launches of 1,000 epochs", look_at="the receipt of one epoch, in the cells above")
def launches_of_1000_epochs(launches):
    right = 1000 * ONE_EPOCH
    two = f"to Python, {right:,} is two numbers; write {right} or {right:_}"
    wrong_if(isinstance(launches, tuple), two, repr(launches), "a number")
    expect(number(launches, "your answer"), right, "that's not the number", {
        "these are the launches of one epoch": ONE_EPOCH,
        f"{200 * ONE_EPOCH:,} are the launches of 200 epochs, as in the run above": 200 * ONE_EPOCH,
        f"{ONE_STEP} launches are those of one point; an epoch has 20 points": 1000 * ONE_STEP,
    }, yours=f"{launches:,}", expected="1,000 times the launches of one epoch", rtol=0)  # fmt: skip
    return f"{right:,} launches: 1,000 epochs of {ONE_EPOCH}"
