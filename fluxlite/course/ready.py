"""``python -m fluxlite check``: is this computer ready for the course? One word, or the one thing to do.

It leaves no file behind: a learner may run it anywhere, and as often as he likes.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from ..messages import ipython
from . import progress
from .copies import FOLDER

READY = "READY"
# The oldest versions that will do, as in pyproject.toml; and what is needed only where JupyterLab has to be started.
NEEDED = {"numpy": "2.0", "safetensors": "0.4.3", "tqdm": "4.60", "ipywidgets": "7.7", "matplotlib": "3.8"}
TO_START = {"jupyterlab": "4"}
# The loss of the first epoch of lesson 05.
FIRST_LOSS = 3.9155

# Run in a process of its own: an import may end Python, and that of Matplotlib makes a folder.
IMPORTS = """
import importlib, sys
for name in sys.argv[1:]:
    print(name, flush=True)
    try:
        importlib.import_module(name)
    except Exception as error:
        sys.exit(f"{type(error).__name__}: {error}")
"""


def what_to_do() -> str:
    """The one thing to do before the course can begin; empty if it can.

    >>> what_to_do()
    ''
    """
    needed = {**NEEDED, **TO_START} if ipython() is None else NEEDED
    return missing(needed) or broken(needed) or wrong_numbers() or not_writable()


def missing(needed: dict[str, str]) -> str:
    """All that is not installed or too old, and the one command that brings it."""
    absent, old, wanted = [], [], []
    for name, oldest in needed.items():
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            absent.append(name)
        else:
            if _numbers(version) >= _numbers(oldest):
                continue
            old.append(f"{name} {version}")
        wanted.append(f"{name}>={oldest}")
    said = [f"{_all(absent)} not installed in this Python."] * bool(absent) + [f"{_all(old)} too old."] * bool(old)
    return " ".join([*said, _install(*wanted)]) if wanted else ""


def _all(names: list[str]) -> str:
    """The subject of a sentence, and its verb."""
    return f"{', '.join(names[:-1])} and {names[-1]} are" if names[1:] else "".join(names) + " is"


def broken(names: dict[str, str]) -> str:
    with tempfile.TemporaryDirectory() as place:
        environment = {**os.environ, "MPLCONFIGDIR": place, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", IMPORTS, *names]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    name = ([""] + done.stdout.split())[-1]
    why = (done.stderr.strip().splitlines() or [f"Python ended with {done.returncode}"])[-1]
    return f"{name} is installed and cannot be used ({why}). {_install('--force-reinstall', name)}"


def wrong_numbers() -> str:
    """One epoch of lesson 05, on the simulated GPU."""
    from .. import estimate, gpu
    from .sine_wave import problem, train

    def one_epoch() -> list[float]:
        x, y, w1, w2 = gpu(problem())
        return train(x, y, w1, w2, epochs=[10])  # the loss of each tenth one is returned

    (loss,) = estimate(one_epoch, like="NVIDIA T4").result
    if abs(loss - FIRST_LOSS) < 1e-3:
        return ""
    return f"NumPy computes wrongly: {loss:.4f} where {FIRST_LOSS} is right. {_install('--force-reinstall', 'numpy')}"


def not_writable() -> str:
    folder = Path(FOLDER) if Path(FOLDER).is_dir() else progress.path().parent
    if os.access(folder, os.W_OK):
        return ""
    return f"Your work cannot be kept in {folder.absolute()}: it cannot be written to. Go to a folder of your own."


def _install(*what: str) -> str:
    words = " ".join(f'"{word}"' if ">" in word else word for word in what)
    return f"This helps:\n    {'%pip' if ipython() is not None else f'{_python()} -m pip'} install {words}"


def _python() -> str:
    """This Python as one types it here: ``.venv/bin/python`` where that leads to it."""
    path = sys.executable
    with contextlib.suppress(ValueError):  # on Windows: it is on another drive
        near = os.path.relpath(path)
        path = near if os.sep in near and len(near) < len(path) else path
    return f'"{path}"' if " " in path else path


def _numbers(version: str) -> list[int]:
    """What is compared of a version: ``"4.5.0rc1"`` is [4, 5, 0]."""
    return [int(number) for number in re.match(r"\d+(\.\d+)*", version)[0].split(".")]  # type: ignore[index]
