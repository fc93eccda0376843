"""The library's source as pages, a page for each module. By Sphinx's linkcode, the reference leads to its lines.

Sphinx has viewcode for such pages. It leaves out modules without a public name, and those are what readers of the
source look for.
"""

from __future__ import annotations

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
    home = getattr(x, "__module__", "")
    try:
        return f"{page_of_module(home)}#L-{inspect.getsourcelines(x)[1]}" if home in modules() else ""
    except TypeError:  # a plain value
        return ""


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
    app.connect("html-collect-pages", pages)
