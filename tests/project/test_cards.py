"""What else a card needs than its row in cards.toml: an architecture, the page of figures, a choice in lesson 06."""

import base64
import itertools
import json
import re
import tomllib
import zlib
from pathlib import Path

import nbformat
import pytest
from inside import ARCHITECTURES, card_of

from benchmarks.sensitivity import sources
from fluxlite_course.lesson06 import pictures
from simgpu.presets import PRESETS

ROOT = Path(__file__).parents[2]
CARDS = tomllib.loads((ROOT / "simgpu" / "cards.toml").read_text(encoding="utf-8"))["cards"]
PAGE = (ROOT / "notebooks" / "SIMULATED.md").read_text(encoding="utf-8")
LESSON = ROOT / "notebooks" / "06-cpu-against-gpu.ipynb"
WRITE = "`python -m benchmarks.sensitivity --write` writes it"


@pytest.mark.parametrize("card", CARDS)
def test_the_page_of_figures_has_the_card(card):
    row, source = (re.search(rf"^{begin}", PAGE, re.MULTILINE) for begin in (rf"\| {card} \|", rf"- \*\*{card}\*\*:"))
    assert row, f"notebooks/SIMULATED.md has no row for {card}: {WRITE}"
    assert source, f"notebooks/SIMULATED.md doesn't say where the figures of {card} are from: {WRITE}"


def test_the_page_has_todays_figures_and_no_others():
    assert sources() in PAGE, f"notebooks/SIMULATED.md has other figures than simgpu/cards.toml: {WRITE}"


@pytest.mark.parametrize("card", CARDS)
def test_its_architecture_is_known(card):
    architecture = CARDS[card]["architecture"]
    assert architecture in ARCHITECTURES, (
        f'simgpu/cards.toml has no [architectures."{architecture}"], which {card} has: add it, beside its relatives'
    )
    for_kernels = card_of(PRESETS[card])
    assert for_kernels.clock == CARDS[card]["clock"] and not for_kernels.is_guess


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_an_architecture_has_all_figures(architecture):
    missing = set(ARCHITECTURES["Turing"]) - set(ARCHITECTURES[architecture])
    assert not missing, f'[architectures."{architecture}"] of simgpu/cards.toml has no {", ".join(sorted(missing))}'


def drawn(data):
    """The heights of both lines in a scene of `crossover_explorer`, for each setting of its knobs."""
    settings = itertools.product(*(options for _, options, *_ in data["knobs"]))
    moves = [(values, which) for _, attribute, values, which in data["moves"] if attribute == "ys"]
    return {setting: [values[which[state]] for values, which in moves] for state, setting in enumerate(settings)}


@pytest.fixture(scope="module")
def stored():
    """What lesson 06 shows."""
    explorer = "".join(cell.outputs[0].data["text/html"] for cell in nbformat.read(LESSON, 4).cells
                       if cell.source.startswith("crossover_explorer("))  # fmt: skip
    packed = re.search(r'<script type="text/plain">(.*?)</script>', explorer, re.DOTALL)[1]
    return drawn(json.loads(zlib.decompress(base64.b64decode(packed), wbits=-15))["data"])


@pytest.mark.parametrize("card", CARDS)
def test_lesson_06_lets_you_choose_it_and_draws_todays_figures(card, stored, monkeypatch):
    monkeypatch.setattr(pictures, "BATCHES", (64, 1024))  # of all batches, these depend most on a card's figures
    cure = "`python tools/notebooks.py run 06 --cell crossover_explorer` does it"
    for setting, lines in drawn(pictures.crossover_explorer(64, [card]).data()).items():
        assert setting in stored, f"lesson 06 doesn't let you choose {card}: {cure}"
        assert stored[setting] == lines, (
            f"lesson 06 draws {card} with other figures than simgpu/cards.toml has now, so draw it again: {cure}"
        )
