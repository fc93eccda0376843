"""Declarations inside of functions: variables, references, arrays, shared memory, and a function's parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...kernels.parse import Deduced, Function, Node, Pointer, Reference, c_name, no_translation
from ...kernels.preprocess import CompileException, Line
from .. import flow
from ..lanes import NOBODY, Lanes, Mask
from ..memory import Ref
from ..types import VOID
from ..values import Step
from .access import name_of
from .calls import Calls
from .expressions import zero_of
from .places import Registers, shared_array
from .scope import Variable
from .terms import Array, StructType, Term, size_of


class Declarations(Calls):
    """What a declaration does with all threads, and the name that's known from there on."""

    def parameter(self, kind: Any, name: str, origin: frozenset) -> Variable:
        slot = self.program.new_slot()
        made = Variable(name, kind, slot)
        if isinstance(kind, Reference):
            made = Variable(name, kind.to, slot, kind.is_const, None, lambda lanes, mask: lanes.held[slot].value)
        elif name in self.addressed and not isinstance(kind, Array):
            made.place = _own_copy(name, kind, slot)
        self.flow(slot, kind, origin)
        if name:
            self.scopes[-1][name] = made
        return made

    def run_declare(self, line: Line, kind: Any, name: str, first: Any, words: frozenset[str]) -> Step:
        made = self.resolve_declared(kind, first, line)
        if "__shared__" in words:
            return self._declare_shared(line, made, name, (1,), first, words, True)
        if isinstance(made, Reference):
            return self._declare_reference(line, made, name, first, isinstance(kind.to, Deduced))
        if made is None:
            raise CompileException(f"a variable of void: {line}")
        if first is None and isinstance(made, StructType):
            first = []  # whether each field has a value isn't noted
        value = None if first is None else self.first_value(made, first, line)
        is_const = bool(words & {"const", "constexpr"}) and not isinstance(made, Pointer)
        slot = self.program.new_slot()
        variable = Variable(name, made, slot, is_const)
        if is_const and value is not None and value.known is not None:
            variable.known = value.known
        self.scopes[-1][name] = variable
        if "static" in words and not is_const:
            raise no_translation(line, "a static variable in a function")
        if name in self.addressed:
            return self._declare_addressed(line, variable, value)
        if value is None:

            def forget(lanes: Lanes, mask: Mask) -> None:
                held = lanes.held[slot]
                if mask.count == lanes.alive:
                    held.given = NOBODY

            return Step(VOID, forget)
        self.flow(slot, made, value.origin)
        run, site = value.run, self.site(line)

        def step(lanes: Lanes, mask: Mask) -> None:
            lanes.assign(mask, slot, run(lanes, mask), site)

        return Step(VOID, step)

    def _declare_addressed(self, line: Line, variable: Variable, value: Term | None) -> Step:
        """A variable whose address is asked for: it's an array of one element."""
        slot, kind, name, site = variable.slot, variable.type, variable.name, self.site(line)
        variable.place = lambda lanes, mask: lanes.held[slot].value
        variable.known = None
        if value is not None:
            self.flow(slot, kind, value.origin)

        def step(lanes: Lanes, mask: Mask) -> None:
            new = None if value is None else value.run(lanes, mask)
            made = Registers(name, (1,), kind)
            if new is not None:
                made.store(lanes, mask, new, 0, site)
            lanes.held[slot].put(Ref(made, 0, 0))  # type: ignore[arg-type]

        return Step(VOID, step)

    def _declare_reference(self, line: Line, kind: Reference, name: str, first: Any, is_deduced: bool) -> Step:
        if first is None or isinstance(first, list):
            raise CompileException(f"a reference needs what it refers to: {line}")
        place = self.place(first)
        slot = self.program.new_slot()
        if is_deduced and place.is_const:  # auto& is const, too
            kind = kind._replace(is_const=True)
        if place.is_const and not kind.is_const:
            raise CompileException(f"a {c_name(kind.to)}& refers to nothing const: {line}")
        if place.pointer is None:
            if kind.is_const:
                return self.run_declare(line, kind.to, name, first, frozenset(["const"]))
            raise no_translation(line, "a reference to this")
        address, site = place.pointer, self.site(line)
        made = Variable(name, kind.to, slot, kind.is_const, None, lambda lanes, mask: lanes.held[slot].value)
        self.scopes[-1][name] = made
        self.flow(slot, kind, address.origin)
        run = address.run
        return Step(VOID, lambda lanes, mask: lanes.assign(mask, slot, run(lanes, mask), site))

    def run_array(
        self, line: Line, kind: Any, name: str, nodes: list[Node | None], first: Any, words: frozenset[str]
    ) -> Step:
        of = self.resolve(kind)
        if "__shared__" in words:
            lengths = (0,) if nodes == [None] else self.lengths(nodes, first, line)
            return self._declare_shared(line, of, name, lengths, first, words, False)
        lengths = self.lengths(nodes, first, line)
        slot, site = self.program.new_slot(), self.site(line)
        is_const = bool(words & {"const", "constexpr"}) and not isinstance(of, Pointer)
        self.scopes[-1][name] = Variable(
            name, Array(of, lengths, is_const), slot, is_const, None, lambda lanes, mask: lanes.held[slot].value
        )
        values: dict[int, Any] = {}
        if first is None and isinstance(of, StructType):
            first = []
        if first is not None:
            terms = [(k, self.first_value(of, one, line)) for k, one in self.elements(first, lengths, line)]
            values = {k: term.run for k, term in terms}
            for _, term in terms:
                self.flow(slot, of, term.origin)
        is_filled, zero = first is not None, zero_of(of)

        def step(lanes: Lanes, mask: Mask) -> None:
            made = Registers(name, lengths, of)
            if is_filled:
                for k in range(made.size):
                    made.store(lanes, mask, values[k](lanes, mask) if k in values else zero, k, site)
            lanes.held[slot].put(Ref(made, 0, 0))  # type: ignore[arg-type]

        return Step(VOID, step)

    def _declare_shared(
        self, line: Line, of: Any, name: str, lengths: tuple[int, ...], first: Any, words: frozenset[str], is_one: bool
    ) -> Step:
        if first is not None:
            raise CompileException(f"shared memory can't begin with a value: {line}")
        key, site = object(), self.site(line)
        is_dynamic = lengths == (0,)
        self.program.shared_bytes += int(np.prod(lengths)) * size_of(of, line)

        def place(lanes: Lanes, mask: Mask) -> Ref:
            if key not in lanes.shared:
                if is_dynamic:
                    return lanes.launch.dynamic_shared(lanes, key, name, of)
                lanes.launch.count_shared(lanes, int(np.prod(lengths)) * size_of(of, line), site)
            return shared_array(lanes, key, name, of, lengths)

        kind = of if is_one else Array(of, lengths)
        self.scopes[-1][name] = Variable(name, kind, -1, False, None, place)
        return Step(VOID, flow.go_on)


def _own_copy(name: str, kind: Any, slot: int) -> Callable[[Lanes, Mask], Ref]:
    """Where a parameter is whose address is asked for: an array of one element, made at the call."""

    def place(lanes: Lanes, mask: Mask) -> Ref:
        value: Any = lanes.held[slot].value
        if getattr(getattr(value, "part", None), "parameter", None) != slot:
            made = Registers(name, (1,), kind)
            made.parameter = slot
            made.cells[0], made.given[0] = value, True
            value = Ref(made, 0, 0)  # type: ignore[arg-type]
            lanes.held[slot].put(value)
        return value

    return place


def addressed(node: Any, known_functions: dict[str, list[Function]]) -> set[str]:
    """The names whose address the text asks for, with & or by giving them to a reference."""
    found: set[str] = set()
    if isinstance(node, (list, tuple)) and not isinstance(node, Node):
        for part in node:
            found |= addressed(part, known_functions)
        return found
    if not isinstance(node, Node):
        return found
    if node.kind == "address" and node.parts[0].kind == "name":
        found.add(node.parts[0].parts[0])
    if node.kind == "call":
        for function in known_functions.get(node.parts[0], []):
            for (kind, _), arg in zip(function.parameters, node.parts[1]):
                if isinstance(kind, Reference) and isinstance(arg, Node) and arg.kind == "name":
                    found.add(arg.parts[0])
    if node.kind == "declare" and isinstance(node.parts[0], Reference):
        first = node.parts[2]
        if isinstance(first, Node) and first.kind == "name":
            found.add(first.parts[0])
    for part in node.parts:
        found |= addressed(part, known_functions)
    return found


def compared(node: Any) -> set[str]:
    """The pointers that the text gives to atomicCAS: where it reads them itself, it guesses, and this corrects it."""
    found: set[str] = set()
    if isinstance(node, Node):
        if node.kind == "call" and node.parts[0].startswith("atomicCAS") and node.parts[1]:
            found.add(name_of(node.parts[1][0]))
        node = node.parts
    if isinstance(node, (list, tuple)):
        for part in node:
            found |= compared(part)
    return found - {""}
