"""A kernel in C becomes functions that compute it for all threads: first types, then statements, then expressions.

A statement becomes a step of `flow.py`, an expression a `Term`, and what can be written to a `Place`. There's a method
for each kind of node of `simgpu/kernels/parse.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...kernels import numbers
from ...kernels.parse import Deduced, Function, Named, Node, Pointer, Reference, Struct, c_name, no_translation
from ...kernels.preprocess import CompileException, Line
from .. import flow
from ..lanes import NOBODY, Lanes, Mask
from ..memory import Ref
from ..types import BOOL, UINT, VOID, same
from ..values import Step, Value
from . import atomics, functions, overloads  # noqa: F401
from .places import InField, InMemory, InVariable, Place, Registers, shared_array, viewed
from .source import VECTORS, CSite, CSource, Module
from .terms import (
    NULL,
    Array,
    StructType,
    Term,
    binary,
    computed,
    converted,
    decayed,
    is_pointer,
    known,
    moved,
    size_of,
    truth,
    unary,
)

_AXES = ("threadIdx", "blockIdx", "blockDim", "gridDim")
DYNAMIC = "as large as the launch says"


@dataclass
class Variable:
    """A name of the program: its type, and where its values are."""

    name: str
    type: Any
    slot: int
    is_const: bool = False
    known: Any = None  # its number, if the compiler knows it
    place: Callable[[Lanes, Mask], Ref] | None = None  # memory that it names: an array, or what a reference means
    is_reference: bool = False


class Program:
    """A kernel, translated."""

    def __init__(self, source: CSource, given: Sequence[Any]) -> None:
        self.source, self.name, self.slots = source, source.name, 0
        self.needs_warps = False
        self.shared_bytes = self.constant_bytes = 0  # that the text declares
        self.flows: dict[int, set] = {}  # which arrays, or other variables, a pointer may come from
        self.stored: set = set()  # the same, of what's written
        self.constants = _NothingOutside()
        self.functions: dict[Any, Translation | None] = {}
        self.unit = Unit(source.module, self)
        made = Translation(self, source.function, given, {})
        self.parameters = made.parameters
        self.run = _as_steps(made.body)
        self.changed = self._changed()

    def new_slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def _changed(self) -> frozenset[str]:
        """The arguments that it writes to."""
        found, rest = set(), list(self.stored)
        while rest:
            one = rest.pop()
            if one not in found:
                found.add(one)
                rest += self.flows.get(one, ())
        return frozenset(name for name in found if isinstance(name, str))


class _NothingOutside:
    """A file of C means the same at each launch."""

    def have_changed(self) -> None:
        pass


def _as_steps(body: Step) -> Callable[[Lanes, Mask], Any]:
    def run(lanes: Lanes, mask: Mask) -> Any:
        yield from ()
        return body.run(lanes, mask)

    return run


class Unit:
    """What stands outside of functions: constants, arrays in the card's memory, structs."""

    def __init__(self, module: Module, program: Program) -> None:
        self.module, self.program = module, program
        self.variables: dict[str, Variable] = {}
        outside = Translation.__new__(Translation)
        outside.begin(program, None, {})
        outside.unit, outside.addressed = self, set()
        for node in module.globals:
            for one in node.parts[0]:
                self._note(one, outside)

    def _note(self, node: Node, outside: Translation) -> None:
        if node.kind not in ("declare", "array"):
            return
        kind, name, *rest = node.parts
        words = rest[-1]
        if node.kind == "array":
            lengths = outside.lengths(rest[0], rest[1], node.line)
            made = Array(outside.resolve(kind), lengths)
            first = rest[1]
        else:
            made, first = outside.resolve_declared(kind, rest[0], node.line), rest[0]
        if "__shared__" in words:
            raise no_translation(node.line, "shared memory outside of a function")
        is_const = isinstance(made, np.dtype) and ("const" in words or "constexpr" in words) and first is not None
        if is_const and not words & {"__constant__", "__device__"}:
            value = converted(outside.value(first), made, node.line)
            if value.known is not None:
                self.variables[name] = Variable(name, made, -1, True, value.known)
                return
        self._in_memory(node, name, made, first, outside)

    def _in_memory(self, node: Node, name: str, kind: Any, first: Any, outside: Translation) -> None:
        """A variable of ``__device__`` or ``__constant__``: it keeps its values from launch to launch."""
        of, lengths = (kind.of, kind.lengths) if isinstance(kind, Array) else (kind, (1,))
        if not isinstance(of, np.dtype):
            raise no_translation(node.line, f"{c_name(of)} outside of a function")
        memory = self.module.memory
        if name not in memory:
            memory[name] = values = np.zeros(lengths, of)
            self.program.constant_bytes += values.nbytes
            nodes = first if isinstance(first, list) else [] if first is None else [first]
            for k, part in enumerate(outside.flat(nodes)):
                value = converted(outside.value(part), of, node.line)
                if value.known is None:
                    raise no_translation(node.line, "a value that isn't known before the launch")
                values.reshape(-1)[k] = value.known

        def place(lanes: Lanes, mask: Mask) -> Ref:
            return lanes.launch.global_variable(name, memory[name])

        self.variables[name] = Variable(name, kind, -1, place=place)


class Given(NamedTuple):
    """What a function gets for a parameter: the type, and where it comes from."""

    type: Any
    origin: frozenset


class Translation:
    """Translates one function, for what its template is given."""

    def __init__(
        self, program: Program, function: Function, given: Sequence[Any], letters: dict[str, Any],
        origins: Sequence[frozenset] | None = None,
    ) -> None:  # fmt: skip
        bound = dict(letters)
        self.begin(program, function, bound)
        self.unit: Unit = program.unit
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
        self.addressed = _addressed(function.body, program.source.module.parser.functions)
        for k, (kind, name) in enumerate(function.parameters):
            origin = origins[k] if origins is not None else frozenset([name])
            self.parameters.append(self.parameter(self.resolve(kind), name, origin))
        self.body = self.statement(function.body)
        self.own = range(self.first_slot, program.slots)

    def begin(self, program: Program, function: Function | None, bound: dict[str, Any]) -> None:
        self.program, self.function, self.bound = program, function, bound
        self.is_device = function is not None and "__global__" not in function.words
        self.scopes: list[dict[str, Variable]] = [{}]
        self.first_slot = program.slots
        name = program.name if function is None or not self.is_device else function.name
        self.source = program.source
        self.name = name
        self.uses_result = True

    def site(self, line: Line, adds: bool = False) -> CSite:
        return CSite(self.source, line, adds)

    # -- types -----------------------------------------------------------------------------------

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
        if isinstance(kind, Named):
            return self._named(kind)
        return kind

    def _named(self, kind: Named) -> Any:
        if kind.member:
            owner = self.resolve(kind.name if kind.name in self.bound else kind._replace(member=""))
            if kind.member == "value_type" and isinstance(owner, np.dtype):
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
            if own and len(own) == len(values) and all(map(_equal, own, values)):
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
        found = []
        for axis, node in enumerate(nodes):
            if node is not None:
                found.append(int(self.constant(node)))
            elif axis == 0 and isinstance(first, list):
                found.append(len(first))
            else:
                raise CompileException(f"an array without a length: {line}")
        if min(found) < 1:
            raise CompileException(f"an array has at least one element, got {min(found)}: {line}")
        return tuple(found)

    def flat(self, nodes: list[Any]) -> list[Node]:
        """What's in braces, also in braces inside of them, one after the other."""
        found: list[Node] = []
        for node in nodes:
            found += self.flat(node) if isinstance(node, list) else [node]
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

    # -- names -----------------------------------------------------------------------------------

    def parameter(self, kind: Any, name: str, origin: frozenset) -> Variable:
        slot = self.program.new_slot()
        made = Variable(name, kind, slot)
        if isinstance(kind, Reference):
            made = Variable(name, kind.to, slot, kind.is_const, None, lambda lanes, mask: lanes.held[slot].value, True)
        elif name in self.addressed and not isinstance(kind, Array):
            made.place = _own_copy(name, kind, slot)
        if isinstance(kind, (Pointer, Reference)):
            self.program.flows.setdefault(slot, set()).update(origin)
        if name:
            self.scopes[-1][name] = made
        return made

    def find(self, name: str, line: Line) -> Variable:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        if name in self.unit.variables:
            return self.unit.variables[name]
        raise CompileException(f"identifier {name} is undefined: {line}")

    # -- statements ------------------------------------------------------------------------------

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

    def together(self, statements: list[Node]) -> Step:
        return _drained(flow.sequence([(self.statement(one), None) for one in statements]))

    def run_together(self, line: Line, statements: list[Node]) -> Step:
        return self.together(statements)

    def run_block(self, line: Line, statements: list[Node]) -> Step:
        self.scopes.append({})
        found = self.together(statements)
        self.scopes.pop()
        return found

    def run_if(self, line: Line, test: Node, yes: Node, no: Node | None) -> Step:
        condition = truth(self.value(test), line)
        nothing = Node("block", line, ([],))
        if condition.known is not None:
            return self.run_block(line, [yes if condition.known else no or nothing])
        body, orelse = self.run_block(line, [yes]), self.run_block(line, [no or nothing])
        return flow.branch(_as_value(condition), body, orelse)

    def run_while(self, line: Line, test: Node, body: Node, step: Node | None) -> Step:
        return self._loop(line, test, body, step, True)

    def run_do(self, line: Line, test: Node, body: Node) -> Step:
        return self._loop(line, test, body, None, False)

    def _loop(self, line: Line, test: Node, body: Node, step: Node | None, tests_first: bool) -> Step:
        condition = truth(self.value(test), line).run
        inside = self.run_block(line, [body])
        after = flow.go_on if step is None else self.statement(step).run
        ready = Value(VOID, lambda lanes, mask: (condition, flow.go_on, after))
        return _drained(flow.loop(ready, False, inside, self.site(line), ("", ""), tests_first))

    def run_leave(self, line: Line, word: str) -> Step:
        way = flow.LEFT if word == "break" else flow.AGAIN
        return Step(VOID, lambda lanes, mask: flow.leave(lanes, mask, way))

    def run_switch(self, line: Line, value: Node, cases: list[tuple[Node | None, list[Node]]]) -> Step:
        seen = self.value(value)
        kind = numbers.common(seen.type)
        seen = converted(seen, kind, line)
        self.scopes.append({})
        labels = [
            None if case is None else converted(known(self.constant(case)), kind, line).known for case, _ in cases
        ]
        bodies = [self.together(statements) for _, statements in cases]
        self.scopes.pop()

        def step(lanes: Lanes, mask: Mask) -> Mask:
            number = seen.run(lanes, mask)
            lanes.loops.append([lanes.nobody, lanes.nobody])
            entering, rest = [], mask
            for label in labels:
                if label is None or not rest.count:
                    entering.append(lanes.nobody)
                    continue
                yes, rest = lanes.split(rest, number == label)
                entering.append(yes)
            here = lanes.nobody
            for label, enter, body in zip(labels, entering, bodies):
                here = lanes.either(here, rest if label is None else enter)
                if here.count:
                    here = body.run(lanes, here)
            left, again = lanes.loops.pop()
            here = lanes.either(here, left)
            if None not in labels:
                here = lanes.either(here, rest)
            if again.count:
                flow.leave(lanes, again, flow.AGAIN)
            return mask if here.count == mask.count else here

        return Step(VOID, step)

    def run_return(self, line: Line, node: Node | None) -> Step:
        if not self.is_device:
            if node is not None:
                raise CompileException(f"a kernel returns nothing: {line}")
            return Step(VOID, lambda lanes, mask: lanes.exit(mask))
        if node is None or self.returns is None:
            run = None if node is None else self.any(node).run

            def go_back(lanes: Lanes, mask: Mask) -> Mask:
                if run is not None:
                    run(lanes, mask)
                return lanes.nobody

            return Step(VOID, go_back)
        kind = self.returns
        if isinstance(kind, Deduced):
            kind = self.returns = decayed(self.value(node)).type
        given = self.first_value(kind, node, line)
        self._flow(self.result_slot, kind, given.origin)
        value, slot, site = given.run, self.result_slot, self.site(line)

        def step(lanes: Lanes, mask: Mask) -> Mask:
            lanes.assign(mask, slot, value(lanes, mask), site)
            return lanes.nobody

        return Step(VOID, step)

    def _flow(self, slot: int, kind: Any, origin: frozenset) -> None:
        if isinstance(kind, (Pointer, Reference)):
            self.program.flows.setdefault(slot, set()).update(origin)

    def run_declare(self, line: Line, kind: Any, name: str, first: Any, words: frozenset[str]) -> Step:
        made = self.resolve_declared(kind, first, line)
        if "__shared__" in words:
            return self._declare_shared(line, made, name, (1,), first, words, True)
        if isinstance(made, Reference):
            return self._declare_reference(line, made, name, first)
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
        self._flow(slot, made, value.origin)
        run, site = value.run, self.site(line)

        def step(lanes: Lanes, mask: Mask) -> None:
            lanes.assign(mask, slot, run(lanes, mask), site)

        return Step(VOID, step)

    def _declare_addressed(self, line: Line, variable: Variable, value: Term | None) -> Step:
        """A variable whose address is asked for: it's an array of one element."""
        slot, kind, name, site = variable.slot, variable.type, variable.name, self.site(line)
        variable.place = lambda lanes, mask: lanes.held[slot].value
        variable.known = None

        def step(lanes: Lanes, mask: Mask) -> None:
            new = None if value is None else value.run(lanes, mask)
            made = Registers(name, (1,), kind)
            if new is not None:
                made.store(lanes, mask, new, 0, site)
            lanes.held[slot].put(Ref(made, 0, 0))  # type: ignore[arg-type]

        return Step(VOID, step)

    def _declare_reference(self, line: Line, kind: Reference, name: str, first: Any) -> Step:
        if first is None or isinstance(first, list):
            raise CompileException(f"a reference needs what it refers to: {line}")
        place = self.place(first)
        slot = self.program.new_slot()
        if place.pointer is None:
            if kind.is_const:
                return self.run_declare(line, kind.to, name, first, frozenset(["const"]))
            raise no_translation(line, "a reference to this")
        address, site = place.pointer, self.site(line)
        made = Variable(name, kind.to, slot, kind.is_const, None, lambda lanes, mask: lanes.held[slot].value, True)
        self.scopes[-1][name] = made
        self._flow(slot, kind, address.origin)
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
        self.scopes[-1][name] = Variable(
            name, Array(of, lengths), slot, False, None, lambda lanes, mask: lanes.held[slot].value
        )
        values: list[Any] = []
        if first is None and isinstance(of, StructType):
            first = []
        if first is not None:
            values = [self.first_value(of, one, line).run for one in self._elements(of, first)]
            if len(values) > np.prod(lengths):
                raise CompileException(f"{len(values)} values for {np.prod(lengths)} elements: {line}")
        is_filled, zero = first is not None, _zero(of)

        def step(lanes: Lanes, mask: Mask) -> None:
            made = Registers(name, lengths, of)
            if is_filled:
                for k in range(made.size):
                    made.store(lanes, mask, values[k](lanes, mask) if k < len(values) else zero, k, site)
            lanes.held[slot].put(Ref(made, 0, 0))  # type: ignore[arg-type]

        return Step(VOID, step)

    def _elements(self, of: Any, first: list[Any]) -> list[Any]:
        """An array's elements among what's in braces: a struct may have braces of its own."""
        if isinstance(of, StructType):
            return first
        return self.flat(first)

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

    def first_value(self, kind: Any, first: Any, line: Line) -> Term:
        """What a variable of this type begins with: a value, or what's in braces."""
        if isinstance(first, Node) and first.kind == "braces":
            first = first.parts[0]
        if isinstance(kind, StructType) and isinstance(first, list):
            return self.struct_of(kind, first, line)
        if isinstance(first, list):
            if not first:
                return (
                    Term(kind, lambda lanes, mask: _zero(kind))
                    if not isinstance(kind, np.dtype)
                    else known(kind.type(0))
                )
            return self.first_value(kind, first[0], line)
        return converted(self.value(first), kind, line)

    def struct_of(self, kind: StructType, parts: list[Any], line: Line) -> Term:
        if len(parts) > len(kind.fields):
            raise CompileException(f"{len(parts)} values for {kind.name}: {line}")
        terms = [self.first_value(own, part, line) for part, (_, own) in zip(parts, kind.fields)]
        terms += [self.first_value(own, [], line) for _, own in kind.fields[len(parts) :]]
        return struct_term(kind, terms)

    # -- expressions -----------------------------------------------------------------------------

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

    def at_name(self, line: Line, name: str) -> Term:
        if name in self.bound and isinstance(self.bound[name], np.generic):
            return known(self.bound[name])
        if name == "warpSize":
            return known(np.int32(32))
        if name in ("NULL", "nullptr"):
            return known(np.int32(0))
        try:
            variable = self.find(name, line)
        except CompileException:
            if name in functions.CONSTANTS:
                return known(functions.CONSTANTS[name])
            raise
        if variable.known is not None:
            return known(variable.known)
        if isinstance(variable.type, Array):
            place: Any = variable.place
            return Term(variable.type, place, None, self._origin(variable))
        return self.place_name(line, name).read()

    def _origin(self, variable: Variable) -> frozenset:
        if variable.slot >= 0:
            return frozenset([variable.slot])
        return frozenset()

    def place_name(self, line: Line, name: str) -> Place:
        variable = self.find(name, line)
        site = self.site(line)
        if variable.place is None:
            return InVariable(variable.type, variable.slot, site, name, variable.is_const, self._origin(variable))
        if isinstance(variable.type, Array):
            raise CompileException(f"{name} is an array: {line}")
        pointer = Term(Pointer(variable.type, variable.is_const), variable.place, None, self._origin(variable))
        return InMemory(pointer, site)

    def place_deref(self, line: Line, node: Node) -> Place:
        pointer = decayed(self.value(node))
        return self._pointed(pointer, line)

    def _pointed(self, pointer: Term, line: Line) -> Place:
        if not isinstance(pointer.type, Pointer):
            raise CompileException(f"* takes a pointer, got {c_name(pointer.type)}: {line}")
        if pointer.type.to is None:
            raise CompileException(f"void* has no elements: cast it first: {line}")
        return InMemory(pointer, self.site(line))

    def at_deref(self, line: Line, node: Node) -> Term:
        return self._element(self.place_deref(line, node))

    def _element(self, place: Place) -> Term:
        if isinstance(place.type, Array):  # a row of an array: still a place
            whole: Any = place.pointer
            return replace(whole, type=place.type)
        if isinstance(place.type, Pointer):
            raise no_translation(place.site.line, "a pointer in memory")  # type: ignore[attr-defined]
        return place.read()

    def place_index(self, line: Line, base: Node, index: Node) -> Place:
        owner, by = self.value(base), self.value(index)
        if isinstance(owner.type, np.dtype) and is_pointer(by):
            owner, by = by, owner
        if not is_pointer(owner):
            raise CompileException(f"only arrays and pointers have elements: {line}")
        if isinstance(owner.type, Array):
            by = self._inside(owner.type, by, base, line)
        return self._pointed(moved(decayed(owner), by, line), line)

    def _inside(self, kind: Array, index: Term, base: Node, line: Line) -> Term:
        """The index of an array of several axes, checked along its own."""
        length = kind.lengths[0]
        if len(kind.lengths) == 1 and base.kind == "name":  # its end is the memory's
            return index
        name, site, run = _name_of(base), self.site(line), index.run

        def checked(lanes: Lanes, mask: Mask) -> Any:
            return functions.inside(lanes, mask, run(lanes, mask), length, name, site)

        if index.known is not None and 0 <= index.known < length:
            return index
        return Term(index.type, checked)

    def at_index(self, line: Line, base: Node, index: Node) -> Term:
        place = self.place_index(line, base, index)
        if isinstance(place.type, Pointer):
            return self._pointer_from_memory(place, line)
        return self._element(place)

    def _pointer_from_memory(self, place: Place, line: Line) -> Term:
        """``seqs[j]``, where each element is the address of an array."""
        return functions.address_in_memory(self, place, line)

    def place_member(self, line: Line, node: Node, name: str, args: list[Node]) -> Place:
        owner = self.place(node)
        if not isinstance(owner.type, StructType):
            raise CompileException(f"{c_name(owner.type)} has no field {name}: {line}")
        return InField(owner, name, line)

    def at_member(self, line: Line, node: Node, name: str, args: list[Node]) -> Term:
        if node.kind == "name" and node.parts[0] in _AXES and name in ("x", "y", "z"):
            dim, axis = node.parts[0], "xyz".index(name)
            return Term(UINT, lambda lanes, mask: lanes.axes[dim][axis])
        owner = self.value(node)
        if isinstance(owner.type, np.dtype) and owner.type.kind == "c" and name in ("real", "imag", "x", "y"):
            if args:
                raise no_translation(line, f".{name}(…) that changes a number")
            part = {"x": "real", "y": "imag"}.get(name, name)
            kind = owner.type.type(0).real.dtype
            return computed(kind, [owner], lambda z: getattr(z, part))
        if not isinstance(owner.type, StructType):
            raise CompileException(f"{c_name(owner.type)} has no field {name}: {line}")
        k, run = owner.type.place(name, line), owner.run
        return Term(owner.type.fields[k][1], lambda lanes, mask: run(lanes, mask)[k])

    def at_constant(self, line: Line, kind: Named, name: str) -> Term:
        struct, bound = self.struct(kind)
        if name not in struct.constants:
            raise CompileException(f"{kind.name} has no {name}: {line}")
        own, node = struct.constants[name]
        outer, self.bound = self.bound, {**self.bound, **bound}
        found = self.first_value(self.resolve(own), node, line)
        self.bound = outer
        return found

    def at_address(self, line: Line, node: Node) -> Term:
        place = self.place(node)
        if place.pointer is None:
            raise no_translation(line, "the address of this")
        return place.pointer

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
            if to.name == "dim3":
                parts = [*parts, *[Node("number", line, (np.uint32(1),))] * (3 - len(parts))]
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
        return Term(BOOL, flow.both(_as_value(first), _as_value(second), is_and).run)

    def at_conditional(self, line: Line, test: Node, yes: Node, no: Node) -> Term:
        condition = truth(self.value(test), line)
        x, y = decayed(self.any(yes)), decayed(self.any(no))
        if same(x.type, y.type):
            kind = x.type
        elif isinstance(x.type, np.dtype) and isinstance(y.type, np.dtype):
            kind = numbers.common(x.type, y.type)
        else:
            kind = x.type if isinstance(x.type, Pointer) else y.type
        if kind is not None:
            x, y = converted(x, kind, line), converted(y, kind, line)
        if condition.known is not None:
            return x if condition.known else y
        site = self.site(line)

        def merge(on: Any, a: Any, b: Any) -> Any:
            return functions.chosen(on, a, b, site)

        found = flow.choose(_as_value(condition), _as_value(x), _as_value(y), merge)
        return Term(kind, found.run, None, x.origin | y.origin)

    def at_assign(self, line: Line, sign: str, left: Node, right: Node, gives_old: bool = False) -> Term:
        place = self.place(left)
        if place.is_const:
            raise CompileException(f"this is const, so it can't be changed: {line}")
        if isinstance(place, (InMemory, InField)):
            self.program.stored |= place.origin
            if isinstance(place, InMemory):
                place.site.adds = sign in ("+", "-") and bool(sign)
        if not sign:
            value = self.first_value(place.type, right, line)
            if isinstance(place, InVariable):
                self._flow(place.slot, place.type, value.origin)
            find, store, run = place.find, place.store, value.run

            def assign(lanes: Lanes, mask: Mask) -> Any:
                to = find(lanes, mask)
                new = run(lanes, mask)
                store(lanes, mask, to, new)
                return new

            return Term(place.type, assign, None, place.origin)
        return self._update(place, sign, right, line, gives_old)

    def _update(self, place: Place, sign: str, right: Node, line: Line, gives_old: bool) -> Term:
        """``x += y``. What `place` finds, it finds once."""
        slot = self.program.new_slot()
        before = Term(place.type, lambda lanes, mask: lanes.held[slot].value, None, place.origin)
        after = converted(binary(sign, before, self.value(right), line), place.type, line).run
        find, load, store = place.find, place.load, place.store

        def update(lanes: Lanes, mask: Mask) -> Any:
            to = find(lanes, mask)
            held = lanes.held[slot]
            old = held.value = load(lanes, mask, to)
            new = after(lanes, mask)
            store(lanes, mask, to, new)
            return old if gives_old else new

        return Term(place.type, update, None, place.origin)

    # -- calls -----------------------------------------------------------------------------------

    def at_call(self, line: Line, name: str, args: list[Node], given: tuple[Any, ...]) -> Term:
        several = self.program.source.module.parser.functions.get(name, [])
        build = functions.BUILTINS.get(name)
        if several:
            function = self._fitting(line, several, args)
            if function is not None:
                return self._call(line, function, args, given)
        if build is not None:
            return build(self, line, name, args)
        return functions.of_numbers(self, line, name, [decayed(self.value(arg)) for arg in args])

    def _fitting(self, line: Line, several: list[Function], args: list[Node]) -> Function | None:
        """The one that's meant. None if that's CUDA's own function of this name."""
        name = several[0].name
        is_cudas = name in functions.BUILTINS or numbers.is_known(name)
        fitting = [function for function in several if len(function.parameters) == len(args)]
        if not fitting and not is_cudas:
            counts = len(several[0].parameters)
            raise CompileException(f"{name} takes {counts} arguments, got {len(args)}: {line}")
        if len(fitting) == 1 and not is_cudas:
            return fitting[0]
        found = overloads.fitting(fitting, [decayed(self.value(arg)).type for arg in args])
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
            _deduce(kind, terms[-1].type, own, letters)
        key = id(function), tuple(sorted((k, str(v), type(v).__name__) for k, v in letters.items()))
        origins: list[frozenset] = [frozenset() for _ in terms]
        program = self.program
        if key not in program.functions:
            program.functions[key] = None
            program.functions[key] = Translation(program, function, (), letters, origins)
        made = program.functions[key]
        if made is None:
            raise no_translation(line, f"{function.name}, which calls itself,")
        for variable, term in zip(made.parameters, terms):
            program.flows.setdefault(variable.slot, set()).update(term.origin)
        parts = []
        for variable, term, (kind, _) in zip(made.parameters, terms, function.parameters):
            if isinstance(kind, Reference):
                parts.append((variable, term.run))
            else:
                parts.append((variable, converted(term, variable.type, line).run))
        return self._run_call(made, parts, line)

    def _referred(self, kind: Reference, arg: Node, line: Line) -> Term:
        """The address of what a reference means. A const one may mean a value that has no address."""
        is_call = arg.kind == "member" and not isinstance(self.value(arg.parts[0]).type, StructType)  # z.real()
        if hasattr(self, f"place_{arg.kind}") and not is_call:
            variable = self.find(arg.parts[0], line) if arg.kind == "name" else None
            if variable is None or variable.known is None:
                place = self.place(arg)
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

    def _run_call(self, made: Translation, parts: list[tuple[Variable, Any]], line: Line) -> Term:
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


def struct_term(kind: StructType, terms: Sequence[Term]) -> Term:
    runs = [term.run for term in terms]
    return Term(kind, lambda lanes, mask: tuple([run(lanes, mask) for run in runs]))


def _zero(kind: Any) -> Any:
    if isinstance(kind, StructType):
        return tuple([_zero(part) for _, part in kind.fields])
    if isinstance(kind, Pointer):
        return NULL
    return kind.type(0)


def _as_value(term: Term) -> Value:
    return Value(term.type, term.run)


def _drained(step: Step) -> Step:
    """A step that doesn't wait: in C, all threads go together."""
    if not step.waits:
        return step
    begin = step.run

    def run(lanes: Lanes, mask: Mask) -> Any:
        steps = begin(lanes, mask)
        try:
            while True:
                next(steps)
        except StopIteration as end:
            return end.value

    return Step(VOID, run)


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


def _addressed(node: Any, known_functions: dict[str, list[Function]]) -> set[str]:
    """The names whose address the text asks for, with & or by giving them to a reference."""
    found: set[str] = set()
    if isinstance(node, (list, tuple)) and not isinstance(node, Node):
        for part in node:
            found |= _addressed(part, known_functions)
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
        found |= _addressed(part, known_functions)
    return found


def _deduce(kind: Any, given: Any, letters: list[str], found: dict[str, Any]) -> None:
    """What a template's letters are, from what a parameter gets."""
    if isinstance(kind, str):
        if kind in letters and kind not in found:
            found[kind] = given
    elif isinstance(kind, (Pointer, Reference)) and isinstance(given, Pointer):
        _deduce(kind.to, given.to, letters, found)
    elif isinstance(kind, Named) and kind.name == "complex" and isinstance(given, np.dtype):
        _deduce(kind.given[0], given.type(0).real.dtype, letters, found)


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.generic) and isinstance(b, np.generic):
        return bool(a == b)
    return same(a, b)


def _name_of(node: Node) -> str:
    while node.kind in ("index", "deref"):
        node = node.parts[0]
    if node.kind == "name":
        return node.parts[0]
    return "the array"
