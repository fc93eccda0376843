"""What the lessons use: ``from fluxlite.course import answer, check, expect_error, guess, start, todo``.

A table of contents; each name is loaded when it is first used.
"""

from __future__ import annotations

from typing import Any

_LAZY = {
    "starting": "start reset",
    "exercises": "check todo",
    "guesses": "guess answer",
    "expecting": "expect_error",
    "timing": "bench",
    "crossing": "crossover",
    "my_report": "report",
    "data": "digits",
}
_MODULE_OF = {name: module for module, names in _LAZY.items() for name in names.split()}
__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> Any:
    import importlib

    if name not in _MODULE_OF:
        raise AttributeError(f"module 'fluxlite.course' has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_MODULE_OF[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF} - {"annotations", "Any"})
