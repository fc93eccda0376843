"""The page for readers of the source: the picture of the house with links, and a list of every file."""

from __future__ import annotations

import ast
import posixpath
import re

from .links import ROOT
from .reference import ROOMS
from .sources import modules, page_of_module, place_of


def with_sources(text: str) -> str:
    """The files that a text names, and the names in them behind a colon, as links to their source.

    >>> with_sources("see `autodiff/rules.py`")
    'see <a href="source/fluxlite/autodiff/rules.html"><code>autodiff/rules.py</code></a>'
    >>> with_sources("see `devices/seeds.py:seed`").split("#")[0]
    'see <a href="source/fluxlite/devices/seeds.html'
    """
    files = {path.relative_to(ROOT).as_posix(): name for name, path in modules().items()}
    before = "fluxlite"

    def linked(match: re.Match[str]) -> str:
        nonlocal before
        file, what = match.groups()
        # `reductions.py` after `simulated/kernels.py` is beside it.
        for full in (f"fluxlite/{file}", file, f"{before}/{file}"):
            name = files.get(full) or files.get(f"{full}__init__.py" if full.endswith("/") else "")
            if name:
                before = posixpath.dirname(full)
                place = place_of(name, what) if what else page_of_module(name)
                return f'<a href="{place}"><code>{_raw(what or file)}</code></a>'
        return match[0]

    return re.sub(r"`([\w/]+(?:\.py|/))(?::([\w.]+))?`", linked, text)


def every_file() -> str:
    """All files with their first sentence, room by room, in reading order."""
    parts = [(f"fluxlite.{room}", room, f"{text[0].upper()}{text[1:]}.") for room, (text, *_) in ROOMS.items()]
    own = "a package of its own"
    parts.append(("simgpu", f"simgpu, {own}", "The simulated GPU: real values, a real GPU's rules."))
    parts.append(("fluxlite_course", f"fluxlite_course, {own}", "What lessons share, and a folder for each."))
    lines = []
    for inside, heading, text in parts:
        names = [name for name in modules() if f"{name}.".startswith(f"{inside}.")]
        if names:
            lines += [f"### {_raw(heading)}", "", text, "", *map(_line, names), ""]
    return "\n".join(lines)


def _line(name: str) -> str:
    path = modules()[name]
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    first = re.sub(r"``(.+?)``", r"`\1`", " ".join(text.split("\n\n")[0].split()))
    file = path.relative_to(ROOT).as_posix().removeprefix("fluxlite/")
    return f'- <a href="{page_of_module(name)}"><code>{_raw(file)}</code></a>: {first}'


def _raw(file: str) -> str:
    """A name within HTML within Markdown, which takes two underscores for bold."""
    return file.replace("_", "&#95;")
