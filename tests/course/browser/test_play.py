"""What you can play with, in JupyterLab and in Notebook 7, light and dark, by mouse and by keyboard.

Set FLUXLITE_SCREENSHOTS to a folder, and its pictures lie there for you to look at.
"""

import json
import os
import re
from pathlib import Path

import pytest
from browsers import serious
from front_ends import WAIT, served, wait_for_kernel, wait_until

from fluxlite_course.kit.lab import SETTINGS

pytestmark = pytest.mark.slow

pytest.importorskip("notebook", reason="Notebook is not installed: make test EXTRAS=browser")

CELLS = [
    "import numpy as np, fluxlite as fl\nfrom fluxlite.cuda import jit\nfrom fluxlite_course import busiest, check, "
    "guess, start\nfrom fluxlite_course.lesson08 import microscope\nfrom fluxlite_course.lesson09 import draw, "
    "trained_network\nstart('03')\n_ = fl.simulate_gpu()",
    "draw(trained_network())",
    'guess("02-C")',
    'guess("02-D")',
    'check("00.1", ...)',
    "%%machine guess\nx = fl.gpu(np.ones(5, np.float32))\ntotal = float((x * 2).sum())",
    "%%puzzle 05-1\ndef steps(x, W):\n    total, largest = 0.0, 0.0\n    for _ in range(20):\n"
    "        x = np.tanh(x @ W)\n"
    "        total = total + float(np.mean(x**2))\n        largest = max(largest, float(np.max(x)))\n"
    "    return total, largest",
    "@jit.rawkernel()\ndef twice(x, out):\n    i = int(jit.grid(1))\n    if i < 50:\n        out[i] = 2 * x[i]\n\n"
    "x = fl.gpu(np.ones(64, np.float32))\nmicroscope(twice, 1, 64, (x, np.zeros_like(x)))",
    "busiest(batch=(64, 1024), cards=(1, 2))",
    "guess('00-A')",
    "from IPython.display import Markdown\nMarkdown('a few words ' * 100)",
]
SEVEN = [(8, 4), (20, 4), (17, 12), (13, 24)]  # its corners, in cells of the sheet
FRONT_ENDS = {"lab": ("jupyterlab", "LabApp", "doc/tree"), "notebook": ("notebook", "JupyterNotebookApp", "notebooks")}
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}


@pytest.fixture(scope="module", params=[(end, theme) for end in FRONT_ENDS for theme in THEMES], ids="-".join)
def page(request, browser, tmp_path_factory):
    """The notebook's page when all of it has run, and where its record of progress is."""
    end, theme = request.param
    module, app, path = FRONT_ENDS[end]
    home = tmp_path_factory.mktemp(f"{end}-{theme}")
    settings = json.loads((SETTINGS / "overrides.json").read_text())
    settings["@jupyterlab/notebook-extension:tracker"] = {"windowingMode": "none"}
    chosen = home / "JUPYTER_CONFIG_DIR/lab/user-settings/@jupyterlab/apputils-extension/themes.jupyterlab-settings"
    chosen.parent.mkdir(parents=True)  # Notebook takes no other folder of settings than the user's
    chosen.write_text(json.dumps({"theme": THEMES[theme]}))
    with served(module, app, home, settings, {"play.ipynb": CELLS}) as address:
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(f"{address}/{path}/play.ipynb")
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=WAIT * 1000)
        wait_for_kernel(page, address, "play.ipynb")
        page.click('.lm-MenuBar-itemLabel:text-is("Run")')
        page.click('li[data-command="runmenu:run-all"]')
        boxes = page.locator(".fluxlite-box.guess:has(button)")
        wait_until(lambda: boxes.count() == 3, lambda: page.inner_text("body"))
        themed = page.locator(f'body[data-jp-theme-light="{"true" if theme == "light" else "false"}"]')
        wait_until(themed.count, "another theme")
        page.record, page.kind = home / "my-course" / "progress.json", "-".join(request.param)
        yield page
        take_pictures(page)
        page.close()


def take_pictures(page):
    folder = os.environ.get("FLUXLITE_SCREENSHOTS")
    for width in (1400, 1024) if folder else ():
        panels = "document.querySelectorAll('.jp-WindowedPanel-outer, .jp-Notebook')"
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("document.querySelectorAll('*').forEach(e => { if (e.scrollTop > 0) e.scrollTop = 0 })")
        height = page.evaluate(f"Math.max(...Array.from({panels}, panel => panel.scrollHeight))")
        page.set_viewport_size({"width": width, "height": min(int(height) + 150, 16000)})
        page.wait_for_timeout(1000)
        page.screenshot(path=str(Path(folder) / f"play-{page.kind}-{width}.png"))


def scene(page, words):
    """The scene whose picture has these words in its name, and what it says."""
    found = page.locator(f'.fluxlite-scene:has(svg[aria-label*="{words}"])')
    found.wait_for(timeout=WAIT * 1000)
    return found, lambda: found.locator(".fluxlite-says").text_content()


def guessed(page):
    return json.loads(page.record.read_text())["guesses"] if page.record.exists() else {}


def test_a_guess_is_kept_locked_and_answered_when_asked(page):
    first, second, third = (page.locator(".fluxlite-box.guess:has(button)").nth(i) for i in range(3))
    assert "functor lets later" not in page.content()
    first.locator("button.option").nth(0).click()
    wait_until(lambda: guessed(page), "the guess isn't kept")
    assert first.locator("button.option:enabled").count() == 0 and "● your guess" in first.inner_text()
    first.locator("button.show").click()
    wait_until(lambda: "b is right" in first.inner_text(), first.inner_text)
    assert "✗ not this one" in first.inner_text() and "✓ right" in first.inner_text()

    second.locator("button.option").nth(0).focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")  # the focus is on "Show the answer" now
    wait_until(lambda: "a is right" in second.inner_text(), second.inner_text)
    assert guessed(page) == {"02-C": "a", "02-D": "c"}

    third.locator("button.option").nth(3).click()
    wait_until(lambda: "Lesson 06 comes back to it" in third.inner_text(), third.inner_text)
    assert not third.locator("button.show").is_visible()


def test_checks_and_puzzles_have_a_face(page):
    assert "not yet" in page.locator(".fluxlite-box:has-text('00.1')").text_content()
    puzzle = page.locator(".fluxlite-box:has-text('05-1')").text_content()
    assert "above par" in puzzle and "waits" in puzzle


def test_text_boxes_and_pictures_are_equally_wide(page):
    of = {
        "text": ".jp-RenderedMarkdown p",
        "box": ".fluxlite-box.guess",
        "picture": ".fluxlite-scene",
    }
    widths = {name: page.locator(selector).first.bounding_box()["width"] for name, selector in of.items()}
    assert max(widths.values()) - min(widths.values()) < 8, widths


def test_the_machine_flies_once_you_have_guessed(page):
    machine, said = scene(page, "A cell, and what it did")
    before = said()
    machine.locator("[data-pick]").nth(0).click()
    assert said() != before
    slider = machine.locator("input[type=range]")
    guess = said()
    slider.focus()
    page.keyboard.press("End")
    assert said() != guess and slider.input_value() == slider.get_attribute("max")


def test_the_microscope_moves_by_keyboard_and_by_mouse(page):
    microscope, said = scene(page, "Under the microscope")
    before = said()
    microscope.locator("input[type=range]").focus()
    page.keyboard.press("ArrowRight")
    wait_until(lambda: said() != before, before)  # and no other cell is chosen by the key
    here = said()
    microscope.get_by_label("1 of block 0", exact=True).click()
    wait_until(lambda: said() != here, here)


def test_the_busiest_changes_with_its_knobs(page):
    busiest, said = scene(page, "Three steps of training")
    before = said()
    busiest.get_by_label("1,024", exact=True).click()
    wait_until(lambda: said() != before, before)
    here = said()
    page.keyboard.press("ArrowLeft")
    wait_until(lambda: said() == before != here, said)


def test_a_digit_is_drawn_and_the_layers_follow(page):
    paper, verdict = page.locator("canvas[role=application]"), page.locator(".fluxlite-pad .verdict")
    first_layer = "() => [...document.querySelectorAll('.maps canvas')].slice(1, 9).map(one => one.toDataURL()).join()"
    paper.wait_for(timeout=WAIT * 1000)
    paper.scroll_into_view_if_needed()

    def reads(words, how):  # the digit stands on a line of its own
        wait_until(lambda: words == verdict.text_content(), lambda: f"{how}: {verdict.text_content()}")

    reads("it reads3", "at first")
    frame, before = paper.bounding_box(), page.evaluate(first_layer)
    place = verdict.bounding_box()
    assert frame["y"] <= place["y"] < frame["y"] + frame["height"] / 4, "the answer isn't beside what you draw"
    corners = [(frame["x"] + frame["width"] * x / 28, frame["y"] + frame["height"] * y / 28) for x, y in SEVEN]
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in corners[1:]:
        page.mouse.move(*corner, steps=5)
    page.mouse.up()
    reads("it reads7", "with the mouse, on a sheet without the example")
    assert page.evaluate(first_layer) != before, "the layers don't move"
    clear = page.locator('.fluxlite-pad button:text-is("Clear")')
    clear.click()
    reads("nothing yet", "cleared")

    clear.click()
    page.keyboard.press("Shift+Tab")  # at once: the sheet is the same one, so no key is lost
    page.keyboard.press("Space")
    for _ in range(18):
        page.keyboard.press("ArrowDown")  # would move to another cell if the pad didn't keep its keys
    reads("it reads1", "with the keyboard")
    status = page.locator(".fluxlite-pad [role=status]")
    wait_until(lambda: status.text_content().startswith("It reads 1"), "a screen reader isn't told")
    page.locator('.fluxlite-pad button:text-is("4")').click()
    reads("it reads4", "an example, stroke by stroke")


def test_axe_finds_nothing_serious(page):
    for kind in (".fluxlite-box", ".fluxlite-scene", ".fluxlite-pad"):
        assert serious(page, kind) == []


def test_shift_enter_runs_a_cell_from_a_picture_and_from_an_answer(page):
    def last():
        return max(map(int, re.findall(r"\[(\d+)\]", " ".join(page.locator(".jp-InputPrompt").all_inner_texts()))))

    for place in ".fluxlite-scene input[type=range]", ".fluxlite-box.guess .reply":
        before = last()
        page.locator(place).first.focus()
        page.keyboard.press("Shift+Enter")
        wait_until(lambda before=before: last() > before, last)
