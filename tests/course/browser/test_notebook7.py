"""Notebook 7 in a real browser: links jump to lessons and to headings, and sliders move without a mouse."""

import json
import re

import pytest
from front_ends import ROOT, WAIT, served, wait_until

from fluxlite.course.films.ball import RATES
from fluxlite.course.lab import SETTINGS

pytestmark = pytest.mark.slow

pytest.importorskip("notebook", reason="Notebook is not installed: make test EXTRAS=browser")

# A heading far down in another lesson; and, in the same, one above which there's more than a screen.
POINTS = "[there](05-sine-wave-rnn.ipynb#What-to-remember)\n\n[below](#Below)\n\n" + "line\n\n" * 80 + "## Below"


@pytest.fixture(scope="module")
def server(browser, tmp_path_factory):
    """The address of a Notebook 7 over a folder with a learner's copies."""
    home = tmp_path_factory.mktemp("notebook")
    own = {"points.ipynb": [POINTS], "ball.ipynb": ["from fluxlite.course.films.ball import balls\n\nballs()"]}
    settings = json.loads((SETTINGS / "overrides.json").read_text())
    with served("notebook", "JupyterNotebookApp", home, settings, own) as address:
        points = home / "my-course" / "points.ipynb"
        pointing = {"cell_type": "markdown", "id": "points", "metadata": {}, "source": POINTS}
        points.write_text(json.dumps({**json.loads(points.read_text()), "cells": [pointing]}))
        yield address


@pytest.fixture
def opened(browser, server):
    """Opens a notebook in a window of its own."""
    windows = []

    def open_notebook(name):
        window = browser.new_context(viewport={"width": 1000, "height": 700})
        windows.append(window)
        page = window.new_page()
        page.goto(f"{server}/notebooks/{name}")
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=WAIT * 1000)
        return page

    yield open_notebook
    for window in windows:
        window.close()


def in_sight(page, heading):
    """Whether a heading is within the window."""
    box = page.locator(f'.jp-RenderedMarkdown :is(h1, h2):has-text("{heading}")').first.bounding_box()
    return box is not None and -5 <= box["y"] <= 700


def follow(page, words, has_arrived):
    """Click a link, and return the page where it leads: this one, or a new tab.

    A page that's still busy may lose a click, so it's clicked again after a while.
    """
    for _ in range(10):
        page.locator(f'.jp-RenderedMarkdown a:has-text("{words}")').first.click()
        for _ in range(20):
            page.wait_for_timeout(500)
            newest = page.context.pages[-1]
            if has_arrived(newest):
                return newest
    raise AssertionError(f"{words} leads nowhere: {[p.url for p in page.context.pages]}")


def test_a_link_leads_into_the_next_lesson(opened):
    title = '.jp-Notebook h1:has-text("01 · Arrays on a GPU")'
    page = follow(opened("00-start-here.ipynb"), "01 Arrays on a GPU", lambda page: page.locator(title).count())
    assert page.url.endswith("/notebooks/01-arrays-on-a-gpu.ipynb")


def test_a_link_leads_to_a_heading(opened):
    page = opened("points.ipynb")
    assert not in_sight(page, "Below")
    follow(page, "below", lambda page: in_sight(page, "Below"))


def test_a_link_to_a_heading_of_another_lesson_opens_the_lesson(opened):
    """At its beginning: Notebook 7 leaves the heading away. The lessons' own links to each other have none."""
    follow(opened("points.ipynb"), "there", lambda page: page.locator('.jp-Notebook h1:has-text("05 · ")').count())
    for path in (ROOT / "notebooks" / "learner").glob("*.ipynb"):
        assert not re.search(r"\]\([\w-]+\.ipynb#", path.read_text(encoding="utf-8")), path.name


def run_first_cell(page):
    """Run it by keyboard. A page that's still busy may lose the key, so it's pressed again until the cell runs."""
    prompt = page.locator(".jp-CodeCell .jp-InputPrompt").first

    def runs():
        if prompt.inner_text().strip() == "[ ]:":
            page.locator(".jp-CodeCell .jp-InputArea").first.click()
            page.keyboard.press("Control+Enter")
            page.wait_for_timeout(2000)
        return prompt.inner_text().strip() != "[ ]:"

    wait_until(runs, "the cell doesn't run")


def test_a_slider_moves_by_the_keyboard(opened):
    """Its arrow keys don't arrive: Notebook moves to another cell. The buttons beside it do what they would."""
    page = opened("ball.ipynb")
    run_first_cell(page)
    page.wait_for_selector(".jupyter-widgets .noUi-handle", timeout=WAIT * 1000)
    rate = page.locator(".widget-readout").first
    before = rate.inner_text()
    for sign in ("›", "‹"):
        page.locator(f'.jupyter-widgets button:has-text("{sign}")').focus()
        page.keyboard.press("Space" if sign == "›" else "Enter")
        page.wait_for_function(f"{json.dumps(before)} != document.querySelector('.widget-readout').innerText")
        before = rate.inner_text()
    page.locator(".noUi-handle").focus()
    page.keyboard.press("End")
    page.wait_for_function(f"{json.dumps(before)} != document.querySelector('.widget-readout').innerText")
    assert rate.inner_text() == f"{RATES[-1]:g}"
