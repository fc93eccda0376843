"""simgpu under CuPy's names: after `begin`, `import cupy` gives what libraries look for there.

Libraries ask an array and a module for their names (``type(x).__module__``, ``xp.__name__``), so these are CuPy's, too.
A program can still tell: the card's name says that it's simulated.
"""

import importlib
import importlib.machinery
import importlib.util
import sys
from types import FrameType, ModuleType
from typing import Any

from . import surface
from .arrays import SimulatedArray

PACKAGES = ("cupy", "cupyx")


def begin() -> None:
    """From now on, CuPy's names are ours in this process. Raises `RuntimeError` if CuPy itself is loaded already."""
    taken = [name for name in sys.modules if name.partition(".")[0] in PACKAGES]
    if taken:
        raise RuntimeError(f"CuPy itself is loaded already ({taken[0]}), so simgpu can't stand in for it")
    sys.meta_path.insert(0, Finder())  # type: ignore[arg-type]
    surface.requests = {}
    SimulatedArray.__module__ = "cupy"
    SimulatedArray.__name__ = SimulatedArray.__qualname__ = "ndarray"


def _name_after(module: str, value: Any) -> None:
    """A class of ours says that it's from this one of CuPy's modules."""
    if isinstance(value, type) and value.__module__.startswith("simgpu."):
        value.__module__ = module


def our_name(name: str) -> str:
    """Which of our modules is one of CuPy's, whether we have it or not.

    >>> our_name("cupy.linalg"), our_name("cupyx.jit"), our_name("cupyx.scipy")
    ('simgpu.linalg', 'simgpu.jit', 'simgpu.cupyx.scipy')
    """
    for ours, theirs in surface.CUPYS_NAME.items():
        if name == theirs:
            return ours
    package, _, rest = name.partition(".")
    return f"{our_name(package)}.{rest}"


class Module(ModuleType):
    """One of our modules under CuPy's name, with the names that CuPy has in it."""

    def __init__(self, name: str, ours: ModuleType) -> None:
        super().__init__(name, ours.__doc__)
        self._ours = ours
        self.__file__ = ours.__file__
        self.__path__: list[str] = []  # so that its parts are looked for, by `Finder`
        for value in vars(ours).values():
            if getattr(value, "__module__", "") == ours.__name__:
                _name_after(name, value)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._ours, name)
        if isinstance(value, ModuleType) and value.__name__.startswith("simgpu."):
            value = importlib.import_module(surface.cupys_name(value.__name__))
        _name_after(self.__name__, value)
        if name != "__all__":
            setattr(self, name, value)  # the next time, Python finds it without us
        return value

    def __dir__(self) -> list[str]:
        return dir(self._ours)


class Finder:
    """Finds our modules when a program imports CuPy's (PEP 302). It notes what CuPy has and we lack."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.partition(".")[0] not in PACKAGES:
            return None
        ours = our_name(name)
        if name not in surface.modules():
            return None
        if not _is_module(ours):
            surface.note_missing(name)
            if _only_asks():
                return None
            raise ModuleNotFoundError(f"{name} isn't simulated: CuPy has it, and simgpu lacks it", name=name)
        spec = importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]
        try:
            spec.origin = importlib.import_module(ours).__file__
        except ModuleNotFoundError:  # what computes it isn't installed, as SciPy for cupyx.scipy
            if _only_asks():
                return None
            raise
        return spec

    def create_module(self, spec: Any) -> ModuleType:
        return Module(spec.name, importlib.import_module(our_name(spec.name)))

    def exec_module(self, module: ModuleType) -> None:
        """There's nothing to run: our module has run under its own name."""


def _only_asks() -> bool:
    """Whether it's `importlib.util.find_spec` that looks for a module, and takes None for an answer."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib._bootstrap"):
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") == "importlib.util"


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:  # its package isn't one
        return False
