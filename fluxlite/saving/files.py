"""Safetensors files: arrays by name, and a text that describes the rest. A checksum of the whole reveals damage."""

import json
import os
import re
import types
import zlib
from collections.abc import Hashable
from io import BufferedReader
from typing import Any, BinaryIO

import numpy as np

from ..annotations import LibraryArray, Tree
from ..devices.base import CPU
from ..tree.flat import Attribute, KeyPath
from ..tree.ties import is_array, parameter_key, view_as
from ..writing import whole_file
from . import format as in_python

FORMAT = 1
# The metadata has one entry of ours: the checksum of the whole file, a space, and a description in JSON.
_NAME = "fluxlite"
_NO_CHECKSUM = "00000000"
_LONGEST = in_python.LONGEST  # bytes of a header; safetensors reads no longer one
_MOST_MEMORY = 512 << 20  # bytes that a header may take: a small list takes twenty times the bytes that it has in JSON
PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)
# What `write` says of an array's type. NumPy would take much more, such as "(10000,10000)f8".
_DTYPES: dict[str, np.dtype] = {}
for _order in "<>":
    for _code in "?bBhHiIqQefdFD":
        _dtype = np.dtype(_order + _code)
        _DTYPES[_dtype.str] = _dtype


class FileFormatError(ValueError):
    """A file is incomplete, damaged, of another kind, or too new."""


def write(path: str | os.PathLike, values: dict[str, Any]) -> None:
    """Make a file of `values`, plain containers by name. If that fails, the file is still the old one."""
    arrays, described = describe_parts(values)
    stored = {name: _as_stored(CPU.receive(x)) for name, x in arrays.items()}
    each = {name: _checksum_of(x) for name, x in stored.items()}
    text = json.dumps({"format": FORMAT, "values": described, "crc32": each})
    with whole_file(path) as temporary:
        try:
            _save_arrays(stored, temporary, {_NAME: f"{_NO_CHECKSUM} {text}"})
        except in_python.SafetensorError as error:
            raise OSError(f"{error}: could not save {os.fspath(path)}") from error
        with open(temporary, "rb+") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > _LONGEST or _memory_for(file.read(length)) > _MOST_MEMORY:
                raise ValueError("too many numbers and texts for a file of arrays: save numbers as np.array(numbers)")
            place, _, checksum = _checksum(file)
            file.seek(place)
            file.write(checksum.encode())


def read(path: str) -> tuple[dict[str, Any], bool]:
    """What's in a file, by name, and whether `write` wrote it; if not, these are its arrays.

    Leaves nothing open or mapped. Raises `FileFormatError` for a file that's damaged or of another kind.
    """
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe would wait forever
        raise _unfit(path, "isn't an ordinary file")
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length <= _LONGEST and _memory_for(file.read(length)) > _MOST_MEMORY:
            raise _unfit(path, f"has a header of {length:,} bytes with too many parts to be read")
        file.seek(0)
        try:
            metadata, arrays = _read_arrays(path, file)
        except (in_python.SafetensorError, TypeError, ValueError, AttributeError) as error:
            # The last three are NumPy's, which has no BF16, for example.
            raise _unfit(path, _what_is_wrong(file, error)) from error
        for name, x in arrays.items():
            if x.dtype == bool and x.view(np.uint8).max(initial=0) > 1:  # NumPy would read elsewhere in memory
                raise _unfit(path, f"is damaged: {name} has truth values other than 0 and 1")
        text = _description(metadata)
        if text is None:
            return arrays, False
        _, found, checksum = _checksum(file)
    if found != checksum:
        raise _unfit(path, f"is damaged: {_what_is_damaged(arrays, text)}")
    try:
        return _values(text, arrays), True
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise _unfit(path, f"has a checksum, but not the contents that fluxlite.save writes: {error!r}") from error


def _package() -> types.ModuleType | None:
    """safetensors, if it's here and doesn't copy all that it saves, nor map what it loads, as before version 0.8."""
    try:
        import safetensors.numpy
    except ImportError:
        return None
    if not hasattr(safetensors, "TensorSpec"):
        return None
    return safetensors


def _save_arrays(arrays: dict[str, np.ndarray], path: str, metadata: dict[str, str]) -> None:
    """By the package, or in Python: the bytes are the same. Raises the `SafetensorError` of our module either way."""
    package = _package()
    if package is None:
        in_python.save_file(arrays, path, metadata)
        return
    try:
        package.numpy.save_file(arrays, path, metadata)
    except package.SafetensorError as error:
        raise in_python.SafetensorError(str(error)) from error


def _read_arrays(path: str, file: BufferedReader) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    """The same for reading."""
    package = _package()
    if package is None:
        return in_python.read_file(file)
    try:
        with package.safe_open(path, framework="numpy", backend="pread") as opened:
            arrays = {name: opened.get_tensor(name) for name in opened.offset_keys()}
            return opened.metadata() or {}, arrays
    except package.SafetensorError as error:
        raise in_python.SafetensorError(str(error)) from error


def _description(metadata: dict[str, str]) -> str | None:
    """What `write` said of its values, in JSON; None for files of others."""
    # Damage may hit the entry's name or its beginning, but a single flip can't hit both.
    for name, entry in metadata.items():
        text = entry[len(_NO_CHECKSUM) :]
        if name == _NAME or text.startswith(' {"format": '):
            return text
    return None


def _values(text: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """What was saved, made from its description and its arrays."""
    description = json.loads(text)
    if type(description["format"]) is not int:
        raise ValueError("its format isn't a whole number")
    if description["format"] > FORMAT:
        raise ValueError("it's of a newer format, update fluxlite")
    stored = dict(arrays)
    made: dict[str, np.ndarray] = {}
    return {name: _rebuild(x, stored, made) for name, x in description["values"].items()}


def _unfit(path: str, why: str) -> FileFormatError:
    return FileFormatError(f"{path} {why}; nothing was loaded")


def _what_is_wrong(file: BinaryIO, error: Exception) -> str:
    """Why safetensors can't read this."""
    file.seek(0)
    size = os.fstat(file.fileno()).st_size
    length = 8 + int.from_bytes(file.read(8), "little")
    header = b""
    if length <= size:
        header = file.read(length)
    ends = re.findall(rb'"data_offsets":\[\d+,(\d{1,18})\]', header)
    end = length + max(map(int, ends), default=0)
    if length <= size < end:
        return f"is cut off: {size:,} of {end:,} bytes are there"
    return f"is damaged, or isn't a safetensors file that NumPy can read ({error})"


def _what_is_damaged(arrays: dict[str, np.ndarray], text: str) -> str:
    for name, x in arrays.items():
        if _checksum_of(x) not in text:
            return f"the values of {name} are not those that were saved"
    return "its header isn't the one saved"


def _checksum_of(x: np.ndarray) -> str:
    return f"{zlib.crc32(_bytes(x)):08x}"


def _checksum(file: BinaryIO) -> tuple[int, str, str]:
    """Where a file has its checksum, what's there, and what it should be: of all bytes, with zeros in that place."""
    file.seek(0)
    header = file.read(8)
    header += file.read(int.from_bytes(header, "little"))
    # Inside a JSON string a quote is written \", so this can't appear anywhere earlier.
    place = header.find(f'"{_NAME}":"'.encode()) + len(_NAME) + 4
    after = place + len(_NO_CHECKSUM)
    total = zlib.crc32(header[:place] + _NO_CHECKSUM.encode() + header[after:])
    chunk = file.read(1 << 18)
    while chunk:
        total = zlib.crc32(chunk, total)
        chunk = file.read(1 << 18)
    return place, header[place:after].decode("latin1"), f"{total:08x}"


def _memory_for(header: bytes) -> int:
    """At most so many bytes does it take to read this JSON, and to make of it what was saved."""
    each = 13  # bytes a character, for the copies that are made: where one isn't ASCII, all take 4 bytes
    if header.isascii() and b"\\u" not in header:
        each = 3
    texts = each * len(header)
    return texts + 40 * header.count(b",") + 100 * header.count(b"[") + 400 * header.count(b"{")


def _bytes(x: np.ndarray) -> memoryview:
    return x.reshape(-1).view(np.uint8).data


# -- what isn't an array becomes JSON ------------------------------------------------------------------------------


def describe_parts(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays in `values`, and the rest as JSON can hold it. Raises `TypeError` for what can't be, by its place."""
    describing = _Describing()
    described = {name: describing.describe(KeyPath([Attribute(name)]), x) for name, x in values.items()}
    return describing.arrays, described


class _Describing:
    """Describes values in JSON, and collects their arrays."""

    def __init__(self) -> None:
        self.arrays: dict[str, LibraryArray] = {}  # as they are, on their devices
        self.firsts: dict[tuple, tuple[str, Any]] = {}  # also keeps temporary arrays alive, so no address is reused

    def describe(self, path: KeyPath, x: Tree) -> Any:
        match x:
            case dict():
                if not all(map(_is_key, x)):
                    raise TypeError(f"{path} has keys that a file can't hold: {[*x]}; take text or numbers")
                return {"dict": [self.item(path, key, part) for key, part in x.items()]}
            case list():
                return [self.describe(path + (i,), part) for i, part in enumerate(x)]
            case tuple():
                return {"tuple": [self.describe(path + (i,), part) for i, part in enumerate(x)]}
            case np.generic():
                return {"number": self.array(path, np.asarray(x))}
            case complex():
                return {"complex": [x.real, x.imag]}
            case bytes():
                return {"bytes": x.hex()}
        if is_array(x):
            return self.array(path, x)
        return x  # JSON has the others

    def item(self, path: KeyPath, key: Hashable, part: Tree) -> list:
        return [self.describe(path, key), self.describe(path + (key,), part)]

    def array(self, path: KeyPath, x: LibraryArray) -> dict[str, Any]:
        if x.dtype.str not in _DTYPES or isinstance(x, np.ma.MaskedArray):
            raise TypeError(f"{path} is a {type(x).__name__} of {x.dtype}, which a safetensors file can't hold")
        key = parameter_key(x)
        if key in self.firsts:
            name, first = self.firsts[key]
            return {"tied": name, "shape": x.shape, "strides": x.strides, "first": first.strides}
        name = str(path)
        while name in self.arrays or name == "__metadata__":
            name += "'"
        self.firsts[key] = (name, x)
        self.arrays[name] = x
        return {"array": name, "dtype": x.dtype.str}


def _is_key(x: object) -> bool:
    if type(x) is tuple:
        return all(map(_is_key, x))
    return isinstance(x, PLAIN)


def _as_stored(x: np.ndarray) -> np.ndarray:
    """`x` as it lies in a file. safetensors ignores strides, and has no complex numbers: they're stored as pairs."""
    if x.dtype.kind == "c":
        x = np.stack([x.real, x.imag], axis=-1)
    return x.astype(x.dtype.newbyteorder("<"), order="C", copy=False)


def _rebuild(x: Any, stored: dict[str, np.ndarray], made: dict[str, np.ndarray]) -> Any:
    """What was saved. Arrays move from `stored` to `made`, since those tied to them follow later."""
    if isinstance(x, list):
        return [_rebuild(part, stored, made) for part in x]
    if not isinstance(x, dict):
        return x
    (kind, value), *_ = x.items()
    match kind:
        case "array":
            return made.setdefault(value, _as_it_was(stored.pop(value), _DTYPES[x["dtype"]]))
        case "tied":
            here = types.SimpleNamespace(shape=tuple(x["shape"]), strides=tuple(x["strides"]))
            first = types.SimpleNamespace(shape=made[value].shape, strides=tuple(x["first"]))
            return view_as(made[value], like=here, of=first)
        case "dict":
            return {_rebuild(key, stored, made): _rebuild(part, stored, made) for key, part in value}
        case "tuple":
            return tuple(_rebuild(value, stored, made))
        case "number":
            return _rebuild(value, stored, made)[()]
        case "complex":
            return complex(*value)
        case "bytes":
            return bytes.fromhex(value)
    raise ValueError(f"save doesn't write {x}")


def _as_it_was(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """An array of this `dtype`, from what a file has of it; complex numbers are pairs there."""
    little = dtype.newbyteorder("<")
    stored = little
    if dtype.kind == "c":
        stored = np.dtype(f"<f{dtype.itemsize // 2}")
    if x.dtype != stored:
        raise ValueError(f"this isn't an array of {dtype}")
    if dtype.kind == "c":
        x = x.view(little)[..., 0]
    if dtype == little:
        return x
    return x.byteswap(inplace=True).view(dtype)
