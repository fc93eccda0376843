"""`explain(model)`: what a model is made of, as every walk sees it, and what no walk reaches."""

from __future__ import annotations

import enum
import functools
import io
import reprlib
import types
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..arrays import device_of
from ..autodiff.tracked import plain
from ..devices.base import GPU
from ..outline import Row, as_html, as_text
from ..tree.contract import attributes, children, is_leaf, trainable
from ..tree.ties import is_array, is_trainable_array, lies_alike, overlaps, parameter_key
from ..tree.walks import Attribute, KeyPath, fmap, is_mutable, steps, trainables
from ..unreached import arrays_inside, boxes, why_shut


def explain(model: Any) -> Any:
    """What is in `model`: each part with its path, what it is, its device, and whether it moves and trains.

    It also shows which paths share one array (ties), and what can't move: objects of unregistered classes (shut
    boxes), fields that a subset leaves out, and what a function works with. It copies nothing and waits for nothing.
    Of a kernel written by hand (`fluxlite.cuda.jit`), it shows the text, with what each line cost in the latest launch.

    >>> explain({"W": np.zeros((2, 3), np.float32), "f": np.tanh})
    dict of 2  C CPU
    ├ ['W']    C CPU  float32 (2, 3): 24 bytes; moves, trains
    └ ['f']           function tanh
    <BLANKLINE>
    1 array can move: 24 bytes on CPU.
    6 of 6 numbers in it train (parameters).
    """
    return model.explained() if hasattr(type(model), "explained") else Explanation(_Survey(model))


class Explanation:
    """What `explain` found. Prints as text; a notebook shows a tree that unfolds.

    `arrays` counts the arrays that can move, a tied one once. `parameters` counts the numbers that train. `bytes` has
    the arrays' bytes per device. `shut` lists the paths of the arrays that are out of reach.
    """

    def __init__(self, survey: _Survey) -> None:
        self.root = survey.root
        self.arrays = len(survey.arrays)
        self.parameters = sum(array.size for _, array in survey.arrays if parameter_key(array) in survey.training)
        self.bytes = _bytes_by_device(survey.arrays)
        self.shut = [row.name for row, _ in survey.out_of_reach]
        self._numbers = sum(array.size for _, array in survey.arrays)
        self._bytes_shut = _bytes_by_device(survey.out_of_reach)
        self._contains_itself = survey.contains_itself

    def sentences(self) -> list[str]:
        """The totals."""
        lines = [f"{_arrays(self.arrays)} can move{_amounts(self.bytes)}."]
        if self.arrays:
            them = "it" if self.arrays == 1 else "them"
            lines.append(f"{self.parameters:,} of {self._numbers:,} numbers in {them} train (parameters).")
        if self.shut:
            lines.append(f"{_arrays(len(self.shut))} out of reach, no move goes there{_amounts(self._bytes_shut)}.")
        if self._contains_itself:
            lines.append("It contains itself, so a walk through it has no end: it can neither move nor train.")
        return lines

    def __repr__(self) -> str:
        return as_text(self.root, self.sentences())

    def _repr_html_(self) -> str:
        return as_html(self.root, self.sentences())


def _bytes_by_device(places: list[tuple[Row, Any]]) -> dict[str, int]:
    sums: Counter = Counter()
    for _, array in places:
        sums[str(device_of(array))] += array.nbytes
    return dict(sums)


def _amounts(sums: Mapping[str, int]) -> str:
    return f": {', '.join(f'{size:,} bytes on {device}' for device, size in sums.items())}" if sums else ""


def _arrays(number: int) -> str:
    return "1 array" if number == 1 else f"{number:,} arrays"


# ---------------------------------------------------------------------------------------------
# The survey
# ---------------------------------------------------------------------------------------------


class _Survey:
    """One look through a model. Unlike a walk, it also shows repeated arrays, and looks into shut boxes."""

    def __init__(self, model: Any) -> None:
        self.arrays: list[tuple[Row, Any]] = []  # that move; a tied one at its first path
        self.out_of_reach: list[tuple[Row, Any]] = []
        self.contains_itself = False
        self.first: dict[tuple, tuple[KeyPath, Any]] = {}
        self.inside: dict[int, KeyPath] = {}
        try:
            self.training = {parameter_key(array) for _, array in trainables(fmap(plain, model))}
        except ValueError:
            self.training, self.contains_itself = set(), True
        self.root = self.row(KeyPath(), model, "")
        self._remark_overlaps()

    def row(self, path: KeyPath, x: Any, frozen: str) -> Row:
        """The row for `x` at `path`. `frozen` says why nothing in it trains, if that's so."""
        if is_array(plain(x)):
            return self._array(path, x, frozen)
        if id(x) in self.inside:
            above = self.inside[id(x)] or "the whole model"
            return Row(str(path), described(x), remarks=[f"the same object as {above}, which contains it: a cycle"])
        key = parameter_key(x) if is_mutable(x) else None
        if key in self.first:
            return Row(str(path), described(x), remarks=[f"the same object as {self.first[key][0]}"])
        if key is not None:
            self.first[key] = path, x
        self.inside[id(x)] = path
        row = Row(str(path), described(x))
        if isinstance(x, types.MethodType) and is_leaf(x):
            row = self._shut("a shut box", row, why_shut(x.__self__), x.__self__, path) or row
        elif is_leaf(x) and not isinstance(x, types.FunctionType):
            row = self._shut("a shut box", row, why_shut(x), x, path) or row
        row.add(list(self._parts(path, x, frozen)))
        row.add(list(self._fields_left_out(path, x)))
        row.add(list(self._variables(path, x)))
        del self.inside[id(x)]
        return row

    def _parts(self, path: KeyPath, x: Any, frozen: str) -> Iterator[Row]:
        trained = {step for step, _ in steps(x, trainable(x))}
        for step, part in steps(x, children(x)[0]):
            why = "" if step in trained else f"{type(x).__name__} does not name it trainable"
            yield self.row(path + (step,), part, frozen or why)

    def _array(self, path: KeyPath, x: Any, frozen: str) -> Row:
        array = plain(x)
        tracked = [] if x is array else ["tracked for a gradient"]
        key = parameter_key(array)
        if key in self.first:
            place, first = self.first[key]
            row = _array_row(str(path), array)
            row.remarks = [f"tied to {place}{'' if lies_alike(array, first) else ', transposed'}: one array", *tracked]
            return row
        row = _array_row(str(path), array, *tracked, f"{_moves(array)}, {self._trains(key, array, frozen)}")
        self.first[key] = path, array
        self.arrays.append((row, array))
        return row

    def _trains(self, key: tuple, array: Any, frozen: str) -> str:
        if key in self.training:
            return "trains"
        return f"does not train: {frozen if is_trainable_array(array) else f'it holds {array.dtype}'}".rstrip(": ")

    def _fields_left_out(self, path: KeyPath, x: Any) -> Iterator[Row]:
        """A row for each field of a registered object that isn't one of its children."""
        if is_leaf(x) or isinstance(x, _OPEN):
            return
        parts = children(x)[0]
        for name, value in attributes(x).items():
            if name in parts if isinstance(parts, Mapping) else any(value is part for part in parts):
                continue
            place = path + (Attribute(name),)
            why = f"not one of {type(x).__name__}'s children"
            row = self._shut("left out", Row(str(place), described(value)), why, value, place)
            yield row or Row(str(place), described(value), remarks=[why])

    def _variables(self, path: KeyPath, x: Any) -> Iterator[Row]:
        """A row for each variable with arrays that the function `x` works with."""
        for _, place, value, why in boxes(x, path) if isinstance(x, types.FunctionType) else ():
            row = self._shut("a variable", Row(str(place), described(value)), why, value, place)
            if row is not None:
                yield row

    def _shut(self, kind: str, row: Row, why: str, x: Any, path: KeyPath) -> Row | None:
        """`row` for `x` as a box, with the arrays in `x` that no move reaches; None if it holds none."""
        found = [(_array_row(str(place), array, "stays"), array) for place, array in arrays_inside(x, path)]
        if not found:
            return None
        self.out_of_reach += found
        if is_array(x):
            row = found[0][0]
        else:
            row.add([inner for inner, _ in found])
        row.shut, row.what = True, f"{row.what}, {kind}"
        row.remarks.append(why)
        return row

    def _remark_overlaps(self) -> None:
        """Note, on both rows, arrays that share memory without being tied, unless both stay anyway."""
        moving = {id(row) for row, _ in self.arrays}
        for device in _bytes_by_device(self.arrays):
            here = [place for place in self.arrays + self.out_of_reach if str(device_of(place[1])) == device]
            for row, other in overlaps(here):
                if id(row) in moving or id(other) in moving:
                    row.remarks.append(f"shares memory with {other.name or 'the whole'}: a move parts them")
                    other.remarks.append(f"shares memory with {row.name or 'the whole'}: a move parts them")


_OPEN = (dict, list, tuple, functools.partial, types.MethodType)  # made of parts, not of fields


def _array_row(name: str, array: Any, *remarks: str) -> Row:
    return Row(name, described(array), [str(device_of(array))], [f"{array.nbytes:,} bytes", *remarks])


def _moves(array: Any) -> str:
    try:
        if isinstance(array, np.ndarray):
            GPU.check(array)
    except TypeError as error:
        return f"cannot move: {error}"
    return "moves"


# ---------------------------------------------------------------------------------------------
# What each thing is called: one method per type
# ---------------------------------------------------------------------------------------------


@functools.singledispatch
def described(x: Any) -> str:
    """`x` in a few words, without any array's values.

    >>> described(np.tanh), described([1, 2]), described("relu"), described(None)
    ('function tanh', 'list of 2', "text 'relu'", 'None')
    """
    if is_array(x):
        return f"{x.dtype} {tuple(x.shape)}"
    return f"{type(x).__name__} object" if is_leaf(x) else type(x).__name__


def _describe(*kinds: type) -> Callable:
    """Registers a function as the description of several types."""

    def register(function: Callable) -> Callable:
        for kind in kinds:
            described.register(kind, function)
        return function

    return register


@_describe(type(None), range, slice, np.dtype, enum.Enum)
def _(x: Any) -> str:
    return repr(x)


@_describe(int, float, complex, np.generic)
def _(x: Any) -> str:
    return f"number {x!r}"


@_describe(str, bytes)
def _(x: Any) -> str:
    return f"text {reprlib.repr(x)}"


@_describe(types.FunctionType, types.BuiltinFunctionType, np.ufunc)
def _(x: Any) -> str:
    return f"function {x.__name__}"


@_describe(types.MethodType)
def _(x: Any) -> str:
    return f"method {x.__name__} of a {type(x.__self__).__name__}"


@_describe(type)
def _(x: Any) -> str:
    return f"class {x.__name__}"


@_describe(types.ModuleType)
def _(x: Any) -> str:
    return f"module {x.__name__}"


@_describe(list, tuple, dict, set, frozenset)
def _(x: Any) -> str:
    return type(x).__name__ if hasattr(x, "_fields") else f"{type(x).__name__} of {len(x)}"


@_describe(io.IOBase)
def _(x: Any) -> str:
    return "open file"


@_describe(Iterator)
def _(x: Any) -> str:
    return f"{type(x).__name__}: its values do not exist yet, so it cannot move"
