"""The places that a step can reach: its variables, and what's in objects, classes, modules and containers there.

While a step is captured, a `CapturedArray` stands in each place that holds an array; what the step assigned there is
then written into the array that was there, which comes back. Every other place is guarded: if it holds something else
at a later call, that call captures anew.
"""

import array
import collections
import contextlib
import contextvars
import dis
import functools
import io
import random
import sys
import threading
import types
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..optim.update import Leaf, OptimiserRule
from ..words import in_words
from .program import CaptureError, Program
from .recorded import CapturedArray, CapturedGenerator, CapturedNumber, wrap, write

_SIMPLE = (type(None), bool, int, float, complex, str, bytes, np.ufunc, np.dtype, np.generic, types.BuiltinFunctionType,
           type(...), range, slice)  # fmt: skip
_OURS = tuple(sys.modules[name].__path__[0] for name in ("fluxlite", "numpy"))
_ENOUGH = 20_000  # places: what reaches more has got into something that isn't the step's own
_GONE = object()


class Place(NamedTuple):
    """Where a step finds something: an item of a list or of an object's ``__dict__``, or an attribute."""

    owner: Any
    step: Any
    is_item: bool
    value: Any  # what was there before the capture

    def now(self) -> Any:
        try:
            if self.is_item:
                return self.owner[self.step]
            return getattr(self.owner, self.step)
        except (AttributeError, LookupError, ValueError):  # an empty cell raises ValueError
            return _GONE

    def put(self, value: Any) -> None:
        if value is _GONE:
            return
        if self.is_item:
            self.owner[self.step] = value
        elif hasattr(type(self.owner), "__dataclass_fields__"):  # it may be frozen
            object.__setattr__(self.owner, self.step, value)
        else:
            setattr(self.owner, self.step, value)

    def __str__(self) -> str:
        if self.is_item:
            return f"{self.step!r}"
        return f"{type(self.owner).__name__}.{self.step}"


class Container(NamedTuple):
    """A list, dict, deque, set or ``__dict__``, and the things in it before the capture."""

    box: Any
    keys: list | None  # of a dict
    values: list
    of: Any = None  # the object whose ``__dict__`` it is

    def same(self) -> bool:
        """Whether it still holds the same things, under the same keys."""
        return same_contents(self.box, self.keys, self.values)


def same_contents(box: Any, keys: list | None, values: list) -> bool:
    if len(box) != len(values):
        return False
    if keys is None:
        return all(map(same, box, values))
    return [*box] == keys and all(map(same, box.values(), values))


def same(x: Any, y: Any) -> bool:
    """Whether a replay may go on with `y` where there's `x` now: one object, or equal numbers or texts."""
    if x is y:
        return True
    if type(x) is not type(y) or type(x) not in _BY_VALUE:
        return False
    if type(x) is tuple:
        return len(x) == len(y) and all(map(same, x, y))
    if type(x) in (float, complex):
        return repr(x) == repr(y)  # 0.0 isn't -0.0, and NaN is NaN
    return x == y


_BY_VALUE = {int, float, str, bytes, bool, complex, tuple, np.dtype, range, slice}


class Places:
    """All places that a step, and what it's called with, can reach."""

    def __init__(self, step: Any, arguments: Any = ()) -> None:
        self._step = step
        self._names: set[str] = set()
        self._arguments = set(map(id, arguments))  # which a plan holds weakly
        names = None
        while names != self._names:  # which attributes count is known once all functions have been met
            names = set(self._names)
            self._find([step, *arguments])
        self._seen.clear()

    def _find(self, beginnings: list) -> None:
        self.arrays: list[Place] = []  # those that hold arrays, generators, or a tuple with some
        self.values: list[Place] = []  # variables and attributes with anything else
        self.containers: list[Container] = []
        self.variables: list[tuple[contextvars.ContextVar, Any]] = []
        self.leaves: list[Leaf] = []
        self.absent: list[tuple[dict, str]] = []  # variables and names that aren't there, such as a builtin's
        self.sizes: list[tuple[Any, int]] = []  # of classes and modules: how many names they have
        self.bytes: list[tuple[Any, bytes]] = []  # bytearrays and their kin, and what was in them
        self.generators: list[tuple[random.Random, Any]] = []  # of Python's, and their states
        self._seen: dict[int, Any] = {}  # by id, and kept alive
        self._met: set[tuple] = set()
        self._waiting = collections.deque(beginnings)
        while self._waiting:
            self._look_into(self._waiting.popleft())
            if len(self._met) > _ENOUGH:
                raise CaptureError(
                    f"captured(step): the step reaches more than {_ENOUGH:,} places: give it what it works on as "
                    "arguments"
                )

    # -- finding -------------------------------------------------------------------------------------------------------

    def _look_into(self, x: Any) -> None:
        kind = type(x)
        if isinstance(x, _SIMPLE) or (kind is np.ndarray and not x.dtype.hasobject) or id(x) in self._seen:
            return
        self._seen[id(x)] = x
        if kind is np.ndarray:  # of objects: Python's own, one by one
            self._container(x.reshape(-1))
        elif isinstance(x, Leaf):
            self._leaf(x)
        elif isinstance(x, OptimiserRule) or kind in (CapturedArray, CapturedNumber):
            return
        elif hasattr(kind, "__primitive__"):
            self._attribute(x, "value")
            self._attribute(x, "grad")
        elif getattr(kind, "is_a_captured_step", False):  # as part of this one, it runs as it's written
            self._waiting.append(x.eager)
        elif isinstance(x, types.FunctionType):
            self._function(x)
        elif isinstance(x, types.MethodType):
            self._waiting += [x.__self__, x.__func__]
        elif isinstance(x, functools.partial):
            self._waiting += [x.func, x.args, x.keywords]
        elif isinstance(x, types.ModuleType):
            self._module(x)
        elif isinstance(x, contextvars.ContextVar):
            self.variables.append((x, x.get(_GONE)))
            self._waiting.append(x.get(None))
        elif isinstance(x, (list, collections.deque)):
            self._container(x)
        elif isinstance(x, (set, frozenset, tuple)):
            if isinstance(x, set):
                self.containers.append(Container(x, None, list(x)))
            self._waiting += x
        elif isinstance(x, (dict, types.MappingProxyType)):
            if isinstance(x, types.MappingProxyType) and any(map(_holds_array, x.values())):
                raise CaptureError("captured(step): arrays in a MappingProxyType can't be captured; use a dict")
            self._container(x)
        elif isinstance(x, type):
            self._class(x)
        elif isinstance(x, (bytearray, memoryview, array.array)):
            self.bytes.append((x, bytes(x)))
        elif isinstance(x, random.Random):
            self.generators.append((x, x.getstate()))
        elif isinstance(x, functools._lru_cache_wrapper):
            self._waiting.append(x.__wrapped__)
        elif isinstance(x, weakref.ref):
            self._waiting.append(x())
        elif isinstance(x, threading.local):
            self._container(x.__dict__, x)
        elif isinstance(x, Iterator) and not isinstance(x, io.IOBase):
            raise CaptureError(
                f"captured(step): the step can reach a {kind.__name__}, whose next value a replay wouldn't ask for. "
                "Take it before the call, and give it as an argument"
            )
        else:
            self._object(x)

    def _function(self, f: Any) -> None:
        if f.__code__.co_filename.startswith(_OURS) and f is not self._step:  # `train` has a step of its own
            for cell in f.__closure__ or ():  # of a decorator of ours, which has a function of yours
                with contextlib.suppress(ValueError):  # an empty cell
                    self._waiting.append(cell.cell_contents)
            return
        self._names |= names_in_code(f)
        self._attribute(f, "__code__")
        for cell in f.__closure__ or ():
            self._attribute(cell, "cell_contents")
        for name in _globals_of(f.__code__):
            if name in ("eval", "exec") and name not in f.__globals__:
                raise CaptureError(
                    f"captured(step): {f.__qualname__} calls {name}, and what that reads can't be seen. Call it "
                    "before, and "
                    "give its result as an argument"
                )
            if name in f.__globals__:
                self._item(f.__globals__, name)
            else:
                self.absent.append((f.__globals__, name))
        if "globals" in f.__code__.co_names:
            for name in sorted(names_in_code(f) & f.__globals__.keys()):
                self._item(f.__globals__, name)
        for name in _imports_of(f.__code__):
            if name in sys.modules and not _is_a_librarys(name):
                self._item(sys.modules, name)
        if f.__defaults__ or f.__kwdefaults__:
            self._attribute(f, "__defaults__")
            self._attribute(f, "__kwdefaults__")
        self._waiting += [value for value in vars(f).values() if callable(value)]  # such as __wrapped__

    def _module(self, module: Any) -> None:
        if _is_a_librarys(module.__name__):
            return
        if module.__name__ != "__main__":  # a notebook's gets new names all the time
            self.sizes.append((module, len(vars(module))))
        for name in sorted(self._names & vars(module).keys()):
            self._item(vars(module), name)

    def _class(self, cls: Any) -> None:
        for base in cls.__mro__:
            if _is_a_librarys(base.__module__) or base.__module__ in sys.stdlib_module_names:
                continue
            self.sizes.append((base, len(vars(base))))
            for name, value in list(vars(base).items()):
                self._waiting += _functions_in(value)
                if name in self._names and not name.startswith("__") and (id(base), name) not in self._met:
                    self._met.add((id(base), name))
                    self._class_attribute(base, name, value)

    def _class_attribute(self, cls: type, name: str, value: Any) -> None:
        if _holds_array(value):
            self.arrays.append(Place(cls, name, False, value))
        else:
            self.values.append(Place(vars(cls), name, True, value))
        self._waiting.append(value)

    def _object(self, x: Any) -> None:
        kind = type(x)
        held = getattr(x, "__dict__", None)
        if type(held) is dict and not _is_a_librarys(kind.__module__, ours=False):
            self._container(held, None if id(x) in self._arguments else x)
        for base in kind.__mro__:
            slots = vars(base).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if not name.startswith("__") and hasattr(x, name) and not _is_a_librarys(kind.__module__):
                    self._attribute(x, name)
        if not _is_a_librarys(kind.__module__):
            self._class(kind)

    def _leaf(self, leaf: Any) -> None:
        """An optimizer's: its numbers are computed at each replay, whatever they are by then."""
        self.leaves.append(leaf)
        self._memory(leaf.memory)

    def _memory(self, memory: dict[str, Any]) -> None:
        for name, value in memory.items():
            if type(value) is dict:
                self._memory(value)
            elif type(value) is np.ndarray:
                self.arrays.append(Place(memory, name, True, value))

    def _container(self, box: Any, of: Any = None) -> None:
        is_dict = not isinstance(box, (list, collections.deque, np.ndarray))
        keys = list(box) if is_dict else None
        values = list(box.values()) if is_dict else list(box)
        self.containers.append(Container(box, keys, values, of))
        steps: Any = range(len(values)) if keys is None else keys
        for step, value in zip(steps, values):
            if (id(box), step) in self._met:
                continue
            self._met.add((id(box), step))
            if _holds_array(value):
                self.arrays.append(Place(box, step, True, value))
            self._waiting.append(value)

    def _item(self, owner: Any, step: Any) -> None:
        self._place(Place(owner, step, True, owner[step]))

    def _attribute(self, owner: Any, step: str) -> None:
        place = Place(owner, step, False, None)
        self._place(place._replace(value=place.now()))

    def _place(self, place: Place) -> None:
        key = (id(place.owner), place.step)
        if key in self._met:
            return
        self._met.add(key)
        (self.arrays if _holds_array(place.value) else self.values).append(place)
        self._waiting.append(place.value)

    # -- while the step is captured ------------------------------------------------------------------------------------

    def put_stand_ins(self, program: Program) -> None:
        for place in self.arrays:
            place.put(_stand_in(place.value, program))

    def put_back(self, program: Program) -> list[str]:
        """Put the arrays back, with the values that the step assigned. What couldn't be kept, in words."""
        lost = []
        for place in self.arrays:
            lost += self._put_back(place, program)
        for place in self.values:
            now = place.now()
            if not same(now, place.value):
                lost += self._new_value(place, now)
        for box in self.containers:
            lost += self._new_contents(box)
        for variable, value in self.variables:
            if not same(variable.get(_GONE), value):
                lost.append(f"the context variable {variable.name}")
        lost += [f"a {type(x).__name__}" for x, before in self.bytes if bytes(x) != before]
        lost += ["the state of a random.Random" for x, state in self.generators if x.getstate() != state]
        return lost

    def _put_back(self, place: Place, program: Program) -> list[str]:
        now = place.now()
        before = place.value
        if type(before) is not np.ndarray:
            place.put(before)
            return []
        if now is _GONE:
            place.put(before)
            return [str(place)]
        place.put(before)
        if isinstance(now, CapturedArray) and now.value is before:
            return []
        if isinstance(now, CapturedArray) and now.shape == before.shape and now.dtype == before.dtype:
            write(program, before, now)
            return []
        if now is before:
            return []
        raise CaptureError(
            f"the step puts {in_words(getattr(now, 'value', now))} at {place}, where {in_words(before)} was: "
            "a replay can't. Return it instead"
        )

    def _new_value(self, place: Place, now: Any) -> list[str]:
        """There was no array yet: from the next run on, there is one."""
        if isinstance(now, CapturedArray):
            place.put(now.value.copy())
        return [str(place)]

    def _new_contents(self, container: Container) -> list[str]:
        now = list(container.box) if container.keys is None else list(container.box.values())
        keys = list(container.box) if container.keys is not None else list(range(len(now)))
        changed = []
        before = dict(zip(container.keys or range(len(container.values)), container.values))
        for key, value in zip(keys, now):
            if isinstance(value, CapturedArray):
                container.box[key] = value.value.copy()
            if key not in before or not same(value, before[key]):
                changed.append(self._words_for(container, key))
        changed += [self._words_for(container, key) for key in before if key not in keys]
        return changed

    @staticmethod
    def _words_for(container: Container, key: Any) -> str:
        if container.of is not None:
            return f"{type(container.of).__name__}.{key}"
        return f"[{key!r}] of a {type(container.box).__name__}"


def _holds_array(x: Any) -> bool:
    """Whether something stands in for `x` during a capture: an array, a generator, or a tuple with some."""
    if type(x) is np.ndarray:
        return not x.dtype.hasobject
    if isinstance(x, np.random.Generator):
        return True
    if isinstance(x, tuple):
        return any(map(_holds_array, x))
    if type(x) is functools.partial:
        return any(map(_holds_array, (*x.args, *x.keywords.values())))
    return False


def _functions_in(x: Any) -> list:
    """The functions that an attribute of a class runs."""
    if isinstance(x, (staticmethod, classmethod)):
        return [x.__func__]
    if isinstance(x, property):
        return [x.fget]
    if isinstance(x, functools.cached_property):
        return [x.func]
    if isinstance(x, types.FunctionType):
        return [x]
    return []


def _stand_in(x: Any, program: Program) -> Any:
    if type(x) is np.ndarray and not x.dtype.hasobject:
        return wrap(program, x)
    if isinstance(x, np.random.Generator):
        return CapturedGenerator(x, program)
    if type(x) is functools.partial:
        keywords = {key: _stand_in(value, program) for key, value in x.keywords.items()}
        return functools.partial(x.func, *[_stand_in(part, program) for part in x.args], **keywords)
    if isinstance(x, tuple):
        parts = [_stand_in(part, program) for part in x]
        if hasattr(x, "_make"):
            return x._make(parts)  # a named tuple
        return tuple(parts)
    return x


def _is_a_librarys(module: str, ours: bool = True) -> bool:
    """Whether it's Python's, NumPy's or another installed library's; fluxlite's too, if `ours`."""
    root = module.partition(".")[0]
    if root == "fluxlite":
        return ours
    if root in sys.stdlib_module_names and root != "__main__":
        return root not in ("types", "collections")  # what's in a SimpleNamespace or a ChainMap is the user's
    file = getattr(sys.modules.get(root), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file


def names_in_code(f: Any) -> set[str]:
    """The names of attributes and variables in a function's code, and texts in it that could be names."""
    code = getattr(getattr(f, "__func__", f), "__code__", None)
    found: set[str] = set()
    for part in _codes(code):
        found |= set(part.co_names)
        found |= {x for x in part.co_consts if isinstance(x, str) and x.isidentifier()}
    return found


def _globals_of(code: Any) -> list[str]:
    """The names that a function looks up among its module's variables, and then among Python's."""
    found = [step.argval for part in _codes(code) for step in dis.get_instructions(part)
             if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")]  # fmt: skip
    return list(dict.fromkeys(found))


def _imports_of(code: Any) -> list[str]:
    """The modules that a function imports."""
    return [step.argval for part in _codes(code) for step in dis.get_instructions(part) if step.opname == "IMPORT_NAME"]


def _codes(code: Any) -> Iterator[Any]:
    """A code object, and those of the functions written inside it."""
    if code is None:
        return
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _codes(inner)
