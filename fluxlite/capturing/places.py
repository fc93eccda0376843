"""The places that a step can reach, with what was there before the capture.

While a step is captured, a `CapturedArray` stands in each place that holds an array; what the step assigned there is
then written into the array that was there, which comes back. Every other place is guarded: if it holds something else
at a later call, that call captures anew. ``search.py`` finds the places.
"""

import contextvars
import functools
import random
from typing import Any, NamedTuple

import numpy as np

from ..optim.update import Leaf
from ..words import in_words
from .program import CaptureError, Program, on_device, root_of, this_run
from .recorded import CapturedArray, CapturedGenerator, are_one, wrap, write

GONE = object()  # nothing is there


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
            return GONE

    def put(self, value: Any) -> None:
        if value is GONE:
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
    """All places that a step can reach. `Search` fills the lists."""

    def __init__(self) -> None:
        self.arrays: list[Place] = []  # those that hold arrays, generators, or a tuple with some
        self.values: list[Place] = []  # variables and attributes with anything else
        self.containers: list[Container] = []
        self.variables: list[tuple[contextvars.ContextVar, Any]] = []
        self.leaves: list[Leaf] = []  # an optimizer's
        self.classes: list[tuple[Any, type]] = []  # objects, and of which class they were
        self.absent: list[tuple[dict, str]] = []  # variables and names that aren't there, such as a builtin's
        self.sizes: list[tuple[Any, int]] = []  # of classes and modules: how many names they have
        self.bytes: list[tuple[Any, bytes]] = []  # bytearrays and their kin, and what was in them
        self.generators: list[tuple[random.Random, Any]] = []  # of Python's, and their states

    def put_stand_ins(self, program: Program) -> None:
        for place in self.arrays:
            place.put(_stand_in(place.value, program))

    def put_back(self, program: Program) -> list[str]:
        """Put the arrays back, with the values that the step assigned. What couldn't be kept, in words."""
        this_run.is_over = True
        try:
            return self._put_back(program)
        finally:
            this_run.is_over = False

    def put_back_attributes(self) -> None:
        """After a refusal, objects have their attributes again."""
        for container in self.containers:
            if container.of is not None and type(container.box) is dict and not container.same():
                container.box.clear()
                container.box.update(zip(container.keys or (), container.values))

    def _put_back(self, program: Program) -> list[str]:
        assigned = [place.now() for place in self.arrays]
        for place in self.arrays:
            place.put(place.value)
        lost = []
        for number, (place, now) in enumerate(zip(self.arrays, assigned)):
            is_anothers = isinstance(now, CapturedArray) and id(root_of(now.value)) not in program.made
            if is_anothers and not are_one(now.value, place.value):
                assigned[number] = now.copy()  # before that other one gets new values, as when two are swapped
        for place, now in zip(self.arrays, assigned):
            if isinstance(place.value, np.ndarray) or on_device(place.value):
                lost += self._keep_assigned(place, now, program)
        for place in self.values:
            now = place.now()
            if not same(now, place.value):
                lost += self._keep_new(place, now)
        for container in self.containers:
            lost += self._keep_new_contents(container)
        for variable, value in self.variables:
            if not same(variable.get(GONE), value):
                lost.append(f"the context variable {variable.name}")
        lost += [f"a {type(x).__name__}" for x, before in self.bytes if bytes(x) != before]
        lost += ["the state of a random.Random" for x, state in self.generators if x.getstate() != state]
        return lost

    def _keep_assigned(self, place: Place, now: Any, program: Program) -> list[str]:
        """The step has put `now` where an array was: its values go into that array."""
        before = place.value
        if now is before or (isinstance(now, CapturedArray) and are_one(now.value, before)):
            return []
        if now is GONE:
            return [str(place)]
        if isinstance(now, CapturedArray) and now.shape == before.shape and now.dtype == before.dtype:
            write(program, before, now)
            return []
        raise CaptureError(
            f"the step puts {in_words(getattr(now, 'value', now))} at {place}, where {in_words(before)} was: "
            "a replay can't. Return it instead"
        )

    def _keep_new(self, place: Place, now: Any) -> list[str]:
        """There was no array yet: from the next run on, there is one."""
        if isinstance(now, CapturedArray):
            place.put(now.value.copy())
        return [str(place)]

    def _keep_new_contents(self, container: Container) -> list[str]:
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


def holds_array(x: Any) -> bool:
    """Whether something stands in for `x` during a capture: an array, a generator, or a tuple with some."""
    if isinstance(x, np.ndarray):
        return not x.dtype.hasobject
    if isinstance(x, np.random.Generator) or on_device(x):
        return True
    if isinstance(x, tuple):
        return any(map(holds_array, x))
    if type(x) is functools.partial:
        return any(map(holds_array, (*x.args, *x.keywords.values())))
    return False


def _stand_in(x: Any, program: Program) -> Any:
    if isinstance(x, np.ndarray) and not x.dtype.hasobject:
        return wrap(program, np.asarray(x))
    if on_device(x):
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
