"""Guesses, checks and puzzles in JupyterLab: a guess is made by mouse and by keyboard, and no answer comes unasked."""

import json

import pytest
from front_ends import WAIT, served, wait_for_kernel, wait_until

pytestmark = pytest.mark.slow

IMPORT = "from fluxlite_course import check, guess, start\nstart('03')"
CELLS = {
    "guesses.ipynb": [IMPORT, 'guess("03-A")', 'guess("03-B")', 'guess("00-A")'],
    "again.ipynb": [IMPORT, 'guess("03-A")'],
}


@pytest.fixture(scope="module")
def lab(browser, tmp_path_factory):
    home = tmp_path_factory.mktemp("lab")
    with served("jupyterlab", "LabApp", home, {}, CELLS) as address:
        yield address, home / "my-course" / "progress.json"


def opened(browser, address, name):
    """A notebook that has run, and its guesses' boxes."""
    page = browser.new_page(viewport={"width": 1100, "height": 900})
    page.goto(f"{address}/doc/tree/{name}")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=WAIT * 1000)
    wait_for_kernel(page, address, name)
    page.click('.lm-MenuBar-itemLabel:text-is("Run")')
    page.click('li[data-command="runmenu:run-all"]')
    boxes = page.locator(".fluxlite-box.guess:has(button)")
    wait_until(lambda: boxes.count() == sum("guess(" in cell for cell in CELLS[name]), lambda: page.inner_text("body"))
    return page, boxes


def guessed(record):
    return json.loads(record.read_text())["guesses"] if record.exists() else {}


def test_a_guess_by_mouse_and_by_keyboard_is_kept_locked_and_answered_when_asked(browser, lab):
    address, record = lab
    page, boxes = opened(browser, address, "guesses.ipynb")
    first, second, open_question = (boxes.nth(i) for i in range(3))
    assert "is right" not in page.inner_text(".jp-Notebook") and "fmap enters only" not in page.content()

    first.locator("button.option").nth(0).click()
    wait_until(lambda: guessed(record), "the guess isn't kept")
    assert first.locator("button.option:enabled").count() == 0 and "● your guess" in first.inner_text()
    first.locator("button.show").click()
    wait_until(lambda: "b is right" in first.inner_text(), lambda: first.inner_text())
    assert "✗ not this one" in first.inner_text() and "✓ right" in first.inner_text()

    second.locator("button.option").nth(0).focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")  # the focus is on "Show the answer" now
    wait_until(lambda: "c is right" in second.inner_text(), lambda: second.inner_text())
    assert guessed(record) == {"03-A": "a", "03-B": "c"}

    open_question.locator("button.option").nth(3).click()
    wait_until(lambda: "Lesson 07 comes back to it" in open_question.inner_text(), open_question.inner_text)
    assert not open_question.locator("button.show").is_visible()
    page.close()

    page, boxes = opened(browser, address, "again.ipynb")
    assert boxes.locator("button.option:enabled").count() == 0 and "● your guess" in boxes.inner_text()
    assert boxes.locator("button.show").is_visible() and "is right" not in boxes.inner_text()
    page.close()
