"""Sheets to print: their words are the lesson's, without answers, and each is one page."""

import html
import re

import pytest

from fluxlite_course.kit.boxes import marked
from fluxlite_course.kit.exercises import folders, in_lesson
from fluxlite_course.kit.guesses import questions
from tools.sheets import make

EXERCISES = [id for number in folders() for id in in_lesson(number)]


@pytest.mark.parametrize("id", [*EXERCISES, *folders()])
def test_there_is_a_sheet_of_each_exercise_and_of_each_lesson(id):
    page = html.unescape(make.sheet(id))
    assert not re.search(r"@\w+@|todo\(\)  #|<details|BEGIN SOLUTION", page)
    if "." in id:
        assert re.search(rf"<h2[^>]*>{re.escape(id)} · ", page)


def test_a_lessons_sheet_has_all_its_questions_and_none_of_the_replies():
    page = make.sheet("06")
    for id, asks in questions("06").items():
        assert id in page and marked(asks.words) in page
        assert all(marked(option) in page for option in asks.options.values())
        assert not any(marked(reply) in page for reply in asks.replies.values())


def test_an_exercises_sheet_has_its_words_its_starter_and_the_question_before_it():
    page = html.unescape(make.sheet("01.1"))
    assert "total = np.sum(y)" in re.sub("<[^>]*>", "", page)
    assert "to_gpu, to_gpu_bytes = ____________, ____________" in page
    assert marked(questions("01")["01-B"].words) in make.sheet("01.1") and "nobody counts" not in page
    assert "01-A" not in page and "01-C" not in page


@pytest.mark.parametrize("id", ["9.1", "01.9", "17", "x"])
def test_a_sheet_that_there_is_not_is_named(id):
    with pytest.raises(ValueError, match=re.escape(repr(id)) if "." not in id else "there is no|there's no"):
        make.sheet(id)


@pytest.mark.slow
@pytest.mark.skipif(make.browser() is None, reason="there's no Chromium here")
def test_each_sheet_is_one_page_of_paper(tmp_path):
    assert make.main(["--folder", str(tmp_path)]) == 0
    made = sorted(tmp_path.glob("*.pdf"))
    assert [path.stem for path in made] == [id.replace(".", "-") for id in make.SHEETS]
    for path in made:
        assert re.findall(rb"/Count (\d+)", path.read_bytes()) == [b"1"]
