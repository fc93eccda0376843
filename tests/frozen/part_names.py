"""The public names and their signatures.

What a name is, in one line: ``(x, *, axis=None)`` for a function, ``class (in_size, out_size)``, ``module``, ``value``.
A method, such as ``fluxlite.Dense.of``, has a line of its own, and so has what a function gives back.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
import sys
import types
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import numpy as np

import fluxlite as fl

MODULES = ("fluxlite", "fluxlite.cuda", "fluxlite.cuda.jit", "fluxlite.amdgpu", "fluxlite.metal", "fluxlite.simulated",
           "fluxlite.distributed", "simgpu", "simgpu.jit", "fluxlite_course", "fluxlite_course.draw")  # fmt: skip

# What public classes have for other files of ours. It isn't compared, and may change.
INNER = {
    "TrackedArray": "call check_open level number shaped value",
    "DataLoader CuIterator": "batches rng",
    "Kernel": "as_part_of checks",
    "RNNCell LSTMCell GRUCell": "back blocks gates run slopes states step taken_states",
    "Rule OptimiserRule": "gathered numbers remembers rules",
    "History": "wanted",
    "Leaf": "own_rate",
}
_INNER_OF = {name: words.split() for names, words in INNER.items() for name in names.split()}
# A device has more for other files of ours than for you.
OF_A_DEVICE = (
    "backend", "call", "clock", "compute_capability", "current", "deviceID", "id", "index", "mem_info", "memory",
    "name", "rng", "seed", "stopwatch", "synchronize", "use",
)  # fmt: skip
# Classes that you don't make yourself: what they're made from isn't compared.
MADE_BY_US = ("TrackedArray", "Gradient", "SimulatedArray", "Receipt")


def _receipt() -> Any:
    with fl.receipt() as receipt:
        return receipt


# Objects that you get from a function, and don't make yourself.
GIVEN: dict[str, Callable[[], Any]] = {
    "receipt().host_to_device": lambda: _receipt().host_to_device,
    "receipt().by_line()": lambda: _receipt().by_line(),
    "estimate(…)": lambda: fl.estimate(np.sin, np.ones(2)),
    "simulate_gpu()": lambda: fl.simulate_gpu(),
    "pretend()": lambda: fl.pretend(),
    "functional()": lambda: fl.functional("CUDA"),
    "setup(…)": lambda: fl.setup(fl.Adam(), fl.Dense(2, 1)),
    "setup(…).weight": lambda: fl.setup(fl.Adam(), fl.Dense(2, 1)).weight,
    "explain(…)": lambda: fl.explain(fl.Dense(2, 1)),
    "doctor()": lambda: fl.doctor(),
    "train(…)": lambda: fl.train(lambda m, x: np.mean(m(x)), fl.Dense(2, 1), [(np.ones((1, 2), np.float32),)],
                                 fl.setup(fl.Descent(0.0), fl.Dense(2, 1)), progress=False),
    "onehotbatch(…)": lambda: fl.onehotbatch([0, 1], range(2)),
    "mapobs(…)": lambda: fl.mapobs(np.sin, np.ones(3)),
    "splitobs(…)": lambda: fl.splitobs(np.ones(4), at=0.5)[0],
}  # fmt: skip


def names_of(module: str) -> list[str]:
    """The names of a module: its ``__all__``, else what's defined there, or imported ``as`` itself."""
    found = importlib.import_module(module)
    if hasattr(found, "__all__"):
        return list(found.__all__)
    names = []
    for node in ast.parse(inspect.getsource(found)).body:
        if isinstance(node, ast.ImportFrom):
            names += [alias.name for alias in node.names if alias.asname == alias.name]
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            names.append(node.name)
    return names


def signature(x: Any) -> str:
    """Its parameters in order, with their kinds and defaults, and without type hints."""
    try:
        found = inspect.signature(x)
    except (TypeError, ValueError):
        return "(…)"
    plain = []
    for p in found.parameters.values():
        # A default as it's written: a function by its name, without an address in memory.
        name = getattr(p.default, "__name__", "") or re.sub(r"^<.*>$", "<…>", repr(p.default))
        plain.append(p.replace(annotation=p.empty, default=p.default if p.default is p.empty else _Written(name)))
    return str(inspect.Signature(plain))


class _Written(str):
    """A text whose repr is itself."""

    __repr__ = str.__str__


def described(x: Any) -> str:
    """What a name is, in one line."""
    if isinstance(x, types.ModuleType):
        return "module"
    if inspect.isclass(x):
        return "class" if x.__name__ in MADE_BY_US else f"class {signature(x)}"
    return signature(x) if callable(x) else "value"


def members(cls: type, known: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """A class's public methods and attributes; ``()`` is what calling an object of it takes.

    What every list or float has, too, isn't ours. A method is public if it's described, if NumPy's arrays have it, or
    if it was: then ``.name`` is `known`.
    """
    fields = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
    is_device = any(base.__name__ in ("Device", "Card") for base in cls.__mro__)
    inner = {name for base in cls.__mro__ for name in _INNER_OF.get(base.__name__, ())}
    for name in sorted({*type.__dir__(cls), *fields}):  # dir() shows only what has a docstring
        if name in inner or (is_device and name.strip("_") not in OF_A_DEVICE):
            continue
        if (name.startswith("_") and name != "__call__") or not _is_ours(cls, name, fields):
            continue
        member = getattr(cls, name, None)
        is_method = callable(member) and not inspect.isclass(member)
        if not is_method:
            yield f".{name}", "attribute"
        elif inspect.getdoc(member) or hasattr(np.ndarray, name) or f".{name}" in known:
            yield "()" if name == "__call__" else f".{name}", signature(member)


def _is_ours(cls: type, name: str, fields: set[str]) -> bool:
    """Not what Python or NumPy defines, nor what only says what another library's name is called here."""
    owner = next((one for one in cls.__mro__ if name in vars(one)), None)
    if owner is None:
        return name in fields
    member = vars(owner)[name]
    if _room(owner) in {*sys.stdlib_module_names, "numpy"}:
        return False
    if not hasattr(member, "__get__") or _room(type(member)) in sys.stdlib_module_names:
        return True
    try:  # a descriptor of ours: does it give anything?
        member.__get__(object.__new__(cls), cls)
    except AttributeError:
        return hasattr(np.ndarray, name)
    return True


def _room(cls: type) -> str:
    return cls.__module__.partition(".")[0]


def entries(known: Iterable[str] = ()) -> dict[str, str]:
    """All of it. A module that isn't there any more has no names, and a function that's gone gives nothing.

    Of the `known` names, those that left ``__all__`` are looked up, too: a module may still answer for an old one.
    """
    found: dict[str, str] = {}
    described_already: set[type] = set()  # two modules may have a class
    for module in MODULES:
        try:
            home = importlib.import_module(module)
        except ModuleNotFoundError:
            continue
        kept = [key.rpartition(".")[2] for key in known if key.rpartition(".")[0] == module]
        for name in dict.fromkeys([*names_of(module), *kept]):
            with warnings.catch_warnings(action="ignore"):  # an old name says what the new one is
                x, key = getattr(home, name, _GONE), f"{module}.{name}"
            if x is _GONE:
                continue
            found[key] = described(x)
            its_own = {other.removeprefix(key) for other in known if other.startswith((f"{key}.", f"{key}("))}
            if inspect.isclass(x) and (its_own or x not in described_already):
                described_already.add(x)
                found |= {f"{key}{member}": what for member, what in members(x, its_own)}
    with fl.simulate_gpu(False), fl.simulate_gpu():
        for given, make in GIVEN.items():
            try:
                cls = type(make())
            except (AttributeError, TypeError):
                continue
            found |= {f"{given} gives {member}": what for member, what in members(cls)}
    return found


_GONE = object()
