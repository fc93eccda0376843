"""Safetensors files, written completely or not at all, with a checksum that reveals any later damage."""

from __future__ import annotations

import errno
import json
import os
import zlib
from typing import Any

import numpy as np

from ..writing import write_whole

FORMAT = 1
# The header's metadata has one entry of ours: the checksum of the whole file, a space, and a description in JSON. With
# two entries, safetensors would choose a new order each time, and equal contents wouldn't give equal files.
_NAME, _BEGINS = "fluxlite", '{"format": '
_NOTHING = "00000000"


class FileFormatError(ValueError):
    """A file is incomplete, damaged, of another kind, or too new."""


# ---------------------------------------------------------------------------------------------
# What is in a file
# ---------------------------------------------------------------------------------------------


def write(path: Any, arrays: dict[str, np.ndarray], values: Any) -> None:
    """Store contiguous host arrays under their names, and `values`, which must fit JSON.

    Raises `OSError` if that fails. Then the old contents of `path` are still there.
    """
    import safetensors.numpy

    checksums = {name: _crc32(np.atleast_1d(x).data.cast("B") if x.size else b"") for name, x in arrays.items()}
    description = json.dumps({"format": FORMAT, "values": values, "crc32": checksums})
    data = bytearray(safetensors.numpy.save(arrays, {_NAME: f"{_NOTHING} {description}"}))
    place = _place_of_checksum(data)
    data[place] = _crc32(data).encode()
    replace(os.fspath(path), data)


def read(path: Any) -> tuple[dict[str, np.ndarray], Any]:
    """The arrays and the values of a file. The values are None if `write` didn't write it.

    Leaves nothing open or mapped. Raises `FileFormatError` for a file that's damaged or of another kind.
    """
    with open(path, "rb") as file:
        data = file.read()
    try:
        return _contents(data)
    except _Unfit as reason:
        raise FileFormatError(f"{os.fspath(path)} {reason}; nothing was loaded") from None


class _Unfit(Exception):
    """Why a file can't be read."""


def _contents(data: bytes) -> tuple[dict[str, np.ndarray], Any]:
    import safetensors
    import safetensors.numpy

    header = _header(data)
    metadata = header.get("__metadata__", {})
    # Damage may hit the entry's name or its beginning, but a single flip can't hit both.
    ours = any(name == _NAME or str(text)[len(_NOTHING) + 1 :].startswith(_BEGINS) for name, text in metadata.items())
    values = _values(data, header, metadata) if ours else None
    try:
        arrays = safetensors.numpy.load(data)
    except KeyError as dtype:
        raise _Unfit(f"holds an array of {dtype}, which NumPy has not") from None
    except (safetensors.SafetensorError, ValueError, TypeError) as error:
        raise _Unfit(f"is damaged: {error}") from None
    return {name: x if x.flags.writeable else x.copy() for name, x in arrays.items()}, values


def _header(data: bytes) -> dict[str, Any]:
    """The beginning of a safetensors file: its length in 8 bytes, and JSON."""
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > len(data) - 8:
        raise _Unfit(_other_kind(data) or "is cut off, or no safetensors file")
    try:
        header = json.loads(data[8 : 8 + length].decode())
        ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        end = 8 + length + max(ends, default=0)
        if not isinstance(header.get("__metadata__", {}), dict):
            raise TypeError
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        raise _Unfit(_other_kind(data) or "is damaged, or no safetensors file: its header cannot be read") from None
    if len(data) < end:
        raise _Unfit(f"is cut off: {len(data):,} of {end:,} bytes are there")
    return header


# A file that begins like this may be one of ours.
_BEGINNINGS = {
    b"": "",
    b"PK": "is a zip archive, as np.savez and torch.save write them, and no safetensors file",
    b"\x93NUMPY": "is an array of np.save, which np.load reads, and no safetensors file",
    b"\x80": "looks like a pickle, which could run any program, and is no safetensors file",
    b"\x89HDF": "is an HDF5 file, and no safetensors file",
}


def _other_kind(data: bytes) -> str:
    if not data:
        return "is empty"
    return next((text for beginning, text in _BEGINNINGS.items() if text and data.startswith(beginning)), "")


def _values(data: bytes, header: dict[str, Any], metadata: dict[str, str]) -> Any:
    try:
        description = json.loads(metadata[_NAME][len(_NOTHING) :])
        version, values, checksums = description["format"], description["values"], description["crc32"]
    except (KeyError, TypeError, ValueError, RecursionError):
        raise _Unfit("is damaged: its description cannot be read") from None
    if type(version) is int and version > FORMAT:
        raise _Unfit(f"was written by a newer fluxlite (format {version}, this one reads {FORMAT}): update fluxlite")
    place = _place_of_checksum(data)
    if data[place] != _crc32(data[: place.start], _NOTHING.encode(), memoryview(data)[place.stop :]).encode():
        raise _Unfit(f"is damaged: {_damaged(data, header, checksums)}")
    return values


def _damaged(data: bytes, header: dict[str, Any], checksums: Any) -> str:
    start = 8 + int.from_bytes(data[:8], "little")
    for name, entry in header.items():
        if name != "__metadata__" and isinstance(checksums, dict):
            first, end = entry["data_offsets"]
            if _crc32(data[start + first : start + end]) != checksums.get(name):
                return f"the values of {name} are not those that were saved"
    return "its header is not the one that was saved"


def _crc32(*parts: Any) -> str:
    total = 0
    for part in parts:
        total = zlib.crc32(part, total)
    return f"{total:08x}"


def _place_of_checksum(data: Any) -> slice:
    """Where the whole file's checksum is. It counts as zeros when we compute it."""
    # Inside a JSON string a quote is written \", so this can't appear anywhere earlier.
    start = data.find(f'"{_NAME}":"'.encode())
    if start < 0:
        raise _Unfit("is damaged: its checksum cannot be found")
    start += len(_NAME) + 4
    return slice(start, start + len(_NOTHING))


# ---------------------------------------------------------------------------------------------
# Writing a file whole
# ---------------------------------------------------------------------------------------------

def replace(path: str, data: Any) -> None:
    """Make `data` the contents of the file `path`, completely or not at all. Raises `OSError` if that fails."""
    path = os.path.realpath(path)
    check_place(path)
    try:
        write_whole(path, data)
    except OSError as error:
        kept = f"; {os.path.basename(path)} is what it was" if os.path.isfile(path) else ""
        raise OSError(error.errno, f"{error.strerror}: could not save{kept}", path) from error


def check_place(path: str) -> None:
    """Raises `OSError` for a full path where there can't be a file."""
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, "could not save a file where a folder is", path)
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise FileNotFoundError(
            errno.ENOENT, f"could not save, there is no folder {folder}; os.makedirs makes it", path
        )
