"""The lessons in Firefox, driven by WebDriver BiDi: open, play, guess, check, reload."""

import browsers
import pytest
from in_a_tab import CELL, PATIENCE, cell_of, choose, draw_a_digit, record, run, save, wait_for_python, wait_for_record

SYSTEMS_OWN = {name: "null" for name in ("color_scheme", "reduced_motion", "forced_colors", "contrast")}


@pytest.fixture
def page(folder):
    with browsers.firefox() as firefox:
        yield firefox.new_context(viewport={"width": 1400, "height": 900}, **SYSTEMS_OWN).new_page()


def test_a_newcomer_plays_in_firefox_and_finds_it_again_after_a_reload(page, site):
    draw_a_digit(page, site)
    choose(run(page, 'guess("00-B")'), "the CPU")
    wait_for_record(page, "guesses", "00-B", "a")
    run(page, "digits_race()")
    run(page, "waves = ...", "waves = 16_384")
    run(page, 'check("00.1"').get_by_text("1 of 1").first.wait_for(timeout=PATIENCE)
    wait_for_record(page, "checks", "00.1", "right")
    save(page)

    page.reload()
    wait_for_python(page)
    assert page.get_by_role("dialog").count() == 0
    assert record(page)["guesses"] == {"00-B": "a"}
    cell_of(page, 'guess("00-B")').get_by_text("To play, run this cell again").wait_for(timeout=PATIENCE)
    assert page.locator(CELL).filter(has_text="waves = 16_384").count()
    run(page, "draw(trained_network())").locator("canvas").first.wait_for(timeout=PATIENCE)
