"""The library's source as pages: for each module one, also for those without a public name."""

from __future__ import annotations

from pathlib import Path

from .links import ROOT


def modules() -> dict[str, Path]:
    """Every module of fluxlite, by its name, with its file."""
    found = {}
    for path in sorted((ROOT / "fluxlite").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def page_of_module(name: str) -> str:
    """The page of a module, seen from the site's first folder.

    >>> page_of_module("fluxlite.tree.ties")
    '_modules/fluxlite/tree/ties.html'
    """
    return f"_modules/{name.replace('.', '/')}.html"


def add_all(app, env) -> list[str]:
    """Give viewcode, which makes the pages of modules with documented names, all the others, too."""
    from sphinx.pycode import ModuleAnalyzer

    known = env._viewcode_modules
    for name in modules():
        if not known.get(name):
            analyzer = ModuleAnalyzer.for_module(name)
            analyzer.find_tags()
            known[name] = (analyzer.code, analyzer.tags, {}, name)
    return []


def setup(app) -> None:
    app.connect("env-updated", add_all)
