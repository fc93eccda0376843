"""The pictures of host and device: what they say must be what the receipt has seen."""

import numpy as np
import pytest

import fluxlite as fl
from fluxlite_course.draw import boxes, host_and_device

pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def a_card():
    with fl.simulate_gpu():
        yield


@pytest.fixture
def drawn(monkeypatch):
    """The texts and the number of arrows of the last picture."""
    seen = {}

    def show(figure, sentence):
        texts = [text for text in figure.axes[0].texts]
        seen["texts"] = [text.get_text() for text in texts if text.get_text()]
        arrows = [text.arrow_patch for text in texts if getattr(text, "arrow_patch", None) is not None]
        seen["arrows"] = [(arrow.get_arrowstyle().__class__.__name__, arrow.get_linestyle()) for arrow in arrows]
        return sentence

    monkeypatch.setattr("fluxlite_course.draw.two_boxes.show", show)
    return seen


def test_an_arrow_for_each_copy_with_its_bytes_and_its_line(drawn):
    with fl.receipt() as r:
        W = fl.cu(np.ones((2, 5)))
        total = np.sum(W)
        float(total)
    sentence = boxes(r, W=W, total=total, n=3, a=np.ones(4))
    assert sentence == (
        "1 copy to the device, 40 bytes; 1 copy back, 4 bytes. On the host: n, a. On the device: W, total."
    )
    assert {"40 bytes", "W = fl.cu(np.ones((2, 5)))", "4 bytes, implicit", "float(total)"} <= set(drawn["texts"])
    assert {"W  float32 (2, 5)", "total  float32", "n  a number", "a  float64 (4,)"} <= set(drawn["texts"])
    assert drawn["arrows"] == [("CurveB", "-"), ("CurveA", "--")]


def test_after_six_arrows_the_others_are_counted(drawn):
    x = fl.cu(np.ones(5))
    with fl.receipt() as r:
        for i in range(10):
            float(x[i % 5])
    assert boxes(r) == "None to the device; 10 copies back, 40 bytes."
    assert len(drawn["arrows"]) == 6 and "… and 4 more" in drawn["texts"]


def test_no_copies(drawn):
    with fl.receipt() as r:
        pass
    assert boxes(r, x=fl.cu(np.ones(2))) == "No copies. On the host: nothing that was named. On the device: x."
    assert not drawn["arrows"] and "no copies" in drawn["texts"]


def test_what_is_neither_array_nor_number_is_named():
    with fl.receipt() as r:
        pass
    with pytest.raises(TypeError, match=r"boxes draws arrays and numbers; model is a Dense"):
        boxes(r, model=fl.Dense(2, 2))


def test_they_are_pictures_with_words():
    with fl.receipt() as r:
        fl.cu(np.ones(2))
    for picture, kind in ((boxes(r), "png"), (host_and_device(), "svg+xml")):
        page = picture._repr_html_()
        assert f'alt="{picture.sentence}"' in page and f'src="data:image/{kind};base64,' in page
