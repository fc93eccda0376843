"""Small programs in a process of their own; and where none can be started, what they printed on another computer."""

import os
import subprocess
import sys
import tomllib
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from fluxlite.processes import NOT_HERE

_HERE = f"{NOT_HERE[0].upper()}{NOT_HERE[1:]}"
RECORDED = f"{_HERE}. Recorded on another computer:"


def fresh(program: str, **variables: str) -> None:
    """Run a program with these environment variables, and print what it prints: its messages first."""
    try:
        print(_run(program, Path(), variables).strip())
    except OSError:
        print(RECORDED, _recorded(program, variables), sep="\n")


def elsewhere(program: str, folder: Path) -> str:
    """The last line that a program prints on a computer without a GPU, or the last of its error."""
    hidden = {"CUDA_VISIBLE_DEVICES": "-1", "PYTHON_COLORS": "0"}
    try:
        return _run(program, folder, hidden).strip().split("\n")[-1]
    except OSError:
        print(RECORDED)
        return _recorded(program, hidden)


def _run(program: str, folder: Path, variables: dict[str, str]) -> str:
    command = [sys.executable, "-c", program]
    environment = {**os.environ, **variables}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode:
        return done.stdout + done.stderr
    return done.stderr + done.stdout


def _recorded(program: str, variables: dict[str, str]) -> str:
    for run in recorded():
        if (run["program"], run["variables"]) == (program, variables):
            return run["printed"]
    return "nothing, since the lesson's own programs are the only ones that were run there"


@cache
def recorded() -> list[dict[str, Any]]:
    """The lesson's programs, each with its variables, and what's shown of what it printed."""
    return tomllib.loads(resources.files(__package__).joinpath("recorded.toml").read_text("utf-8"))["run"]
