"""What may import what, what ``import fluxlite`` costs, how things are named, and how long functions are.

docs/house.md draws the house. The code is course material, so you can read `tree/` without the rest.
"""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import house
import pytest

import fluxlite

PACKAGE = Path(fluxlite.__file__).parent
TESTS = Path(__file__).parents[1]
FILES = sorted(PACKAGE.rglob("*.py"))
FILES_OF_SIMGPU = sorted((PACKAGE.parent / "simgpu").rglob("*.py"))
FILES_OF_THE_COURSE = sorted((PACKAGE.parent / "fluxlite_course").rglob("*.py"))
SOURCES = house.modules()
SIMGPU = house.modules("simgpu")
COURSE = house.modules("fluxlite_course")
ARROWS = house.graph(SOURCES | SIMGPU | COURSE)
# Where fluxlite meets the simulated GPU, and what it does without.
MEETING = {"cuda.jit", "devices.simulated", "devices.receipts"}
FOR_LESSONS = {"IPython", "anywidget", "ipywidgets", "matplotlib", "fluxlite_course"}
# What simgpu imports besides NumPy, and only where it's asked for: CuPy compiles kernels, pytest loads its plugin.
ASKED_FOR = {
    "simgpu.jit.compiled": {"cupy", "cupyx"},
    "simgpu.jit.kernel": {"cupy"},
    "simgpu.pytest": {"pytest"},
    "simgpu.testing.parameters": {"packaging", "pytest"},
}


# -- what imports what -----------------------------------------------------------------------------------------------


def test_who_imports_whom():
    found = {module: house.forbidden(module, ARROWS[module]) for module in ARROWS}
    assert {module: wrong for module, wrong in found.items() if wrong} == {}, (
        "a room may import only lower floors: change a floor in docs/house.md, or take what both need to a room below"
    )


@pytest.mark.parametrize(
    ("module", "source", "wrong"),
    [
        ("fluxlite.tree.ties", "from ..arrays import device_of", {"arrays"}),
        ("fluxlite.tree.contract", "def f():\n    from .. import arrays", {"arrays"}),
        ("fluxlite.tree.walks", "import fluxlite.autodiff.gradients as a", {"autodiff"}),
        ("fluxlite.layers.losses", "import fluxlite as fl", {"fluxlite"}),
        ("fluxlite.tree.walks", "from .ties import is_array\nimport numpy", set()),
        ("fluxlite_course.kit.guesses", "from ..lesson01 import checks", {"lessons"}),
    ],
)
def test_the_checker_sees_what_is_forbidden(module, source, wrong):
    assert house.forbidden(module, house.imported(source, module, set(ARROWS))) == wrong


def test_simgpu_stands_on_numpy_alone():
    allowed = {*sys.stdlib_module_names, "numpy", "simgpu"}
    found = {
        module: house.libraries(source) - allowed - ASKED_FOR.get(module, set()) for module, source in SIMGPU.items()
    }
    for module in found:
        if module.startswith("simgpu.cupyx.scipy"):  # which programs import where there's SciPy
            found[module] -= {"scipy"}
    assert {module: names for module, names in found.items() if names} == {}, (
        "a copy of simgpu's folder runs with NumPy alone: do without, or import it in the function that needs it, "
        "and enter that in ASKED_FOR above"
    )


def test_fluxlite_meets_the_simulated_gpu_in_three_files_at_most():
    found = {name.removeprefix("fluxlite.") for name, source in SOURCES.items() if "simgpu" in house.libraries(source)}
    assert found <= MEETING, "ask the device for it: devices/simulated.py is where fluxlite knows simgpu"


def test_the_library_needs_neither_notebooks_nor_pictures_nor_the_course():
    found = {name: house.libraries(source) & FOR_LESSONS for name, source in SOURCES.items()}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}, (
        "fluxlite runs without them: move it to fluxlite_course, or give a lesson what it needs to draw it"
    )


@pytest.mark.parametrize("package", house.HOUSES)
def test_in_a_house_all_rooms_are_drawn(package):
    drawn = set(house.HOUSES[package])
    found = {house.room(module) for module in ARROWS if module.startswith(f"{package}.")}
    assert found - drawn == set(), "give each a line in docs/house.md, with a floor above all that it imports"
    assert drawn - found == set(), "they aren't there any more: take their lines out of docs/house.md"


# What the course may use of the other two: names from these modules.
FOR_ALL = {
    "fluxlite", "fluxlite.cuda", "fluxlite.cuda.jit", "fluxlite.devices", "fluxlite.distributed", "fluxlite.messages",
    "fluxlite.devices.receipts", "fluxlite.processes", "fluxlite.simulated", "fluxlite.training", "fluxlite.words",
    "fluxlite.writing", "simgpu", "simgpu.events", "simgpu.jit", "simgpu.jit.tracing", "simgpu.lines", "simgpu.profile",
    "simgpu.words",
}  # fmt: skip
# Files of the course that need a name from the inside, and why.
FROM_INSIDE = {
    "lesson14.checks": "asks the table of derivative rules: the lesson is about them",
    "lesson14.pictures": "shows the derivative rules as they're called",
    "lesson08.steps": "follows the simulated GPU's warps while they take turns",
    "lesson15.workers": "finds MPI as `python -m fluxlite.distributed` does",
}


def test_the_course_stands_on_public_names():
    found = {}
    for module, source in COURSE.items():
        nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom) and not node.level]
        names = {node.module for node in nodes if node.module.partition(".")[0] in ("fluxlite", "simgpu")}
        if names - FOR_ALL:
            found[module.removeprefix("fluxlite_course.")] = names - FOR_ALL
    assert set(found) <= set(FROM_INSIDE), (
        f"{found}: take a public name, enter the module in FOR_ALL if it's for everyone, or say in FROM_INSIDE why not"
    )


def test_no_modules_import_each_other_in_a_circle():
    found = house.circle(ARROWS)
    assert found == [], (
        "nothing of it can be read without all of it, even if it's imported inside functions: take what both need to a "
        "module of its own, or hand it over as an argument"
    )


@pytest.mark.parametrize(
    ("sources", "found"),
    [
        ({"a": "from .b import x", "b": "from .c import y", "c": "def f():\n    from . import a"}, list("abca")),
        ({"p.a": "from ..q import b", "q.b": "from ..p.a import x"}, ["p.a", "q.b", "p.a"]),
        ({"a": "from .b import x\nfrom .c import y", "b": "from .c import y", "c": "import numpy"}, []),
    ],
)
def test_a_circle_is_found(sources, found):
    full = {f"fluxlite.{name}": source for name, source in sources.items()}
    assert house.circle(house.graph(full)) == [f"fluxlite.{name}" for name in found]


# The tests that name modules inside of fluxlite. All others use public names, or helpers/inside.py.
KNOWING_THE_INSIDE = {
    "fluxlite/autodiff/test_own_rules.py", "fluxlite/saving/test_checkpoint_files.py",
    "fluxlite/data/test_processes.py", "fluxlite/test_writing.py", "fluxlite/training/test_training_resume.py",
    "fluxlite/tree/test_ties.py", "project/test_cards.py", "project/test_house.py", "project/test_recording.py",
    "project/test_security.py", "helpers/inside.py",
}  # fmt: skip
PUBLIC = "fluxlite_course|fluxlite(.(cuda|cuda.jit|amdgpu|metal|devices|devices.plugin|distributed|simulated))?"


def test_only_a_few_tests_know_where_something_is_inside():
    found = set()
    for folder in ("fluxlite", "simgpu", "helpers", "project"):
        for path in (TESTS / folder).rglob("*.py"):
            names = re.findall(r"^ *(?:from|import) (fluxlite[.\w]*)", path.read_text(encoding="utf-8"), re.MULTILINE)
            if not all(re.fullmatch(PUBLIC, name) for name in names):
                found.add(path.relative_to(TESTS).as_posix())
    assert found <= KNOWING_THE_INSIDE, (
        "take a public name, or one from tests/helpers/inside.py: `from inside import NAME`, and enter it there"
    )


# -- names -----------------------------------------------------------------------------------------------------------


def test_no_module_is_hidden_by_a_function_of_its_package():
    """``import fluxlite.notices as n`` used to give the function `notices`, not the module."""
    for module in SOURCES | SIMGPU | COURSE:
        package, _, name = module.rpartition(".")
        found = getattr(importlib.import_module(package), name, None) if package else None
        assert found is None or isinstance(found, ModuleType), f"{module}: give the module or the function another name"


# -- what an import costs --------------------------------------------------------------------------------------------


LOADED = """
import sys, numpy as np
before = set(sys.modules)
import fluxlite as fl
print(*set(sys.modules) - before)
fl.cpu(1), fl.functional("CPU"), fl.notices(), fl.doctor, fl.supported_devices(), fl.get_device("CPU"), fl.cuda
fl.gradient(lambda m: np.sum(m(np.ones((1, 2), np.float32))), fl.Dense(2, 3, fl.relu))
print(*sys.modules)
"""


def test_import_fluxlite_loads_no_more_than_it_needs():
    """No GPU library, nothing for plots or notebooks, and nothing of ours before its first use."""
    outside = {"simgpu", "cupy", "matplotlib", "IPython", "mlx", "torch", "jax", "importlib.metadata", "ipywidgets"}
    ours = {"simulated", "optim", "layers.losses", "autodiff.derivatives", "devices.receipts", "reports", "data",
            "training", "saving", "devices.simulated", "cuda", "devices.fused", "devices.metal",
            "devices.pretending"}  # fmt: skip
    slow = {"pathlib", "json", "html", "tomllib", "numpy.random"}  # some Pythons load them by themselves
    result = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    at_once, later = map(str.split, result.stdout.splitlines())
    forbidden = outside | {f"fluxlite.{name}" for name in ours} | slow
    assert forbidden & set(at_once) == set(), "import it inside the function that needs it"
    assert result.stderr == "", "importing says nothing"
    assert {"cupy", "fluxlite.devices.fused"} & set(later) == set(), "a gradient on the CPU needs neither"


# -- length -----------------------------------------------------------------------------------------------


def length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Its lines, without the docstring."""
    documented = ast.get_docstring(function) is not None
    docstring = function.body[0].end_lineno - function.body[0].lineno + 1 if documented else 0
    return function.end_lineno - function.lineno + 1 - docstring


def test_no_function_is_longer_than_60_lines():
    files = FILES + FILES_OF_SIMGPU + FILES_OF_THE_COURSE
    sources = [(file, ast.parse(file.read_text(encoding="utf-8"))) for file in files]
    found = [(file, node) for file, tree in sources for node in ast.walk(tree)]
    functions = [(file, node) for file, node in found if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    long = [f"{file.relative_to(PACKAGE.parent)}: {f.name}" for file, f in functions if length(f) > 60]
    assert long == [], "give one of its steps a name: a function of its own"
