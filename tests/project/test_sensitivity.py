"""The table of what would change if a guessed figure were off by two is what `estimate` says today."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import sensitivity  # noqa: E402
from benchmarks.sensitivity import STATEMENTS  # noqa: E402
from fluxlite.simulated.presets import PRESETS, preset  # noqa: E402


@pytest.mark.slow
def test_the_page_is_what_the_program_writes():
    written = sensitivity.FILE.read_text(encoding="utf-8")
    assert written == sensitivity.document(), "python -m benchmarks.sensitivity --write"


@pytest.mark.parametrize("name", STATEMENTS)
def test_each_statement_holds_with_the_figures_as_they_are(name):
    assert STATEMENTS[name].holds(STATEMENTS[name].number(preset("NVIDIA T4")))


def test_every_figure_that_is_no_makers_has_a_row_and_every_card_its_source():
    page = sensitivity.FILE.read_text(encoding="utf-8")
    for figure in preset("NVIDIA T4").figures:
        has_row = f"| {figure.name} | {figure.kind} |" in page
        assert has_row == (figure.kind != "datasheet" and figure.name != "peers")
    for name, card in PRESETS.items():
        peers = next(figure for figure in card.figures if figure.name == "peers")
        about = f"- **{name}**: {card.source}. Peer access ({peers.kind}): {peers.source}."
        assert f"| {name} |" in page and about in page


def test_what_no_longer_holds_is_marked(monkeypatch):
    half = sensitivity.row("pageable")[list(STATEMENTS).index("ahead")]
    assert half == "**1.00** / 0.68"
    always = STATEMENTS["total"]._replace(holds=lambda seconds: False)
    monkeypatch.setitem(STATEMENTS, "total", always)
    assert sensitivity.row("launch")[0] == "**1.12 s** / **2.92 s**"


def test_only_the_figure_in_question_is_varied():
    for name in sensitivity.figures():
        pairs = zip(sensitivity.varied(name, 2.0), preset("NVIDIA T4"))
        different = [field for field, (one, other) in zip(PRESETS["NVIDIA T4"]._fields, pairs) if one != other]
        assert different == [name]
    assert sensitivity.varied("queue", 0.5).queue == 512
