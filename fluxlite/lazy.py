"""A table of contents whose names are loaded at their first use, so that importing it costs little."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def loaded_when_used(
    package: str,
    names_in: Mapping[str, str],
    modules: str = "",
    computed: Mapping[str, tuple[str, str]] | None = None,
    rooms: str = "",
    hint: Callable[[str], str] = lambda name: "",
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a `package`.

    `names_in` says which of its modules have which names. `modules` lists the modules that are names themselves.
    `rooms` lists modules that are found too, but aren't in the table of contents.
    `computed` lists names that may change: each has a module and the function in it that returns the current value.
    `hint` says more about a name that isn't there.
    """
    module_of = {name: module for module, names in names_in.items() for name in names.split()}
    itself = [*modules.split(), *rooms.split()]
    contents = vars(sys.modules[package])

    def load(name: str) -> Any:
        if computed and name in computed:
            module, function = computed[name]
            return getattr(importlib.import_module(f".{module}", package), function)()
        if name in itself:
            return importlib.import_module(f".{name}", package)
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint(name)}")
        contents[name] = getattr(importlib.import_module(f".{module_of[name]}", package), name)
        return contents[name]

    def names() -> list[str]:
        return sorted({*contents["__all__"], *(name for name in contents if name.startswith("__"))})

    return load, names
