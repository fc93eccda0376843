"""``python -m fluxlite check``: is this computer ready for the course? It prints one word, or the one thing to do.

It leaves no files behind, so learners can run it anywhere, and as often as they like.
"""

import importlib.metadata
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from fluxlite.messages import ipython

from . import progress
from .copies import FOLDER

READY = "READY"
# The oldest versions that work, as in pyproject.toml; and what's needed only to start JupyterLab.
NEEDED = {"numpy": "2.0", "safetensors": "0.8", "tqdm": "4.60", "ipywidgets": "7.7", "matplotlib": "3.8",
          "anywidget": "0.9.15", "filelock": "3.20.1"}  # fmt: skip
TO_START = {"jupyterlab": "4"}
# This runs in a separate process, since an import may end Python, and Matplotlib's makes a folder.
IMPORTS = "import sys\nfor name in sys.argv[1:]:\n    print(name, flush=True)\n    __import__(name)"


def what_to_do() -> str:
    """The one thing to do before the course can begin. Empty if it's ready.

    >>> what_to_do()
    ''
    """
    needed = {**NEEDED, **TO_START} if ipython() is None else NEEDED
    return missing(needed) or broken(needed) or not_writable()


def missing(needed: dict[str, str]) -> str:
    """Everything that's missing or too old, and the one command that installs it."""
    found = {}
    for name, oldest in needed.items():
        try:
            version = importlib.metadata.version(name)
            if _numbers(version) < _numbers(oldest):
                found[name] = f"{name} {version} is too old."
        except importlib.metadata.PackageNotFoundError:
            found[name] = f"{name} is not installed in this Python."
    return " ".join([*found.values(), _install(*(f"{name}>={needed[name]}" for name in found))]) if found else ""


def broken(names: dict[str, str]) -> str:
    with tempfile.TemporaryDirectory() as place:
        environment = {**os.environ, "MPLCONFIGDIR": place, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-P", "-c", IMPORTS, *names]  # -P: not from the current folder, whatever lies there
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    *_, name = done.stdout.split()
    why = (done.stderr.strip().splitlines() or [f"Python ended with {done.returncode}"])[-1]
    return f"{name} is installed and cannot be used ({why}). {_install('--force-reinstall', name)}"


def not_writable() -> str:
    folder = Path(FOLDER) if Path(FOLDER).is_dir() else progress.path().parent
    words = f"Your work cannot be kept in {folder.absolute()}: it cannot be written to. Go to a folder of your own."
    return "" if os.access(folder, os.W_OK) else words


def _install(*what: str) -> str:
    words = " ".join(f'"{word}"' if ">" in word else word for word in what)
    python = f'"{sys.executable}"' if " " in sys.executable else sys.executable
    return f"This helps:\n    {'%pip' if ipython() is not None else f'{python} -m pip'} install {words}"


def _numbers(version: str) -> list[int]:
    """The numbers in a version, for comparing: ``"4.5.0rc1"`` is [4, 5, 0]."""
    return [int(number) for number in re.match(r"\d+(\.\d+)*", version)[0].split(".")]  # type: ignore[index]
