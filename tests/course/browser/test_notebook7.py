"""Notebook 7 in a real browser: sliders move without a mouse."""

import json

import pytest
from front_ends import WAIT, served, wait_for_kernel, wait_until

from fluxlite_course.kit.lab import SETTINGS
from fluxlite_course.lesson03.pictures import RATES

pytestmark = pytest.mark.slow

pytest.importorskip("notebook", reason="Notebook is not installed: make test EXTRAS=browser")


@pytest.fixture(scope="module")
def server(browser, tmp_path_factory):
    """The address of a Notebook 7 over a folder with a learner's copies."""
    home = tmp_path_factory.mktemp("notebook")
    own = {"ball.ipynb": ["from fluxlite_course.lesson03.pictures import balls\n\nballs()"]}
    settings = json.loads((SETTINGS / "overrides.json").read_text())
    with served("notebook", "JupyterNotebookApp", home, settings, own) as address:
        yield address


@pytest.fixture
def page(browser, server):
    """The notebook's page, when its kernel is there."""
    page = browser.new_page(viewport={"width": 1000, "height": 700})
    page.goto(f"{server}/notebooks/ball.ipynb")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=WAIT * 1000)
    wait_for_kernel(page, server, "ball.ipynb")
    yield page
    page.close()


def test_a_slider_moves_by_the_keyboard(page):
    """Its arrow keys don't arrive: Notebook moves to another cell. The buttons beside it do what they would."""
    page.locator(".jp-CodeCell .jp-InputArea").first.click()
    page.keyboard.press("Control+Enter")
    wait_until(page.locator(".jupyter-widgets .noUi-handle").count, lambda: f"no slider: {page.inner_text('body')}")
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
