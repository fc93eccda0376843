"""The checksum of two parts from that of each, and that other programs read what we write."""

import json
import zlib

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st
from inside import crc32, joined

import fluxlite as fl


@given(st.binary(max_size=2000), st.binary(max_size=2000))
def test_two_parts_together(first, second):
    found = joined(zlib.crc32(first), zlib.crc32(second), len(second))
    assert found == zlib.crc32(first + second) and crc32(first, second) == f"{found:08x}"


@pytest.mark.parametrize("zeros", [0, 1, 2**16 - 1, 2**24 + 3])
def test_a_long_second_part(zeros):
    second = bytes(zeros) + b"end"
    assert joined(zlib.crc32(b"first"), zlib.crc32(second), len(second)) == zlib.crc32(b"first" + second)


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


def test_names_and_texts_of_any_letters(tmp_path):
    tree = {"σ": np.ones(1), "𝄞": "𝄞", '"': np.zeros(2), "\\": 1, "\n": None, "": np.ones(())}
    fl.save(tmp_path / "m", tree)
    back = fl.load(tmp_path / "m")["model"]
    assert list(back) == list(tree) and back["𝄞"] == "𝄞"
    assert len(safetensors.numpy.load_file(tmp_path / "m")) == 3
