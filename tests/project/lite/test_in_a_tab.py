"""What a learner does in a browser tab: play, guess, check, come back, hand in."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

from in_a_tab import (
    CELL,
    PATIENCE,
    add,
    address_of,
    answer_rightly,
    choose,
    draw_a_digit,
    file_of,
    files_page,
    guess_of_the_race,
    kept,
    open_lesson,
    put,
    record,
    run,
    save,
    shows_the_guess_of_before,
    wait_for_python,
    wait_for_record,
    wait_until,
)

from conftest import Counting, Site

# -- one person -------------------------------------------------------------------------------------------------------


def test_a_newcomer_plays_comes_back_without_a_network_and_hands_in(visit, site, tmp_path):
    before = Counting.sent
    first = visit()
    page = first.browser.new_page()
    draw_a_digit(page, site)
    guess_of_the_race(page)
    run(page, "digits_race()")
    run(page, "waves = ...", "waves = 12")
    run(page, 'check("00.1"').get_by_text("not right").first.wait_for(timeout=PATIENCE)
    answer_rightly(page, "waves = 12")
    save(page)
    add(page, "%run -m fluxlite handin Ada Lovelace")
    with page.expect_download(timeout=PATIENCE) as download:
        page.get_by_role("link", name="Save handin-Ada-Lovelace.zip").click(timeout=PATIENCE)
    folder = tmp_path / "class"
    folder.mkdir()
    download.value.save_as(folder / "handin-Ada-Lovelace.zip")
    command = [sys.executable, "-m", "fluxlite", "class", str(folder)]
    seen = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, "COLUMNS": "120"})
    assert re.search(r"Ada Lovelace .*\+", seen.stdout), seen.stdout
    kept(page)
    assert Counting.sent - before < 60e6

    tabs = len(first.browser.pages)
    page.get_by_role("link", name="01 Arrays on a GPU").first.click()
    page.wait_for_url("**path=01-arrays-on-a-gpu.ipynb", timeout=PATIENCE)
    assert len(first.browser.pages) == tabs
    first.close()

    site.stop()
    second = visit()
    page = open_lesson(second, site, "00-start-here")
    shows_the_guess_of_before(page)
    run(page, 'guess("00-B")').get_by_text("● your guess").wait_for(timeout=PATIENCE)
    run(page, "waves = 16_384")
    site.start()


def test_on_a_tablet_in_a_page_of_ones_own_and_in_one_of_someone_else(visit, site, tmp_path):
    one = visit(width=800)
    frame = f'<iframe src="{address_of(site, "09-reads-your-digit")}" width="780" height="860"></iframe>'
    (tmp_path / "outside.html").write_text(frame, encoding="utf-8")
    other = Site(tmp_path)
    page = one.browser.new_page()
    page.goto(f"{other.address}outside.html")
    frame = wait_for_python(page.wait_for_selector("iframe").content_frame())
    run(frame, "from fluxlite_course.lesson09")
    run(frame, "pad = draw(trained_network())").locator("canvas").first.wait_for(timeout=PATIENCE)
    choose(run(frame, 'guess("09-A")'))
    run(frame, "shapes = ...", "shapes = [(32, 8, 8, 4), (32, 4, 4, 4), (32, 2, 2, 6), (32, 24), (32, 10)]")
    run(frame, 'check("09.1"').get_by_text("1 of").first.wait_for(timeout=PATIENCE)
    wait_for_record(frame, "checks", "09.1", "right")

    # A page of another site, whose frames get no storage from this browser.
    page.goto(f"{other.address.replace('127.0.0.1', 'localhost')}outside.html")
    frame = page.wait_for_selector("iframe").content_frame()
    with one.browser.expect_page() as opened:
        frame.get_by_role("link", name="Open it in a tab of its own").click(timeout=PATIENCE)
    wait_for_python(opened.value)
    assert record(opened.value)["checks"] == {"09.1": "right"}
    opened.value.close()

    page.goto(address_of(site, "07-making-the-gpu-win"))
    wait_for_python(page)
    run(page, "from fluxlite_course.lesson07").get_by_text("the whole width is 3 steps").wait_for(timeout=PATIENCE)
    run(page, "def predict", "def predict(x, w1, w2):\n    return x")
    run(page, 'check("07.1"').get_by_text("not right").first.wait_for(timeout=PATIENCE)
    other.stop()


# -- what could get lost ----------------------------------------------------------------------------------------------

MANY = """from fluxlite_course.kit import progress
for i in range({count}):
    progress.keep("guesses", f"{name}-{{i}}", "a")
    print(i, flush=True)"""


def test_two_tabs_and_one_that_is_killed_lose_nothing_that_was_confirmed(visit, site):
    one = visit()
    first = open_lesson(one, site, "05-waiting-for-the-gpu")
    second = open_lesson(one, site, "07-making-the-gpu-win")
    for page, lesson in ((first, "05"), (second, "07")):
        run(page, f"from fluxlite_course.lesson{lesson}")
        choose(run(page, f'guess("{lesson}-A")'))
    for question in ("05-A", "07-A"):
        wait_for_record(first, "guesses", question, "a")
    for page, name in ((first, "one"), (second, "two")):
        page.evaluate(
            "([code]) => { window.done = false; jupyterapp.commands.execute('notebook:insert-cell-below').then(() => {"
            " jupyterapp.shell.currentWidget.content.activeCell.model.sharedModel.setSource(code);"
            " return jupyterapp.commands.execute('notebook:run-cell'); }).then(() => { window.done = true; }); }",
            [MANY.format(count=25, name=name)],
        )
    for page in (first, second):
        page.wait_for_function("window.done", timeout=PATIENCE)
    assert set(record(first)["guesses"]) >= {f"{name}-{i}" for name in ("one", "two") for i in range(25)}
    third = one.browser.new_page()
    third.goto(address_of(site, "05-waiting-for-the-gpu"))
    third.get_by_text("This lesson is open in another tab, too").wait_for(timeout=PATIENCE)
    third.close()

    second.close()
    first.evaluate(
        "([code]) => { jupyterapp.shell.currentWidget.content.activeCell.model.sharedModel.setSource(code);"
        " jupyterapp.commands.execute('notebook:run-cell'); }",
        [MANY.format(count=10_000, name="killed")],
    )
    output = first.locator(f"{CELL}.jp-mod-active .jp-OutputArea-output").first
    first.wait_for_function(
        "document.querySelector('.jp-CodeCell.jp-mod-active .jp-OutputArea-output')?.innerText.includes('12')",
        timeout=PATIENCE,
    )
    confirmed = [int(number) for number in output.inner_text().split()]
    with first.expect_event("crash", timeout=PATIENCE):
        one.kill_tabs()  # in the middle of a save
    first.close()
    page = open_lesson(one, site, "05-waiting-for-the-gpu")
    assert set(record(page)["guesses"]) >= {f"killed-{number}" for number in confirmed}
    run(page, "from fluxlite_course.lesson05")
    run(page, "waits = ...", "waits = 5")
    run(page, 'check("05.1"')
    wait_for_record(page, "checks", "05.1", "right")


SLOWLY = """async () => {
    const { contents } = jupyterapp.serviceManager;
    const get = contents.get.bind(contents);
    contents.get = async (...what) => {
        await new Promise((done) => setTimeout(done, 1000));
        return get(...what);
    };
    const model = jupyterapp.shell.currentWidget.context.model;
    for (const words of ["# one", "# two"]) {
        model.cells.get(1).sharedModel.setSource(words);
        document.dispatchEvent(new Event("visibilitychange"));
        await new Promise((done) => setTimeout(done, 500));
    }
    model.cells.get(1).sharedModel.setSource("# three");
}"""


def test_saves_that_meet_ask_nothing_and_keep_what_is_typed_meanwhile(visit, site):
    page = visit().browser.new_page()
    page.goto(address_of(site, "00-start-here"))
    page.wait_for_selector(f"{CELL} .cm-content", timeout=PATIENCE)
    page.wait_for_function("jupyterapp.shell.currentWidget?.context?.model.cells.length > 5", timeout=PATIENCE)
    page.wait_for_timeout(1000)  # JupyterLab takes two saves within half a second for one
    page.evaluate(SLOWLY)
    stored = "jupyterapp.serviceManager.contents.get('00-start-here.ipynb', {content: true})"
    dialog = "document.querySelector('.jp-Dialog') !== null"
    wait_until(page, f"{stored}.then((file) => JSON.stringify(file).includes('# three') || {dialog})")
    assert page.get_by_role("dialog").count() == 0
    wait_until(page, "!jupyterapp.shell.currentWidget.context.model.dirty")


def test_a_full_storage_is_said_and_what_was_kept_before_stays(visit, site, tmp_path):
    first = visit()
    page = files_page(first, site)
    put(page, "mine.txt", ["", "my notes"])
    page.wait_for_function("navigator.serviceWorker.controller", timeout=PATIENCE)
    first.close()

    second = visit()
    start = second.browser.new_page()
    start.goto(site.address)
    devtools = second.browser.new_cdp_session(start)
    quota = {"origin": site.origin}
    devtools.send("Storage.overrideQuotaForOrigin", {**quota, "quotaSize": 1000})
    page = open_lesson(second, site, "00-start-here")
    run(page, "draw(trained_network())")
    guess = run(page, 'guess("00-C")')
    choose(guess, "the CPU")
    guess.get_by_text("Your guess couldn't be written").wait_for(timeout=PATIENCE)
    page.get_by_text("This browser has no room left").wait_for(timeout=PATIENCE)
    assert page.get_by_text("guess is kept").count() == 0
    with page.expect_download(timeout=PATIENCE) as download:
        page.get_by_role("button", name="Save all of it to a file").click()
    download.value.save_as(tmp_path / "work.json")
    files = json.loads((tmp_path / "work.json").read_text(encoding="utf-8"))["files"]
    assert json.loads(files["progress.json"]["content"])["guesses"] == {"00-C": "b"}
    assert files["mine.txt"]["content"] == "my notes"
    assert '"text/html"' in json.dumps(files["00-start-here.ipynb"]["content"])  # as on the screen: a copy has none
    assert record(page) == {}
    page.get_by_title("Close this line").click()
    for _ in range(2):
        save(page)  # as JupyterLab does by itself, again and again
    assert page.get_by_role("dialog").count() == 0
    assert page.get_by_text("This browser has no room left").count() == 0
    assert file_of(page, "mine.txt") == "my notes"
    devtools.send("Storage.overrideQuotaForOrigin", quota)
    run(page, "waves = ...", "waves = 16_384")
    run(page, 'check("00.1"')
    wait_for_record(page, "checks", "00.1", "right")
    assert record(page)["guesses"] == {"00-C": "b"}
    run(page, 'guess("00-C")').get_by_text("Your guess is kept").wait_for(timeout=PATIENCE)
    save(page)
    page.get_by_text("There's room again").wait_for(timeout=PATIENCE)


# -- files ------------------------------------------------------------------------------------------------------------


def test_all_work_goes_into_one_file_and_comes_back_beside_what_is_there(visit, site, tmp_path):
    here = visit("here")
    page = files_page(here, site)
    put(page, "mine.txt", ["", "my notes"])
    put(page, "09-reads-your-digit.ipynb", ["reads your digit", "My own title"])
    start = here.browser.new_page()
    start.goto(site.address)
    with start.expect_download(timeout=PATIENCE) as download:
        start.get_by_role("button", name="Save my work").click()
    file = tmp_path / "work.json"
    download.value.save_as(file)
    assert json.loads(file.read_text(encoding="utf-8"))["files"]["mine.txt"]["content"] == "my notes"

    there = visit("there")
    page = files_page(there, site)
    put(page, "09-reads-your-digit.ipynb", ["reads your digit", "Another title"])
    start = there.browser.new_page()
    start.goto(site.address)
    for wrong in ("{", '{"kind": "other"}', '{"kind": "fluxlite work", "files": {"../x": {}}}'):
        (tmp_path / "wrong.json").write_text(wrong, encoding="utf-8")
        start.get_by_label("Bring work back").set_input_files(tmp_path / "wrong.json")
        start.get_by_text("Nothing was changed").wait_for(timeout=PATIENCE)
        start.evaluate("document.getElementById('done').textContent = ''")
    start.get_by_label("Bring work back").set_input_files(file)
    start.get_by_text("files came back").wait_for(timeout=PATIENCE)
    assert file_of(page, "mine.txt") == "my notes"
    assert "Another title" in json.dumps(file_of(page, "09-reads-your-digit.ipynb"))
    assert "My own title" in json.dumps(file_of(page, "09-reads-your-digit, restored.ipynb"))


def test_a_newer_edition_comes_whole_and_its_lessons_beside_the_learners_copies(visit, folder, tmp_path):
    copy = tmp_path / "lessons"
    shutil.copytree(folder, copy)
    (tmp_path / "outside.html").write_text("<title>Another page of this host</title>", encoding="utf-8")
    site = Site(tmp_path, "lessons/")
    one = visit()
    page = open_lesson(one, site, "00-start-here")
    kept(page)
    put(page, "00-start-here.ipynb", ["draw(trained_network())", "my_own_line()"])
    make_newer(copy)

    page.goto(site.address)
    wait_until(page, "navigator.serviceWorker.getRegistration().then((one) => Boolean(one.waiting))")
    page.reload()
    assert page.title() == "fluxlite in your browser"  # a tab shows the old edition, so all of them do
    page.goto(f"{site.origin}/outside.html")
    wait_until(page, "navigator.serviceWorker.getRegistration('/lessons/').then((one) => !one.waiting)")
    page.goto(site.address)
    assert page.title() == "fluxlite, newer"
    site.stop()
    page.goto(address_of(site, "00-start-here"))
    page.get_by_text("There's a newer edition of a lesson").wait_for(timeout=PATIENCE)
    assert "my_own_line()" in json.dumps(file_of(page, "00-start-here.ipynb"))
    assert "Start right here" in json.dumps(file_of(page, "00-start-here, newer.ipynb"))


NEWER = "0123456789abcdef"


def make_newer(copy):
    """Another edition of a site: another lesson, start page and build."""
    worker = copy / "service-worker.js"
    text = worker.read_text(encoding="utf-8")
    build = re.findall(r'BUILD = "(\w+)"', text)[0]
    replace(copy / "files" / "00-start-here.ipynb", "Start here", "Start right here")
    replace(copy / "static" / "fluxlite" / "lessons.json", '{"00-start-here.ipynb": "', '{"00-start-here.ipynb": "0')
    replace(copy / "index.html", "<title>fluxlite in your browser", "<title>fluxlite, newer")
    pages = [f"{app}index.html" for app in ("", "lab/", "notebooks/", "tree/", "edit/")]
    for page in pages:
        replace(copy / page, build, NEWER)
    for changed in ("files/00-start-here.ipynb", "static/fluxlite/lessons.json", *pages):
        digits = hashlib.sha256((copy / changed).read_bytes()).hexdigest()[:16]
        text = re.sub(f'"{changed}": "\\w+"', f'"{changed}": "{digits}"', text)
    worker.write_text(text.replace(build, NEWER), encoding="utf-8")


def replace(file, old, new):
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
