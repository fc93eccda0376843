"""Copying values into an object's arrays: first everything is checked and moved to the right device."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..arrays import device_of, on_card_of
from ..devices.base import CPU
from ..messages import many
from ..optimizers import Leaf
from ..tree.contract import children, is_leaf
from ..tree.ties import is_array, lies_alike, parameter_key, same_view
from ..tree.walks import Attribute, KeyPath, put, steps
from .states import generator_of, kept, resuming, state


class Loading:
    """What to copy where. Nothing changes before `finish`, which has nothing left to check."""

    def __init__(self, filter: Callable[[Any], bool] | None = None, cast: bool = False, own: bool = False) -> None:
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
        try:
            self._add(path, x, source)
        except RecursionError:
            raise RecursionError(f"the parts of this {type(x).__name__} are nested too deep to be loaded") from None

    def _add(self, path: KeyPath, x: Any, source: Any) -> None:
        if is_array(x):
            self._add_array(path, x, source)
        elif isinstance(x, Leaf):
            self._add_memory_of(path, x, state(source))
        elif generator_of(x) is not None:
            self.actions.append(resuming(path, x, source if isinstance(source, dict) else state(source)))
        elif is_leaf(x):
            self._check_leaf(path, x, source)
        else:
            for step, part, other in self._pairs(path, x, source):
                self._add(path + (step,), part, other)

    # -- containers ------------------------------------------------------------------------------

    def _pairs(self, path: KeyPath, x: Any, source: Any) -> list[tuple[Any, Any, Any]]:
        """(step, part, part of the source). Both must have the same names, or the same number of parts."""
        ours, theirs = self._parts(x), self._parts(source)
        named = [isinstance(children(node)[0], Mapping) for node in (x, source)]
        if named[0] != named[1] or len(ours) != len(theirs) or named[0] and set(dict(ours)) != set(dict(theirs)):
            hint = "; the filter is asked about the parts of both, which in a state are dicts" if self.filter else ""
            raise ValueError(
                f"{path or 'the model'}: the structures do not match; here it has {_listed(x, ours)}, "
                f"in the source {_listed(source, theirs)}{hint}"
            )
        if named[0]:
            return [(step, part, dict(theirs)[step]) for step, part in ours]
        return [(step, part, other) for (step, part), (_, other) in zip(ours, theirs, strict=True)]

    def _parts(self, x: Any) -> list[tuple[Any, Any]]:
        parts = steps(x, children(x)[0])
        return [(step, part) for step, part in parts if self.filter is None or self.filter(part)]

    # -- arrays ----------------------------------------------------------------------------------

    def _add_array(self, path: KeyPath, x: Any, source: Any) -> None:
        if source is None or source is False:  # a missing bias counts as zeros
            source = np.zeros(x.shape, x.dtype)
        if isinstance(source, np.generic):
            source = np.asarray(source)
        name = path or "this array"
        if not is_array(source):
            raise ValueError(f"{name} is an array of shape {x.shape}, the source has {_brief(source)}")
        if source.shape != x.shape:
            raise ValueError(f"{name}: the source has shape {source.shape}, expected {x.shape}")
        self._check_dtype(name, x, source)
        if not getattr(getattr(x, "flags", None), "writeable", True):
            raise ValueError(
                f"{name} is read-only, as an array is while a gradient call uses it; to load into another, give the "
                "model a copy: x.copy()"
            )
        with on_card_of(source):
            values = source.astype(x.dtype, copy=not self.own)  # a copy, since the source may be these very arrays
        key = parameter_key(x)
        if key not in self.copies:
            self.copies[key] = path, x, values, device_of(x).receive(values)
            return
        first_path, first, expected, _ = self.copies[key]
        if not _equal(same_view(first, x, values), expected):
            raise ValueError(f"{first_path} and {path} are one tied parameter, the source has two different ones")

    def _check_dtype(self, name: Any, x: Any, source: Any) -> None:
        if source.dtype == x.dtype or self.cast and np.can_cast(source.dtype, x.dtype, "same_kind"):
            return
        how = "which cast=True does not do: convert it yourself" if self.cast else "cast=True converts it"
        raise ValueError(f"{name}: the source has dtype {source.dtype}, expected {x.dtype}; {how}")

    # -- leaves without arrays -----------------------------------------------------------------------

    def _check_leaf(self, path: KeyPath, x: Any, source: Any) -> None:
        """Numbers, functions and rates stay as they are, but no array may get lost."""
        kept(path, x)  # raises if it has arrays that can't be reached
        name = path or f"this {type(x).__name__}"
        if is_array(source) and (x is None or x is False):
            if CPU.receive(source).any():
                raise ValueError(f"{name} is absent, the source has an array there that is not zero")
        elif is_array(source) or not is_leaf(source) and len(children(source)[0]):
            raise ValueError(f"{name} is {_brief(x)}, the source has {_brief(source)}")

    # -- an optimizer's memory -----------------------------------------------------------------------

    def _add_memory_of(self, path: KeyPath, leaf: Leaf, source: Any) -> None:
        name, ours = path or "this Leaf", type(leaf.rule).__name__
        if not isinstance(source, dict) or not {"rule", "memory"} <= set(source):
            raise ValueError(f"{name} is an optimizer's memory, the source has {_brief(source)}")
        if ours != source["rule"]:
            raise ValueError(f"{name} is the memory of {ours}, in the source that of {source['rule']}")
        self._add_memory(path + (Attribute("memory"),), leaf.memory, source["memory"])

    def _add_memory(self, path: KeyPath, x: Any, source: Any) -> None:
        """An optimizer's numbers are copied too, such as the number of steps."""
        for step, part, other in self._pairs(path, x, source):
            place = path + (step,)
            if is_array(part):
                self._add_array(place, part, other)
            elif not is_leaf(part):
                self._add_memory(place, part, other)
            elif is_array(other) or not is_leaf(other):
                raise ValueError(f"{place} is {_brief(part)}, the source has {_brief(other)}")
            elif isinstance(x, (dict, list)):
                self.actions.append(functools.partial(put, x, step, other))
            elif part != other:
                raise ValueError(f"{place} is {part!r} in a {type(x).__name__}, which cannot become {other!r}")


def _equal(x: Any, y: Any) -> bool:
    """Equal, even if there are NaNs."""
    if parameter_key(x) == parameter_key(y) and lies_alike(x, y):  # one array
        return True
    return CPU.receive(x).tobytes() == CPU.receive(y).tobytes()


def _listed(x: Any, parts: list) -> str:
    if not isinstance(children(x)[0], Mapping):
        return _brief(x) if is_leaf(x) else many(len(parts), "part")
    return f"the parts {', '.join(str(name) for name, _ in parts)}" if parts else "no parts"


def _brief(x: Any) -> str:
    if is_array(x):
        return f"an array of shape {x.shape}"
    return repr(x) if x is None or isinstance(x, (bool, int, float)) else f"a {type(x).__name__}"
