"""A file is written whole or not at all."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from inside import whole_file, write_whole

posix = pytest.mark.skipif(os.name == "nt", reason="modes, links and limits are those of POSIX")


def test_the_new_contents_take_the_place_of_the_old(tmp_path):
    write_whole(tmp_path / "file", b"first")
    with whole_file(tmp_path / "file") as temporary:
        Path(temporary).write_bytes(b"two")
        assert (tmp_path / "file").read_bytes() == b"first"
    assert (tmp_path / "file").read_bytes() == b"two" and os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_in_the_block_leaves_the_old_contents_and_nothing_else(tmp_path, error):
    (tmp_path / "file").write_bytes(b"before")
    with pytest.raises(error), whole_file(tmp_path / "file") as temporary:
        Path(temporary).write_bytes(b"half")
        raise error
    assert (tmp_path / "file").read_bytes() == b"before" and os.listdir(tmp_path) == ["file"]


WRITER = """
import os, sys
from fluxlite.writing import write_whole
{before}
write_whole(sys.argv[1], b"short")
try:
    write_whole(sys.argv[1], bytes(2 << 20))
except OSError as error:
    print(error.errno, open(sys.argv[1], "rb").read(), os.listdir(os.path.dirname(sys.argv[1])))
"""


def said_by(program, *arguments, start=()):
    command = [*start, sys.executable, "-c", program, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


@posix
@pytest.mark.parametrize("mounted, number", [(True, 28), (False, 27)], ids=["ENOSPC", "EFBIG"])
def test_a_disk_that_is_full(tmp_path, mounted, number):
    """A file system of one megabyte, mounted where only this program sees it; or a limit for the size of files."""
    before, start = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))", []
    if mounted:
        start = ["unshare", "--user", "--map-root-user", "--mount"]
        mount = f"mount -t tmpfs -o size=1m tmpfs {tmp_path}"
        if not shutil.which("unshare") or subprocess.run([*start, *mount.split()], capture_output=True).returncode:
            pytest.skip("this system lets nobody mount a file system of their own")
        before = f"if os.system('{mount}'): raise SystemExit('mount failed')"
    assert said_by(WRITER.format(before=before), tmp_path / "file", start=start) == f"{number} b'short' ['file']"


@posix
@pytest.mark.parametrize("mode", [0o600, 0o666])
def test_a_file_keeps_its_mode_also_while_it_is_written(tmp_path, mode):
    (tmp_path / "file").write_bytes(b"private")
    (tmp_path / "file").chmod(mode)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with whole_file(tmp_path / "link") as temporary:
        assert stat.S_IMODE(os.stat(temporary).st_mode) == mode
        os.remove(temporary)  # as safetensors does, whose file is then its owner's alone
        Path(temporary).write_bytes(b"secret")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == mode
    assert (tmp_path / "link").is_symlink() and (tmp_path / "file").read_bytes() == b"secret"


def test_a_read_only_file_stays(tmp_path):
    """For an administrator too: nothing else would stop them."""
    (tmp_path / "file").write_bytes(b"results to keep")
    (tmp_path / "file").chmod(0o444)
    try:
        with pytest.raises(PermissionError, match="this file is read-only"):
            write_whole(tmp_path / "file", b"others")
        assert (tmp_path / "file").read_bytes() == b"results to keep" and os.listdir(tmp_path) == ["file"]
    finally:
        (tmp_path / "file").chmod(0o644)  # Windows couldn't remove it
