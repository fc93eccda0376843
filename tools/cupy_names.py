"""Write simgpu/cupys.toml: the names that the installed CuPy has, module by module. Needs CuPy, but no GPU.

    .venv/bin/python tools/cupy_names.py

Only names are kept: what they do is written in our own words.
"""

import argparse
import ast
import contextlib
import importlib
import importlib.util
import pkgutil
import textwrap
import types
import warnings
from collections.abc import Iterator
from pathlib import Path

FILE = Path(__file__).parents[1] / "simgpu" / "cupys.toml"
PACKAGES = ("cupy", "cupyx")


def modules(name: str) -> Iterator[str]:
    """A module and all that are in it, by name. Those that need a library of CUDA's count, too."""
    yield name
    with contextlib.suppress(ImportError):  # an imported module is a name of its package
        importlib.import_module(name)
    if (file := file_of(name)).name == "__init__.py":
        for _, part, _ in pkgutil.iter_modules([str(file.parent)]):
            yield from modules(f"{name}.{part}")


def file_of(name: str) -> Path:
    """Where this module is, even if it can't be imported. A package's is its ``__init__.py``."""
    first, *rest = name.split(".")
    found = importlib.util.find_spec(first)
    folder = Path(found.origin).parent.joinpath(*rest)
    if folder.is_dir():
        return folder / "__init__.py"
    return folder.with_suffix(".py")


def names_in(name: str) -> list[str]:
    """What a program can take from this module: not what it imports from elsewhere."""
    try:
        found = vars(importlib.import_module(name))
    except ImportError:
        return names_written_in(name)
    return [key for key, value in sorted(found.items()) if key[0] != "_" and is_its_own(value)]


def names_written_in(name: str) -> list[str]:
    """What a module imports from CuPy, and defines, as it's written: for one that needs a library of CUDA's."""
    if not name.startswith("cupyx.scipy") or not file_of(name).is_file():
        return []
    found = []
    for part in ast.parse(file_of(name).read_text(encoding="utf-8")).body:
        if isinstance(part, ast.ImportFrom) and (part.module or "").startswith("cupy"):
            found += [alias.asname or alias.name for alias in part.names]
            if part.names[0].name == "*":
                found += _all_of(part.module or "")
        elif isinstance(part, (ast.FunctionDef, ast.ClassDef)):
            found.append(part.name)
    return sorted(key for key in found if key[0] not in "_*")


def _all_of(name: str) -> list[str]:
    """A module's ``__all__``, as it's written."""
    for part in ast.parse(file_of(name).read_text(encoding="utf-8")).body:
        if isinstance(part, ast.Assign) and isinstance(part.targets[0], ast.Name) and part.targets[0].id == "__all__":
            return list(ast.literal_eval(part.value))
    return []


def is_its_own(value: object) -> bool:
    if isinstance(value, types.ModuleType):
        return value.__name__.startswith(("cupy.", "cupyx."))
    return type(value).__name__ != "_Feature"  # `annotations`, from __future__


def is_private(module: str) -> bool:
    return any(part.startswith("_") for part in module.split("."))


def text() -> str:
    """The file's content."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about libraries of CUDA's that aren't there
        import cupy

        found = sorted({name for package in PACKAGES for name in modules(package)})
    lines = [
        "# The names of CuPy, as `dir` shows them: what a program can ask for. tools/cupy_names.py writes this file.",
        f'version = "{cupy.__version__}"',
        'modules = """',
        *textwrap.wrap(" ".join(found), 118),
        '"""',
        "",
        "[names]",
    ]
    for module in found:
        names = [] if is_private(module) else names_in(module)
        if names:
            lines += [f'"{module}" = """', *textwrap.wrap(" ".join(names), 118), '"""']
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--print", action="store_true", help="print the file's content, and write nothing")
    if parser.parse_args().print:
        print(text(), end="")
        return
    FILE.write_text(text(), encoding="utf-8")
    print(f"{FILE.name}: {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
