"""Models in files: `save`, `load`, and `loadmodel`, which puts one model's values into another.

``save("run.safetensors", model=model, opt_state=opt_state, rng=rng, epoch=3)`` writes all that a training run needs to
continue exactly as if it had never stopped. ``load("run.safetensors", model=model, opt_state=opt_state, rng=rng)`` puts
it back. The file holds numbers and text, no code, so it's safe to read a file from anyone. Pickle would run code, and
would break the tie between ``W`` and ``W.T``.

`states.py` says what we keep of an object, `loading.py` copies values into one, and `files.py` handles the file.
"""

import os
import types
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..arguments import explained, in_words
from ..devices.base import CPU
from ..messages import notice
from ..tree.contract import is_leaf
from ..tree.ties import is_array, parameter_key, same_view
from ..tree.walks import Attribute, KeyPath
from . import files
from .files import FileFormatError
from .loading import Loading
from .states import PLAIN, generator_of, kept, walk_of_state


@explained("the path of a file, and one model, or several values by name")
def save(path: str | os.PathLike, /, *model: Any, **values: Any) -> None:
    """Write models, optimizer states, generators, arrays, numbers and text to a safetensors file, by name.

    ``save(path, model)`` means ``save(path, model=model)``. The file holds the `state` of each value. Arrays are stored
    as host arrays, from any device; tied arrays once. Your values don't change or move. A generator's state is stored,
    also that of a device or a loader with one; functions are left out. The new file is written next to the old one,
    then replaces it, so there's always a complete one. Flux's guide uses BSON's ``@save`` for this, after ``cpu``.

    An existing file keeps its mode. Arrays that aren't in the host's memory, or not as C orders them, are copied first.

    Raises `TypeError`, naming the place, for what a file can't hold, `ValueError` for millions of numbers or texts that
    aren't in arrays, and `OSError` if it can't be written; a read-only file stays.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> save(path, model=fl.Dense(3, 2), epoch=3)
    >>> load(path)["epoch"]
    3
    """
    arrays, written = what_is_written(_named(model, values))
    files.write(os.fspath(path), {name: _as_stored(CPU.receive(x)) for name, x in arrays.items()}, written)


def what_is_written(values: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A file's arrays, and the rest as JSON can hold it. Raises `TypeError`, naming the place, for what can't be."""
    writer = Writer()
    written = {name: writer.write_top(name, x) for name, x in values.items()}
    return writer.arrays, written


@explained("the path of a file, and one model to load into, or several by name")
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
    path, targets = os.fspath(path), _named(model, targets, required=False)
    arrays, written = files.read(path)
    if written is None and targets:
        raise FileFormatError(f"{path} was not written by fluxlite.save: load(path) without more gives its arrays")
    if written is None:
        notice(("foreign", path), f"{path} was not written by fluxlite.save: here are its arrays, by name.")
        return arrays
    try:
        reader = Reader(arrays)
        contents = {name: reader.read(x) for name, x in written.items()}
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
        raise FileFormatError(f"{path} has a checksum, but not the contents that fluxlite.save writes") from error
    loading = Loading(cast=cast, own=True)
    for name, target in targets.items():
        if name not in contents:
            raise ValueError(f"{path} holds {', '.join(contents)}, and nothing called {name!r}")
        place = KeyPath([Attribute(name)])
        if is_leaf(target) and not is_array(target) and generator_of(target) is None:
            kept(place, target)
            raise TypeError(f"nothing can be put into {name}, which is {in_words(target)}; load(path) has its value")
        loading.add(place, target, contents[name])
    loading.finish()
    return contents | targets


@explained("two models, or a model and the state of one")
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
    loading = Loading(filter, cast)
    loading.add(KeyPath(), model, source)
    loading.finish()
    return model


def _named(unnamed: tuple, named: dict[str, Any], required: bool = True) -> dict[str, Any]:
    if len(unnamed) > 1 or unnamed and "model" in named or required and not (unnamed or named):
        raise TypeError("one object can go without a name, and is called model; name them: model=model, rng=rng")
    return {"model": unnamed[0], **named} if unnamed else named


# -- what isn't an array becomes JSON ------------------------------------------------------------------------------


class Writer:
    """A file's arrays, and the names that take their places."""

    def __init__(self) -> None:
        self.arrays: dict[str, Any] = {}  # as they are, on their devices
        self.first: dict[tuple, tuple[str, Any]] = {}  # also keeps temporary arrays alive, so no address is reused

    def write_top(self, name: str, x: Any) -> Any:
        path = KeyPath([Attribute(name)])
        if is_leaf(x) and not isinstance(x, tuple) and isinstance(kept(path, x), tuple):
            raise TypeError(f"there is nothing to save of {name}, which is of type {type(x).__name__}")
        return self.write(path, x)

    def write(self, path: KeyPath, x: Any) -> Any:
        return walk_of_state(path, x, self._leaf, lambda parts: self._container(path, parts))

    def _container(self, path: KeyPath, parts: Any) -> Any:
        if isinstance(parts, Mapping):
            return {"dict": [[self._key(path, key), value] for key, value in parts.items()]}
        return parts if isinstance(parts, list) else {"tuple": list(parts)}

    def _key(self, path: KeyPath, key: Any) -> Any:
        if not _is_key(key):
            raise TypeError(f"{path} has the key {key!r}, which a file cannot hold; take text or numbers")
        return key if type(key) in (str, int) else self.write(path, key)  # JSON has text and whole numbers

    def _leaf(self, path: KeyPath, x: Any) -> Any:
        x = kept(path, x)
        if isinstance(x, dict):  # of a generator, or an optimizer's memory
            return self.write(path, x)
        if isinstance(x, np.generic):
            return {"number": self._array(path, np.asarray(x))}
        if is_array(x):
            return self._array(path, x)
        if isinstance(x, complex):
            return {"complex": [x.real, x.imag]}
        if isinstance(x, bytes):
            return {"bytes": x.hex()}
        return {"tuple": []} if isinstance(x, tuple) else x

    def _array(self, path: KeyPath, x: Any) -> dict[str, Any]:
        if x.dtype.kind not in "biufc" or x.itemsize > (16 if x.dtype.kind == "c" else 8):
            raise TypeError(f"{path} is an array of {x.dtype}, which a safetensors file cannot hold: save another type")
        if isinstance(x, np.ma.MaskedArray):
            raise TypeError(f"{path} is a masked array, whose mask would be lost; save x.data and x.mask")
        key = parameter_key(x)
        if key in self.first:
            name, first = self.first[key]
            return {"tied": name, "shape": x.shape, "strides": x.strides, "first": first.strides}
        name = str(path)
        while name in self.arrays or name == "__metadata__":
            name += "'"
        self.first[key] = name, x
        self.arrays[name] = x
        return {"array": name, "dtype": x.dtype.str}


def _is_key(x: Any) -> bool:
    return all(map(_is_key, x)) if type(x) is tuple else isinstance(x, PLAIN)


def _as_stored(x: np.ndarray) -> np.ndarray:
    """`x` as it lies in a file. safetensors ignores strides, and has no complex numbers: they're stored as pairs."""
    pairs = np.stack([x.real, x.imag], axis=-1) if x.dtype.kind == "c" else x
    return pairs.astype(pairs.dtype.newbyteorder("<"), order="C", copy=False)


# What `save` writes for an array's type. NumPy would take much more, such as "(10000,10000)f8".
_DTYPES = {np.dtype(order + code).str: np.dtype(order + code) for order in "<>" for code in "?bBhHiIqQefdFD"}


class Reader:
    """Makes of a file's arrays and values what was saved."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        self.stored = dict(arrays)
        self.made: dict[str, np.ndarray] = {}

    def read(self, x: Any) -> Any:
        if isinstance(x, list):
            return [self.read(part) for part in x]
        if not isinstance(x, dict):
            return x
        match next(iter(x), ""):
            case "array":
                return self._array(x["array"], _DTYPES[x["dtype"]])
            case "tied":
                return self._tied(self.made[x["tied"]], x)
            case "dict":
                return {self.read(key): self.read(value) for key, value in x["dict"]}
            case "tuple":
                return tuple(self.read(x["tuple"]))
            case "number":
                return self.read(x["number"])[()]
            case "complex":
                return complex(*x["complex"])
            case "bytes":
                return bytes.fromhex(x["bytes"])
        raise ValueError(f"save writes no {x}")

    def _array(self, name: str, dtype: np.dtype) -> np.ndarray:
        values, little = self.stored.pop(name), dtype.newbyteorder("<")
        if values.dtype != (np.dtype(f"<f{dtype.itemsize // 2}") if dtype.kind == "c" else little):
            raise ValueError(f"this is no array of {dtype}")
        values = values.view(little)[..., 0] if dtype.kind == "c" else values
        values = values if dtype == little else values.byteswap(inplace=True).view(dtype)
        self.made[name] = values  # arrays tied to it follow later
        return values

    def _tied(self, first: np.ndarray, x: dict) -> np.ndarray:
        here = types.SimpleNamespace(shape=tuple(x["shape"]), strides=tuple(x["strides"]))
        return same_view(here, types.SimpleNamespace(shape=first.shape, strides=tuple(x["first"])), first)
