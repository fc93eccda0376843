"""``python -m fluxlite lab``: hand out the lessons, then open JupyterLab at the first one."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from .copies import hand_out

FOLDER = "my-course"
FIRST = "00-start-here.ipynb"


def lab(arguments: list[str]) -> int:
    """Make the learner's copies in ``my-course`` and open the first in JupyterLab; what JupyterLab returns.

    `arguments` are JupyterLab's. Nothing of the learner's is overwritten.
    """
    if importlib.util.find_spec("jupyterlab") is None:
        print("JupyterLab is not installed here. This brings it: pip install jupyterlab ipywidgets matplotlib")
        return 1
    folder = Path(FOLDER)
    for line in hand_out(folder):
        print(line)
    print(f"Your copies of the lessons are in {folder.absolute()}. Ctrl-C here ends JupyterLab.", flush=True)
    as_root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    # Its own root folder: the file browser shows the lessons and nothing else.
    command = [sys.executable, "-m", "jupyterlab", f"--ServerApp.root_dir={folder.absolute()}", FIRST]
    try:
        return subprocess.call([*command, *as_root, *arguments], cwd=folder)
    except KeyboardInterrupt:
        return 130
