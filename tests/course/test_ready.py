"""check: one word if the course can begin, otherwise the one thing to do; it leaves no files behind."""

import importlib.util
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from fluxlite.__main__ import main
from fluxlite_course.kit import ready

ROOT = Path(__file__).parents[2]


def check(cwd, *options, **environment):
    command = [sys.executable, *options, "-m", "fluxlite", "check"]
    known = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(cwd), **environment}
    for name in ("MPLCONFIGDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "FLUXLITE_PROGRESS"):
        known.pop(name, None)
    return subprocess.run(command, cwd=cwd, env=known, capture_output=True, text=True)


def test_one_word_and_nothing_is_left_behind(tmp_path):
    answer = check(tmp_path)
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "READY\n", "")
    assert list(tmp_path.rglob("*")) == []


def test_what_is_needed_is_what_is_installed_by_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = map(Requirement, [*project["dependencies"], *project["optional-dependencies"]["lab"]])
    # MPI is for lesson 15 alone, which says what to do where it's missing.
    assert {one.name for one in asked} - {"mpi4py", "mpich"} == {*ready.NEEDED, *ready.TO_START}


def test_lab_names_all_that_is_missing_and_this_python(monkeypatch, capsys):
    real = importlib.util.find_spec
    gone = ("jupyterlab", "matplotlib")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in gone else real(name))
    assert main(["lab"]) == 1
    assert capsys.readouterr().out == (
        "Not installed in this Python: matplotlib, jupyterlab. This helps:\n"
        f"    {sys.executable} -m pip install matplotlib jupyterlab\n"
    )


@pytest.mark.slow
def test_what_is_there_and_cannot_be_imported_is_named(tmp_path):
    (tmp_path / "tqdm.py").write_text("raise ImportError('DLL load failed')")
    answer = check(tmp_path, PYTHONPATH=f"{ROOT}{os.pathsep}{tmp_path}")
    assert answer.returncode == 1
    assert answer.stdout.startswith(
        "tqdm is installed, but can't be used (ImportError: DLL load failed). This helps:\n"
    )
    (tmp_path / "tqdm.py").write_text("import os\nos._exit(3)")
    assert "(Python ended with 3)" in check(tmp_path, PYTHONPATH=f"{ROOT}{os.pathsep}{tmp_path}").stdout


def test_a_folder_that_cannot_be_written_to(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLUXLITE_PROGRESS", raising=False)
    assert ready.not_writable() == ""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert ready.not_writable().startswith(f"Your work can't be kept in {tmp_path}: ")


def test_in_a_notebook_pip_is_a_magic_and_no_jupyterlab_is_needed(monkeypatch):
    asked = []
    monkeypatch.setattr(ready, "ipython", object)
    monkeypatch.setattr(ready, "missing", lambda needed: asked.extend(needed) or ready._install("numpy"))
    assert ready.what_to_do() == "This helps:\n    %pip install numpy"
    assert "matplotlib" in asked and "jupyterlab" not in asked


def test_where_no_program_can_be_started_all_is_imported_here(no_programs, monkeypatch, tmp_path, capsys):
    (tmp_path / "broken_one.py").write_text("raise ImportError('DLL load failed')")
    monkeypatch.syspath_prepend(tmp_path)
    assert ready.broken(("json", "numpy")) == ""
    assert ready.broken(("json", "broken_one")).startswith(
        "broken_one is installed, but can't be used (ImportError: DLL load failed). This helps:\n"
    )
    assert main(["lab"]) == 1
    assert capsys.readouterr().out.startswith("JupyterLab can't be opened from here: no other program can be started")
    assert list(tmp_path.iterdir()) == [tmp_path / "broken_one.py"]


@pytest.mark.slow
def test_in_a_cell(tmp_path, monkeypatch):
    """``%run -m fluxlite …``, which a learner can type in a notebook. Even a mistake gives no traceback."""
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    cells = [
        nbformat.v4.new_code_cell(f"%run -m fluxlite {command}") for command in ("check", "handin Ada", "handin ?")
    ]
    notebook = nbformat.v4.new_notebook(cells=cells)
    (tmp_path / "00.ipynb").write_text("{}")
    place = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources=place).execute()
    said = ["".join(output.text for output in cell.outputs).strip() for cell in notebook.cells]
    assert said[0] == "READY" and "handin-Ada.zip\n" in said[1] and said[2].startswith("a name has letters")


def test_a_python_without_the_course_names_the_one_that_has_it(capsys, monkeypatch):
    """In the project's folder any Python with NumPy finds fluxlite, but not the course's commands."""
    monkeypatch.setattr("fluxlite.__main__.entry_points", lambda group: [])
    assert main(["wall"]) == 2
    said = capsys.readouterr().err
    assert f"isn't installed in this Python, {sys.executable}" in said and ".venv/bin/python -m fluxlite" in said
