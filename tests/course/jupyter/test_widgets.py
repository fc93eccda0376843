"""What the widgets share."""

import sys

import numpy as np
import pytest

import fluxlite as fl
from fluxlite.jupyter import plots
from fluxlite.jupyter.digit_pad import draw, reading
from fluxlite.jupyter.monitor import monitor
from fluxlite.jupyter.playground import playground, rnn_demo
from fluxlite.jupyter.temperatures import next_letter, temperatures
from fluxlite.jupyter.timeline_viewer import timeline
from fluxlite.jupyter.widgets import Shown, ipywidgets, picture


def scores(pictures):
    return np.eye(10)[:1]


def no_training():
    return {"w": np.zeros(1)}, [], fl.setup(fl.Descent(0.1), {"w": np.zeros(1)})


WITHOUT = {
    "rnn_demo() shows": playground,
    "reading(read)[1] shows": lambda: draw(scores),
    "next_letter(letters, scores, temperature=1.0) shows": lambda: temperatures(["a"], [1.0], {1.0: "a"}),
    "loss_curve(history), shows": lambda: monitor(lambda model: 0.0, *no_training()),
    "receipt.plot()": lambda: timeline(fl.estimate(np.tanh, np.ones(2, np.float32)).receipt),
}


@pytest.mark.parametrize("instead", WITHOUT)
def test_without_ipywidgets_the_message_says_what_to_install_and_what_to_call_instead(instead, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ImportError, match="pip install ipywidgets") as error:
        WITHOUT[instead]()
    assert instead in str(error.value)
    # And that works.
    assert reading(scores)[0] and rnn_demo()[0]["loss"] == 0.0649
    assert next_letter(["a"], [1.0], 1.0).sentence.startswith("Temperature 1")


def test_where_a_widget_does_not_live_its_picture_and_its_sentence_stand():
    figure, axes = plots()
    axes.plot([1, 2])
    page = picture(figure, "A line, from 1 < 2.")
    shown = Shown(ipywidgets("f()").VBox(), page, "A line.")
    bundle = shown._repr_mimebundle_()
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == shown.widget.model_id
    assert '<img alt="A line, from 1 &lt; 2." src="data:image/png;base64,' in bundle["text/html"]
    assert bundle["text/plain"] == repr(shown) == "A line."
