"""Write simgpu/cupys.toml: the names that the installed CuPy has, module by module. Needs CuPy, but no GPU.

    .venv/bin/python tools/cupy_names.py

Only names are kept: what they do is written in our own words.
"""

import argparse
import importlib
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
    try:
        found = importlib.import_module(name)
    except ImportError:
        return
    for _, part, _ in pkgutil.iter_modules(getattr(found, "__path__", [])):
        yield from modules(f"{name}.{part}")


def names_in(name: str) -> list[str]:
    """What a program can take from this module: not what it imports from elsewhere."""
    try:
        found = vars(importlib.import_module(name))
    except ImportError:
        return []
    return [key for key, value in sorted(found.items()) if key[0] != "_" and is_its_own(value)]


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
        names = [] if is_private(module) or module.startswith("cupyx.scipy") else names_in(module)
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
