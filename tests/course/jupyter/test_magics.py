"""``%device_time`` in a real IPython: the value, the counts, and for each time what kind it is; and ``%%machine``."""

import json
import re
import subprocess
import sys

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from fluxlite import simulate_gpu
from fluxlite.messages import reset_notices
from fluxlite_course.kit.magics import CellSyntaxError


@pytest.fixture
def shell(monkeypatch, tmp_path):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # a shell puts its own there
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell(config=config)
    shell.run_line_magic("load_ext", "fluxlite_course")
    shell.run_cell("import numpy as np; import fluxlite as fl")
    return shell


def without_colours(text):
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def value(shell, cell):
    result = shell.run_cell(cell)
    result.raise_error()
    return result.result


def test_a_line_on_the_cpu(shell, capsys):
    assert value(shell, "%device_time np.ones(3).sum()") == 3
    lines = capsys.readouterr().out.split("\n")
    assert re.fullmatch(r"time +[\d.e-]+ (s|ms|µs) measured", lines[0])
    assert re.fullmatch(r"GPU +none in use", lines[1])


def test_a_cell_assigns_and_gives_its_last_value(shell, capsys):
    assert value(shell, "%%device_time\nx = np.ones(3)\nfor i in range(2):\n    x = x + i\nx.sum()") == 6
    assert value(shell, "x.tolist()") == [2.0, 2.0, 2.0]
    assert value(shell, "%%device_time\ny = 3") is None
    assert value(shell, "%device_time z = y + 1") is None
    assert value(shell, "z") == 4


def test_what_ipython_understands_is_understood(shell, monkeypatch):
    # Not by "words = !echo hello": IPython 7, which Colab has, doesn't understand that on Python 3.12.
    monkeypatch.setenv("A_WORD", "hello")
    assert value(shell, "%%device_time\nword = %env A_WORD\nword") == "hello"


def test_on_a_simulated_gpu_counts_and_the_simulated_time(shell, capsys):
    simulate_gpu()
    capsys.readouterr()
    assert value(shell, "%device_time float((fl.gpu(np.ones((8, 8), np.float32)) @ fl.gpu(np.eye(8))).sum())") == 64
    out = capsys.readouterr().out
    assert re.search(r"^time +[\d.]+ m?s simulated \(NVIDIA T4\)$", out, re.M)
    assert "launches          2: matmul 1, sum 1\n" in out
    assert "host to device    2 copies, 512 bytes: 2 explicit" in out
    assert "synchronizations  1\n" in out  # that of float, not the waits before and after


def test_it_waits_before_and_after(shell, monkeypatch):
    simulate_gpu()
    value(shell, "order = []")
    from fluxlite.simulated import SimulatedDevice

    monkeypatch.setattr(SimulatedDevice, "synchronize", lambda device: shell.user_ns["order"].append("wait"))
    value(shell, "%device_time order.append('run')")
    assert shell.user_ns["order"] == ["wait", "run", "wait"]


def test_errors_come_through_with_their_line_and_leave_nothing_on(shell, capsys):
    from fluxlite.devices.base import listeners

    result = shell.run_cell("%%device_time\nx = 1\nx / 0")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    out = without_colours(capsys.readouterr().out)
    assert "x / 0" in out and "none in use" not in out
    assert not listeners
    assert isinstance(shell.run_cell("%device_time x +").error_in_exec, CellSyntaxError)


@pytest.mark.parametrize("magic", ["%%puzzle 11-1", "%%device_time", "%%machine"])
@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("def f(x)\n    return x", ["line 1", "def f(x)", "SyntaxError: expected ':'"]),
        ("x = 1\n\nreturn x", ["line 3", "return x", "SyntaxError: 'return' outside function"]),
        ("def f(x):\n    return x / 0\n\n\nf(1)", ["f(1)", "return x / 0", "ZeroDivisionError"]),
    ],
)
def test_an_error_in_the_cell_of_a_magic_shows_only_the_cell(shell, capsys, magic, cell, words):
    capsys.readouterr()
    result = shell.run_cell(f"{magic}\n{cell}")
    said = without_colours("".join(capsys.readouterr()))
    assert all(word in said for word in words) and not result.success
    assert "IPython" not in said and "magics.py" not in said


def test_a_cell_takes_no_code_beside_the_name(shell, capsys):
    shell.run_cell("%%device_time x = 1\nx = 2")
    assert "takes its code from the lines below it, not 'x = 1'" in capsys.readouterr().err


def test_a_lessons_start_inside_ipython_is_enough_and_outside_it_ipython_is_not_imported(tmp_path, monkeypatch):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    inside = (
        "from IPython.core.interactiveshell import InteractiveShell as S; from traitlets.config import Config\n"
        "s = S.instance(config=Config(HistoryManager={'enabled': False}))\n"
        "s.run_cell('from fluxlite_course import start; start(\"06\")'); s.run_cell('%device_time 1 + 1')"
    )
    outside = "import sys, fluxlite_course.lesson05; print('IPython' in sys.modules)"
    outputs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for code in (inside, outside)
    ]
    assert "launches          0" in outputs[0] and outputs[1] == "False\n"


# -- %%machine -----------------------------------------------------------------------------------------------------


def test_the_magic_runs_the_cell_and_names_its_own_lines(shell, capsys):
    simulate_gpu()
    shell.run_cell("def double(x):\n    y = 0\n    return x + x")
    scene = shell.run_cell("%%machine\na = fl.gpu(np.ones(3))\nb = double(a)\nprint('printed')\nb.shape").result
    assert shell.user_ns["b"].shape == (3,)
    assert "in line 2, the host asks: add" in " ".join(scene.sentences)
    out = capsys.readouterr().out
    assert "printed" in out and "(3,)" in out
    assert json.dumps(scene.data())


def test_what_would_give_a_guess_away_is_folded_below_it(shell, capsys, monkeypatch):
    simulate_gpu()
    monkeypatch.setattr("fluxlite.messages.in_notebook", lambda: True)  # so notices appear below the cell
    shown = []
    monkeypatch.setattr("fluxlite_course.kit.magics.display", shown.append)
    monkeypatch.setattr("fluxlite_course.kit.magics.publish", lambda text, page: shown.append(page))
    shell.run_cell("%%machine guess\na = fl.gpu(np.ones(3))\nprint('printed')")
    assert capsys.readouterr().out == ""
    scene, folded = shown
    assert scene.sentences[0].startswith("Where does the first copy go?")
    assert folded.startswith("<details>") and "[ Info: float64 arrays become float32" in folded
    assert "printed\n" in folded
    reset_notices()
    shell.run_cell("%%machine\na = fl.gpu(np.ones(3))")
    assert "[ Info: float64 arrays" in capsys.readouterr().out and len(shown) == 2


def test_the_magic_says_why_it_draws_nothing(shell, capsys):
    simulate_gpu(False)
    assert shell.run_cell("%%machine\nc = 3\nc").result is None
    assert "Run fl.simulate_gpu(), and then this cell again." in capsys.readouterr().out
    simulate_gpu()
    assert shell.run_cell("%%machine guess\nprint('printed')").result is None
    printed = capsys.readouterr().out
    assert printed.startswith("printed\n") and "asked nothing of the GPU" in printed
    shell.run_cell("%%machine guess\nprint('printed')\n1 / 0")
    assert "printed\n" in capsys.readouterr().out
    failed = shell.run_cell("%%machine\nd = fl.gpu(np.ones(3))\nd + np.ones(3)")
    assert isinstance(failed.error_in_exec, TypeError) and failed.result is None
    assert "d + np.ones(3)" in without_colours(capsys.readouterr().out)
    shell.run_cell("%%machine slowly\nc = 5")
    assert "it's %%machine, %%machine guess or %%machine memories" in capsys.readouterr().err
