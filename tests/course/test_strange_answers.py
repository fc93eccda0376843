"""Answers that are made to look right: whatever they say of themselves, no check of lessons 00 to 07 believes it."""

import inspect
from unittest.mock import MagicMock

import numpy as np
import pytest
from answers import EqualToAll

from fluxlite_course.kit.exercises import RIGHT, in_lesson, judge, number_in

IDS = [id for lesson in range(8) for id in in_lesson(f"{lesson:02}")]


class NeverCompared(EqualToAll):
    def __eq__(self, other):
        raise RuntimeError("never compare me")

    __ne__ = __eq__


class LikeAnArray(EqualToAll):
    """It has what an array has, and no numbers."""

    shape, dtype, ndim, size = (), np.dtype(np.float32), 0, 1

    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("no numbers")

    def item(self):
        return EqualToAll()


class PretendsToBeAnArray:
    __class__ = np.ndarray
    shape, dtype = (5, 2), np.dtype(np.float32)


class NeverWrong(float):
    """A number that no comparison finds too small, too large or different."""

    def __eq__(self, other):
        return True

    def __lt__(self, other):
        return False

    __ne__ = __gt__ = __lt__
    __le__ = __ge__ = __eq__
    __hash__ = float.__hash__

    def __sub__(self, other):
        return 0.0

    __rsub__ = __sub__


class AlwaysTrue(np.ndarray):
    """An array that answers each of NumPy's questions with yes."""

    def __array_ufunc__(self, *args, **kwargs):
        return np.True_

    def __array_function__(self, *args, **kwargs):
        return True


STRANGE = [
    EqualToAll(),
    NeverCompared(),
    LikeAnArray(),
    PretendsToBeAnArray(),
    NeverWrong(3),
    np.zeros((3, 1)).view(AlwaysTrue),
    MagicMock(),
    float("nan"),
]


def many_answers(strange):
    """A value, and what a function gives back: it, two of it, endlessly many, its last argument."""

    def endless(*args):
        while True:
            yield strange

    return [strange, lambda *args: strange, lambda *args: [strange, strange], endless, lambda *args: args[-1]]


@pytest.mark.parametrize("id", IDS)
def test_no_strange_answer_is_right(id):
    count = len(inspect.signature(in_lesson(number_in(id))[id].check).parameters)
    for strange in STRANGE:
        for answer in many_answers(strange):
            reply = judge(id, *[answer] * count)
            assert reply.word != RIGHT, (type(strange), str(reply))
