"""Environments apart from .venv, for what mustn't be beside the lessons: each with a Python and packages of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


def python_in(folder: Path) -> Path:
    """Where the Python of an environment is."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def environment(folder: Path, about: str = "", variables: Mapping[str, str] | None = None) -> Path:
    """The Python of the environment in `folder`, which is made if it isn't there, and `about` said of it.

    The programs get `variables`, this process's by default. Raises `CalledProcessError` if Python can't make one.
    """
    python = python_in(folder)
    if not python.exists():
        if about:
            print(f"making {folder.name}{about}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True, env=variables)
    return python


def pip(python: Path, *what: str, variables: Mapping[str, str] | None = None) -> None:
    """Run an environment's pip, which says little. Raises `CalledProcessError` if it fails; pip itself says why."""
    # -P: where it's called, there may be a package that pip would take for an installed one.
    command = [str(python), "-P", "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, *what], check=True, env=variables)
