"""What a captured step gives back: a structure that stays the same, with slots for the arrays that each call fills."""

import enum
import types
from collections.abc import Container
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from ..devices.base import Device
from ..tree.contract import attributes, is_leaf
from ..tree.flat import TiedLeaf, flatten
from .memory import is_real_array, own_copy, values_of
from .program import CaptureError, check_plain, users_line
from .recorded import CapturedArray, CapturedGenerator, CapturedNumber
from .terms import has_a_value, terms_of

_CODE = (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, np.ufunc)


class Part:
    """A part of a result, or all of it. `structure_of` makes it."""

    def filled(self, values: list) -> Any:
        """The result, with `values` in its slots."""
        raise NotImplementedError

    def expression(self, values: list[str], writer: Any) -> str:
        """The same as Python's expression, with the expressions `values` in its slots."""
        raise NotImplementedError

    def terms(self) -> Any:
        """Equal for two runs that gave the same structure, with the same numbers of Python's and texts in it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Slot(Part):
    """Where the array with this number stands."""

    number: int

    def filled(self, values: list) -> Any:
        return values[self.number]

    def expression(self, values: list[str], writer: Any) -> str:
        return values[self.number]

    def terms(self) -> Any:
        return "an array"


@dataclass(frozen=True)
class Constant(Part):
    """What the step found, and doesn't change; a number; a text; another thing that nobody changes."""

    value: Any
    is_found: bool

    def filled(self, values: list) -> Any:
        return self.value

    def expression(self, values: list[str], writer: Any) -> str:
        return writer.thing(self.value)

    def terms(self) -> Any:
        if self.is_found:
            return id(self.value)
        return terms_of(self.value)


@dataclass(frozen=True)
class ConstantArray(Part):
    """An array that NumPy makes in the step, or that a `param` holds: each call gets a copy."""

    value: Any
    is_found: bool

    def filled(self, values: list) -> Any:
        return own_copy(self.value)

    def expression(self, values: list[str], writer: Any) -> str:
        return f"own_copy({writer.thing(self.value)})"

    def terms(self) -> Any:
        if self.is_found:
            return id(self.value)
        return type(self.value), self.value.dtype, self.value.shape, values_of(self.value).tobytes()


@dataclass(frozen=True)
class Sequence(Part):
    """A tuple or a list."""

    kind: type
    parts: list[Part]

    def filled(self, values: list) -> Any:
        return self.kind([part.filled(values) for part in self.parts])

    def expression(self, values: list[str], writer: Any) -> str:
        inside = "".join(f"{part.expression(values, writer)}, " for part in self.parts)
        if self.kind is tuple:
            return f"({inside})"
        return f"[{inside}]"

    def terms(self) -> Any:
        return self.kind, [part.terms() for part in self.parts]


@dataclass(frozen=True)
class Dictionary(Part):
    parts: dict[Any, Part]

    def filled(self, values: list) -> Any:
        return {key: part.filled(values) for key, part in self.parts.items()}

    def expression(self, values: list[str], writer: Any) -> str:
        items = [f"{writer.thing(key)}: {part.expression(values, writer)}" for key, part in self.parts.items()]
        return f"{{{', '.join(items)}}}"

    def terms(self) -> Any:
        return dict, [(terms_of(key), part.terms()) for key, part in self.parts.items()]


@dataclass(frozen=True)
class Rebuilt(Part):
    """An object that the step makes, such as a gradient: each call makes another, with these leaves."""

    flat: Any
    leaves: list[Part]

    def filled(self, values: list) -> Any:
        return self.rebuilt([leaf.filled(values) for leaf in self.leaves])

    def expression(self, values: list[str], writer: Any) -> str:
        leaves = ", ".join(leaf.expression(values, writer) for leaf in self.leaves)
        return f"{writer.thing(self.rebuilt)}([{leaves}])"

    def rebuilt(self, leaves: list) -> Any:
        return self.flat.results(leaves)[self.flat.root]

    def terms(self) -> Any:
        return Rebuilt, [leaf.terms() for leaf in self.leaves], [_recipe(branch) for branch in self.flat.recipe]


def _recipe(branch: Any) -> tuple:
    """Equal for two places of a tree at which a replay makes the same of its parts: the class, and what's no part."""
    if isinstance(branch, TiedLeaf):
        return "tied", branch.same
    same = getattr(branch, "same", None)
    return type(branch.x), branch.names, tuple(branch.parts), same, _carried_over(branch.x, branch.names)


def _carried_over(x: Any, names: tuple | None) -> tuple:
    """The attributes of an object that aren't among its parts: what's rebuilt has the same."""
    parts = names or ()
    return tuple([(name, terms_of(value)) for name, value in attributes(x).items() if name not in parts])


def structure_of(result: Any, outputs: list[CapturedArray], found: Container[int]) -> Part:
    """The structure of a result, with a `Slot` for each array. The arrays are added to `outputs`.

    `found` are the ids of the objects that the step could reach: these stay what they are.
    """
    if hasattr(type(result), "__primitive__"):  # the older styles' tracked arrays
        result = result.data
    if isinstance(result, CapturedArray):
        outputs.append(result)
        return Slot(len(outputs) - 1)
    if type(result) is CapturedNumber:
        raise CaptureError(f"{users_line()}: a captured step can't return a number that an optimizer computes")
    if type(result) is CapturedGenerator:
        return Constant(result.generator, is_found=True)
    if type(result) in (tuple, list):
        return Sequence(type(result), [structure_of(part, outputs, found) for part in result])
    if type(result) is dict:
        return Dictionary({key: structure_of(part, outputs, found) for key, part in result.items()})
    is_found = id(result) in found
    if isinstance(result, np.ndarray):
        check_plain(result, "what the step returns")
    if is_real_array(result):
        return ConstantArray(result, is_found)
    if is_found:
        return Constant(result, is_found)
    if not is_leaf(result):
        flat = flatten(result)
        plain = [leaf.value if isinstance(leaf, CapturedArray) else leaf for leaf in flat.leaves]
        leaves = [structure_of(leaf, outputs, found) for leaf in flat.leaves]
        return Rebuilt(flatten(flat.results(plain)[flat.root]), leaves)  # which keeps none of the captured arrays
    if _is_a_value(result):
        return Constant(result, is_found)
    raise CaptureError(
        f"{users_line()}: a captured step can't return a {type(result).__name__} that it makes, since each replay "
        "would give the same one. Return a tuple, list or dict of arrays and numbers, and make it of them after the "
        "call; or write @fl.functor above the class"
    )


def _is_a_value(x: Any) -> bool:
    """Whether nobody can tell one such thing from another that's equal: a number, a text, a date; a function."""
    if x is None or isinstance(x, (*_CODE, Device)):
        return True
    if isinstance(x, CapturedArray) or is_real_array(x):
        return False
    if isinstance(x, (frozenset, slice, enum.Enum)):
        return True
    parts = [getattr(x, field.name) for field in fields(x)] if is_dataclass(x) else []
    return has_a_value(type(x)) and all(map(_is_a_value, parts))
