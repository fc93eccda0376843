"""What a type of the text is: templates' letters, structs, an array's lengths, and numbers that must be known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...kernels.parse import Deduced, Named, Node, Pointer, Reference, Sized, Struct, c_name, no_translation
from ...kernels.preprocess import CompileException, Line
from ..types import same
from .scope import Scope
from .source import VECTORS
from .terms import Array, StructType, decayed


class TypeNames(Scope):
    """The types that the text names, with what its letters mean here."""

    def resolve(self, kind: Any) -> Any:
        """A type of the text, with what its letters mean here."""
        if isinstance(kind, str):
            if kind not in self.bound:
                raise CompileException(f"the type {kind} isn't known in {self.name}")
            return self.bound[kind]
        if isinstance(kind, Pointer):
            return Pointer(self.resolve(kind.to), kind.is_const)
        if isinstance(kind, Reference):
            return Reference(self.resolve(kind.to), kind.is_const)
        if isinstance(kind, Sized):
            return Array(self.resolve(kind.of), self.lengths(kind.lengths, None, self.line_of(kind.lengths)))
        if isinstance(kind, Named):
            return self._named(kind)
        return kind

    def line_of(self, nodes: list[Node | None]) -> Any:
        """The line where these nodes stand; if there's none, that of the function."""
        for node in nodes:
            if node is not None:
                return node.line
        return self.function.line if self.function else ""

    def _named(self, kind: Named) -> Any:
        if kind.member:
            owner = self.resolve(kind.name if kind.name in self.bound else kind._replace(member=""))
            if kind.member == "value_type" and isinstance(owner, np.dtype) and owner.kind == "c":
                return owner.type(0).real.dtype
            raise CompileException(f"{c_name(owner)} has no type {kind.member}")
        if kind.name == "complex":
            return np.result_type(self.resolve(kind.given[0]), np.complex64)
        if kind.name in VECTORS:
            dtype, count = VECTORS[kind.name]
            return StructType(kind.name, tuple((axis, np.dtype(dtype)) for axis in "xyzw"[:count]))
        struct, bound = self.struct(kind)
        outer, self.bound = self.bound, {**self.bound, **bound}
        fields = []
        for one in struct.fields:
            if one.lengths:
                raise no_translation(self.function.line if self.function else "", f"{struct.name}: an array as a field")
            fields.append((one.name, self.resolve(one.kind)))
        self.bound = outer
        return StructType(struct.name, tuple(fields))

    def struct(self, kind: Named) -> tuple[Struct, dict[str, Any]]:
        """The struct of this name that fits what its template is given, and what its letters mean."""
        values = tuple(self.template_value(value) for value in kind.given)
        several = self.program.source.module.parser.structs[kind.name]
        for given, struct in several:
            own = [self.template_value(value) for value in given]
            if own and len(own) == len(values) and all(map(is_equal, own, values)):
                return struct, {}
        for given, struct in several:
            if not given:
                return struct, {name: value for (name, _, _), value in zip(struct.letters, values)}
        raise CompileException(f"no struct {kind.name} for this: {', '.join(map(c_name, values))}")

    def template_value(self, value: Any) -> Any:
        """What a template is given: a type, or a number."""
        if not isinstance(value, Node):
            return self.resolve(value)
        if value.kind == "name" and value.parts[0] in self.bound:
            return self.bound[value.parts[0]]
        return self.constant(value)

    def constant(self, node: Node) -> Any:
        """A number that the compiler has to know. Raises `CompileException`."""
        found = self.value(node)
        if found.known is None:
            raise CompileException(f"a number here must be known before the launch: {node.line}")
        return found.known

    def lengths(self, nodes: list[Node | None], first: Any, line: Line) -> tuple[int, ...]:
        """An array's lengths. The first one may be left out, if what's in braces says it."""
        found = []
        for axis, node in enumerate(nodes):
            if node is not None:
                found.append(int(self.constant(node)))
            elif axis == 0 and isinstance(first, list):
                found.append(0)
            else:
                raise CompileException(f"an array without a length: {line}")
        if nodes[0] is None:
            _, count = _in_braces(first, tuple(found[1:]), line)
            found[0] = -(-count // math.prod(found[1:]))
        if min(found) < 1:
            raise CompileException(f"an array has at least one element, got {min(found)}: {line}")
        return tuple(found)

    def elements(self, first: Any, lengths: tuple[int, ...], line: Line) -> list[tuple[int, Any]]:
        """What's in braces, with the number of the element that it's for. Raises `CompileException`."""
        if not isinstance(first, list):
            raise CompileException(f"an array begins with values in braces: {line}")
        found, count = _in_braces(first, lengths[1:], line)
        if count > math.prod(lengths):
            raise CompileException(f"{count} values for {math.prod(lengths)} elements: {line}")
        return found

    def resolve_declared(self, kind: Any, first: Any, line: Line) -> Any:
        inner = kind.to if isinstance(kind, (Pointer, Reference)) else kind
        if not isinstance(inner, Deduced):
            return self.resolve(kind)
        if first is None or isinstance(first, list):
            raise CompileException(f"auto needs a value: {line}")
        found = decayed(self.value(first)).type
        if isinstance(kind, Reference):
            return Reference(found, kind.is_const)
        return found


def _in_braces(nodes: list[Any], rest: tuple[int, ...], line: Line) -> tuple[list[tuple[int, Any]], int]:
    """Values in braces, each with the number of its element, and how many elements they're for.

    An element of the first axis has the lengths of the `rest`. Braces around its values begin and end it.
    """
    found: list[tuple[int, Any]] = []
    at, each = 0, math.prod(rest)
    for node in nodes:
        if isinstance(node, list) and rest:
            at = -(-at // each) * each
            inner, count = _in_braces(node, rest[1:], line)
            if count > each:
                raise CompileException(f"{count} values for {each} elements: {line}")
            found += [(at + k, part) for k, part in inner]
            at += each
        else:
            found.append((at, node))
            at += 1
    return found, at


def deduce(kind: Any, given: Any, letters: list[str], found: dict[str, Any]) -> None:
    """What a template's letters are, from what a parameter gets."""
    if isinstance(kind, str):
        if kind in letters and kind not in found:
            found[kind] = given
    elif isinstance(kind, (Pointer, Reference)) and isinstance(given, Pointer):
        deduce(kind.to, given.to, letters, found)
    elif isinstance(kind, Sized) and isinstance(given, Array):
        deduce(kind.of, given.of, letters, found)
    elif isinstance(kind, Named) and kind.name == "complex" and isinstance(given, np.dtype):
        deduce(kind.given[0], given.type(0).real.dtype, letters, found)


def is_equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.generic) and isinstance(b, np.generic):
        return bool(a == b)
    return same(a, b)
