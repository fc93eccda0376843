"""An nbgrader course of the lessons, and nbgrader itself, in an environment of its own.

    python tools/grading.py [FOLDER]     nbgrader-course

nbgrader puts *Validate* and *Create Assignment* into the JupyterLab that it's installed beside. In .venv every learner
at that computer would see them, so it goes into .venv-nbgrader, with fluxlite and what the lessons need. That takes a
network.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools import notebooks  # noqa: E402
from tools.environments import environment, pip  # noqa: E402

VENV = ROOT / ".venv-nbgrader"


def main(arguments: list[str]) -> int:
    about = "Make an nbgrader course, and install nbgrader into an environment of its own."
    parser = argparse.ArgumentParser(description=about, allow_abbrev=False)
    default = Path("nbgrader-course")
    parser.add_argument(
        "folder", nargs="?", type=Path, default=default, help=f"a new folder; {default} if there's none"
    )
    folder = parser.parse_args(arguments).folder
    if notebooks.main(["nbgrader", str(folder)]):
        return 1
    python = environment(VENV, "; that takes a few minutes")
    pip(python, "install", "-e", f"{ROOT}[lab,nbgrader]")
    start = "Activate.ps1" if os.name == "nt" else "activate"
    dot = "" if os.name == "nt" else ". "
    print(f"nbgrader is in {VENV.name}. In each new terminal, first: {dot}{python.parent / start}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as error:
        sys.exit(f"It didn't finish; the words of {Path(error.cmd[0]).name} are above. The same command goes on.")
