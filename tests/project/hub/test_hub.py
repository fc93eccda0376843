"""A class of five on a real JupyterHub: lesson 04, hand-ins, the wall; and hub, proxy and servers get killed.

`nox -s hub` brings JupyterHub and its proxy. Where they're missing, these tests skip themselves. The file under test is
`docs/hub/littlest.py`, as a teacher puts it on the server. Set FLUXLITE_SCREENSHOTS to a folder, and the wall's picture
lies there for you to look at.
"""

import json
import os
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest
from browsers import CHROMIUM, OPTIONS, chromium
from course.open_wall import Visitor, counts, who
from running import ROOT, WAIT, Learner, TeachersWall, a_hub, alive, missing, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing() or "-")]

LESSON, EXERCISES = "04-sine-wave-rnn.ipynb", 3
# One is called by an address, as where a school's accounts log in.
NAMES = ["ada", "bob", "cem", "eve@school.example", "grace"]
SIGNED = ["Ada Lovelace", "Ada Lovelace", "Cem", "Eve", "Grace"]


def solutions():
    """Lesson 04's cells with a solution, in their order."""
    cells = json.loads((ROOT / "notebooks" / LESSON).read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if "### BEGIN SOLUTION" in "".join(cell["source"])]


def work(content, number):
    """What learner `number` writes into a copy: a guess of theirs, and as many exercises solved."""
    solved = solutions()
    open_cells = [cell for cell in content["cells"] if "todo()  # your" in "".join(cell["source"])]
    assert len(open_cells) == len(solved) == EXERCISES
    for cell, solution in list(zip(open_cells, solved))[:number]:
        cell["source"] = solution
    for cell in content["cells"]:
        cell["source"] = "".join(cell["source"]).replace('guess("04-A")', f'guess("04-A", "{"abc"[number % 3]}")')


class Crowd:
    """Five learners at lesson 04."""

    def __init__(self, hub):
        self.hub = hub
        for name in NAMES:
            hub.api("POST", f"users/{quote(name)}")
            hub.log_in(name)
        with ThreadPoolExecutor() as pool:
            list(pool.map(hub.spawn, NAMES))
            self.learners = {name: Learner(hub, name) for name in NAMES}
            done = dict(zip(NAMES, pool.map(self.through, NAMES)))
        self.sessions = {name: session for name, (session, _) in done.items()}
        self.errors = {name: errors for name, (_, errors) in done.items()}
        self.servers = {name: hub.server(name) for name in NAMES}

    def through(self, name):
        """A learner opens the lesson, works, runs all cells, and saves."""
        session = self.learners[name].open(LESSON)
        work(session.content, NAMES.index(name))
        errors = session.run_all()
        session.printed(f"import os; mine = {name!r}, float(losses[-1]), os.getpid()")
        session.save()
        return session, errors

    def lose(self, name):
        """A server is killed, as when it takes more memory than it may; the hub notices, and starts another."""
        os.killpg(self.servers[name], signal.SIGKILL)
        wait_until(lambda: not alive(self.servers[name]), "it's still there")
        wait_until(
            lambda: not self.hub.api("GET", f"users/{name}")["servers"],
            lambda: f"the hub doesn't see it: {self.hub.log('hub')}",
        )
        self.hub.spawn(name)

    def kept(self):
        """What each learner's kernel knows, asked over a new connection."""
        for session in self.sessions.values():
            session.connect()
        return {name: session.printed("print(mine)").strip() for name, session in self.sessions.items()}

    def saved(self):
        """Each learner's lesson and record of progress, as they lie on the disk."""
        courses = {name: learner.course for name, learner in self.learners.items()}
        return {name: [(course / file).read_bytes() for file in (LESSON, "progress.json")]
                for name, course in courses.items()}  # fmt: skip


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    with a_hub(tmp_path_factory.mktemp("hub")) as hub:
        yield Crowd(hub)


def test_five_learners_run_lesson_04_to_its_end_and_save(crowd):
    assert crowd.errors == {name: [] for name in crowd.errors}
    homes = {str(learner.course) for learner in crowd.learners.values()}
    assert len(homes) == 5 and len(set(crowd.servers.values())) == 5
    for number, name in enumerate(crowd.sessions):
        course = crowd.learners[name].course
        cells = json.loads((course / LESSON).read_text(encoding="utf-8"))["cells"]
        assert "epoch 200" in json.dumps([cell.get("outputs") for cell in cells])
        known = json.loads((course / "progress.json").read_text(encoding="utf-8"))
        assert (
            list(known["checks"].values()).count("right") == min(number, EXERCISES)
            and known["guesses"]["04-A"] == "abc"[number % 3]
        )


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
    hub.start_proxy()
    for learner in crowd.learners.values():
        wait_until(learner.answers, f"no way to {learner.name}'s server")
    assert crowd.kept() == kept and crowd.saved() == saved
    for name in NAMES:
        hub.log_in(name)


def test_they_hand_in_and_the_teacher_collects(crowd):
    """Two of them sign with the same name, and both count."""
    for name, signed in zip(NAMES, SIGNED):
        session = crowd.sessions[name]
        said = session.printed(f"%run -m fluxlite handin {signed}")
        assert f"It's handed in: your teacher finds it in {crowd.hub.hand_ins / name.replace('@', '%40')[:3]}" in said
    command = [sys.executable, "-P", "-m", "fluxlite", "class", str(crowd.hub.hand_ins)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    seen = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    rows = re.findall(r"^(Ada Lovelace #\d|Cem|Eve|Grace) +([+.-]{3}) +(\d)$", seen, re.MULTILINE)
    assert seen.startswith("5 learners ") and [row[0] for row in rows] == sorted(row[0] for row in rows)
    right = {signs: int(total) for _, signs, total in rows}
    assert right.items() >= {"+..": 1, "++.": 2, "+++": 3}.items() and len(rows) == 5, seen


class SeenWall(TeachersWall):
    """The teacher's wall, and what its page shows."""

    def __init__(self, hub):
        super().__init__(hub)
        self.visitor = Visitor(self.port)
        self.visitor.enter(self.token)

    def until(self, question, guessed):
        """What's shown of a question once so many chose each of its options."""
        assert self.visitor.do("go", question) == (200, "")
        return self.visitor.until(lambda shown: shown["place"]["id"] == question and counts(shown) == guessed)


@pytest.fixture(scope="module")
def on_the_wall(crowd):
    """What each learner reads when they join the wall, in their own kernels. The teacher has a server, too."""
    crowd.hub.spawn(crowd.hub.teacher)
    joining = 'from fluxlite_course import join; join("hub")'
    return {name: session.printed(joining) for name, session in crowd.sessions.items()}


def test_the_wall_shows_what_they_guess_and_forgets_nothing_when_a_server_dies(crowd, on_the_wall):
    for said in on_the_wall.values():
        assert "You've joined" in said and "under the name of your account" in " ".join(said.split())
    wall = SeenWall(crowd.hub)
    shown = wall.until("04-A", {"a": 2, "b": 2, "c": 1})
    assert sorted(who(shown)) == sorted(NAMES) and shown["join"] == "hub"
    wall.until("04-B", {"a": 0, "b": 0, "c": 0})
    for name, letter, guessed in (("ada", "a", {"a": 1, "b": 0, "c": 0}), ("grace", "b", {"a": 1, "b": 1, "c": 0})):
        crowd.sessions[name].printed(f'guess("04-B", "{letter}")')
        wall.until("04-B", guessed)
    # A hand-in is older than what its learner guesses after it, whoever hands in next.
    crowd.sessions["ada"].printed('guess("04-A", "c")')
    wall.until("04-A", {"a": 1, "b": 2, "c": 2})
    crowd.sessions["bob"].printed("%run -m fluxlite handin Bob")
    crowd.sessions["bob"].printed('guess("04-B", "b")')
    wall.until("04-B", {"a": 1, "b": 2, "c": 0})
    wall.until("04-A", {"a": 1, "b": 2, "c": 2})

    crowd.lose("grace")
    wall.until("04-A", {"a": 1, "b": 2, "c": 2})
    crowd.sessions["grace"] = session = crowd.learners["grace"].open(LESSON)
    begun = json.dumps(session.run("".join(session.content["cells"][1]["source"])))
    assert "through this hub's folder of hand-ins" in begun, "who joined once goes on with it"
    session.printed('guess("04-C", "c")')
    wall.until("04-C", {"a": 0, "b": 0, "c": 1})
    shown = wall.until("04-B", {"a": 1, "b": 2, "c": 0})
    assert sorted(who(shown)) == sorted(NAMES), "nobody is there twice"
    wall.end()

    again = SeenWall(crowd.hub)
    again.until("04-A", {"a": 1, "b": 2, "c": 2})
    again.until("04-C", {"a": 0, "b": 0, "c": 1})
    again.end()


def test_the_wall_in_a_browser(crowd, on_the_wall):
    """On a projector of 1920 × 1080. The bars are as high as many chose, and nothing hangs over."""
    wall = SeenWall(crowd.hub)
    shown = wall.visitor.until(lambda shown: shown["guests"] == 5)
    with chromium() as starter:
        browser = starter.launch(executable_path=CHROMIUM, args=OPTIONS)
        page = browser.new_page(viewport={"width": 1920, "height": 1080})
        page.goto(wall.link)
        page.locator('#id:text-is("04-A")').wait_for()
        page.locator('#join:text-is("hub")').wait_for()
        read = dict(zip(page.locator(".option .letter").all_inner_texts(),
                        map(int, page.locator(".option .number").all_inner_texts())))  # fmt: skip
        assert read == counts(shown) and sum(read.values()) == 5
        page.keyboard.press("n")
        page.locator(".option .names", has_text="ada").wait_for()
        page.keyboard.press("a")
        page.locator(".option.right").wait_for()
        page.wait_for_timeout(500)  # until the bars have grown
        if folder := os.environ.get("FLUXLITE_SCREENSHOTS"):
            page.screenshot(path=Path(folder, "wall-on-a-hub.png"))
        over = "e => e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1"
        assert not page.evaluate(f"[...document.querySelectorAll('main, body, header, footer')].some({over})")
        browser.close()
    wall.end()


def test_a_learners_server_is_killed_and_what_was_saved_is_there(crowd):
    """As when it takes more memory than it may. This ends the kernel, too, so only what was saved stays."""
    name, saved = "cem", crowd.saved()["cem"]
    crowd.lose(name)
    assert crowd.saved()[name] == saved
    session = crowd.learners[name].open(LESSON)
    said = session.printed("from fluxlite_course.kit import progress; print(progress.read()['guesses'])")
    assert said == "{'04-A': 'c'}\n"
