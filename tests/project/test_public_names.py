"""The tables of contents: `__all__`, what type checkers read, and what's loaded at its first use agree."""

import ast
import importlib
import os
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest
from inside import coming_from

import fluxlite

ROOT = Path(fluxlite.__file__).parents[1]


def read_by_type_checkers():
    """The imports of `fluxlite/__init__.py`, as {name: its module}, and the names that it only declares."""
    tree = ast.parse(Path(fluxlite.__file__).read_text(encoding="utf-8"))
    parts = [*tree.body, *next(node for node in tree.body if isinstance(node, ast.If)).body]
    imports = [node for node in parts if isinstance(node, ast.ImportFrom) and node.level]
    module_of = {alias.name: node.module for node in imports for alias in node.names}
    return module_of, [node.target.id for node in parts if isinstance(node, ast.AnnAssign)]


def test_all_and_the_imports_have_the_same_names():
    module_of, declared = read_by_type_checkers()
    listed = fluxlite.__all__
    assert len(set(listed)) == len(listed), "__all__ of fluxlite/__init__.py has a name twice"
    unlisted = sorted({*module_of} - {*listed})
    assert not unlisted, (
        f"{unlisted}: fluxlite/__init__.py imports them, and __all__ there hasn't got them. Add a line for each to "
        f'__all__, under the comment that says its kind, such as `"{unlisted[0]}",`'
    )
    unknown = sorted({*listed} - {*module_of, *declared})
    assert not unknown, (
        f"{unknown}: __all__ of fluxlite/__init__.py has them, and nothing there imports them. Add a line for each "
        f"below `if TYPE_CHECKING:`, such as `from .layers.NAME import {unknown[0]}`"
    )


# Classes of layers and of rules that nobody calls: what several public ones have in common.
ONLY_BASES = {"Container", "Normalization", "Cell", "Formula", "Fusible"}


def test_every_layer_and_every_rule_is_public():
    rooms = {f"layers.{path.stem}": fluxlite.Layer for path in (ROOT / "fluxlite" / "layers").glob("*.py")}
    rooms["optim.rules"] = fluxlite.OptimiserRule
    forgotten = []
    for room, base in rooms.items():
        module = importlib.import_module(f"fluxlite.{room}")
        for name, value in vars(module).items():
            is_ours = isinstance(value, type) and value.__module__ == module.__name__
            if is_ours and issubclass(value, base) and name not in {*fluxlite.__all__, *ONLY_BASES}:
                forgotten.append(f'`from .{room} import {name}` below `if TYPE_CHECKING:`, and `"{name}",` in __all__')
    assert not forgotten, (
        f"nobody finds a class that isn't in fluxlite/__init__.py. Add there {'; '.join(forgotten)}, each beside its "
        "relatives. If it's only what others have in common, name it in ONLY_BASES of this file"
    )


def test_every_name_is_what_type_checkers_take_it_for():
    module_of, _ = read_by_type_checkers()
    for name, module in module_of.items():
        expected = importlib.import_module(f"{fluxlite.__name__}.{module or name}")
        assert getattr(fluxlite, name) is (getattr(expected, name) if module else expected), name
    assert set(fluxlite.__all__) <= set(dir(fluxlite))


def test_no_name_of_ours_is_explained_as_another_librarys():
    both = sorted({*coming_from.NAMES} & {*fluxlite.__all__})
    assert not both, f"{both}: fluxlite has them now, so take them out of NAMES in fluxlite/coming_from.py"


def test_a_star_brings_the_public_names_and_no_others():
    program = "before = set(globals())\nfrom fluxlite import *\nprint(*sorted(set(globals()) - before - {'before'}))"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.split() == sorted(fluxlite.__all__)


def test_what_may_change_is_read_each_time():
    for preference in ("CPU", "Metal"):
        with fluxlite.pretend(preference=preference):
            assert preference == fluxlite.GPU_BACKEND


def test_a_typo_is_an_error_to_mypy_and_a_name_has_its_type(tmp_path):
    """A package that answers for every name, as a typed `__getattr__` does, would hide both mistakes."""
    pytest.importorskip("mypy")
    (tmp_path / "program.py").write_text(
        "import fluxlite as fl\n"
        "rule: fl.Adam = fl.Adam(0.001)\n"
        "fl.relu, fl.train, fl.cuda.devices(), fl.GPU_BACKEND + fl.gpu_name()\n"
        "fl.Adan(0.001)\n"
        "name: int = fl.gpu_name()\n"
        "model: fl.Dense = fl.gpu(fl.Dense(3, 2))\n"
        "other: fl.Chain = fl.cpu(model)\n"
        "fl.Dense(3, 2)(1.5)\n"
        "[weight.shpe for path, weight in fl.trainables(model)]\n"
    )
    settings = [f"--config-file={ROOT / 'pyproject.toml'}", f"--cache-dir={ROOT / '.mypy_cache' / 'tests'}",
                "--no-color-output"]  # fmt: skip
    done = subprocess.run([sys.executable, "-m", "mypy", "program.py", *settings], cwd=tmp_path, capture_output=True,
                          text=True, env={**os.environ, "MYPYPATH": str(ROOT)})  # fmt: skip
    assert re.findall(r"^program.py:(\d+): error", done.stdout, re.MULTILINE) == ["4", "5", "7", "8", "9"], done.stdout


def test_what_the_notebooks_import_is_there():
    pages = [*(ROOT / "notebooks").rglob("*.ipynb"), *(ROOT / "notebooks").glob("*.md"), ROOT / "README.md"]
    text = "\n".join(path.read_text(encoding="utf-8").replace("\\n", "\n") for path in pages)
    lines = re.findall(r"(?<![\w.])from (fluxlite[\w.]*) import ([\w, ]+)", text)
    imported = {(module, name.split()[0]) for module, names in lines for name in names.split(",") if name.strip()}
    for module, name in imported:
        if not hasattr(importlib.import_module(module), name):
            importlib.import_module(f"{module}.{name}")


# Where more belongs: modules list their functions, a device its methods, Python what each error has.
LONGER = {"Device": 70, "cuda": 90, "distributed": 100, "CaptureError": 80}


@pytest.mark.parametrize("name", [name for name in fluxlite.__all__ if name != "GPU_BACKEND"])
def test_help_is_short_and_without_addresses(name):
    text = pydoc.render_doc(getattr(fluxlite, name), renderer=pydoc.plaintext)
    text = re.sub(r"\(\n.*?\n[ |]*\)", "(…)", text, flags=re.DOTALL)  # since 3.13, each parameter may have a line
    assert len(text.splitlines()) <= LONGER.get(name, 40) and " at 0x" not in text
