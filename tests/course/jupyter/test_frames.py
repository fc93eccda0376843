"""Pictures to leaf through: what the slider shows, and what a page without a kernel shows."""

import pytest

from fluxlite.jupyter import plots, show
from fluxlite.jupyter.frames import frames


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
