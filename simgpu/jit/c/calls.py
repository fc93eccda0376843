"""Calls: of the text's own functions, of CUDA's (`functions.py`, `atomics.py`), and of C's functions of numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...kernels import numbers
from ...kernels.parse import Function, Node, Pointer, Reference, c_name, no_translation
from ...kernels.preprocess import CompileException, Line
from ...words import many
from ..lanes import NOBODY, Lanes, Mask
from ..memory import Ref
from . import atomics, functions, overloads  # noqa: F401
from .access import Access
from .places import Registers
from .scope import Variable
from .terms import StructType, Term, converted, decayed
from .typenames import deduce, is_equal


class Calls(Access):
    """A function of the text is translated once for each set of types that its template gets."""

    def at_call(self, line: Line, name: str, args: list[Node], given: tuple[Any, ...]) -> Term:
        several = self.program.source.module.parser.functions.get(name, [])
        build = functions.BUILTINS.get(name)
        if several:
            function = self._fitting(line, several, args, given)
            if function is not None:
                return self._call(line, function, function.filled(args), given)
        if build is not None:
            return build(self, line, name, args)
        return functions.of_numbers(self, line, name, [decayed(self.value(arg)) for arg in args])

    def _fitting(
        self, line: Line, several: list[Function], args: list[Node], given: tuple[Any, ...]
    ) -> Function | None:
        """The one that's meant. None if that's CUDA's own function of this name."""
        name = several[0].name
        is_cudas = name in functions.BUILTINS or numbers.is_known(name)
        taking = [function for function in several if function.takes(len(args))]
        if not taking and not is_cudas:
            takes = many(len(several[0].parameters), "argument")
            raise CompileException(f"{name} takes {takes}, got {len(args)}: {line}")
        fitting = [function for function in taking if not function.given and function.could_be_given(given)]
        if not fitting and not is_cudas:
            raise CompileException(f"no function {name} takes this in its template: {line}")
        if len(fitting) == 1 and not is_cudas:
            return fitting[0]
        found = overloads.fitting(fitting, [decayed(self.value(arg)).type for arg in args], len(given))
        if found is None and not is_cudas:
            return fitting[0]  # which says what doesn't fit
        return found

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
        function = self._specialized(function, letters)
        origins: list[frozenset] = [frozenset() for _ in terms]
        program = self.program
        made = program.device_function(function, letters, origins)
        if made is None:
            raise no_translation(line, f"{function.name}, which calls itself,")
        for variable, term in zip(made.parameters, terms):
            program.flow(variable.slot, term.origin)
        parts = []
        for variable, term, (kind, _) in zip(made.parameters, terms, function.parameters):
            if isinstance(kind, Pointer) and isinstance(kind.to, str) and isinstance(term.type, Pointer):
                term = replace(term, type=term.type._replace(is_const=kind.is_const))  # T may be const float
            if isinstance(kind, Reference):
                parts.append((variable, term.run))
            else:
                parts.append((variable, converted(term, variable.type, line).run))
        return self._run_call(made, parts, line)

    def _specialized(self, function: Function, letters: dict[str, Any]) -> Function:
        """What stands for this template with these letters, ``template <> … name<float>(…)``, if that's written."""
        values = [letters.get(name) for name, _, _ in function.letters]
        for one in self.program.source.module.parser.functions[function.name]:
            own = [self.template_value(value) for value in one.given]
            is_for_these = own and len(own) == len(values) and all(map(is_equal, own, values))
            if is_for_these and one.takes_as_many(function):
                return one
        return function

    def _referred(self, kind: Reference, arg: Node, line: Line) -> Term:
        """The address of what a reference means. A const one may mean a value that has no address."""
        is_call = arg.kind == "member" and not isinstance(self.value(arg.parts[0]).type, StructType)  # z.real()
        if hasattr(self, f"place_{arg.kind}") and not is_call:
            variable = self.find(arg.parts[0], line) if arg.kind == "name" else None
            if variable is None or variable.known is None:
                place = self.place(arg)
                if place.is_const and not kind.is_const and not isinstance(kind.to, str):
                    raise CompileException(f"a {c_name(kind.to)}& takes nothing const: {line}")
                if isinstance(kind.to, np.dtype) and isinstance(place.type, np.dtype) and place.type != kind.to:
                    if not kind.is_const:
                        raise CompileException(f"a {c_name(kind.to)}& takes no {c_name(place.type)}: {line}")
                elif place.pointer is not None:
                    return place.pointer
        if not kind.is_const:
            raise no_translation(line, "a reference to this")
        value = self.value(arg)
        if isinstance(kind.to, np.dtype):
            value = converted(value, kind.to, line)
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
                if variable.place is not None:
                    variable.place(lanes, mask)
            outer, lanes.loops = lanes.loops, []
            body(lanes, mask)
            lanes.loops = outer
            if is_used:
                return lanes.value_of(mask, result, end, what)
            return None

        return Term(kind, run, None, made.result_origin)
