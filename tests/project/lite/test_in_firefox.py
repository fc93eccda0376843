"""The lessons in Firefox, driven by WebDriver BiDi: open, play, guess, check, reload."""

import browsers
import pytest
from in_a_tab import (
    CELL,
    answer_rightly,
    draw_a_digit,
    guess_of_the_race,
    run,
    save,
    shows_the_guess_of_before,
    wait_for_python,
)

SYSTEMS_OWN = {name: "null" for name in ("color_scheme", "reduced_motion", "forced_colors", "contrast")}


@pytest.fixture
def page(folder):
    with browsers.firefox() as firefox:
        yield firefox.new_context(viewport={"width": 1400, "height": 900}, **SYSTEMS_OWN).new_page()


def test_a_newcomer_plays_in_firefox_and_finds_it_again_after_a_reload(page, site):
    draw_a_digit(page, site)
    guess_of_the_race(page)
    run(page, "digits_race()")
    answer_rightly(page)
    save(page)

    page.reload()
    wait_for_python(page)
    assert page.get_by_role("dialog").count() == 0
    shows_the_guess_of_before(page)
    assert page.locator(CELL).filter(has_text="waves = 16_384").count()
