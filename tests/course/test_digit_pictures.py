"""Lesson 15's pictures."""

import numpy as np
import pytest

import fluxlite as fl
from fluxlite.course.digit_pictures import digit_row, filters_at_work, worst_mistakes


def test_digits_stand_under_their_titles_with_or_without_a_channel():
    pictures = fl.course.digits().images[:2].reshape(2, 8, 8)
    plain, with_channel = (digit_row(x, ["a\nb", "c"], "Two.") for x in (pictures, pictures[..., None]))
    assert plain.png == with_channel.png and repr(plain) == "Two."
    assert plain.png != digit_row(pictures[::-1], ["a\nb", "c"], "Two.").png
    with pytest.raises(ValueError, match="got 2 pictures and 1 titles"):
        digit_row(pictures, ["a"], "Two.")


def test_filters_are_named_in_the_sentence():
    layer = fl.CrossCor.of(np.ones((3, 3, 1, 2), np.float32))
    x = np.zeros((1, 8, 8, 1), np.float32)
    picture = filters_at_work(x[0, :, :, 0], layer.weight, layer(x)[0], ["one", "other"])
    assert repr(picture).startswith("A digit, 2 filters of 3 × 3 weights (one, other)")
    with pytest.raises(ValueError, match="2 filters, and results of 1"):
        filters_at_work(x[0, :, :, 0], layer.weight, layer(x)[0, :, :, :1])


def test_the_worst_mistakes_are_wrong_and_sure_and_the_surest_comes_first():
    pictures = fl.course.digits().images[:4].reshape(4, 8, 8)
    scores = np.log([[0.1, 0.9], [0.99, 0.01], [0.4, 0.6], [0.7, 0.3]])  # the second is right
    labels = np.array([0, 0, 0, 1])
    told = [repr(worst_mistakes(pictures, scores, labels, count)) for count in (5, 2)]
    assert told[0].endswith("is: a 0 read as 1, 0.90; a 1 read as 0, 0.70; a 0 read as 1, 0.60.")
    assert told[1].endswith("is: a 0 read as 1, 0.90; a 1 read as 0, 0.70.")
    with pytest.raises(ValueError, match="no mistakes"):
        worst_mistakes(pictures, scores, np.array([1, 0, 1, 0]))
