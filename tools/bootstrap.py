"""What `make lab` and the others start: prepare.py beside this file, if this Python is new enough for it.

    python tools/bootstrap.py lab [cuda12 ...]      the extras of pyproject.toml that .venv needs

If not, it says the one command that helps. So this file, and no other, has to start on Pythons as old as 2.7.
"""

from __future__ import print_function

import argparse
import os
import subprocess
import sys

OLDEST = (3, 11)
UV = "uv run --python 3.12 --extra lab python -m fluxlite lab"


def there(program):
    """Whether the PATH has a program (shutil.which is younger than Python 2.7)."""
    folders = os.environ.get("PATH", "").split(os.pathsep)
    return any(os.access(os.path.join(folder, program), os.X_OK) for folder in folders)


def as_root(command):
    """A command for the system's own packages. Where there's no sudo, as in a container, root's own shell takes it."""
    return "sudo " + command if there("sudo") else command


def apt_pythons():
    """The packages that would bring a Python to this Debian or Ubuntu that's new enough, the oldest first."""
    command = ["apt-cache", "search", "--names-only", "^python3[.]1[1-9]-venv$"]
    try:
        listing = subprocess.check_output(command, stderr=subprocess.STDOUT).decode()
    except (OSError, subprocess.CalledProcessError):
        return []
    return sorted(line.split()[0] for line in listing.splitlines() if line.startswith("python3"))


def newer_python():
    """The one command that brings a newer Python to this system."""
    if there("apt-get") and apt_pythons():
        return as_root("apt install " + apt_pythons()[-1])
    if there("dnf"):
        return as_root("dnf install python3.12")
    if there("brew"):
        return "brew install python@3.13"
    return UV + "  (uv is one program that brings its own Python: docs.astral.sh/uv)"


def too_old(version, found=""):
    """What helps if a version, such as sys.version_info, is too old; empty if it isn't."""
    if tuple(version[:2]) >= OLDEST:
        return ""
    found = found or "this is Python %d.%d.%d" % tuple(version[:3])
    return "fluxlite needs Python %d.%d or newer; %s. This helps:\n    %s" % (OLDEST + (found, newer_python()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Install into .venv what a command needs, unless it's there.")
    parser.add_argument("extras", nargs="*", metavar="extra", help="of pyproject.toml, such as lab or cuda12")
    extras = parser.parse_args().extras
    problem = too_old(sys.version_info, os.environ.get("FLUXLITE_FOUND", ""))
    if problem:
        print(problem)
        sys.exit(1)
    from prepare import main

    main(extras)
