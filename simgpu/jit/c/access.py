"""Names, elements, fields, addresses: how they're read, and how they're written."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...kernels import numbers
from ...kernels.parse import Node, Pointer, c_name, no_translation
from ...kernels.preprocess import CompileException, Line
from ..lanes import Lanes, Mask
from ..types import UINT
from . import functions
from .expressions import Expressions
from .places import InField, InMemory, InVariable, Place, refuse_const
from .scope import Variable
from .source import CSite
from .terms import Array, StructType, Term, binary, computed, converted, decayed, is_pointer, known, moved

_AXES = ("threadIdx", "blockIdx", "blockDim", "gridDim")


class Access(Expressions):
    """What can be written to is a `Place`; reading it is a `Term`."""

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
            if name in numbers.CONSTANTS:
                return known(numbers.CONSTANTS[name])
            if name in _AXES:
                return _axes_of(name)
            raise
        if variable.known is not None:
            return known(variable.known)
        if isinstance(variable.type, Array):
            place: Any = variable.place
            return Term(variable.type, place, None, self.origin_of(variable))
        return self.place_name(line, name).read()

    def origin_of(self, variable: Variable) -> frozenset:
        if variable.slot >= 0:
            return frozenset([variable.slot])
        return frozenset()

    def place_name(self, line: Line, name: str) -> Place:
        variable = self.find(name, line)
        site = self.site(line)
        if variable.place is None:
            return InVariable(variable.type, variable.slot, site, name, variable.is_const, self.origin_of(variable))
        if isinstance(variable.type, Array):
            raise CompileException(f"{name} is an array: {line}")
        pointer = Term(Pointer(variable.type, variable.is_const), variable.place, None, self.origin_of(variable))
        return InMemory(pointer, site)

    def place_deref(self, line: Line, node: Node) -> Place:
        pointer = decayed(self.value(node))
        return self._pointed(pointer, node, line)

    def _pointed(self, pointer: Term, node: Node, line: Line) -> Place:
        """What a pointer points to, which comes from this node."""
        if not isinstance(pointer.type, Pointer):
            raise CompileException(f"* takes a pointer, got {c_name(pointer.type)}: {line}")
        if pointer.type.to is None:
            raise CompileException(f"void* has no elements: cast it first: {line}")
        return InMemory(pointer, CSite(self.source, line, is_guess=name_of(node) in self.compared))

    def at_deref(self, line: Line, node: Node) -> Term:
        return self._element(self.place_deref(line, node))

    def _element(self, place: Place) -> Term:
        if isinstance(place.type, Array):  # a row of an array: still a place
            whole: Any = place.pointer
            return replace(whole, type=place.type._replace(is_const=place.is_const))
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
        return self._pointed(moved(decayed(owner), by, line), base, line)

    def _inside(self, kind: Array, index: Term, base: Node, line: Line) -> Term:
        """The index of an array of several axes, checked along its own."""
        length = kind.lengths[0]
        if len(kind.lengths) == 1 and base.kind == "name":  # its end is the memory's
            return index
        name, site, run = name_of(base) or "the array", self.site(line), index.run

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
        return Term(owner.type.fields[k][1], lambda lanes, mask: run(lanes, mask)[k], None, owner.origin)

    def at_address(self, line: Line, node: Node) -> Term:
        place = self.place(node)
        if place.pointer is None:
            raise no_translation(line, "the address of this")
        return place.pointer

    # -- writing ------------------------------------------------------------------------------------

    def at_assign(self, line: Line, sign: str, left: Node, right: Node, gives_old: bool = False) -> Term:
        place = self.place(left)
        refuse_const(place, line)
        self.program.stored |= place.stores_to
        if isinstance(place, InMemory):
            place.site.adds = sign in ("+", "-")
        if not sign:
            value = self.first_value(place.type, right, line)
            self._note_origin(place, value.origin)
            find, store, run = place.find, place.store, value.run

            def assign(lanes: Lanes, mask: Mask) -> Any:
                new = run(lanes, mask)  # C++ says that the right side comes first
                to = find(lanes, mask)
                store(lanes, mask, to, new)
                return new

            return Term(place.type, assign, None, place.origin)
        return self._update(place, sign, right, line, gives_old)

    def _note_origin(self, place: Place, origin: frozenset) -> None:
        """A pointer that may come from there is put here."""
        if place.slot is not None:
            self.flow(place.slot, place.type, origin)
        elif origin:
            self.program.puts.append((place.origin, origin))

    def _update(self, place: Place, sign: str, right: Node, line: Line, gives_old: bool) -> Term:
        """``x += y``. What `place` finds, it finds once."""
        slot, own_slot = self.program.new_slot(), self.program.new_slot()
        before = Term(place.type, lambda lanes, mask: lanes.held[slot].value, None, place.origin)
        value = decayed(self.value(right))
        given = replace(value, run=lambda lanes, mask: lanes.held[own_slot].value)
        after = converted(binary(sign, before, given, line), place.type, line).run
        find, load, store, run = place.find, place.load, place.store, value.run

        def update(lanes: Lanes, mask: Mask) -> Any:
            lanes.held[own_slot].value = run(lanes, mask)  # C++ says that the right side comes first
            to = find(lanes, mask)
            old = lanes.held[slot].value = load(lanes, mask, to)
            new = after(lanes, mask)
            store(lanes, mask, to, new)
            return old if gives_old else new

        return Term(place.type, update, None, place.origin)


def _axes_of(name: str) -> Term:
    """``threadIdx`` and its like as a whole: all three numbers."""
    kind = StructType("dim3" if name.endswith("Dim") else "uint3", tuple((axis, UINT) for axis in "xyz"))
    return Term(kind, lambda lanes, mask: tuple(lanes.axes[name]))


def name_of(node: Node) -> str:
    """The array's or the pointer's name in ``&x[i][j]`` and its like. Empty if there's none."""
    while node.kind in ("index", "deref", "address"):
        node = node.parts[0]
    if node.kind == "name":
        return node.parts[0]
    return ""
