"""Models in files: `save`, `load`, and `loadmodel`, which puts one model's values into another.

``save("run.safetensors", model=model, opt_state=opt_state, rng=rng, epoch=3)`` writes all that a training run needs to
continue exactly as if it had never stopped. ``load("run.safetensors", model=model, opt_state=opt_state, rng=rng)`` puts
it back. The file holds numbers and text, no code, so it's safe to read a file from anyone. Pickle would run code, and
would break the tie between ``W`` and ``W.T``.

`states.py` says what we keep of an object, `loading.py` copies values into one, and `files.py` handles the file.
"""

import os
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..devices.base import CPU
from ..messages import explained, in_words, notice
from ..tree.contract import is_leaf
from ..tree.ties import is_array, parameter_key, same_view
from ..tree.walks import Attribute, KeyPath
from . import files
from .files import FileFormatError
from .loading import Loading
from .states import PLAIN, generator_of, kept, state_at


@explained()
def save(path: str | os.PathLike, /, *model: Any, **values: Any) -> None:
    """Write models, optimizer states, generators, arrays, numbers and text to a safetensors file, by name.

    ``save(path, model)`` means ``save(path, model=model)``. The file holds the `state` of each value: arrays as host
    arrays, tied ones once; a generator's state, also that of a device or a loader with one; no functions. It's written
    next to the old file and then replaces it, so there's always a complete one. Flux's guide uses BSON's ``@save``.

    Raises `TypeError`, naming the place, for what a file can't hold, `ValueError` for millions of numbers or texts that
    aren't in arrays, and `OSError` if it can't be written. A read-only file stays; any other keeps its mode.

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


@explained()
def load(path: str | os.PathLike, /, *model: Any, cast: bool = False, **targets: Any) -> dict[str, Any]:
    """What `save` wrote, by name. With ``model=model`` and so on, it goes into these objects.

    That is as with `loadmodel`, and a generator, or one in a device or loader, continues where the saved one was. All
    targets are checked before any changes. The result holds the targets; names without one get what `state` makes, of
    host arrays. ``load(path, model)`` means ``load(path, model=model)``. If `save` didn't write the safetensors file,
    you get its arrays by name. Loading takes as much memory as the file is large.

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


@explained()
def loadmodel(model: Any, source: Any, filter: Callable[[Any], bool] | None = None, *, cast: bool = False) -> Any:
    """Copy the values of `source`, a model or a `state`, into the arrays of `model`; returns it (Flux: ``loadmodel!``).

    Both must have the same structure, but a tuple may match a list, and a missing bias counts as zeros. The arrays stay
    the same objects on the same device. An optimizer's memory includes its numbers; other numbers and functions aren't
    copied. ``filter(part)`` says which parts count, in both: in a state they're dicts, not layers. ``cast=True``
    converts arrays of another dtype. Everything is checked, and moved to the device, before anything changes.

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
        plain = state_at(path, x)
        if type(plain) is tuple and not plain and not isinstance(x, tuple):
            raise TypeError(f"there is nothing to save of {name}, which is of type {type(x).__name__}")
        return self._written(path, plain)

    def _written(self, path: KeyPath, x: Any) -> Any:
        match x:
            case dict():
                if not all(map(_is_key, x)):
                    raise TypeError(f"{path} has keys that a file cannot hold: {[*x]}; take text or numbers")
                return {"dict": [[self._written(path, k), self._written(path + (k,), part)] for k, part in x.items()]}
            case list() | tuple():
                parts = [self._written(path + (i,), part) for i, part in enumerate(x)]
                return parts if isinstance(x, list) else {"tuple": parts}
            case np.generic():
                return {"number": self._array(path, np.asarray(x))}
            case complex():
                return {"complex": [x.real, x.imag]}
            case bytes():
                return {"bytes": x.hex()}
        return self._array(path, x) if is_array(x) else x  # JSON has the others

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
