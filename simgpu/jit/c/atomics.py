"""Atomic operations: a thread reads an element and writes it, and no other one comes in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...kernels.parse import Node, c_name
from ...kernels.preprocess import CompileException
from .. import memory
from ..lanes import Lanes, Mask
from .functions import BUILTINS
from .places import InMemory, Registers, refuse_const
from .terms import Term, converted, decayed, is_pointer

# How the new value comes from the old one, and the types that a card has it for.
_HOW: dict[str, tuple[Callable, str]] = {
    "Add": (np.add, "iIQefd"), "Sub": (np.subtract, "iI"), "Max": (np.maximum, "iIqQ"),
    "Min": (np.minimum, "iIqQ"), "And": (np.bitwise_and, "iIQ"), "Or": (np.bitwise_or, "iIQ"),
    "Xor": (np.bitwise_xor, "iIQ"), "Exch": (lambda old, value: value, "iIQf"),
    "Inc": (lambda old, value: np.where(old >= value, np.uint32(0), old + np.uint32(1)), "I"),
    "Dec": (lambda old, value: np.where((old == 0) | (old > value), value, old - np.uint32(1)), "I"),
    "CAS": (lambda old, compare, value: np.where(old == compare, value, old), "iIQH"),
}  # fmt: skip


def _atomic(t: Any, line: Any, name: str, args: list[Node]) -> Term:
    how, types = _HOW[name.removeprefix("atomic").removesuffix("_block").removesuffix("_system")]
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


BUILTINS.update((f"atomic{name}{where}", _atomic) for name in _HOW for where in ("", "_block", "_system"))
