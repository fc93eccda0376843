"""What a browser's Python lacks: nothing that's imported before it's needed, and the lessons begin without it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LESSONS = sorted(path.name for path in (ROOT / "fluxlite_course").glob("lesson[0-9][0-9]"))
# What a Python in a browser, or one of a school's, may lack; and what takes seconds to load there.
MISSING = [
    "cupy",
    "_ctypes",
    "fcntl",
    "filelock",
    "lzma",
    "mlx",
    "mpi4py",
    "_multiprocessing",
    "multiprocessing",
    "readline",
    "resource",
    "safetensors",
    "sqlite3",
    "ssl",
    "termios",
]
LATE = ["matplotlib", "PIL", "IPython", "ipywidgets", "anywidget", "safetensors", "tqdm"]
BEGIN = """
import importlib, json, sys
for name in json.loads(sys.argv[1]):
    sys.modules[name] = None  # to import it raises ImportError
import fluxlite, simgpu, fluxlite_course
for lesson in json.loads(sys.argv[2]):
    names = vars(importlib.import_module(f"fluxlite_course.{lesson}"))
    names["start"](lesson[-2:])
    names["guess"](f"{lesson[-2:]}-A")
from fluxlite_course.kit import progress
progress.keep("checks", "00.1", "right")
print(json.dumps([name for name in json.loads(sys.argv[3]) if sys.modules.get(name)]))
"""


def begun(tmp_path, missing):
    """What of `LATE` is loaded when all lessons have begun, in a Python that lacks something."""
    arguments = [json.dumps(one) for one in (missing, LESSONS, LATE)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    environment.pop("FLUXLITE_PROGRESS", None)
    done = subprocess.run(
        [sys.executable, "-c", BEGIN, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("missing", [[], MISSING], ids=["all is there", "much is missing"])
def test_a_lesson_begins_without_matplotlib_and_what_else_is_not_needed_yet(missing, tmp_path):
    assert begun(tmp_path, missing) == []
    assert json.loads((tmp_path / "progress.json").read_text())["checks"] == {"00.1": "right"}


def test_the_check_notices_what_is_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "BEGIN", "import matplotlib\n" + BEGIN)
    pytest.importorskip("matplotlib")
    assert "matplotlib" in begun(tmp_path, [])
