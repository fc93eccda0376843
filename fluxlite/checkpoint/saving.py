"""Models in files: `save`, `load`, and `loadmodel`, which puts one model's values into another.

``save("run.safetensors", model=model, opt_state=opt_state, rng=rng, epoch=3)`` writes all that a training run needs to
continue exactly as if it had never stopped. ``load("run.safetensors", model=model, opt_state=opt_state, rng=rng)`` puts
it back. The file holds numbers and text, no code, so it's safe to read a file from anyone. Pickle would run code, and
would break the tie between ``W`` and ``W.T``.

`states.py` says what we keep of an object, `loading.py` copies values into one, and `files.py` handles the file.
"""

from __future__ import annotations

import functools
import os
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..arguments import check_bool, check_callable, in_words
from ..devices.base import CPU
from ..messages import notice
from ..tree.contract import is_leaf
from ..tree.ties import is_array, parameter_key, same_view
from ..tree.walks import Attribute, KeyPath
from . import files
from .files import FileFormatError
from .loading import Loading
from .states import generator_of, kept, state, walk_of_state

__all__ = ["FileFormatError", "load", "loadmodel", "save", "state"]


def save(path: str | os.PathLike, /, *model: Any, **values: Any) -> None:
    """Write models, optimizer states, generators, arrays, numbers and text to a safetensors file, by name.

    ``save(path, model)`` means ``save(path, model=model)``. The file holds the `state` of each value. Arrays are stored
    as host arrays, from any device; tied arrays once. Your values don't change or move. A generator's state is stored,
    also that of a device or a loader with one; functions are left out. The new file is written next to the old one,
    then replaces it, so there's always a complete one. Flux's guide uses BSON's ``@save`` for this, after ``cpu``.

    An existing file keeps its mode. Saving takes next to no memory, from a device that of the largest array.

    Raises `TypeError`, naming the place, for what a file can't hold, `ValueError` for millions of numbers or texts that
    aren't in arrays, and `OSError` if it can't be written; a read-only file stays.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> save(path, model=fl.Dense(3, 2), epoch=3)
    >>> load(path)["epoch"]
    3
    """
    values = _named(path, model, values)
    if not values:
        raise TypeError('save needs something to save: save("model.safetensors", model=model)')
    arrays, written = what_is_written(values)
    try:
        files.write(path, arrays, written)
    except RecursionError:  # the walk could do it, JSON can't
        raise RecursionError(f"the parts of {', '.join(values)} are nested too deep for a file") from None


def what_is_written(values: dict[str, Any]) -> tuple[dict[str, files.Stored], dict[str, Any]]:
    """A file's arrays, and the rest as JSON can hold it. Raises `TypeError`, naming the place, for what can't be."""
    writer = Writer()
    written = {name: writer.top(name, x) for name, x in values.items()}
    return writer.arrays, written


def load(path: str | os.PathLike, /, *model: Any, cast: bool = False, **targets: Any) -> dict[str, Any]:
    """What `save` wrote, by name. With ``model=model`` and so on, it goes into these objects.

    Values are copied into a target's arrays, on their device, as `loadmodel` does. A generator, or one in a device or
    loader, continues where the saved one was. An optimizer's memory includes its numbers. All targets are checked
    before any changes. The result holds the targets; names without one get numbers, text and plain containers of host
    arrays, as `state` makes them. ``load(path, model)`` means ``load(path, model=model)``. If `save` didn't write the
    safetensors file, you get its arrays by name. Loading takes as much memory as the file is large.

    Raises `FileFormatError`, a `ValueError`, for a file that's damaged or not one of ours, `ValueError` for what
    doesn't fit, with its place, and `OSError` for a file that's missing or can't be read.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "W.safetensors")
    >>> save(path, W=np.ones(2))
    >>> W = np.zeros(2)
    >>> load(path, W=W)["W"] is W, W
    (True, array([1., 1.]))
    """
    targets = _named(path, model, targets)
    arrays, written = files.read(path)
    if written is None:
        return _foreign(path, arrays, targets)
    contents = _contents(path, arrays, written)
    for name in targets:
        if name not in contents:
            raise ValueError(f"{os.fspath(path)} holds {', '.join(contents)}, and nothing called {name!r}")
    loading = Loading(cast=cast, own=True)
    for name, target in targets.items():
        _check_target(name, target)
        loading.add(KeyPath([Attribute(name)]), target, contents[name])
    loading.finish()
    return contents | targets


def loadmodel(model: Any, source: Any, filter: Callable[[Any], bool] | None = None, *, cast: bool = False) -> Any:
    """Copy the values of `source`, a model or a `state`, into the arrays of `model`; returns it (Flux: ``loadmodel!``).

    Both must have the same structure, but a tuple may match a list, and a missing bias counts as zeros. The arrays stay
    the same objects on the same device. Numbers and functions aren't copied. ``filter(part)`` says which parts count,
    in both. In a state they're dicts, not layers: to filter what's in a file, load it into a separate model first.
    Arrays of another dtype raise, unless ``cast=True`` converts them. Everything is checked before anything changes.
    The values are moved to the device first, which needs room for them.

    Raises `ValueError` for another structure, shape or dtype, a tie that the source lacks, or a read-only array, and
    `TypeError` for arrays that can't be reached. Each error names the place.

    >>> W = np.zeros(2)
    >>> loadmodel({"W": W}, {"W": np.ones(2)})["W"] is W, W
    (True, array([1., 1.]))
    """
    if isinstance(source, (str, os.PathLike)):
        raise TypeError(
            f"loadmodel takes a model or a state, got a {type(source).__name__}; of a file load(path, model)"
        )
    if filter is not None:
        check_callable("loadmodel(model, source, filter)", filter)
    check_bool("loadmodel(cast=…)", cast)
    loading = Loading(filter, cast)
    loading.add(KeyPath(), model, source)
    loading.finish()
    return model


def _named(path: Any, unnamed: tuple, named: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f'the path of the file comes first, such as "model.safetensors"; got {in_words(path)}')
    if len(unnamed) > 1 or unnamed and "model" in named:
        raise TypeError("one object can go without a name, and is called model; name them: model=model, rng=rng")
    return {"model": unnamed[0], **named} if unnamed else named


def _check_target(name: str, target: Any) -> None:
    if is_leaf(target) and not is_array(target) and generator_of(target) is None:
        kept(KeyPath([Attribute(name)]), target)
        raise TypeError(
            f"nothing can be put into {name}, of type {type(target).__name__}; load(path)[{name!r}] gives the value"
        )


def _foreign(path: Any, arrays: dict[str, np.ndarray], targets: dict[str, Any]) -> dict[str, Any]:
    text = f"{os.fspath(path)} was not written by fluxlite.save"
    if targets:
        raise FileFormatError(f"{text}: load(path) without more gives its arrays, by name")
    notice(("foreign", os.fspath(path)), f"{text}: here are its arrays, by name.")
    return dict(arrays)


# ---------------------------------------------------------------------------------------------
# What is not an array becomes JSON
# ---------------------------------------------------------------------------------------------

# Kinds of dtype that the file format lacks, and what to do. Numbers wider than 8 bytes are missing too.
_FIXES = {
    "f": "save x.astype(np.float64)",
    "c": "save x.astype(np.complex128)",
    "m": "save x.view(np.int64)",
    "M": "save x.view(np.int64)",
    "V": "save each of its fields, or x.astype(np.float32) if it is a bfloat16",
}


class Writer:
    """A file's arrays, and the names that take their places."""

    def __init__(self) -> None:
        self.arrays: dict[str, files.Stored] = {}
        self.first: dict[tuple, tuple[str, Any]] = {}  # also keeps temporary arrays alive, so no address is reused

    def top(self, name: str, x: Any) -> Any:
        path = KeyPath([Attribute(name)])
        if is_leaf(x) and not isinstance(x, tuple) and isinstance(kept(path, x), tuple):
            raise TypeError(
                f"there is nothing to save of {name}, which is of type {type(x).__name__}: what is saved are arrays, "
                "numbers and text, in containers or in objects of a class with @functor above it"
            )
        return self.tree(path, x)

    def tree(self, path: KeyPath, x: Any) -> Any:
        return walk_of_state(x, path, self.leaf, functools.partial(self.container, path))

    def leaf(self, path: KeyPath, x: Any) -> Any:
        value = kept(path, x)
        return self.tree(path, value) if isinstance(value, dict) else _written(value, path, self)

    def container(self, path: KeyPath, parts: Any) -> Any:
        if isinstance(parts, list):
            return parts
        if not isinstance(parts, Mapping):
            return {"tuple": list(parts)}
        return {"dict": [[self.key(path, key), value] for key, value in parts.items()]}

    def key(self, path: KeyPath, key: Any) -> Any:
        if type(key) in (str, int):  # JSON has them
            return key
        trial = Writer()
        written = trial.tree(path, key)
        if Reader({name: files.as_read(x) for name, x in trial.arrays.items()}).read(written) != key:
            raise TypeError(f"{path} has the key {key!r}, which a file cannot hold; take text or numbers")
        return self.tree(path, key)

    def array(self, path: KeyPath, x: Any) -> dict[str, Any]:
        key = parameter_key(x)
        if key in self.first:
            name, first = self.first[key]
            return {"tied": name, "shape": x.shape, "strides": x.strides, "first": first.strides}
        name = str(path)
        while name in self.arrays or name == "__metadata__":
            name += "'"
        self.first[key] = name, x
        self.arrays[name] = _stored(path, x)
        return {"array": name, "dtype": x.dtype.str}


def _stored(path: KeyPath, x: Any) -> files.Stored:
    """What a file holds of `x`. Complex numbers are stored as pairs, which safetensors can do."""
    kind = x.dtype.kind
    if kind not in "biufc" or x.itemsize > (16 if kind == "c" else 8):
        fix = _FIXES.get(kind, "save a list: x.tolist()")
        raise TypeError(f"{path} is an array of {x.dtype}, which a safetensors file cannot hold; {fix}")
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{path} is a masked array, whose mask would be lost; save x.data and x.mask")
    return files.Stored(*_as_stored(x.dtype, x.shape), functools.partial(CPU.receive, x))


def _as_stored(dtype: np.dtype, shape: tuple[int, ...]) -> tuple[np.dtype, tuple[int, ...]]:
    if dtype.kind == "c":
        return np.dtype(f"<f{dtype.itemsize // 2}"), (*shape, 2)
    return dtype.newbyteorder("<"), shape


@functools.singledispatch
def _written(x: Any, path: KeyPath, writer: Writer) -> Any:
    return writer.array(path, x)


@_written.register(type(None))
@_written.register(bool)
@_written.register(int)
@_written.register(float)
@_written.register(str)
def _(x: Any, path: KeyPath, writer: Writer) -> Any:
    return x


@_written.register
def _(x: np.generic, path: KeyPath, writer: Writer) -> Any:
    return {"number": writer.array(path, np.asarray(x))}


@_written.register
def _(x: complex, path: KeyPath, writer: Writer) -> Any:
    return {"complex": [x.real, x.imag]}


@_written.register
def _(x: bytes, path: KeyPath, writer: Writer) -> Any:
    return {"bytes": x.hex()}


@_written.register
def _(x: tuple, path: KeyPath, writer: Writer) -> Any:
    return {"tuple": list(x)}


# ---------------------------------------------------------------------------------------------
# And back again
# ---------------------------------------------------------------------------------------------


def _contents(path: Any, arrays: dict[str, np.ndarray], written: Any) -> dict[str, Any]:
    reader = Reader(arrays)
    try:
        return {name: reader.read(x) for name, x in written.items()}
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        text = f"{os.fspath(path)} has a checksum, but not the contents that fluxlite.save writes"
        raise FileFormatError(text) from error


# What `save` writes for an array's type: |b1, <f8, >f8, … NumPy would take much more, such as "(10000,10000)f8".
_DTYPES = {
    dtype.str: dtype
    for little in (*files.DTYPES.values(), np.dtype("<c8"), np.dtype("<c16"))
    for dtype in (little, little.newbyteorder(">"))
}


class Reader:
    """Makes of a file's arrays and values what was saved. Lists stay the same objects, arrays the same memory."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self.stored = dict(arrays)
        self.made: dict[str, np.ndarray] = {}

    def read(self, x: Any) -> Any:
        if isinstance(x, list):
            for i, part in enumerate(x):
                x[i] = self.read(part)
            return x
        return _READERS[next(iter(x), "")](self, x) if isinstance(x, dict) else x

    def of_dict(self, x: dict) -> dict:
        return {self.read(key): self.read(value) for key, value in x["dict"]}

    def of_array(self, x: dict) -> np.ndarray:
        values, dtype = self.stored.pop(x["array"]), _DTYPES[x["dtype"]]
        shape = values.shape[:-1] if dtype.kind == "c" else values.shape
        if (values.dtype, values.shape) != _as_stored(dtype, shape):
            raise ValueError(f"this is no array of {dtype}")
        little = dtype.newbyteorder("<")
        values = values.view(little)[..., 0] if dtype.kind == "c" else values
        if dtype != little:
            values = values.byteswap(inplace=True).view(dtype)
        self.made[x["array"]] = values  # arrays tied to it follow later
        return values

    def of_tied(self, x: dict) -> np.ndarray:
        first = self.made[x["tied"]]
        here = types.SimpleNamespace(shape=tuple(x["shape"]), strides=tuple(x["strides"]))
        return same_view(here, types.SimpleNamespace(shape=first.shape, strides=tuple(x["first"])), first)


_READERS: dict[str, Callable[[Reader, dict], Any]] = {
    "array": Reader.of_array,
    "tied": Reader.of_tied,
    "dict": Reader.of_dict,
    "tuple": lambda reader, x: tuple(reader.read(x["tuple"])),
    "number": lambda reader, x: reader.read(x["number"])[()],
    "complex": lambda reader, x: complex(*x["complex"]),
    "bytes": lambda reader, x: bytes.fromhex(x["bytes"]),
}
