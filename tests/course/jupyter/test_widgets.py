"""What the widgets share."""

import sys

import pytest

from fluxlite.jupyter import plots
from fluxlite.jupyter.widgets import Shown, ipywidgets, picture


def test_without_ipywidgets_the_message_says_what_to_install_and_what_to_call_instead(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ImportError, match=r"pip install ipywidgets .* rnn_demo\(\) shows the same"):
        ipywidgets("rnn_demo()")


def test_where_a_widget_does_not_live_its_picture_and_its_sentence_stand():
    figure, axes = plots()
    axes.plot([1, 2])
    page = picture(figure, "A line, from 1 < 2.")
    shown = Shown(ipywidgets("f()").VBox(), page, "A line.")
    bundle = shown._repr_mimebundle_()
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == shown.widget.model_id
    assert '<img alt="A line, from 1 &lt; 2." src="data:image/png;base64,' in bundle["text/html"]
    assert bundle["text/plain"] == repr(shown) == "A line."
