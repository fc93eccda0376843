"""Which of several functions of one name C++ calls: the one whose parameters fit best what a call gives."""

from typing import Any

import numpy as np

from ...kernels.numbers import distance
from ...kernels.parse import Deduced, Function, Named, Pointer, Reference, Sized
from .terms import Array, StructType

# How far a parameter's type is from the argument's. A template's match beats a conversion, and the more of the type a
# template says, the closer it is: T is 8, T* and complex<T> are 4, complex<T>* is 2.
_SAME, _ANY, _MADE_CONST, _PROMOTED, _CONVERTED = 0, 8, 9, 32, 64


def fitting(several: list[Function], types: list[Any], count: int) -> Function | None:
    """The function that fits these types best, if a template is given so many letters. None if none can take them.

    What's written for some of a template's types, ``template <> … name<float>(…)``, only stands in for the template.
    """
    found, least = None, (0, False)
    for function in several:
        if function.given or not _says_all_letters(function, count):
            continue
        far = _distance(function, types)
        if far is not None and (found is None or far < least):
            found, least = function, far
    return found


def _says_all_letters(function: Function, count: int) -> bool:
    """Whether the parameters say what a template's letters are, from this one on."""
    said = set()
    for kind, _ in function.parameters:
        said |= _letters_in(kind)
    return all(name in said or default is not None for name, _, default in function.letters[count:])


def _letters_in(kind: Any) -> set[str]:
    if isinstance(kind, str):
        return {kind}
    if isinstance(kind, (Pointer, Reference)):
        return _letters_in(kind.to)
    if isinstance(kind, Sized):
        return _letters_in(kind.of)
    if isinstance(kind, Named) and kind.name == "complex":
        return _letters_in(kind.given[0])
    return set()


def _distance(function: Function, types: list[Any]) -> tuple[int, bool] | None:
    """How far all parameters are from what they get; of two that are as far, a template comes after the other."""
    if not function.takes(len(types)):
        return None
    letters = [name for name, _, _ in function.letters]
    each = [_step(kind, own, letters) for (kind, _), own in zip(function.parameters, types)]
    if None in each:
        return None
    return sum(step or 0 for step in each), bool(letters)


def _step(kind: Any, own: Any, letters: list[str]) -> int | None:
    """How far this parameter is from what it gets. None if it can't take that."""
    if isinstance(kind, Reference):
        return _step(kind.to, own, letters)
    if isinstance(kind, Deduced) or isinstance(kind, str) and kind in letters:
        return _ANY
    if isinstance(kind, Pointer):
        if not isinstance(own, Pointer):
            return None
        step = _pointed(kind.to, own.to, letters)
        if step is None or kind.is_const == own.is_const or isinstance(kind.to, str) and own.is_const:
            return step
        return step + _MADE_CONST if kind.is_const else None
    if isinstance(kind, Named) and kind.name == "complex":
        if isinstance(own, np.dtype) and own.kind == "c":
            return _ANY // 2
        return None
    if isinstance(kind, np.dtype):
        return _number(kind, own)
    if isinstance(kind, Sized):
        if not isinstance(own, Array) or len(kind.lengths) != len(own.lengths):
            return None
        return _step(kind.of, own.of, letters)
    if isinstance(own, StructType) and isinstance(kind, Named) and kind.name == own.name:
        return _SAME
    return None


def _pointed(kind: Any, own: Any, letters: list[str]) -> int | None:
    """A pointer isn't converted, but to ``void*``."""
    if kind is None:
        return _CONVERTED
    step = _step(kind, own, letters)
    if step is None or step >= _PROMOTED:
        return None
    return step // 2


def _number(kind: np.dtype, own: Any) -> int | None:
    if not isinstance(own, np.dtype):
        return None
    return (_SAME, _PROMOTED, _CONVERTED, None)[distance(own, kind)]
