"""The three houses: which room of a package may import which. The pictures in docs/house.md say it.

A room is a package, or a module beside them. It may import the rooms on the floors below its own.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "house.md"


class Room(NamedTuple):
    """What a room is, and the floor that it's on."""

    what: str
    floor: int


def drawn(package: str, page: str) -> dict[str, Room]:
    """The rooms in a package's picture, the ground floor first. Each line has a floor, a name, and what it is."""
    before = f"<!-- {package}: tests/helpers/house.py reads it -->\n```\n"
    lines = page.partition(before)[2].partition("\n```\n<!-- end -->")[0].splitlines()
    found = {name: Room(what, int(floor)) for floor, name, what in (line.split(maxsplit=2) for line in lines)}
    return dict(sorted(found.items(), key=lambda item: item[1].floor))


_TEXT = PAGE.read_text(encoding="utf-8")
HOUSES = {package: drawn(package, _TEXT) for package in ("fluxlite", "simgpu", "fluxlite_course")}
ROOMS = HOUSES["fluxlite"]  # the site draws them, too

# Single files that may import their package's table of contents, and why.
EXCEPTIONS = {
    "fluxlite.__main__": "the number of the version stands there",
    "fluxlite.reports": "the number of the version stands there",
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
    for node in _nodes(ast.parse(source), "." in module):
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
    """The room that a module is in; the package itself for its table of contents. The lessons' folders are one room."""
    name = module.split(".")[1] if "." in module else module
    return re.sub(r"^lesson\d\d$", "lessons", name)


def forbidden(module: str, others: set[str]) -> set[str]:
    """The rooms of `others` that `module` must not import from."""
    package, here = module.partition(".")[0], room(module)
    rooms = HOUSES[package]
    if here not in rooms:  # the table of contents; or a room that isn't drawn yet, for which there's a test
        return set()
    below = {name for name, other in rooms.items() if other.floor < rooms[here].floor}
    found = {room(other) for other in others if other.partition(".")[0] == package} - {here}
    return found - below - ({package} if module in EXCEPTIONS or here == "lessons" else set())
