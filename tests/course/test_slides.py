"""Slides: one section each, nothing loaded from elsewhere, exercises to do, and no answers."""

import html
import re

import browsers
import pytest

from fluxlite_course.kit.boxes import marked
from fluxlite_course.kit.guesses import questions
from tools import notebooks
from tools.slides import make

NAME = "05-waiting-for-the-gpu.ipynb"


@pytest.fixture(scope="module")
def page():
    return make.slides(NAME)


def test_each_section_is_a_slide():
    for path in notebooks.lessons():
        lesson = notebooks.read(path)
        text = "\n".join(cell["source"] for cell in lesson["cells"] if cell["cell_type"] == "markdown")
        code = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
        assert len(make.sections(lesson)) == len(re.findall(r"^#{1,3} ", code, re.MULTILINE)), path.name


def test_nothing_is_loaded_from_elsewhere(page):
    assert re.findall(r'(?:src|href)="(?!data:|#)([^"]*)"', page) == [] and "@import" not in page
    assert not re.search(r"url\((?!data:)", page)


def test_questions_stand_there_without_their_answers_and_exercises_without_solutions(page):
    words = html.unescape(page)
    for asks in questions("05").values():
        assert marked(asks.words) in page
        assert not any(marked(reply) in page for reply in asks.replies.values())
    assert notebooks.STUB in re.sub("<[^>]*>", "", words) and "SOLUTION" not in words


def test_what_is_below_a_question_waits():
    for path in notebooks.lessons():
        for cells in make.sections(notebooks.read(path)):
            *asked, _ = make.up_to_guesses(cells)
            assert sum(asked, []) == cells[: len(sum(asked, []))]
            for part in asked:
                asks = [cell for cell in part if notebooks.GUESS.search(cell["source"])]
                assert asks == part[-1:]


@pytest.mark.slow
def test_keys_turn_the_slides_and_a_picture_on_one_moves(page, tmp_path):
    file = tmp_path / "slides.html"
    file.write_text(page, encoding="utf-8")
    with browsers.chromium() as starter:
        chromium = starter.launch(executable_path=browsers.CHROMIUM, args=browsers.OPTIONS)
        tab = chromium.new_page(viewport={"width": 1920, "height": 1080})
        wrong = []
        tab.on("pageerror", lambda error: wrong.append(error))
        tab.goto(file.as_uri())
        shown = tab.locator(".one-slide.now")
        assert "Waiting for the GPU" in shown.locator("h1").inner_text()
        tab.keyboard.press("PageDown")
        assert "The order and the meal" in shown.locator("h2").inner_text()
        says = shown.locator(".fluxlite-says").first
        before = says.inner_text()
        shown.locator("input[type=range]").first.press("End")
        assert says.inner_text() != before and shown.count() == 1  # the slide stays
        tab.evaluate("document.activeElement.blur()")
        for _ in range(20):
            tab.keyboard.press("PageDown")
            if shown.locator("ul li.option").count() and shown.locator(".later[hidden]").count() == 0:
                break
        assert shown.locator(".later").first.is_visible() and shown.locator(".later [class*=highlight]").count()
        tab.keyboard.press("Home")
        assert "Waiting for the GPU" in shown.locator("h1").inner_text()
        assert not wrong
        chromium.close()
