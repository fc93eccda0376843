"""Lesson 15's workers: they come, they go, and where they can't come the lesson goes on."""

import importlib.util
import os
import signal
import subprocess
import sys
import time

import pytest

from fluxlite_course.lesson15 import workers
from fluxlite_course.lesson15.workers import start_workers

CAN = workers._missing() == ""
needs_mpi = pytest.mark.skipif(not CAN, reason="mpi4py, ipyparallel or mpiexec is missing: make test EXTRAS=mpi")
PROGRAM = """
import os, signal, sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
from fluxlite_course.lesson15.workers import start_workers
workers = start_workers(2)
shell.run_cell_magic("px", "--local", "from mpi4py import MPI; rank = MPI.COMM_WORLD.rank")
print("ranks", workers["rank"], "here", shell.user_ns["rank"], flush=True)
print("of them", *workers._watch.args[4:], "in", workers._watch.args[3], flush=True)
if sys.argv[1] == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if sys.argv[1] == "stopped":
    workers.stop()
    workers.stop()
    shell.run_cell_magic("px", "", "1 / 0")
    print("then", len(workers), workers["rank"], flush=True)
"""


def scene(pid):
    """Whether a process still runs. One that has ended, and that nobody has asked after, doesn't."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@needs_mpi
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks for processes in /proc")
@pytest.mark.slow
@pytest.mark.parametrize("end", ["stopped", "left alone", "killed"])
def test_no_process_is_left_over_however_the_notebook_ends(end):
    done = subprocess.run([sys.executable, "-c", PROGRAM, end], capture_output=True, text=True, timeout=240)
    assert done.returncode == (-signal.SIGKILL if end == "killed" else 0), done.stderr
    lines = done.stdout.splitlines()
    pids = [int(word) for line in lines for word in line.replace(",", "").split() if word.isdigit() and int(word) > 2]
    (folder,) = (line.rpartition(" ")[2] for line in lines if line.startswith("of them "))
    assert lines[0].startswith("2 workers, processes ") and "ranks [0, 1] here 0" in lines
    assert len(pids) == 4  # two workers, the controller, and mpiexec
    if end == "stopped":
        assert lines[-2:] == [workers._NOTHING, "then 0 []"] and workers._NOTHING in lines[:-2]
    left = pids
    for _ in range(120):
        left = [pid for pid in left if scene(pid)]
        if not left and not os.path.exists(folder):
            break
        time.sleep(0.25)
    assert left == [] and not os.path.exists(folder)


class Shell:
    """As much of IPython's shell as the magic needs."""

    def __init__(self):
        self.magics, self.ran = {}, []

    def register_magic_function(self, function, kind, name):
        self.magics[name] = function

    def run_cell(self, code):
        self.ran.append(code)
        return self

    def raise_error(self):
        pass


@pytest.fixture
def shell(monkeypatch):
    found = Shell()
    monkeypatch.setattr("IPython.core.getipython.get_ipython", lambda: found)
    return found


@pytest.mark.parametrize("module", ["mpi4py", "ipyparallel"])
def test_without_mpi_it_says_how_to_get_it_and_cells_go_on(module, shell, monkeypatch, capsys):
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == module else there("os"))
    found = start_workers(2)
    said = capsys.readouterr().out
    assert f"No workers: {module} is missing here. To get it: %pip install mpi4py " in said
    assert "restart JupyterLab itself." in said
    assert "The lesson goes on without them" in said and repr(found) == "no workers"
    assert len(found) == 0 and found["losses"] == [] and capsys.readouterr().out == workers._NOTHING + "\n"
    found.stop()
    shell.magics["px"]("", "1 / 0")
    assert shell.ran == [] and capsys.readouterr().out == workers._NOTHING + "\n"
    shell.magics["px"]("--local", "x = 1")
    assert shell.ran == ["x = 1"] and capsys.readouterr().out == ""


def test_without_mpiexec_it_says_so(shell, monkeypatch, capsys):
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: there("os"))
    monkeypatch.setattr(workers, "find_mpiexec", lambda: None)
    start_workers(2)
    assert "No workers: mpiexec, which is a part of MPI, is missing here" in capsys.readouterr().out


def test_where_no_process_may_start_the_lesson_goes_on(shell, monkeypatch, capsys):
    folders = []

    def refused(count, folder, ends):
        folders.append(folder)
        raise TimeoutError("no engine came up")

    monkeypatch.setattr(workers, "_missing", lambda: "")
    monkeypatch.setattr(workers, "_started", refused)
    assert len(start_workers(2)) == 0
    assert "They didn't start: TimeoutError: no engine came up" in capsys.readouterr().out
    assert not os.path.exists(folders[0]) and "px" in shell.magics


@pytest.mark.parametrize("count", [0, 2.0, True])
def test_workers_are_counted(count):
    with pytest.raises(ValueError, match="a number of processes, 1 or more, got"):
        start_workers(count)
