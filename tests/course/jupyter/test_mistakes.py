"""The picture of a confusion matrix, and what it says without being seen."""

import numpy as np
import pytest

import fluxlite as fl
from fluxlite_course.draw import confusion, mistakes

IRIS = np.array([[48, 2, 0], [1, 45, 4], [0, 3, 47]])
NAMES = ["setosa", "versicolor", "virginica"]


def figure_of(matrix, labels, monkeypatch):
    drawn = []
    monkeypatch.setattr(mistakes, "show", lambda figure, sentence: drawn.append(figure))
    confusion(matrix, labels)
    return drawn[0]


def test_numbers_and_sentence():
    numbers, picture = confusion(IRIS, NAMES)
    assert numbers["observations"] == 150 and numbers["right"] == 140
    assert numbers["mistakes"] == [
        ("versicolor", "virginica", 4), ("virginica", "versicolor", 3), ("setosa", "versicolor", 2),
        ("versicolor", "setosa", 1),
    ]  # fmt: skip
    assert str(picture) == (
        "140 of 150 observations are recognized. The most frequent mistakes: versicolor was taken for virginica (4 "
        "times), virginica was taken for versicolor (3 times), setosa was taken for versicolor (2 times)."
    )
    assert picture.png.startswith(b"\x89PNG") and f'alt="{picture.sentence}"' in picture._repr_html_()


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.eye(2, dtype=int), "2 of 2 observations are recognized."),
        (np.array([[3, 1], [0, 2]]), "5 of 6 observations are recognized. The mistake: 0 was taken for 1 (once)."),
        (np.array([[1200, 2], [1, 2]]), "1,202 of 1,205 observations are recognized. "
         "The mistakes: 0 was taken for 1 (2 times), 1 was taken for 0 (once)."),
        (np.zeros((2, 2), np.uint8), "0 of 0 observations are recognized."),
    ],
)  # fmt: skip
def test_sentences(matrix, words):
    assert str(confusion(matrix)[1]) == words


def test_it_draws_what_confusion_matrix_gives_on_every_device():
    with fl.simulate_gpu():
        scores = fl.gpu(np.eye(3, dtype=np.float32)[[0, 1, 2, 0]])
        numbers, _ = confusion(fl.confusion_matrix(scores, fl.gpu(np.array([0, 1, 2, 2]))))
    assert numbers == {"observations": 4, "right": 3, "mistakes": [("2", "0", 1)]}


def test_the_picture_can_be_read_without_colours(monkeypatch):
    (axes,) = figure_of(IRIS, NAMES, monkeypatch).axes
    assert [text.get_text() for text in axes.texts] == [str(count) for count in IRIS.ravel()]
    assert [text.get_text() for text in axes.get_yticklabels()] == NAMES
    assert (axes.get_ylabel(), axes.get_xlabel()) == ("right class", "taken for")
    framed = [(patch.get_x(), patch.get_y()) for patch in axes.patches]
    assert framed == [(i - 0.5, i - 0.5) for i in range(3)]
    assert all((text.get_color() == "white") == (text.get_text() != "0") for text in axes.texts)  # on what's coloured


def test_a_rare_class_is_as_visible_as_a_frequent_one(monkeypatch):
    (image,) = figure_of(np.array([[1000, 1000], [1, 1]]), None, monkeypatch).axes[0].images
    np.testing.assert_allclose(image.get_array(), np.sqrt(0.5))
