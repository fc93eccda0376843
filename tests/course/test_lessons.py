"""The lessons, the learners' copies and the list of the guide's examples agree.

nbval compares what a solved lesson prints. Here we run a learner's copy to its end.
"""

import csv
import importlib
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient

import fluxlite
from fluxlite import functional
from fluxlite_course.kit import exercises
from fluxlite_course.kit.boxes import marked
from fluxlite_course.kit.copies import fingerprint
from fluxlite_course.kit.guesses import questions
from fluxlite_course.kit.puzzles import Puzzle, play
from tools import notebooks as tool
from tools import words

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "notebooks"
LESSONS = sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))
LEARNERS = sorted((NOTEBOOKS / "learner").glob("[0-9]*.ipynb"))
every_lesson = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
every_copy = pytest.mark.parametrize("path", LEARNERS, ids=lambda path: path.stem)
# Running a copy takes seconds. If one runs, the others most likely do, too.
SLOW = [path for path in LEARNERS if path.name[:2] not in ("01", "06")]
some_copies = pytest.mark.parametrize(
    "path", [pytest.param(path, marks=[pytest.mark.slow] * (path in SLOW), id=path.stem) for path in LEARNERS]
)


def cells(path):
    return nbformat.read(path, as_version=4).cells


def code(path):
    return [cell["source"] for cell in cells(path) if cell["cell_type"] == "code"]


def text(path):
    return "\n\n".join(cell["source"] for cell in cells(path) if cell["cell_type"] == "markdown")


def printed(cell):
    return "".join(output.get("text", "") or output.get("data", {}).get("text/plain", "") for output in cell["outputs"])


# -- the lessons --------------------------------------------------------------------------------------------------


def test_the_lessons_are_those_of_the_course():
    assert [path.name[:2] for path in LESSONS] == list(exercises.folders())
    assert [path.name for path in LESSONS] == [path.name for path in LEARNERS]


@every_lesson
def test_front_matter_and_the_first_cell(path):
    number, first = path.name[:2], "".join(cells(path)[0]["source"])
    assert first.startswith(f"# {number} · ") and "minutes" in first and "you can" in first
    assert any(re.search(rf'^start\("{number}"\)', source, re.MULTILINE) for source in code(path)[:1])


@every_lesson
def test_a_lesson_imports_its_own_line_and_nothing_from_inside(path):
    """The first cell has NumPy, fluxlite and the line of the lesson's folder. So may a program for other processes."""
    public = {"fluxlite", "fluxlite.cuda", "fluxlite.distributed", "fluxlite.simulated", "fluxlite_course"}
    sources = [source for source in code(path) if not source.startswith("%%workers")]
    first, *later = (re.findall(r"^ *(?:from|import) ([\w.]+)", source, re.MULTILINE) for source in sources)
    own = f"fluxlite_course.{exercises.folders()[path.name[:2]].name}"
    assert first.count(own) == 1 and set(first) - {own} <= {"numpy", "fluxlite", "fluxlite.cuda"}
    ours = {name for names in later for name in names if name.startswith(("fluxlite", "simgpu"))}
    assert ours <= public


@every_lesson
def test_every_exercise_is_asked_once_solved_checked_and_hinted(path):
    number, found = path.name[:2], []
    solved, hints = False, 0
    for cell in cells(path):
        source = cell["source"]
        solved |= "### END SOLUTION" in source
        hints += source.count("<summary>Hint")
        for id in re.findall(r'^check\("([\d.]+)"', source, re.MULTILINE):
            assert solved and hints, f"{id} has no solution or no hint before its check"
            assert f"{id}  right " in printed(cell), f"{id}: the stored solution is not right"
            found.append(id)
            solved, hints = False, 0
    assert sorted(found) == sorted(exercises.in_lesson(number))
    for id in found:
        assert re.search(rf"^### Exercise {re.escape(id)} ", text(path), re.MULTILINE), f"{id} has no heading"


@every_lesson
def test_every_question_is_asked_once_in_order_and_its_answer_is_not_in_the_notebook(path):
    asked = questions(path.name[:2])
    stored = [(tool.GUESS.search(cell["source"]), cell) for cell in cells(path) if cell["cell_type"] == "code"]
    assert [match[1] for match, _ in stored if match] == list(asked)
    later = "\n".join("\n".join(code(it)) for it in LESSONS if it > path)
    for match, cell in stored:
        if match:
            question, (output,) = asked[match[1]], cell["outputs"]
            shown = output["data"]["text/html"]
            assert all(marked(words) in shown for words in question.options.values())
            assert not any(reply in shown for reply in question.replies.values())
            assert not question.later or f'answer("{match[1]}")' in later


@every_lesson
def test_a_puzzle_begins_above_par_and_its_solution_is_at_par(path, own_progress, capsys):
    found = [source for source in code(path) if tool.PUZZLE.search(source)]
    assert [tool.PUZZLE.search(source)[1] for source in found] == list(exercises.in_lesson(path.name[:2], Puzzle))
    own = importlib.import_module(f"fluxlite_course.{exercises.folders()[path.name[:2]].name}")
    for source in found:
        for program, word in ((tool.SOLUTION.sub("", source), "above par"), (source, "at par")):
            space = {name: getattr(fluxlite, name) for name in fluxlite.__all__}
            space |= {"fl": fluxlite, "np": np, **vars(own)}
            magic, _, body = program.partition("\n")
            helpers = [one for one in code(path) if one.startswith("t = np.linspace")]  # step, of lesson 07
            exec("\n".join([*helpers, body]), space)
            capsys.readouterr()
            play(magic.split()[1], space)
            assert capsys.readouterr().out.split("   ")[0].split("  ")[1].strip() == word


def test_no_letter_is_right_in_more_than_half_of_the_questions():
    right = Counter(question.right for number in list(exercises.folders()) for question in questions(number).values())
    assert max(right.values()) <= right.total() / 2, "learners would notice"


@every_lesson
def test_the_next_link_leads_on(path):
    later = [other.name for other in LESSONS if other > path]
    assert not later or f"]({later[0]})" in "".join(cells(path)[-1]["source"])


# -- the learners' copies -------------------------------------------------------------------------------------------


def test_the_copies_are_what_the_lessons_make_byte_for_byte():
    made = {path.name: content for path, content in tool.learners().items()}
    assert made == {path.name: path.read_text(encoding="utf-8") for path in (NOTEBOOKS / "learner").glob("*.ipynb")}
    assert tool.examples_page() == (NOTEBOOKS / "EXAMPLES.md").read_text(encoding="utf-8")


@every_copy
def test_a_copy_holds_no_output_but_questions_and_no_solution_in_code(path):
    for cell in cells(path):
        if cell["cell_type"] == "code":
            kinds = [output["output_type"] for output in cell["outputs"]]  # Jupyter trusts only printed text
            asks = tool.GUESS.search(cell["source"])
            assert kinds == (["stream"] if asks else []) and cell["execution_count"] is None
            assert not asks or asks[1] in printed(cell) and "Run this cell to guess." in printed(cell)
    everything = "\n".join(code(path))
    assert "SOLUTION" not in everything and not re.search(r'^guess\(".*", ', everything, re.MULTILINE)
    about = nbformat.read(path, as_version=4).metadata.fluxlite
    assert about["lesson"] == path.name[:2] and about["sources"] == fingerprint({"cells": cells(path)})


@some_copies
def test_a_lesson_begins_small(path):
    """Thirty learners may share one computer, so plotting and GPU libraries are loaded only when needed."""
    large = {"matplotlib", "torch", "ipywidgets", "pandas"} | ({"cupy"} if not functional("CUDA") else set())
    if "draw(" in code(path)[0]:  # its first picture is a pad, and that's a widget
        large -= {"ipywidgets"}
    program = f"{code(path)[0]}\nimport sys\nprint('NEEDED', *{large} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1].split() == ["NEEDED"]


@some_copies
def test_a_copy_runs_to_its_end_and_every_exercise_is_not_yet(path, own_progress, tmp_path, monkeypatch):
    """Like a learner who chooses *Run All Cells* before doing anything."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(path, as_version=4)
    here = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources=here).execute()
    said = "\n".join(printed(cell) for cell in notebook.cells if cell["cell_type"] == "code")
    verdicts = re.findall(r"^(\d\d\.\d+)  (right|not right|not yet|stopped)\b", said, re.MULTILINE)
    assert verdicts == [(id, "not yet") for id, _ in verdicts]
    assert sorted(id for id, _ in verdicts) == sorted(exercises.in_lesson(path.name[:2]))
    kept = {"progress.json", ".progress.json.lock", "my-gpu-report.png", "my-gpu-report.txt"}
    assert set(os.listdir(tmp_path)) <= kept, "a lesson leaves files behind"


def test_a_solution_without_a_check_is_a_mistake():
    with pytest.raises(ValueError, match="lesson 03 has a solution without a check after it:\nx = 1"):
        cell = {"cell_type": "code", "id": "c", "source": "### BEGIN SOLUTION\nx = 1\n### END SOLUTION\n"}
        tool.for_learners({"cells": [{**cell, "metadata": {}, "outputs": []}], "metadata": {}}, "03")


# -- short, and something to look at -------------------------------------------------------------------------------


def test_the_lessons_are_short():
    """`python tools/words.py` shows the table."""
    found = {number: sum(counted) for number, counted in words.lessons().items()}
    assert sum(found[number] for number in range(words.STORY)) <= words.STORY_AT_MOST
    others = {number: count for number, count in found.items() if words.STORY <= number != words.REFERENCE}
    assert {number: count for number, count in others.items() if count > words.LESSON_AT_MOST} == {}


def only_true_or_false(cell):
    """Whether a cell shows nothing but True and False."""
    shown = re.findall(r"\w+", printed(cell)) if cell["cell_type"] == "code" else []
    return bool(shown) and set(shown) <= {"True", "False"}


@every_lesson
def test_no_cell_only_says_true_or_false(path):
    assert ["".join(cell["source"]) for cell in cells(path) if only_true_or_false(cell)] == []


def is_drawn(output):
    """Whether an output is a picture: an image, a scene, a tree. A question's or a check's box isn't."""
    data = output.get("data", {})
    return "image/png" in data or ("text/html" in data and "fluxlite-box" not in data["text/html"])


def lines_up_to_the_first_picture(path):
    """The lines of code that a learner has read when something is drawn, but for the imports."""
    lines = 0
    for cell in (cell for cell in cells(path) if cell["cell_type"] == "code"):
        read = (line.strip() for line in cell["source"].splitlines())
        lines += sum(bool(line) and not line.startswith(("#", "%%", "import ", "from ")) for line in read)
        if any(map(is_drawn, cell["outputs"])):
            break
    return lines


@every_lesson
def test_a_picture_comes_soon(path):
    assert lines_up_to_the_first_picture(path) <= 7


# -- the guide's examples ---------------------------------------------------------------------------------------------


def listed():
    with (NOTEBOOKS / "examples.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def shown():
    """Each example's tag, and the lessons that have it."""
    found = {}
    for path in LESSONS:
        for cell in cells(path):
            for tag in cell["metadata"].get("tags", []):
                if tag.startswith("example:"):
                    found.setdefault(tag.removeprefix("example:"), set()).add(path.name[:2])
    return found


def test_the_list_and_the_lessons_agree():
    numbers = set(list(exercises.folders()))
    wanted = {row["id"]: {row["lesson"]} for row in listed() if row["lesson"] in numbers}
    assert shown() == wanted


def test_the_list_has_every_example_of_the_guide_once():
    ids = [row["id"] for row in listed()]
    numbered = {f"S{part}-{n}" for part, last in ((1, 30), (2, 7), (3, 14), (4, 6)) for n in range(1, last + 1)}
    numbered |= {"S2-i1"} | {f"S3-R{n}" for n in range(1, 11)}
    assert len(ids) == len(set(ids)) == 68 and set(ids) == numbered
