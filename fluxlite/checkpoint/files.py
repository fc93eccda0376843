"""Safetensors files: arrays by name, and a text that describes all else. A checksum of the whole reveals damage."""

import json
import os
import re
import zlib
from typing import Any, BinaryIO

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from ..writing import whole_file

FORMAT = 1
# The metadata has one entry of ours: the checksum of the whole file, a space, and a description in JSON.
_NAME, _NO_CHECKSUM = "fluxlite", "00000000"
_LONGEST = 100_000_000  # bytes of a header; safetensors reads no longer one


class FileFormatError(ValueError):
    """A file is incomplete, damaged, of another kind, or too new."""


def write(path: Any, arrays: dict[str, np.ndarray], values: Any) -> None:
    """Store the arrays, which lie as C orders them, and `values`, which must fit JSON.

    Raises `OSError` if that fails, and `ValueError` if `values` is too much. Then the file is still the old one.
    """
    each = {name: _crc32(x) for name, x in arrays.items()}
    description = json.dumps({"format": FORMAT, "values": values, "crc32": each})
    with whole_file(path) as temporary:
        try:
            save_file(arrays, temporary, {_NAME: f"{_NO_CHECKSUM} {description}"})
        except SafetensorError as error:
            raise OSError(f"{error}: could not save {os.fspath(path)}") from error
        with open(temporary, "rb+") as file:
            if int.from_bytes(file.read(8), "little") > _LONGEST:
                raise ValueError("too many numbers and texts for a file of arrays: save numbers as np.array(numbers)")
            place, _, checksum = _checksum(file)
            file.seek(place)
            file.write(checksum.encode())


def read(path: str) -> tuple[dict[str, np.ndarray], Any]:
    """The arrays and the values of a file. The values are None if `write` didn't write it.

    Leaves nothing open or mapped. Raises `FileFormatError` for a file that's damaged or of another kind.
    """
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe would wait for ever
        raise _unfit(path, "is no ordinary file")
    with open(path, "rb") as file:
        try:
            with safe_open(path, framework="numpy", backend="pread") as opened:
                _, found, total = _header_checksum(file)
                metadata, arrays = opened.metadata() or {}, {}
                for name in opened.offset_keys():  # as they lie in the file, each still in the processor's cache
                    arrays[name] = opened.get_tensor(name)
                    total = zlib.crc32(_bytes(arrays[name]), total)
        except (SafetensorError, TypeError, ValueError, AttributeError) as error:  # NumPy has no BF16, for example
            raise _unfit(path, _what_is_wrong(file, error)) from error
        is_replaced = not os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    for name, x in arrays.items():
        if x.dtype == bool and x.view(np.uint8).max(initial=0) > 1:  # NumPy would read elsewhere in memory
            raise _unfit(path, f"is damaged: {name} has truth values other than 0 and 1")
    # Damage may hit the entry's name or its beginning, but a single flip can't hit both.
    begins = f'{_NO_CHECKSUM} {{"format": '
    ours = [text for name, text in metadata.items() if name == _NAME or text[9 : len(begins)] == begins[9:]]
    if not ours:
        return arrays, None
    try:
        description = json.loads(ours[0][len(_NO_CHECKSUM) :])
        version, values, each = int(description["format"]), description["values"], dict(description["crc32"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise _unfit(path, "is damaged: its description can't be read") from error
    if version > FORMAT:
        raise _unfit(path, f"was written by a newer fluxlite (format {version}, this reads {FORMAT}): update fluxlite")
    if found != f"{total:08x}" and is_replaced:  # by another save, while the header was read: now it's whole
        return read(path)
    if found != f"{total:08x}":
        names = [name for name, x in arrays.items() if _crc32(x) != each.get(name)]
        what = f"the values of {names[0]} are not those that were saved" if names else "its header isn't the one saved"
        raise _unfit(path, f"is damaged: {what}")
    return arrays, values


def _unfit(path: str, why: str) -> FileFormatError:
    return FileFormatError(f"{path} {why}; nothing was loaded")


def _what_is_wrong(file: BinaryIO, error: Exception) -> str:
    size, length = os.fstat(file.fileno()).st_size, 8 + int.from_bytes(file.read(8), "little")
    ends = re.findall(rb'"data_offsets":\[\d+,(\d{1,18})\]', file.read(length) if length <= size else b"")
    end = length + max(map(int, ends), default=0)
    if length <= size < end:
        return f"is cut off: {size:,} of {end:,} bytes are there"
    return f"is damaged, or no safetensors file that NumPy can read ({error})"


def _checksum(file: BinaryIO) -> tuple[int, str, str]:
    """Where a file has its checksum, what's there, and what it should be: of all bytes, with zeros in that place."""
    place, found, total = _header_checksum(file)
    while chunk := file.read(1 << 18):
        total = zlib.crc32(chunk, total)
    return place, found, f"{total:08x}"


def _header_checksum(file: BinaryIO) -> tuple[int, str, int]:
    """The same, but for the header alone."""
    file.seek(0)
    header = file.read(8)
    header += file.read(int.from_bytes(header, "little"))
    # Inside a JSON string a quote is written \", so this can't appear anywhere earlier.
    place = header.find(f'"{_NAME}":"'.encode()) + len(_NAME) + 4
    after = place + len(_NO_CHECKSUM)
    total = zlib.crc32(header[:place] + _NO_CHECKSUM.encode() + header[after:])
    return place, header[place:after].decode("latin1"), total


def _crc32(x: np.ndarray) -> str:
    return f"{zlib.crc32(_bytes(x)):08x}"


def _bytes(x: np.ndarray) -> memoryview:
    return x.reshape(-1).view(np.uint8).data
