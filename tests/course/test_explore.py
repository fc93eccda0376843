"""The pages to explore: their states are the library's numbers, and their programs are the lessons' own."""

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from fluxlite_course import crossing, crossover, pages
from fluxlite_course.lesson06.explorer import crossover_explorer, place
from fluxlite_course.pages import EXPLORE, whole_page, write_pages

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
LIMIT = 60_000  # bytes of a page, for a phone


@pytest.fixture(scope="module")
def two_cards():
    return crossover_explorer(cards=["NVIDIA T4", "H200"])


def at_state(scene, state):
    """The moving attributes of a state, by part and name."""
    return {(part, name): values[which[state]] for part, name, values, which in scene.data()["moves"]}


# -- the crossover ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("card", ["NVIDIA T4", "H200"])
@pytest.mark.parametrize("setting", [(1, True, True), (64, False, False), (1024, False, True)])
def test_the_crossovers_states_are_those_of_the_plain_call(two_cards, card, setting):
    batch, copies, wait = setting
    c = crossover(batch, card, copies, wait)
    names = {"card": card, "batch": str(batch), "copies": "x, y in and the loss out" if copies else "none",
             "the GPU": "waited for" if wait else "not waited for"}  # fmt: skip
    assert two_cards.at(**names) == f"{c.caption} {c.conclusion}"
    shown = at_state(two_cards, two_cards.settings.index(names))
    cpu, gpu = (ys for (_, name), ys in shown.items() if name == "ys")
    assert gpu == pytest.approx([place(size, float(time) * 1e6)[1] for size, time in c.gpu.items()], abs=0.06)
    assert cpu == pytest.approx([place(size, float(t.median) * 1e6)[1] for size, t in c.cpu.items()], abs=0.06)
    assert f"they cross at {c.crossing:.0f}" in shown.values()
    # Where the lines cross in the picture is where the library says: both logarithmic, so they are straight.
    line = next(value for value in shown.values() if re.match(r"M\S+ \d+V", str(value)))
    xs = [place(size, 1)[0] for size in crossing.SIZES]
    x = float(re.match(r"M(\S+)", line)[1])
    assert np.interp(x, xs, gpu) == pytest.approx(np.interp(x, xs, cpu), abs=0.3)


def test_a_wrong_number_is_noticed(two_cards):
    c = crossover(64)
    gpu = [ys for (_, name), ys in at_state(two_cards, two_cards.state).items() if name == "ys"][1]
    planted = [place(size, float(time) * 1.02e6)[1] for size, time in c.gpu.items()]  # 2 % more
    assert gpu != pytest.approx(planted, abs=0.06)


# -- the race ---------------------------------------------------------------------------------------------------------


def test_in_the_race_what_is_full_is_what_is_done():
    scene = pages.race([1, 64])
    for state, sentence in enumerate(scene.sentences):
        only = (value for (_, name), value in at_state(scene, state).items() if name == "only")
        cpu, host, gpu = (last - first + 1 for first, last in only)
        said = re.search(r"has done (?:all )?(\d+).* given (?:all )?(\d+).* carried out (\d+)", sentence)
        assert [cpu, host, gpu] == [int(number) for number in said.groups()]


# -- the programs are the lessons' ------------------------------------------------------------------------------------


def cells(lesson):
    (path,) = NOTEBOOKS.glob(f"{lesson}-*.ipynb")
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in found if cell["cell_type"] == "code"]


def test_the_timeline_is_that_of_lesson_06():
    said = pages.timeline().at()
    assert said.startswith("Timeline, simulated (NVIDIA T4), events 1 to 50 of 120: in 1.38 ms")
    assert "is in line 6 of the cell: total = total + (float(size)" in said


def test_the_tape_is_that_of_lesson_13():
    (cell,) = (cell for cell in cells("13") if "tape(lines)" in cell)
    for option in pages.tape().knobs[0].options[:5]:
        assert f'"{option.removeprefix("after ")}":' in cell


# -- the pages --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def few_cards(tmp_path_factory):
    """The four pages; the crossover for one card, which takes less time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(EXPLORE, "crossover", EXPLORE["crossover"]._replace(
            scene=lambda: crossover_explorer(cards=["NVIDIA T4"])))  # fmt: skip
        return write_pages(tmp_path_factory.mktemp("pages") / "explore", lessons="../lessons", back="./index.html")


def test_four_small_pages_with_links_back(few_cards):
    assert [path.name for path in few_cards] == ["race.html", "timeline.html", "crossover.html", "tape.html"]
    for path in few_cards:
        text = path.read_text(encoding="utf-8")
        assert len(text.encode()) < LIMIT, path.name
        assert text.startswith("<!DOCTYPE html>") and '<html lang="en">' in text and 'name="viewport"' in text
        lesson = re.search(r'href="\.\./lessons/([^"]*)\.html"', text)[1]
        assert (NOTEBOOKS / f"{lesson}.ipynb").exists() and 'href="./index.html"' in text


def test_the_first_state_is_in_the_markup(few_cards):
    for path in few_cards:
        page = path.read_text(encoding="utf-8")
        without = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
        counted = Count(without)
        sentence = re.search(r'aria-live="polite">([^<]+)</p>', without)[1]
        assert len(sentence) > 40 and counted["svg"] >= 1 and counted["text"] >= 5, path.name


class Count(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)

    def __getitem__(self, tag):
        return self.tags.count(tag)


def test_a_page_that_is_not_there():
    with pytest.raises(ValueError, match="the pages are race, timeline, crossover, tape; there is none called 'tapes'"):
        whole_page("tapes")


def test_the_command_writes_into_the_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pages, "EXPLORE", {"tape": EXPLORE["tape"]})
    pages.main([str(tmp_path / "new"), "--back", "index.html"])
    assert re.fullmatch(r".*tape\.html: 1\d,\d{3} bytes\n", capsys.readouterr().out)
    assert 'href="index.html"' in (tmp_path / "new" / "tape.html").read_text(encoding="utf-8")
    told = subprocess.run([sys.executable, "-m", "fluxlite_course.pages"], capture_output=True, text=True)
    assert told.returncode == 2 and "folder" in told.stderr
