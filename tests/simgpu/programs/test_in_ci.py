"""simgpu in CI: whose line copies and waits, what's allowed, and tests that would have skipped the GPU in silence."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import simgpu
from simgpu.report import path_and_owner, read_baseline

ROOT = Path(simgpu.__file__).parents[1]

NET = """
import cupy as cp

def total(x):
    return float(x.sum())

def mean(x):
    return float(x.mean())
"""
TESTS = """
import cupy as cp
from src.net import mean, total

def test_total():
    assert total(cp.ones(3)) == 3

def test_mean():
    assert mean(cp.ones(3)) == 1
    assert cp.ones(3).sum() == 3
"""


@pytest.fixture
def project(tmp_path):
    """A project with tests. Returns how to run them: words of pytest's, and files with their texts."""
    written = {"src/__init__.py": "", "src/net.py": NET, "tests/test_net.py": TESTS, "pytest.ini": "[pytest]\n"}
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)]), "NO_COLOR": "1"}

    def run(*words, files=written):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "simgpu.pytest", *words]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
        assert not done.stderr, done.stderr
        return done.returncode, done.stdout

    run.folder = tmp_path
    return run


def test_the_report_says_whose_line_it_is_and_counts_what_you_ask_for(project):
    status, told = project("--simgpu-fail-on", "implicit-copies=1", "--simgpu-only", "./src/")
    assert status == 1 and "FAILED: 2 implicit-copies, 1 allowed" in told
    assert "      1  src/net.py:5 (project): return float(x.sum())" in told
    assert "tests/test_net.py:" not in told and "1 more that don't count here" in told
    status, told = project("--simgpu-fail-on", "implicit-copies=1", "--simgpu-only", "tests/")
    assert status == 0 and "      1  tests/test_net.py:10 (tests): assert cp.ones(3).sum() == 3" in told


def test_a_baseline_allows_the_lines_that_are_there_and_no_new_ones(project):
    allowed = project.folder / "allowed.txt"
    status, _ = project("--simgpu-write-baseline", "allowed.txt", "--simgpu-only", "src/")
    assert status == 0
    assert [line for line in allowed.read_text().splitlines() if line[0] != "#"] == [
        "implicit-copies src/net.py: return float(x.mean())",
        "implicit-copies src/net.py: return float(x.sum())",
        "waits src/net.py: return float(x.mean())",
        "waits src/net.py: return float(x.sum())",
    ]
    limits = ("--simgpu-fail-on", "implicit-copies,waits,missing", "--simgpu-baseline", "allowed.txt")
    only = ("--simgpu-only", "src/")
    assert project(*limits, *only)[0] == 0
    moved = {"src/net.py": "# a line more\n" + NET}
    assert project(*limits, *only, files=moved)[0] == 0
    status, told = project(*limits, *only, files={"src/net.py": NET.replace("x.sum()", "x.sum() + 0")})
    assert status == 1 and "FAILED: 1 implicit-copies, 0 allowed" in told
    allowed.write_text("all of them\n")
    with pytest.raises(ValueError, match="allowed.txt, line 1: a baseline's line begins with implicit-copies, waits"):
        read_baseline(allowed)


def test_each_process_of_xdist_counts_and_the_report_adds_them_up(project):
    pytest.importorskip("xdist")
    alone = project("--simgpu-json", "alone.json")
    together = project("-n", "2", "--simgpu-json", "together.json")
    assert alone[0] == together[0] == 0 and together[1].count("= simgpu =") == 1
    one, two = (json.loads((project.folder / f"{name}.json").read_text()) for name in ("alone", "together"))
    assert (one["launches"], one["implicit-copies"], one["waits"]) == (two["launches"], 3, 3)
    waits = [{line["path"]: line["waits"] for line in figures["lines"]} for figures in (one, two)]
    assert waits[0] == waits[1]


SILENT = {
    "an import that fails": (
        "try:\n    import cupyx.distributed.array as sparse\nexcept ImportError:\n    sparse = None\n"
        "@pytest.mark.skipif(sparse is None, reason='not here')\ndef test_it():\n    assert cp.ones(2).sum() == 2",
        "test_it.py::test_it: skipped, not here",
    ),
    "importorskip": (
        "sparse = pytest.importorskip('cupyx.distributed.array')\ndef test_it():\n    assert cp.ones(2).sum() == 2",
        "test_it.py: skipped, could not import 'cupyx.distributed.array'",
    ),
    "a name that isn't there": (
        "@pytest.mark.skipif(not hasattr(cp, 'byte_bounds'), reason='old')\n"
        "def test_it():\n    assert cp.ones(2).sum() == 2",
        "cupy.byte_bounds, first by test_it.py:",
    ),
    "a list of what's there": (
        "BACKENDS = ['numpy']\ntry:\n    import cupyx.distributed\n    BACKENDS.append('cupy')\n"
        "except ImportError:\n    pass\n@pytest.mark.parametrize('name', BACKENDS)\n"
        "def test_it(name):\n    assert name == 'numpy'",
        "cupyx.distributed, first by test_it.py:5 (tests): import cupyx.distributed",
    ),
    "a search for hardware": (
        "import shutil\n@pytest.mark.skipif(not shutil.which('no-nvidia-smi'), reason='needs a GPU')\n"
        "def test_it():\n    assert cp.ones(2).sum() == 2",
        "test_it.py::test_it: skipped, needs a GPU",
    ),
    "a way without": (
        "import numpy as np\ndef test_it():\n    try:\n        total = cp.byte_bounds(1)\n"
        "    except Exception:\n        total = np.dot(1, 1)\n    assert total == 1",
        "test_it.py::test_it: it asked for cupy.byte_bounds, and launched nothing",
    ),
    "nothing at all": ("def test_it():\n    pass", "nothing was launched: no line of this run used the GPU"),
}


@pytest.mark.parametrize("way", SILENT)
def test_tests_that_skip_the_gpu_in_silence_are_named(project, way):
    text, words = SILENT[way]
    files = {"pytest.ini": "[pytest]\n", "test_it.py": f"import pytest\nimport cupy as cp\n{text}\n"}
    if way != "nothing at all":
        files["test_other.py"] = "import cupy as cp\ndef test_other():\n    assert cp.ones(2).sum() == 2\n"
    status, told = project("--simgpu-fail-on", "missing", files=files)
    assert status == 1 and "FAILED: " in told and words in told, told


def test_a_suite_that_uses_the_gpu_passes(project):
    status, told = project("--simgpu-fail-on", "missing")
    assert status == 0 and "isn't simulated" not in told and "and didn't" not in told


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("", ("nobody's line", "nobody")),
        ("/p/src/a.py", ("src/a.py", "project")),
        ("/p/a_test.py", ("a_test.py", "tests")),
        ("/p/tests/helpers/b.py", ("tests/helpers/b.py", "tests")),
        ("/usr/lib/python3/dist-packages/six.py", ("six.py", "six")),
        ("/elsewhere/a.py", ("/elsewhere/a.py", "elsewhere")),
    ],
)
def test_whose_line_it_is(file, shown):
    assert path_and_owner(file, Path("/p")) == shown
