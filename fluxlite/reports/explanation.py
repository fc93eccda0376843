"""`explain(model)`: what a model is made of, as every walk sees it, and what no walk reaches."""

import enum
import functools
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
from ..tree.ties import is_array, is_trainable_array, lies_alike, parameter_key
from ..tree.walks import Attribute, KeyPath, fmap, is_mutable, steps, trainables
from ..unreached import arrays_inside, boxes


def explain(model: Any) -> Any:
    """What is in `model`: each part with its path, what it is, its device, and whether it moves and trains.

    It also shows which paths share one array (ties), and what can't move: objects of unregistered classes (shut
    boxes), fields that a subset leaves out, and what a function works with. It copies nothing and waits for nothing.
    Of a kernel written by hand (`fluxlite.cuda.jit`), it shows the text, with what each line cost in the latest launch.
    """
    return model.explained() if hasattr(type(model), "explained") else Explanation(model)


class Explanation:
    """What `explain` found. Prints as text; a notebook shows a tree that unfolds.

    `arrays` counts the arrays that can move, a tied one once. `parameters` counts the numbers that train. `bytes` has
    the arrays' bytes per device. `shut` lists the paths of the arrays that are out of reach.
    """

    def __init__(self, model: Any) -> None:
        self._moving: list = []  # the arrays that move, a tied one once
        self._out_of_reach: dict[str, Any] = {}
        self._first: dict[tuple, tuple[KeyPath, Any]] = {}  # what was met, and where
        try:
            self._training = {parameter_key(array) for _, array in trainables(fmap(plain, model))}
            self._has_a_cycle = False
        except ValueError:
            self._training, self._has_a_cycle = set(), True
        self.root = self._row(KeyPath(), model, "")
        self.arrays, self.bytes = len(self._moving), _bytes(self._moving)
        self.parameters = sum(array.size for array in self._moving if parameter_key(array) in self._training)
        self.shut = list(self._out_of_reach)

    def sentences(self) -> list[str]:
        """The totals."""
        lines = [f"{_arrays(self._moving)} can move{_amounts(self._moving)}."]
        if self.arrays:
            numbers, them = sum(array.size for array in self._moving), "it" if self.arrays == 1 else "them"
            lines.append(f"{self.parameters:,} of {numbers:,} numbers in {them} train (parameters).")
        if self.shut:
            stay = list(self._out_of_reach.values())
            lines.append(f"{_arrays(stay)} out of reach, no move goes there{_amounts(stay)}.")
        if self._has_a_cycle:
            lines.append("It contains itself, so a walk through it has no end: it can neither move nor train.")
        return lines

    def __repr__(self) -> str:
        return as_text(self.root, self.sentences())

    def _repr_html_(self) -> str:
        return as_html(self.root, self.sentences())

    def _row(self, path: KeyPath, x: Any, frozen: str) -> Row:
        """The row for `x` at `path`. `frozen` says why nothing in it trains, if that's so."""
        if is_array(plain(x)):
            return self._array(path, x, frozen)
        row = Row(str(path), described(x))
        key = parameter_key(x) if is_mutable(x) else None
        if key in self._first:
            row.remarks.append(f"the same object as {self._first[key][0] or 'the whole model'}")
            return row
        if key is not None:
            self._first[key] = path, x
        for inner in self._rows(row, path, x, frozen):
            row.add(inner)
        return row

    def _rows(self, row: Row, path: KeyPath, x: Any, frozen: str) -> Iterator[Row]:
        """The rows in the `row` for `x`: its parts, then what no walk reaches."""
        parts = children(x)[0]
        trained = {step for step, _ in steps(x, trainable(x))}
        for step, part in steps(x, parts):
            why = "" if step in trained else f"{type(x).__name__} does not name it trainable"
            yield self._row(path + (step,), part, frozen or why)
        for _, place, value, why in boxes(x, path) if is_leaf(x) else ():
            if place == path:
                self._shut(row, "a shut box", why, value, path)
            else:
                box = self._shut(Row(str(place), described(value)), "out of reach", why, value, place)
                yield from [box] * box.shut
        is_open = isinstance(x, (dict, list, tuple, functools.partial, types.FunctionType, types.MethodType))
        for name, value in attributes(x).items() if isinstance(parts, Mapping) and not is_open else ():
            if name not in parts:
                place, why = path + (Attribute(name),), f"not one of {type(x).__name__}'s children"
                left_out = self._shut(Row(str(place), described(value)), "left out", why, value, place)
                left_out.remarks = left_out.remarks or [why]
                yield left_out

    def _array(self, path: KeyPath, x: Any, frozen: str) -> Row:
        array = plain(x)
        key, tracked = parameter_key(array), ["tracked for a gradient"] * (x is not array)
        if key in self._first:
            place, first = self._first[key]
            tie = f"tied to {place}{'' if lies_alike(array, first) else ', transposed'}: one array"
            return Row(str(path), described(array), [str(device_of(array))], [tie, *tracked])
        self._first[key] = path, array
        self._moving.append(array)
        trains = "trains"
        if key not in self._training:
            why = frozen if is_trainable_array(array) else f"it holds {array.dtype}"
            trains = f"does not train: {why}".rstrip(": ")
        return _array_row(path, array, *tracked, f"{_moves(array)}, {trains}")

    def _shut(self, row: Row, kind: str, why: str, x: Any, path: KeyPath) -> Row:
        """`row` as a box with the arrays in `x`, which is at `path` and no move reaches; as it is if there are none."""
        for place, array in arrays_inside(x, path):
            self._out_of_reach[str(place)] = array
            inner = _array_row(place, array, "stays")
            if is_array(x):
                row.places, row.remarks = inner.places, inner.remarks
            else:
                row.add(inner)
            row.shut = True
        if row.shut:
            row.what = f"{row.what}, {kind}"
            row.remarks.append(why)
        return row


def _array_row(path: KeyPath, array: Any, *remarks: str) -> Row:
    return Row(str(path), described(array), [str(device_of(array))], [f"{array.nbytes:,} bytes", *remarks])


def _moves(array: Any) -> str:
    try:
        if isinstance(array, np.ndarray):
            GPU.check(array)
    except TypeError as error:
        return f"cannot move: {error}"
    return "moves"


def _arrays(arrays: list) -> str:
    return "1 array" if len(arrays) == 1 else f"{len(arrays):,} arrays"


def _amounts(arrays: list) -> str:
    texts = [f"{size:,} bytes on {device}" for device, size in _bytes(arrays).items()]
    return f": {', '.join(texts)}" if texts else ""


def _bytes(arrays: list) -> dict[str, int]:
    """How many bytes of these arrays are on each device."""
    sums: Counter = Counter()
    for array in arrays:
        sums[str(device_of(array))] += array.nbytes
    return dict(sums)


def described(x: Any) -> str:
    """`x` in a few words, without any array's values."""
    if is_array(x):
        return f"{x.dtype} {tuple(x.shape)}"
    for kinds, words in _WORDS:
        if isinstance(x, kinds):
            return words(x)
    return f"{type(x).__name__} object" if is_leaf(x) else type(x).__name__


_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, np.ufunc)
_WORDS: list[tuple[Any, Callable[[Any], str]]] = [
    ((int, float, complex, np.generic), lambda x: f"number {x!r}"),
    ((str, bytes), lambda x: f"text {reprlib.repr(x)}"),
    ((type(None), range, slice, np.dtype, enum.Enum), repr),
    (_FUNCTIONS, lambda x: f"function {x.__name__}"),
    (types.MethodType, lambda x: f"method {x.__name__} of a {type(x.__self__).__name__}"),
    (type, lambda x: f"class {x.__name__}"),
    (tuple, lambda x: type(x).__name__ + ("" if hasattr(x, "_fields") else f" of {len(x)}")),
    ((list, dict, set, frozenset), lambda x: f"{type(x).__name__} of {len(x)}"),
    (Iterator, lambda x: f"{type(x).__name__}: its values do not exist yet, so it cannot move"),
]
