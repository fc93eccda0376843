"""Models in files: `save`, `load`, and `loadmodel`, which puts one model's values into another.

A file holds numbers and text, no code, so it's safe to read one from anyone. Pickle would run code, and would break the
tie between ``W`` and ``W.T``. What a file looks like inside is in `files.py`.
"""

import copy
import functools
import os
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from ..annotations import Model, Tree
from ..array_kinds import generator_types
from ..arrays import device_of, is_half, on_card_of, refuse_tensor, wide
from ..data.loader import DataLoader, MovedLoader
from ..devices.base import CPU, Device
from ..messages import notice
from ..optim.update import Leaf
from ..tree.contract import children, is_leaf
from ..tree.flat import Attribute, Flat, KeyPath, Made, flatten, path_steps, taken_apart
from ..tree.ties import is_array, is_tracked, lies_alike, parameter_key, view_as
from ..tree.unreached import arrays_inside, say_what_is_not_saved, why_shut
from ..tree.walks import nodes, type_of_parts
from ..words import check_bool, explained, in_words
from . import files
from .files import PLAIN, FileFormatError

__all__ = ["FileFormatError", "load", "loadmodel", "save", "state"]


@explained()
def save(path: str | os.PathLike, /, *model: Tree, **values: Tree) -> None:
    """Write models, optimizer states, generators, arrays, numbers and text to a safetensors file, by name.

    ``save(path, model)`` means ``save(path, model=model)``. The file holds the `state` of each value, tied arrays once.
    It replaces the old file when it's complete (Flux's guide: BSON's ``@save``). Raises `TypeError` for what a file
    can't hold, with its place, and `OSError` if it can't be written. A read-only file stays as it is.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "model.safetensors")
    >>> save(path, model=fl.Dense(3, 2), epoch=3)
    >>> load(path)["epoch"]
    3
    """
    files.write(os.fspath(path), states_of(_named(model, values)))


@explained()
def load(path: str | os.PathLike, /, *model: Tree, cast: bool = False, **targets: Tree) -> dict[str, Any]:
    """What `save` wrote, by name. With ``model=model`` and so on, it goes into these objects, as with `loadmodel`.

    A generator, or one in a device or loader, continues where the saved one was. Names without a target get what
    `state` makes, of host arrays. ``load(path, model)`` means ``load(path, model=model)``. Other safetensors files give
    their arrays by name. Raises `FileFormatError`, a `ValueError`, for a file that's damaged or not one of ours, and
    `ValueError` for what doesn't fit, with its place. Then nothing has changed.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "W.safetensors")
    >>> save(path, W=np.ones(2))
    >>> W = np.zeros(2)
    >>> load(path, W=W)["W"] is W, W
    (True, array([1., 1.]))
    """
    path = os.fspath(path)
    targets = _named(model, targets, required=False)
    contents, is_ours = files.read(path)
    if not is_ours:
        if targets:
            raise FileFormatError(f"{path} wasn't written by fluxlite.save: load(path) alone gives its arrays")
        notice(("foreign", path), f"{path} wasn't written by fluxlite.save: here are its arrays, by name.")
    loading = Loading(cast=cast, own=True)
    for name, target in targets.items():
        if name not in contents:
            raise ValueError(f"{path} holds {', '.join(contents)}, and nothing called {name!r}")
        place = KeyPath([Attribute(name)])
        if is_leaf(target) and not is_array(target) and generator_of(target) is None:
            leaf_state(place, target)
            raise TypeError(f"nothing can be put into {name}, which is {in_words(target)}; load(path) has its value")
        loading.add(place, target, contents[name])
    loading.finish()
    return contents | targets


@explained()
def loadmodel(model: Model, source: Tree, filter: Callable[[Any], bool] | None = None, *, cast: bool = False) -> Model:
    """Copy the values of `source`, a model or a `state`, into the arrays of `model`; returns it (Flux: ``loadmodel!``).

    Both must have the same structure, but a missing bias counts as zeros. The arrays stay the same objects on the same
    device. Numbers and functions aren't copied, except an optimizer's memory. ``filter(part)`` says which
    parts count, in both: in a state they're dicts, not layers. ``cast=True`` converts arrays of another dtype. Raises
    `ValueError` for another structure, shape, dtype or tie, with its place; then nothing has changed.
    """
    loading = Loading(filter, cast)
    loading.add(KeyPath(), model, source)
    loading.finish()
    return model


@explained()
def state(x: Tree) -> Any:
    """Everything in `x`, as dicts, lists and tuples. Its arrays are the same objects (Flux: ``state``).

    Registered objects become dicts of all their fields. Numbers, text and None stay; a function becomes ``()``. A
    generator, or a device or a loader that has one, becomes its state. An optimizer's `Leaf` becomes a dict with its
    rule and its memory. Raises `TypeError` for arrays in an unregistered object, and for tracked arrays.
    """
    return _state_at(KeyPath(), x)


def states_of(values: dict[str, Tree]) -> dict[str, Any]:
    found = {name: _state_at(KeyPath([Attribute(name)]), x) for name, x in values.items()}
    for name, x in found.items():
        if type(x) is tuple and not x and not isinstance(values[name], tuple):
            raise TypeError(f"there is nothing to save in {name}, which is of type {type(values[name]).__name__}")
    return found


def _named(unnamed: tuple, named: dict[str, Tree], required: bool = True) -> dict[str, Tree]:
    """All objects by name. One may have come without: the model."""
    has_two_models = bool(unnamed) and "model" in named
    has_nothing = not unnamed and not named
    if len(unnamed) > 1 or has_two_models or (required and has_nothing):
        raise TypeError("one object can go without a name, and is called model; name them: model=model, rng=rng")
    if unnamed:
        return {"model": unnamed[0], **named}
    return named


def _state_at(path: KeyPath, x: Tree) -> Any:
    """The `state` of `x`, which stands at `path`. Names of fields are of the type `Attribute`, as in a path."""
    flat = flatten(x, _has_own_state, ties=False)
    states = [leaf_state(path + place, leaf) for place, leaf in zip(flat.paths(), flat.leaves)]

    def combine(branch: Made, parts: list) -> list | tuple | dict:
        if branch.names is None:
            return type_of_parts(branch.x)(parts)
        return dict(zip(path_steps(branch), parts))

    return flat.tree_at_all_places(states, combine)


def _has_own_state(path: object, x: Tree) -> bool:
    return is_leaf(x) or isinstance(x, Leaf) or generator_of(x) is not None


def leaf_state(path: KeyPath, x: Any) -> Any:
    """What to keep of a leaf, or of something with a state of its own."""
    if isinstance(x, Leaf):
        memory = _state_at(path + (Attribute("memory"),), x.memory)
        return {"rule": type(x.rule).__name__, "settings": repr(x.rule), "memory": memory}
    generator = generator_of(x)
    if generator is not None:
        return getattr(generator, "bit_generator", generator).state
    if is_tracked(x):
        x.check_open(str(path))
        raise TypeError(f"{path or 'this array'} is tracked for a gradient; its value is in {path or 'x'}.data")
    if is_array(x) or isinstance(x, PLAIN):
        return x
    what = "a state"
    if path:
        what = f"a state, at {path},"
    refuse_tensor(what, x)
    if isinstance(x, types.FunctionType):
        say_what_is_not_saved(x, path)
    for place, _ in arrays_inside(x, path):
        raise TypeError(f"there is an array in {place or f'this {type(x).__name__}'}: {why_shut(x)}")
    return ()


# -- random number generators --------------------------------------------------------------------------------------


def generator_of(x: Tree) -> Any:
    if isinstance(x, (Device, DataLoader, MovedLoader)):
        x = x.rng
    if isinstance(x, (np.random.Generator, *generator_types())):
        return x
    return None


def action_to_resume(path: KeyPath, x: Any, state: Any) -> Callable[[], None]:
    """A function that makes `x`'s generator continue from `state`. Raises `ValueError` now if that can't work."""
    generator = generator_of(x)  # a GPU's is its seed, and how often it was asked
    owner = getattr(generator, "bit_generator", generator)
    try:
        if isinstance(owner, np.random.BitGenerator) and not _is_like(state, owner.state):
            raise ValueError("this isn't one of its states")
        copy.copy(owner).state = state
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        kind = type(owner).__name__
        raise ValueError(f"{path or 'this'} is a generator of kind {kind}, the source has another: {error}") from error
    return functools.partial(setattr, owner, "state", state)


# The most that a state of NumPy's generators may hold here: NumPy believes places in a buffer, and reads what's there.
_LARGEST = {"pos": 624, "buffer_pos": 4, "has_uint32": 1, "uinteger": 2**32 - 1}


def _is_like(state: Any, example: Any, name: str = "") -> bool:
    """Whether `state` has the form of `example`, and possible numbers."""
    if type(state) is not type(example):
        return False
    if isinstance(example, dict):
        return state.keys() == example.keys() and all(_is_like(state[key], example[key], key) for key in example)
    if isinstance(example, np.ndarray):
        return (state.shape, state.dtype) == (example.shape, example.dtype)
    if isinstance(example, int):
        return 0 <= state <= _LARGEST.get(name, 2**128 - 1)
    return state == example


# -- copying values into arrays ------------------------------------------------------------------------------------


_LEFT_OUT = object()


class Loading:
    """What to copy where. Nothing changes before `finish`, which has nothing left to check."""

    def __init__(self, filter: Callable[[Any], bool] | None = None, cast: bool = False, own: bool = False) -> None:
        check_bool("cast=…", cast)
        self.filter = filter
        self.cast = cast
        self.own = own  # nobody else has the source's arrays
        # By parameter: its first path, the array, the source's values, and the same values on the array's device.
        self.copies: dict[tuple, tuple[KeyPath, Any, Any, Any]] = {}
        self.actions: list[Callable[[], None]] = []

    def finish(self) -> None:
        for _, x, _, values in self.copies.values():
            with on_card_of(x):
                x[...] = values
        for action in self.actions:
            action()

    def add(self, path: KeyPath, x: Tree, source: Tree) -> None:
        """Values for `x` at `path` from `source`, which is an object like `x`, or the `state` of one."""
        flat = flatten(x, self._ends_at, ties=False)
        paths = [path + place for place in flat.paths()]

        def parts_of_source(flat: Flat, number: int, source: Tree) -> list:
            return self._parts_of_source(paths[number], flat, number, source)

        sources = flat.match(source, parts_of_source)
        for number, leaf in enumerate(flat.leaves):
            if number == flat.root or self._counts(leaf):
                self._add_leaf(paths[number], leaf, sources[number])

    def _counts(self, part: Tree) -> bool:
        return self.filter is None or bool(self.filter(part))

    def _ends_at(self, way: list, x: Tree) -> bool:
        """Whether the walk goes no further than `x`, to which this `way` leads: a leaf, or nothing that counts."""
        return _has_own_state(way, x) or (bool(way) and not self._counts(x))

    def _parts_of_source(self, path: KeyPath, flat: Flat, number: int, source: Tree) -> list:
        """What `source` has for each part of what stands at `path`. Raises `ValueError` if the parts differ."""
        branch = flat.recipe[-1 - number]
        ours = self._keys(branch.names, [flat.at(part) for part in branch.parts])
        names, parts = taken_apart(source)
        theirs = dict(zip(self._keys(names, parts), parts))
        theirs.pop(_LEFT_OUT, None)
        known = [key for key in ours if key is not _LEFT_OUT]
        if set(known) != theirs.keys():
            here = ", ".join(map(str, known))
            there = ", ".join(map(str, theirs)) or in_words(source)
            what = f"here it has the parts {here}, in the source {there}"
            raise ValueError(f"{path or 'the model'}: the structures don't match; {what}")
        return [theirs.get(key) for key in ours]

    def _keys(self, names: tuple | None, parts: Any) -> list:
        """What each part is known by: its name, or in a sequence its number among those that the filter counts."""
        keys: list[Any] = []
        count = 0
        for i, part in enumerate(parts):
            if not self._counts(part):
                keys.append(_LEFT_OUT)
                continue
            keys.append(count if names is None else names[i])
            count += 1
        return keys

    def _add_leaf(self, path: KeyPath, x: Tree, source: Tree) -> None:
        if is_array(x):
            self._add_array(path, x, source)
        elif isinstance(x, Leaf):
            self._add_memory(path, x, state(source))
        elif generator_of(x) is not None:
            its_state = source
            if not isinstance(source, dict):
                its_state = state(source)
            self.actions.append(action_to_resume(path, x, its_state))
        else:
            self._check_leaf(path, x, source)

    def _check_leaf(self, path: KeyPath, x: Tree, source: Tree) -> None:
        """Numbers, functions and rates stay as they are, but no array may get lost."""
        leaf_state(path, x)
        if is_array(source):
            is_missing_bias = x is None or x is False  # which counts as zeros
            is_lost = not is_missing_bias or CPU.receive(source).any()
        else:
            is_lost = not is_leaf(source) and len(children(source)[0]) > 0
        if is_lost:
            raise ValueError(f"{path or 'this leaf'} is {in_words(x)}, the source has {in_words(source)}")

    def _add_array(self, path: KeyPath, x: Any, source: Any) -> None:
        if source is None or source is False:  # a missing bias counts as zeros
            source = np.zeros(x.shape, x.dtype)
        name = path or "this array"
        if not is_array(source):
            raise ValueError(f"{name} is an array of shape {x.shape}, the source has {in_words(source)}")
        if source.shape != x.shape:
            raise ValueError(f"{name}: the source has shape {source.shape}, expected {x.shape}")
        if source.dtype != x.dtype and not (self.cast and np.can_cast(source.dtype, x.dtype, "same_kind")):
            raise ValueError(f"{name}: the source has dtype {source.dtype}, expected {x.dtype}; cast=True?")
        if not getattr(getattr(x, "flags", None), "writeable", True):
            raise ValueError(f"{name} is read-only, as an array is while a gradient call uses it")
        with on_card_of(source):
            values = source.astype(x.dtype, copy=not self.own)  # a copy, since the source may be these very arrays
        key = parameter_key(x)
        if key not in self.copies:
            self.copies[key] = path, x, values, device_of(x).receive(values)
            return
        first_path, first, expected, _ = self.copies[key]
        again = view_as(values, like=first, of=x)
        if parameter_key(again) == parameter_key(expected) and lies_alike(again, expected):
            return  # one array, which needn't be read
        if CPU.receive(again).tobytes() != CPU.receive(expected).tobytes():  # a NaN is like itself
            raise ValueError(f"{first_path} and {path} are one tied parameter, the source has two different ones")

    def _add_memory(self, path: KeyPath, leaf: Leaf, source: Tree) -> None:
        """An optimizer's numbers are copied too, such as the number of steps."""
        if not isinstance(source, dict) or not {"rule", "memory"} <= set(source):
            raise ValueError(f"{path} is an optimizer's memory, the source has {in_words(source)}")
        if source["rule"] != type(leaf.rule).__name__:
            raise ValueError(f"{path} is {type(leaf.rule).__name__}'s memory, in the source {source['rule']}'s")
        path += (Attribute("memory"),)
        self.add(path, leaf.memory, _as_remembered(source["memory"], leaf.memory))
        for place, value in nodes(source["memory"]):
            is_number = is_leaf(value) and not is_array(value)
            if is_number and place.get(leaf.memory) != value:
                self.actions.append(functools.partial(place.set, leaf.memory, value))


def _as_remembered(source: Any, memory: Any) -> Any:
    """An optimizer's memory from a file, which may be of a time when that of float16 parameters was float16."""
    if isinstance(source, dict) and isinstance(memory, dict):
        return {name: _as_remembered(value, memory.get(name)) for name, value in source.items()}
    if not is_half(source) or getattr(memory, "dtype", None) != np.float32:
        return source
    with on_card_of(source):
        return wide(source)
