"""What each translation of a piece of C begins with: the names that it sees, and the way from a node to its method.

A method is found by the kind of its node, from `simgpu/kernels/parse.py`: `at_…` gives a value, `place_…` what can be
written to, `run_…` a statement's step. They're in the files that build on this one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...kernels.parse import Function, Node, Pointer, Reference
from ...kernels.preprocess import CompileException, Line
from ..lanes import Lanes, Mask
from ..memory import Ref
from ..types import VOID
from ..values import Step
from .places import Place
from .source import CSite, CSource
from .terms import StructType, Term


@dataclass
class Variable:
    """A name of the program: its type, and where its values are."""

    name: str
    type: Any
    slot: int
    is_const: bool = False
    known: Any = None  # its number, if the compiler knows it
    place: Callable[[Lanes, Mask], Ref] | None = None  # memory that it names: an array, or what a reference means


class Notes(ABC):
    """What's noted of a kernel while it's translated: where its variables are, and what it writes to."""

    def __init__(self, source: CSource) -> None:
        self.source, self.name, self.slots = source, source.name, 0
        self.shared_bytes = self.constant_bytes = 0  # that the text declares
        self.flows: dict[int, set] = {}  # which arrays, or other variables, a pointer may come from
        self.puts: list[tuple[frozenset, frozenset]] = []  # pointers that are put where a pointer points: where, which
        self.stored: set = set()  # arrays and variables that are written to, as in `flows`
        self.outside: dict[str, Variable] = {}  # what's declared outside of functions

    def new_slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def flow(self, slot: int, origin: frozenset) -> None:
        """The pointer in this variable may come from there."""
        self.flows.setdefault(slot, set()).update(origin)

    def written(self) -> frozenset[str]:
        """The arguments that it writes to."""
        before = -1
        while before != (before := sum(map(len, self.flows.values()))):
            for where, origin in self.puts:
                for slot in self._reached(where):
                    if isinstance(slot, int):
                        self.flow(slot, origin)
        return frozenset(name for name in self._reached(self.stored) if isinstance(name, str))

    def _reached(self, places: Iterable[Any]) -> set:
        """These variables and arguments, and those that what they hold may come from."""
        found: set = set()
        rest = list(places)
        while rest:
            one = rest.pop()
            if one not in found:
                found.add(one)
                rest += self.flows.get(one, ())
        return found

    @abstractmethod
    def device_function(self, function: Function, letters: dict[str, Any], origins: Sequence[frozenset]) -> Any:
        """The function, translated for what its template's letters are. None while that is still going on."""


class Scope:
    """The names that a piece of C sees, the innermost block's first."""

    def __init__(self, program: Notes, function: Function | None, bound: dict[str, Any]) -> None:
        self.program, self.function, self.bound = program, function, bound
        self.scopes: list[dict[str, Variable]] = [{}]
        self.first_slot = program.slots
        self.source = program.source
        self.name, self.is_device = program.name, False
        if function is not None and "__global__" not in function.words:
            self.name, self.is_device = function.name, True
        self.addressed: set[str] = set()  # the variables whose address the text asks for
        self.compared: set[str] = set()  # the pointers that it gives to atomicCAS
        self.uses_result = True

    def site(self, line: Line) -> CSite:
        return CSite(self.source, line)

    def find(self, name: str, line: Line) -> Variable:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name in self.program.outside:
            return self.program.outside[name]
        raise CompileException(f"identifier {name} is undefined: {line}")

    def flow(self, slot: int, kind: Any, origin: frozenset) -> None:
        if isinstance(kind, (Pointer, Reference, StructType)):
            self.program.flow(slot, origin)

    def any(self, node: Node) -> Term:
        """The value of a node, which may have none."""
        method = getattr(self, f"at_{node.kind}", None)
        if method is not None:
            return method(node.line, *node.parts)
        return self.place(node).read()

    def value(self, node: Node) -> Term:
        used, self.uses_result = self.uses_result, True
        found = self.any(node)
        self.uses_result = used
        if found.type is None:
            raise CompileException(f"void where a value should be: {node.line}")
        return found

    def place(self, node: Node) -> Place:
        """What can be written to. Raises `CompileException` for what can't."""
        method = getattr(self, f"place_{node.kind}", None)
        if method is None:
            raise CompileException(f"this can't be changed, and has no address: {node.line}")
        used, self.uses_result = self.uses_result, True
        found = method(node.line, *node.parts)
        self.uses_result = used
        return found

    def statement(self, node: Node) -> Step:
        method = getattr(self, f"run_{node.kind}", None)
        if method is not None:
            return method(node.line, *node.parts)
        self.uses_result = False
        term = self.any(node)
        self.uses_result = True
        run = term.run

        def step(lanes: Lanes, mask: Mask) -> None:
            run(lanes, mask)

        return Step(VOID, step)
