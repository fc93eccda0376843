"""A class of five on a real JupyterHub: they run lesson 05 and hand in; hub, proxy and a server get killed.

`nox -s hub` brings JupyterHub and its proxy. Where they're missing, these tests skip themselves. The file under test is
`hub/littlest.py`, as a teacher puts it on the server.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from urllib.parse import quote

import pytest
from running import PASSWORD, ROOT, WAIT, Learner, a_hub, alive, missing, wait_until

from tools.links import FIRST, LEARNER, on_hub

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing() or "-")]

LESSON = "05-sine-wave-rnn.ipynb"
# One is called by an address, as where a school's accounts log in. `grace` works in a browser, if there's one.
NAMES = ["ada", "bob", "cem", "eve@school.example", "grace"]
SIGNED = ["Ada Lovelace", "Ada Lovelace", "Cem", "Eve", "Grace"]
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def solutions():
    """Lesson 05's cells with a solution, in their order."""
    cells = json.loads((ROOT / "notebooks" / LESSON).read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if "### BEGIN SOLUTION" in "".join(cell["source"])]


def work(content, number):
    """What learner `number` writes into a copy: a guess of theirs, and as many exercises solved."""
    solved = solutions()
    open_cells = [cell for cell in content["cells"] if "todo()  # your" in "".join(cell["source"])]
    assert len(open_cells) == len(solved) == 4
    for cell, solution in list(zip(open_cells, solved))[:number]:
        cell["source"] = solution
    for cell in content["cells"]:
        cell["source"] = "".join(cell["source"]).replace('guess("05-A", ...)', f'guess("05-A", "{"abc"[number % 3]}")')


@pytest.fixture(scope="module")
def browser():
    """Chromium, or None."""
    if BROWSER is None or find_spec("playwright") is None:
        yield None
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        yield chromium
        chromium.close()


class Crowd:
    """Five learners at lesson 05: four over the kernel's websocket, and the fifth in a browser."""

    def __init__(self, hub, browser):
        self.hub = hub
        for name in NAMES:
            hub.api("POST", f"users/{quote(name)}")
            hub.log_in(name)
        with ThreadPoolExecutor() as pool:
            list(pool.map(hub.spawn, NAMES))
            self.learners = {name: Learner(hub, name) for name in NAMES}
            self.page = self.opened(browser) if browser else None
            by_socket = NAMES[:-1] if browser else NAMES
            at_work = [pool.submit(self.through, name) for name in by_socket]
            if self.page:
                self.in_the_browser()
            done = [each.result() for each in at_work]
        self.sessions = {name: session for name, (session, _) in zip(by_socket, done)}
        self.errors = {name: errors for name, (_, errors) in zip(by_socket, done)}
        self.servers = {name: hub.server(name) for name in NAMES}

    def through(self, name):
        """A learner opens the lesson, works, runs all cells, and saves."""
        session = self.learners[name].open(LESSON)
        work(session.content, NAMES.index(name))
        errors = session.run_all()
        session.printed(f"import os; mine = {name!r}, float(losses[-1]), os.getpid()")
        session.save()
        return session, errors

    # -- the fifth ----------------------------------------------------------------------------------------------------

    def opened(self, browser):
        """Grace logs in with the form and opens her lesson."""
        page = browser.new_page(viewport={"width": 1100, "height": 900})
        page.goto(f"{self.hub.address}/hub/login?next=/user/{NAMES[-1]}/doc/tree/{LESSON}")
        log_in(page, NAMES[-1])
        page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=WAIT * 1000)
        return page

    def in_the_browser(self):
        page = self.page
        ask = self.learners[NAMES[-1]].ask
        wait_until(
            lambda: any(one["kernel"]["execution_state"] == "idle" for one in ask("GET", "sessions")), "no kernel"
        )
        page.click('.lm-MenuBar-itemLabel:text-is("Run")')
        page.click('li[data-command="runmenu:run-all"]')
        last = page.locator(".jp-CodeCell").last  # the hand-in's: its line is a comment until a learner signs it
        wait_until(lambda: re.search(r"\[\d+\]", last.locator(".jp-InputPrompt").inner_text()), "it doesn't end")
        wait_until(lambda: "[*]" not in page.inner_text(".jp-Notebook"), "a cell still runs")
        self.type_and_run(
            last, "import os; mine = 'grace', float(losses[-1]), os.getpid(); print('mine', mine)", "mine ("
        )

    def type_and_run(self, cell, text, expected):
        """Write a line into a cell, run it, and wait for what it prints."""
        page = self.page
        cell.locator(".cm-content").click()
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.insert_text(text)
        page.keyboard.press("Control+Enter")
        wait_until(lambda: expected in cell.inner_text(), lambda: f"{text}: {cell.inner_text()}")
        page.keyboard.press("Control+s")
        return cell.locator(".jp-OutputArea").inner_text()

    # -- all of them --------------------------------------------------------------------------------------------------

    def kept(self):
        """What each learner's kernel knows, asked over a new connection."""
        found = {}
        for name, learner in self.learners.items():
            (kernel,) = {one["kernel"]["id"] for one in learner.ask("GET", "sessions") if one["path"] == LESSON}
            session = self.sessions.get(name) or type(next(iter(self.sessions.values())))(learner, LESSON, {}, kernel)
            session.connect()
            found[name] = session.printed("print(mine)").strip()
        return found

    def saved(self):
        """Each learner's lesson and record of progress, as they lie on the disk."""
        files = {name: (self.learners[name].course / LESSON, self.learners[name].course / "progress.json")
                 for name in NAMES[: len(NAMES) - bool(self.page)]}  # fmt: skip
        return {name: [file.read_bytes() for file in each] for name, each in files.items()}


def log_in(page, name):
    page.fill("#username_input", name)
    page.fill("#password_input", PASSWORD)
    page.click("#login_submit")


@pytest.fixture(scope="module")
def crowd(tmp_path_factory, browser):
    with a_hub(tmp_path_factory.mktemp("hub")) as hub:
        yield Crowd(hub, browser)


def test_five_learners_run_lesson_05_to_its_end_and_save(crowd):
    assert crowd.errors == {name: [] for name in crowd.errors}
    homes = {str(learner.course) for learner in crowd.learners.values()}
    assert len(homes) == 5 and len(set(crowd.servers.values())) == 5
    for number, name in enumerate(crowd.sessions):
        course = crowd.learners[name].course
        cells = json.loads((course / LESSON).read_text(encoding="utf-8"))["cells"]
        assert "Epoch: 200" in json.dumps([cell.get("outputs") for cell in cells])
        known = json.loads((course / "progress.json").read_text(encoding="utf-8"))
        assert list(known["checks"].values()).count("right") == number and known["guesses"]["05-A"] == "abc"[number % 3]


def test_the_fifth_works_in_a_browser(crowd):
    if crowd.page is None:
        pytest.skip("there is no Chromium or no playwright here")
    assert crowd.page.url.endswith(f"/user/grace/doc/tree/{LESSON}"), "the course's one column"
    assert crowd.page.locator(".jp-OutputArea-output[data-mime-type='application/vnd.jupyter.error']").count() == 0
    saved = crowd.learners["grace"].course / LESSON
    wait_until(lambda: "mine (" in saved.read_text(encoding="utf-8"), "the lesson isn't saved")


def test_the_hub_is_killed_and_started_again_and_nothing_is_lost(crowd, tmp_path):
    hub, kept, saved = crowd.hub, crowd.kept(), crowd.saved()
    assert [line.startswith(f"('{name}', ") for name, line in kept.items()] == [True] * 5
    go, ada = tmp_path / "go", crowd.sessions["ada"]
    waiting = f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.1)\nprint('done', mine)"
    with ThreadPoolExecutor() as pool:
        long_cell = pool.submit(ada.printed, waiting)
        hub.kill("hub")
        # Nobody can log in now. Those who are in go on, and can save.
        with pytest.raises((AssertionError, OSError)):
            hub.api("GET", "")
        assert all(map(alive, crowd.servers.values()))
        assert crowd.sessions["bob"].printed("print(mine)").strip() == kept["bob"]
        crowd.sessions["bob"].save()
        hub.start_hub()
        go.touch()
        assert long_cell.result(timeout=WAIT).strip() == f"done {kept['ada']}", "a cell that ran all the while"
    assert {name: hub.server(name) for name in NAMES} == crowd.servers and all(map(alive, crowd.servers.values()))
    for name in NAMES:
        hub.log_in(name)
    assert crowd.kept() == kept and crowd.saved() == saved
    crowd.sessions["cem"].save()


def test_the_proxy_is_killed_and_started_again_and_nothing_is_lost(crowd):
    hub, kept, saved = crowd.hub, crowd.kept(), crowd.saved()
    hub.kill("proxy")
    assert not any(learner.answers() for learner in crowd.learners.values()) and all(map(alive, crowd.servers.values()))
    if crowd.page:  # JupyterLab notices, and asks whether to restart her server
        crowd.page.wait_for_selector('.jp-Dialog:has-text("Would you like to restart it?")', timeout=WAIT * 1000)
    hub.start_proxy()
    for learner in crowd.learners.values():
        wait_until(learner.answers, f"no way to {learner.name}'s server")
    assert crowd.kept() == kept and crowd.saved() == saved
    for name in NAMES:
        hub.log_in(name)


def test_a_page_that_stayed_open_all_the_while_goes_on(crowd):
    if crowd.page is None:
        pytest.skip("there is no Chromium or no playwright here")
    # JupyterLab asked whether to restart her server. She says no, and goes on.
    crowd.page.locator(".jp-Dialog").get_by_role("button", name="Dismiss").click()
    assert crowd.page.locator(".jp-Dialog").count() == 0
    last = crowd.page.locator(".jp-CodeCell").last
    said = crowd.type_and_run(last, "print('again', mine)", "again (")
    assert said.strip() == f"again {crowd.kept()['grace']}"
    wait_until(lambda: "again (" in (crowd.learners["grace"].course / LESSON).read_text(), "it isn't saved")


def test_they_hand_in_and_the_teacher_collects(crowd):
    """Two of them sign with the same name, and both count."""
    for name, signed in zip(NAMES, SIGNED):
        session = crowd.sessions.get(name) or crowd.learners[name].open(LESSON)
        said = session.printed(f"%run -m fluxlite handin {signed}")
        assert f"It's handed in: your teacher finds it in {crowd.hub.hand_ins / name.replace('@', '%40')[:3]}" in said
    command = [sys.executable, "-P", "-m", "fluxlite", "class", str(crowd.hub.hand_ins)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    seen = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    rows = re.findall(r"^(Ada Lovelace #\d|Cem|Eve|Grace) +([+.-]{4}) +(\d)$", seen, re.MULTILINE)
    assert seen.startswith("5 learners ") and [row[0] for row in rows] == sorted(row[0] for row in rows)
    right = {signs: int(total) for _, signs, total in rows}
    assert right.items() >= {"+...": 1, "++..": 2, "+++.": 3}.items() and len(rows) == 5, seen


def test_a_link_of_nbgitpuller_brings_a_class_its_branch(crowd, browser, tmp_path):
    """The link that tools/links.py makes, with this hub and a repository on this computer in it."""
    pytest.importorskip("nbgitpuller", reason="nbgitpuller is not installed")
    if browser is None:
        pytest.skip("there is no Chromium or no playwright here")
    shutil.copytree(ROOT / LEARNER, tmp_path / "our-class" / LEARNER)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-C", str(tmp_path / "our-class")]
    for line in (["init", "-q", "-b", "autumn"], ["add", "."], ["commit", "-qm", "lessons"]):
        subprocess.run([*git, *line], check=True)
    link = on_hub(None).replace("https://YOUR-HUB", crowd.hub.address).replace("YOUR-BRANCH", "autumn")
    link = link.replace(quote("https://YOUR-SERVER/", safe=""), quote(f"file://{tmp_path}/", safe=""))
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(link.replace("YOUR-REPOSITORY", "our-class"))
        log_in(page, crowd.hub.teacher)
        page.wait_for_url(f"**/user/teacher/lab/**/our-class/{LEARNER}/{FIRST}*", timeout=WAIT * 1000)
        page.wait_for_selector('.jp-NotebookPanel h1:has-text("00 · Start here")', timeout=WAIT * 1000)


def test_a_learners_server_is_killed_and_what_was_saved_is_there(crowd):
    """As when it takes more memory than it may. This ends the kernel, too, so only what was saved stays."""
    hub, name, saved = crowd.hub, "cem", crowd.saved()["cem"]
    os.killpg(crowd.servers[name], signal.SIGKILL)
    wait_until(lambda: not alive(crowd.servers[name]), "it's still there")
    wait_until(
        lambda: not hub.api("GET", f"users/{name}")["servers"], lambda: f"the hub doesn't see it: {hub.log('hub')}"
    )
    hub.spawn(name)
    assert crowd.saved()[name] == saved
    session = crowd.learners[name].open(LESSON)
    assert (
        session.printed("from fluxlite.course import progress; print(progress.read()['guesses'])") == "{'05-A': 'c'}\n"
    )
