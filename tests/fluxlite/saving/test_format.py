"""Safetensors files in Python give what the package gives: the same bytes, the same arrays, and what's refused."""

import json
import os
import re
import struct
import sys

import hypothesis.strategies as st
import numpy as np
import pytest
import safetensors.numpy
from hypothesis import example, given
from hypothesis.extra import numpy as arrays_of
from inside import FileFormatError, files, format

import fluxlite as fl

TYPES = ["?", "<i1", "<u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8"]
SMALL = arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)
ARRAYS = arrays_of.arrays(st.sampled_from(TYPES), SMALL)
TEXTS = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from('"\\/\b\f\n\r\t\0\x1f\x7f\u2028é😀'), max_size=6
)
NAMES = TEXTS.filter(lambda name: name != "__metadata__")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("format")


def read_by_package(path):
    """The arrays as text, since in them nan should be nan, and the metadata; or the error, if it's refused."""
    try:
        with safetensors.safe_open(path, framework="numpy") as opened:
            arrays = {name: opened.get_tensor(name) for name in opened.offset_keys()}
            return as_text(opened.metadata() or {}, arrays)
    except (safetensors.SafetensorError, TypeError, ValueError, AttributeError) as error:
        return error


def read_in_python(path):
    try:
        with open(path, "rb") as file:
            return as_text(*format.read_file(file))
    except (format.SafetensorError, TypeError, ValueError, AttributeError) as error:
        return error


def as_text(metadata, arrays):
    return metadata, {name: (x.dtype.str, x.shape, x.tobytes(), x.flags.writeable) for name, x in arrays.items()}


@given(st.dictionaries(NAMES, ARRAYS, max_size=6), TEXTS, TEXTS)
@example(
    {"b": np.zeros(2, np.int8), "a": np.zeros(1, np.uint8), "é": np.ones(()), "e": np.ones(3, np.float16)}, "k", "v"
)
def test_both_write_the_same_bytes_and_read_the_same_arrays(folder, arrays, key, text):
    safetensors.numpy.save_file(arrays, folder / "package", {key: text})
    format.save_file(arrays, str(folder / "python"), {key: text})
    assert (folder / "python").read_bytes() == (folder / "package").read_bytes()
    found = read_in_python(folder / "package")
    assert found == read_by_package(folder / "package")
    assert found[0] == {key: text} and found[1].keys() == arrays.keys()


X = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
Y = {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}
EMPTY = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}


def with_x(**fields):
    return {"x": {**X, **fields}}


def file_of(header, count=4):
    if not isinstance(header, bytes):
        header = json.dumps(header).encode()
    return struct.pack("<Q", len(header)) + header + bytes(count)


def text_of(header):
    return json.dumps(header).encode()


# What can be wrong with a file, and what's said of it. The words for JSON aren't the package's, but those before are.
IN_JSON = "invalid JSON in header: "
WRONG = {
    "nothing": (b"", "header too small"),
    "seven bytes": (bytes(7), "header too small"),
    "no header": (bytes(8), IN_JSON),
    "a long header": (struct.pack("<Q", 100_000_001) + bytes(9), "header too large"),
    "the longest header": (struct.pack("<Q", 2**64 - 1) + b"{}", "header too large"),
    "a header that's cut off": (struct.pack("<Q", 9) + b"{}", "invalid header length"),
    "no UTF-8": (file_of(b'{"\xff":1}'), "invalid UTF-8 in header: "),
    "a byte order mark": (file_of(b"\xef\xbb\xbf" + text_of({"x": X})), IN_JSON),
    "UTF-16": (file_of(json.dumps({"x": X}).encode("utf-16")), "invalid UTF-8 in header: "),
    "half a pair of surrogates as name": (file_of(text_of({"\ud800": X})), IN_JSON),
    "half a pair of surrogates in a text": (file_of(text_of({"x": X, "__metadata__": {"a": "\udfff"}})), IN_JSON),
    "a control character": (file_of(text_of({"x": X}).replace(b"x", b"\x01")), IN_JSON),
    "zeros after the header": (file_of(text_of({"x": X}) + b"\0"), IN_JSON),
    "half an object": (file_of(text_of({"x": X})[:-1]), IN_JSON),
    "a list": (file_of([X]), IN_JSON),
    "a text": (file_of("x"), IN_JSON),
    "deep lists": (file_of(b"[" * 100_000), IN_JSON),
    "an entry that's a number": (file_of({"x": 1}), IN_JSON),
    "an entry that's null": (file_of({"x": None}), IN_JSON),
    "metadata that's a list": (file_of({"x": X, "__metadata__": []}), IN_JSON),
    "metadata with a number": (file_of({"x": X, "__metadata__": {"a": 1}}), IN_JSON),
    "metadata with an object": (file_of({"x": X, "__metadata__": {"a": {}}}), IN_JSON),
    "metadata twice": (file_of(b'{"__metadata__":{},"__metadata__":{},' + text_of({"x": X})[1:]), IN_JSON),
    "a field twice": (file_of(text_of({"x": X}).replace(b'"shape"', b'"dtype":"F32","shape"')), IN_JSON),
    "no offsets": (file_of({"x": {"dtype": "F32", "shape": [1]}}), IN_JSON),
    "no shape": (file_of({"x": {"dtype": "F32", "data_offsets": [0, 4]}}), IN_JSON),
    "one offset": (file_of(with_x(data_offsets=[0])), IN_JSON),
    "three offsets": (file_of(with_x(data_offsets=[0, 4, 8])), IN_JSON),
    "an unknown type": (file_of(with_x(dtype="F31")), IN_JSON),
    "a type of NumPy's": (file_of(with_x(dtype="float32")), IN_JSON),
    "a list as type": (file_of(with_x(dtype=["F32"])), IN_JSON),
    "a shape that's a number": (file_of(with_x(shape=1)), IN_JSON),
    "a length with a point": (file_of(with_x(shape=[1.0])), IN_JSON),
    "a length of true": (file_of(with_x(shape=[True])), IN_JSON),
    "a length of nan": (file_of(with_x(shape=[float("nan")])), IN_JSON),
    "a length as text": (file_of(with_x(shape=["1"])), IN_JSON),
    "a length below zero": (file_of(with_x(shape=[-1])), IN_JSON),
    "an offset below zero": (file_of(with_x(data_offsets=[-4, 0])), IN_JSON),
    "a length of 65 bits": (file_of(with_x(shape=[2**64])), IN_JSON),
    "a length of 5,000 digits": (file_of(text_of({"x": X}).replace(b"[1]", b"[" + b"9" * 5000 + b"]")), IN_JSON),
    "a shape of 65 bits": (file_of(with_x(shape=[2**63, 4])), "overflow computing buffer size"),
    "a size of 65 bits": (file_of(with_x(shape=[2**62])), "overflow computing buffer size"),
    "a shape that's too large": (file_of(with_x(shape=[2])), "invalid shape, data type, or offset for tensor"),
    "a shape that's too small": (file_of(with_x(shape=[0])), "invalid shape, data type, or offset for tensor"),
    "bytes beyond the end": (file_of(with_x(shape=[2], data_offsets=[0, 8])), "incomplete metadata, file not fully"),
    "a byte too many": (file_of({"x": X}, 5), "incomplete metadata, file not fully covered"),
    "bytes of no array": (file_of({}), "incomplete metadata, file not fully covered"),
    "a gap at the beginning": (file_of({"x": Y}, 8), "invalid offset for tensor `x`"),
    "a gap": (file_of({"x": X, "y": {**X, "data_offsets": [8, 12]}}, 12), "invalid offset for tensor `y`"),
    "the same bytes twice": (file_of({"x": X, "y": {**X, "shape": [2], "data_offsets": [0, 8]}}, 8), "offset for tens"),
    "half of the same bytes": (file_of({"x": X, "y": {**X, "data_offsets": [2, 6]}}, 6), "offset for tensor `y`"),
    "an end before the beginning": (file_of({"x": X, "y": {**X, "data_offsets": [4, 0]}}), "offset for tensor"),
    "a type that NumPy hasn't got": (file_of(with_x(dtype="F8_E4M3", shape=[4])), "no attribute 'float8_e4m3fn'"),
    "more axes than NumPy has": (file_of(with_x(shape=[1] * 70)), "maximum supported dimension for an ndarray"),
    "no elements, and a long axis": (file_of({"e": {**EMPTY, "shape": [0, 2**62, 2**62]}, "x": X}), "array is too big"),
}  # fmt: skip
ONLY_BY_US = {
    "a name twice": file_of(b'{"x":%s,"x":%s}' % (text_of(X), text_of(X))),
    "an entry that's a list": file_of({"x": ["F32", [1], [0, 4]]}),
    "a field that nobody knows": file_of(with_x(more=1)),
}
RIGHT = {
    "no arrays": file_of({}, 0),
    "spaces around it": file_of(b" \t\n" + text_of({"x": X}) + b"\r  "),
    "metadata that's null": file_of({"__metadata__": None, "x": X}),
    "arrays in another order": file_of({"y": Y, "x": X}, 8),
    "an empty array between two": file_of({"y": Y, "e": {**EMPTY, "data_offsets": [4, 4]}, "x": X}, 8),
    "text in escapes": file_of(b'{"\\u00e9\\ud83d\\ude00\\n":' + text_of(X) + b"}"),
}


@pytest.mark.parametrize("data, words", WRONG.values(), ids=WRONG)
def test_what_the_package_refuses_is_refused_with_its_words(folder, data, words):
    (folder / "wrong").write_bytes(data)
    ours, theirs = read_in_python(folder / "wrong"), read_by_package(folder / "wrong")
    assert isinstance(ours, Exception) and isinstance(theirs, Exception)
    assert words in str(ours) and words in str(theirs)


@pytest.mark.parametrize("data", ONLY_BY_US.values(), ids=ONLY_BY_US)
def test_what_no_program_writes_is_refused(folder, data):
    (folder / "strange").write_bytes(data)
    assert isinstance(read_in_python(folder / "strange"), format.SafetensorError)


@pytest.mark.parametrize("data", RIGHT.values(), ids=RIGHT)
def test_other_programs_may_write_it_in_another_way(folder, data):
    (folder / "right").write_bytes(data)
    found = read_in_python(folder / "right")
    assert not isinstance(found, Exception) and found == read_by_package(folder / "right")


RARE = [("F4", 2), ("F6_E2M3", 3), ("F6_E3M2", 3), ("F8_E4M3", 4), ("BF16", 8)]  # four of them: so many bytes


@pytest.mark.parametrize(("code", "size"), RARE)
def test_the_bytes_of_a_type_that_numpy_may_lack_are_counted(folder, code, size):
    (folder / "rare").write_bytes(file_of(with_x(dtype=code, shape=[4], data_offsets=[0, size]), size))
    assert "invalid shape" not in str(read_in_python(folder / "rare"))


SAVED = {
    "W": np.arange(6.0).reshape(2, 3),
    "b": np.ones(2, np.float16),
    "on": np.array([True, False]),
    "n": np.int64([7]),
}


KINDS = st.sampled_from(["flip", "cut", "double", "other"])
CHANGES = st.tuples(st.integers(0, 1000), KINDS, st.binary(min_size=1, max_size=4))


@given(st.lists(CHANGES, min_size=1, max_size=3))
def test_a_damaged_file_is_refused_by_both_or_the_same_in_both(folder, changes):
    format.save_file(SAVED, str(folder / "whole"), {"a": "b"})
    data = bytearray((folder / "whole").read_bytes())
    for place, kind, piece in changes:
        place %= len(data)
        if kind == "flip":
            data[place] ^= 1 << (piece[0] % 8)
        elif kind == "cut":
            del data[place : place + len(piece)]
        elif kind == "double":
            data[place:place] = data[place : place + len(piece)]
        else:
            data[place : place + len(piece)] = piece
    (folder / "damaged").write_bytes(data)
    ours, theirs = read_in_python(folder / "damaged"), read_by_package(folder / "damaged")
    if isinstance(theirs, Exception):
        assert isinstance(ours, Exception)
    elif not isinstance(ours, Exception):
        assert ours == theirs


# -- by save and load, where the package isn't there ------------------------------------------------------------------


@pytest.fixture
def without_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors", None)  # to import it raises ImportError


def test_saved_without_the_package_it_is_the_same_file(tmp_path, monkeypatch):
    values = {
        "model": fl.Chain(fl.Dense(2, 3, fl.tanh), fl.BatchNorm(3)),
        "é\n": 1 + 2j,
        "rng": np.random.default_rng(1),
    }
    values["big"] = {"x": np.arange(3, dtype=">i8"), "pairs": np.ones((2, 2), ">c16")[:, ::-1], "none": np.ones((0, 3))}
    fl.save(tmp_path / "with", **values)
    loaded = repr(fl.load(tmp_path / "with"))
    monkeypatch.setitem(sys.modules, "safetensors", None)
    fl.save(tmp_path / "without", **values)
    assert (tmp_path / "without").read_bytes() == (tmp_path / "with").read_bytes()
    assert repr(fl.load(tmp_path / "with")) == loaded


def test_what_cannot_be_written_is_said_in_the_same_words(path, monkeypatch):
    said = []
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(files, "_save_arrays", in_a_missing_folder(path, files._save_arrays))
            with pytest.raises(OSError) as error:
                fl.save(path, x=np.ones(2))
        said.append(re.sub(" at path [^:]*", "", str(error.value)))  # the package names a file of its own
        monkeypatch.setitem(sys.modules, "safetensors", None)
    assert said[0] == said[1] and "No such file or directory (os error 2): could not save" in said[0]


def in_a_missing_folder(path, save_arrays):
    return lambda arrays, temporary, metadata: save_arrays(arrays, str(path.parent / "gone" / "x"), metadata)


def test_an_older_package_is_not_asked(path, monkeypatch):
    """Before 0.8, which brought `TensorSpec`, it copies what it saves, and maps what it loads."""

    def older(*args, **options):
        raise AssertionError("this copies, or maps")

    monkeypatch.delattr(safetensors, "TensorSpec", raising=False)
    monkeypatch.setattr(safetensors, "safe_open", older)
    monkeypatch.setattr(safetensors.numpy, "save_file", older)
    fl.save(path, x=np.arange(3))
    assert fl.load(path)["x"].tolist() == [0, 1, 2]


def test_a_file_that_shrinks_while_it_is_read(path, without_package, monkeypatch):
    fl.save(path, x=np.arange(1000))
    size = os.path.getsize(path)

    def shrinks(*found):
        os.truncate(path, size - 4000)
        return real(*found)

    real = format._check_bytes
    monkeypatch.setattr(format, "_check_bytes", shrinks)
    with pytest.raises(FileFormatError, match=f"is cut off: {size - 4000:,} of {size:,} bytes are there"):
        fl.load(path)
