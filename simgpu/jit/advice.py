"""What to write instead, in the words of the kernel's own line: guards, signed numbers, an end to a race or a loop."""

import ast
import copy
from collections.abc import Iterable
from typing import Any, NamedTuple

_UNSIGNED = {"threadIdx", "blockIdx", "blockDim", "gridDim", "grid", "gridsize", "laneid"}


def indices_of(node: Any) -> list[Any]:
    """The index of each axis, in ``x[i, j]`` or in ``jit.atomic_add(x, (i, j), 1)``."""
    index = node.slice if isinstance(node, ast.Subscript) else node.args[1] if len(node.args) > 1 else None
    return list(index.elts) if isinstance(index, ast.Tuple) else [index] if index else []


def owner_of(node: Any) -> Any:
    """The array, in the same two."""
    return node.value if isinstance(node, ast.Subscript) else node.args[0]


def one_element(node: Any, axes: int) -> str:
    """What to write where `node` has so many axes left, and a number is needed."""
    text = ast.unparse(node)
    if not isinstance(node, ast.Subscript):
        more = "" if axes == 1 else f" of {axes} axes"
        return f"{text} is a whole array{more}: write {text}[{', '.join('ijkl'[:axes])}]"
    owner, given = ast.unparse(node.value), list(map(ast.unparse, indices_of(node)))
    last = [f"{owner}[{', '.join([*given, *which])}]" for which in (["0"] * axes, list("jkl"[:axes]))]
    what = "row" if axes == 1 else "array"
    return f"{owner} has {len(given) + axes} axes, and {text} is a whole {what}: write {' or '.join(last)}"


def other_array(target: ast.Subscript, to: Any, kind: Any) -> str:
    """What to write where an array of the type `to` can't take a number of this kind."""
    write = f"{ast.unparse(target)} = {'int' if to.kind == 'i' else f'np.{to}'}(…)"
    owner = ast.unparse(target.value)
    return f"{owner} is an array of {to} and can't take {kind}. Make it one of {kind}, or write {write}"


UNSIGNED = ". jit.threadIdx.x, jit.grid and their like are unsigned: write int(jit.threadIdx.x), int(jit.grid(1))"


def hint(kind: Any, to: Any) -> str:
    """What to write where a number of this kind doesn't become one of the type `to`."""
    if {kind.kind, to.kind} == {"i", "u"}:
        return UNSIGNED
    return f": write {'int' if to.kind == 'i' else f'np.{to}'}(…)" if to.kind in "iuf" else ""


# -- Indices outside, and numbers below 0 that an unsigned type can't hold ------------------------


class Signed(NamedTuple):
    """What's unsigned in the text, and the name for it as an int: empty where it stays inside its line."""

    unsigned: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.name} = int({self.unsigned})" if self.name else f"int({self.unsigned})"

    def renamed(self, node: ast.AST) -> str:
        """The text of `node`, with the new name where it's another one."""
        node = copy.deepcopy(node)
        for part in ast.walk(node):
            if self.name and isinstance(part, ast.Name) and part.id == self.unsigned:
                part.id = self.name
        return ast.unparse(node)


def guard(node, place, axes, index, part, threads, tree, signed):
    """What keeps index number `place` of this access inside. `axes` are left of the array that it's taken of."""
    indices, owner = indices_of(node), owner_of(node)
    given = indices[place] if place < len(indices) else None
    if given is None or isinstance(given, (ast.Constant, ast.IfExp, ast.BoolOp, ast.Compare)):
        return ""
    whole = owner
    while isinstance(whole, ast.Subscript):
        whole = whole.value
    size = f"{ast.unparse(whole)}.shape[{len(part.shape) - axes + place}]"
    if part.is_shared:
        size = str(part.shape[0])
    elif axes == 1 and isinstance(owner, ast.Name):
        size = f"{owner.id}.size"
    if isinstance(given, ast.UnaryOp) and isinstance(given.operand, ast.Constant):  # x[-1]
        parts = list(map(ast.unparse, indices))
        parts[place] = f"{size} - {parts[place].removeprefix('-')}"
        return f" Write {ast.unparse(owner)}[{', '.join(parts)}]."
    if index < 0:
        around = [part for part in ast.walk(tree) if isinstance(part, (ast.If, ast.While)) and node in ast.walk(part)]
        stands = f"{ast.unparse(given)} >= 0" in (ast.unparse(test) for one in around for test in ast.walk(one.test))
        return "" if stands else f" Guard the line: `if {(signed or Signed('')).renamed(given)} >= 0:`."
    if part.is_shared and not isinstance(owner, ast.Name):
        return ""
    is_larger = part.is_shared and threads > part.shape[0]
    more = f" Or is the block, with its {threads:,} threads, larger than the tile?" if is_larger else ""
    return f" Guard the line: `if {ast.unparse(given)} < {size}:`.{more}"


def signed(node: Any, tree: Any, seen: frozenset[str] = frozenset()) -> Signed | None:
    """What makes the unsigned number in this text signed, ``t = int(jit.threadIdx.x)``, or None. `seen`: looked at."""
    if isinstance(node, ast.Call) and _last_name(node.func).startswith("int"):
        return None
    if _is_unsigned(node):
        return Signed(ast.unparse(node))
    if not isinstance(node, ast.Name):
        return next(filter(None, (signed(part, tree, seen) for part in ast.iter_child_nodes(node))), None)
    name = node.id
    for assign in [part for part in ast.walk(tree) if isinstance(part, ast.Assign) and name not in seen]:
        target = assign.targets[0]
        if isinstance(target, ast.Name) and target.id == name:
            if _is_unsigned(assign.value):
                return Signed(ast.unparse(assign.value), name)
            if found := signed(assign.value, tree, seen | {name}):
                return found
        if isinstance(target, ast.Tuple) and name in map(ast.unparse, target.elts) and _is_unsigned(assign.value):
            return Signed(name, another(name))
    return None


def _is_unsigned(node: Any) -> bool:
    """``jit.threadIdx.x``, ``jit.grid(1)``, and ``jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x``."""
    if isinstance(node, ast.BinOp):
        return _is_unsigned(node.left) and _is_unsigned(node.right)
    inner = node.func if isinstance(node, ast.Call) else node.value if isinstance(node, ast.Attribute) else None
    return _last_name(inner) in _UNSIGNED


def _last_name(node: Any) -> str:
    """``grid`` of ``jit.grid``, and of ``grid``."""
    return getattr(node, "attr", getattr(node, "id", ""))


def another(name: str) -> str:
    """Another name for nearly the same: ``jj``, ``signed_row``."""
    return name * 2 if len(name) == 1 else f"signed_{name}"


def addition(node: Any, tree: Any) -> str:
    """The atomic that does what ``out[0] += x`` does, if `node` is the element that such a line changes."""
    changes = [part for part in ast.walk(tree) if isinstance(part, ast.AugAssign) and part.target is node]
    for change in changes:
        if isinstance(change.op, (ast.Add, ast.Sub)):
            given = ast.unparse(change.value)
            if isinstance(change.op, ast.Sub):
                given = f"-({given})" if isinstance(change.value, ast.BinOp) else f"-{given}"
            return f"jit.atomic_add({ast.unparse(node.value)}, {ast.unparse(node.slice)}, {given})"
    return ""


def own_elements(node: Any) -> str:
    """What to write where all threads write the same elements, one after the other, with one line."""
    names = [index.id for index in indices_of(node) if isinstance(index, ast.Name)]
    if not names or len(names) > 3:
        return "Give each thread its own element, or let one of them write, or use jit.atomic_add."
    one = len(names) == 1
    get = f"{names[0]} = int(jit.grid(1))" if one else f"{', '.join(reversed(names))} = jit.grid({len(names)})"
    return f"Every thread runs the whole function. Let each do its own: {get}."


# Calls that give the same result for the same numbers.
_PURE = {"int", "float", "bool", "len", "min", "max", "range", "grid", "gridsize"}


def steering(loop: ast.While) -> frozenset[str] | None:
    """The names that decide how a loop goes on. None if something else may: memory, or a call.

    A loop is endless for certain if a round begins with the numbers of an earlier one: then threads do the same again.
    """
    inside: list[Any] = [part for statement in loop.body for part in ast.walk(statement)]
    decides = [loop.test, *(part.test for part in inside if isinstance(part, (ast.If, ast.While)))]
    decides += [part.iter for part in inside if isinstance(part, ast.For)]
    names: set[str] = set()
    while decides:
        parts = [part for one in decides for part in ast.walk(one)]
        if any(isinstance(part, ast.Call) and _last_name(part.func) not in _PURE or is_element(part) for part in parts):
            return None
        found = {part.id for part in parts if isinstance(part, ast.Name)} - names
        names |= found
        gives = [part for part in inside if isinstance(part, (ast.Assign, ast.AugAssign))]
        decides = [part.value for part in gives if assigned(ast.walk(part)) & found]
    return frozenset(names)


def is_element(part: Any) -> bool:
    """Whether it's ``x[i]``, and not ``x.shape[0]``."""
    return isinstance(part, ast.Subscript) and not isinstance(part.value, ast.Attribute)


def endless(loop: Any, tree: Any, rounds: int) -> tuple[str, str]:
    """What an endless loop's error says, and what may be missing."""
    names = [part.id for part in ast.walk(loop.test) if isinstance(part, ast.Name)]
    changes = not names or assigned(part for one in loop.body for part in ast.walk(one)) & set(names)
    own = assigned(ast.walk(tree))
    forgot = next((name for name in names if name in own and not changes), "")
    why = f"round {rounds:,} begins with the same numbers as an earlier one"
    if not changes:
        parts = _quantities(loop.test)
        shown = " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))
        why = f"{shown} {'does' if len(parts) == 1 else 'do'}n't change in this loop"
    advised = f"Did you forget `{forgot} += …`?" if forgot else ""
    return f"{why}: `while {ast.unparse(loop.test)}` can't end.", advised


def _quantities(test: Any) -> list[str]:
    """What a test compares, as in `i` and `x.size`."""
    if isinstance(test, (ast.Name, ast.Attribute, ast.Subscript)):
        return [f"`{ast.unparse(test)}`"]
    parts = test.args if isinstance(test, ast.Call) else ast.iter_child_nodes(test)
    return list(dict.fromkeys(name for part in parts for name in _quantities(part)))


def assigned(parts: Iterable[Any]) -> set[str]:
    return {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
