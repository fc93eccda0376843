"""What a captured step gives back: a structure that stays the same, with slots for the arrays that each call fills."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..tree.contract import is_leaf
from ..tree.flat import flatten
from .program import CaptureError, check_plain, users_line
from .recorded import NUMBERS, CapturedArray, CapturedNumber


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
    """What the step found, and doesn't change; a number of Python's; a text."""

    value: Any

    def filled(self, values: list) -> Any:
        return self.value

    def expression(self, values: list[str], writer: Any) -> str:
        return writer.thing(self.value)

    def terms(self) -> Any:
        if isinstance(self.value, (*NUMBERS, complex, str, bytes)):
            return type(self.value), repr(self.value)
        return type(self.value)


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
        return dict, [(key, part.terms()) for key, part in self.parts.items()]


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
        return Rebuilt, [leaf.terms() for leaf in self.leaves]


def structure_of(result: Any, outputs: list[CapturedArray]) -> Part:
    """The structure of a result, with a `Slot` for each array. The arrays are added to `outputs`."""
    if hasattr(type(result), "__primitive__"):  # the older styles' tracked arrays
        result = result.data
    if isinstance(result, CapturedArray):
        outputs.append(result)
        return Slot(len(outputs) - 1)
    if type(result) is CapturedNumber:
        raise CaptureError(f"{users_line()}: a captured step can't return a number that an optimizer computes")
    if type(result) in (tuple, list):
        return Sequence(type(result), [structure_of(part, outputs) for part in result])
    if type(result) is dict:
        return Dictionary({key: structure_of(part, outputs) for key, part in result.items()})
    if isinstance(result, np.ndarray):
        check_plain(result, "what the step returns")
    if not is_leaf(result):
        flat = flatten(result)
        if any(isinstance(leaf, CapturedArray) for leaf in flat.leaves):
            plain = [leaf.value if isinstance(leaf, CapturedArray) else leaf for leaf in flat.leaves]
            leaves = [structure_of(leaf, outputs) for leaf in flat.leaves]
            return Rebuilt(flatten(flat.results(plain)[flat.root]), leaves)  # which keeps none of the captured arrays
    return Constant(result)
