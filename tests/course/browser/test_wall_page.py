"""The wall's page on a projector of 1920 × 1080, and the teacher's desk, in Chromium: bars, keys, themes, axe-core.

Set FLUXLITE_SCREENSHOTS to a folder, and its pictures lie there for you to look at.
"""

import json
import os
from pathlib import Path

import pytest
from browsers import serious
from course.open_wall import Opened
from front_ends import wait_until

from fluxlite_course.kit import exercises
from fluxlite_course.kit.guesses import questions
from fluxlite_course.kit.wall import letters
from fluxlite_course.kit.wall.folder import Folder, take
from fluxlite_course.kit.wall.hearing import all_puzzles

pytestmark = pytest.mark.slow

SHY = "<img src=x onerror=document.title='broken'>"
NAMES = ["Ada", "Grace", "Zoë", "", "Ada", SHY, *(f"learner {k} of a class" for k in range(20))]


@pytest.fixture(scope="module")
def wall(tmp_path_factory):
    """A wall with the records of a class on a shared drive."""
    drive = tmp_path_factory.mktemp("drive")
    with Opened("02") as opened:
        for k in range(len(NAMES)):
            record = {
                "guesses": {
                    id: list(asks.options)[(k * k) % len(asks.options)]
                    for number in exercises.folders()
                    for id, asks in questions(number).items()
                },
                "checks": {
                    id: ["right", "not right"][k % 3 == 0]
                    for number in exercises.folders()
                    for id in exercises.in_lesson(number)
                },
                "puzzles": {id: str(3.0 + k) for id in all_puzzles()},
                "learner": {"id": str(k), "edition": "3"},
            }
            (drive / f"learner {k}").mkdir()
            (drive / f"learner {k}" / "progress.json").write_text(json.dumps(record))
        folder = Folder(drive)
        opened.call(take, opened.room, folder.look(), [])
        for k, name in enumerate(NAMES):
            guesses = {"02-A": "c"}
            assert opened.visitor.send(f"{k:032x}", name=name, guesses=guesses) == 200
        yield opened


@pytest.fixture(params=["light", "dark"])
def visit(request, browser, wall):
    """Opens a page as the teacher, and notes what goes wrong there."""
    context = browser.new_context(viewport={"width": 1920, "height": 1080}, color_scheme=request.param)
    trouble = []

    def open_page(path="/"):
        page = context.new_page()
        page.theme = request.param
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("console", lambda said: trouble.append(said.text) if said.type == "error" else None)
        page.on("request", lambda asked: trouble.append(asked.url) if str(wall.wall.port) not in asked.url else None)
        page.goto(f"http://127.0.0.1:{wall.wall.port}{path}?token={wall.wall.token}")
        assert "token" not in page.url
        page.locator("#id", has_text="-").wait_for()
        return page

    yield open_page
    context.close()
    harmless = ("data:,", "status of 400")  # the icon that there isn't; what the wall couldn't do
    assert [one for one in trouble if not any(part in one for part in harmless)] == []


def go(page, wall, id):
    wall.call(wall.room.go, id)
    page.locator(f'#id:text-is("{id}")').wait_for()


def picture(page, name):
    folder = os.environ.get("FLUXLITE_SCREENSHOTS")
    if folder:
        page.wait_for_timeout(400)  # until the bars have grown
        page.screenshot(path=Path(folder, f"wall-{name}-{page.theme}.png"))


def shows(page, what):
    """Whether the page shows the ``answer``, or ``names``."""
    if what == "answer":
        return page.locator(".option.right").count() > 0 and page.inner_text("#answer") != ""
    return any(page.locator(".option .names").all_inner_texts())


def test_the_keyboard_goes_through_questions_and_shows_answer_and_names(visit, wall):
    go(page := visit(), wall, "02-A")
    picture(page, "question")
    for key, id in (("ArrowRight", "02-C"), ("PageDown", "02-D"), ("ArrowLeft", "02-C"), ("PageUp", "02-A")):
        page.keyboard.press(key)
        page.locator(f'#id:text-is("{id}")').wait_for()
    for what, key in (("answer", "a"), ("names", "n")):
        assert not shows(page, what)
        page.keyboard.press(key)
        wait_until(lambda what=what: shows(page, what), page.inner_text("body"))
    picture(page, "answer and names")
    assert page.locator(".option.right .letter").all_inner_texts() == ["c"]
    assert SHY[:30] in page.inner_text("main") and page.title() == "The wall · fluxlite"
    page.keyboard.press("n")
    wait_until(lambda: not shows(page, "names"), page.inner_text("body"))
    assert shows(page, "answer")
    page.keyboard.press("ArrowRight")
    page.locator('#id:text-is("02-C")').wait_for()
    assert not shows(page, "answer")


def test_a_guess_grows_its_bar_while_the_page_is_open(visit, wall):
    go(page := visit(), wall, "02-D")
    number = page.locator(".option:has(.letter:text-is('b')) .number")
    before = int(number.inner_text())
    secret = {"light": "d", "dark": "e"}[page.theme] * 32
    wall.visitor.send(secret, guesses={"02-D": "b"})
    wait_until(lambda: number.inner_text() == str(before + 1), number.inner_text)


@pytest.mark.parametrize("visit", ["light"], indirect=True)
def test_every_question_fits_with_answer_and_names(visit, wall):
    page = visit()
    wall.call(wall.room.show, "names")
    too_large = []
    for id in wall.room.ids:
        go(page, wall, id)
        wall.call(wall.room.show, "answer")
        wait_until(lambda: shows(page, "answer"), id)
        over = page.evaluate(
            "[...document.querySelectorAll('main, body, .checks, .checks li, header, footer')]"
            ".filter(e => e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1)"
            ".map(e => [e.tagName, e.scrollHeight, e.clientHeight, e.scrollWidth, e.clientWidth])"
        )
        fit = float(page.evaluate("getComputedStyle(document.querySelector('main')).getPropertyValue('--fit')"))
        if over or fit < 0.7:
            too_large.append((id, over, fit))
        if id in ("08-C", "15-A", "07-E"):
            picture(page, id)
    wall.call(wall.room.show, "names")
    assert too_large == []


def test_axe_finds_nothing_serious(visit, wall):
    go(page := visit(), wall, "07-A")
    desk = visit("/desk")
    picture(desk, "desk")
    assert serious(page) == [] and serious(desk) == []
    for what in ("answer", "names"):
        wall.call(wall.room.show, what)
        wait_until(lambda what=what: shows(page, what), what)
    assert serious(page) == [] and serious(desk) == []
    wall.call(wall.room.show, "names")
    page.evaluate("document.querySelector('main').innerHTML = '<button></button>'")  # a planted one is noticed
    assert [id for id, _ in serious(page)] == ["button-name"]


def test_at_the_desk_the_teacher_types_letters_and_moderates(visit, wall):
    desk = visit("/desk")
    paper = letters.write({"light": 1, "dark": 2}[desk.theme], "02", {"02-B": "a"})
    desk.fill("#text", paper.lower())
    desk.fill("#name", f"{desk.theme} paper")
    desk.keyboard.press("Enter")
    desk.locator(f'tbody th:text-is("{desk.theme} paper")').wait_for()
    desk.locator(f'#read:text-is("{desk.theme} paper: 1 guess")').wait_for()
    desk.keyboard.type("wrong")
    desk.keyboard.press("Enter")
    wait_until(lambda: "Not read" in desk.inner_text("#read"), desk.inner_text("#read"))
    desk.click(f'button[aria-label="remove: {desk.theme} paper"]')
    desk.locator(f'tbody th:text-is("{desk.theme} paper")').wait_for(state="detached")
    desk.click("#door")
    wait_until(lambda: desk.inner_text("#door") == "open the door", desk.inner_text("#door"))
    desk.click("#door")
    wait_until(lambda: wall.room.door_open, "the door stays closed")


def test_a_wall_that_has_gone_is_said(browser):
    opened = Opened("02")
    page = browser.new_page()
    page.goto(f"http://127.0.0.1:{opened.wall.port}/?token={opened.wall.token}")
    page.locator('#id:text-is("02-A")').wait_for()
    port = opened.wall.port
    opened.close()
    said = page.locator("#said")
    wait_until(lambda: "doesn't answer" in said.inner_text(), said.inner_text)
    with Opened("02", port=port):
        wait_until(lambda: "has ended" in said.inner_text(), said.inner_text)
    page.close()
