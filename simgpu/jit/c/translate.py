"""A kernel in C becomes functions that compute it for all threads: first what's outside of functions, then its body.

A statement becomes a step of `flow.py`, an expression a `Term`, and what can be written to a `Place`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...kernels.parse import Function, Node, c_name, no_translation
from ...kernels.preprocess import CompileException
from ..lanes import Lanes, Mask
from ..memory import Ref
from ..values import Step
from .calls import Calls
from .declarations import addressed, compared
from .scope import Notes, Variable
from .source import CSource
from .statements import Statements
from .terms import Array


class Program(Notes):
    """A kernel, translated."""

    def __init__(self, source: CSource, given: Sequence[Any]) -> None:
        super().__init__(source)
        self.constants = _NothingOutside()
        self.functions: dict[Any, Translation | None] = {}
        Outside(self, None, {}).note()
        made = Translation(self, source.function, given, {})
        self.parameters = made.parameters
        self.run = _as_steps(made.body)
        self.changed = self.written()

    def device_function(self, function: Function, letters: dict[str, Any], origins: Sequence[frozenset]) -> Any:
        key = id(function), tuple(sorted((k, str(v), type(v).__name__) for k, v in letters.items()))
        if key not in self.functions:
            self.functions[key] = None
            self.functions[key] = Translation(self, function, (), letters, origins)
        return self.functions[key]


class _NothingOutside:
    """A file of C means the same at each launch."""

    def have_changed(self) -> None:
        pass


def _as_steps(body: Step) -> Callable[[Lanes, Mask], Any]:
    def run(lanes: Lanes, mask: Mask) -> Any:
        yield from ()
        return body.run(lanes, mask)

    return run


class Outside(Calls):
    """What stands outside of functions: constants, and variables in the card's memory."""

    def note(self) -> None:
        for node in self.source.module.globals:
            for one in node.parts[0]:
                self._note(one)

    def _note(self, node: Node) -> None:
        if node.kind not in ("declare", "array"):
            return
        kind, name, *rest = node.parts
        words = rest[-1]
        if node.kind == "array":
            lengths = self.lengths(rest[0], rest[1], node.line)
            made: Any = Array(self.resolve(kind), lengths, bool(words & {"const", "constexpr"}))
            first = rest[1]
        else:
            made, first = self.resolve_declared(kind, rest[0], node.line), rest[0]
        if "__shared__" in words:
            raise no_translation(node.line, "shared memory outside of a function")
        is_on_card = bool(words & {"__constant__", "__device__", "__managed__"})
        if not is_on_card and not words & {"const", "constexpr"}:
            return  # it's the host's, and no kernel knows it
        if not is_on_card and isinstance(made, np.dtype) and first is not None:
            value = self.first_value(made, first, node.line)
            if value.known is not None:
                self.program.outside[name] = Variable(name, made, -1, True, value.known)
                return
        self._in_memory(node, name, made, first, bool(words & {"const", "constexpr"}))

    def _in_memory(self, node: Node, name: str, kind: Any, first: Any, is_const: bool) -> None:
        """A variable of ``__device__`` or ``__constant__``: it keeps its values from launch to launch."""
        of, lengths = (kind.of, kind.lengths) if isinstance(kind, Array) else (kind, (1,))
        if not isinstance(of, np.dtype):
            raise no_translation(node.line, f"{c_name(of)} outside of a function")
        memory = self.source.module.memory
        if name not in memory:
            memory[name] = values = np.zeros(lengths, of)
            self.program.constant_bytes += values.nbytes
            if first is None:
                first = []
            elif not isinstance(kind, Array) and not isinstance(first, list):
                first = [first]
            for k, part in self.elements(first, lengths, node.line):
                value = self.first_value(of, part, node.line)
                if value.known is None:
                    raise no_translation(node.line, "a value that isn't known before the launch")
                values.reshape(-1)[k] = value.known

        def place(lanes: Lanes, mask: Mask) -> Ref:
            return lanes.launch.global_variable(name, memory[name])

        self.program.outside[name] = Variable(name, kind, -1, is_const, place=place)


class Translation(Statements):
    """Translates one function, for what its template is given."""

    def __init__(
        self, program: Program, function: Function, given: Sequence[Any], letters: dict[str, Any],
        origins: Sequence[frozenset] | None = None,
    ) -> None:  # fmt: skip
        bound = dict(letters)
        super().__init__(program, function, bound)
        for (name, _, _), value in zip(function.letters, given):
            bound[name] = self.template_value(value)
        for name, _, default in function.letters[len(given) :]:
            if name not in bound and default is not None:
                bound[name] = self.template_value(default)
        if missing := [name for name, _, _ in function.letters if name not in bound]:
            what = f"what {missing[0]} is in {function.name}"
            raise CompileException(f"{what}: write {function.name}<…>: {function.line}")
        self.returns = self.resolve(function.returns)
        self.result_slot = program.new_slot()
        self.result_origin: frozenset = frozenset([self.result_slot])
        self.parameters: list[Variable] = []
        self.addressed = addressed(function.body, program.source.module.parser.functions)
        self.compared = compared(function.body)
        for k, (kind, name) in enumerate(function.parameters):
            origin = origins[k] if origins is not None else frozenset([name])
            self.parameters.append(self.parameter(self.resolve(kind), name, origin))
        self.body = self.statement(function.body)
        self.own = range(self.first_slot, program.slots)
