"""Lesson 00, start here: the first check."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..exercises import NotRight, exercise

ONE_STEP = 26  # launches of lesson 00's program for each of an epoch's 20 points
ONE_EPOCH = 20 * ONE_STEP


@exercise("00.1", "launches of 1,000 epochs", look_at="the receipt of one epoch, in the cells above")
def launches_of_1000_epochs(launches: Any) -> str:
    expected = 1000 * ONE_EPOCH
    if isinstance(launches, str):
        raise NotRight("your answer is text; write a number, without quotes", repr(launches), "a number")
    if isinstance(launches, tuple):
        raise NotRight(
            f"to Python, {expected:,} is two numbers; write {expected} or {expected:_}", repr(launches), "a number"
        )
    if not isinstance(launches, (int, float, np.number)):
        raise NotRight("your answer isn't a number", type(launches).__name__, "a number")
    yours = f"{launches:,}"
    if launches == ONE_EPOCH:
        raise NotRight("these are the launches of one epoch", yours, "those of 1,000 epochs")
    if launches in (200 * ONE_EPOCH, 200 * expected):
        raise NotRight(
            f"{200 * ONE_EPOCH:,} are the launches of 200 epochs, as in the run above", yours, "those of 1,000 epochs"
        )
    if launches in (ONE_STEP, 1000 * ONE_STEP):
        raise NotRight(
            f"{ONE_STEP} launches are those of one point; an epoch has 20 points", yours, "those of 1,000 epochs"
        )
    if launches != expected:
        raise NotRight("that's not the number", yours, "1,000 times the launches of one epoch")
    return f"{expected:,} launches: 1,000 epochs of {ONE_EPOCH}"
