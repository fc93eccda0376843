"""The file itself: never half, and readable for others. Kills, full disks, several writers.

FLUXLITE_KILLS=100 kills a hundred programs while they save, in place of four; `nox -s kills` sets it.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from inside import FileFormatError

import fluxlite as fl

KILLS = int(os.environ.get("FLUXLITE_KILLS", "4"))
posix = pytest.mark.skipif(os.name == "nt", reason="kill -9, umask and permissions are those of POSIX")


def written(path):
    fl.save(path, W=np.arange(6.0), epoch=3)
    return path.read_bytes()


def test_the_file_is_as_safetensors_would_write_it(tmp_path):
    """Its header aside: the same arrays at the same places, each where its type can begin."""
    arrays = {"b": np.arange(3, dtype=np.uint8), "a": np.ones((2, 3)), "c": np.zeros(0), "d": np.float16([1, 2, 3])}
    fl.save(tmp_path / "ours", **arrays)
    safetensors.numpy.save_file(arrays, tmp_path / "theirs")
    found = []
    for name in ("ours", "theirs"):
        data = (tmp_path / name).read_bytes()
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])
        header.pop("__metadata__", None)
        found.append((header, data[8 + length :]))
        assert length % 8 == 0
    assert found[0] == found[1]
    with safetensors.safe_open(tmp_path / "ours", framework="np") as file:
        assert sorted(file.keys()) == sorted(arrays) and list(file.metadata()) == ["fluxlite"]


def test_import_fluxlite_does_not_load_safetensors():
    program = "import sys, fluxlite; print('safetensors' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"


def test_nothing_stays_open_or_mapped(path):
    written(path)
    back = fl.load(path)
    if os.path.exists("/proc/self/maps"):
        assert str(path) not in Path("/proc/self/maps").read_text()
        assert str(path) not in [os.readlink(f) for f in Path("/proc/self/fd").iterdir() if f.is_symlink()]
    path.write_bytes(b"")
    assert back["W"].sum() == 15


def test_errors_leave_the_old_file_and_nothing_else(path, fill_the_disk, monkeypatch):
    before = written(path)

    def interrupted(*names):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fl.save(path, W=np.ones(5))
    fill_the_disk()
    for place in (path, path.parent / "other"):
        with pytest.raises(OSError, match="No space left on device"):
            fl.save(place, W=np.ones(5))
    assert path.read_bytes() == before and os.listdir(path.parent) == [path.name]


@posix
def test_paths_and_links(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("no extension", "σ.txt"):
        fl.save(name, epoch=1)
        assert fl.load(tmp_path / name) == {"epoch": 1}
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "m.safetensors")
    for epoch in (1, 2):
        fl.save(tmp_path / "link", epoch=epoch)
    assert (tmp_path / "link").is_symlink() and fl.load(tmp_path / "there" / "m.safetensors") == {"epoch": 2}


def test_threads_that_save_at_once_each_save_whole(path):
    def save(number):
        for _ in range(10):
            fl.save(path, x=np.full(20_000, number), number=number)
            found = fl.load(path)
            assert (found["x"] == found["number"]).all()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(save, range(4)))
    assert os.listdir(path.parent) == [path.name]


SAVER = """
import itertools, os, sys
import numpy as np
from fluxlite.saving.checkpoint import save
{define}
for number in itertools.count(int(sys.argv[2])):
    os.write(1, b"b%d\\n" % number)  # begun
    save(sys.argv[1], x=np.full(400_000, float(number)), number=number)
    os.write(1, b"d%d\\n" % number)  # done
"""

# In place, as a program does that knows no better: most of the time the file is half.
NAIVE = """
import time
def save(path, x, number):
    with open(path, "wb", buffering=0) as file:
        for _ in range(50):
            file.write(b"half")
            time.sleep(0.005)
"""


def check_kills(path, kills, define=""):
    """Programs that save one version after the other are killed at any moment: the file is whole, and either of the
    last version that was done, or of the one that had begun."""
    number, rest = 0, random.Random(0)
    for _ in range(kills):
        program = [sys.executable, "-c", SAVER.format(define=define), str(path), str(number)]
        process = subprocess.Popen(program, stdout=subprocess.PIPE)
        first = process.stdout.readline()  # the first save begins
        time.sleep(rest.uniform(0, 0.06))  # only picks the moment: nothing below depends on it
        process.send_signal(signal.SIGKILL)
        lines = [first, *process.stdout.read().splitlines()]
        process.wait()
        process.stdout.close()
        done = max([int(line[1:]) for line in lines if line[:1] == b"d"], default=number - 1)
        begun = max(int(line[1:]) for line in lines if line[:1] == b"b")
        if not path.exists():
            assert done < 0
            continue
        found = fl.load(path)
        assert found["number"] in (done, begun) and (found["x"] == np.full(400_000, found["number"])).all()
        number = found["number"] + 1


@posix
def test_a_killed_program_leaves_the_old_file_or_the_new_one(path):
    check_kills(path, KILLS)


@pytest.mark.slow
@posix
def test_the_check_notices_a_program_that_writes_in_place(path):
    with pytest.raises(FileFormatError):
        check_kills(path, 12, NAIVE)
