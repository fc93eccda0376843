"""Docstrings for the site. Ours have names between single backticks, as in Markdown: they become code, and links."""

from __future__ import annotations

import functools
import inspect
import pkgutil
import re
import sys
from typing import Any

import fluxlite

from .reference import MODULES, OURS, members, public_names

_NAME = re.compile(r"(?<![`:\w\\])`([^`\s](?:[^`\n]*[^`\s])?)`(?!`)(\w*)")


def as_rst(lines: list[str], known: dict[str, str], arguments: set[str] = frozenset()) -> list[str]:
    """The lines of a docstring as reStructuredText: `known` names become links, other single backticks code.

    >>> as_rst(["`gpu` moves `x`, and ``y``; two `Dense`s"], {"gpu": "fluxlite.gpu", "Dense": "fluxlite.Dense"})
    [':py:obj:`gpu <fluxlite.gpu>` moves ``x``, and ``y``; two :py:obj:`Dense <fluxlite.Dense>`\\\\ s']
    """

    def marked(match: re.Match[str]) -> str:
        text, letters = match.groups()
        bare = text.removeprefix("fl.").removeprefix("fluxlite.").removesuffix("()")
        link = known.get(bare) if bare not in arguments else None
        made = f":py:obj:`{text} <{link}>`" if link else f"``{text}``"
        return f"{made}\\ {letters}" if letters else made

    # An example, from >>> to the next empty line, is code already.
    made, example = [], False
    for line in lines:
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        made.append(line if example else _NAME.sub(marked, line))
    return made


def names_for(full: str) -> dict[str, str]:
    """What a docstring of `full`, such as ``fluxlite.cuda.sync``, may link to: name by name, with its full name."""
    known = dict(_known())
    for module in MODULES:
        if full.startswith(f"{module}."):
            known |= {name: f"{module}.{name}" for name in public_names(module)}
    owner = full.rpartition(".")[0]
    if full.startswith(OURS):
        known |= {member: f"{owner}.{member}" for member in members(pkgutil.resolve_name(owner))}
    return known


@functools.cache
def _known() -> dict[str, str]:
    """What any docstring may link to."""
    known = {name: f"fluxlite.{name}" for name in fluxlite.__all__}
    for module in MODULES:
        short = module.removeprefix("fluxlite.")
        known |= {f"{short}.{name}": f"{module}.{name}" for name in public_names(module)}
        known |= {f"{short.split('.')[-1]}.{name}": f"{module}.{name}" for name in public_names(module)}
    for name in fluxlite.__all__:
        for member in members(getattr(fluxlite, name)):
            known[f"{name}.{member}"] = f"fluxlite.{name}.{member}"
    return known


def parameters(x: Any) -> set[str]:
    """The names of a function's parameters: in its docstring they mean what it is given."""
    try:
        return set(inspect.signature(x).parameters)
    except (TypeError, ValueError):
        return set()


def process(app: Any, what: str, name: str, x: Any, options: Any, lines: list[str]) -> None:
    """For autodoc: change the lines in place."""
    lines[:] = as_rst(lines, names_for(name), parameters(x))


def public_target(app: Any, env: Any, node: Any, content: Any) -> Any:
    """For Sphinx: a type in a signature is named by its own module; its page has the public name, or its source."""
    target, domain = node.get("reftarget", ""), env.get_domain("py")
    module, _, name = target.rpartition(".")
    if not module.startswith(OURS):
        return None
    if f"fluxlite.{name}" in domain.objects:
        return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", f"fluxlite.{name}", node, content)
    is_type = node.get("reftype") == "class" and hasattr(sys.modules.get(module), name)
    return content if is_type else None


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", process)
    app.connect("missing-reference", public_target)
