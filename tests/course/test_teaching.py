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
from fluxlite.course import exercises

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "notebooks"
PAGE = (NOTEBOOKS / "TEACHING.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
PROSE = BLOCK.sub("", PAGE)
NUMBERS = exercises.lessons()
every_lesson = pytest.mark.parametrize("number", NUMBERS)
PARTS = ["Leave with:", "Misconceptions", "Type live.", "Skip", "On their laptops.", "Guesses.", "Exercises"]


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


def questions(number):
    return getattr(exercises.lesson(number), "QUESTIONS", {})


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
def test_every_section_has_all_its_parts(number):
    assert re.findall(r"^\*\*(.+?)\*\*", section(number, PROSE), re.MULTILINE) == PARTS


@every_lesson
def test_the_guesses_are_answered_rightly(number):
    answered = dict(re.findall(r"(\d\d-[A-Z]) ([a-z])\b", part(number, "Guesses.")))
    assert answered == {id: question.right for id, question in questions(number).items()}


@every_lesson
def test_a_misconception_is_a_wrong_option_of_a_guess(number):
    named = re.findall(r"(\d\d-[A-Z]) ([a-z])\b", part(number, "Misconceptions"))
    assert named
    for id, letter in named:
        question = questions(number)[id]
        assert letter in question.replies and letter != question.right, f"{id} {letter}"


def test_every_guess_that_is_named_exists():
    known = {id for number in NUMBERS for id in questions(number)}
    assert set(re.findall(r"\b\d\d-[A-Z]\b", PROSE)) == known


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
    assert list(answers) == list(exercises.exercises(number))
    known = solutions(number)
    for id, answer in answers.items():
        pieces = typed(answer)
        assert pieces, f"{id}: what does one type?"
        assert [piece for piece in pieces if re.sub(r"\s", "", piece) not in known[id]] == [], id


def test_every_exercise_that_is_named_exists():
    known = {id for number in NUMBERS for id in exercises.exercises(number)}
    named = set(re.findall(r"(?<![\d.])(?:0\d|1[0-9])\.[1-9](?![\d.])", re.sub(r"`[^`]*`", "", PROSE)))
    assert named == known


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


@every_lesson
def test_what_is_typed_live_is_short_enough_to_be_typed(number):
    lines = [line for line in typed_live()[number][0].splitlines() if line.strip()]
    assert 5 <= len(lines) <= 10 and max(map(len, lines)) <= 120


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


def test_there_are_three_plans_and_their_minutes_add_up():
    assert [(whole, lunch) for whole, lunch, _ in plans()] == [(180, 0), (360, 60), (300, 60)]
    for whole, lunch, rows in plans():
        assert sum(length for _, length, _, _ in rows) == whole + lunch
        assert sum(length for _, length, what, _ in rows if what.startswith("lunch")) == lunch
        passed = 0
        for begin, length, what, _ in rows:
            assert begin == f"{passed // 60}:{passed % 60:02}", what
            passed += length


def test_a_plan_leaves_time_for_the_exercises_that_it_keeps():
    for _, _, rows in plans():
        for _, length, what, kept in rows:
            for number in re.findall(r"\*\*(\d\d)\*\*", what):
                whole, each = minutes(number)
                own = [id for id in kept if id.startswith(number)]
                assert sum(each[id] for id in own) <= length / 2, (
                    f"{number}: more than half of the time is for exercises"
                )
                assert length >= whole or "up to" in what or "without" in what, f"{number} takes {whole} minutes"
            assert {id[:2] for id in kept} <= set(re.findall(r"\*\*(\d\d)\*\*", what))


def section_of(number):
    """For each exercise of a lesson, the number of the section that it stands in."""
    found, section = {}, ""
    for heading in re.findall(r"^## (\d+) ·|^### Exercise (\S+)", text(number), re.MULTILINE):
        section = heading[0] or section
        if heading[1]:
            found[heading[1]] = section
    return found


def test_what_can_be_skipped_leaves_the_exercises_that_a_plan_keeps():
    three_hours, _, second_day = plans()
    for id in (id for _, _, rows in (three_hours, second_day) for row in rows for id in row[3]):
        first = part(id[:2], "Skip").partition(". ")[0]
        whole = re.findall(r"(?<!of )(?<!after )\bsections? (\d+)(?: and (\d+))?", first)
        assert section_of(id[:2])[id] not in {n for pair in whole for n in pair}, id
        assert id not in re.findall(r"\d\d\.\d", first), id


def below(plan):
    """What stands below a plan's table, up to the next heading."""
    return re.search(rf"^### {plan} \(.*?\n\n\|.*?\n\n(.*?)(?=^#|^\*\*Rhythm)", PAGE, re.MULTILINE | re.DOTALL)[1]


@pytest.mark.parametrize("plan", ["Three hours", "A day", "A second day"])
def test_a_plan_says_what_to_drop_when_late_and_only_what_it_has(plan):
    late = re.search(r"^\*\*Late\?\*\*(.*)", below(plan), re.MULTILINE | re.DOTALL)[1]
    table = PAGE[PAGE.index(f"### {plan} (") : PAGE.index(late)]
    dropped = re.findall(r"\d\d\.\d", late)
    assert dropped and set(dropped) <= set(re.findall(r"\d\d\.\d", table))
    assert all(f"| {time} | " in table for time in re.findall(r"At (\d:\d\d)", late))


def test_the_three_hours_hold_one_vote_for_each_lesson_that_has_a_guess():
    lessons = [number for _, _, what, _ in next(plans())[2] for number in re.findall(r"\*\*(\d\d)\*\*", what)]
    votes = re.search(r"In three hours: (.*?)\. ", PAGE)[1].split(", ")
    assert [vote[:2] for vote in votes] == lessons


def test_a_lesson_that_a_plan_takes_up_to_its_stop_sign_has_one():
    rows = [what for _, _, rows in plans() for _, _, what, _ in rows if "stop sign" in what]
    for number in {number for what in rows for number in re.findall(r"\*\*(\d\d)\*\*", what)}:
        assert ("**This is the end of the core.**" if number == "05" else "**You can stop here**") in text(number)


# -- links, commands, the slip ----------------------------------------------------------------------------------------


def anchors(path):
    """What you can link to in a page or a lesson."""
    if path.suffix == ".ipynb":  # JupyterLab's rule
        return {heading.replace(" ", "-") for heading in re.findall(r"^#+ (.*)$", text(path.name[:2]), re.MULTILINE)}
    headings = re.findall(r"^#+ (.*)$", BLOCK.sub("", path.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_leads_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", re.sub(r"`[^`\n]*`", "", PROSE))
    assert links
    for link in links:
        file, _, anchor = link.partition("#")
        path = (NOTEBOOKS / file).resolve() if file else NOTEBOOKS / "TEACHING.md"
        assert path.is_file(), link
        assert not anchor or anchor in anchors(path), link


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


def test_no_line_is_too_long_to_be_read():
    assert [line for line in PROSE.splitlines() if len(line) > 140 and not line.startswith("|")] == []
