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
    owner, given = node, []
    if isinstance(node, ast.Subscript):
        owner, given = node.value, list(map(ast.unparse, indices_of(node)))
    index = [*given, *[letter for letter in "ijklmn" if letter not in given][:axes]]
    more = "" if axes == 1 else f" of {axes} axes"
    return f"{ast.unparse(node)} is a whole array{more}: write {ast.unparse(owner)}[{', '.join(index)}]"


def hint(kind: Any, to: Any) -> str:
    """What to write where a number of this kind can't become the type `to`."""
    if {kind.kind, to.kind} == {"i", "u"}:
        return UNSIGNED
    if to.kind == "i":
        return ": write int(…)"
    if to.kind in "uf":
        return f": write np.{to}(…)"
    return ""


def guard(node: Any, place: int, axes: int, index: int, part: Any) -> str:
    """The test that keeps index `place` of this access inside. The array that it indexes has this many `axes`."""
    indices, owner = indices_of(node), node.value
    given = indices[place] if place < len(indices) else ast.Constant(0)
    has_name = any(isinstance(inner, ast.Name) for inner in ast.walk(given))
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
            if isinstance(change.op, ast.Add):
                given = change.value
            else:
                given = ast.UnaryOp(ast.USub(), change.value)
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
    if isinstance(test, ast.Compare):
        sides = [test.left, *test.comparators]
    else:
        sides = [test]
    shown = [f"`{ast.unparse(side)}`" for side in sides if not isinstance(side, ast.Constant)] or ["`True`"]
    forgotten = next((name for name in names if name in assigned_names(ast.walk(tree))), "")
    do_not = "don't" if len(shown) > 1 else "doesn't"
    why = f"{' and '.join(shown)} {do_not} change in this loop: `while {ast.unparse(test)}` can't end."
    if forgotten:
        return why, f"Did you forget `{forgotten} += …`?"
    return why, ""


def assigned_names(parts: Any) -> set[str]:
    return {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
