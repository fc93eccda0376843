"""The simulated GPU accepts a NumPy function and its keywords exactly when the installed CuPy does."""

import functools
import inspect
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy.char  # noqa: F401  (their functions are known to NumPy only then: SciPy imports them, too)
import numpy.fft  # noqa: F401
import numpy.polynomial  # noqa: F401
import numpy.strings  # noqa: F401
import pytest
from numpy.testing.overrides import get_overridable_numpy_array_functions, get_overridable_numpy_ufuncs

import simgpu
from fluxlite.simulated import SimulatedArray
from simgpu import refusals
from simgpu.words import word_set

cupy = pytest.importorskip("cupy")

FUNCTIONS = sorted(get_overridable_numpy_array_functions(), key=refusals.name_of)
UFUNCS = sorted(
    (u for u in get_overridable_numpy_ufuncs() if u.types and u.__name__[0] != "_"), key=lambda u: u.__name__
)


def cupys(function):
    """CuPy's function for NumPy's, found as CuPy's own dispatch finds it; None if there is none."""
    try:
        module = functools.reduce(getattr, function.__module__.split(".")[1:], cupy)
        found = getattr(module, function.__name__)
    except AttributeError:
        return None
    return None if found is function else found


def named(function):
    """The parameters that can be given by name, and whether others are taken too."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return set(), True
    names = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    return names, any(p.kind is p.VAR_KEYWORD for p in parameters)


def test_there_is_something_to_compare():
    assert len(FUNCTIONS) > 250 and len(UFUNCS) > 80


@pytest.mark.parametrize("function", FUNCTIONS, ids=refusals.name_of)
def test_functions(function):
    assert refusals.is_lacking(function) == (cupys(function) is None)


BY_HAND = {"einsum": {"casting", "order", "out"}}  # its **kwargs are named in CuPy's linalg/_einsum.py:498


@pytest.mark.parametrize("function", [f for f in FUNCTIONS if cupys(f)], ids=refusals.name_of)
def test_keywords(function):
    (ours, _), (theirs, others_too) = named(function), named(cupys(function))
    missing = BY_HAND.get(refusals.name_of(function), set()) if others_too else ours - theirs - {"like"}
    assert refusals.refused_keywords(function) == missing


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_ufuncs(ufunc):
    import cupyx.scipy.special

    exists = hasattr(cupy, ufunc.__name__) or hasattr(cupyx.scipy.special, ufunc.__name__)
    assert (ufunc.__name__ in refusals.LACKING_UFUNCS) == (not exists)


def test_the_list_of_cupys_names_is_the_installed_cupys():
    tool = Path(__file__).parents[3] / "tools" / "cupy_names.py"
    if not tool.exists():
        pytest.skip("the tool that makes the list isn't here")
    # In a process of its own, since tests load more of CuPy's modules.
    made = subprocess.run([sys.executable, tool, "--print"], capture_output=True, text=True, check=True).stdout
    ours = tomllib.loads((Path(simgpu.__file__).parent / "cupys.toml").read_text(encoding="utf-8"))
    theirs = tomllib.loads(made)
    if ours["version"] != theirs["version"]:
        pytest.skip(f"the list is of CuPy {ours['version']}, installed is {theirs['version']}")
    assert ours == theirs


BINARY = word_set("add sub mul truediv floordiv mod pow matmul and or xor lshift rshift divmod")
OTHERS = word_set(
    "lt le eq ne gt ge neg pos abs invert len iter getitem setitem int float complex index contains copy deepcopy "
    "format bytes array array_ufunc array_function getattr"
)


@pytest.mark.parametrize("name", sorted({prefix + name for prefix in ("", "r", "i") for name in BINARY} | OTHERS))
def test_special_methods_are_those_of_cupy(name):
    assert hasattr(SimulatedArray, f"__{name}__") == hasattr(cupy.ndarray, f"__{name}__")


def test_an_array_shows_no_names_but_cupys():
    x = simgpu.arange(2)
    for shown in (dir(x), dir(type(x))):
        assert [name for name in shown if name[0] != "_" and not hasattr(cupy.ndarray, name)] == []
    assert not hasattr(x, "values")  # Matplotlib and pandas would take it for the array's values on the host
