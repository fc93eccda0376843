"""What to write instead, in the words of the kernel's own line: guards, signed numbers, and an end to a race."""

from __future__ import annotations

import ast
import copy
from typing import Any, NamedTuple

_UNSIGNED = {"threadIdx", "blockIdx", "blockDim", "gridDim", "grid", "gridsize", "laneid"}


def indices_of(node: Any) -> list[Any]:
    """The index of each axis, in ``x[i, j]`` or in ``jit.atomic_add(x, (i, j), 1)``."""
    index = node.slice if isinstance(node, ast.Subscript) else node.args[1] if len(node.args) > 1 else None
    return list(index.elts) if isinstance(index, ast.Tuple) else [index] if index else []


def owner_of(node: Any) -> Any:
    """The array, in the same two."""
    return node.value if isinstance(node, ast.Subscript) else node.args[0]


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


def guard(
    node: Any, place: int, axes: int, index: int, part: Any, launch: Any, tree: Any, signed: Signed | None
) -> str:
    """What keeps index number `place` of this access inside. `axes` are left of the array that it's taken of."""
    indices = indices_of(node)
    if place < len(indices) and _is_below(indices[place]):
        return _from_the_end(node, place, axes, part)
    if place >= len(indices) or isinstance(indices[place], (ast.Constant, ast.IfExp, ast.BoolOp, ast.Compare)):
        return ""
    text, owner = ast.unparse(indices[place]), owner_of(node)
    if index < 0:
        if _stands(f"{text} >= 0", node, tree):
            return ""
        return f" Guard the line: `if {signed.renamed(indices[place]) if signed else text} >= 0:`."
    if part.is_shared and not isinstance(owner, ast.Name):
        return ""
    threads, is_larger = launch.threads, part.is_shared and launch.threads > part.shape[0]
    more = f" Or is the block, with its {threads:,} threads, larger than the tile?" if is_larger else ""
    return f" Guard the line: `if {text} < {_size(owner, place, axes, part)}:`.{more}"


def _is_below(index: Any) -> bool:
    """Whether it's a number such as -1."""
    is_minus = isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub)
    return is_minus and isinstance(index.operand, ast.Constant)


def _from_the_end(node: Any, place: int, axes: int, part: Any) -> str:
    """``x[x.size - 1]`` in place of ``x[-1]``."""
    owner, parts = owner_of(node), [ast.unparse(index) for index in indices_of(node)]
    parts[place] = f"{_size(owner, place, axes, part)} - {parts[place].removeprefix('-')}"
    return f" Write {ast.unparse(owner)}[{', '.join(parts)}]."


def _stands(test: str, node: Any, tree: Any) -> bool:
    """Whether this guard stands around the line already."""
    around = [part for part in ast.walk(tree) if isinstance(part, (ast.If, ast.While)) and node in ast.walk(part)]
    tests = [part for one in around for part in ast.walk(one.test) if isinstance(part, ast.Compare)]
    return test in map(ast.unparse, tests)


def _size(owner: Any, place: int, axes: int, part: Any) -> str:
    """How many elements there are along this axis, in the kernel's words."""
    if part.is_shared:
        return str(part.shape[0])
    whole = axes == 1 and isinstance(owner, ast.Name)
    return f"{ast.unparse(owner)}.size" if whole else _axis_size(owner, len(part.shape) - axes + place)


def _axis_size(owner: Any, axis: int) -> str:
    while isinstance(owner, ast.Subscript):
        owner = owner.value
    return f"{ast.unparse(owner)}.shape[{axis}]"


def signed(node: Any, tree: Any, seen: frozenset[str] = frozenset()) -> Signed | None:
    """What makes the unsigned number in this part of the text a signed one: ``t = int(jit.threadIdx.x)``.

    None if it isn't in the text of this function. The names of `seen` have been looked at.
    """
    if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")).startswith("int"):
        return None
    if _is_unsigned(node):
        return Signed(ast.unparse(node))
    if isinstance(node, ast.Name):
        return None if node.id in seen else _signed_name(node.id, tree, seen | {node.id})
    found = (signed(part, tree, seen) for part in ast.iter_child_nodes(node))
    return next(filter(None, found), None)


def _signed_name(name: str, tree: Any, seen: frozenset[str]) -> Signed | None:
    for assign in ast.walk(tree):
        if not isinstance(assign, ast.Assign):
            continue
        target = assign.targets[0]
        if isinstance(target, ast.Name) and target.id == name:
            if _all_unsigned(assign.value):
                return Signed(ast.unparse(assign.value), name)
            if found := signed(assign.value, tree, seen):
                return found
        if isinstance(target, ast.Tuple) and name in map(ast.unparse, target.elts) and _is_unsigned(assign.value):
            return Signed(name, another(name))
    return None


def _is_unsigned(node: Any) -> bool:
    """``jit.threadIdx.x`` and its like, or ``jit.grid(1)`` and its like."""
    inner = node.func if isinstance(node, ast.Call) else node.value if isinstance(node, ast.Attribute) else None
    return getattr(inner, "attr", getattr(inner, "id", "")) in _UNSIGNED


def _all_unsigned(node: Any) -> bool:
    """Also ``jit.blockIdx.x * jit.blockDim.x + jit.threadIdx.x``."""
    if isinstance(node, ast.BinOp):
        return _all_unsigned(node.left) and _all_unsigned(node.right)
    return _is_unsigned(node)


def another(name: str) -> str:
    """Another name for nearly the same: ``jj``, ``signed_row``."""
    return name * 2 if len(name) == 1 else f"signed_{name}"


# -- Arrays where a number is needed --------------------------------------------------------------


def one_element(node: Any, axes: int) -> str:
    """What to write where `node` has so many axes left, and a number is needed."""
    text = ast.unparse(node)
    if not isinstance(node, ast.Subscript):
        more = "" if axes == 1 else f" of {axes} axes"
        return f"{text} is a whole array{more}: write {text}[{', '.join('ijkl'[:axes])}]"
    owner, given = ast.unparse(node.value), len(indices_of(node))
    if given == axes == 1 and (both := _row_and_column(node.slice)):
        return f"{owner} has 2 axes: write {owner}[{both}]"
    index = ast.unparse(node.slice).strip("()") if isinstance(node.slice, ast.Tuple) else ast.unparse(node.slice)
    last = [f"{owner}[{', '.join([index, *which])}]" for which in (["0"] * axes, list("jkl"[:axes]))]
    what = "row" if axes == 1 else "array"
    return f"{owner} has {given + axes} axes, and {text} is a whole {what}: write {' or '.join(last)}"


def _row_and_column(index: Any) -> str:
    """``row, column`` of ``row * width + column``."""
    if not isinstance(index, ast.BinOp) or not isinstance(index.op, ast.Add):
        return ""
    for product, column in ((index.left, index.right), (index.right, index.left)):
        if isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult):
            row = product.right if isinstance(product.left, (ast.Constant, ast.Attribute)) else product.left
            return f"{ast.unparse(row)}, {ast.unparse(column)}"
    return ""


def too_many(node: Any, axes: int) -> str:
    """What to write instead of more indices than there are axes."""
    owner, indices = ast.unparse(owner_of(node)), indices_of(node)
    if axes == 1 and len(indices) == 2:
        others = [index for index in indices if not (isinstance(index, ast.Constant) and index.value == 0)]
        if len(others) == 1:
            return f"{owner} has 1 axis: write {owner}[{ast.unparse(others[0])}]"
        row, column = (f"({ast.unparse(i)})" if isinstance(i, ast.BinOp) else ast.unparse(i) for i in indices)
        return f"{owner} has 1 axis: write {owner}[{row} * width + {column.strip('()')}]"
    return f"{owner} has {axes} {'axis' if axes == 1 else 'axes'}, got {len(indices)} indices"


def of_many(node: ast.BinOp) -> str:
    """What to write for ``[0.0] * 128`` and for ``a @ b``. Empty for other operators."""
    if isinstance(node.op, ast.Mult) and isinstance(node.left, ast.List):
        share = f"jit.shared_memory(np.float32, {ast.unparse(node.right)}), which all threads of the block share"
        return f"a kernel has no lists: write {share}, or one variable for each number"
    if not isinstance(node.op, ast.MatMult):
        return ""
    (left, size), (right, _) = _along_k(node.left), _along_k(node.right)
    if not left or not right:
        return "a kernel has no @: write a loop over k, s += A[i, k] * B[k, j]"
    return f"a kernel has no @: loop, for k in range({size}): s += {left} * {right}"


def _along_k(node: Any) -> tuple[str, str]:
    """``A[i, k]`` of ``A[i, :]``, and how many k there are: ``A.shape[1]``."""
    if not isinstance(node, ast.Subscript):
        return "", ""
    indices = indices_of(node)
    sliced = [axis for axis, index in enumerate(indices) if isinstance(index, ast.Slice)]
    if len(sliced) != 1:
        return "", ""
    texts = ["k" if axis in sliced else ast.unparse(index) for axis, index in enumerate(indices)]
    return f"{ast.unparse(node.value)}[{', '.join(texts)}]", f"{ast.unparse(node.value)}.shape[{sliced[0]}]"


def changed_element(node: ast.AugAssign, axes: int) -> str:
    """What to write instead of ``out += x[i]`` for an array of so many axes."""
    name, sign = ast.unparse(node.target), _SIGNS.get(type(node.op), "")
    text = f"{name} is a whole array: write {name}[{', '.join('ijkl'[:axes])}] {sign}= …"
    first = "0" if axes == 1 else f"({', '.join('0' * axes)})"
    is_sum = isinstance(node.op, ast.Add)
    return f"{text} (and for a sum, jit.atomic_add({name}, {first}, {ast.unparse(node.value)}))" if is_sum else text


def other_array(target: ast.Subscript, array: Any, kind: Any) -> str:
    """What to write where an array can't take a number of this kind."""
    name, to = ast.unparse(target.value), array.dtype
    make = f"np.zeros({'n' if array.ndim == 1 else 'shape'}, np.{kind})"
    if type(array).__name__ == "Pointer":
        make = f"jit.shared_memory(np.{kind}, …)"
    one = f", or write {ast.unparse(target)} = {'int' if to.kind == 'i' else f'np.{to}'}(…)" if kind.kind != "c" else ""
    return f"{name} is an array of {to} and can't take {kind}. Make it {make}{one}"


_SIGNS = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip


# -- Races ----------------------------------------------------------------------------------------


def addition(node: Any, tree: Any) -> str:
    """The atomic that does what ``out[0] += x`` does, if `node` is the element that such a line changes."""
    changes: list[Any] = [part for part in ast.walk(tree) if isinstance(part, ast.AugAssign)]
    for change in changes:
        if change.target is node and isinstance(change.op, (ast.Add, ast.Sub)):
            given = ast.unparse(change.value)
            if isinstance(change.op, ast.Sub):
                given = f"-({given})" if isinstance(change.value, ast.BinOp) else f"-{given}"
            index = ast.unparse(node.slice)
            return f"jit.atomic_add({ast.unparse(node.value)}, {index}, {given})"
    return ""


def own_elements(node: Any) -> str:
    """What to write where all threads write the same elements, one after the other, with one line."""
    names = [index.id for index in indices_of(node) if isinstance(index, ast.Name)]
    if not names or len(names) > 3:
        return "Give each thread its own element, or let one of them write, or use jit.atomic_add."
    one = len(names) == 1
    get = f"{names[0]} = int(jit.grid(1))" if one else f"{', '.join(reversed(names))} = jit.grid({len(names)})"
    return f"Every thread runs the whole function. Let each do its own: {get}."


# -- A launch whose blocks have other axes than the kernel counts in ------------------------------


def second_axis(tree: Any) -> tuple[str, str]:
    """What a kernel counts a second axis with, and its name: ``("jit.grid(2)", "row")``. Empty if it has none.

    What the threads of a block have for it is looked at first.
    """
    found = ("", "")
    for node in ast.walk(tree):
        inner = node.value if isinstance(node, ast.Attribute) and node.attr in "yz" else None
        if getattr(inner, "attr", getattr(inner, "id", "")) in ("threadIdx", "blockDim"):
            return ast.unparse(node), ""
        if isinstance(node, ast.Assign) and _is_grid_of_axes(node.value):
            target = node.targets[0]
            names = target.elts if isinstance(target, ast.Tuple) else []
            found = ast.unparse(node.value), ast.unparse(names[1]) if len(names) > 1 else ""
    return found


def _is_grid_of_axes(node: Any) -> bool:
    is_grid = isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "grid"
    return is_grid and bool(node.args) and isinstance(node.args[0], ast.Constant) and node.args[0].value != 1


def lost_axis(second: tuple[str, str], grid: Any, block: Any) -> str:
    """What's wrong where a kernel counts a second axis, and the launch says ``256`` for the threads."""
    what, name = second
    if not what or block[0] == 1:
        return ""
    of_grid = what.endswith(")")
    always = "the block's" if of_grid and grid[1] > 1 else "1" if "blockDim" in what else "0"
    side = round(block[0] ** 0.5)
    write = (side, side) if side * side == block[0] else (32, block[0] // 32) if block[0] % 32 == 0 else (16, 16)
    return (
        f"{what} in a launch whose blocks have one axis: {name or ('the second' if of_grid else 'it')} is always "
        f"{always}. Launch with {write}."
    )


def first_axis(second: tuple[str, str], block: Any) -> str:
    """What's wrong where a kernel counts one axis only, and its blocks have more."""
    each = block[1] * block[2]
    if second[0] or each == 1:
        return ""
    axes = " × ".join(str(n) for n in (block if block[2] > 1 else block[:2]))
    return (
        f"jit.grid(1) and jit.threadIdx.x count only the first axis: in blocks of {axes}, {each:,} threads have each "
        f"number. Launch with {each * block[0]:,}, or use jit.grid(2)."
    )
