"""JupyterLab in a real browser, as a learner has it: the lessons run, a link opens, ■ stops a training.

Set FLUXLITE_SCREENSHOTS to a folder, and its pictures lie there for you to look at.
"""

import json
import os
import re
from pathlib import Path

import pytest
from front_ends import ROOT, WAIT, served, wait_for_kernel, wait_until

from fluxlite_course.kit.lab import SETTINGS

pytestmark = pytest.mark.slow

LESSONS = sorted(path.name for path in (ROOT / "notebooks" / "learner").glob("[0-9]*.ipynb"))
if not os.environ.get("FLUXLITE_SCREENSHOTS"):  # all of them are run without a browser as well
    LESSONS = ["00-start-here.ipynb", "04-sine-wave-rnn.ipynb"]

LONG_TRAINING = """
import numpy as np, fluxlite as fl
model = fl.Chain(fl.Dense(2, 8, np.tanh), fl.Dense(8, 1))
x = np.ones((16, 2), np.float32)
opt = fl.setup(fl.Descent(0.001), model)
begun = lambda history: print("training") if history.steps == 10 else None
loss = lambda m, x: np.sum(m(x) ** 2)
history = fl.train(loss, model, [x] * 50, opt, epochs=1_000_000, progress=False, each_step=begun)
print("stopped:", history.stopped, history.reason, history.steps > 0)
"""


@pytest.fixture(scope="module")
def lab(browser, tmp_path_factory):
    """The address of a JupyterLab over a folder with a learner's copies."""
    # The course's settings; and all cells in the page, also those that are scrolled out of sight.
    settings = json.loads((SETTINGS / "overrides.json").read_text())
    settings["@jupyterlab/notebook-extension:tracker"]["windowingMode"] = "none"
    own = {"training.ipynb": [LONG_TRAINING, "print('next cell:', model(x).shape)"]}
    with served("jupyterlab", "LabApp", tmp_path_factory.mktemp("lab"), settings, own) as address:
        yield address


@pytest.fixture
def opened(browser, lab):
    """Opens a notebook in a page of its own, and waits until its kernel is there."""
    pages = []

    def open_notebook(name):
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        pages.append(page)
        page.goto(f"{lab}/doc/tree/{name}")
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=WAIT * 1000)
        wait_for_kernel(page, lab, name)
        return page

    yield open_notebook
    for page in pages:
        page.close()


def run_all(page):
    page.click('.lm-MenuBar-itemLabel:text-is("Run")')
    page.click('li[data-command="runmenu:run-all"]')


def prompts(page):
    return page.eval_on_selector_all(
        ".jp-CodeCell .jp-InputPrompt", "cells => cells.map(cell => cell.innerText.trim())"
    )


def all_have_run(page):
    return all(re.fullmatch(r"\[\d+\]:", prompt) for prompt in prompts(page))


def outputs(page):
    return "\n".join(page.eval_on_selector_all(".jp-OutputArea-output", "areas => areas.map(area => area.innerText)"))


def take_picture(page, name):
    folder = os.environ.get("FLUXLITE_SCREENSHOTS")
    if folder:
        page.evaluate("document.querySelectorAll('*').forEach(e => { if (e.scrollTop > 0) e.scrollTop = 0 })")
        # As high as the notebook, so that one picture shows it all.
        panels = "document.querySelectorAll('.jp-WindowedPanel-outer, .jp-Notebook')"
        height = page.evaluate(f"Math.max(...Array.from({panels}, panel => panel.scrollHeight))")
        page.set_viewport_size({"width": 1100, "height": min(int(height) + 150, 16000)})
        page.wait_for_timeout(1000)
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_runs_to_its_end(opened, name):
    page = opened(name)
    run_all(page)
    wait_until(lambda: all_have_run(page), lambda: f"{name} does not come to its end: {prompts(page)}")
    take_picture(page, name.removesuffix(".ipynb"))
    assert page.locator(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.error']").count() == 0
    broken = page.eval_on_selector_all(".jp-OutputArea img", "all => all.filter(one => !one.naturalWidth).length")
    assert broken == 0, "a picture is broken"


def test_a_link_opens_another_lesson_in_the_same_window(opened):
    page = opened("00-start-here.ipynb")
    page.locator('.jp-RenderedMarkdown a:text-is("01 Arrays on a GPU")').first.click()
    page.wait_for_selector('.jp-NotebookPanel h1:has-text("01 · Arrays on a GPU")', timeout=WAIT * 1000)
    assert len(page.context.pages) == 1 and page.url.endswith("/doc/tree/01-arrays-on-a-gpu.ipynb")
    shown = page.eval_on_selector_all(".jp-NotebookPanel", "all => all.filter(one => one.offsetParent).length")
    assert shown == 1, "two lessons share the window"


def test_the_stop_button_ends_a_training_and_the_next_cell_runs(opened):
    page = opened("training.ipynb")
    run_all(page)
    wait_until(lambda: "training" in outputs(page), "the training does not begin")
    page.click('jp-button[data-command="notebook:interrupt-kernel"], [data-jp-item-name="interrupt"] jp-button')
    wait_until(lambda: "next cell" in outputs(page), "the next cell does not run")
    said = outputs(page)
    assert "stopped: True interrupted True" in said and "next cell: (16, 1)" in said and "KeyboardInterrupt" not in said
