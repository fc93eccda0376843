"""``python -m fluxlite lab``: hand out the lessons, then open JupyterLab at the first one.

With ``--hub`` it's what a JupyterHub starts for each learner: the same lessons, in the hub's own kind of server.
"""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from .copies import FOLDER, hand_out
from .ready import NEEDED, TO_START, missing

FIRST = "00-start-here.ipynb"
# JupyterLab for newcomers: no question about news, and a kernel that starts without asking.
SETTINGS = Path(__file__).parent / "jupyterlab"


def course_folder() -> Path:
    """``my-course``, or the current folder if that's one already, so that we never nest them."""
    return Path() if Path.cwd().name == FOLDER and Path(FIRST).exists() else Path(FOLDER)


def lab(arguments: list[str], hub: bool = False) -> int:
    """Make the learner's copies in `course_folder` and open the first in JupyterLab; returns JupyterLab's exit code.

    `arguments` are JupyterLab's. Nothing that the learner wrote is overwritten. For a `hub`, this process becomes the
    learner's server, so that the hub's signals reach it; then it only returns if that isn't possible.
    """
    if hub:
        return _on_a_hub(arguments)
    if to_do := missing(NEEDED + TO_START):
        print(to_do)
        return 1
    folder = course_folder()
    for line in hand_out(folder):
        print(line)
    print(f"Your copies of the lessons are in {folder.absolute()}. Ctrl-C here ends JupyterLab.", flush=True)
    as_root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    try:
        return subprocess.call([*_command("jupyterlab", folder), *as_root, *arguments], cwd=folder)
    except KeyboardInterrupt:
        return 130


def _command(program: str, folder: Path) -> list[str]:
    # Its own root folder, so that the file browser shows only the lessons. /doc shows one lesson in one column, without
    # side panels.
    options = {
        "ServerApp.root_dir": folder.absolute(),
        "LabApp.app_settings_dir": SETTINGS,
        "LabApp.default_url": f"/doc/tree/{FIRST}",
    }
    return [sys.executable, "-m", program, *(f"--{name}={value}" for name, value in options.items())]


def _on_a_hub(arguments: list[str]) -> int:
    """Become the learner's server. Lessons that can't be handed out don't keep a learner from their own files."""
    if importlib.util.find_spec("jupyterhub") is None:
        print("jupyterhub is missing in this Python. Each learner's server needs it, in the hub's own major version.")
        return 1
    folder = course_folder()
    try:
        print(*hand_out(folder), sep="\n", flush=True)
    except OSError as error:  # a full disk, above all: they have to get in to delete something
        print(f"The lessons could not be handed out: {error}", flush=True)
    if folder.is_dir():
        os.chdir(folder)
    # -P: a learner's own random.py, say, mustn't keep their server from starting.
    python, *program = _command("jupyterhub.singleuser", Path())
    os.execv(python, [python, "-P", *program, *arguments])
