"""A learner runs half a lesson, saves it, and comes back: in JupyterLab, the films still play."""

import json

import pytest
from front_ends import WAIT, served, wait_for_kernel, wait_until

from fluxlite_course.kit.lab import SETTINGS

pytestmark = pytest.mark.slow

NAME, RUN = "03-how-a-model-learns.ipynb", 6  # so many cells of code: two films, and one of three questions


def lab(home):
    """JupyterLab over the same folder and the same account each time it starts."""
    settings = json.loads((SETTINGS / "overrides.json").read_text())
    settings["@jupyterlab/notebook-extension:tracker"]["windowingMode"] = "none"
    return served("jupyterlab", "LabApp", home, settings, {})


def slides(page):
    """Move the slider of each film to its end; how many said something else then."""
    films = page.locator(".fluxlite-scene:has(input[type=range])")
    films.first.wait_for(timeout=WAIT * 1000)
    moved = 0
    for film in films.all():
        before = film.locator(".fluxlite-says").text_content()
        slider = film.locator("input[type=range]").last
        slider.focus()
        page.keyboard.press("Home")
        page.keyboard.press("End")
        assert slider.input_value() == slider.get_attribute("max")
        moved += film.locator(".fluxlite-says").text_content() != before
    return moved


def is_saving(response):
    return response.request.method == "PUT" and f"/api/contents/{NAME}" in response.url


def cells(home):
    content = json.loads((home / "my-course" / NAME).read_text(encoding="utf-8"))
    return [cell for cell in content["cells"] if cell["cell_type"] == "code"]


def test_films_play_after_a_reload_and_on_the_next_day(browser, tmp_path):
    with lab(tmp_path) as address:
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        page.goto(f"{address}/doc/tree/{NAME}")
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=WAIT * 1000)
        wait_for_kernel(page, address, NAME)
        page.locator(".jp-CodeCell .jp-InputPrompt").nth(RUN).click()
        page.click('.lm-MenuBar-itemLabel:text-is("Run")')
        page.click('li[data-command="notebook:run-all-above"]')
        prompts = page.locator(".jp-CodeCell .jp-InputPrompt")
        wait_until(lambda: prompts.nth(RUN - 1).inner_text() == f"[{RUN}]:", "half of it doesn't run")
        assert slides(page) == 2
        prompts.nth(RUN - 1).click()  # a film keeps its keys to itself
        # The server empties the file before it writes it: what's in it counts once the server has answered.
        with page.expect_response(is_saving, timeout=WAIT * 1000) as answer:
            page.keyboard.press("Control+s")
        assert answer.value.ok
        assert cells(tmp_path)[RUN - 1]["execution_count"], "it isn't saved"
        page.reload()
        assert slides(page) == 2
        page.close()
    assert [cell["execution_count"] for cell in cells(tmp_path)[RUN:]] == [None] * len(cells(tmp_path)[RUN:])
    with lab(tmp_path) as address:
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        page.goto(f"{address}/doc/tree/{NAME}")
        assert slides(page) == 2
        guess = page.locator(".fluxlite-box.guess:has(button)")
        guess.locator("button.option").first.click()  # the kernel that would keep it has ended
        wait_until(lambda: "isn't kept yet" in guess.inner_text(), guess.inner_text)
        assert "run this cell again" in guess.inner_text()
        page.close()
