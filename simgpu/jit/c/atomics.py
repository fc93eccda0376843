"""Atomic operations: a thread reads an element and writes it, and no other one comes in between."""

from __future__ import annotations

from typing import Any

from ...kernels import numbers
from ...kernels.parse import Node, c_name
from ...kernels.preprocess import CompileException
from .. import memory
from ..lanes import Lanes, Mask
from .functions import BUILTINS
from .places import InMemory, Registers, refuse_const
from .terms import Term, converted, decayed, is_pointer

# The types that a card has each of them for.
_TYPES = {
    "atomicAdd": "iIQefd", "atomicSub": "iI", "atomicMax": "iIqQ", "atomicMin": "iIqQ", "atomicAnd": "iIQ",
    "atomicOr": "iIQ", "atomicXor": "iIQ", "atomicExch": "iIQf", "atomicInc": "I", "atomicDec": "I",
    "atomicCAS": "iIQH",
}  # fmt: skip


def _atomic(t: Any, line: Any, name: str, args: list[Node]) -> Term:
    operation = name.removesuffix("_block").removesuffix("_system")
    how, types = numbers.ATOMIC[operation], _TYPES[operation]
    count = 3 if "CAS" in name else 2
    if len(args) != count:
        raise CompileException(f"{name} takes {count} arguments, got {len(args)}: {line}")
    is_used = t.uses_result
    pointer = decayed(t.value(args[0]))
    if not is_pointer(pointer):
        raise CompileException(f"{name} takes a pointer first, got {c_name(pointer.type)}: write &x[i]: {line}")
    place = InMemory(pointer, t.site(line))
    kind = place.type
    letter = {"l": "q", "L": "Q"}.get(getattr(kind, "char", ""), getattr(kind, "char", ""))
    if letter not in types or not letter:
        raise CompileException(f"{name} doesn't take {c_name(kind)}*: {line}")
    refuse_const(place, line)
    t.program.stored |= place.origin
    values = [converted(t.value(arg), kind, line).run for arg in args[1:]]
    find, site = place.find, place.site

    def change(lanes: Lanes, mask: Mask) -> Any:
        to = find(lanes, mask)
        given = [value(lanes, mask) for value in values]
        if type(getattr(to, "part", None)) is Registers:
            old = place.load(lanes, mask, to)
            place.store(lanes, mask, to, how(old, *given).astype(kind))
            return old
        found = memory.change(lanes, mask, to, how, given, site, is_used)
        if found is None:
            return kind.type(0)
        return found

    return Term(kind, change)


BUILTINS.update((f"{name}{where}", _atomic) for name in _TYPES for where in ("", "_block", "_system"))
