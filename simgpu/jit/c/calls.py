"""Calls: of the text's own functions, of CUDA's (`functions.py`, `atomics.py`), and of C's functions of numbers."""

from __future__ import annotations

from typing import Any

from ...kernels.parse import Function, Node, Pointer, Reference, no_translation
from ...kernels.preprocess import CompileException, Line
from ..lanes import NOBODY, Lanes, Mask
from ..memory import Ref
from . import atomics, functions  # noqa: F401
from .access import Access
from .places import Registers
from .scope import Variable
from .terms import Term, converted, decayed
from .typenames import deduce, is_equal


class Calls(Access):
    """A function of the text is translated once for each set of types that its template gets."""

    def at_call(self, line: Line, name: str, args: list[Node], given: tuple[Any, ...]) -> Term:
        several = self.program.source.module.parser.functions.get(name, [])
        if several:
            function = self._fitting(line, several, args)
            return self._call(line, function, function.filled(args), given)
        build = functions.BUILTINS.get(name)
        if build is not None:
            return build(self, line, name, args)
        return functions.of_numbers(self, line, name, [decayed(self.value(arg)) for arg in args])

    def _fitting(self, line: Line, several: list[Function], args: list[Node]) -> Function:
        fitting = [function for function in several if function.takes(len(args))]
        if not fitting:
            counts = len(several[0].parameters)
            raise CompileException(f"{several[0].name} takes {counts} arguments, got {len(args)}: {line}")
        if len(fitting) == 1:
            return fitting[0]
        types = [decayed(self.value(arg)).type for arg in args]

        def distance(function: Function) -> int:
            wanted = [kind.to if isinstance(kind, Reference) else kind for kind, _ in function.parameters]
            return sum(not is_equal(kind, own) for kind, own in zip(wanted, types)) * 2 + bool(function.letters)

        return min(fitting, key=distance)

    def _call(self, line: Line, function: Function, args: list[Node], given: tuple[Any, ...]) -> Term:
        if "__global__" in function.words:
            raise no_translation(line, f"a call of the kernel {function.name}")
        letters = {name: self.template_value(value) for (name, _, _), value in zip(function.letters, given)}
        own = [name for name, _, _ in function.letters]
        terms: list[Term] = []
        for (kind, _), arg in zip(function.parameters, args):
            if isinstance(kind, Reference):
                terms.append(self._referred(kind, arg, line))
            else:
                terms.append(decayed(self.value(arg)))
            deduce(kind, terms[-1].type, own, letters)
        origins: list[frozenset] = [frozenset() for _ in terms]
        program = self.program
        made = program.device_function(function, letters, origins)
        if made is None:
            raise no_translation(line, f"{function.name}, which calls itself,")
        for variable, term in zip(made.parameters, terms):
            program.flow(variable.slot, term.origin)
        parts = []
        for variable, term, (kind, _) in zip(made.parameters, terms, function.parameters):
            if isinstance(kind, Reference):
                parts.append((variable, term.run))
            else:
                parts.append((variable, converted(term, variable.type, line).run))
        return self._run_call(made, parts, line)

    def _referred(self, kind: Reference, arg: Node, line: Line) -> Term:
        """The address of what a reference means. A const one may mean a value that has no address."""
        if hasattr(self, f"place_{arg.kind}"):
            variable = self.find(arg.parts[0], line) if arg.kind == "name" else None
            if variable is None or variable.known is None:
                place = self.place(arg)
                if place.pointer is not None:
                    return place.pointer
        if not kind.is_const:
            raise no_translation(line, "a reference to this")
        value = self.value(arg)
        site, run = self.site(line), value.run

        def copy(lanes: Lanes, mask: Mask) -> Ref:
            made = Registers("a copy", (1,), value.type)
            made.store(lanes, mask, run(lanes, mask), 0, site)
            return Ref(made, 0, 0)  # type: ignore[arg-type]

        return Term(Pointer(value.type, True), copy)

    def _run_call(self, made: Any, parts: list[tuple[Variable, Any]], line: Line) -> Term:
        body, own, result, kind = made.body.run, made.own, made.result_slot, made.returns
        end, is_used = self.site(line), made.returns is not None
        what = f"{made.name} ends in this thread without a return."

        def run(lanes: Lanes, mask: Mask) -> Any:
            values = [value(lanes, mask) for _, value in parts]
            for slot in own:
                lanes.held[slot].given = NOBODY
            lanes.held[result].given = NOBODY
            for (variable, _), value in zip(parts, values):
                lanes.held[variable.slot].put(value)
                if variable.place is not None and not variable.is_reference:
                    variable.place(lanes, mask)
            outer, lanes.loops = lanes.loops, []
            body(lanes, mask)
            lanes.loops = outer
            if is_used:
                return lanes.value_of(mask, result, end, what)
            return None

        return Term(kind, run, None, made.result_origin)
