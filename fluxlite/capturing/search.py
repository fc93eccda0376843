"""Finding the places that a step can reach: from its variables on, through objects, classes, modules and containers.

What is looked at:

==================================== ========================================================================
of a function                        the variables that its code reads, its defaults, and its own attributes
of an object whose class is yours    all attributes, and those of its class as below
of a class of yours                  methods for operators, such as ``__call__``, and what some code names
of a module of yours                 what some code names
of an object of another library's    what some code names
of a list, dict, tuple, set          all that's in it
==================================== ========================================================================

"Some code" is that of all functions that the step can reach. What a step reads elsewhere, such as a file, the clock or
the environment, can't be found: see ``check=`` of `captured`.
"""

import array
import collections
import contextlib
import contextvars
import copy
import dis
import functools
import io
import operator
import random
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..devices.base import Device
from ..optim.update import Leaf, OptimiserRule
from .guards import is_read
from .memory import is_real_array, on_device
from .places import GONE, Container, Place, Places, holds_array
from .program import CaptureError, check_kind, check_plain, libraries
from .recorded import CapturedArray, CapturedNumber

_SIMPLE = {type(None), bool, int, float, complex, str, bytes, np.ufunc, type(...), range, slice, types.CodeType}
_TAKE_MODULES = {"modules", "import_module", "__import__"}  # by a text
_ENOUGH = 20_000  # places: what reaches more has got into something that isn't the step's own


def reachable_places(step: Any, arguments: Any = ()) -> Places:
    """The places that a step can reach, and the objects that it's called with, such as a model."""
    names: set[str] | None = None
    search = Search(step, arguments, set())
    # A walk meets functions, whose code names further attributes. So it begins again until it meets no new name.
    while names != search.names:
        names = set(search.names)
        search = Search(step, arguments, names)
        search.run()
    search.places.found = search.seen
    return search.places


class Search:
    """One walk through all that's reachable. `names` are the names of attributes and variables that code mentions."""

    def __init__(self, step: Any, arguments: Any, names: set[str]) -> None:
        self.places = Places()
        self.names = set(names)
        self._step = step
        self._arguments = set(map(id, arguments))  # which a plan holds weakly
        self._libraries = libraries()
        self.seen: dict[int, Any] = {}  # by id, and kept alive
        self._met: set[tuple] = set()
        self._rules: dict[int, OptimiserRule] = {}  # by id: those that have been looked into
        self._waiting: collections.deque = collections.deque([step, *arguments])

    def run(self) -> None:
        while self._waiting:
            self.look_into(self._waiting.popleft())
            if len(self._met) > _ENOUGH:
                raise CaptureError(
                    f"captured(step): the step reaches more than {_ENOUGH:,} places: give it what it works on as "
                    "arguments"
                )

    def look_into(self, x: Any) -> None:
        is_number = isinstance(x, np.generic) and not isinstance(x, np.void)  # that's a row with names, and changeable
        if type(x) in _SIMPLE or is_number or isinstance(x, Device) or on_device(x) or id(x) in self.seen:
            return
        self.seen[id(x)] = x
        for kind, look in _WAYS:
            if isinstance(x, kind):
                look(self, x)
                break
        else:
            self._object(x)
            return
        if isinstance(x, (list, dict, tuple, set, frozenset)) and hasattr(x, "__dict__"):
            self._object(x)  # a subclass may have more

    # -- arrays and what's ours ----------------------------------------------------------------------------------------

    def _array(self, x: np.ndarray) -> None:
        if x.dtype.hasobject and not x.flags.c_contiguous:  # its parts in a row would be a copy
            raise CaptureError(
                f"captured(step): the step reaches an array of Python's objects, of shape {x.shape}, that doesn't lie "
                "in order: np.ascontiguousarray(x)"
            )
        if x.dtype.hasobject:  # Python's own, one by one
            self._container(x.reshape(-1))
        else:
            check_plain(x, "what the step finds outside")

    def _leaf(self, leaf: Any) -> None:
        """An optimizer's: its numbers are computed at each replay, whatever they are by then."""
        self.places.leaves.append((leaf, leaf.rule))
        self._memory(leaf.memory)
        self._rule(leaf.rule)
        if "rule" in self.names:  # the step may look at its numbers itself
            self._attribute(leaf, "rule")

    def _memory(self, memory: dict[str, Any]) -> None:
        for name, value in memory.items():
            if type(value) is dict:
                self._memory(value)
            elif is_real_array(value):
                self.places.arrays.append(Place(memory, name, True, value))
            elif type(value) not in (int, float):  # those are read
                self._item(memory, name)
        self.places.lengths.append((memory, len(memory)))

    def _rule(self, rule: Any) -> None:
        """Each replay reads a rule's numbers. What else a rule of yours has is guarded, and what its code reads."""
        if id(rule) in self._rules:
            return
        self._rules[id(rule)] = rule
        for inner in rule.rules:
            self._rule(inner)
        if "rule" in self.names:
            for name in sorted(vars(rule).keys() - {"rules"}):
                self._item(vars(rule), name)
        if type(rule).__module__.partition(".")[0] == "fluxlite":
            return
        self.places.rules.append((rule, copy.copy(rule)))
        self.names |= {"apply", "change"}  # which `update` calls
        self._class(type(rule))
        for name, value in vars(rule).items():
            if name != "rules" and not is_read(value):
                self._item(vars(rule), name)

    def _tracked(self, x: Any) -> None:
        self._attribute(x, "value")
        self._attribute(x, "grad")

    def _captured_step(self, x: Any) -> None:
        """As part of this one, it runs as it's written."""
        self._waiting.append(x.eager)

    def _nothing(self, x: Any) -> None:
        """What stands in for an array: an outer step is being recorded."""

    # -- functions, classes, modules -----------------------------------------------------------------------------------

    def _function(self, f: Any) -> None:
        if f.__code__.co_filename.startswith(self._libraries) and f is not self._step:  # `train` has a step of its own
            for cell in f.__closure__ or ():  # of a decorator of ours, which has a function of yours
                with contextlib.suppress(ValueError):  # an empty cell
                    self._waiting.append(cell.cell_contents)
            return
        self.names |= names_in_code(f)
        self.places.asks_for_identity |= asks_for_identity(f.__code__)
        self._attribute(f, "__code__")
        for cell in f.__closure__ or ():
            self._attribute(cell, "cell_contents")
        for name in _globals_of(f.__code__):
            if name in ("eval", "exec") and name not in f.__globals__:
                raise CaptureError(
                    f"captured(step): {f.__qualname__} calls {name}, and what that reads can't be seen. Call it "
                    "before, and give its result as an argument"
                )
            if name == "id" and name not in f.__globals__ and not _is_dunder(f.__name__):  # __repr__ may have one
                raise CaptureError(
                    f"captured(step): {f.__qualname__} calls id, and while a step is recorded, something else stands "
                    "in place of each array, with an id of its own. Use names as keys"
                )
            if name in f.__globals__:
                self._item(f.__globals__, name)
            else:
                self.places.absent.append((f.__globals__, name))
        if "globals" in f.__code__.co_names:
            for name in sorted(names_in_code(f) & f.__globals__.keys()):
                self._item(f.__globals__, name)
        for name in (*_imports_of(f.__code__), *_modules_by_text(f.__code__)):
            if name in sys.modules and not _is_a_librarys(name):
                self._item(sys.modules, name)
        if f.__defaults__ or f.__kwdefaults__:
            self._attribute(f, "__defaults__")
            self._attribute(f, "__kwdefaults__")
        self._container(vars(f))  # also an empty one, which may get something later

    def _method(self, method: types.MethodType) -> None:
        self._waiting += [method.__self__, method.__func__]

    def _bound(self, function: Any) -> None:
        """A function that's written in C: what it works on, as ``box.get`` does on `box`. Others have their module."""
        if not isinstance(function.__self__, types.ModuleType):
            self._waiting.append(function.__self__)

    def _partial(self, f: functools.partial) -> None:
        self._waiting += [f.func, f.args, f.keywords]
        self._container(vars(f))

    def _cached(self, f: Any) -> None:
        self._container(vars(f))  # with the function itself, as __wrapped__

    def _attribute_getter(self, getter: Any) -> None:
        self.names |= {part for name in getter.__reduce__()[1] for part in name.split(".")}

    def _module(self, module: Any) -> None:
        if _is_a_librarys(module.__name__):
            return
        if module.__name__ != "__main__":  # a notebook's gets new names all the time
            self.places.sizes.append((module, len(vars(module))))
        for name in sorted(self.names & vars(module).keys()):
            self._item(vars(module), name)

    def _class(self, cls: Any) -> None:
        if type(cls) is not type:
            self._waiting.append(type(cls))
        for base in cls.__mro__:
            is_ready_made = _is_a_librarys(base.__module__) or str(base.__module__) in sys.stdlib_module_names
            if is_ready_made and not _is_made_by_type(base):
                continue
            self.places.sizes.append((base, len(vars(base))))
            for name, value in list(vars(base).items()):
                self._waiting += _functions_in(value)
                is_named = name in self.names and not _is_dunder(name)
                if (is_named or _is_special_method(name, value)) and (id(base), name) not in self._met:
                    self._met.add((id(base), name))
                    self._class_attribute(base, name, value)

    def _class_attribute(self, cls: type, name: str, value: Any) -> None:
        if holds_array(value):
            self.places.arrays.append(Place(cls, name, False, value))
        else:
            self.places.values.append(Place(vars(cls), name, True, value, of=cls))
        self._waiting.append(value)

    # -- objects and containers ----------------------------------------------------------------------------------------

    def _object(self, x: Any) -> None:
        check_kind(x, "what the step finds outside")
        kind = type(x)
        if hasattr(kind, "__primitive__"):
            self._tracked(x)
            return
        if getattr(kind, "is_a_captured_step", False):
            self._captured_step(x)
            return
        held = getattr(x, "__dict__", None)
        if type(held) is dict and _is_a_librarys(kind.__module__, ours=False):  # of it, only what the step names
            for name in sorted(self.names & held.keys()):
                self._item(held, name)
            return
        if type(held) is dict:
            self._container(held, None if id(x) in self._arguments else x, kind.__name__)
        if _is_a_librarys(kind.__module__):
            return
        if id(x) not in self._arguments:
            self.places.classes.append((x, kind))
        for base in kind.__mro__:
            for name in _slots_of(base):  # it may be empty, and get something later
                self._attribute(x, name)
        self._class(kind)

    def _container(self, box: Any, of: Any = None, class_name: str = "") -> None:
        is_dict = not isinstance(box, (list, collections.deque, np.ndarray))
        keys = list(box) if is_dict else None
        values = list(box.values()) if is_dict else list(box)
        self.places.containers.append(Container(box, keys, values, of, class_name))
        for key, value in zip(keys or range(len(values)), values):
            if (id(box), key) in self._met:
                continue
            self._met.add((id(box), key))
            if holds_array(value):
                self.places.arrays.append(Place(box, key, True, value))
            self._waiting.append(value)

    def _several(self, x: Any) -> None:
        if isinstance(x, set):
            self.places.containers.append(Container(x, None, list(x)))
        self._waiting += x

    def _mapping(self, x: Any) -> None:
        if isinstance(x, types.MappingProxyType) and any(map(holds_array, x.values())):
            raise CaptureError("captured(step): arrays in a MappingProxyType can't be captured; use a dict")
        self._container(x)

    def _context_variable(self, x: contextvars.ContextVar) -> None:
        self.places.variables.append((x, x.get(GONE)))
        self._waiting.append(x.get(None))

    def _memory_of_bytes(self, x: Any) -> None:
        self.places.bytes.append((x, bytes(x)))

    def _pythons_generator(self, x: random.Random) -> None:
        self.places.generators.append((x, x.getstate()))

    def _weak_keys(self, x: Any) -> None:
        self._container(x.data)

    def _weak_reference(self, x: weakref.ref) -> None:
        self._waiting.append(x())

    def _thread_local(self, x: threading.local) -> None:
        self._container(x.__dict__, x, "local")

    def _iterator(self, x: Any) -> None:
        if isinstance(x, io.IOBase):
            return
        raise CaptureError(
            f"captured(step): the step can reach a {type(x).__name__}, whose next value a replay wouldn't ask for. "
            "Take it before the call, and give it as an argument"
        )

    def _item(self, owner: Any, key: Any) -> None:
        self._place(Place(owner, key, True, owner[key]))

    def _attribute(self, owner: Any, name: str) -> None:
        place = Place(owner, name, False, None)
        self._place(place._replace(value=place.now()))

    def _place(self, place: Place) -> None:
        if (id(place.owner), place.key) in self._met:
            return
        self._met.add((id(place.owner), place.key))
        if holds_array(place.value):
            self.places.arrays.append(place)
        else:
            self.places.values.append(place)
        self._waiting.append(place.value)


# How each kind of thing is looked into: the first one counts.
_WAYS: list[tuple[Any, Callable[[Search, Any], None]]] = [
    (np.ndarray, Search._array),
    (Leaf, Search._leaf),
    (OptimiserRule, Search._rule),
    ((CapturedArray, CapturedNumber), Search._nothing),
    (types.FunctionType, Search._function),
    (types.MethodType, Search._method),
    ((types.BuiltinMethodType, types.MethodWrapperType), Search._bound),
    (functools.partial, Search._partial),
    (functools._lru_cache_wrapper, Search._cached),
    (operator.attrgetter, Search._attribute_getter),
    (types.ModuleType, Search._module),
    (type, Search._class),
    ((list, collections.deque), Search._container),
    ((set, frozenset, tuple), Search._several),
    ((dict, types.MappingProxyType), Search._mapping),
    (contextvars.ContextVar, Search._context_variable),
    ((bytearray, memoryview, array.array, np.void), Search._memory_of_bytes),
    (random.Random, Search._pythons_generator),
    (weakref.ref, Search._weak_reference),
    (weakref.WeakKeyDictionary, Search._weak_keys),
    (threading.local, Search._thread_local),
    (Iterator, Search._iterator),
]


def _functions_in(x: Any) -> list:
    """The functions that an attribute of a class runs."""
    if isinstance(x, (staticmethod, classmethod)):
        return [x.__func__]
    if isinstance(x, property):
        return [x.fget, x.fset, x.fdel]
    if isinstance(x, functools.cached_property):
        return [x.func]
    if isinstance(x, functools.partialmethod):
        return [x.func, x.args, x.keywords]
    if isinstance(x, functools.singledispatchmethod):
        return [x.dispatcher]
    if isinstance(x, types.FunctionType):
        return [x]
    return []


def _slots_of(cls: type) -> list[str]:
    """The attributes for which a class has slots, as Python calls them: ``__w`` of Own is ``_Own__w``."""
    if "__slots__" not in vars(cls):
        return []
    return [name for name, value in vars(cls).items() if isinstance(value, types.MemberDescriptorType)]


def _is_made_by_type(cls: type) -> bool:
    """Whether a class was made by ``type(name, bases, …)``, with a metaclass: then it seems to be the metaclass's."""
    return cls.__name__ not in vars(sys.modules.get(cls.__module__, object))


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_special_method(name: str, value: Any) -> bool:
    """Whether an attribute of a class is what an operator or a call asks for, such as ``__call__``, and is written."""
    is_written = isinstance(value, types.FunctionType) and not value.__code__.co_filename.startswith("<")
    return is_written and _is_dunder(name)


def _is_a_librarys(module: Any, ours: bool = True) -> bool:
    """Whether it's Python's, NumPy's or another installed library's; fluxlite's too, if `ours`."""
    if not isinstance(module, str):  # an object of Cython's
        return True
    root = module.partition(".")[0]
    if root == "fluxlite":
        return ours
    if root == "simgpu":
        return True
    if root in sys.stdlib_module_names and root != "__main__":
        return root not in ("types", "collections", "builtins")  # what's in a SimpleNamespace or ChainMap is the user's
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
    """The names that a function looks up among its module's variables and then among Python's, or assigns there."""
    return list(dict.fromkeys(_operands(code, {"LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL"})))


def _imports_of(code: Any) -> list[str]:
    """The modules that a function imports."""
    return list(_operands(code, {"IMPORT_NAME"}))


def asks_for_identity(code: Any) -> bool:
    """Whether a function's code has an `is`, but for ``is None`` and its kin, or an `id`."""
    for part in _codes(code):
        if {"id", "is_", "is_not"} & set(part.co_names):
            return True
        before = ""
        for operation in dis.get_instructions(part):
            if operation.opname == "IS_OP" and not before.startswith("LOAD_CONST"):
                return True
            before = operation.opname
    return False


def _modules_by_text(code: Any) -> list[str]:
    """The modules that a function takes by their names, as in ``sys.modules["settings"]``."""
    parts = list(_codes(code))
    if not any(_TAKE_MODULES & set(part.co_names) for part in parts):
        return []
    return [x for part in parts for x in part.co_consts if isinstance(x, str)]


def _operands(code: Any, operations: set[str]) -> Iterator[str]:
    """The names that these operations have, in a code object and those inside it."""
    for part in _codes(code):
        for operation in dis.get_instructions(part):
            if operation.opname in operations:
                yield operation.argval


def _codes(code: Any) -> Iterator[Any]:
    """A code object, and those of the functions written inside it."""
    if code is None:
        return
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _codes(inner)
