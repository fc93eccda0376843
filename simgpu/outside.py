"""Names from outside of a compiled function: what they mean at its first call is compiled in, as constants.

CuPy compiles a kernel once for each combination of argument types (`_cached_codes` in cupyx/jit/_interface.py, `_memo`
in cupy/_core/fusion.pyx, `_kernel_cache` in cupy/_functional/vectorize.py). A global, a closure's variable or a helper
that changes later changes nothing on a card. So we keep what they were, and say when one is something else by now.
"""

import copy
import dis
import functools
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .lines import is_of_libraries, warn_at_call
from .words import in_words

MISSING = object()
_NUMBERS = (bool, int, float, complex, np.generic)


class CompiledIn(UserWarning):
    """Something has changed that was compiled into a kernel, which goes on with what it was."""


class Constant(NamedTuple):
    """A name from outside: how to read what it means now, and what it meant."""

    name: str
    read: Callable[[], Any]
    was: Any

    def has_changed(self) -> bool:
        now, was = self.read(), self.was
        if now is was:
            return False
        if type(now) is not type(was) or not isinstance(was, (*_NUMBERS, str, bytes, tuple)):
            return True
        return repr(now) != repr(was)  # so NaN is the same as before, and -0.0 isn't 0.0


class Constants:
    """What a function was compiled with. `what` names it, as in ``kernel fill``."""

    def __init__(self, what: str, name: str) -> None:
        self.what, self.name = what, name
        self._found: dict[tuple[int, str], Constant] = {}
        self._pairs: list[tuple[Callable[[], Any], Any]] = []  # the same, to look at before each launch
        self._warned: dict[tuple[int, str], Any] = {}  # the value that we've spoken of

    def add(self, owner: Any, name: str, read: Callable[[], Any], was: Any) -> None:
        """`owner` is the function that uses the name, or what holds it: two functions may each have their own."""
        key = id(owner), name
        if key not in self._found:
            self._found[key] = Constant(name, read, was)
            self._pairs.append((read, was))

    def have_changed(self) -> bool:
        """Whether one has changed. If so, a warning says which, once for each value."""
        for read, was in self._pairs:
            if read() is not was:
                break
        else:
            return False
        changed = {key: constant for key, constant in self._found.items() if constant.has_changed()}
        for key, constant in changed.items():
            now = constant.read()
            if key not in self._warned or self._warned[key] is not now:
                self._warned[key] = now
                warn_at_call(self._sentence(constant, now), CompiledIn)
        return bool(changed)

    def _sentence(self, constant: Constant, now: Any) -> str:
        before, after = _describe(constant.was), _describe(now)
        if before == after:
            differs = f"{constant.name} is another {type(now).__name__} now than when it was compiled"
        else:
            differs = f"{constant.name} was {before} when it was compiled, and is {after} now"
        return (
            f"{self.what}: {differs}. It goes on with what it was compiled with, as on a GPU: once for each "
            f"combination of argument types. To compile it again, run the cell that defines {self.name} again."
        )


def _describe(x: Any) -> str:
    if x is MISSING:
        return "nothing"
    if isinstance(x, np.generic):
        return repr(x.item())
    return in_words(x)


class Compiled:
    """A Python function that computes what it would if it had been compiled now: names from outside keep their values.

    `current` gives the function to call. As long as nothing has changed, that's the function itself.
    """

    def __init__(self, function: Callable, what: str, name: str) -> None:
        self._function, self._constants = function, Constants(what, name)
        self._again: Callable | None = None  # the function with the names as they were
        self._functions: dict[int, tuple[types.FunctionType, dict[str, Any], dict[str, Any]]] = {}
        self._holders: dict[int, tuple[Any, Any]] = {}  # lists, dictionaries and objects, with what they held
        self._attributes: set[str] = set()  # which of an object's fields are asked for
        self._look_into(function)

    def current(self) -> Callable:
        if not self._constants.have_changed():
            return self._function
        if self._again is None:
            self._again = self._before(self._function, {})
        return self._again

    def _look_into(self, value: Any, name: str = "") -> None:
        """Note what this holds, if it's something that can hold numbers, or a function with names from outside."""
        if inspect.ismethod(value):
            self._look_into(value.__func__, name)
            self._look_into(value.__self__, "self")
        elif isinstance(value, types.FunctionType):
            inner = _inside(value)
            if inner is self._function or not is_of_libraries(inner.__code__.co_filename) or not name:
                self._look_into_function(inner)
        elif (held := _held_by(value)) is not None:
            self._look_into_holder(value, dict(held), name)

    def _look_into_holder(self, value: Any, held: dict[Any, Any], name: str) -> None:
        if id(value) in self._holders:
            return
        is_object = type(value) not in (dict, list)
        if is_object:  # only what the functions ask for: an object may count how often it's called
            held = {key: was for key, was in held.items() if key in self._attributes}
        self._holders[id(value)] = value, held
        for key, was in held.items():
            if isinstance(was, (*_NUMBERS, str)):
                text = f"{name}[{key!r}]"
                if is_object:
                    text = f"{name}.{key}"
                self._constants.add(value, text, functools.partial(_element_of, value, key), was)

    def _look_into_function(self, function: types.FunctionType) -> None:
        if id(function) in self._functions:
            return
        outer = function.__globals__
        named = {name: outer[name] for name in _read_by(function.__code__, "LOAD_GLOBAL", "LOAD_NAME") if name in outer}
        self._attributes |= _read_by(function.__code__, "LOAD_ATTR", "LOAD_METHOD")
        enclosed = {name: was for name, read in _cells_of(function) if (was := read()) is not MISSING}
        self._functions[id(function)] = function, named, enclosed
        for name, was in named.items():
            self._constants.add(function, name, functools.partial(outer.get, name, MISSING), was)
            self._look_into(was, name)
        for name, read in _cells_of(function):
            self._constants.add(function, name, read, enclosed.get(name, MISSING))
            self._look_into(enclosed.get(name), name)

    def _before(self, value: Any, made: dict[int, Any]) -> Any:
        """What stood for `value` when all names had their old meaning."""
        if id(value) in made:
            return made[id(value)]
        if inspect.ismethod(value):
            return types.MethodType(self._before(value.__func__, made), self._before(value.__self__, made))
        if isinstance(value, types.FunctionType) and id(_inside(value)) in self._functions:
            return self._function_before(_inside(value), value, made)
        if id(value) in self._holders:
            return _with_held(value, self._holders[id(value)][1])
        return value

    def _function_before(self, function: types.FunctionType, key: Any, made: dict[int, Any]) -> types.FunctionType:
        _, named, enclosed = self._functions[id(function)]
        outer = dict(function.__globals__)
        cells = {name: types.CellType() for name in function.__code__.co_freevars}
        closure = tuple(cells.values()) or None
        again = types.FunctionType(function.__code__, outer, function.__name__, function.__defaults__, closure)
        again.__kwdefaults__ = function.__kwdefaults__
        made[id(key)] = again  # before its names, since it may call itself
        outer.update({name: self._before(was, made) for name, was in named.items()})
        for name, was in enclosed.items():
            cells[name].cell_contents = self._before(was, made)
        return again


def _inside(function: types.FunctionType) -> types.FunctionType:
    """The program's own function in one of ours: a fused function that's called in another one is just a part of it."""
    while is_of_libraries(function.__code__.co_filename) and isinstance(
        inner := getattr(function, "__wrapped__", None), types.FunctionType
    ):
        function = inner
    return function


def _read_by(code: types.CodeType, *ways: str) -> set[str]:
    """The names that this code reads in these ways, and so do the functions inside of it."""
    found = {step.argval for step in dis.get_instructions(code) if step.opname in ways}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _read_by(constant, *ways)
    return found


def _cells_of(function: types.FunctionType) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The variables of functions around it, and what reads each."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        yield name, functools.partial(_content_of, cell)


def _content_of(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it has no value yet
        return MISSING


def _held_by(value: Any) -> dict[Any, Any] | None:
    """What a list, a dictionary or a plain object holds. None for everything else."""
    if type(value) is dict:
        return value
    if type(value) is list:
        return dict(enumerate(value))
    if isinstance(value, (types.ModuleType, type, types.FunctionType)) or hasattr(value, "dtype"):
        return None
    return getattr(value, "__dict__", None)


def _element_of(value: Any, key: Any) -> Any:
    return (_held_by(value) or {}).get(key, MISSING)


def _with_held(value: Any, held: dict[Any, Any]) -> Any:
    """A copy that holds this."""
    if type(value) is dict:
        return dict(held)
    if type(value) is list:
        return list(held.values())
    made = copy.copy(value)
    made.__dict__.update(held)
    return made
