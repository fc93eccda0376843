"""Make `.venv` and install what a command needs there, unless that's done already. bootstrap.py starts this.

`.venv/fluxlite.json` says what's installed, and "installing" for as long as that isn't finished.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def fingerprint(root: Path) -> str:
    """A short hash of pyproject.toml."""
    return hashlib.sha256((root / "pyproject.toml").read_bytes()).hexdigest()[:16]


def read_stamp(root: Path) -> dict:
    """What .venv/fluxlite.json says; empty when there is none."""
    try:
        stamp = json.loads((root / ".venv" / "fluxlite.json").read_text())
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def write_stamp(root: Path, stamp: dict) -> None:
    """Replace .venv/fluxlite.json in one go."""
    new = root / ".venv" / "fluxlite.json.new"
    new.write_text(json.dumps(stamp, indent=1))
    new.replace(new.with_suffix(""))


def inside(root: Path) -> str:
    """The version of the Python in .venv, such as 3.12; empty if it doesn't start or has no pip."""
    command = [root / ".venv" / "bin" / "python", "-c", "import sys, pip; print('%d.%d' % sys.version_info[:2])"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def to_do(root: Path, extras: set[str], version: Sequence[int]) -> tuple[str, str]:
    """What .venv needs, "create", "install" or nothing, and why."""
    if not (root / ".venv").is_dir():
        return "create", "there is no .venv yet"
    stamp, had, here = read_stamp(root), inside(root), f"{version[0]}.{version[1]}"
    if stamp.get("state") == "installing":
        return "create", "the last install did not finish"
    if stamp and stamp.get("root") != str(root):
        return "create", "this folder was moved or copied"
    if not had:
        return "create", "the Python in .venv does not start, or has no pip"
    if had != here and stamp.get("ours", tuple(map(int, had.split("."))) < (3, 11)):
        return "create", f".venv holds Python {had}, this is {here}"
    if not stamp:  # made by hand, so it's kept
        return "install", ".venv was made by other means"
    if stamp.get("pyproject") != fingerprint(root):
        return "install", "pyproject.toml has changed"
    missing = sorted(extras - set(stamp["extras"]))
    return ("install", f"not installed yet: {', '.join(missing)}") if missing else ("", "")


def check_extras(root: Path, extras: set[str]) -> None:
    """Stop at an extra that pyproject.toml doesn't have (pip would only warn)."""
    known = tomllib.loads((root / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for extra in sorted(extras - set(known)):
        sys.exit(f"There is no extra {extra!r}. There are: {', '.join(sorted(known))}.")


def check_venv(version: Sequence[int]) -> None:
    """Stop if this Python can't make a .venv: Debian's can't until python3-venv is installed."""
    missing = [name for name in ("venv", "ensurepip") if find_spec(name) is None]
    if missing:
        from bootstrap import UV, as_root

        command = UV
        if shutil.which("apt-get"):
            command = as_root(f"apt install python{version[0]}.{version[1]}-venv")
        what = " and ".join(missing)
        sys.exit(f"This Python comes without {what}, so it cannot make a .venv. This helps:\n    {command}")


def create(venv: Path) -> None:
    """Make an empty virtual environment, in place of one that may be there."""
    # If this very Python lives in the .venv that's to go, the one below it stays.
    python = getattr(sys, "_base_executable", "") or sys.executable
    if venv.is_symlink():
        venv.unlink()
    if subprocess.run([python, "-m", "venv", "--clear", venv]).returncode:
        sys.exit(f"{python} -m venv failed; its own words are above.")


def pip_install(root: Path, extras: list[str]) -> None:
    """Install this folder, editable, with its extras."""
    pip = [root / ".venv" / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    wanted = ["-e", f".[{','.join(extras)}]"]
    if subprocess.run([*pip, *wanted], cwd=root, env=os.environ | {"PIP_USER": "0"}).returncode:
        sys.exit("The install did not finish. If the network was the cause, give the same command again.")


def prepare(root: Path, extras: set[str], version: Sequence[int]) -> None:
    """Bring .venv to where it has the extras, and say what's done and why."""
    check_extras(root, extras)
    what, why = to_do(root, extras, version)
    if not what:
        return
    before = read_stamp(root)
    everything = sorted(extras.union(before.get("extras", ())))
    print(f"Installing fluxlite[{','.join(everything)}] into .venv ({why}).", flush=True)
    ours = what == "create" or before.get("ours", False)
    if what == "create":
        check_venv(version)
        print("The first time that takes one to three minutes. No root needed.", flush=True)
        create(root / ".venv")
    stamp = {"ours": ours, "root": str(root), "extras": everything, "pyproject": fingerprint(root)}
    write_stamp(root, {**stamp, "state": "installing"})
    pip_install(root, everything)
    write_stamp(root, {**stamp, "state": "ready"})


def main(arguments: list[str]) -> None:
    """`arguments` are extras, also several with commas between. One at a time: two in one folder would get mixed up."""
    extras = set(filter(None, ",".join(arguments).split(",")))
    with (ROOT / "pyproject.toml").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            print("Something is being installed in this folder already; waiting for it.", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            prepare(ROOT, extras, sys.version_info)
        except KeyboardInterrupt:
            sys.exit("\nStopped. Give the same command again to go on.")
