"""Notebook 7 in a real browser: sliders move without a mouse."""

import json
import warnings

import pytest
from front_ends import WAIT, served, wait_until

from fluxlite_course.kit.lab import SETTINGS
from fluxlite_course.lesson03.pictures import RATES

pytestmark = pytest.mark.slow

pytest.importorskip("notebook", reason="Notebook is not installed: make test EXTRAS=browser")

TooLate = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").TimeoutError
NAMES = ["ball.ipynb", "again.ipynb", "once-more.ipynb"]  # the same notebook: each gets a kernel of its own


@pytest.fixture(scope="module")
def server(browser, tmp_path_factory):
    """The address of a Notebook 7 over a folder with a learner's copies."""
    home = tmp_path_factory.mktemp("notebook")
    own = dict.fromkeys(NAMES, ["from fluxlite_course.lesson03.pictures import balls\n\nballs()"])
    settings = json.loads((SETTINGS / "overrides.json").read_text())
    with served("notebook", "JupyterNotebookApp", home, settings, own) as address:
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


def with_sliders(opened):
    """A page that shows them. A kernel was twice seen to answer nothing on a busy machine, so another gets its turn.

    What the page showed instead is a warning: pytest prints it.
    """
    shown = ""
    for name in NAMES:
        page = opened(name)
        run_first_cell(page)
        try:
            page.wait_for_selector(".jupyter-widgets .noUi-handle", timeout=WAIT * 1000 / len(NAMES))
            return page
        except TooLate:
            shown = f"{name} shows no slider:\n{page.inner_text('body')}"
            warnings.warn(shown, stacklevel=1)
    pytest.fail(shown)


@pytest.mark.filterwarnings("default:.* shows no slider")
def test_a_slider_moves_by_the_keyboard(opened):
    """Its arrow keys don't arrive: Notebook moves to another cell. The buttons beside it do what they would."""
    page = with_sliders(opened)
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
