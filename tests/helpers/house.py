"""The house: which room of fluxlite may import which. The picture in CONTRIBUTING.md says it, and is read here.

A room is a package, or a module beside them. simgpu is a house of its own, with NumPy for its ground.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "CONTRIBUTING.md"
TABLE_OF_CONTENTS = "fluxlite"

BEGIN, END = "<!-- the house: tests/helpers/house.py reads it -->\n```\n", "\n```\n<!-- end of the house -->"


class Room(NamedTuple):
    """What a room is, which others it may import, even inside functions, and the floor that it's on."""

    what: str
    may_import: set[str]
    floor: int


def drawn(page: str) -> dict[str, Room]:
    """The rooms in the picture, the ground floor first."""
    floor, name = 0, ""
    found: dict[str, Room] = {}
    for line in page.partition(BEGIN)[2].partition(END)[0].splitlines():
        words = line.split()
        if line.startswith("floor"):
            floor = int(words[1])
        elif words[0] == "└▶":
            found[name].may_import.update(line.partition("└▶ ")[2].split(", "))
        else:
            name, what = line.split(maxsplit=1)
            found[name] = Room(what, {TABLE_OF_CONTENTS} if name == "__main__" else set(), floor)
    return dict(sorted(found.items(), key=lambda item: item[1].floor))


ROOMS = drawn(PAGE.read_text(encoding="utf-8"))

# Single files that may do what their room may not, and why.
EXCEPTIONS = {
    ("reports.diagnosis", TABLE_OF_CONTENTS): "the number of the version stands there",
}


def modules(package: str = "fluxlite") -> dict[str, str]:
    """Each module's source, by its dotted name."""
    paths = sorted((ROOT / package).rglob("*.py"))
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in paths}
    return {name.removesuffix(".__init__"): path.read_text(encoding="utf-8") for name, path in names.items()}


def libraries(source: str) -> set[str]:
    """The packages that this source imports by name, even inside functions."""
    nodes = list(ast.walk(ast.parse(source)))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and not node.level}
    return {name.partition(".")[0] for name in names}


def imported(source: str, module: str, known: set[str], is_package: bool = False) -> set[str]:
    """Which of the `known` modules this source imports, even inside functions. `module` is its own dotted name.

    For a name that isn't a module, it's the module that the name comes from. Imports that only a type checker reads
    count too, except in the table of contents, which names everything there.
    """
    package = module.split(".") if is_package else module.split(".")[:-1]
    found = set()
    for node in _nodes(ast.parse(source), module != TABLE_OF_CONTENTS):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            whole = ".".join([*base, *(node.module.split(".") if node.module else [])])
            names = {f"{whole}.{alias.name}" for alias in node.names}
            found |= {name if name in known else whole for name in names}
    return {name for name in found if name in known}


def _nodes(node: ast.AST, for_type_checkers: bool) -> Iterator[ast.AST]:
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, ast.If) and ast.unparse(inner.test) == "TYPE_CHECKING" and not for_type_checkers:
            continue
        yield inner
        yield from _nodes(inner, for_type_checkers)


def graph(sources: dict[str, str]) -> dict[str, set[str]]:
    """For each module, the modules that it imports."""
    known = set(sources)
    packages = {name.rpartition(".")[0] for name in known}
    return {name: imported(source, name, known, name in packages) - {name} for name, source in sources.items()}


def circle(arrows: dict[str, set[str]]) -> list[str]:
    """The modules in one circle of imports, with the first repeated at the end. Empty if there's none."""
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        found = next(filter(None, (visit(other, [*path, name]) for other in sorted(arrows.get(name, ())))), [])
        done.add(name)
        return found

    return next(filter(None, (visit(name, []) for name in arrows)), [])


def room(module: str) -> str:
    """The room that a module is in."""
    return module.split(".")[1] if "." in module else TABLE_OF_CONTENTS


def forbidden(module: str, others: set[str]) -> set[str]:
    """The rooms of `others` that `module` must not import from."""
    if module == TABLE_OF_CONTENTS:
        return set()
    here = room(module)
    rooms = {room(other) for other in others} - {here}
    return {
        other for other in rooms - ROOMS[here].may_import if (module.removeprefix("fluxlite."), other) not in EXCEPTIONS
    }
