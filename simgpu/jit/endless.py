"""Loops that don't end: is it certain, and what does the error say?

Threads do the same again when they see the same numbers. So a loop is endless for certain if a round begins with the
numbers of an earlier one: those that its tests read, and those that they come from. Nothing else decides how it goes.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from .errors import Endless
from .source import is_stored

EVERY = 64  # rounds between two looks
# Calls that give the same result for the same numbers, beside NumPy's.
_PURE = {"int", "float", "bool", "len", "min", "max", "range", "grid", "gridsize", "laneid", "warpsize", "syncthreads",
         "syncwarp", "shared_memory"}  # fmt: skip


class Rounds:
    """The rounds of one loop, as some threads go through it: does one begin like an earlier one?"""

    def __init__(self, node: Any, source: Any, names: frozenset[str] | None, variables: dict[str, Any]) -> None:
        self.node, self.source, self.rounds = node, source, 0
        self._slots = None if names is None else [variables[name].slot for name in names if name in variables]
        self._before: Any = None

    def count(self, lanes: Any, here: Any) -> None:
        """One more round, of the lanes of `here`. Raises `Endless`."""
        if self.rounds >= lanes.launch.most_rounds:
            raise self._wrong(lanes, here, *self._too_many(here))
        self.rounds += 1
        if self._slots is None or self.rounds % EVERY:
            return
        now = (here.on, *(lanes.held[slot].value for slot in self._slots))
        if self._before is not None and _equal(now, self._before):
            raise self._wrong(lanes, here, *_never(self.node, self.source, self.rounds))
        if self.rounds & self.rounds - 1 == 0:  # ever longer circles
            self._before = now

    def _wrong(self, lanes: Any, here: Any, what: str, advice: str) -> Exception:
        return self.source.wrong(Endless, self.node, what, advice, lanes.first_of(here.on))

    def _too_many(self, here: Any) -> tuple[str, str]:
        who = "1 thread is" if here.count == 1 else f"{here.count:,} threads are"
        what = (
            f"{self.rounds:,} rounds, and {who} still in this loop. Does it end? If it takes that long, raise the "
            "limit: kernel.most_rounds = …"
        )
        test = getattr(self.node, "test", None)
        return what, _WAITS if test is not None and _reads_memory(test) else ""


_WAITS = "A thread that waits for another one's write may wait forever: only barriers wait."


def steering(loop: ast.While) -> frozenset[str] | None:
    """The names that decide how a loop goes on. None if memory decides too, and the loop may change that."""
    inside = [part for statement in loop.body for part in ast.walk(statement)]
    decides: list[Any] = [loop.test]
    decides += [part.test for part in inside if isinstance(part, (ast.If, ast.While))]
    decides += [part.iter for part in inside if isinstance(part, ast.For)]
    names: set[str] = set()
    while decides:
        found = {part.id for one in decides for part in ast.walk(one) if isinstance(part, ast.Name)} - names
        names |= found
        if any(not _is_pure(call) for one in decides for call in ast.walk(one) if isinstance(call, ast.Call)):
            return None
        if any(map(_reads_memory, decides)) and not all(map(_leaves_memory, inside)):
            return None
        decides = [value for part in inside for name, value in _given(part) if name in found]
    return frozenset(names)


def _given(part: Any) -> list[tuple[str, Any]]:
    """The names that a statement gives a value, and what that comes from."""
    if not isinstance(part, (ast.Assign, ast.AugAssign, ast.For)):
        return []
    value = part.iter if isinstance(part, ast.For) else part.value
    targets = part.targets if isinstance(part, ast.Assign) else [part.target]
    return [(node.id, value) for target in targets for node in ast.walk(target) if is_stored(node)]


def _is_pure(call: ast.Call) -> bool:
    function = call.func
    if isinstance(function, ast.Attribute):
        owner = function.value
        if isinstance(owner, ast.Name) and owner.id in ("np", "numpy", "math"):
            return True
        return function.attr in _PURE or function.attr.startswith("shfl_")
    return isinstance(function, ast.Name) and function.id in _PURE


def _reads_memory(part: Any) -> bool:
    """Whether it reads an element, or calls what may."""
    for node in ast.walk(part):
        if isinstance(node, ast.Subscript) and getattr(node.value, "attr", "") not in ("shape", "strides"):
            return True
        if isinstance(node, ast.Call) and not _is_pure(node):
            return True
    return False


def _leaves_memory(part: Any) -> bool:
    """Whether this writes no element, and calls nothing that may."""
    writes = isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Store)
    return not writes and (not isinstance(part, ast.Call) or _is_pure(part))


def _equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    return isinstance(a, (np.ndarray, np.generic, int)) and np.array_equal(a, b)


def _never(loop: ast.While, source: Any, rounds: int) -> tuple[str, str]:
    """What an endless loop's error says, and what may be missing."""
    test = ast.unparse(loop.test)
    stored = {name for statement in loop.body for part in ast.walk(statement) for name, _ in _given(part)}
    names = [node.id for node in ast.walk(loop.test) if isinstance(node, ast.Name)]
    if not names:
        end = f"after {rounds:,} rounds no thread will come there any more."
        return f"`while {test}` ends by `break` alone, and {end}", ""
    if stored & set(names):
        return f"round {rounds:,} begins with the same numbers as an earlier one: `while {test}` can't end.", ""
    if _reads_memory(loop.test):
        return f"nothing in this loop changes what it tests: `while {test}` can't end.", _WAITS
    parts = _quantities(loop.test)
    shown = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
    own = {name for part in ast.walk(source.tree) for name, _ in _given(part)}
    forgot = next((name for name in names if name in own), "")
    what = f"{shown} {'does' if len(parts) == 1 else 'do'}n't change in this loop: `while {test}` can't end."
    return what, f"Did you forget `{forgot} += …`?" if forgot else ""


def _quantities(test: Any) -> list[str]:
    """What a test compares, as in `i` and `x.size`."""
    if isinstance(test, ast.Attribute) or (isinstance(test, ast.Subscript) and isinstance(test.value, ast.Attribute)):
        return [f"`{ast.unparse(test)}`"]
    if isinstance(test, ast.Name):
        return [f"`{test.id}`"]
    parts = ast.iter_child_nodes(test) if not isinstance(test, ast.Call) else iter(test.args)
    return list(dict.fromkeys(name for part in parts for name in _quantities(part)))
