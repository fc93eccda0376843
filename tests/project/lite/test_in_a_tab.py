"""What a learner does in a browser tab: play, guess, check, come back, hand in."""

import json
import re
import shutil

import pytest
from conftest import served

PATIENCE = 120_000  # milliseconds: a busy machine starts Python slowly


def open_lesson(visit, address, name):
    page = visit.browser.new_page()
    page.goto(f"{address}notebooks/index.html?path={name}.ipynb")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell .cm-content", timeout=PATIENCE)
    page.wait_for_function(
        "['idle', 'busy'].includes(window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.status)",
        timeout=PATIENCE,
    )
    return page


def run(page, begins):
    """Run the cell whose code begins so, and wait until it's done. Gives the cell."""
    cell = page.locator(".jp-CodeCell", has_text=begins).first
    cell.scroll_into_view_if_needed()
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    prompt = cell.locator(".jp-InputArea-prompt").first
    prompt.filter(has_text=re.compile(r"\[\d+\]")).wait_for(timeout=PATIENCE)
    assert not cell.locator("[data-mime-type='application/vnd.jupyter.error']").count(), cell.inner_text()
    return cell


def write(page, begins, code):
    """Put other code into the cell whose code begins so, and run it."""
    cell = page.locator(".jp-CodeCell", has_text=begins).first
    cell.scroll_into_view_if_needed()
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(code)
    page.keyboard.press("Control+Enter")
    return cell


def file_of(page, name):
    """What a file in the browser's storage holds; None if there's none."""
    return page.evaluate(
        """async (name) => {
            try {
                const file = await jupyterapp.serviceManager.contents.get(name, {content: true});
                return file.content;
            } catch { return null; }
        }""",
        name,
    )


def record(page):
    text = file_of(page, "progress.json")
    return {} if text is None else (json.loads(text) if isinstance(text, str) else text)


def wait_for_record(page, part, key):
    for _ in range(100):
        if key in record(page).get(part, {}):
            return record(page)[part][key]
        page.wait_for_timeout(100)
    raise AssertionError(f"{part} has no {key}: {record(page)}")


def save(page):
    page.keyboard.press("Escape")
    page.keyboard.press("Control+s")
    page.wait_for_function("!jupyterapp.shell.currentWidget.context.model.dirty", timeout=PATIENCE)


# ----------------------------------------------------------------------------------------------------------------------


def test_a_newcomer_draws_bets_and_finds_it_all_again_without_a_network(visit, address):
    first = visit()
    page = first.browser.new_page()
    page.goto(address)
    page.get_by_role("link", name="Begin with 00").click()
    page.wait_for_selector("#fluxlite-line progress", timeout=PATIENCE)
    page = open_lesson(first, address, "00-start-here")
    cell = run(page, "draw(trained_network())")
    pad = cell.locator("canvas").first
    pad.wait_for(timeout=PATIENCE)
    box = pad.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] - 40, steps=10)
    page.mouse.up()
    cell.get_by_text("it reads").first.wait_for(timeout=PATIENCE)

    cell = run(page, 'guess("00-B")')
    cell.get_by_text("the CPU", exact=True).click()
    assert wait_for_record(page, "guesses", "00-B") == "a"
    run(page, "digits_race()")
    save(page)
    page.wait_for_function(
        "caches.keys().then(async names => names.some(name => name.startsWith('fluxlite'))"
        " && (await (await caches.open(names.find(name => name.startsWith('fluxlite')))).keys()).length > 400)",
        timeout=PATIENCE,
    )
    assert first.elsewhere == []
    assert first.missing == []
    first.close()

    second = visit()
    page = second.browser.new_page()
    second.browser.set_offline(True)
    page = open_lesson(second, address, "00-start-here")
    assert record(page)["guesses"] == {"00-B": "a"}
    cell = run(page, 'guess("00-B")')
    cell.get_by_text("You said").first.wait_for(timeout=PATIENCE)


def test_a_check_is_kept_and_two_tabs_lose_nothing(visit, address):
    one = visit()
    first, second = (open_lesson(one, address, "05-waiting-for-the-gpu") for _ in range(2))
    for page, question in ((first, "05-A"), (second, "05-B")):
        run(page, "from fluxlite_course.lesson05")
        cell = run(page, f'guess("{question}")')
        cell.locator("button").first.click()
    for page, question in ((first, "05-A"), (second, "05-B")):
        wait_for_record(page, "guesses", question)
    assert set(record(first)["guesses"]) >= {"05-A", "05-B"}


def test_all_work_goes_into_one_file_and_comes_back_beside_what_is_there(visit, address, tmp_path):
    here = visit("here")
    page = open_lesson(here, address, "09-reads-your-digit")
    write(page, "from fluxlite_course.lesson09", "open('mine.txt', 'w').write('my notes')")
    page.wait_for_function(
        "jupyterapp.serviceManager.contents.get('mine.txt').then(() => true, () => false)", timeout=PATIENCE
    )
    save(page)
    start = here.browser.new_page()
    start.goto(address)
    with start.expect_download(timeout=PATIENCE) as download:
        start.get_by_role("button", name="Save my work").click()
    file = tmp_path / "work.json"
    download.value.save_as(file)
    work = json.loads(file.read_text(encoding="utf-8"))
    assert work["files"]["mine.txt"]["content"] == "my notes"

    there = visit("there")
    page = open_lesson(there, address, "09-reads-your-digit")
    write(page, "from fluxlite_course.lesson09", "'another change'")
    page.wait_for_timeout(1000)
    save(page)
    start = there.browser.new_page()
    start.goto(address)
    start.get_by_label("Bring work back").set_input_files(file)
    start.get_by_text("files came back").wait_for(timeout=PATIENCE)
    page.bring_to_front()
    assert file_of(page, "mine.txt") == "my notes"
    assert "another change" in json.dumps(file_of(page, "09-reads-your-digit.ipynb"))
    assert "my notes" in json.dumps(file_of(page, "09-reads-your-digit, restored.ipynb"))


@pytest.mark.parametrize("content", ["{", '{"kind": "other"}', '{"kind": "fluxlite work", "files": {"../x": {}}}'])
def test_a_file_that_is_not_ones_work_changes_nothing(visit, address, tmp_path, content):
    one = visit()
    file = tmp_path / "work.json"
    file.write_text(content, encoding="utf-8")
    start = one.browser.new_page()
    start.goto(address)
    start.get_by_label("Bring work back").set_input_files(file)
    start.get_by_text("Nothing was changed").wait_for(timeout=PATIENCE)


def test_a_newer_lesson_comes_beside_the_learners_copy(visit, folder, tmp_path):
    site = tmp_path / "site"
    shutil.copytree(folder, site)
    lesson = site / "files" / "00-start-here.ipynb"
    with served(site) as address:
        one = visit()
        page = open_lesson(one, address, "00-start-here")
        write(page, "draw(trained_network())", "'my own line'")
        page.wait_for_timeout(1000)
        save(page)
        page.wait_for_function("localStorage.getItem('fluxlite work')", timeout=PATIENCE)
        page.close()

        lesson.write_text(lesson.read_text(encoding="utf-8").replace("Start here", "Start right here"), "utf-8")
        versions = site / "static" / "fluxlite" / "lessons.json"
        known = json.loads(versions.read_text(encoding="utf-8"))
        known["00-start-here.ipynb"] = "another"
        versions.write_text(json.dumps(known), encoding="utf-8")
        worker = site / "service-worker.js"
        worker.write_text(re.sub('BUILD = "', 'BUILD = "newer', worker.read_text(encoding="utf-8")), "utf-8")
        page = one.browser.new_page()
        page.goto(address)
        page.wait_for_timeout(2000)
        page.close()  # the worker of the new build waits until no tab shows the old one

        page = open_lesson(one, address, "00-start-here")
        page.get_by_text("There's a newer edition of a lesson").wait_for(timeout=PATIENCE)
        assert "my own line" in json.dumps(file_of(page, "00-start-here.ipynb"))
        assert "Start right here" in json.dumps(file_of(page, "00-start-here, newer.ipynb"))
