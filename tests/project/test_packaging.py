"""What we publish: the source distribution's files, and the command. No network is used."""

import importlib
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def build(target, folder):
    """What hatchling builds from this folder, and the names of the files that git keeps here."""
    pytest.importorskip("hatchling")
    if not (ROOT / ".git").exists():
        pytest.skip("this is no git checkout")
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return next(folder.iterdir()), {name for name in listing.split("\0") if name and (ROOT / name).exists()}


def test_what_is_packed_is_what_git_keeps(tmp_path):
    """The source distribution built from this folder."""
    file, kept = build("sdist", tmp_path)
    with tarfile.open(file) as archive:
        packed = {member.name.partition("/")[2] for member in archive if member.isfile()}
    assert kept - packed == set(), "not in the source distribution"
    folders = {name.partition("/")[0] for name in kept}
    assert {name for name in packed if name.partition("/")[0] not in folders} == {"PKG-INFO"}


def test_the_wheel_has_what_the_library_reads(tmp_path):
    """Without the replies, or the figures of the cards, a lesson would fail only on the learner's computer."""
    file, kept = build("wheel", tmp_path)
    with zipfile.ZipFile(file) as archive:
        packed = set(archive.namelist())
    assert {name for name in kept if name.startswith("fluxlite/")} - packed == set()


def test_installing_brings_the_command(monkeypatch, capsys):
    module, _, name = PROJECT["scripts"]["fluxlite"].partition(":")
    command = getattr(importlib.import_module(module), name)
    monkeypatch.setattr(sys, "argv", ["fluxlite", "doctor"])
    assert command() == 0 and "gpu uses" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/fluxlite"])
    monkeypatch.setenv("NO_COLOR", "1")
    assert command() == 2 and capsys.readouterr().err.startswith("usage: fluxlite [-h]")
