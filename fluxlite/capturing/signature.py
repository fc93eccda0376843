"""What a captured step is called with: arrays, which may be others at each call, and all that has to be as it was.

Arrays and NumPy's numbers are inputs of a replay. All else is the signature: another number of Python's, another text,
another structure, shape, type or memory order is another call, which is captured by itself.

The table at the end has the kinds of things that an argument can be, or be made of. Each kind knows what belongs to the
signature, what the step gets in its place while it's recorded, and how a replay finds out that it's called otherwise.
"""

import functools
from typing import Any

import numpy as np

from ..array_kinds import array_kind_of
from .memory import copy_in_order, values_of
from .program import CaptureError, Program, check_kind, check_plain
from .recorded import wrap
from .terms import bits_of, has_attributes, of_python, terms_of


class Given:
    """What a step is called with, in order: `arrays` with NumPy's numbers, and `others`, objects such as a model."""

    def __init__(self) -> None:
        self.arrays: list = []
        self.others: list = []
        self._numbers: dict[int, int] = {}

    def number_of(self, x: Any) -> int:
        """The same for one object that's given twice."""
        return self._numbers.setdefault(id(x), len(self._numbers))


def signature(x: Any, given: Given) -> Any:
    """What has to be as it was. What's in `x` goes into `given`."""
    return _kind_of(x).signature(x, given)


class StandIns:
    """Makes the arguments that the step gets while it's recorded."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.given: list = []  # the arrays and NumPy's numbers, as they were given
        self.containers: list = []  # new lists and dicts
        self._made: dict[int, Any] = {}

    def of(self, x: Any) -> Any:
        """`x`, with a `CapturedArray` over a copy of each array. One object that's given twice has one stand-in."""
        if id(x) not in self._made:
            self._made[id(x)] = _kind_of(x).stand_in(x, self)
        return self._made[id(x)]

    def of_another(self, x: Any) -> Any:
        """The same for what isn't an argument: it has a stand-in of its own."""
        self._made = {}
        return self.of(x)


class Checks:
    """The first lines of a replay: they take the arrays x0, x1, … out of the arguments, and find another signature."""

    def __init__(self, writer: Any) -> None:
        self.writer = writer
        self.lines: list[str] = []
        self.containers: list[str] = []  # the names of the lists, dicts and tuples among the arguments
        self._arrays = 0
        self._names: dict[int, str] = {}  # by id: what was given before

    def add(self, x: Any, now: str) -> None:
        """Lines that find out whether what stands at `now`, an expression, is like `x`."""
        if id(x) in self._names:
            self.miss_if(f"{now} is not {self._names[id(x)]}")
        else:
            _kind_of(x).check(x, now, self)

    def add_another(self, x: Any, now: str) -> None:
        """The same for what isn't an argument."""
        self._names = {}
        self.add(x, now)

    def name_array(self, x: Any, now: str) -> str:
        name = f"x{self._arrays}"
        self._names[id(x)] = name
        self._arrays += 1
        self.lines.append(f"{name} = {now}")
        return name

    def name_container(self, x: Any, now: str) -> str:
        name = f"part_{len(self.lines)}"
        self._names[id(x)] = name
        self.lines.append(f"{name} = {now}")
        if x != () and now not in ("args", "kwargs"):  # Python has one () only, and makes those again
            self.containers.append(name)
        return name

    def miss_if(self, *tests: str) -> None:
        self.lines.append(f"if {' or '.join(tests)}: return missed")

    def is_another(self, name: str, kind: type) -> str:
        return f"type({name}) is not {self.writer.thing(kind)}"


def checks(args: tuple, kwargs: dict[str, Any], carried: list[tuple[Any, str]], writer: Any) -> Checks:
    """The `Checks` for these arguments, and for what's `carried`: things, and where a replay finds them."""
    found = Checks(writer)
    found.add(args, "args")
    if kwargs:
        found.add(kwargs, "kwargs")
    else:
        found.miss_if("kwargs")
    containers = list(found.containers)
    for x, now in carried:
        found.add_another(x, now)
    found.containers = containers
    return found


# -- the kinds of things -----------------------------------------------------------------------------------------------


class Kind:
    """A kind of thing: by default, what stays itself, and is another one if it isn't that very object."""

    def has(self, cls: type) -> bool:
        """Whether objects of this class are of this kind."""
        return True

    def signature(self, x: Any, given: Given) -> Any:
        check_kind(x, "an argument")
        given.others.append(x)
        return type(x), id(x)

    def stand_in(self, x: Any, stand_ins: StandIns) -> Any:
        return x

    def check(self, x: Any, now: str, checks: Checks) -> None:
        checks.miss_if(f"id({now}) != {id(x)}")  # it's held weakly: the plan goes when it goes


class HostArray(Kind):
    def has(self, cls: type) -> bool:
        return issubclass(cls, np.ndarray)

    def signature(self, x: Any, given: Given) -> Any:
        check_plain(x, "an argument")
        given.arrays.append(x)
        return given.number_of(x), x.shape, x.dtype, x.strides

    def stand_in(self, x: Any, stand_ins: StandIns) -> Any:
        stand_ins.given.append(x)
        program = stand_ins.program
        program.inputs.append(program.new(self.copy(x)))
        return wrap(program, program.inputs[-1], isinstance(x, np.generic))

    def copy(self, x: Any) -> Any:
        return copy_in_order(np.asarray(x))  # of a file's array, too, it's a plain one

    def check(self, x: Any, now: str, checks: Checks) -> None:
        name = checks.name_array(x, now)
        checks.miss_if(*self.tests(x, name, checks))

    def tests(self, x: Any, name: str, checks: Checks) -> list[str]:
        return [
            checks.is_another(name, type(x)),
            f"{name}.shape != {x.shape}",
            f"{name}.strides != {x.strides}",
            f"{name}.dtype != {checks.writer.thing(x.dtype)}",
        ]


class DeviceArray(HostArray):
    def has(self, cls: type) -> bool:
        kind = array_kind_of(cls)
        return kind is not None and kind.graph is not None

    def signature(self, x: Any, given: Given) -> Any:
        given.arrays.append(x)
        return given.number_of(x), x.device, x.shape, x.dtype, x.strides

    def copy(self, x: Any) -> Any:
        return x.device.new(copy_in_order(values_of(x)))

    def tests(self, x: Any, name: str, checks: Checks) -> list[str]:
        return [*super().tests(x, name, checks), f"{name}.device != {checks.writer.thing(x.device)}"]


class NumPyNumber(HostArray):
    def has(self, cls: type) -> bool:
        return issubclass(cls, np.generic) and not issubclass(cls, (str, bytes))

    def signature(self, x: Any, given: Given) -> Any:
        if isinstance(x, np.void):
            raise CaptureError("captured(step): an argument is a record of NumPy's: give an array of them")
        given.arrays.append(x)
        return given.number_of(x), type(x)

    def copy(self, x: Any) -> Any:
        return np.array(x)

    def tests(self, x: Any, name: str, checks: Checks) -> list[str]:
        return [checks.is_another(name, type(x))]


class Tuple(Kind):
    def has(self, cls: type) -> bool:
        is_named = issubclass(cls, tuple) and hasattr(cls, "_fields")
        return cls is tuple or is_named

    def signature(self, x: Any, given: Given) -> Any:
        return given.number_of(x), type(x), *[signature(part, given) for part in x]

    def stand_in(self, x: Any, stand_ins: StandIns) -> Any:
        parts = [stand_ins.of(part) for part in x]
        if hasattr(x, "_make"):  # a named one
            return x._make(parts)
        return tuple(parts)

    def check(self, x: Any, now: str, checks: Checks) -> None:
        name = checks.name_container(x, now)
        checks.miss_if(checks.is_another(name, type(x)), f"len({name}) != {len(x)}")
        for number, part in enumerate(x):
            checks.add(part, f"{name}[{number}]")


class List(Tuple):
    def has(self, cls: type) -> bool:
        return cls is list

    def stand_in(self, x: Any, stand_ins: StandIns) -> Any:
        made = [stand_ins.of(part) for part in x]
        stand_ins.containers.append(made)
        return made


class Dictionary(Kind):
    def has(self, cls: type) -> bool:
        return cls is dict

    def signature(self, x: Any, given: Given) -> Any:
        return given.number_of(x), dict, *map(terms_of, x), *[signature(part, given) for part in x.values()]

    def stand_in(self, x: Any, stand_ins: StandIns) -> Any:
        made = {key: stand_ins.of(part) for key, part in x.items()}
        stand_ins.containers.append(made)
        return made

    def check(self, x: Any, now: str, checks: Checks) -> None:
        name = checks.name_container(x, now)
        keys = checks.writer.thing([*x])
        differ = f"[*{name}] != {keys}"
        if not all(type(key) is str for key in x):  # 1, 1.0 and True are equal
            differ = f"not same_keys({name}, {keys})"
        checks.miss_if(f"type({name}) is not dict", differ)
        for key, part in x.items():
            checks.add(part, f"{name}[{checks.writer.thing(key)}]")


class TextOrNumber(Kind):
    def has(self, cls: type) -> bool:
        return cls in (bool, int, float, complex, str, bytes, type(None), np.str_, np.bytes_)

    def signature(self, x: Any, given: Given) -> Any:
        if type(x) in (float, complex):
            return type(x), bits_of(x)
        return type(x), x

    def check(self, x: Any, now: str, checks: Checks) -> None:
        checks.miss_if(f"not same({now}, {checks.writer.thing(x)})")


class OwnTextOrNumber(Kind):
    """Of a class of the user's: the class is looked into. If the object has attributes, it's only like itself."""

    def has(self, cls: type) -> bool:
        return issubclass(cls, (int, float, complex, str, bytes))

    def signature(self, x: Any, given: Given) -> Any:
        if has_attributes(x):
            return super().signature(x, given)
        given.others.append(type(x))
        return type(x), terms_of(of_python(x))

    def check(self, x: Any, now: str, checks: Checks) -> None:
        if has_attributes(x):
            super().check(x, now, checks)
        else:
            checks.miss_if(f"not same_of_python({now}, {checks.writer.thing(x)})")


_KINDS = [
    HostArray(), DeviceArray(), NumPyNumber(), Tuple(), List(), Dictionary(), TextOrNumber(), OwnTextOrNumber(), Kind(),
]  # fmt: skip


def _kind_of(x: Any) -> Kind:
    cls: Any = type(x)
    return _kind_of_class(cls)


@functools.lru_cache(maxsize=256)
def _kind_of_class(cls: type) -> Kind:
    return next(kind for kind in _KINDS if kind.has(cls))
