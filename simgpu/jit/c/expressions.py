"""Expressions of C: numbers, casts, signs, braces. Names and elements are in `access.py`, calls in `calls.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...kernels import numbers
from ...kernels.parse import Deduced, Named, Node, Pointer, Reference, c_name, no_translation
from ...kernels.preprocess import CompileException, Line
from .. import flow
from ..lanes import Lanes, Mask, where
from ..types import BOOL, same
from ..values import Value
from .places import viewed
from .terms import (
    NULL,
    StructType,
    Term,
    binary,
    computed,
    converted,
    decayed,
    known,
    size_of,
    truth,
    unary,
)
from .typenames import TypeNames


class Expressions(TypeNames):
    """What each kind of expression gives: a `Term`."""

    def at_number(self, line: Line, number: Any) -> Term:
        return known(number)

    def at_text(self, line: Line, text: str) -> Term:
        raise no_translation(line, "a text")

    def at_comma(self, line: Line, first: Node, second: Node) -> Term:
        a, b = self.any(first).run, self.any(second)
        run = b.run

        def both(lanes: Lanes, mask: Mask) -> Any:
            a(lanes, mask)
            return run(lanes, mask)

        return replace(b, run=both, known=None)

    def at_sizeof(self, line: Line, what: Any) -> Term:
        kind = self.value(what).type if isinstance(what, Node) else self.resolve(what)
        return known(np.uint64(size_of(kind, line)))

    def at_cast(self, line: Line, kind: Any, parts: list[Any]) -> Term:
        to = self.resolve(kind)
        if isinstance(to, Reference):
            raise no_translation(line, "a cast to a reference")
        if isinstance(to, Deduced):
            raise CompileException(f"a cast to auto: {line}")
        if isinstance(to, StructType) and not (len(parts) == 1 and self._is(parts[0], to)):
            return self.struct_of(to, parts, line)
        if isinstance(to, np.dtype) and to.kind == "c" and len(parts) == 2:
            real = to.type(0).real.dtype
            terms = [converted(self.value(part), real, line) for part in parts]
            return computed(to, terms, lambda a, b: numbers.cast(a + b * np.complex64(1j), to))
        if len(parts) > 1:
            raise CompileException(f"{c_name(to)} takes one value, got {len(parts)}: {line}")
        if not parts:
            return self.first_value(to, [], line)
        given = decayed(self.value(parts[0]))
        found = converted(given, to, line, is_asked=True)
        if isinstance(to, Pointer) and isinstance(given.type, Pointer) and not same(given.type.to, to.to):
            run, site = found.run, self.site(line)
            return replace(found, run=lambda lanes, mask: viewed(lanes, run(lanes, mask), to.to, site))
        return found

    def _is(self, part: Any, kind: Any) -> bool:
        return isinstance(part, Node) and same(self.value(part).type, kind)

    def at_unary(self, line: Line, sign: str, node: Node) -> Term:
        return unary(sign, decayed(self.value(node)), line)

    def at_binary(self, line: Line, sign: str, left: Node, right: Node) -> Term:
        return binary(sign, self.value(left), self.value(right), line)

    def at_both(self, line: Line, sign: str, left: Node, right: Node) -> Term:
        first = truth(self.value(left), line)
        is_and = sign == "&&"
        if first.known is not None:
            if bool(first.known) != is_and:
                return known(np.bool_(not is_and))
            return truth(self.value(right), line)
        second = truth(self.value(right), line)
        return Term(BOOL, flow.both(as_value(first), as_value(second), is_and).run)

    def at_conditional(self, line: Line, test: Node, yes: Node, no: Node) -> Term:
        condition = truth(self.value(test), line)
        x, y = decayed(self.any(yes)), decayed(self.any(no))
        if isinstance(x.type, Pointer) and isinstance(y.type, Pointer) and x.type.is_const:
            kind: Any = x.type
        elif same(x.type, y.type):
            kind = x.type
        elif isinstance(x.type, np.dtype) and isinstance(y.type, np.dtype):
            kind = numbers.common(x.type, y.type)
        else:
            kind = x.type if isinstance(x.type, Pointer) and not isinstance(y.type, Pointer) else y.type
        if kind is not None:
            x, y = converted(x, kind, line), converted(y, kind, line)
        if condition.known is not None:
            return x if condition.known else y
        site = self.site(line)

        def merge(on: Any, a: Any, b: Any) -> Any:
            return where(on, a, b, site)

        found = flow.choose(as_value(condition), as_value(x), as_value(y), merge)
        return Term(kind, found.run, None, x.origin | y.origin)

    # -- what's in braces -------------------------------------------------------------------------

    def first_value(self, kind: Any, first: Any, line: Line) -> Term:
        """What a variable of this type begins with: a value, or what's in braces."""
        if isinstance(first, Node) and first.kind == "braces":
            first = first.parts[0]
        if isinstance(kind, StructType) and isinstance(first, list):
            return self.struct_of(kind, first, line)
        if isinstance(first, list):
            if not first and isinstance(kind, np.dtype):
                return known(kind.type(0))
            if not first:
                return fixed(kind, zero_of(kind))
            if len(first) > 1:
                raise CompileException(f"{len(first)} values for one {c_name(kind)}: {line}")
            return self.first_value(kind, first[0], line)
        return converted(self.value(first), kind, line)

    def struct_of(self, kind: StructType, parts: list[Any], line: Line) -> Term:
        if len(parts) > len(kind.fields):
            raise CompileException(f"{len(parts)} values for {kind.name}: {line}")
        terms = [self.first_value(own, part, line) for part, (_, own) in zip(parts, kind.fields)]
        rest = slice(len(parts), None)
        terms += [fixed(own, value) for (_, own), value in zip(kind.fields[rest], zero_of(kind)[rest])]
        return struct_term(kind, terms)

    def at_constant(self, line: Line, kind: Named, name: str) -> Term:
        struct, bound = self.struct(kind)
        if name not in struct.constants:
            raise CompileException(f"{kind.name} has no {name}: {line}")
        own, node = struct.constants[name]
        outer, self.bound = self.bound, {**self.bound, **bound}
        found = self.first_value(self.resolve(own), node, line)
        self.bound = outer
        return found


def struct_term(kind: StructType, terms: Sequence[Term]) -> Term:
    runs = [term.run for term in terms]
    origin = frozenset().union(*[term.origin for term in terms])
    return Term(kind, lambda lanes, mask: tuple([run(lanes, mask) for run in runs]), None, origin)


def fixed(kind: Any, value: Any) -> Term:
    """The same in all threads."""
    if isinstance(kind, np.dtype):
        return known(value)
    return Term(kind, lambda lanes, mask: value)


def zero_of(kind: Any) -> Any:
    """What a value is that nothing is said of: 0, and of a ``dim3`` 1."""
    if isinstance(kind, StructType) and kind.name == "dim3":
        return (np.uint32(1),) * 3
    if isinstance(kind, StructType):
        return tuple([zero_of(part) for _, part in kind.fields])
    if isinstance(kind, Pointer):
        return NULL
    return kind.type(0)


def as_value(term: Term) -> Value:
    return Value(term.type, term.run)
