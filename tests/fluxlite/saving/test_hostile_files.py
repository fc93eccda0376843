"""Files that are damaged, or made to do harm: they're refused, and nothing changes."""

import io
import json
import os
import pickle
import re
import struct
import subprocess
import sys

import numpy as np
import pytest
from inside import FileFormatError, files
from peaks import peak_of
from safetensors.numpy import load_file, save_file

import fluxlite as fl

posix = pytest.mark.skipif(os.name == "nt", reason="pipes and /dev are those of POSIX")


@pytest.fixture(autouse=True, params=["by the package", "in Python"])
def both_ways(request, monkeypatch):
    """Each test once with safetensors, and once as where it isn't there."""
    if request.param == "in Python":
        monkeypatch.setitem(sys.modules, "safetensors", None)  # to import it raises ImportError


def ours(path, values, arrays=None, version=1):
    """The bytes of a file with these values, whatever they say, and the right checksum."""
    return ours_of_text(path, json.dumps({"format": version, "values": values, "crc32": {}}), arrays)


def ours_of_text(path, description, arrays=None):
    """The same with this text as its description."""
    save_file(arrays or {}, path, {"fluxlite": f"00000000 {description}"})
    with open(path, "rb+") as file:
        place, _, checksum = files._checksum(file)
        file.seek(place)
        file.write(checksum.encode())
    return path.read_bytes()


def targets():
    return {"W": np.zeros((2, 3)), "memory": {"b": np.zeros(2, np.float16)}, "rng": np.random.default_rng(9)}


def written(path):
    """What a file of these targets holds."""
    W = np.arange(6.0).reshape(2, 3)
    rng = np.random.default_rng(0)
    fl.save(path, W=W, memory={"b": np.ones(2, np.float16)}, rng=rng, again=W.T, epoch=3)
    return path.read_bytes()


def check_refused(path, data, words):
    """A file of these bytes can't be loaded, changes nothing, and takes no memory that it doesn't deserve."""
    path.write_bytes(data)
    into = targets()

    def refused():
        for how in ({}, into):
            with pytest.raises(FileFormatError, match=words) as error:
                fl.load(path, **how)
            assert str(path) in str(error.value)

    assert peak_of(refused) < (1 << 20) + 3 * len(data)
    assert not into["W"].any() and not into["memory"]["b"].any()
    assert into["rng"].bit_generator.state == np.random.default_rng(9).bit_generator.state


# -- damage ----------------------------------------------------------------------------------------------------------


def check_unfit(path, data):
    path.write_bytes(data)
    with pytest.raises(FileFormatError):
        files.read(str(path))


def test_every_byte_that_changes_is_noticed(path):
    data = bytearray(written(path))
    fl.load(path, **targets())
    for place in range(len(data)):
        for bit in (1 << (place % 8), 0x20) if place % 4 == 0 else (1 << (place % 8),):
            data[place] ^= bit
            check_unfit(path, data)
            data[place] ^= bit
    check_refused(path, data[:-1] + bytes([data[-1] ^ 1]), "is damaged")


def test_every_length_at_which_a_file_is_cut_off_is_noticed(path):
    data = written(path)
    for length in range(len(data)):
        check_unfit(path, data[:length])
    check_refused(path, data[:-1], f"is cut off: {len(data) - 1:,} of {len(data):,} bytes are there; nothing was")
    check_refused(path, data + b"\0", "is damaged")


def test_what_is_damaged_is_named(path):
    data = bytearray(written(path))
    header = 8 + int.from_bytes(data[:8], "little")
    names = {name: x["data_offsets"][0] for name, x in json.loads(data[8:header]).items() if name != "__metadata__"}
    for name, start in names.items():
        damaged = bytearray(data)
        damaged[header + start] ^= 4
        check_refused(path, damaged, f"is damaged: the values of {re.escape(name)} are not those that were saved")
    check_refused(path, data.replace(b'"epoch', b'"epocH'), "is damaged: its header isn't the one saved")


def as_npy(write):
    write(file := io.BytesIO(), np.ones(2))
    return file.getvalue()


FOREIGN = {
    "empty": b"", "pickle": pickle.dumps({"W": np.ones(2)}), "npz": as_npy(np.savez), "npy": as_npy(np.save),
    "text": b"epoch,loss\n1,0.5\n" * 10, "short text": b"hi", "HDF5": b"\x89HDF\r\n\x1a\n" + bytes(50),
    "JSON that is no header": b"\x02" + bytes(7) + b"[]", "deep": b"\x80\x38\x01" + bytes(5) + b"[" * 80_000,
    "a length of more than there is": struct.pack("<Q", 2**63) + b"{}",
}  # fmt: skip


@pytest.mark.parametrize("data", FOREIGN.values(), ids=FOREIGN)
def test_files_of_other_kinds(path, data):
    check_refused(path, data, "isn't a safetensors file")


def test_a_safetensors_file_of_others_gives_its_arrays_by_name(path, capsys):
    save_file({"fc.weight": np.ones((2, 3), np.float32)}, path, {"format": "pt"})
    back = fl.load(path)
    assert list(back) == ["fc.weight"] and back["fc.weight"].tolist() == [[1, 1, 1]] * 2
    assert "wasn't written by fluxlite.save: here are its arrays, by name" in capsys.readouterr().err
    model = fl.loadmodel(fl.Dense(3, 2), {"weight": back["fc.weight"], "bias": None, "activation": ()})
    assert model.weight.all()
    with pytest.raises(FileFormatError, match="wasn't written by fluxlite.save: load"):
        fl.load(path, model=model)


# -- types -----------------------------------------------------------------------------------------------------------


DTYPES = ["(10000,10000)f8", "S1000000000", "O", "f8,i4", "<M8[s]", "g", "c32", "double", "=f8", "", "None", "x",
          ">f8 ", "<f4", "<c8", ["<f8"], {"x": 1}, None, 8]  # fmt: skip
NOT_OURS = "has a checksum, but not the contents that fluxlite.save writes"


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_types_that_save_does_not_write(path, dtype):
    """A type is a text that NumPy would believe: this one's file has 200 bytes, and asked for 1.6 GB."""
    check_refused(path, ours(path, {"x": {"array": "x", "dtype": dtype}}, {"x": np.ones(2)}), NOT_OURS)


def test_nonsense_with_a_right_checksum_is_refused(path):
    check_refused(path, ours(path, {}, version=2), NOT_OURS + ".* newer format, update fluxlite")
    check_refused(path, ours(path, [1], version=0), NOT_OURS)
    for x in ({"array": "gone", "dtype": "<f8"}, {}, {"what": 1}, {"tied": "W"}):
        check_refused(path, ours(path, {"x": x}, {"W": np.ones(2)}), NOT_OURS)


NOT_A_PART = ["1e999", "NaN", "9" * 30, "-1", "2.5", "true", "null", '"x"', "[]", "{}", "[" * 90_000 + "]" * 90_000]


@pytest.mark.parametrize("part", NOT_A_PART, ids=lambda part: part[:9])
def test_whatever_stands_in_a_file_it_is_loaded_or_refused(path, part):
    """Each part of a description in turn becomes something else, and the checksum is right."""
    array, kinds = {"array": "W", "dtype": "<f8"}, {"c": {"complex": [1.0, 2.0]}, "b": {"bytes": "00"}}
    again = {"tied": "W", "shape": [2], "strides": [8], "first": [8]}
    values = {"W": array, "again": again, "t": {"tuple": [{"dict": [["a", 1]]}]}, **kinds}
    description = json.dumps({"format": 1, "values": values})
    read = 0
    for piece in re.finditer(r'"[^"]*"(?!:)|[0-9.]+|\[[^\[\]]*\]', description):
        made = description[: piece.start()] + part + description[piece.end() :]
        path.write_bytes(ours_of_text(path, made, {"W": np.ones(2)}))
        try:
            fl.load(path)
            read += 1
        except FileFormatError:
            pass
    assert read < 10


def test_a_header_that_would_take_much_more_memory_than_it_has_bytes(path, monkeypatch):
    monkeypatch.setattr(files, "_MOST_MEMORY", 1 << 22)  # so that it takes less time
    check_refused(path, ours(path, {"x": [[]] * 50_000}), "too many parts to be read")
    with pytest.raises(ValueError, match="too many numbers and texts for a file"):
        fl.save(path, x=[[]] * 50_000)


EVERY = [np.dtype(code).newbyteorder(order) for code in "?bBhHiIqQefdFD" for order in "<>"]


@pytest.mark.parametrize("dtype", EVERY, ids=str)
def test_every_type_that_save_writes_is_read(path, dtype):
    x = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    arrays = dict(x=x, turned=x.T, every_other=x[:, ::2], scalar=x[0, 1], nothing=x[:0])
    fl.save(path, **arrays)
    back = fl.load(path)
    for name, expected in arrays.items():
        assert np.array_equal(back[name], expected) and back[name].dtype == np.dtype(expected.dtype)
    assert np.shares_memory(back["x"], back["turned"]) and back["x"].flags.writeable
    assert np.array_equal(load_file(path)["x"], np.stack([x.real, x.imag], -1) if dtype.kind == "c" else x)


@pytest.mark.parametrize("entry", [
    {"dtype": "F8_E4M3", "shape": [4]}, {"dtype": "O", "shape": [4]},
    {"dtype": ["F32"], "shape": [1]}, {"dtype": "F32", "shape": [1] * 70}, {"dtype": "F32", "shape": [2]},
    {"dtype": "F32", "shape": [0, 2**62, 2**62], "data_offsets": [0, 0]},
])  # fmt: skip
def test_arrays_that_numpy_does_not_have(path, entry):
    header = json.dumps({"x": {"data_offsets": [0, 4], **entry}}).encode()
    check_refused(path, struct.pack("<Q", len(header)) + header + bytes(4), "is damaged, or isn't a safetensors file")


def test_save_writes_nothing_that_load_would_refuse(path, monkeypatch):
    fl.save(path, x=1)
    monkeypatch.setattr(files, "_LONGEST", 1 << 20)  # so that it takes less time
    with pytest.raises(ValueError, match=r"too many numbers and texts for a file.* np.array\(numbers\)"):
        fl.save(path, x=[1.5] * 300_000)
    assert fl.load(path) == {"x": 1} and os.listdir(path.parent) == [path.name]


LOADER = """
import sys, fluxlite as fl
for path in sys.argv[1:]:
    try:
        fl.load(path)
    except ValueError as error:
        print(error)
"""


@posix
def test_pipes_and_devices_are_not_read(tmp_path):
    """A pipe waited for ever, and /dev/zero took all memory."""
    os.mkfifo(tmp_path / "pipe")
    command = [sys.executable, "-c", LOADER, str(tmp_path / "pipe"), "/dev/zero", "/dev/null"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout.splitlines()
    assert len(said) == 3 and all("isn't an ordinary file; nothing was loaded" in line for line in said)


# -- generators --------------------------------------------------------------------------------------------------------


def generator(kind):
    return np.random.Generator(getattr(np.random, kind)(3))


def changed(kind, name, value):
    """The state of a generator, with something else in one place."""
    state = generator(kind).bit_generator.state
    owner = state["state"] if name in state["state"] else state
    owner[name] = value
    return state
