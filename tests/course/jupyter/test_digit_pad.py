"""The digit pad: ink, what the network sees of it, and the widget, moved from Python as its page would."""

import base64
import sys

import numpy as np
import pytest

import fluxlite as fl
import fluxlite_course
from fluxlite_course.lesson09.digit_pad import EXAMPLES, Reading, draw, drawn, layer_by_layer, seen, trained_network


def upper_half(pictures):
    """A stand-in for a network: 1 if there's more ink in the upper half, else 0."""
    half = np.sum(pictures[:, :4], axis=(1, 2, 3)) - np.sum(pictures[:, 4:], axis=(1, 2, 3))
    return np.eye(10)[(half > 0).astype(int)] * 9


T = drawn([[(7, 4), (21, 4)], [(14, 4), (14, 24)]])


# -- ink ------------------------------------------------------------------------------------------------------------


def test_a_dot_is_as_wide_as_the_brush_with_a_soft_edge_and_what_lies_beside_the_sheet_leaves_no_ink():
    dot = drawn([[(14, 14)]])
    assert dot.shape == (28, 28) and dot.max() == 255 and 0 < dot[14, 15] < 255 and not dot[14, 17]
    assert not drawn([[(-9, 5), (-9, 20)]]).any()


def test_where_on_the_sheet_a_digit_stands_and_how_large_does_not_matter():
    places = [(9, 5), (12, 2), (12, 12), (7, 9)]
    as_it_is, moved = (seen(drawn([[(x + by, y + by) for x, y in places]])) for by in (0, 8))
    np.testing.assert_array_equal(moved, as_it_is)
    larger = seen(drawn([[(2 * x - 5, 2 * y + 1) for x, y in places]]))
    assert larger.sum() < as_it_is.sum()  # a thinner pen, in proportion; but it's as high
    assert as_it_is[0].any() and as_it_is[-1].any() and larger[0].any() and larger[-1].any()


def test_what_is_seen_counts_the_ink_of_4_by_4_dots():
    points = seen(drawn([[(7, 14), (21, 14)]]))
    assert points[3:5, 1:7].min() > 5 and points[:3].max() == 0 and points[:, 0].max() < 8
    full = seen(np.full((28, 28), 255))
    assert full[2, 3] == 16 and full[2, 0] == 4  # a digit leaves paper at the sides
    assert seen(np.full((28, 28), 100)).max() == 0
    with pytest.raises(ValueError, match=r"got an array of shape \(8, 8\)"):
        seen(np.zeros((8, 8)))


def test_the_examples_look_like_the_digits_of_the_course_and_are_read():
    images, labels = fluxlite_course.digits()
    assert fl.accuracy(trained_network()(images.reshape(-1, 8, 8, 1) / np.float32(16)), labels.astype(int)) > 0.98
    for digit, strokes in EXAMPLES.items():
        points = seen(drawn(strokes)).ravel().astype(int)
        nearest = np.argsort(np.sum((images.astype(int) - points) ** 2, axis=1))[:9]
        assert np.bincount(labels[nearest]).argmax() == digit
        assert Reading(trained_network(), digit).shares[str(digit)] > 0.8


# -- the plain call -------------------------------------------------------------------------------------------------


def test_a_reading_has_shares_of_1_and_what_each_layer_makes_of_the_ink():
    reading = Reading(upper_half, T)
    assert reading.shares["1"] == 1.0 and reading.shares["0"] == 0.0 and len(reading.shares) == 10
    assert "It reads 1" in repr(reading) and 'aria-label="It reads 1.' in reading._repr_html_()
    assert "It reads &lt;none&gt;." in repr(Reading(upper_half, 3, answer=lambda scores: ["<none>"] * len(scores)))
    model, points = trained_network(), seen(T)
    for name, shape, values in Reading(model, T).told["layers"]:
        assert name != "Dropout" and len(base64.b64decode(values)) == np.prod(shape)
    (last, scores) = layer_by_layer(model, points[None])[-1]
    np.testing.assert_allclose(scores, model(points[None, ..., None].astype(np.float32) / 16), rtol=1e-4)


def test_a_model_on_a_gpu_is_read_as_well():
    with fl.simulate_gpu():
        model = fl.gpu(fl.Chain(fl.flatten, fl.Dense(64, 10)))
        assert 0.9 < sum(Reading(model, 3).shares.values()) < 1.1


@pytest.mark.parametrize("ink", [11, "three", None])
def test_ink_that_is_no_ink_is_refused(ink):
    with pytest.raises(ValueError, match="or a digit from 0 to 9; got"):
        Reading(upper_half, ink)


# -- the widget -----------------------------------------------------------------------------------------------------


def test_what_the_page_writes_is_read_at_once_and_is_the_still_where_no_kernel_runs():
    pad = draw(upper_half, ink=7)
    pad.sheet = base64.b64encode(T.tobytes()).decode()
    np.testing.assert_array_equal(pad.ink, T)
    assert pad.told == Reading(upper_half, T).told and pad.told["word"] == "1"
    data, _ = pad._repr_mimebundle_()
    assert data["text/html"] == Reading(upper_half, T)._repr_html_() and data["text/plain"].startswith("It reads 1")
    assert "application/vnd.jupyter.widget-view+json" in data
    pad.ink = np.zeros((28, 28))
    assert pad.told["sentence"] == "An empty sheet. Draw a digit." and pad.told["best"] == -1


def test_an_error_while_drawing_is_shown_where_the_layers_are():
    calls = []

    def fails_later(pictures):
        calls.append(pictures)
        if len(calls) > 2:
            raise RuntimeError("the model is gone")
        return np.zeros((len(pictures), 10))

    pad = draw(fails_later)
    pad.ink = T
    assert pad.told == {"sentence": "RuntimeError: the model is gone", "layers": []}
    with pytest.raises(ZeroDivisionError):
        draw(lambda pictures: 1 / 0)


def test_without_anywidget_there_is_the_still_and_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    draw.__globals__["_pad"].cache_clear()
    assert isinstance(draw(upper_half), Reading) and "pip install anywidget" in capsys.readouterr().out
