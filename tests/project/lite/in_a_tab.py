"""Steps in a lesson that runs in a browser's tab: `page` is Playwright's page, or a frame of one."""

import base64
import json
import os

PATIENCE = int(os.environ.get("FLUXLITE_PATIENCE", "120")) * 1000  # milliseconds: a busy machine starts Python slowly
CELL = ".jp-CodeCell"
ERROR = "[data-mime-type='application/vnd.jupyter.error']"


def address_of(site, name):
    return f"{site.address}notebooks/index.html?path={name}.ipynb"


def open_lesson(visit, site, name):
    page = visit.browser.new_page()
    page.goto(address_of(site, name))
    return wait_for_python(page)


def wait_for_python(page):
    """Until a lesson is there, and Python has started. `page` is a page, or a frame of one."""
    page.wait_for_selector(f"{CELL} .cm-content", timeout=PATIENCE)
    status = "window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status"
    page.wait_for_function(f"['idle', 'busy'].includes({status})", timeout=PATIENCE)
    return page


def cell_of(page, begins):
    return page.locator(CELL).filter(has=page.locator(".cm-content", has_text=begins)).first


def run(page, begins, code=None):
    """Run the cell whose code begins so, with other code in it if there's some. Gives the cell when it's done."""
    cell = cell_of(page, begins)
    cell.locator(".cm-content").click()
    if code is not None:
        keyboard = getattr(page, "page", page).keyboard
        keyboard.press("Control+A")
        keyboard.insert_text(code)
    page.evaluate(
        """(patience) => Promise.race([
            jupyterapp.commands.execute("notebook:run-cell"),
            new Promise((_, fail) => setTimeout(() => fail(new Error("the cell doesn't end")), patience)),
        ])""",
        PATIENCE,
    )
    assert cell.locator(ERROR).count() == 0, cell.inner_text()
    return cell


def guess_of_the_race(page):
    """Guess before lesson 00's race; the guess is kept."""
    choose(run(page, 'guess("00-B")'), "the CPU")
    wait_for_record(page, "guesses", "00-B", "a")


def answer_rightly(page, begins="waves = ..."):
    """Put the right answer into the cell of lesson 00's exercise that begins so, and check it; that's kept."""
    run(page, begins, "waves = 16_384")
    run(page, 'check("00.1"').get_by_text("1 of 1").first.wait_for(timeout=PATIENCE)
    wait_for_record(page, "checks", "00.1", "right")


def shows_the_guess_of_before(page):
    """Until lesson 00, opened again, shows the race's question as it was stored, and draws once it's run."""
    assert record(page)["guesses"] == {"00-B": "a"}
    stored = cell_of(page, 'guess("00-B")')
    stored.get_by_text("To play, run this cell again").wait_for(timeout=PATIENCE)
    assert stored.get_by_text("Guess 00-B").count() == 1
    run(page, "draw(trained_network())").locator("canvas").first.wait_for(timeout=PATIENCE)


def add(page, code):
    """Put a cell below the one that ran last, and run it."""
    page.evaluate("jupyterapp.commands.execute('notebook:insert-cell-below')")
    page.evaluate("(code) => jupyterapp.shell.currentWidget.content.activeCell.model.sharedModel.setSource(code)", code)
    cell = page.locator(f"{CELL}.jp-mod-active")
    page.evaluate("jupyterapp.commands.execute('notebook:run-cell')")
    assert cell.locator(ERROR).count() == 0, cell.inner_text()
    return cell


def choose(cell, answer=""):
    """Click a guess: the one with these words, or the first."""
    cell.locator("li button", has_text=answer).first.click(timeout=PATIENCE)
    cell.get_by_text("● your guess").wait_for(timeout=PATIENCE)


def file_of(page, name):
    """What a file in the browser's storage holds, as text or JSON; None if there's none."""
    found = page.evaluate(
        "(name) => jupyterapp.serviceManager.contents.get(name, {content: true}).catch(() => null)", name
    )
    if found is None:
        return None
    if found["format"] == "base64":
        return base64.b64decode(found["content"]).decode("utf-8")
    return found["content"]


def record(page):
    return json.loads(file_of(page, "progress.json") or "{}")


def wait_for_record(page, part, key, word):
    """Until it's stored that a guess or a check is `word`."""
    for _ in range(PATIENCE // 100):
        if record(page).get(part, {}).get(key) == word:
            return
        getattr(page, "page", page).wait_for_timeout(100)
    raise AssertionError(f"{part} has no {key}: {record(page)}")


def wait_until(page, promise):
    """Until a promise gives true: Playwright waits for values only."""
    for _ in range(PATIENCE // 100):
        if page.evaluate(promise):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"never true: {promise}")


def files_page(visit, site):
    """JupyterLite without a lesson, and so without Python: it has the files."""
    page = visit.browser.new_page()
    page.goto(f"{site.address}tree/index.html")
    page.wait_for_function("window.jupyterapp?.serviceManager.contents", timeout=PATIENCE)
    return page


def put(page, name, change):
    """Change a text in a file, as its owner would. An empty text is in each."""
    page.evaluate(
        """async ([name, [old, next]]) => {
            const { contents } = jupyterapp.serviceManager;
            const file = await contents.get(name, {content: true}).catch(() => null);
            if (!file) return contents.save(name, {type: "file", format: "text", content: next});
            const content = JSON.parse(JSON.stringify(file.content).replaceAll(old, next));
            await contents.save(name, {type: "notebook", format: "json", content});
        }""",
        [name, change],
    )


def save(page):
    page.evaluate("jupyterapp.commands.execute('docmanager:save')")


def kept(page):
    page.wait_for_function("document.documentElement.dataset.kept", timeout=PATIENCE)


def draw_a_digit(page, site):
    """From the start page into lesson 00, and a stroke on its pad."""
    page.goto(site.address)
    page.get_by_role("link", name="Begin with 00").click()
    page.get_by_text("Python is on its way").wait_for(timeout=PATIENCE)
    wait_for_python(page)
    cell = run(page, "draw(trained_network())")
    pad = cell.locator("canvas").first
    pad.wait_for(timeout=PATIENCE)
    box = pad.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 40, steps=10)
    page.mouse.up()
    cell.get_by_text("it reads").first.wait_for(timeout=PATIENCE)
