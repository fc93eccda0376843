"""Lesson 15's workers: a cell is a program for several processes, and where there's no MPI the lesson goes on."""

import importlib.util
import json
import os
import re
import time
from pathlib import Path

import on_workers
import pytest
from on_workers import MPIEXEC, ROOT, needs_mpi

from fluxlite_course.lesson15.workers import run_on_workers

PROGRAM = """from fluxlite import distributed
distributed.initialize()
print("worker", distributed.local_rank(), "of", distributed.total_workers())
"""


@needs_mpi
@pytest.mark.slow
def test_a_cell_runs_on_one_worker_and_then_on_two(capsys):
    run_on_workers("1 2", PROGRAM)
    first, alone, second, *both = capsys.readouterr().out.splitlines()
    assert (first, alone, second) == ("1 worker:", "    worker 0 of 1", "2 workers:")
    assert sorted(both) == ["    worker 0 of 2", "    worker 1 of 2"]


@needs_mpi
@pytest.mark.slow
def test_a_program_with_an_error_shows_it_and_the_notebook_goes_on(capsys):
    run_on_workers("2", PROGRAM + '{}["planted"]\n')
    said = capsys.readouterr().out
    assert "KeyError: 'planted'" in said and "program.py" in said


@pytest.mark.parametrize("missing", ["mpi4py", "mpiexec"])
def test_without_mpi_it_says_so_in_one_line_and_shows_what_is_stored(missing, monkeypatch, capsys):
    there = missing != "mpi4py"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: there or None)
    monkeypatch.setattr("fluxlite_course.lesson15.workers.find_mpiexec", lambda: None if there else "mpiexec")
    run_on_workers("1 2", "1 / 0")
    first, *stored = capsys.readouterr().out.splitlines()
    assert first.startswith("No MPI here (pip install mpi4py ") and "Recorded on another computer" in first
    assert stored[0] == "1 worker:" and stored[-1].startswith("    worker 1: History(20 epochs, 460 steps, loss ")


def test_where_no_program_can_be_started_it_shows_what_is_stored(no_programs, capsys):
    run_on_workers("1 2", "1 / 0")
    first, *stored = capsys.readouterr().out.splitlines()
    assert first == "No other program can be started here. Recorded on another computer, with two cores:"
    assert stored[0] == "1 worker:"


def test_what_is_stored_is_what_the_lessons_cell_prints():
    def lines(text):
        return sorted(re.sub(r"[\d.]+ m?s measured", "some time", line) for line in text.splitlines())

    cells = json.loads((ROOT / "notebooks" / "15-several-machines.ipynb").read_text(encoding="utf-8"))["cells"]
    (cell,) = (cell for cell in cells if "".join(cell["source"]).startswith("%%workers 1 2"))
    stored = (ROOT / "fluxlite_course" / "lesson15" / "recorded.txt").read_text(encoding="utf-8")
    assert lines("".join(cell["outputs"][0]["text"])) == lines(stored)


@needs_mpi
@pytest.mark.slow
def test_the_notebooks_interrupt_ends_the_workers(tmp_path):
    kernel = pytest.importorskip("kernel")
    path = os.pathsep.join([str(Path(MPIEXEC).parent), os.environ["PATH"]])
    notebook = kernel.Kernel(on_workers.environment(PATH=path))
    try:
        notebook.run("from fluxlite_course.lesson15 import *")
        program = "import os, time\nprint('process', os.getpid(), flush=True)\ntime.sleep(100)\n"
        shown = notebook.run(f"%%workers 2\n{program}", pressed=lambda shown: shown.count("process") == 2, limit=60)
    finally:
        notebook.close()
    assert "KeyboardInterrupt" in shown
    pids = re.findall(r"process (\d+)", shown)
    assert len(pids) == 2
    for _ in range(80):
        if not any(os.path.exists(f"/proc/{pid}") for pid in pids):
            return
        time.sleep(0.25)
    pytest.fail("there are workers left")
