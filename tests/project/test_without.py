"""The lessons without what a browser lacks (`tools/without.py`): does it find a cell that does otherwise?

Each fault is planted in a small notebook. The lessons themselves are run by `nox -s without`, some of them by .ci/run.
"""

import json
import os
import re
import sys
from pathlib import Path

import nbformat
import pytest

from tools import absent, listed, without
from tools.listed import Listed
from tools.otherwise import Cell, Ran, judge, read

ROOT = Path(__file__).resolve().parents[2]

on_linux = pytest.mark.skipif(not absent.can_limit_memory(), reason="this system doesn't limit a process's memory")


def notebook(folder, sources, run=True, **tags):
    """A notebook's file. Each source has what the cell showed when it was stored, or None for a copy's cell."""
    cells = []
    for number, (source, output) in enumerate(sources.items(), 1):
        cell = nbformat.v4.new_code_cell(source, id=f"cell-{number:02d}", execution_count=number if run else None)
        cell.outputs = [output] if output else []
        cell.metadata["tags"] = tags.get(cell.id.replace("-", "_"), [])
        cells.append(cell)
    path = folder / "notebooks" / "99-a.ipynb"
    path.parent.mkdir(exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def printed(text):
    return nbformat.v4.new_output("stream", text=f"{text}\n")


def value(text, **data):
    return nbformat.v4.new_output("execute_result", data={"text/plain": text, **data}, execution_count=1)


def otherwise(path, world=without.WITHOUT):
    """What the cells of a notebook do otherwise, by their ids."""
    return without.report(path, world, compare=False).otherwise


# -- what is found --------------------------------------------------------------------------------------------------

LACKS = {
    "import threading; threading.Thread(target=print).start()": "RuntimeError: can't start new thread",
    "from concurrent.futures import ThreadPoolExecutor; ThreadPoolExecutor().submit(print)": "RuntimeError",
    "import subprocess, sys; subprocess.run([sys.executable, '-c', ''])": "OSError: .*no processes here",
    "import os; os.fork()": "OSError: .*no processes here",
    "os.system('true')": "OSError: .*no processes here",
    "import socket; socket.socket()": "OSError: .*no sockets here",
    "import fcntl": "ModuleNotFoundError: No module named 'fcntl'",
    "import safetensors": "ModuleNotFoundError: No module named 'safetensors'",
    "from importlib.metadata import version; version('safetensors')": "PackageNotFoundError",
}


def test_what_a_browser_lacks_is_missing_and_nothing_else_is(tmp_path):
    rest = {
        "import json, numpy, tqdm": None,
        "from importlib.util import find_spec": None,
        "find_spec('safetensors'), find_spec('numpy') is None": value("(None, False)"),
        "import tempfile, pathlib; pathlib.Path(tempfile.mkdtemp(), 'a').write_text('b')": value("1"),
    }
    found = otherwise(notebook(tmp_path, dict.fromkeys(LACKS) | rest))
    for number, words in enumerate(LACKS.values(), 1):
        assert re.match(words, found.pop(f"cell-{number:02d}"))
    assert found == {}


@on_linux
def test_two_gigabytes_are_too_much_and_half_of_one_is_not(tmp_path):
    found = otherwise(notebook(tmp_path, {"x = bytearray(2**29); del x": None, "y = bytearray(2**31)": None}))
    assert list(found) == ["cell-02"] and found["cell-02"].startswith("MemoryError")


def test_an_output_that_changed_is_found_as_nbval_finds_it(tmp_path):
    picture = value("<IPython.core.display.Image object>", **{"image/png": "another"})
    outputs = {
        "print('loss 0.0649')": printed("loss 0.0650"),  # the last digit may differ
        "print('loss 0.0649 again')": printed("loss 0.0659 again"),
        "2 + 2": value("4"),
        "2 + 3": value("4"),
        "print('nothing is stored')": None,
        "'not compared'": value("'otherwise'"),
        "1 / 0": None,
        "from IPython.display import Image; Image(b'a', format='png')": picture,
        "print('a\\nb')": printed("a\nc"),
        "raise ValueError('never run')": None,
    }
    tags = {"cell_06": ["nbval-ignore-output"], "cell_07": ["raises-exception", "nbval-ignore-output"]}
    found = otherwise(notebook(tmp_path, outputs, cell_10=["nbval-skip"], **tags))
    assert found == {
        "cell-02": "stdout: 'loss 0.0649 again' in place of 'loss 0.0659 again'",
        "cell-04": "text/plain: '5' in place of '4'",
        "cell-05": "Unexpected output fields from running code: {'stdout'}",
        "cell-09": "stdout: 'b' in place of 'c'",
    }


def test_a_copy_is_compared_with_a_run_that_has_everything(tmp_path):
    asks = "import importlib.util; print(importlib.util.find_spec('safetensors') is None)"
    found = otherwise(notebook(tmp_path, {asks: None, "print('the same')": None}, run=False))
    assert found == {"cell-01": "stdout: 'True' in place of 'False'"}


def test_a_process_that_ends_in_a_cell_is_found_and_so_are_the_cells_that_it_never_came_to(tmp_path):
    found = otherwise(notebook(tmp_path, {"1": value("1"), "import os; os._exit(3)": None, "2": value("2")}))
    assert found == {
        "cell-02": "the process ended with 3: it said nothing",
        "cell-03": "a cell before it had no end",
    }
    endless = without.World(lambda folder: [sys.executable, "-c", "while True: pass"], 0.2)
    path = notebook(tmp_path, {"1": value("1")})
    assert without.report(path, endless, False).otherwise == {"cell-01": "it wasn't done after 0.2 seconds"}


def test_a_notebook_runs_beside_its_neighbours_and_leaves_nothing_there(tmp_path):
    path = notebook(tmp_path, {"open('neighbour.txt').read()": value("'here'"), "open('new', 'w').close()": None})
    (path.parent / "neighbour.txt").write_text("here")
    assert otherwise(path) == {}
    assert sorted(file.name for file in path.parent.iterdir()) == ["99-a.ipynb", "neighbour.txt"]


# -- the list -------------------------------------------------------------------------------------------------------


def reported(seconds=1.0, usually=1.0, text="as ever"):
    """A report of a notebook with two cells; the second shows `text`, and takes so long."""
    cells = [Cell("cell-01", "import numpy", []), Cell("cell-02", "train()\nmore", [printed("as ever")])]
    ran = [Ran(), Ran([printed(text)], seconds)]
    return judge("notebooks/99-a.ipynb", cells, ran, [Ran(), Ran([printed("as ever")], usually)])


def said(report, *entries):
    return without.complaints([report], list(entries), without.solved)


SHOWS = Listed("99", "train()", "no threads", shows="recorded")
SLOW = Listed("99", "train()", "no BLAS", factor=8)
OTHER_LESSON = Listed("98", "train()", "no threads", shows="recorded")


def test_only_a_listed_cell_may_do_otherwise():
    (words,) = said(reported(text="recorded"))
    assert words == "notebooks/99-a.ipynb, cell-02, 'train()': stdout: 'recorded' in place of 'as ever'"
    assert said(reported(text="recorded"), SHOWS, OTHER_LESSON) == []
    wrong, unseen = said(reported(text="something else"), SHOWS)
    assert "'something else' in place of" in wrong and "doesn't show 'recorded': take it out" in unseen


def test_a_listed_cell_must_do_otherwise():
    assert said(reported()) == []
    assert said(reported(), SHOWS) == ["99, 'train()' is listed, and doesn't show 'recorded': take it out"]
    assert said(reported(), SLOW) == ["99, 'train()' is listed as slow, and isn't: take its factor out"]


@pytest.mark.parametrize(
    ("seconds", "usually", "factor", "may_be_listed"),
    [
        (8.2, 2, "4.1", True),
        (7.8, 2, "", True),
        (5, 2, "", True),
        (4.4, 2, "", False),
        (4.9, 0.1, "", True),
        (3.7, 0.1, "", False),
    ],
)
def test_slow_is_three_times_and_a_third_more_or_less_in_another_run(seconds, usually, factor, may_be_listed):
    report = reported(seconds, usually)
    assert list(report.slow) == ["cell-02"] * (seconds > max(3 * usually, 5))
    words = f"notebooks/99-a.ipynb, cell-02, 'train()': it takes {factor} times as long"
    assert said(report) == [words] * bool(factor)
    assert (said(report, SLOW) == []) == may_be_listed


def test_a_cell_can_be_slow_and_do_otherwise():
    assert said(reported(9, 1, "recorded"), SHOWS, SLOW) == []
    assert len(said(reported(9, 1, "recorded"), SLOW)) == len(said(reported(9, 1, "recorded"), SHOWS)) == 1


def test_the_list_is_short_and_says_what_differs(tmp_path):
    row = '[[cell]]\nlesson = "00"\ncell = "race()"\nwhy = "no threads"\n'
    file = tmp_path / "list.toml"
    file.write_text(f'{row}shows = "a"\n' * 10)
    assert listed.read_list(file) == [Listed("00", "race()", "no threads", "a")] * 10
    file.write_text(f'{row}shows = "a"\n' * 11)
    with pytest.raises(ValueError, match=r"list.toml lists 11 cells; at most 10"):
        listed.read_list(file)
    file.write_text(row)
    with pytest.raises(ValueError, match=r"00 'race\(\)' needs what it `shows`, or a `factor`"):
        listed.read_list(file)


def test_each_listed_cell_is_one_cell_of_its_lesson():
    for one in listed.read_list():
        (lesson,) = (ROOT / "notebooks").glob(f"{one.lesson}-*.ipynb")
        assert sum(cell.source.startswith(one.cell) for cell in read(lesson)) == 1, one


def test_the_page_has_a_row_for_each_listed_cell():
    assert "Every cell" in listed.on_page([])
    *_, shows, slow = listed.on_page([SHOWS, SLOW]).splitlines()
    assert shows == "| 99 | `train()` | wherever that's missing | it shows `recorded` | no threads |"
    assert slow == "| 99 | `train()` | wherever that's missing | it takes about 8 times as long | no BLAS |"
    assert "<!-- cells that do otherwise -->" in (ROOT / "docs/site/pages/without.md").read_text(encoding="utf-8")


def test_the_command_fails_for_a_cell_that_does_otherwise_and_passes_once_it_is_listed(tmp_path, capsys):
    path = notebook(tmp_path, {"1": value("1"), "import fcntl": None})
    assert without.main([str(path)]) == 1
    printed_lines = capsys.readouterr().out.splitlines()
    assert printed_lines[1].split() == ["notebooks/99-a.ipynb", "2", "1", printed_lines[1].split()[3]]
    assert printed_lines[-1] == "1 to put right"
    known = tmp_path / "list.toml"
    known.write_text(
        '[[cell]]\nlesson = "99"\ncell = "import fcntl"\nwhy = "no locks"\nshows = "ModuleNotFoundError"\n'
    )
    assert without.main([str(path), "--list", str(known)]) == 0
    with pytest.raises(SystemExit, match="no lesson and no notebook 98"):
        without.main(["98"])


# -- Pyodide --------------------------------------------------------------------------------------------------------


def test_pyodide_is_pinned_and_no_registry_is_named():
    folder = ROOT / "tools" / "pyodide"
    wanted = json.loads((folder / "package.json").read_text())["dependencies"]
    text = (folder / "package-lock.json").read_text()
    locked = json.loads(text)["packages"]["node_modules/pyodide"]["version"]
    assert wanted == {"pyodide": locked} and "resolved" not in text and "http" not in text


# `nox -s pyodide` prepares the folder.
in_pyodide = pytest.mark.skipif("FLUXLITE_PYODIDE" not in os.environ, reason="nox -s pyodide brings Pyodide")


@in_pyodide
def test_in_pyodide_the_same_is_found(tmp_path):
    draws = "from fluxlite_course.draw.pictures import plots, show\nfigure, axes = plots()\nshow(figure, 'A line.')"
    cells = {
        "import sys; sys.platform": value("'emscripten'"),
        "import threading; threading.Thread(target=print).start()": None,
        "import subprocess; subprocess.run(['true'])": None,
        "x = bytearray(2**31)": None,
        "2 + 3": value("4"),
        "import fluxlite as fl, simgpu; fl.gradient(lambda x: x * x, 3.0)": value("(6.0,)"),
        draws: None,
    }
    path = notebook(tmp_path, cells, cell_07=["nbval-ignore-output"])
    found = otherwise(path, without.pyodide(Path(os.environ["FLUXLITE_PYODIDE"])))
    assert found == {
        "cell-02": "RuntimeError: can't start new thread",
        "cell-03": "OSError: [Errno 138] emscripten does not support processes.",
        "cell-04": "OverflowError: cannot fit 'int' into an index-sized integer",
        "cell-05": "text/plain: '5' in place of '4'",
    }
