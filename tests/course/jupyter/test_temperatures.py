"""Lesson 10's scenes: the temperature, an LSTM's step, and what's left of an input."""

import numpy as np

import fluxlite as fl
from fluxlite_course.lesson10.pictures import HEATS, an_lstm_step, left_picture, temperatures
from fluxlite_course.lesson10.sequences import scores_after, write


def test_a_bar_is_as_high_as_its_letter_is_likely():
    model = fl.Chain(fl.GRU(30, 4), fl.Dense(4, 30))
    scene, (scores, _) = temperatures(model, "x"), scores_after(model, "x")
    bars = [part.attributes["height"] for part in scene.picture.parts() if part.tag == "rect"]
    for state, heat in enumerate(HEATS):
        np.testing.assert_allclose([bar[state] / 152 for bar in bars], fl.softmax(scores / heat), atol=1e-3)
    assert scene.at().startswith("Temperature 0.7: after 'x', ")
    assert scene.at(temperature="2.5").endswith(" / ".join(write(model, "x", 2.5).splitlines()))


def test_a_step_keeps_a_part_and_writes_a_part():
    step = an_lstm_step()
    assert step.at(**{"forget gate f": "1", "input gate i": "0"}).endswith("is written: 0.80.")
    assert step.at(**{"forget gate f": "0.95", "input gate i": "0.5"}).endswith("is written: 1.06.")


def test_an_open_gate_leaves_an_inputs_effect():
    scene = left_picture()
    assert "keeps 0.50" in scene.at() and "nearly nothing is left of an input's effect" in scene.at()
    assert "keeps 0.95" in scene.at(forget="3") and "39 steps later all is left" in scene.at(forget="3")
