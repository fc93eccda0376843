"""The house: which room of fluxlite may import which. CONTRIBUTING.md has its picture.

A room is a package, or a module on the top floor. ``python tests/helpers/house.py`` redraws the picture.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "fluxlite"
PAGE = ROOT / "CONTRIBUTING.md"
TABLE_OF_CONTENTS = "fluxlite"

# What each room is, and which others it may import, even inside functions. In reading order: only rooms above.
ROOMS: dict[str, tuple[str, set[str]]] = {
    "arguments": ("what a function was given, in words, when it can't use it", set()),
    "tree": ("a model is a tree: how it comes apart, ties, walks, parameters", {"arguments"}),
    "lazy": ("a table of contents whose names are loaded when they are first used", set()),
    "writing": ("a file is written whole, or not at all", set()),
    "messages": ("what is said to the user, most of it once", set()),
    "seeds": ("one number that decides all random ones", set()),
    "pictures": ("how pictures look, and how they are shown", set()),
    "coming_from": ("what names of PyTorch, Keras and JAX are called here", set()),
    "methods": ("x.sum() for np.sum(x) and so on, for array types that speak NumPy's protocols", set()),
    "tensors": ("what to do with a tensor of PyTorch, JAX and others", set()),
    "outline": ("nested rows, drawn as text or as HTML that unfolds", set()),
    "unreached": ("arrays of a model that no walk reaches: where they are, and what helps", {"tree", "messages"}),
    "arrays": ("what is asked of an array without knowing whose it is", {"arguments", "tree"}),
    "autodiff": (
        "gradients: the array that remembers, the derivative rules, the way back",
        {"arguments", "tree", "unreached", "arrays", "messages", "coming_from", "methods", "tensors"},
    ),
    "errors": ("errors that name the place in a model", {"arguments", "tree", "arrays", "autodiff", "coming_from"}),
    "fused": ("several elementwise calls as one launch: fuse", {"arguments", "tree", "arrays", "autodiff"}),
    "activations": ("relu, tanh, softmax and their kin, with their derivatives", {"arguments", "arrays", "autodiff"}),
    "losses": (
        "what training makes small",
        {"arguments", "tree", "arrays", "autodiff", "errors", "messages", "activations", "tensors"},
    ),
    "layers": (
        "what networks are made of, and how they print",
        {
            "arguments",
            "tree",
            "arrays",
            "autodiff",
            "errors",
            "messages",
            "seeds",
            "activations",
            "fused",
            "coming_from",
            "tensors",
            "outline",
        },
    ),
    "optimizers": (
        "setup, update and the rules",
        {"arguments", "tree", "unreached", "arrays", "autodiff", "fused", "errors", "messages", "coming_from"},
    ),
    "schedules": ("learning rates that change with the steps", {"arguments", "errors"}),
    "devices": (
        "where arrays live; which device gpu(x) chooses, and how it moves",
        {
            "arguments",
            "writing",
            "tree",
            "unreached",
            "arrays",
            "autodiff",
            "errors",
            "messages",
            "seeds",
            "methods",
            "fused",
            "tensors",
            "coming_from",
        },
    ),
    "simulated": (
        "the simulated GPU: real values, a real GPU's rules, estimated times",
        {"arguments", "tree", "arrays", "fused", "devices", "coming_from"},
    ),
    "receipts": (
        "what the devices were asked to do, and how long it takes",
        {"arguments", "devices", "simulated", "pictures"},
    ),
    "reports": (
        "explain and doctor: what is where, what can be used",
        {"tree", "unreached", "arrays", "autodiff", "devices", "outline"},
    ),
    "data": (
        "observations, mini-batches, loaders",
        {"arguments", "tree", "arrays", "devices", "errors", "messages", "seeds", "tensors"},
    ),
    "checkpoint": (
        "save and load",
        {
            "arguments",
            "writing",
            "tree",
            "unreached",
            "arrays",
            "autodiff",
            "messages",
            "optimizers",
            "devices",
            "data",
            "tensors",
        },
    ),
    "distributed": (
        "training on several processes: who they are, what they exchange, what happens when one ends",
        {
            "arguments",
            "tree",
            "arrays",
            "autodiff",
            "messages",
            "optimizers",
            "devices",
            "data",
            "checkpoint",
            "writing",
        },
    ),
    "training": (
        "train, its callbacks, going on after an interrupt",
        {
            "arguments",
            "tree",
            "unreached",
            "arrays",
            "autodiff",
            "errors",
            "messages",
            "optimizers",
            "devices",
            "receipts",
            "checkpoint",
            "distributed",
        },
    ),
    "cuda": (
        "the names of CUDA.jl, and kernels by hand",
        {"arguments", "fused", "devices", "simulated", "receipts", "data"},
    ),
    "amdgpu": ("the names of AMDGPU.jl", {"devices"}),
    "metal": ("the names of Metal.jl", {"devices"}),
    "jupyter": (
        "widgets, magics, and the pictures of the lessons",
        {
            "tree",
            "messages",
            "autodiff",
            "devices",
            "simulated",
            "receipts",
            "reports",
            "training",
            "pictures",
            "outline",
        },
    ),
    "course": (
        "start, guess, check; the lessons; the classroom",
        {
            "arguments",
            "lazy",
            "writing",
            "messages",
            "pictures",
            "autodiff",
            "devices",
            "simulated",
            "receipts",
            "distributed",
            "jupyter",
            TABLE_OF_CONTENTS,
        },
    ),
    "__main__": ("python -m fluxlite …", {"course", TABLE_OF_CONTENTS}),
}

# Single files that may do what their room may not, and why.
EXCEPTIONS = {
    ("devices.simulation", "simulated"): "loads the simulated GPU when it is first asked for",
    ("jupyter.crossover", "course"): "shows what lesson 07 measures, and its notebook imports it from jupyter",
    ("reports.diagnosis", TABLE_OF_CONTENTS): "the number of the version stands there",
}


def modules() -> dict[str, str]:
    """Each module's source, by its dotted name."""
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in sorted(PACKAGE.rglob("*.py"))}
    return {name.removesuffix(".__init__"): path.read_text(encoding="utf-8") for name, path in names.items()}


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
    return {other for other in rooms - ROOMS[here][1] if (module.removeprefix("fluxlite."), other) not in EXCEPTIONS}


def floors() -> dict[str, int]:
    """Each room is one floor above the highest that it may import."""
    found: dict[str, int] = {TABLE_OF_CONTENTS: 0}
    for name, (_, others) in ROOMS.items():
        found[name] = 1 + max((found[other] for other in others), default=0)
    return found


def picture() -> str:
    """The house as text, ground floor last: each room with what it is and which rooms it may import."""
    floor, lines = floors(), []
    for number in range(max(floor.values()), 0, -1):
        lines.append(f"floor {number}")
        for name, (what, others) in ROOMS.items():
            if floor[name] == number:
                lines.append(f"    {name:<12} {what}")
                below = [other for other in ROOMS if other in others]
                if below:
                    lines.append(f"    {'':<12} └▶ {', '.join(below)}")
    return "\n".join(lines)


BEGIN, END = "<!-- the house: drawn by tests/helpers/house.py -->\n```\n", "\n```\n<!-- end of the house -->"


def drawn(page: str) -> str:
    """`page` with today's picture."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{picture()}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"{PAGE.name} shows the house as it is.")
