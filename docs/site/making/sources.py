"""The library's source as pages, a page for each module, and the links of the reference that lead to its lines.

Sphinx has viewcode for that. It leaves out modules without a public name, and those are what readers of the source
look for.
"""

from __future__ import annotations

import ast
import functools
import html
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .links import ROOT


@functools.cache
def modules() -> dict[str, Path]:
    """Every module of ours, by its name, with its file."""
    found = {}
    packages = [ROOT / package for package in ("fluxlite", "simgpu", "fluxlite_course")]
    for path in (path for package in packages for path in sorted(package.rglob("*.py"))):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def page_of_module(name: str) -> str:
    """The page of a module, seen from the site's first folder.

    >>> page_of_module("fluxlite.tree.ties")
    'source/fluxlite/tree/ties.html'
    """
    return f"source/{name.replace('.', '/')}.html"


def place_of(module: str, name: str) -> str:
    """Where a name is defined, as an address seen from the site's first folder; empty if nobody can tell.

    >>> place_of("fluxlite", "Dense.of").split("#")[0]
    'source/fluxlite/layers/basic.html'
    """
    x: Any = importlib.import_module(module)
    for part in name.split("."):
        x = inspect.getattr_static(x, part) if inspect.isclass(x) else getattr(x, part, None)
    x = inspect.unwrap(getattr(x, "fget", None) or getattr(x, "__func__", x))
    home, line = getattr(x, "__module__", ""), _lines(getattr(x, "__module__", "")).get(getattr(x, "__qualname__", ""))
    return f"{page_of_module(home)}#L-{line}" if line else ""


@functools.cache
def _lines(module: str) -> dict[str, int]:
    """The first line of each function and class in a module. `inspect` reads the whole file for each of them."""
    path, found = modules().get(module), {}

    def walk(node: ast.AST, before: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                above = [decorator.lineno for decorator in child.decorator_list]
                found.setdefault(before + child.name, min([child.lineno, *above]))
            inside = f"{before}{child.name}." if isinstance(child, ast.ClassDef) else before
            if not isinstance(child, ast.FunctionDef):
                walk(child, inside)

    if path is not None:
        walk(ast.parse(path.read_text(encoding="utf-8")), "")
    return found


def add_links(app: Any, doctree: Any) -> None:
    """For Sphinx: give each name of the reference a link to its lines."""
    from docutils import nodes
    from sphinx import addnodes

    here = app.env.current_document.docname
    for signature in doctree.findall(addnodes.desc_signature):
        module, name = signature.get("module"), signature.get("fullname")
        place = place_of(module, name) if module and name else ""
        if place:
            page, _, line = place.partition("#")
            address = f"{app.builder.get_relative_uri(here, page.removesuffix('.html'))}#{line}"
            about = {"internal": True, "refuri": address, "classes": ["source"]}
            signature += nodes.reference("", "", nodes.inline("", "source"), **about)


def pages(app: Any) -> Iterator[tuple[str, dict[str, Any], str]]:
    """For Sphinx: the page of each module. *How it works* lists them."""
    from pygments import highlight
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    form = HtmlFormatter(linenos="inline", lineanchors="L")
    for name, path in modules().items():
        code = highlight(path.read_text(encoding="utf-8"), PythonLexer(), form)
        title = f"<h1>{html.escape(path.relative_to(ROOT).as_posix())}</h1>"
        page = page_of_module(name).removesuffix(".html")
        listed, front = [app.builder.get_relative_uri(page, to) for to in ("how-it-works", "index")]
        more = f'<p><a href="{front}">fluxlite</a> · <a href="{listed}#every-file">Every file</a></p>'
        yield page, {"title": name, "parents": [], "body": f"{title}{more}{code}"}, "page.html"


def setup(app: Any) -> None:
    app.connect("doctree-read", add_links)
    app.connect("html-collect-pages", pages)
