"""``python -m fluxlite check``: is this computer ready for the course? It prints one word, or the one thing to do.

It leaves no files behind, so learners can run it anywhere, and as often as they like.
"""

import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from fluxlite.messages import ipython
from fluxlite.processes import can_start_programs

from . import progress
from .copies import FOLDER

NEEDED = ("numpy", "safetensors", "tqdm", "ipywidgets", "matplotlib", "anywidget", "filelock")
TO_START = ("jupyterlab",)
# This runs in a separate process, since an import may end Python, and Matplotlib's makes a folder.
IMPORTS = "import sys\nfor name in sys.argv[1:]:\n    print(name, flush=True)\n    __import__(name)"


def what_to_do() -> str:
    """The one thing to do before the course can begin. Empty if it's ready.

    >>> what_to_do()
    ''
    """
    needed = NEEDED + TO_START if ipython() is None else NEEDED
    return missing(needed) or broken(needed) or not_writable()


def missing(needed: tuple[str, ...]) -> str:
    """Everything that's missing, and the one command that installs it."""
    found = [name for name in needed if importlib.util.find_spec(name) is None]
    return f"Not installed in this Python: {', '.join(found)}. {_install(*found)}" if found else ""


def broken(names: tuple[str, ...]) -> str:
    """The first one that can't be imported, and what helps."""
    if not can_start_programs():
        return _broken_here(names)
    with tempfile.TemporaryDirectory() as place:
        environment = {**os.environ, "MPLCONFIGDIR": place, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-P", "-c", IMPORTS, *names]  # -P: nothing from the current folder
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    *_, name = done.stdout.split()
    why = (done.stderr.strip().splitlines() or [f"Python ended with {done.returncode}"])[-1]
    return _cannot_be_used(name, why)


def _broken_here(names: tuple[str, ...]) -> str:
    """The same in this process, which an import could end."""
    for name in names:
        try:
            importlib.import_module(name)
        except Exception as error:
            return _cannot_be_used(name, f"{type(error).__name__}: {error}")
    return ""


def _cannot_be_used(name: str, why: str) -> str:
    return f"{name} is installed, but can't be used ({why}). {_install('--force-reinstall', name)}"


def not_writable() -> str:
    folder = Path(FOLDER) if Path(FOLDER).is_dir() else progress.path().parent
    words = f"Your work can't be kept in {folder.absolute()}: you can't write to it. Go to a folder of your own."
    return "" if os.access(folder, os.W_OK) else words


def _install(*what: str) -> str:
    pip = "%pip" if ipython() is not None else f"{this_python()} -m pip"
    return f"This helps:\n    {pip} install {' '.join(what)}"


def this_python() -> str:
    """What to type for the Python that runs this, from any folder: another one may not have the course."""
    return f'"{sys.executable}"' if " " in sys.executable else sys.executable
