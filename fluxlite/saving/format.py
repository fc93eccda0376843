"""The safetensors format, read and written in Python: for where the package of that name isn't there.

A file has eight bytes with the length of its header; the header, JSON that says of each array its type, its shape, and
where its bytes begin and end; and all these bytes, without gaps. What `save_file` writes is what the package writes,
byte for byte. `read_file` refuses what the package refuses, with its words, so nothing that a file says is believed. It
also refuses what no program writes and the package lets pass: a name that comes twice, fields that nobody knows, a list
in place of an entry.
"""

import json
import os
from io import BufferedReader
from typing import Any, NamedTuple

import numpy as np

LONGEST = 100_000_000  # bytes of a header
_METADATA = "__metadata__"
_COUNTS = 2**64  # no number of elements, bits or bytes is as large
# Each type's bits, and its name in NumPy, which hasn't got all of them. Arrays of later types come first in a file.
_TYPES = {
    "BOOL": (8, "bool"), "F4": (4, "float4_e2m1fn_x2"), "F6_E2M3": (6, "float6_e2m3fn"),
    "F6_E3M2": (6, "float6_e3m2fn"), "U8": (8, "uint8"), "I8": (8, "int8"), "F8_E5M2": (8, "float8_e5m2"),
    "F8_E4M3": (8, "float8_e4m3fn"), "F8_E8M0": (8, "float8_e8m0fnu"), "F8_E4M3FNUZ": (8, "float8_e4m3fnuz"),
    "F8_E5M2FNUZ": (8, "float8_e5m2fnuz"), "I16": (16, "int16"), "U16": (16, "uint16"), "F16": (16, "float16"),
    "BF16": (16, "bfloat16"), "I32": (32, "int32"), "U32": (32, "uint32"), "F32": (32, "float32"),
    "C64": (64, "complex64"), "F64": (64, "float64"), "I64": (64, "int64"), "U64": (64, "uint64"),
}  # fmt: skip
_CODES = {name: code for code, (_, name) in _TYPES.items()}


class SafetensorError(Exception):
    """This isn't a safetensors file, or can't become one."""


class _Entry(NamedTuple):
    """What a header says of an array."""

    code: str
    shape: list[int]
    begin: int
    end: int


def save_file(arrays: dict[str, np.ndarray], path: str, metadata: dict[str, str]) -> None:
    """Write little-endian arrays in C order, and texts by name, to a file."""
    codes = {name: _CODES[x.dtype.name] for name, x in arrays.items()}
    order = list(_TYPES)
    names = sorted(arrays, key=lambda name: (-order.index(codes[name]), name))
    header: dict[str, Any] = {_METADATA: metadata}
    end = 0
    for name in names:
        begin = end
        end = begin + arrays[name].nbytes
        header[name] = {"dtype": codes[name], "shape": arrays[name].shape, "data_offsets": [begin, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > LONGEST:
        raise SafetensorError("Error while serializing: header too large")
    try:
        with open(path, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for name in names:
                file.write(arrays[name].reshape(-1).view(np.uint8).data)
    except OSError as error:
        why = f"I/O error: {error.strerror} (os error {error.errno})"
        raise SafetensorError(f"Error while serializing: {why}") from error


def read_file(file: BufferedReader) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """The texts and the arrays in a file, which is at its beginning.

    Raises `SafetensorError` for what isn't such a file, and what NumPy raises for types and shapes that it hasn't got.
    """
    size = os.fstat(file.fileno()).st_size
    first = file.read(8)
    if len(first) < 8:
        raise _wrong("header too small")
    length = int.from_bytes(first, "little")
    if length > LONGEST:
        raise _wrong("header too large")
    if 8 + length > size:
        raise _wrong("invalid header length")
    metadata, entries = _parsed(file.read(length))
    names = sorted(entries, key=lambda name: (entries[name].begin, entries[name].end))
    end = 0
    for name in names:
        _check_bytes(name, entries[name], end)
        end = entries[name].end
    if 8 + length + end != size:
        raise _wrong("incomplete metadata, file not fully covered")
    return metadata, {name: _read_array(file, name, entries[name]) for name in names}


def _wrong(why: str) -> SafetensorError:
    return SafetensorError(f"Error while deserializing header: {why}")


def _parsed(header: bytes) -> tuple[dict[str, str], dict[str, _Entry]]:
    """The texts and the entries that a header describes."""
    try:
        described = json.loads(header.decode(), object_pairs_hook=_object)
        if type(described) is not dict:
            raise ValueError("it isn't an object")
        metadata = described.pop(_METADATA, None)
        if metadata is None:
            metadata = {}
        if type(metadata) is not dict or not all(type(text) is str for text in metadata.values()):
            raise ValueError(f"{_METADATA} isn't an object of texts")
        return metadata, {name: _entry(name, x) for name, x in described.items()}
    except UnicodeDecodeError as error:
        raise _wrong(f"invalid UTF-8 in header: {error}") from error
    except (ValueError, RecursionError) as error:
        raise _wrong(f"invalid JSON in header: {error}") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for pair in pairs:
        for part in pair:
            if type(part) is str:
                part.encode()  # half of a pair of surrogates isn't text
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a name twice")
    return found


def _entry(name: str, described: Any) -> _Entry:
    match described:
        case {"dtype": str(code), "shape": [*shape], "data_offsets": [begin, end], **others} if not others:
            counts = [*shape, begin, end]
            if code in _TYPES and all(type(count) is int and 0 <= count < _COUNTS for count in counts):
                return _Entry(code, shape, begin, end)
    raise ValueError(f"{name} isn't an object of dtype, shape and data_offsets alone, or one of these isn't right")


def _check_bytes(name: str, entry: _Entry, expected: int) -> None:
    """Raise if an array doesn't begin where it's expected, or hasn't as many bytes as its shape says."""
    if entry.begin != expected or entry.end < expected:
        raise _wrong(f"invalid offset for tensor `{name}`")
    bits = 1
    for factor in [*entry.shape, _TYPES[entry.code][0]]:
        bits *= factor
        if bits >= _COUNTS:
            raise _wrong("overflow computing buffer size from shape and/or element type")
    if 8 * (entry.end - entry.begin) != bits:
        raise _wrong("invalid shape, data type, or offset for tensor")


def _read_array(file: BufferedReader, name: str, entry: _Entry) -> np.ndarray:
    known = _TYPES[entry.code][1]
    if known != "bfloat16":  # which another library may have told NumPy
        known = getattr(np, known)
    dtype = np.dtype(known).newbyteorder("<")
    data = bytearray(entry.end - entry.begin)
    if not data:
        return np.zeros(entry.shape, dtype)
    if file.readinto(data) < len(data):
        raise SafetensorError(f"Could not read tensor {name} from file: failed to fill whole buffer")
    return np.frombuffer(data, dtype).reshape(entry.shape)
