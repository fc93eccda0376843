"""The tables of contents: `__all__`, the imports for type checkers and the names loaded at first use agree."""

import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fluxlite
import fluxlite.course

ROOT = Path(fluxlite.__file__).parents[1]


class Table:
    """What a table of contents says, according to its source: names, each with its module (empty for modules)."""

    def __init__(self, source: str):
        tree = ast.parse(source)
        block = next(node for node in tree.body if isinstance(node, ast.If))
        self.at_once = dict(self._imported(tree.body))
        self.for_type_checkers = dict(self._imported(block.body))
        self.declared = [node.target.id for node in block.body if isinstance(node, ast.AnnAssign)]
        call = next(n for n in ast.walk(tree) if isinstance(n, ast.Call) and "loaded_when_used" in ast.unparse(n.func))
        named = [keyword for keyword in call.keywords if keyword.arg != "hint"]
        more = {keyword.arg: ast.literal_eval(keyword.value) for keyword in named}
        names = ast.literal_eval(call.args[1])
        self.loaded = {name: module for module in names for name in names[module].split()}
        self.loaded |= {name: "" for name in more.get("modules", "").split()}
        self.computed = list(more.get("computed", ()))
        self.all = next(
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        )

    @staticmethod
    def _imported(nodes):
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and node.level:
                yield from ((alias.name, node.module or "") for alias in node.names)

    def differences(self) -> list[str]:
        known = [*self.at_once, *self.loaded, *self.computed]
        return sorted(
            {
                *(f"__all__: {name}" for name in set(known) ^ set(self.all)),
                *(f"twice: {name}" for name in self.all if self.all.count(name) > 1 or known.count(name) > 1),
                *(f"not the same module: {n}" for n, _ in self.loaded.items() ^ self.for_type_checkers.items()),
                *(f"computed: {name}" for name in set(self.computed) ^ set(self.declared)),
            }
        )


@pytest.mark.parametrize("package", [fluxlite, fluxlite.course], ids=lambda package: package.__name__)
def test_the_three_lists_agree(package):
    table = Table(Path(package.__file__).read_text(encoding="utf-8"))
    assert table.differences() == [] and table.all == package.__all__
    for name, module in table.loaded.items():
        where = f"{package.__name__}.{module or name}"
        expected = importlib.import_module(where)
        assert getattr(package, name) is (getattr(expected, name) if module else expected)


def test_a_star_brings_the_public_names_and_no_others():
    program = "before = set(globals())\nfrom fluxlite import *\nprint(*sorted(set(globals()) - before - {'before'}))"
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out.split() == sorted(fluxlite.__all__)


def test_what_may_change_is_read_each_time():
    with fluxlite.pretend(preference="CPU"):
        assert fluxlite.GPU_BACKEND == "CPU"
    with fluxlite.pretend(preference="Metal"):
        assert fluxlite.GPU_BACKEND == "Metal"
    assert "GPU_BACKEND" not in vars(fluxlite)


def test_a_typo_is_an_error_to_mypy_and_a_name_has_its_type(tmp_path):
    """A package that answers for every name, as a typed `__getattr__` does, would hide both mistakes."""
    pytest.importorskip("mypy")
    (tmp_path / "right.py").write_text(
        "import fluxlite as fl\n"
        "from fluxlite.course import start\n"
        "rule: fl.Adam = fl.Adam(0.001)\n"
        "backend: str = fl.GPU_BACKEND + fl.gpu_name()\n"
        "fl.relu, fl.train, fl.cuda.devices(), fl.course.check, start\n"
    )
    (tmp_path / "wrong.py").write_text(
        "import fluxlite as fl\n"
        "from fluxlite.course import strat\n"
        "rule = fl.Adan(0.001)\n"
        "name: int = fl.gpu_name()\n"
        "fl.receipt(1)\n"
        "fl.train(fl.mse, shuffle=True)\n"
    )
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--no-color-output", "right.py", "wrong.py"]
    command += [f"--config-file={ROOT / 'pyproject.toml'}", f"--cache-dir={ROOT / '.mypy_cache' / 'tests'}"]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "MYPYPATH": str(ROOT)}, capture_output=True, text=True
    )
    errors = [line.split(" error: ") for line in done.stdout.splitlines() if " error: " in line]
    assert [place for place, _ in errors] == [f"wrong.py:{line}:" for line in (2, 3, 4, 5, 6)], done.stdout
    assert "strat" in errors[0][1] and "Adan" in errors[1][1] and "Too many arguments" in errors[3][1]


def imported_by_readers() -> list[tuple[str, str]]:
    """What notebooks and pages import from fluxlite: module and name."""
    pages = [*(ROOT / "notebooks").rglob("*.ipynb"), *(ROOT / "notebooks").glob("*.md"), ROOT / "README.md"]
    text = "\n".join(path.read_text(encoding="utf-8").replace("\\n", "\n") for path in pages)
    lines = re.findall(r"(?<![\w.])from (fluxlite[\w.]*) import ([\w, ]+)", text)
    return sorted({(module, name.split()[0]) for module, names in lines for name in names.split(",") if name.strip()})


def test_what_the_notebooks_import_is_there():
    for module, name in imported_by_readers():
        if not hasattr(importlib.import_module(module), name):
            importlib.import_module(f"{module}.{name}")
