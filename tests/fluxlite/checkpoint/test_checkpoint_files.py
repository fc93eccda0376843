"""The file itself: never half, never wrong without a word. Damage, kills, full disks, several writers.

FLUXLITE_KILLS=100 kills a hundred programs while they save, in place of four; `nox -s kills` sets it.
"""

import errno
import io
import json
import os
import pickle
import platform
import random
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from inside import FileFormatError, files

import fluxlite as fl

KILLS = int(os.environ.get("FLUXLITE_KILLS", "4"))
posix = pytest.mark.skipif(os.name == "nt", reason="kill -9, umask and permissions are those of POSIX")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.safetensors"


def targets():
    return {"W": np.zeros((2, 3)), "memory": {"b": np.zeros(2, np.float16)}, "rng": np.random.default_rng(9)}


def written(path):
    """What a file of these targets holds, for the tests of damage."""
    W = np.arange(6.0).reshape(2, 3)
    rng = np.random.default_rng(0)
    fl.save(path, W=W, memory={"b": np.ones(2, np.float16)}, rng=rng, again=W.T, epoch=3)
    return path.read_bytes()


def contents(data):
    return files._contents(io.BytesIO(data), len(data))


def check_refused(path, data, words=""):
    """A file of these bytes cannot be loaded, and changes nothing."""
    path.write_bytes(data)
    into = targets()
    for how in ({}, into):
        try:
            fl.load(path, **how)
        except FileFormatError as error:
            assert str(path) in str(error) and words in str(error), error
        else:
            raise AssertionError("a damaged file was loaded")
    assert not into["W"].any() and not into["memory"]["b"].any()
    assert into["rng"].bit_generator.state == np.random.default_rng(9).bit_generator.state


# -- damage ------------------------------------------------------------------------------------------------------


def test_every_single_bit_that_flips_is_noticed(path):
    data = bytearray(written(path))
    path.write_bytes(data)
    fl.load(path, **targets())
    for place in range(len(data)):
        for bit in (1 << (place % 8), 0x20) if place % 8 != 5 else (0x20, 1):
            data[place] ^= bit
            with pytest.raises(files._Unfit):
                contents(data)  # as `read` does, which need not go to the disk each time
            data[place] ^= bit
    check_refused(path, data[:-1] + bytes([data[-1] ^ 1]), "is damaged")


def test_every_length_at_which_a_file_is_cut_off_is_noticed(path):
    data = written(path)
    for length in range(len(data)):
        with pytest.raises(files._Unfit):
            contents(data[:length])
    there = f"{len(data) - 1:,} of {len(data):,} bytes"
    check_refused(path, data[:-1], f"is cut off: {there} are there; nothing was loaded")
    check_refused(path, data + b"\0", "is damaged")


@given(random=st.randoms(use_true_random=False), count=st.integers(1, 20))
def test_any_changed_bytes_are_noticed(tmp_path_factory, random, count):
    path = tmp_path_factory.getbasetemp() / "damaged.safetensors"
    data = bytearray(written(path))
    for place in random.sample(range(len(data)), count):
        data[place] ^= random.randrange(1, 256)
    check_refused(path, data)


def test_the_check_notices_a_reader_that_does_not_look(path, monkeypatch):
    """A planted fault: whatever the file is, its checksum is taken to be right."""
    data = bytearray(written(path))
    data[-1] ^= 1
    monkeypatch.setattr(files, "text", lambda checksum: data[files._place_of_checksum(data)].decode())
    with pytest.raises(AssertionError, match="a damaged file was loaded"):
        check_refused(path, data)


def test_what_is_damaged_is_named(path):
    data = bytearray(written(path))
    header = 8 + int.from_bytes(data[:8], "little")
    names = {name: x["data_offsets"][0] for name, x in json.loads(data[8:header]).items() if name != "__metadata__"}
    for name, start in names.items():
        damaged = bytearray(data)
        damaged[header + start] ^= 4
        check_refused(path, damaged, f"is damaged: the values of {name} are not those that were saved")
    renamed = data.replace(b'"epoch', b'"epocH').replace(b'\\"epoch', b'\\"epocH')
    check_refused(path, renamed, "is damaged: its header is not the one that was saved")


def zipped():
    file = io.BytesIO()
    np.savez(file, W=np.ones(2))
    return file.getvalue()


def as_npy():
    file = io.BytesIO()
    np.save(file, np.ones(2))
    return file.getvalue()


FOREIGN = {
    "empty": (b"", "is empty"),
    "pickle": (pickle.dumps({"W": np.ones(2)}), "looks like a pickle, which could run any program"),
    "npz": (zipped(), "is a zip archive, as np.savez and torch.save write them"),
    "npy": (as_npy(), "is an array of np.save"),
    "text": (b"epoch,loss\n1,0.5\n" * 10, "no safetensors file"),
    "short text": (b"hi", "no safetensors file"),
    "zeros": (bytes(100), "no safetensors file"),
    "HDF5": (b"\x89HDF\r\n\x1a\n" + bytes(50), "is an HDF5 file"),
    "JSON that is no header": (b"\x02" + bytes(7) + b"[]", "header cannot be read"),
    "deep": (b"\x80\x38\x01" + bytes(5) + b"[" * 80_000, "no safetensors file"),
}


@pytest.mark.parametrize("data, words", FOREIGN.values(), ids=FOREIGN)
def test_files_of_other_kinds(path, data, words):
    check_refused(path, data, words)


def ours(values, checksums=None, version=1):
    """A file with a right checksum, whatever it says."""
    description = json.dumps({"format": version, "values": values, "crc32": checksums or {}})
    data = bytearray(safetensors.numpy.save({"W": np.ones(2)}, {"fluxlite": f"00000000 {description}"}))
    place = files._place_of_checksum(data)
    data[place] = files.crc32(data).encode()
    return data


def test_a_file_of_a_newer_version_says_so(path):
    check_refused(path, ours({}, version=2), "was written by a newer fluxlite (format 2, this one reads 1): update")


def test_a_smaller_number_is_no_newer_version(path):
    check_refused(path, ours([1], version=0), "has a checksum, but not the contents that fluxlite.save writes")


NONSENSE = [{"array": "gone", "dtype": "<f8"}, {}, {"what": 1}, {"array": "W", "dtype": "no"}, {"tied": "W"}]


@pytest.mark.parametrize("values", [[1], *({"x": x} for x in NONSENSE)])
def test_nonsense_with_a_right_checksum_is_refused(path, values):
    check_refused(path, ours(values), "has a checksum, but not the contents that fluxlite.save writes")


def test_a_safetensors_file_of_others_gives_its_arrays_by_name(path, capsys):
    safetensors.numpy.save_file({"fc.weight": np.ones((2, 3), np.float32)}, path, {"format": "pt"})
    back = fl.load(path)
    assert list(back) == ["fc.weight"] and back["fc.weight"].tolist() == [[1, 1, 1]] * 2
    assert "was not written by fluxlite.save: here are its arrays, by name" in capsys.readouterr().err
    model = fl.loadmodel(fl.Dense(3, 2), {"weight": back["fc.weight"], "bias": None, "activation": ()})
    assert model.weight.all()
    with pytest.raises(FileFormatError, match="was not written by fluxlite.save: load"):
        fl.load(path, model=model)
    header = json.dumps({"w": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\0\0")
    with pytest.raises(FileFormatError, match="holds an array of 'BF16', which NumPy has not"):
        fl.load(path)


def test_others_can_read_our_files(path):
    fl.save(path, model=fl.Dense.of(np.ones((2, 3)), np.zeros(2)), z=np.array([1 + 2j]))
    arrays = safetensors.numpy.load_file(path)
    assert arrays["model.weight"].tolist() == [[1, 1, 1]] * 2 and arrays["model.bias"].tolist() == [0, 0]
    assert arrays["z"].tolist() == [[1, 2]]


def test_names_that_could_be_taken_for_something_else(path):
    names = {"__metadata__": np.zeros(1), "crc32": np.ones(1), "fluxlite": np.ones(2), 'x"fluxlite":"': np.zeros(2)}
    tree = {**names, "a.b": np.array(1), "σ": np.array(2)}
    fl.save(path, **tree, a=fl.Gradient(b=np.array(3)))
    back = fl.load(path)
    assert all(np.array_equal(back[name], x) for name, x in tree.items()) and back["a"]["b"] == 3


def test_import_fluxlite_does_not_load_safetensors():
    program = "import sys, fluxlite, fluxlite.checkpoint; print('safetensors' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"


def test_nothing_stays_open_or_mapped(path):
    written(path)
    back = fl.load(path)
    if os.path.exists("/proc/self/maps"):
        assert str(path) not in Path("/proc/self/maps").read_text()
        assert str(path) not in [os.readlink(f) for f in Path("/proc/self/fd").iterdir() if f.is_symlink()]
    path.write_bytes(b"")
    assert back["W"].sum() == 15


# -- writing -----------------------------------------------------------------------------------------------------


def test_errors_leave_the_old_file_and_nothing_else(path, monkeypatch):
    before = written(path)

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device: could not save; m.safetensors is what it was") as error:
        fl.save(path, W=np.ones(5))
    assert error.value.errno == errno.ENOSPC and error.value.filename == str(path)
    assert path.read_bytes() == before and os.listdir(path.parent) == [path.name]
    with pytest.raises(OSError, match="could not save: ") as error:
        fl.save(path.parent / "other", W=np.ones(5))
    assert os.listdir(path.parent) == [path.name]


def test_an_interrupt_leaves_the_old_file_and_nothing_else(path, monkeypatch):
    before = written(path)

    def interrupted(*names):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fl.save(path, W=np.ones(5))
    assert path.read_bytes() == before and os.listdir(path.parent) == [path.name]


def test_places_where_nothing_can_be_written(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder .*none; os.makedirs makes it") as error:
        fl.save(tmp_path / "none" / "m.safetensors", W=np.ones(1))
    assert error.value.filename == str(tmp_path / "none" / "m.safetensors")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError, match="could not save a file where a folder is"):
        fl.save(tmp_path / "folder", W=np.ones(1))
    with pytest.raises(FileNotFoundError):
        fl.load(tmp_path / "m.safetensors")
    assert os.listdir(tmp_path) == ["folder"] and os.listdir(tmp_path / "folder") == []


@posix
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(path):
    before = written(path)
    path.parent.chmod(0o555)
    try:
        with pytest.raises(PermissionError, match="m.safetensors is what it was"):
            fl.save(path, W=np.ones(1))
    finally:
        path.parent.chmod(0o755)
    assert path.read_bytes() == before


@posix
@pytest.mark.parametrize("umask, mode", [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_the_file_may_be_read_by_whom_the_umask_says(path, umask, mode):
    before = os.umask(umask)
    try:
        fl.save(path, W=np.ones(1))
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("no extension", "m.txt", "σ.safetensors", ".hidden"):
        fl.save(name, epoch=1)
        assert fl.load(tmp_path / name) == {"epoch": 1}
    assert sorted(os.listdir()) == sorted(("no extension", "m.txt", "σ.safetensors", ".hidden"))


@posix
def test_a_link_stays_one(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "m.safetensors")
    fl.save(tmp_path / "link", epoch=1)
    fl.save(tmp_path / "link", epoch=2)
    assert (tmp_path / "link").is_symlink() and fl.load(tmp_path / "there" / "m.safetensors") == {"epoch": 2}


def dead_process():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@posix
def test_temporary_files_of_dead_programs_are_removed_and_no_others(path):
    here, dead = platform.node(), dead_process()
    own, parent, foreign = os.getpid(), os.getppid(), dead
    gone = [f".m.safetensors.tmp-{dead}-0@{here}", f".m.safetensors.tmp-{10**20}-0@{here}",
            f".m.safetensors.tmp-{own}-99999@{here}"]  # fmt: skip
    stay = [
        f".m.safetensors.tmp-{parent}-0@{here}",  # it lives
        f".m.safetensors.tmp-{foreign}-0@another-computer",
        f".other.safetensors.tmp-{dead}-0@{here}",
        f".m.safetensors.tmp-{dead}",  # not one of ours
        "m.safetensors.bak",
    ]
    for name in gone + stay:
        (path.parent / name).write_bytes(b"half")
    fl.save(path, epoch=1)
    assert sorted(os.listdir(path.parent)) == sorted([path.name, *stay])


def test_threads_that_save_at_once_each_save_whole(path):
    errors = []

    def save(number):
        try:
            for _ in range(10):
                fl.save(path, x=np.full(20_000, number), number=number)
                found = fl.load(path)
                assert (found["x"] == found["number"]).all()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=save, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [] and os.listdir(path.parent) == [path.name]


# -- kill -9 -----------------------------------------------------------------------------------------------------

SAVER = """
import itertools, os, sys
import numpy as np
from fluxlite.checkpoint import save
{define}
for number in itertools.count(int(sys.argv[2])):
    os.write(1, b"b%d\\n" % number)  # begun
    save(sys.argv[1], x=np.full(400_000, float(number)), number=number)
    os.write(1, b"d%d\\n" % number)  # done
"""

# In place, as a program does that knows no better: most of the time the file is half.
NAIVE = """
import io, time, safetensors.numpy
def save(path, x, number):
    data = safetensors.numpy.save({"x": x, "number": np.array(number)})
    with open(path, "wb", buffering=0) as file:
        for start in range(0, len(data), 2**16):
            file.write(data[start : start + 2**16])
            time.sleep(0.005)
"""


def naive_read(path):
    back = safetensors.numpy.load_file(path)
    return back["x"], int(back["number"])


def our_read(path):
    back = fl.load(path)
    return back["x"], back["number"]


def check_kills(path, kills, define="", read=our_read):
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
            number = 0
            continue
        try:
            x, found = read(path)
        except Exception as error:
            raise AssertionError(f"the file is not whole: {error}") from error
        assert found in (done, begun) and x.shape == (400_000,) and (x == found).all()
        number = found + 1


@posix
def test_a_killed_program_leaves_the_old_file_or_the_new_one(path):
    check_kills(path, KILLS)
    left = [name for name in os.listdir(path.parent) if name != path.name]
    print(f"{KILLS} kills, {len(left)} temporary files left behind")
    fl.save(path, epoch=1)
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.slow
@posix
def test_the_check_notices_a_program_that_writes_in_place(path):
    with pytest.raises(AssertionError, match="the file is not whole"):
        check_kills(path, 12, NAIVE, naive_read)


def test_a_file_of_some_size_is_not_slow_or_large(path):
    """One copy more than the arrays themselves is what a file needs; its checksum is computed at gigabytes a second."""
    x = np.zeros(2**20)
    fl.save(path, x=x)
    assert path.stat().st_size - x.nbytes < 1000
    assert fl.load(path)["x"].nbytes == x.nbytes
    assert not [name for name in os.listdir(tempfile.gettempdir()) if name.startswith(".m.safetensors")]


def test_equal_contents_are_equal_files(tmp_path):
    model = fl.Chain(fl.Dense(3, 2), fl.Dense(2, 1))
    for number in range(20):
        fl.save(tmp_path / f"{number}.safetensors", model=model, epoch=3)
    assert len({path.read_bytes() for path in tmp_path.iterdir()}) == 1
