"""A file is written whole or not at all. For leftovers of killed programs: checkpoint/test_checkpoint_files.py."""

import os
import re
import stat
from pathlib import Path

import pytest

import fluxlite
from fluxlite.writing import write_whole

ROOT = Path(fluxlite.__file__).parents[1]
posix = pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")


def test_the_new_contents_take_the_place_of_the_old(tmp_path):
    for data in (b"first", b"second"):
        write_whole(tmp_path / "file", data)
        assert (tmp_path / "file").read_bytes() == data and os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_what_goes_wrong_leaves_the_old_contents_and_nothing_else(tmp_path, monkeypatch, step):
    write_whole(tmp_path / "file", b"first")

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(tmp_path / "file", b"second")
    assert (tmp_path / "file").read_bytes() == b"first" and os.listdir(tmp_path) == ["file"]


@posix
def test_a_file_keeps_its_mode_and_a_link_its_target(tmp_path):
    (tmp_path / "file").write_bytes(b"private")
    (tmp_path / "file").chmod(0o600)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_whole(tmp_path / "link", b"still private")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_bytes() == b"still private"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_nothing_else_in_the_library_renames_a_file_it_has_written():
    """`course/progress.py` moves aside an unreadable record, which it didn't write."""
    found = {
        path.name: len(re.findall(r"os\.(?:replace|rename)\(", path.read_text(encoding="utf-8")))
        for folder in ("fluxlite", "benchmarks")
        for path in (ROOT / folder).rglob("*.py")
    }
    assert {name: count for name, count in found.items() if count} == {"writing.py": 1, "progress.py": 1}
