"""The pictures of host and device: what they say must be what the receipt has seen."""

import re

import numpy as np
import pytest

import fluxlite as fl
from fluxlite_course.draw import boxes


@pytest.fixture(autouse=True)
def a_card():
    with fl.simulate_gpu():
        yield


def texts(scene, state=-1):
    """What is written in the picture in a state, and how many arrows of each kind there are."""
    markup = scene.picture.markup(range(len(scene.sentences))[state])
    seen = re.sub(r'<g[^>]* opacity="0".*?</g>', "", markup)
    return set(re.findall(r">([^<>]+)</text>", seen)), [
        len(re.findall(look, seen)) for look in ('line"', 'line dashed"')
    ]


def test_an_arrow_for_each_copy_with_its_bytes_and_its_line():
    with fl.receipt() as r:
        W = fl.cu(np.ones((2, 5)))
        total = np.sum(W)
        float(total)
    scene = boxes(r, W=W, total=total, n=3, a=np.ones(4))
    assert (
        repr(scene)
        == scene.at()
        == scene.sentences[2]
        == ("1 copy to the device, 40 bytes; 1 copy back, 4 bytes. On the host: n, a. On the device: W, total.")
    )
    written, arrows = texts(scene)
    assert {"40 bytes", "W = fl.cu(np.ones((2, 5)))", "4 bytes, implicit", "float(total)"} <= written
    assert {"W  float32 (2, 5)", "total  float32", "n  a number", "a  float64 (4,)"} <= written
    assert arrows == [1, 1] and texts(scene, 0)[1] == [0, 0]
    assert scene.at(copies="1") == "40 bytes, to the device. The line: W = fl.cu(np.ones((2, 5)))"
    assert "4 bytes, implicit" not in texts(scene, 1)[0] and texts(scene, 1)[1] == [1, 0]


def test_after_six_arrows_the_others_are_counted():
    x = fl.cu(np.ones(5))
    with fl.receipt() as r:
        for i in range(10):
            float(x[i % 5])
    scene = boxes(r)
    assert repr(scene) == scene.at(copies="all 10") == "None to the device; 10 copies back, 40 bytes."
    assert texts(scene)[1] == texts(scene, -2)[1] == [0, 6]
    assert "… and 4 more" in texts(scene)[0] - texts(scene, -2)[0]


def test_no_copies():
    with fl.receipt() as r:
        pass
    scene = boxes(r, x=fl.cu(np.ones(2)))
    assert scene.sentences == ["No copies. On the host: nothing that was named. On the device: x."]
    assert texts(scene)[1] == [0, 0] and "no copies" in texts(scene)[0]


def test_what_is_neither_array_nor_number_is_named():
    with fl.receipt() as r:
        pass
    with pytest.raises(TypeError, match=r"boxes draws arrays and numbers; model is a Dense"):
        boxes(r, model=fl.Dense(2, 2))
