"""``python -m fluxlite lab``: hand out the lessons, then open JupyterLab at the first one."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from .copies import FOLDER, hand_out

FIRST = "00-start-here.ipynb"
# JupyterLab for newcomers: no question about news, and a kernel that starts without asking.
SETTINGS = Path(__file__).parent / "jupyterlab"


def course_folder() -> Path:
    """``my-course``, or the current folder if that's one already, so that we never nest them."""
    return Path() if Path.cwd().name == FOLDER and Path(FIRST).exists() else Path(FOLDER)


def lab(arguments: list[str]) -> int:
    """Make the learner's copies in `course_folder` and open the first in JupyterLab; returns JupyterLab's exit code.

    `arguments` are JupyterLab's. Nothing that the learner wrote is overwritten.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        from .ready import NEEDED, TO_START, broken, missing

        needed = {**NEEDED, **TO_START}
        print(missing(needed) or broken(needed))
        return 1
    folder = course_folder()
    for line in hand_out(folder):
        print(line)
    print(f"Your copies of the lessons are in {folder.absolute()}. Ctrl-C here ends JupyterLab.", flush=True)
    as_root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    # Its own root folder, so that the file browser shows only the lessons. /doc shows one lesson in one column, without
    # side panels.
    options = {
        "ServerApp.root_dir": folder.absolute(),
        "LabApp.app_settings_dir": SETTINGS,
        "LabApp.default_url": f"/doc/tree/{FIRST}",
    }
    command = [sys.executable, "-m", "jupyterlab", *(f"--{name}={value}" for name, value in options.items())]
    try:
        return subprocess.call([*command, *as_root, *arguments], cwd=folder)
    except KeyboardInterrupt:
        return 130
