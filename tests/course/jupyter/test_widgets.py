"""What the widgets share, and pictures to leaf through."""

import sys

import numpy as np
import pytest

import fluxlite as fl
from fluxlite_course.draw import plots, show
from fluxlite_course.draw.frames import frames
from fluxlite_course.draw.widgets import Shown, ipywidgets
from fluxlite_course.lesson03.training_monitor import monitor
from fluxlite_course.lesson04.pictures import playground, rnn_demo

# -- what the widgets share ------------------------------------------------------------------------------------------


def no_training():
    return {"w": np.zeros(1)}, [], fl.setup(fl.Descent(0.1), {"w": np.zeros(1)})


WITHOUT = {
    "rnn_demo() shows": playground,
    "loss_curve(history), shows": lambda: monitor(lambda model: 0.0, *no_training()),
}


@pytest.mark.parametrize("instead", WITHOUT)
def test_without_ipywidgets_the_message_says_what_to_install_and_what_to_call_instead(instead, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ImportError, match="pip install ipywidgets") as error:
        WITHOUT[instead]()
    assert instead in str(error.value)


def test_what_to_call_instead_needs_no_ipywidgets(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    assert rnn_demo()[0]["loss"] == 0.0649


def test_where_a_widget_does_not_live_its_picture_and_its_sentence_stand():
    figure, axes = plots()
    axes.plot([1, 2])
    page = show(figure, "A line, from 1 < 2.")._repr_html_()
    shown = Shown(ipywidgets("f()").VBox(), page, "A line.")
    bundle = shown._repr_mimebundle_()
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == shown.widget.model_id
    assert '<img alt="A line, from 1 &lt; 2." src="data:image/png;base64,' in bundle["text/html"]
    assert bundle["text/plain"] == repr(shown) == "A line."


# -- pictures to leaf through: what the slider shows, and what a page without a kernel shows -------------------------


def bars(*heights):
    drawn = []
    for height in heights:
        figure, axes = plots(height=1)
        axes.bar([0], [height])
        drawn.append(show(figure, f"A bar, {height} high."))
    return drawn


def test_the_slider_chooses_the_picture_and_its_words():
    film = frames(bars(1, 2, 3), labels=["1 m", "2 m", "3 m"], name="height", first=1)
    assert film.slider.label == "2 m" and "2 high" in film.image.value and "2 high" in film.words.value
    film.slider.label = "3 m"
    assert film.now == 2 and "3 high" in film.image.value and 'role="status"' in film.words.value


def test_the_buttons_beside_the_slider_go_one_frame_back_or_on():
    film = frames(bars(1, 2), labels=["1 m", "2 m"], name="height")
    slider, back, on = film.widget.children[0].children[1].children
    assert slider is film.slider and (back.tooltip, on.tooltip) == ("height: back", "height: on")
    seen = []
    for button in (back, on, on, back):
        button.click()
        seen.append(film.now)
    assert seen == [0, 1, 1, 0] and "1 high" in film.image.value


def test_play_moves_the_slider():
    film = frames(bars(1, 2, 3), labels=[1, 2, 3], name="height")
    film.play.value = 2  # what the play button does in the page, one after the other
    assert film.slider.label == "3" and "3 high" in film.image.value
    assert (film.play.min, film.play.max) == (0, 2)


def test_where_no_kernel_runs_the_page_shows_the_last_frame_seen():
    film = frames(bars(1, 2), labels=[1, 2], name="height")
    film.slider.label = "2"
    bundle = film._repr_mimebundle_()
    assert 'alt="A bar, 2 high."' in bundle["text/html"] and bundle["text/plain"] == "A bar, 2 high."


@pytest.mark.parametrize("labels", [[], [1], [1, 2, 3]])
def test_each_picture_has_its_label(labels):
    with pytest.raises(ValueError, match="a label for each picture, got 2 pictures"):
        frames(bars(1, 2), labels, "height")


def test_no_pictures_and_a_first_one_that_is_not_there():
    with pytest.raises(ValueError, match="got 0 pictures"):
        frames([], [], "height")
    with pytest.raises(ValueError, match="first is the number of one of the 2 pictures, got 2"):
        frames(bars(1, 2), [1, 2], "height", first=2)
