"""What to write instead, in the words of the kernel's own line: a guard, an atomic, a loop that ends."""

import ast
from typing import Any

UNSIGNED = ". jit.threadIdx.x, jit.grid and their like are unsigned: write int(jit.threadIdx.x), int(jit.grid(1))"


def indices_of(node: ast.Subscript) -> list[Any]:
    """The index of each axis."""
    if isinstance(node.slice, ast.Tuple):
        return list(node.slice.elts)
    return [node.slice]


def one_element(node: Any, axes: int) -> str:
    """What to write where a number is needed, and `node` is an array with this many `axes`."""
    is_part = isinstance(node, ast.Subscript)
    owner, given = (node.value, list(map(ast.unparse, indices_of(node)))) if is_part else (node, [])
    index = [*given, *[letter for letter in "ijklmn" if letter not in given][:axes]]
    more = "" if axes == 1 else f" of {axes} axes"
    return f"{ast.unparse(node)} is a whole array{more}: write {ast.unparse(owner)}[{', '.join(index)}]"


def hint(kind: Any, to: Any) -> str:
    """What to write where a number of this kind can't become the type `to`."""
    if {kind.kind, to.kind} == {"i", "u"}:
        return UNSIGNED
    if to.kind in "iuf":
        return f": write {'int' if to.kind == 'i' else f'np.{to}'}(…)"
    return ""


def guard(node: Any, place: int, axes: int, index: int, part: Any) -> str:
    """The test that keeps index `place` of this access inside. The array that it indexes has this many `axes`."""
    indices, owner = indices_of(node), node.value
    given = indices[place] if place < len(indices) else ast.Constant(0)
    has_name = any(isinstance(part, ast.Name) for part in ast.walk(given))
    if not has_name or isinstance(given, (ast.IfExp, ast.BoolOp, ast.Compare)):
        return ""
    if index < 0:
        return f" Guard the line: `if {ast.unparse(given)} >= 0:`."
    if part.is_shared:
        size = str(part.shape[0])
    elif axes == 1 and isinstance(owner, ast.Name):
        size = f"{owner.id}.size"
    else:
        while isinstance(owner, ast.Subscript):
            owner = owner.value
        size = f"{ast.unparse(owner)}.shape[{len(part.shape) - axes + place}]"
    return f" Guard the line: `if {ast.unparse(given)} < {size}:`."


def addition(node: Any, tree: Any) -> str:
    """The atomic that does the same as ``out[0] += x``, if `node` is the element that such a line changes."""
    for change in [part for part in ast.walk(tree) if isinstance(part, ast.AugAssign) and part.target is node]:
        if isinstance(change.op, (ast.Add, ast.Sub)):
            given = change.value if isinstance(change.op, ast.Add) else ast.UnaryOp(ast.USub(), change.value)
            return f"jit.atomic_add({ast.unparse(node.value)}, {ast.unparse(node.slice)}, {ast.unparse(given)})"
    return ""


def endless(loop: Any, tree: Any) -> tuple[str, str]:
    """Why a `while` can't end, and what may be missing. Empty if something in the loop might change what it tests."""
    if isinstance(loop, ast.For):
        return "", ""
    test, inside = loop.test, [part for statement in loop.body for part in ast.walk(statement)]
    is_steered = any(isinstance(part, (ast.Break, ast.Return)) for part in inside)
    names = [part.id for part in ast.walk(test) if isinstance(part, ast.Name)]
    reads = [part for part in ast.walk(test) if isinstance(part, (ast.Subscript, ast.Call))]
    reads = [part for part in reads if not isinstance(getattr(part, "value", None), ast.Attribute)]  # as x.shape[0] is
    if is_steered or reads or assigned_names(inside) & set(names):
        return "", ""
    sides = [test.left, *test.comparators] if isinstance(test, ast.Compare) else [test]
    shown = [f"`{ast.unparse(side)}`" for side in sides if not isinstance(side, ast.Constant)] or ["`True`"]
    forgotten = next((name for name in names if name in assigned_names(ast.walk(tree))), "")
    why = f"{' and '.join(shown)} {'do' if len(shown) > 1 else 'does'}n't change in this loop"
    return f"{why}: `while {ast.unparse(test)}` can't end.", f"Did you forget `{forgotten} += …`?" * bool(forgotten)


def assigned_names(parts: Any) -> set[str]:
    return {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
