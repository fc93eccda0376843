"""Which names CuPy has, and what a program hears of one that we lack.

`cupys.toml` lists CuPy's names. Each of our modules shows those that it has, and nothing else: our own names, such as
`receipt`, can be taken from it, but ``dir`` and ``import *`` give CuPy's alone.
"""

import functools
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from .lines import Line, line_of_call
from .words import Missing

# Our modules with CuPy's names, and how CuPy calls them. The longest that fits is the one that counts.
CUPYS_NAME = {"simgpu.cupyx": "cupyx", "simgpu.jit": "cupyx.jit", "simgpu": "cupy"}
# What programs asked for and didn't get, as ``cupyx.scipy``, and the lines that asked: only while it's a dict.
requests: dict[str, dict[Line, int]] | None = None


@functools.cache
def _table() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("cupys.toml").read_text(encoding="utf-8"))


@functools.cache
def modules() -> frozenset[str]:
    """All of CuPy's modules, also those inside."""
    return frozenset(_table()["modules"].split())


@functools.cache
def cupys_names(module: str) -> frozenset[str]:
    """The names in one of CuPy's modules, ``"cupy.linalg"``. Those inside, such as ``cupy._core``, show none."""
    inside = module.count(".") + 1
    parts = {name.split(".")[inside] for name in modules() if name.startswith(f"{module}.")}
    return frozenset(_table()["names"].get(module, "").split()) | parts


def cupys_name(module: str) -> str:
    """What CuPy calls one of our modules.

    >>> cupys_name("simgpu.linalg"), cupys_name("simgpu.cupyx.profiler"), cupys_name("simgpu.jit")
    ('cupy.linalg', 'cupyx.profiler', 'cupyx.jit')
    """
    ours = next(ours for ours in CUPYS_NAME if module == ours or module.startswith(f"{ours}."))
    return CUPYS_NAME[ours] + module.removeprefix(ours)


def here() -> ModuleType:
    """The module that a program knows us by: `cupy` while we stand in for it."""
    return sys.modules["simgpu" if requests is None else "cupy"]


def note_missing(name: str) -> None:
    """Remember that the program asked for this name or module, which CuPy has and we lack."""
    if requests is not None:
        lines = requests.setdefault(name, {})
        place = line_of_call()
        lines[place] = lines.get(place, 0) + 1


def attribute_error(module: str, name: str) -> AttributeError:
    """What's raised for a name that one of our modules hasn't got: `Missing` if CuPy has it."""
    theirs = cupys_name(module)
    is_inside = "._" in theirs and not name.startswith("__")  # its names aren't in our list
    if name not in cupys_names(theirs) and not is_inside:
        return AttributeError(f"module {module!r} has no attribute {name!r}, and nor has CuPy")
    note_missing(f"{theirs}.{name}")
    if is_inside:
        return Missing(f"{theirs}.{name} isn't simulated: only some names of that module are, which is CuPy's own")
    return Missing(f"{theirs}.{name} isn't simulated: CuPy has it, and simgpu lacks it")


def getter(module: str, find: Callable[[str], Any] | None = None) -> Callable[[str], Any]:
    """The ``__getattr__`` of one of our modules. `find` looks further for a name, and raises `AttributeError`."""

    def get(name: str) -> Any:
        if name == "__all__":
            return list_names(module)
        if find is None or name.startswith("__"):
            raise attribute_error(module, name)
        return find(name)

    return get


def lister(module: str) -> Callable[[], list[str]]:
    """The ``__dir__`` of one of our modules."""
    return lambda: list_names(module)


@functools.cache
def _list_names(module: str) -> tuple[str, ...]:
    global requests
    before, requests = requests, None  # nobody asks for these
    try:
        public = (name for name in sorted(cupys_names(cupys_name(module))) if name[0] != "_")
        return tuple(name for name in public if hasattr(sys.modules[module], name))
    finally:
        requests = before


def list_names(module: str) -> list[str]:
    """CuPy's names that one of our modules has, in order."""
    return list(_list_names(module))
