"""The digit pad: ink, what the network sees of it, and the widget, moved from Python as its page would."""

import re

import numpy as np
import pytest

import fluxlite as fl
import fluxlite_course
from fluxlite_course.lesson09.digit_pad import EXAMPLES, draw, drawn, reading, seen


def upper_half(pictures):
    """A stand-in for a network: 1 if there's more ink in the upper half, else 0."""
    half = np.sum(pictures[:, :4].astype(int), axis=(1, 2)) - np.sum(pictures[:, 4:].astype(int), axis=(1, 2))
    return np.eye(10)[(half > 0).astype(int)] * 9


def field(pad):
    """The text field that the page writes into."""
    return pad.widget.children[-1]


def view(pad):
    return pad.widget.children[0].children[1].value


def page(pad):
    return pad.widget.children[0].children[0].value


def as_the_page_writes(ink):
    """Four dots make a hexadecimal digit, as in the page's script."""
    dots = ink.ravel().astype(int).reshape(-1, 4)
    return "".join(f"{d[0] * 8 + d[1] * 4 + d[2] * 2 + d[3]:x}" for d in dots)


# -- ink ------------------------------------------------------------------------------------------------------------


def test_a_dot_is_as_wide_as_the_brush_and_what_lies_beside_the_pad_leaves_no_ink():
    dot = drawn([[(16, 16)]])
    assert dot.shape == (32, 32) and 14 <= dot.sum() <= 22 and dot[16, 16] and not dot[16, 20]
    assert not drawn([[(-9, 5), (-9, 20)]]).any()


def test_where_on_the_pad_a_digit_stands_and_how_large_does_not_matter():
    places = [(10, 6), (14, 2), (14, 14), (8, 10)]
    as_it_is, moved = (seen(drawn([[(x + by, y + by) for x, y in places]])) for by in (0, 9))
    np.testing.assert_array_equal(moved, as_it_is)
    larger = seen(drawn([[(2 * x - 6, 2 * y + 1) for x, y in places]]))
    assert (larger > 0).mean() < (as_it_is > 0).mean()  # a thinner pen, in proportion; but it's as high
    assert as_it_is[0].any() and as_it_is[-1].any() and larger[0].any() and larger[-1].any()


def test_a_level_stroke_stays_level_and_leaves_paper_at_the_sides():
    points = seen(drawn([[(8, 16), (24, 16)]]))
    assert points[3:5, 1:7].min() == 12 and points[:3].max() == 0 and points[:, 0].max() < 8


def test_what_is_seen_counts_the_ink_of_4_by_4_dots():
    ink = np.zeros((32, 32), bool)
    ink[:, 3:29] = True  # fills the pad as far as a digit may: nothing is enlarged
    ink[0:4, 4:8] = np.arange(16).reshape(4, 4) < 5
    assert seen(ink)[0, 1] == 5 and seen(ink)[5, 1] == 16 and seen(ink)[0, 0] == 4
    assert seen(np.zeros((32, 32), bool)).max() == 0
    with pytest.raises(ValueError, match=r"got an array of shape \(8, 8\)"):
        seen(np.zeros((8, 8)))


def test_the_examples_look_like_the_digits_of_the_course():
    images, labels = fluxlite_course.digits()
    for digit, strokes in EXAMPLES.items():
        points = seen(drawn(strokes)).ravel().astype(int)
        nearest = np.argsort(np.sum((images.astype(int) - points) ** 2, axis=1))[:9]
        assert np.bincount(labels[nearest]).argmax() == digit


# -- the plain call -------------------------------------------------------------------------------------------------


def test_reading_gives_shares_of_1_and_says_what_is_read():
    numbers, picture = reading(upper_half, drawn([[(16, 4), (16, 28)], [(8, 5), (24, 5)]]))
    assert numbers["1"] == 1.0 and numbers["0"] == 0.0 and len(numbers) == 10
    assert "is read as 1" in repr(picture) and picture.png
    assert "is read as none" in repr(reading(upper_half, 3, answer=lambda scores: ["none"] * len(scores))[1])


def test_a_model_on_a_gpu_is_read_as_well():
    with fl.simulate_gpu():
        model = fl.gpu(fl.Chain(fl.flatten, fl.Dense(64, 10)))
        numbers, _ = reading(lambda pictures: model(fl.gpu(pictures.astype(np.float32))), 3)
    assert 0.9 < sum(numbers.values()) < 1.1


@pytest.mark.parametrize("ink", [11, "three", None])
def test_ink_that_is_no_ink_is_refused(ink):
    with pytest.raises(ValueError, match="or a digit from 0 to 9; got"):
        reading(upper_half, ink)


def test_scores_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"of shape \(1, classes\); got \(10,\)"):
        reading(lambda pictures: np.zeros(10), 3)


# -- the widget -----------------------------------------------------------------------------------------------------


def test_what_the_page_writes_is_read_at_once():
    pad = draw(upper_half)
    ink = drawn([[(8, 4), (24, 4)], [(16, 4), (16, 28)]])
    field(pad).value = as_the_page_writes(ink)
    np.testing.assert_array_equal(pad.ink, ink)
    np.testing.assert_array_equal(pad.seen, seen(ink))
    assert ">1</b>" in view(pad) and "1.00" in view(pad)


def test_an_example_and_clear_make_a_new_page():
    pad = draw(upper_half, ink=7)
    first = page(pad)
    assert as_the_page_writes(drawn(EXAMPLES[7])) in first
    pad.example.value = 4
    assert as_the_page_writes(drawn(EXAMPLES[4])) in page(pad)
    np.testing.assert_array_equal(pad.ink, drawn(EXAMPLES[4]))
    pad.clear.click()
    empty = page(pad)
    assert not pad.ink.any() and "An empty sheet" in view(pad) and pad.example.value == "nothing"
    field(pad).value = as_the_page_writes(drawn([[(3, 3)]]))
    pad.clear.click()  # an empty sheet again, which the page must notice
    assert page(pad) != empty and not pad.ink.any()


def test_the_page_knows_its_field_and_has_no_shortcuts_of_jupyterlab():
    pad, other = draw(upper_half), draw(upper_half)
    (name,) = field(pad)._dom_classes
    assert f'data-to="{name}"' in page(pad) and f'data-to="{name}"' not in page(other)
    # On the canvas itself: Notebook 7's shortcuts are for whatever has the focus, and it doesn't look further up.
    (canvas,) = re.findall("<canvas [^>]*>", page(pad))
    assert 'data-lm-suppress-shortcuts="true"' in canvas and 'tabindex="0"' in canvas


def test_an_error_while_drawing_is_shown_where_the_scores_are():
    calls = []

    def fails_later(pictures):
        calls.append(pictures)
        if len(calls) > 2:
            raise RuntimeError("the model is <gone>")
        return np.zeros((1, 10))

    pad = draw(fails_later)
    field(pad).value = as_the_page_writes(drawn([[(3, 3), (9, 9)]]))
    assert "RuntimeError: the model is &lt;gone&gt;" in view(pad)
    with pytest.raises(ZeroDivisionError):
        draw(lambda pictures: 1 / 0)


def test_where_no_kernel_runs_a_picture_stands():
    pad = draw(upper_half, ink=5)
    bundle = pad._repr_mimebundle_()
    assert '<img alt="This ink, as 8 × 8 points' in bundle["text/html"] and bundle["text/plain"] == repr(pad)
    assert bundle["text/html"] == reading(upper_half, 5)[1]._repr_html_()
