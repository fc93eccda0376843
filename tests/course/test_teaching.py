"""TEACHING.md: what it says about the lessons is true, and what it asks a teacher to type runs."""

import contextlib
import io
import linecache
import re
from pathlib import Path

import nbformat
import pytest

import fluxlite
from fluxlite import messages
from fluxlite.__main__ import main
from fluxlite_course.kit import exercises
from fluxlite_course.kit.guesses import questions

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "notebooks"
PAGE = (NOTEBOOKS / "TEACHING.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
PROSE = BLOCK.sub("", PAGE)
NUMBERS = list(exercises.folders())
every_lesson = pytest.mark.parametrize("number", NUMBERS)


def cells(number):
    (path,) = NOTEBOOKS.glob(f"{number}-*.ipynb")
    return [(cell.cell_type, cell.source) for cell in nbformat.read(path, as_version=4).cells]


def text(number):
    return "\n\n".join(source for kind, source in cells(number) if kind == "markdown")


def section(number, page=PAGE):
    """What the page says about a lesson."""
    return re.search(rf"^### {number} · .*?(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)[0]


def part(number, name):
    """One of the bold parts of a lesson's section."""
    return re.search(rf"^\*\*{re.escape(name)}\*\*(.*?)(?=^\*\*|\Z)", section(number), re.MULTILINE | re.DOTALL)[1]


def minutes(number):
    """How long a lesson and each of its exercises take, according to the lesson."""
    whole = int(re.search(r"^\*(\d+) minutes", text(number), re.MULTILINE)[1])
    return whole, {
        id: int(n) for id, n in re.findall(r"^### Exercise (\S+) .*\*\((\d+) minute", text(number), re.MULTILINE)
    }


# -- the lessons ------------------------------------------------------------------------------------------------------


def test_every_lesson_has_its_section_with_the_lessons_title_and_minutes():
    titles = [(n, text(n).splitlines()[0].removeprefix(f"# {n} · ").partition(":")[0], minutes(n)[0]) for n in NUMBERS]
    expected = [f"{number} · {title} ({whole} minutes)" for number, title, whole in titles]
    assert re.findall(r"^### (\d\d · .*)$", PAGE, re.MULTILINE) == expected


@every_lesson
def test_the_guesses_are_answered_rightly(number):
    answered = dict(re.findall(r"(\d\d-[A-Z]) ([a-z](?: or [a-z])*)\b", part(number, "Guesses.")))
    assert answered == {id: " or ".join(question.right) for id, question in questions(number).items()}


@every_lesson
def test_a_misconception_is_a_wrong_option_of_a_guess(number):
    named = re.findall(r"(\d\d-[A-Z]) ([a-z])\b", part(number, "Misconceptions"))
    assert named
    for id, letter in named:
        question = questions(number)[id]
        assert letter in question.replies and letter not in question.right, f"{id} {letter}"


def solutions(number):
    """The solved code of each exercise in a lesson, without spaces."""
    found, waiting = {}, ""
    for kind, source in cells(number):
        if kind == "code":
            waiting += "".join(re.findall(r"### BEGIN SOLUTION\n(.*?)### END SOLUTION", source, re.DOTALL))
            if checked := re.search(r'^check\("([\d.]+)"', source, re.MULTILINE):
                found[checked[1]], waiting = re.sub(r"\s", "", waiting), ""
    return found


def typed(answer):
    """The code in an answer, up to the first full stop, colon or semicolon. The rest explains."""
    pieces = []
    for i, piece in enumerate(answer.split("`")):
        if i % 2:
            pieces.append(piece)
        elif re.search(r"[.:;]", piece):
            break
    return pieces


@every_lesson
def test_every_exercise_is_answered_and_the_code_is_that_of_its_solution(number):
    answers = dict(re.findall(r"^- (\d\d\.\d+): (.*)$", part(number, "Exercises"), re.MULTILINE))
    assert list(answers) == list(exercises.in_lesson(number))
    known = solutions(number)
    for id, answer in answers.items():
        pieces = typed(answer)
        assert pieces, f"{id}: what does one type?"
        assert [piece for piece in pieces if re.sub(r"\s", "", piece) not in known[id]] == [], id


@every_lesson
def test_sections_that_are_named_exist(number):
    named = re.findall(r"\bsections? (\d+)(?: and (\d+))?", section(number, PROSE))
    assert {int(n) for pair in named for n in pair if n} <= {
        int(n) for n in re.findall(r"^## (\d+) · ", text(number), re.MULTILINE)
    }


# -- what is typed live -----------------------------------------------------------------------------------------------


def typed_live():
    """For each lesson, what to type and what you should then see."""
    return {number: [body for _, body in BLOCK.findall(section(number))] for number in NUMBERS}


@every_lesson
def test_what_is_typed_live_shows_what_the_page_says(number, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(messages, "in_notebook", lambda: True)  # where long messages are broken between words
    begin = BLOCK.search(PAGE[PAGE.index("## Lessons") :])[2]
    code, shown = typed_live()[number]
    names, printed = {}, io.StringIO()
    with fluxlite.simulate_gpu(False), contextlib.redirect_stdout(io.StringIO()):
        exec(begin, names)
        with contextlib.redirect_stdout(printed):
            linecache.cache["<typed live>"] = len(code), None, code.splitlines(True), "<typed live>"  # kernels are read
            exec(compile(code, "<typed live>", "exec"), names)
    assert printed.getvalue() == shown


# -- the plans --------------------------------------------------------------------------------------------------------


def plans():
    """For each plan: its heading's minutes, the lunch minutes, and the rows: from, minutes, what, exercises."""
    found = re.findall(
        r"^### .*? \((\d+) minutes(?:, and (\d+) for lunch)?\)\n\n(\|.*?)\n\n", PAGE, re.MULTILINE | re.DOTALL
    )
    for whole, lunch, table in found:
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
        yield (
            int(whole),
            int(lunch or 0),
            [(row[0], int(row[1]), row[2], re.findall(r"\d\d\.\d", row[3])) for row in rows],
        )


def test_there_are_two_plans_and_their_minutes_add_up():
    assert [(whole, lunch) for whole, lunch, _ in plans()] == [(180, 0), (360, 60)]
    for whole, lunch, rows in plans():
        assert sum(length for _, length, _, _ in rows) == whole + lunch
        assert sum(length for _, length, what, _ in rows if what.startswith("lunch")) == lunch
        passed = 0
        for begin, length, what, _ in rows:
            assert begin == f"{passed // 60}:{passed % 60:02}", what
            passed += length


# -- links, commands, the slip ----------------------------------------------------------------------------------------


def test_every_command_exists():
    for command in set(re.findall(r"-m fluxlite (\w+)", PAGE)):
        assert main([command, "--help"]) == 0
    targets = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1].split()
    assert set(re.findall(r"(?:^|`)make (\w+)", PAGE, re.MULTILINE)) <= set(targets)
    for path in re.findall(r"`python3? (\S+\.py)", PAGE):
        assert (ROOT / path).exists() or (ROOT / "tools" / path).exists(), path


def test_the_slip_says_what_lesson_00_says():
    slip = "".join(re.findall(r"^>.*\n", PAGE, re.MULTILINE))
    words = " ".join(re.sub(r"^> ?", "", slip, flags=re.MULTILINE).replace("**", "").split())
    lesson = " ".join(text("00").replace("**", "").split())
    assert words in lesson
