"""Scenes in a real browser: without a host, by keyboard, on a phone, in the dark, several in one page.

Set FLUXLITE_SCREENSHOTS to a folder, and its pictures lie there for you to look at.
"""

import os
import re
from pathlib import Path

import numpy as np
import pytest

import fluxlite as fl
from fluxlite_course.lesson00.pictures import race
from fluxlite_course.lesson06.pictures import crossover_explorer, time_bars
from fluxlite_course.lesson08 import map_of_losses, networks
from fluxlite_course.lesson14.pictures import tape
from fluxlite_course.scenes.lanes import LEFT, RIGHT
from fluxlite_course.scenes.machine import machine
from fluxlite_course.scenes.receipts import lanes

pytestmark = pytest.mark.slow

SHOTS = os.environ.get("FLUXLITE_SCREENSHOTS")
NAMES = ["race", "lanes", "guess", "tape", "crossover", "bars", "map"]
AROUND = ":root{color-scheme:light dark}body{margin:0;font:1.05rem/1.5 system-ui}main{max-width:46rem;margin:auto}"


def a_loop():
    x = np.random.default_rng(0).standard_normal((640, 640), dtype=np.float32)
    return lanes(fl.estimate(lambda x: [float((x @ x).sum()) for _ in range(20)], x).receipt, count=20)


def a_guess():
    receipt = fl.estimate(lambda x: float((x * 2).sum()), np.ones(4, np.float32)).receipt
    return machine(receipt, "total = float((x * 2).sum())", [1] * 9, guess=True)


def a_tape():
    return tape(lambda w, b: np.tanh(w * 2.0) + b, w=0.5, b=0.1)


def a_map():
    x, y, weights, rates, losses = networks([0.1, 0.3, 1], [1, 2])
    return map_of_losses(x, y, weights, rates, losses + np.arange(1, 7, dtype=np.float32))


@pytest.fixture(scope="module")
def living():
    """A scene of each kind: gliding, windowed, growing, with many buttons."""
    bars = time_bars({"orders": 1.56, "bytes": 72e-9}, zoom=True)
    return dict(zip(NAMES, (race([1, 65_536]), a_loop(), a_guess(), a_tape(),
                            crossover_explorer(cards=["NVIDIA T4", "H200"]), bars, a_map())))  # fmt: skip


@pytest.fixture(scope="module")
def folder(living, tmp_path_factory):
    folder = tmp_path_factory.mktemp("scenes")
    for name, scene in living.items():
        head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        head += f"<title>{name}</title><style>{AROUND}</style>"
        page = f'<!DOCTYPE html><html lang="en"><head>{head}</head><main>{scene._repr_html_()}</main></html>'
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    return folder


@pytest.fixture
def opened(browser, folder):
    """Opens a page of the folder. At the end, nothing was asked of a host, and nothing went wrong in the page."""
    contexts, wrong = [], []

    def open_page(name, **options):
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda r: wrong.append(r.url) if not r.url.startswith(("file:", "data:")) else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text))  # the rules' complaints, too
        page.goto((folder / f"{name}.html").as_uri())
        page.wait_for_selector(".fluxlite-scene form" if options.get("java_script_enabled", True) else "img")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


def said(page):
    return page.inner_text(".fluxlite-says")


def picture(page):
    return page.inner_html(".fluxlite-picture")


@pytest.mark.parametrize("name", NAMES)
def test_the_script_draws_what_python_draws(opened, living, name):
    """In each state: Python's markup, as the browser reads it, against the picture that the script moved there."""
    page, scene = opened(name), living[name]
    assert said(page) == scene.at()
    for state in range(0, len(scene.sentences), max(1, len(scene.sentences) // 12)):
        for knob, option in scene.settings[state].items():
            choose(page, scene, knob, option)
        assert said(page) == scene.sentences[state]
        assert tidy(page, picture(page)) == tidy(page, scene.picture.markup(state)), f"state {state}"


def test_a_race_that_ends_early_stops_there_and_its_slider_shows_its_own_time_and_place(opened, living):
    page, scene = opened("race"), living["race"]
    slider = page.locator(".slide", has_text="time")
    page.get_by_role("button", name="play").click()
    page.get_by_role("button", name="pause").wait_for()
    page.get_by_role("button", name="play").wait_for(timeout=60_000)
    own = scene.shown[scene.settings.index({**scene.settings[-1], "waves trained at once": "1"})]
    assert own == "431 µs" and slider.locator("output").inner_text() == own
    at, most = (int(slider.locator("input").evaluate(f"slider => slider.{name}")) for name in ("value", "max"))
    assert at / most == pytest.approx((scene.along[at] - LEFT) / (RIGHT - LEFT), abs=1 / most)
    slider.locator("input").press("End")
    assert int(slider.locator("input").input_value()) == at, "it goes on after the end"


def choose(page, scene, name, option):
    knob = next(knob for knob in scene.knobs if knob.name == name)
    at = list(knob.options).index(option)
    if knob.slider:
        page.locator(".slide", has_text=name).locator("input[type=range]").fill(str(at))
    elif knob.picked:
        if at:  # there's no way back to the question
            page.locator(f'[data-pick="{scene.knobs.index(knob)}:{at}"]').dispatch_event("click")
    elif len(knob.options) > 1:
        page.get_by_role("group", name=name, exact=True).get_by_label(option, exact=True).check(force=True)


def tidy(page, markup):
    """Its elements, with attributes by name and numbers as numbers, so that only what is to be seen counts."""
    return page.evaluate(
        """markup => {
          const box = new DOMParser().parseFromString(markup, "text/html").body;
          const number = text => text.replace(/-?\\d+\\.?\\d*/g, n => +n);
          const ours = ["role", "tabindex"];  // what the script adds for the keyboard
          return [...box.querySelectorAll("*")].map(e => e.tagName + " " + [...e.attributes]
            .filter(a => !ours.includes(a.name) && !(a.name === "aria-label" && e.dataset.pick))
            .map(a => a.name + "=" + number(a.value)).sort().join(" ") + (e.children.length ? "" : e.textContent));
        }""",
        markup,
    )


@pytest.mark.parametrize("name", NAMES)
def test_by_keyboard_alone(opened, living, name):
    page, scene = opened(name), living[name]
    sliders = any(knob.slider for knob in scene.knobs)
    for _ in range(8):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == ("range" if sliders else "radio"):
            break
    active = "document.activeElement"
    seen = active if sliders else f"{active}.nextElementSibling"
    where = page.evaluate(f"getComputedStyle({seen}).outlineStyle")
    assert where == "solid", "you see where you are"
    if name == "guess":  # its question comes first
        page.locator("[data-pick]").first.focus()
        page.keyboard.press("Enter")
        page.locator("input[type=range]").focus()
    if sliders:
        page.keyboard.press("Home")
    before, words = tidy(page, picture(page)), said(page)
    page.keyboard.press("ArrowRight")
    assert said(page) != words and said(page) in scene.sentences and tidy(page, picture(page)) != before
    page.keyboard.press("ArrowLeft")
    assert said(page) == words and tidy(page, picture(page)) == before
    assert page.get_attribute(".fluxlite-says", "aria-live") == "polite"
    if sliders:
        here = page.evaluate_handle("document.activeElement").as_element()
        page.keyboard.press("End")
        assert here.get_attribute("aria-valuetext") == next(k for k in scene.knobs if k.slider).options[-1]


def test_play_runs_to_the_end_without_reading_each_step_out(opened, living):
    page = opened("tape")
    page.clock.install()
    page.reload()
    button = page.get_by_role("button", name="play")
    button.focus()
    page.keyboard.press("Enter")
    page.clock.run_for(1600)
    assert said(page) == living["tape"].sentences[1]
    assert page.get_attribute(".fluxlite-says", "aria-live") == "off"
    page.get_by_role("button", name="pause").click()
    assert page.get_attribute(".fluxlite-says", "aria-live") == "polite"
    page.clock.run_for(5000)
    assert said(page) == living["tape"].sentences[1]
    button.click()
    page.clock.run_for(60_000)
    assert said(page) == living["tape"].sentences[-1] and "play" in page.inner_text("button")


def test_a_button_to_press_goes_one_step_further_and_at_the_end_back(opened, living):
    page = opened("bars")
    button = page.get_by_role("button", name="× 10")
    for pressed in range(1, 8):
        button.click()
        assert said(page) == living["bars"].sentences[pressed]
    page.get_by_role("button", name="back").press("Enter")
    assert said(page) == living["bars"].sentences[0] and page.inner_text("button") == "× 10"


def test_where_less_motion_is_asked_for_there_is_no_play_button(opened, living):
    page = opened("race", reduced_motion="reduce")
    assert page.locator("button").count() == 0
    page.locator("input[type=range]").nth(1).press("ArrowRight")
    assert said(page) == living["race"].sentences[1]


@pytest.mark.parametrize("name", NAMES)
def test_without_scripts_the_telling_state_and_its_sentence_are_there(opened, living, name):
    page, scene = opened(name, java_script_enabled=False), living[name]
    assert page.get_by_alt_text(scene.picture.attributes["aria-label"], exact=True).is_visible()
    told = dict(zip((knob.name for knob in scene.knobs), scene.telling))
    setting = {knob.name: knob.options[told[knob.name]] for knob in scene.knobs}
    assert page.get_by_text(scene.at(**setting), exact=True).is_visible()
    assert page.locator("form").count() == 0, "no knobs that do nothing"


def test_the_sentence_is_shown_below_the_picture(opened):
    page = opened("race")
    below, above = (page.locator(f".fluxlite-{name}").bounding_box() for name in ("says", "picture"))
    assert below["y"] >= above["y"] + above["height"] - 1 and below["height"] > 30


def drag(page, start, *ways):
    """Press on the picture at a place from left to right, in its own numbers, and go on to others."""
    box = page.locator(".fluxlite-picture > svg").bounding_box()
    field = page.locator("[data-drag]").bounding_box()
    xs = [box["x"] + box["width"] * x / 640 for x in (start, *ways)]
    page.mouse.move(xs[0], field["y"] + field["height"] / 2)
    page.mouse.down()
    for x in xs[1:]:
        page.mouse.move(x, field["y"] + field["height"] + 200, steps=4)  # it may leave the picture meanwhile
    page.mouse.up()


def test_dragging_on_the_picture_is_the_slider(opened, living):
    page, scene = opened("lanes"), living["lanes"]
    middle = scene.along.index(min(scene.along, key=lambda x: abs(x - 300)))
    drag(page, 300)
    assert said(page) == scene.sentences[middle]
    drag(page, 300, 100, LEFT - 60)
    assert said(page) == scene.sentences[0]
    drag(page, LEFT, RIGHT + 60)
    assert said(page) == scene.sentences[-1]
    slider = page.locator("input[type=range]")
    assert slider.input_value() == slider.get_attribute("max")
    page.mouse.move(200, 200)
    assert said(page) == scene.sentences[-1], "it moves without being pressed"


def test_dragging_the_race_to_its_end_zooms_out(opened):
    page = opened("race")
    page.locator("input[type=range]").first.press("End")
    drag(page, LEFT, 400, RIGHT)
    assert "After 4.16 ms: the CPU has done all" in said(page)
    cut = page.eval_on_selector_all(
        "[data-drag] .op rect",
        """all => all.filter(box => {
          const r = box.getBoundingClientRect();
          return r.width && r.right > box.ownerSVGElement.getBoundingClientRect().right + 1;
        }).length""",
    )
    assert cut == 0


def test_dragging_on_a_map_moves_both_sliders(opened, living):
    page, scene = opened("map"), living["map"]
    box = page.locator(".fluxlite-picture > svg").bounding_box()
    places = [(box["x"] + box["width"] * x / 640, box["y"] + box["width"] * y / 640) for x, y in scene.along]
    page.mouse.move(*places[1])
    page.mouse.down()
    assert said(page) == scene.sentences[1] == "Rate 0.1, seed 2: final loss 4."
    page.mouse.move(*places[4], steps=3)
    assert said(page) == scene.sentences[4] == "Rate 1, seed 1: final loss 3."
    page.mouse.up()
    assert [slider.input_value() for slider in page.locator("input[type=range]").all()] == ["2", "0"]
    page.locator("input[type=range]").last.press("ArrowRight")
    assert said(page) == "Rate 1, seed 2: final loss 6."


def test_a_touch_drags_too(browser, folder, living):
    context = browser.new_context(viewport={"width": 390, "height": 800}, has_touch=True)
    page = context.new_page()
    page.goto((folder / "lanes.html").as_uri())
    page.wait_for_selector(".fluxlite-scene form")
    box, field = (page.locator(name).bounding_box() for name in (".fluxlite-picture > svg", "[data-drag]"))
    page.touchscreen.tap(box["x"] + box["width"] * 300 / 640, field["y"] + field["height"] / 2)
    along = living["lanes"].along
    assert said(page) == living["lanes"].sentences[along.index(min(along, key=lambda x: abs(x - 300)))]
    context.close()


def test_a_box_tells_its_operation_when_pointed_at_and_by_keyboard(opened):
    page = opened("lanes")
    tip = page.locator(".tip")
    assert not tip.is_visible()
    works = page.locator('[data-lane="compute"] .op.compute rect')
    works.first.hover()
    assert tip.inner_text().startswith("matmul: ") and tip.inner_text() == works.first.get_attribute("aria-label")
    page.mouse.move(5, 5)
    assert not tip.is_visible()

    page.locator("input[type=range]").focus()
    page.keyboard.press("Tab")
    first = tip.inner_text()
    assert first.startswith("the host asks: matmul") and page.locator(".op rect:focus").count() == 1
    page.keyboard.press("ArrowRight")
    assert tip.inner_text().startswith("the host asks: sum")
    page.keyboard.press("End")
    assert page.evaluate("document.activeElement.closest('[data-lane]').dataset.lane") == "host"
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.closest('[data-lane]').dataset.lane") != "host"
    page.keyboard.press("Escape")
    assert not tip.is_visible()
    assert page.locator(".op [role=img]").count() == page.locator(".op [role=img][aria-label]").count() > 20
    assert page.locator(".op [tabindex]").count() == 1, "one stop for Tab, not one for each box"


def test_what_has_not_happened_yet_tells_nothing(opened):
    page = opened("race")
    page.locator("input[type=range]").nth(1).fill("3")
    page.keyboard.press("Tab")
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    assert "order 3" in page.locator(".tip").inner_text() or "operation" in page.locator(".tip").inner_text()
    hidden = page.evaluate("""() => { const box = document.activeElement;
      return box.getBoundingClientRect().left > box.ownerSVGElement.getBoundingClientRect().right; }""")
    assert not hidden


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("name", NAMES)
def test_on_a_phone_and_on_a_desk_by_day_and_by_night(opened, name, width, scheme):
    page = opened(name, viewport={"width": width, "height": 900}, color_scheme=scheme)
    if SHOTS:
        page.screenshot(path=Path(SHOTS) / f"explore-{name}-{width}-{scheme}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert width / 3 < page.locator(".fluxlite-picture > svg").bounding_box()["width"] <= min(width, 46 * 16)
    heights = page.eval_on_selector_all(
        ".fluxlite-picture text",
        "all => all.filter(t => t.getBoundingClientRect().width).map(t => t.getBoundingClientRect().height)",
    )
    assert min(heights) > 11, "letters to be read"
    outside = page.eval_on_selector_all(
        ".fluxlite-picture text",
        """all => { const box = document.querySelector(".fluxlite-picture").getBoundingClientRect();
          return all.filter(t => t.getBoundingClientRect().width).filter(t => {
            const r = t.getBoundingClientRect(); return r.left < box.left - 1 || r.right > box.right + 1;
          }).map(t => t.textContent); }""",
    )
    assert outside == []
    text = page.eval_on_selector(".fluxlite-picture text:not(.host, .gpu, .wait)", "t => getComputedStyle(t).fill")
    bright = sum(map(int, re.findall(r"\d+", text)[:3])) > 380
    assert bright == (scheme == "dark")


def test_several_in_one_page_and_in_a_notebook(opened, living, tmp_path, browser):
    """Twice the same, and one as a notebook stores it, in the place of its still: each has its own knobs."""
    tape = living["tape"]
    (tmp_path / "both.html").write_text(
        f'<!DOCTYPE html><meta charset="utf-8"><body>{tape._repr_html_()}'
        f"{living['crossover']._repr_html_() * 2}{tape._repr_html_()}",
        encoding="utf-8",
    )
    page = browser.new_page()
    page.goto((tmp_path / "both.html").as_uri())
    page.wait_for_function("document.forms.length == 4")
    assert page.locator("img").count() == 0
    page.locator("input[type=range]").nth(1).press("ArrowRight")
    words = page.locator(".fluxlite-says").all_inner_texts()
    assert (words[0], words[3]) == (tape.sentences[0], tape.sentences[1])
    page.locator(".fluxlite-scene").nth(1).get_by_label("1024", exact=True).check(force=True)
    words = page.locator(".fluxlite-says").all_inner_texts()
    assert "batch 1024" in words[1] and "batch 64" in words[2]
    ids = page.eval_on_selector_all("[id]", "all => all.map(e => e.id)")
    assert ids == []
    page.close()
