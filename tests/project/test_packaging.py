"""What we publish: the source distribution's files, the command, and what an index shows. No network is used."""

import importlib
import json
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest

import fluxlite

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_what_is_packed_is_what_git_keeps(tmp_path):
    """The source distribution built from this folder."""
    pytest.importorskip("hatchling")
    if not (ROOT / ".git").exists():
        pytest.skip("this is no git checkout")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(next(tmp_path.iterdir())) as archive:
        packed = {member.name.partition("/")[2] for member in archive if member.isfile()}
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    kept = {name for name in listing.split("\0") if name and (ROOT / name).exists()}
    assert kept - packed == set(), "not in the source distribution"
    folders = {name.partition("/")[0] for name in kept}
    assert {name for name in packed if name.partition("/")[0] not in folders} == {"PKG-INFO"}


def test_installing_brings_the_command(monkeypatch, capsys):
    module, _, name = PROJECT["scripts"]["fluxlite"].partition(":")
    command = getattr(importlib.import_module(module), name)
    monkeypatch.setattr(sys, "argv", ["fluxlite", "doctor"])
    assert command() == 0 and "gpu uses" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/fluxlite"])
    monkeypatch.setenv("NO_COLOR", "1")
    assert command() == 2 and capsys.readouterr().err.startswith("usage: fluxlite [-h]")


@pytest.mark.parametrize("repository", ["", "a/b"])
def test_addresses_are_shown_once_the_project_is_published(repository, tmp_path):
    """In the built package: links beside it, and a picture that's found from a package index."""
    pytest.importorskip("hatchling")
    for part in ("fluxlite/__init__.py", "tools/links.py", "tools/package_metadata.py", "README.md", "pyproject.toml",
                 "LICENSE"):  # fmt: skip
        (tmp_path / part).parent.mkdir(exist_ok=True)
        (tmp_path / part).write_bytes((ROOT / part).read_bytes())
    settings = f'[tool.fluxlite]\nrepository = "{repository}"\nsha256 = "{"0" * 64}"\n'
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project = re.sub(r"^(repository|sha256) = .*\n", "", project, flags=re.MULTILINE)
    (tmp_path / "pyproject.toml").write_text(project.replace("[tool.fluxlite]\n", settings), encoding="utf-8")
    command = [sys.executable, "-m", "hatchling", "metadata"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    metadata = json.loads(shown.stdout)
    text = metadata["readme"]["text"]
    addresses = [metadata.get("urls", {}).get("Source"), re.findall(r"\]\((\S+first-screen.png)\)", text)[0]]
    opened = f"v{fluxlite.__version__}-lessons"
    there = ["https://github.com/a/b", f"https://github.com/a/b/raw/{opened}/notebooks/first-screen.png"]
    assert addresses == (there if repository else [None, "notebooks/first-screen.png"])
