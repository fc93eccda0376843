"""Copying values into an object's arrays: first everything is checked and moved to the right device."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..arrays import device_of, on_card_of
from ..devices.base import CPU
from ..messages import check_bool, in_words, many
from ..optimizers import Leaf
from ..tree.contract import children, is_leaf
from ..tree.ties import is_array, lies_alike, parameter_key, same_view
from ..tree.walks import Attribute, KeyPath, nodes, steps
from .states import generator_of, kept, resuming, state


class Loading:
    """What to copy where. Nothing changes before `finish`, which has nothing left to check."""

    def __init__(self, filter: Callable[[Any], bool] | None = None, cast: bool = False, own: bool = False) -> None:
        check_bool("cast=…", cast)
        self.filter, self.cast = filter, cast
        self.own = own  # nobody else has the source's arrays: they're ours to keep, and share no memory with the target
        # By parameter: its first path, the array, the source's values, and the same values on the array's device.
        self.copies: dict[tuple, tuple[KeyPath, Any, Any, Any]] = {}
        self.actions: list[Callable[[], None]] = []

    def finish(self) -> None:
        for _, x, _, values in self.copies.values():
            with on_card_of(x):
                x[...] = values
        for action in self.actions:
            action()

    def add(self, path: KeyPath, x: Any, source: Any) -> None:
        """Values for `x` at `path` from `source`, which is an object like `x`, or the `state` of one."""
        if is_array(x):
            self._add_array(path, x, source)
        elif isinstance(x, Leaf):
            self._add_memory(path, x, state(source))
        elif generator_of(x) is not None:
            self.actions.append(resuming(path, x, source if isinstance(source, dict) else state(source)))
        elif is_leaf(x):
            self._check_leaf(path, x, source)
        else:
            for step, part, other in self._pairs(path, x, source):
                self.add(path + (step,), part, other)

    def _pairs(self, path: KeyPath, x: Any, source: Any) -> list[tuple[Any, Any, Any]]:
        """(step, part, part of the source). Both must have the same names, or the same number of parts."""
        ours, theirs = self._parts(x), self._parts(source)
        if ours.keys() != theirs.keys():
            raise ValueError(
                f"{path or 'the model'}: the structures do not match; here it has {_listed(x, ours)}, "
                f"in the source {_listed(source, theirs)}"
            )
        return [(*ours[key], theirs[key][1]) for key in ours]

    def _parts(self, x: Any) -> dict[Any, tuple[Any, Any]]:
        """(step, part) by name, in a sequence by number; those that the filter leaves out aren't counted."""
        parts = children(x)[0]
        found = [(step, part) for step, part in steps(x, parts) if self.filter is None or self.filter(part)]
        return {step if isinstance(parts, Mapping) else i: (step, part) for i, (step, part) in enumerate(found)}

    def _add_array(self, path: KeyPath, x: Any, source: Any) -> None:
        if source is None or source is False:  # a missing bias counts as zeros
            source = np.zeros(x.shape, x.dtype)
        name, source = path or "this array", np.asarray(source) if isinstance(source, np.generic) else source
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
        if not _equal(same_view(first, x, values), expected):
            raise ValueError(f"{first_path} and {path} are one tied parameter, the source has two different ones")

    def _check_leaf(self, path: KeyPath, x: Any, source: Any) -> None:
        """Numbers, functions and rates stay as they are, but no array may get lost."""
        kept(path, x)  # raises if it has arrays that can't be reached
        if is_array(source) and (x is None or x is False) and not CPU.receive(source).any():
            return  # a bias of zeros
        if is_array(source) or not is_leaf(source) and len(children(source)[0]):
            raise ValueError(f"{path or 'this leaf'} is {in_words(x)}, the source has {in_words(source)}")

    def _add_memory(self, path: KeyPath, leaf: Leaf, source: Any) -> None:
        """An optimizer's numbers are copied too, such as the number of steps."""
        if not isinstance(source, dict) or not {"rule", "memory"} <= set(source):
            raise ValueError(f"{path} is an optimizer's memory, the source has {in_words(source)}")
        if source["rule"] != type(leaf.rule).__name__:
            raise ValueError(f"{path} is the memory of {type(leaf.rule).__name__}, in the source of {source['rule']}")
        path += (Attribute("memory"),)
        self.add(path, leaf.memory, source["memory"])
        for place, value in nodes(source["memory"]):
            if is_array(value) or not is_leaf(value) or place.get(leaf.memory) == value:
                continue
            if isinstance(KeyPath(place[:-1]).get(leaf.memory), tuple):
                raise ValueError(f"{path + place} is in a tuple, and cannot become {value!r}")
            self.actions.append(functools.partial(place.set, leaf.memory, value))


def _listed(x: Any, parts: dict) -> str:
    if isinstance(children(x)[0], Mapping):
        return f"the parts {', '.join(map(str, parts))}"
    return in_words(x) if is_leaf(x) else many(len(parts), "part")


def _equal(x: Any, y: Any) -> bool:
    """Equal, even if there are NaNs."""
    if parameter_key(x) == parameter_key(y) and lies_alike(x, y):  # one array
        return True
    return CPU.receive(x).tobytes() == CPU.receive(y).tobytes()
