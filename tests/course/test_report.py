"""My GPU report: what's on the page, and where it's stored."""

import numpy as np
import pytest

from fluxlite_course import check, guess, report
from fluxlite_course.kit import progress
from fluxlite_course.kit.guesses import question

pytestmark = pytest.mark.usefixtures("own_progress")


def test_the_report_has_the_learners_own_guesses_and_checks(tmp_path, capsys):
    guess("00-A", "b")
    guess("02-C", "b")
    check("00.1", 16_384)
    page = str(report())
    assert "Exercises solved: 1 of " in page and "Guesses: 2, 1 of them right." in page
    assert "Why was the GPU slower, in 2018? I said b, and it is a or c: it wasn't the bytes" in page
    assert "1 wave at once." in page and "The CPU is faster" in page
    assert "65,536 waves at once." in page and "The T4 is faster" in page
    assert "With an order for each operation, the lines cross at about 4,900 waves at once.\n" in page
    assert "With one order, replayed, the lines cross at about 610 waves at once.\n" in page
    assert (tmp_path / "my-gpu-report.txt").read_text(encoding="utf-8") == f"{page}\n"
    assert (tmp_path / "my-gpu-report.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("letter", "ac")
def test_the_report_says_the_verdict_in_the_same_words_to_each_guess(letter):
    guess("00-A", letter)
    page = str(report())
    assert f"I said {letter}, and it is a or c: {question('00-A').verdict}" in page.replace("\n", " ")
    assert "Guesses: 1, 1 of them right." in page


def test_the_report_says_what_was_guessed_of_the_crossings():
    guess("07-B", "a")
    guess("07-E", "b")
    page = str(report())
    assert "about 4,900 waves at once. I guessed: 10.\n" in page
    assert "about 610 waves at once. I guessed: hundreds.\n" in page


@pytest.mark.parametrize("letter", ["$\\frac{$", "\udc00", "z"])
def test_the_report_shows_no_letter_that_is_no_option(letter, tmp_path):
    for id in ("00-A", "07-B", "07-E"):
        progress.keep("guesses", id, letter)
    page = str(report())
    assert "I said" not in page and "I guessed" not in page


def test_the_stored_page_is_full_and_nothing_sticks_out(tmp_path):
    page = str(report())
    assert "Exercises solved: 0 of " in page and "I said" not in page
    rows = np.frombuffer(tmp_path.joinpath("my-gpu-report.png").read_bytes()[16:24], ">u4")
    assert 900 < rows[0] < 1200 < 2 * rows[1]


def test_the_report_in_a_folder_that_cannot_be_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FLUXLITE_PROGRESS", str(tmp_path / "not there" / "progress.json"))
    assert "Exercises solved: 0 of " in str(report())
    assert "The report isn't kept in" in capsys.readouterr().err
