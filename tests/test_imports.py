"""Who imports whom, what ``import fluxlite`` costs, and how long the files are: the house, held by a test.

The code is course material. A reader who opens `tree.py` must be able to read it without the rest.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import fluxlite

PACKAGE = Path(fluxlite.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
# Whom a module may import, of ours, also inside functions. Those that are not named here are held by LAYERS alone.
MAY_IMPORT = {
    "ties": set(),
    "rules": set(),
    "array_methods": set(),
    "notices": set(),
    "tree": {"ties"},
    "walks": {"ties", "tree"},
    "parameters": {"ties", "tree", "walks"},
    "arrays": {"ties"},
    "levels": {"arrays"},
    "tracked": {"arrays", "rules", "array_methods", "levels", "derivatives"},  # the last when first needed
    "initializers": set(),
    "errors": {"arrays", "ties", "tracked", "walks"},
}
TREE = {"ties", "tree", "walks", "parameters"}
DERIVATIVES = {"arrays", "rules", "tracked"}
AUTODIFF = TREE | DERIVATIVES | {"levels", "derivatives"}
MAY_IMPORT |= {
    "derivatives": DERIVATIVES,
    "own_rules": {"rules", "derivatives"},
    "autodiff": AUTODIFF,
    "older_styles": AUTODIFF | {"autodiff"},
    "activations": DERIVATIVES,
    "losses": DERIVATIVES | {"activations", "errors"},
    "optimizers": AUTODIFF | {"autodiff", "notices"},
    "layers": TREE | DERIVATIVES | {"errors", "initializers", "activations", "layers"},
    "data": TREE | {"arrays", "devices", "notices"},
    "onehots": {"arrays", "ties"},
    "checkpoint": TREE | {"arrays", "data", "devices", "notices", "optimizers", "tracked"},
    "training": AUTODIFF | {"autodiff", "checkpoint", "devices", "errors", "notices", "optimizers", "seconds"},
}
# The core: the length of what is to be read to understand gradients and models.
CORE = [
    "tree", "ties", "walks", "parameters", "arrays", "array_methods", "rules", "levels", "tracked", "autodiff",
    "derivatives", "layers/basic",
]  # fmt: skip
# Derivatives that are more of the same.
RARER = ["keywords", "linear_algebra", "pieces", "sequences", "spectra", "statistics"]
LIMIT_OF_CORE = 1900


def imported(source: str, module: str) -> set[str]:
    """The modules of fluxlite that this source, of the dotted `module`, imports, by the first part of their names."""
    found = set()
    package = module.split(".")[:-1]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = [*base, *(node.module.split(".") if node.module else [])]
            # ``from . import ties`` names modules, ``from .ties import address`` what is in one
            names = (
                [".".join([*base, alias.name]) for alias in node.names] if base == ["fluxlite"] else [".".join(base)]
            )
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("fluxlite.")}
    return found


def dotted(file: Path) -> str:
    parts = ("fluxlite", *file.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts)


def forbidden(source: str, module: str) -> set[str]:
    """What `module` imports and may not."""
    name = module.split(".")[1]
    others = imported(source, module) - {name}
    wrong = others - MAY_IMPORT.get(name, others)
    return wrong | ({"jupyter"} & others if name not in ("jupyter", "course", "timelines") else set())


@pytest.mark.parametrize("file", FILES, ids=dotted)
def test_who_imports_whom(file):
    assert not forbidden(file.read_text(encoding="utf-8"), dotted(file))


@pytest.mark.parametrize(
    ("module", "source", "wrong"),
    [
        ("fluxlite.ties", "from .tree import children", {"tree"}),
        ("fluxlite.tree", "def f():\n    from . import walks", {"walks"}),
        ("fluxlite.tree", "import fluxlite.autodiff as a", {"autodiff"}),
        ("fluxlite.arrays", "from fluxlite.devices.cpu import CPU", {"devices"}),
        ("fluxlite.derivatives.shaping", "from ..autodiff import gradient", {"autodiff"}),
        ("fluxlite.layers.basic", "from ..devices import cpu", {"devices"}),
        ("fluxlite.optimizers", "from .devices.selection import gpu", {"devices"}),
        ("fluxlite.explanation", "from .jupyter import display", {"jupyter"}),
        ("fluxlite.tree", "from .ties import is_array\nimport numpy", set()),
        ("fluxlite.derivatives.shaping", "from .elementwise import fit\nfrom ..arrays import move", set()),
    ],
)
def test_the_checker_sees_what_is_forbidden(module, source, wrong):
    assert forbidden(source, module) == wrong


def test_import_fluxlite_loads_no_more_than_it_needs():
    """No GPU library, nothing for plots or notebooks, and nothing of ours before it is used."""
    program = (
        "import sys, fluxlite\n"
        "outside = ['cupy', 'matplotlib', 'IPython', 'mlx', 'torch', 'jax', 'importlib.metadata', 'ipywidgets']\n"
        "ours = ['simulated', 'optimizers', 'losses', 'activations', 'derivatives', 'jupyter', 'course']\n"
        "ours = ['fluxlite.' + name for name in ours]\n"
        "print([name for name in outside + ours if name in sys.modules])\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n" and result.stderr == ""


@pytest.mark.parametrize("name", sorted(set(fluxlite.__dir__()) - {"__builtins__", "__cached__"}))
def test_every_name_of_the_table_of_contents_is_there(name):
    getattr(fluxlite, name)


def test_unknown_names_raise_what_python_raises():
    with pytest.raises(AttributeError, match="module 'fluxlite' has no attribute 'grad'"):
        fluxlite.grad  # noqa: B018


# -- length -----------------------------------------------------------------------------------------------


def code_lines(source: str) -> int:
    """The lines that hold code: without docstrings, comments and empty ones."""
    tree = ast.parse(source)
    lines = {number for number, line in enumerate(source.splitlines(), 1) if line.strip() and line.strip()[0] != "#"}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def test_the_counter_counts_code():
    source = (
        '"""Doc.\n\nMore."""\n\n# comment\nx = 1\n\n\ndef f():\n    """Doc."""\n    return """text\n    in code"""\n'
    )
    assert code_lines(source) == 4


def test_the_core_can_be_read():
    files = [f for name in CORE for f in [*PACKAGE.glob(f"{name}.py"), *PACKAGE.glob(f"{name}/*.py")]]
    files = [f for f in files if not (f.parent.name == "derivatives" and f.stem in RARER)]
    total = sum(code_lines(file.read_text(encoding="utf-8")) for file in files)
    assert LIMIT_OF_CORE - 200 < total <= LIMIT_OF_CORE, (
        f"{total} lines of code, {LIMIT_OF_CORE} are allowed: say it shorter, or put it where it is not core"
    )


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Its lines, without the docstring."""
    documented = ast.get_docstring(function) is not None
    docstring = function.body[0].end_lineno - function.body[0].lineno + 1 if documented else 0
    return function.end_lineno - function.lineno + 1 - docstring


@pytest.mark.parametrize("file", FILES, ids=dotted)
def test_no_file_is_longer_than_400_lines_and_no_function_than_40(file):
    source = file.read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 400
    functions = [n for n in ast.walk(ast.parse(source)) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))]
    assert [f.name for f in functions if length(f) > 40] == []
