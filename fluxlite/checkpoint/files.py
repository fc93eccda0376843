"""Safetensors files, written completely or not at all, with a checksum that reveals any later damage.

A file has a header and the arrays' bytes. Both are read and written piece by piece, so that a large model needs no
second copy of itself in memory. A file from a stranger can't make us use much more memory than it has bytes.
"""

from __future__ import annotations

import errno
import json
import math
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ..writing import replaceable, whole_file
from .checksums import NOTHING, crc32, joined, text

FORMAT = 1
# The header's metadata has one entry of ours: the checksum of the whole file, a space, and a description in JSON.
_NAME, _BEGINS = "fluxlite", '{"format": '
# The types of numbers in a file, by safetensors' names. It has others, such as BF16, which NumPy doesn't have.
DTYPES = {
    "BOOL": np.dtype("?"), "U8": np.dtype("u1"), "I8": np.dtype("i1"), "U16": np.dtype("<u2"), "I16": np.dtype("<i2"),
    "F16": np.dtype("<f2"), "U32": np.dtype("<u4"), "I32": np.dtype("<i4"), "F32": np.dtype("<f4"),
    "U64": np.dtype("<u8"), "I64": np.dtype("<i8"), "F64": np.dtype("<f8"),
}  # fmt: skip
_NAMES = {dtype: name for name, dtype in DTYPES.items()}
_CHUNK = 1 << 18  # bytes
MOST_FOR_HEADER = 128 << 20  # bytes of memory


class FileFormatError(ValueError):
    """A file is incomplete, damaged, of another kind, or too new."""


class Stored(NamedTuple):
    """An array for a file: what it will be there, and a function that brings it to the host."""

    dtype: np.dtype
    shape: tuple[int, ...]
    make: Callable[[], np.ndarray]


# ---------------------------------------------------------------------------------------------
# Writing
# ---------------------------------------------------------------------------------------------


def write(path: Any, arrays: dict[str, Stored], values: Any) -> None:
    """Store the arrays under their names, and `values`, which must fit JSON. Makes one array at a time.

    Raises `OSError` if that fails, and `ValueError` if `values` is more than `read` would take. Then the old contents
    of `path` are still there.
    """
    order = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))  # so each lies where its type wants
    checksums = dict.fromkeys(order, 0)
    space = len(_header_of(order, arrays, values, checksums))
    path = os.path.realpath(os.fspath(path))
    check_place(path)
    try:
        with whole_file(path) as file:
            file.write(bytes(space))
            total = length = 0
            for name in order:
                checksums[name], size = _copy(file, arrays[name].make())
                total, length = joined(total, checksums[name], size), length + size
            header = _header_of(order, arrays, values, checksums)
            place = _place_of_checksum(header)
            header[place] = text(joined(zlib.crc32(header), total, length)).encode()
            file.seek(0)
            file.write(header)
    except OSError as error:
        kept = f"; {os.path.basename(path)} is what it was" if os.path.isfile(path) else ""
        raise OSError(error.errno, f"{error.strerror}: could not save{kept}", path) from error


def _header_of(order: list[str], arrays: dict[str, Stored], values: Any, checksums: dict[str, int]) -> bytearray:
    """The beginning of a file, with zeros where its checksum will be. It's equally long for any checksums."""
    crc32s = {name: text(checksums[name]) for name in order}
    description = json.dumps({"format": FORMAT, "values": values, "crc32": crc32s})
    header: dict[str, Any] = {"__metadata__": {_NAME: f"{NOTHING} {description}"}}
    end = 0
    for name in order:
        dtype, shape, _ = arrays[name]
        start, end = end, end + dtype.itemsize * math.prod(shape)
        header[name] = {"dtype": _NAMES[dtype], "shape": shape, "data_offsets": [start, end]}
    data = json.dumps(header, separators=(",", ":")).encode()
    data += b" " * (-len(data) % 8)  # the arrays begin where every type can
    if _memory_for(data) > MOST_FOR_HEADER:
        raise ValueError(
            "these are too many numbers, texts and containers for a file, which is made for arrays: save numbers as an "
            "array, np.array(numbers)"
        )
    return bytearray(len(data).to_bytes(8, "little") + data)


def _copy(file: BinaryIO, x: np.ndarray) -> tuple[int, int]:
    """Write the bytes of `x`. Returns their checksum, and how many they are."""
    checksum = size = 0
    for chunk in chunks(x):
        checksum, size = zlib.crc32(chunk, checksum), size + len(chunk)
        file.write(chunk)
    return checksum, size


def chunks(x: np.ndarray) -> Iterator[bytes]:
    """The bytes of `x` as safetensors orders them, however `x` lies in memory. A complex number is two in a row.

    Each chunk is a copy. So what's written is what the checksum is of, even if a thread trains the model meanwhile.
    """
    if x.nbytes <= _CHUNK:
        yield x.astype(x.dtype.newbyteorder("<"), copy=False).tobytes()
        return
    rows = _CHUNK * len(x) // x.nbytes
    for start in range(0, len(x), max(rows, 1)):
        yield from chunks(x[start : start + rows] if rows else x[start])


def as_read(x: Stored) -> np.ndarray:
    """What `read` would give of `x`."""
    return np.frombuffer(bytearray(b"".join(chunks(x.make()))), x.dtype).reshape(x.shape)


def check_place(path: str) -> None:
    """Raises `OSError` for a full path where there can't be a file, or one that can't be replaced."""
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, "could not save a file where a folder is", path)
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise FileNotFoundError(
            errno.ENOENT, f"could not save, there is no folder {folder}; os.makedirs makes it", path
        )
    replaceable(path)


# ---------------------------------------------------------------------------------------------
# Reading
# ---------------------------------------------------------------------------------------------


def read(path: Any) -> tuple[dict[str, np.ndarray], Any]:
    """The arrays and the values of a file. The values are None if `write` didn't write it.

    Leaves nothing open or mapped. Raises `FileFormatError` for a file that's damaged or of another kind.
    """
    return _read(path, _contents)


def read_values(path: Any) -> Any:
    """The values of a file alone, or None if `write` didn't write it. Its arrays are neither read nor checked."""
    return _read(path, lambda file, size: _Header(file, size).values())


def _read(path: Any, how: Callable[[BinaryIO, int], Any]) -> Any:
    with open(path, "rb", opener=_opened) as file:
        found = os.fstat(file.fileno())
        try:
            if not stat.S_ISREG(found.st_mode):
                raise _Unfit("is no ordinary file")
            return how(file, found.st_size)
        except _Unfit as reason:
            raise FileFormatError(f"{os.fspath(path)} {reason}; nothing was loaded") from None


def _opened(path: str, flags: int) -> int:
    # So that opening a pipe doesn't wait until something is written to it.
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


class _Unfit(Exception):
    """Why a file can't be read."""


def _contents(file: BinaryIO, size: int) -> tuple[dict[str, np.ndarray], Any]:
    header = _Header(file, size)
    values = header.values()
    arrays, total = {}, header.crc32()
    for name, dtype, shape in header.arrays():
        try:
            arrays[name] = x = np.empty(shape, dtype)  # as many bytes as the file has for it
        except ValueError:
            raise _Unfit(f"is damaged: {name} can't have the shape {shape}") from None
        data = x.reshape(-1).view(np.uint8)
        if file.readinto(data.data) != data.size:  # type: ignore[attr-defined]
            raise _Unfit("is cut off: it became shorter meanwhile")
        total = zlib.crc32(data.data, total)
        if name in header.truths and data.max(initial=0) > 1:
            raise _Unfit(f"is damaged: {name} has truth values other than 0 and 1")
    if header.is_ours and text(total) != header.checksum:
        raise _Unfit(f"is damaged: {header.damaged(arrays)}")
    return arrays, values


class _Header:
    """The beginning of a safetensors file: its length in 8 bytes, and JSON. Nothing it says is believed unchecked."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        beginning = file.read(8)
        length = int.from_bytes(beginning, "little")
        if len(beginning) < 8 or length > size - 8:
            raise _Unfit(_other_kind(beginning) or "is cut off, or no safetensors file")
        self.data, self.size = beginning + file.read(length), size - 8 - length
        if _memory_for(self.data) > MOST_FOR_HEADER:
            raise _Unfit(f"has a header of {length:,} bytes with too many parts to be read")
        try:
            self.entries = json.loads(self.data[8:].decode())
            self.metadata = self.entries.pop("__metadata__", {})
            # Damage may hit the entry's name or its beginning, but a single flip can't hit both.
            described = (str(x)[len(NOTHING) + 1 :].startswith(_BEGINS) for x in self.metadata.values())
            self.is_ours = _NAME in self.metadata or any(described)
            end = max((int(entry["data_offsets"][1]) for entry in self.entries.values()), default=0)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError):
            unreadable = "is damaged, or no safetensors file: its header cannot be read"
            raise _Unfit(_other_kind(beginning) or unreadable) from None
        if self.size < end:
            raise _Unfit(f"is cut off: {size:,} of {8 + length + end:,} bytes are there")

    def values(self) -> Any:
        if not self.is_ours:
            return None
        try:
            description = json.loads(self.metadata[_NAME][len(NOTHING) :])
            version, values, self.checksums = description["format"], description["values"], description["crc32"]
        except (KeyError, TypeError, ValueError, RecursionError):
            raise _Unfit("is damaged: its description cannot be read") from None
        if type(version) is int and version > FORMAT:
            raise _Unfit(
                f"was written by a newer fluxlite (format {version}, this one reads {FORMAT}): update fluxlite"
            )
        return values

    def crc32(self) -> int:
        if not self.is_ours:
            return 0
        place = _place_of_checksum(self.data)
        self.checksum = self.data[place].decode("latin1")
        return zlib.crc32(self.data[place.stop :], zlib.crc32(NOTHING.encode(), zlib.crc32(self.data[: place.start])))

    def arrays(self) -> list[tuple[str, np.dtype, tuple[int, ...]]]:
        """(name, dtype, shape) in the order of their bytes, which must be just those that are there."""
        found, at = [], 0
        try:
            for name, entry in sorted(self.entries.items(), key=lambda item: item[1]["data_offsets"]):
                (start, end), shape = entry["data_offsets"], entry["shape"]
                if not self.is_ours and entry["dtype"] not in DTYPES:
                    raise _Unfit(f"holds an array of {entry['dtype']!r}, which NumPy has not")
                dtype = DTYPES[entry["dtype"]]
                if not all(type(x) is int and 0 <= x < 2**63 for x in (start, end, *shape)) or len(shape) > 64:
                    raise ValueError
                if start != at or end - start != math.prod(shape) * dtype.itemsize:
                    raise ValueError
                found.append((name, dtype, tuple(shape)))
                at = end
        except (ValueError, TypeError, KeyError):
            raise _Unfit("is damaged: its header and its size do not agree") from None
        if at != self.size:
            raise _Unfit(f"is damaged: it has {self.size - at:,} bytes more than its header says")
        self.truths = {name for name, dtype, _ in found if dtype.kind == "b"}
        return found

    def damaged(self, arrays: dict[str, np.ndarray]) -> str:
        for name, x in arrays.items():
            if isinstance(self.checksums, dict) and crc32(x.reshape(-1).view(np.uint8)) != self.checksums.get(name):
                return f"the values of {name} are not those that were saved"
        return "its header is not the one that was saved"


def _memory_for(header: bytes) -> int:
    """At most so many bytes does it take to read this JSON, and to make of it what was saved."""
    texts = len(header) * (3 if header.isascii() and b"\\u" not in header else 13)  # copies; others take 4 bytes each
    return texts + 40 * header.count(b",") + 100 * header.count(b"[") + 400 * header.count(b"{")


def _place_of_checksum(data: Any) -> slice:
    """Where the whole file's checksum is. It counts as zeros when we compute it."""
    # Inside a JSON string a quote is written \", so this can't appear anywhere earlier.
    start = data.find(f'"{_NAME}":"'.encode())
    if start < 0:
        raise _Unfit("is damaged: its checksum cannot be found")
    start += len(_NAME) + 4
    return slice(start, start + len(NOTHING))


# How files of other kinds begin. One of ours may begin like this too: these are its 8 bytes of length.
_BEGINNINGS = {
    b"PK": "is a zip archive, as np.savez and torch.save write them, and no safetensors file",
    b"\x93NUMPY": "is an array of np.save, which np.load reads, and no safetensors file",
    b"\x80": "looks like a pickle, which could run any program, and is no safetensors file",
    b"\x89HDF": "is an HDF5 file, and no safetensors file",
}


def _other_kind(data: bytes) -> str:
    if not data:
        return "is empty"
    return next((what for beginning, what in _BEGINNINGS.items() if data.startswith(beginning)), "")
