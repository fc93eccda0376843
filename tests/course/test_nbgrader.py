"""The course as an nbgrader course: generated, handed in by three learners, graded, and returned."""

import importlib.util
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
LESSON = "02-models-that-move.ipynb"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("nbgrader") is None, reason="nbgrader is not installed"),
]


def nbgrader(folder, *arguments):
    # nbgrader calls other programs in its environment by name.
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
    home = {name: str(folder / "home") for name in ("HOME", "JUPYTER_CONFIG_DIR", "IPYTHONDIR")}
    environment = {**os.environ, **home, "PATH": path, "PYTHONPATH": str(ROOT)}
    environment.pop("FLUXLITE_PROGRESS", None)
    command = [sys.executable, "-m", "nbgrader", *arguments]
    answer = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout + answer.stderr


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class") / "course"
    command = [sys.executable, str(ROOT / "tools" / "notebooks.py"), "nbgrader", str(folder)]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "lesson-02" in os.listdir(folder / "source") and "assignments. Go on there" in made
    assert subprocess.run(command, capture_output=True).returncode == 1, "a course that is there was overwritten"
    nbgrader(folder, "generate_assignment", "lesson-02")
    return folder


def released(course):
    return nbformat.read(course / "release" / "lesson-02" / LESSON, as_version=4)


def sources(notebook):
    return [cell.source for cell in notebook.cells]


def submit(course, learner, notebook):
    folder = course / "submitted" / learner / "lesson-02"
    folder.mkdir(parents=True)
    nbformat.write(notebook, folder / LESSON)


def with_solutions(course, change=lambda source: source):
    """The released lesson with our own solutions in it, as a learner would write them."""
    solved = nbformat.read(course / "source" / "lesson-02" / LESSON, as_version=4)
    by_id = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in solved.cells}
    notebook = released(course)
    for cell in notebook.cells:
        about = cell.metadata.get("nbgrader", {})
        if about.get("solution"):
            cell.source = change(by_id[about.grade_id].source)
    return notebook


def test_the_released_lesson_holds_no_solution_and_no_guess(course):
    everything = "\n".join(sources(released(course)))
    assert "todo()  # your line or lines here" in everything and 'guess("02-C")' in everything
    assert "SOLUTION" not in everything and "functor(TwoHeads)\n" not in everything


def test_a_right_an_untouched_and_a_wrong_learner_are_graded_and_get_feedback(course):
    submit(course, "ann", with_solutions(course))
    submit(course, "bob", released(course))
    wrong = with_solutions(course, lambda source: source.replace("functor(TwoHeads)", 'functor(TwoHeads, ("body",))'))
    for cell in wrong.cells:  # they also change a locked check, which nbgrader restores
        if cell.source == 'check("02.2", TwoHeads)':
            cell.source = 'print("02.2  right")'
    submit(course, "eve", wrong)
    nbgrader(course, "autograde", "lesson-02")
    with sqlite3.connect(course / "gradebook.db") as gradebook:
        rows = gradebook.execute(
            "select submitted_assignment.student_id, sum(grade.auto_score) from grade"
            " join submitted_notebook on grade.notebook_id = submitted_notebook.id"
            " join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id"
            " group by submitted_assignment.student_id"
        ).fetchall()
    assert dict(rows) == {"ann": 3.0, "bob": 0.0, "eve": 2.0}
    nbgrader(course, "generate_feedback", "lesson-02")
    page = (course / "feedback" / "eve" / "lesson-02" / LESSON.replace("ipynb", "html")).read_text(encoding="utf-8")
    assert "4 of 6 arrays stayed on the CPU" in page
    shutil.rmtree(course / "submitted")
