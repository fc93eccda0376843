"""The API reference: every public name, in the groups of `fluxlite/__init__.py`."""

from __future__ import annotations

import functools
import importlib
import inspect
import itertools
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import fluxlite

from .links import ROOT

sys.path.append(str(ROOT / "tests" / "helpers"))
from house import ROOMS  # noqa: E402  (what each room is, in words)

# Modules with names of their own: each has a page.
MODULES = {
    "fluxlite.cuda": "NVIDIA GPUs",
    "fluxlite.cuda.jit": "Kernels by hand",
    "fluxlite.amdgpu": "AMD GPUs",
    "fluxlite.metal": "Apple GPUs",
    "fluxlite.distributed": "Several processes and machines",
    "simgpu": "A GPU without a GPU",
    "fluxlite_course": "For lessons",
    "fluxlite_course.draw": "For notebooks",
}
# Classes that aren't public names themselves, and that public functions return.
RETURNED = (
    "fluxlite.devices.scalars.AllowScalar", "simgpu.jit.figures.Figures", "fluxlite.autodiff.modes.Mode",
    "fluxlite.autodiff.older_styles.Params", "fluxlite.devices.simulated.Simulation", "fluxlite.devices.base.Stopwatch",
    "fluxlite.capturing.step.CapturedStep", "fluxlite.capturing.step.Switch",
)  # fmt: skip
OURS = ("fluxlite.", "simgpu.", "fluxlite_course.")  # where what public functions take and return is defined
LARGE = 60  # a group with more names has a page for each room
# `Dense` in Flux, `gelu` in NNlib, `device()` in CUDA.jl: as the docstrings say it.
_JULIA = "Flux NNlib Zygote Optimisers.jl Functors MLUtils ParameterSchedulers Tracker CUDA.jl CUDA AMDGPU.jl Metal.jl"
_ELSEWHERE = re.compile(rf"\b({_JULIA.replace('.', '[.]').replace(' ', '|')}): ((?:``[^`]+``(?:,|, and| and)? ?)+)")


class Page(NamedTuple):
    """A page of the reference, with its names in sections, each under a heading and a sentence."""

    file: str
    title: str
    sections: list[tuple[str, str, list[str]]]


def groups(source: str) -> dict[str, list[str]]:
    """The names in ``__all__``, by the comments above them.

    >>> groups('__all__ = [\\n    # trees\\n    "fmap", "leaves",\\n    # devices\\n    "gpu",\\n]')
    {'trees': ['fmap', 'leaves'], 'devices': ['gpu']}
    """
    block = re.search(r"^__all__ = \[\n(.*?)^\]", source, re.MULTILINE | re.DOTALL)
    if block is None:
        raise ValueError("there is no __all__")
    found: dict[str, list[str]] = {}
    group = ""
    for comment, name in re.findall(r'^ +# (.*)$|"([^"]+)"', block[1], re.MULTILINE):
        if comment:
            group = comment
        else:
            found.setdefault(group, []).append(name)
    return found


def public_names(module: str) -> list[str]:
    """The names of a module."""
    return list(importlib.import_module(module).__all__)


def members(x: Any) -> list[str]:
    """The methods and properties of a class that have a docstring of their own."""
    if not inspect.isclass(x):
        return []
    kinds = (property, classmethod, staticmethod)
    found = [n for n, y in vars(x).items() if inspect.isfunction(y) or isinstance(y, kinds)]
    return [name for name in found if not name.startswith("_") and vars(x)[name].__doc__]


@functools.cache
def pages() -> list[Page]:
    """The pages of fluxlite's own names, in the order of the table of contents."""
    made = []
    for group, names in groups(Path(fluxlite.__file__).read_text(encoding="utf-8")).items():
        names = [name for name in names if not inspect.ismodule(getattr(fluxlite, name))]
        sections = [(room.capitalize(), ROOMS[room].what, inside) for room, inside in _by_room(names).items()]
        if len(names) > LARGE:
            made += [Page(room.lower(), room, [("", text, inside)]) for room, text, inside in sections]
        elif sections:
            file = re.sub(r"\W+", "-", group)
            alone = [("", "", names)] if len(sections) == 1 else sections
            made.append(Page(file, group[0].upper() + group[1:], alone))
    return made


def _by_room(names: list[str]) -> dict[str, list[str]]:
    """Names by the room they're from. Where a room has one to three of them, they stay with the name before."""
    rooms = [_room(name) for name in names]
    found: dict[str, list[str]] = {}
    for name, room in zip(names, rooms):
        if rooms.count(room) < 4 and found and room not in found:
            room = next(reversed(found))
        found.setdefault(room, []).append(name)
    return found


def _room(name: str) -> str:
    module = getattr(getattr(fluxlite, name), "__module__", "fluxlite.devices")  # GPU_BACKEND is a text
    return module.split(".")[1]


# -- as reStructuredText ----------------------------------------------------------------------------------------------


def text_of(page: Page) -> str:
    """A page of fluxlite's own names."""
    lines = [*_heading(page.title, "="), ".. py:currentmodule:: fluxlite", ""]
    for heading, text, names in page.sections:
        lines += _heading(heading, "-") if heading else []
        lines += [f"{text[0].upper()}{text[1:]}.", ""] if text else []
        for name in names:
            lines += entry("fluxlite", name)
    return "\n".join(lines)


def text_of_module(module: str, title: str) -> str:
    """A page of a module's own names."""
    lines = [*_heading(f"{module}: {title}", "="), f".. automodule:: {module}", "   :no-members:", ""]
    lines += [f".. py:currentmodule:: {module}", ""]
    for name in public_names(module):
        lines += entry(module, name)
    return "\n".join(lines)


def entry(module: str, name: str) -> list[str]:
    """The lines that make Sphinx describe a name."""
    x = getattr(importlib.import_module(module), name)
    if module != "fluxlite" and hasattr(fluxlite, name) and x is getattr(fluxlite, name):
        return [f".. py:data:: {name}", "", f"   The same as :py:obj:`fl.{name} <fluxlite.{name}>`.", ""]
    if inspect.isclass(x) and not is_numpys(x):
        options = [f"   :members: {', '.join(members(x))}"] if members(x) else []
        return [f".. autoclass:: {module}.{name}", *options, ""]
    if (inspect.isroutine(x) or hasattr(x, "__wrapped__")) and not is_numpys(x):
        # Sphinx makes no anchor of a name that isn't ASCII.
        anchor = [] if name.isascii() else [".. raw:: html", "", f'   <span id="{module}.{name}"></span>', ""]
        return [*anchor, f".. autofunction:: {module}.{name}", ""]
    from .docstrings import as_rst, names_for

    lines = as_rst(about(module, name).splitlines(), names_for(f"{module}.{name}"))
    return [f".. py:data:: {name}", "", *(f"   {line}" for line in lines), ""]


def about(module: str, name: str) -> str:
    """The docstring of a public name. That of a plain value is here; a number, and what's NumPy's, get a sentence.

    >>> about("simgpu", "cfloat"), about("simgpu", "newaxis")
    ("``cupy.cfloat``: NumPy's own ``complex128``.", '``cupy.newaxis``: ``None``.')
    """
    x = getattr(importlib.import_module(module), name)
    if isinstance(x, str | dict):
        return _VALUES[name]
    if x is None or isinstance(x, int | float):  # the docstring would be that of its type
        return f"``cupy.{name}``: ``{x}``."
    if is_numpys(x):
        return f"``cupy.{name}``: NumPy's own ``{getattr(x, '__name__', name)}``."
    return inspect.getdoc(x) or ""


def is_numpys(x: Any) -> bool:
    """Whether NumPy defines it. Its docstring is made for NumPy's own pages, with labels and footnotes of theirs."""
    return (getattr(x, "__module__", None) or "").partition(".")[0] == "numpy"


_COLOUR = "One of the lessons' four colours, by Okabe and Ito. They differ in brightness, too."
_VALUES = dict.fromkeys(["BLUE", "ORANGE", "GREEN", "GREY"], _COLOUR)
_VALUES["PRESETS"] = "What's known about each card: a dict of `Preset`, by name."
_VALUES["GPU_BACKEND"] = "The backend that was asked for; if none was, the one that was chosen."


def text_of_returned() -> str:
    """The page of what functions return."""
    lines = [*_heading("What you get back", "="), "Functions return these; you don't make them yourself.", ""]
    for full in RETURNED:
        found = members(pkgutil.resolve_name(full))
        options = [f"   :members: {', '.join(found)}"] if found else []
        lines += [f".. autoclass:: {full}", "   :no-index-entry:", *options, ""]
    return "\n".join(lines)


def every_name() -> Iterator[tuple[str, str]]:
    """Each public name, with the module that it's documented in."""
    for page in pages():
        for _, _, names in page.sections:
            yield from (("fluxlite", name) for name in names)
    for module in MODULES:
        yield from ((module, name) for name in public_names(module))


def overview() -> str:
    """The first page: all names, with the first sentence of each."""
    lines = [*_heading("fluxlite, the library", "="), ".. py:currentmodule:: fluxlite", ""]
    lines += ["``import fluxlite as fl``; then all of these are ``fl.gpu``, ``fl.Dense`` and so on. The search finds",
              "them by their names in Flux and CUDA.jl, too, and :doc:`names` lists those.",
              "What functions give you, such as a receipt, is in :doc:`returned`.", "",
              ".. toctree::", "   :hidden:", ""]  # fmt: skip
    lines += [f"   {page.file}" for page in pages()]
    modules = [module for module in MODULES if module.startswith("fluxlite.")]
    lines += [f"   {module.removeprefix('fluxlite.')} <{module}>" for module in modules]
    lines += ["   returned", "   names", ""]
    for page in pages():
        names = [name for _, _, inside in page.sections for name in inside]
        lines += [*_heading(page.title, "-"), *_names("fluxlite", names)]
    rows = [(f":doc:`{module}`", _first(module, "")) for module in modules]
    return "\n".join([*lines, *_heading("Modules", "-"), *_table(rows, ":class: names")])


def with_names(text: str) -> str:
    """A page in Markdown, with a table of a module's names for each line such as ``<!-- names of simgpu -->``."""

    def made(match: re.Match[str]) -> str:
        return "\n".join(["```{eval-rst}", *_names(match[1], public_names(match[1])), "```"])

    return re.sub(r"^<!-- names of ([\w.]+) -->$", made, text, flags=re.MULTILINE)


def _names(module: str, names: list[str]) -> list[str]:
    """A table of names that are described elsewhere, with the first sentence of each."""
    rows = [(f":py:obj:`{name} <{module}.{name}>`", _first(module, name)) for name in names]
    return _table(rows, ":class: names")


def _table(rows: list[tuple[str, str]], *options: str, widths: str = "30 70") -> list[str]:
    lines = [".. list-table::", f"   :widths: {widths}", *(f"   {option}" for option in options), ""]
    for left, right in rows:
        lines += [f"   * - {left}", f"     - {right}"]
    return [*lines, ""]


def _first(module: str, name: str) -> str:
    """The first sentence of a docstring, on one line."""
    from .docstrings import as_rst

    text = about(module, name) if name else inspect.getdoc(importlib.import_module(module)) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    sentence = re.match(r"(?:``.*?``|.)*?(?:[.](?= |$)|:$|$)", paragraph)
    return as_rst([sentence[0] if sentence else paragraph], {})[0]


def names_elsewhere() -> list[tuple[str, str, str, str]]:
    """What docstrings say of Julia's libraries: library, its name, our module, our name."""
    found = []
    for module, name in every_name():
        for library, names in _ELSEWHERE.findall(about(module, name)):
            found += [(library, theirs, module, name) for theirs in re.findall(r"``([^`]+)``", names)]
    return sorted(set(found), key=lambda row: (_JULIA.split().index(row[0]), row[1].lower(), row[2]))


def text_of_names() -> str:
    """The page of names in Flux, CUDA.jl and their kin."""
    lines = [*_heading("Names in Flux and CUDA.jl", "="), "What Julia's names are called here.", ""]
    for library, found in itertools.groupby(names_elsewhere(), key=lambda row: row[0]):
        rows = [(library, "here")]
        for _, name, module, ours in found:
            short = f"fl{module.removeprefix('fluxlite')}.{ours}"
            rows.append((f"``{name}``", f":py:obj:`{short} <{module}.{ours}>`"))
        lines += [*_heading(library, "-"), *_table(rows, ":header-rows: 1", widths="50 50")]
    return "\n".join(lines)


def _heading(text: str, line: str) -> list[str]:
    return [text, line * len(text), ""]


def write(folder: Path) -> None:
    """Write the reference's pages into `folder`."""
    folder.mkdir(parents=True)
    made = {"index": overview(), "names": text_of_names(), "returned": text_of_returned()}
    made |= {page.file: text_of(page) for page in pages()}
    made |= {module: text_of_module(module, title) for module, title in MODULES.items()}
    for name, text in made.items():
        (folder / f"{name}.rst").write_text(text, encoding="utf-8")
