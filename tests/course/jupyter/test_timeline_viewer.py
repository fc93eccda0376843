"""The timeline viewer: what its controls do, without a browser."""

import threading

import numpy as np
import pytest

import fluxlite as fl

pytest.importorskip("ipywidgets")
pytest.importorskip("matplotlib")

from fluxlite_course.draw.timeline_viewer import timeline  # noqa: E402


@pytest.fixture
def receipt():
    """Ten rounds of three launches and a wait, and thirty launches that nobody waits for: 80 events."""
    with fl.simulate_gpu():
        x = fl.gpu(np.ones((64, 64), np.float32))
        total = (x + x).sum()
        with fl.receipt() as r:
            for _ in range(10):
                total = (x + x + x).sum()
                float(total)
            for _ in range(30):
                x = x + x
    return r


def test_it_shows_what_the_plain_call_shows(receipt):
    viewer = timeline(receipt)
    assert repr(viewer) == viewer.sentence == repr(receipt.plot())
    assert viewer.call == "receipt.plot(first=0, count=200)"
    assert viewer.sentence in viewer.picture.value and viewer.call in viewer.code.value


def test_the_window_moves_and_each_place_is_that_of_a_plain_call(receipt):
    viewer = timeline(receipt, count=20)
    seen = [viewer.sentence]
    viewer.first.value = 40
    seen.append(viewer.sentence)
    viewer.window.value = 5
    seen.append(viewer.sentence)
    assert seen == [repr(receipt.plot(0, 20)), repr(receipt.plot(40, 20)), repr(receipt.plot(40, 5))]
    assert "events 41 to 45 of 80" in viewer.sentence
    assert viewer.call == "receipt.plot(first=40, count=5)"


def test_only_waits(receipt):
    viewer = timeline(receipt)
    viewer.which.value = "only waits"
    assert "10 waits" in viewer.sentence and "asks" not in viewer.sentence
    assert viewer.sentence == repr(receipt.plot(only_waits=True))
    assert viewer.first.max == 9
    assert eval(viewer.call, {"receipt": receipt}).sentence == viewer.sentence


def test_the_slider_comes_along_when_there_are_fewer_to_show(receipt):
    viewer = timeline(receipt, first=70, count=5)
    viewer.which.value = "only waits"
    assert viewer.first.value == 9 and "wait 10 of 10" in viewer.sentence


def test_a_single_wait_is_shown_wherever_the_slider_was():
    with fl.simulate_gpu(), fl.receipt() as r:
        float(fl.gpu(np.ones(4, np.float32)).sum())
    viewer = timeline(r)
    viewer.first.value = 2
    viewer.which.value = "only waits"
    assert viewer.first.value == 0 and viewer.sentence == repr(r.plot(only_waits=True))
    viewer.first.value = 1
    assert viewer.first.value == 0 and viewer.sentence == repr(r.plot(only_waits=True))


def test_a_receipt_without_waits_says_so_in_place_of_a_picture():
    with fl.simulate_gpu():
        x = fl.gpu(np.ones(3, np.float32))
        with fl.receipt() as r:
            x + x
    viewer = timeline(r)
    viewer.which.value = "only waits"
    assert "this receipt has 0 waits" in viewer.sentence and "<svg" not in viewer.picture.value
    viewer.which.value = "all events"
    assert "<svg" in viewer.picture.value


def test_an_empty_receipt_raises_and_shows_nothing():
    with fl.simulate_gpu(), fl.receipt() as r:
        pass
    with pytest.raises(ValueError, match="0 events"):
        timeline(r)


def test_a_stored_output_has_the_picture_and_the_sentence_beside_the_widget(receipt):
    viewer = timeline(receipt)
    bundle = viewer._repr_mimebundle_()
    assert bundle["text/plain"] == viewer.sentence
    assert "<svg xmlns=" in bundle["text/html"]
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == viewer.widget.model_id


def test_it_keeps_to_what_ipywidgets_7_has(receipt):
    names = {type(child).__name__ for child in timeline(receipt).widget.children}
    assert names <= {"HTML", "Image", "Button", "IntSlider", "Dropdown", "ToggleButtons", "VBox"}
    assert timeline(receipt).first.continuous_update is False


def test_callbacks_of_several_threads_end_with_one_picture_of_what_is_set(receipt):
    viewer = timeline(receipt, count=5)
    threads = [threading.Thread(target=setattr, args=(viewer.first, "value", 10 * n)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert viewer.sentence == repr(receipt.plot(viewer.first.value, 5))


def test_where_no_kernel_runs_the_window_moves_still(receipt):
    viewer = timeline(receipt, count=20)
    viewer.first.value = 40
    page = viewer._repr_mimebundle_()["text/html"]
    assert page.startswith('<div class="fluxlite-alive"><div><figure') and viewer.sentence in page
    assert viewer.alive().at() == viewer.sentence
    viewer.which.value = "only waits"
    assert viewer.alive().at(**{"from event": "1"}) == repr(receipt.plot(only_waits=True))


def test_a_receipt_with_very_many_events_is_stored_as_a_still_picture():
    r = fl.estimate(lambda x: [x + x for _ in range(301)], np.ones(2, np.float32)).receipt
    viewer = timeline(r)
    assert viewer.alive() is None and viewer._repr_mimebundle_()["text/html"] == viewer.page
