"""The places that a step can reach, with what was there before the capture.

While a step is captured, a `CapturedArray` stands in each place that holds an array; what the step assigned there is
then written into the array that was there, which comes back. Every other place is guarded: if it holds something else
at a later call, that call records the step again. ``search.py`` finds the places.
"""

import contextvars
import functools
import random
import types
from typing import Any, NamedTuple

import numpy as np

from ..optim.update import Leaf
from ..words import in_words
from .interrupts import uninterrupted
from .program import CaptureError, Program, on_device, root_of, this_run
from .recorded import CapturedArray, CapturedGenerator, are_one, wrap, write

GONE = object()  # nothing is there


class Place(NamedTuple):
    """Where a step finds something: an item of a list or of an object's ``__dict__``, or an attribute."""

    owner: Any
    key: Any  # the item's, or the attribute's name
    is_item: bool
    value: Any  # what was there before the capture
    of: type | None = None  # the class whose ``__dict__`` the owner is: that can only be read

    def now(self) -> Any:
        """What's there now, or `GONE`."""
        try:
            if self.is_item:
                return self.owner[self.key]
            return getattr(self.owner, self.key)
        except (AttributeError, LookupError, ValueError):  # an empty cell raises ValueError
            return GONE

    def assign(self, value: Any) -> None:
        """Put `value` there, but for `GONE`."""
        if value is GONE:
            return
        if self.of is not None:
            setattr(self.of, self.key, value)
        elif self.is_item:
            self.owner[self.key] = value
        elif hasattr(type(self.owner), "__dataclass_fields__"):  # it may be frozen
            object.__setattr__(self.owner, self.key, value)
        else:
            setattr(self.owner, self.key, value)

    def __str__(self) -> str:
        if self.of is not None:
            return f"{self.of.__name__}.{self.key}"
        if self.is_item:
            return f"{self.key!r}"
        return f"{type(self.owner).__name__}.{self.key}"


class Container(NamedTuple):
    """A list, dict, deque, set or ``__dict__``, and the things in it before the capture."""

    box: Any
    keys: list | None  # of a dict
    values: list
    of: Any = None  # the object whose ``__dict__`` it is

    def before(self) -> dict:
        """What was in it, by key or by index."""
        if self.keys is None:
            return dict(enumerate(self.values))
        return dict(zip(self.keys, self.values))

    def now(self) -> dict:
        """What's in it now."""
        if self.keys is None:
            return dict(enumerate(self.box))
        return dict(self.box)

    def words_for(self, key: Any) -> str:
        """What a message calls the thing under this key."""
        if self.of is not None:
            return f"{type(self.of).__name__}.{key}"
        return f"[{key!r}] of a {type(self.box).__name__}"


def same_contents(box: Any, keys: list | None, values: list) -> bool:
    """Whether a container still holds the same things, under the same keys."""
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
        """From here on, the step finds a `CapturedArray` in place of each array."""
        for place in self.arrays:
            place.assign(_stand_in(place.value, program))

    def put_back(self, program: Program) -> list[str]:
        """Put the arrays back, with the values that the step assigned. What couldn't be kept, in words.

        Ctrl-C waits until all of them are back.
        """
        this_run.is_over = True
        try:
            with uninterrupted():
                return self._put_back(program)
        finally:
            this_run.is_over = False

    def put_back_attributes(self) -> None:
        """After a refusal, objects have their attributes again."""
        for container in self.containers:
            box = container.box
            if container.of is None or type(box) is not dict:
                continue
            if not same_contents(box, container.keys, container.values):
                box.clear()
                box.update(container.before())

    # -- what's where the arrays were, after the step ------------------------------------------------------------------

    def _put_back(self, program: Program) -> list[str]:
        assigned = self._take_down_stand_ins()
        self._copy_what_is_overwritten(assigned, program)
        try:
            lost = self._write_into_arrays(assigned, program)
        finally:  # even if that's refused, no stand-in stays anywhere
            new = [*self._keep_in_values(), *self._keep_in_containers()]
        return [*lost, *new, *self._changed_elsewhere()]

    def _take_down_stand_ins(self) -> list[Any]:
        """Each array is in its place again. What was there, for each place: its stand-in, or what the step assigned."""
        assigned = [place.now() for place in self.arrays]
        for place in self.arrays:
            place.assign(place.value)
        return assigned

    def _copy_what_is_overwritten(self, assigned: list[Any], program: Program) -> None:
        """What a place gets from another one's array is copied, before that gets new values: two may be swapped."""
        for i, (place, now) in enumerate(zip(self.arrays, assigned)):
            is_anothers = isinstance(now, CapturedArray) and id(root_of(now.value)) not in program.made
            if is_anothers and not are_one(now.value, place.value):
                assigned[i] = now.copy()

    def _write_into_arrays(self, assigned: list[Any], program: Program) -> list[str]:
        """What the step has put where an array was: its values go into that array."""
        lost = []
        for place, now in zip(self.arrays, assigned):
            before = place.value
            if not isinstance(before, np.ndarray) and not on_device(before):
                continue
            if now is before or (isinstance(now, CapturedArray) and are_one(now.value, before)):
                continue
            if now is GONE:
                lost.append(str(place))
            elif isinstance(now, CapturedArray) and now.shape == before.shape and now.dtype == before.dtype:
                write(program, before, now)
            else:
                raise CaptureError(
                    f"the step puts {in_words(getattr(now, 'value', now))} at {place}, where {in_words(before)} was: "
                    "a replay can't. Return it instead"
                )
        return lost

    # -- what's where there was no array -------------------------------------------------------------------------------

    def _keep_in_values(self) -> list[str]:
        """A variable or an attribute gets its first array: from the next run on, there is one."""
        lost = []
        for place in self.values:
            now = place.now()
            if same(now, place.value):
                continue
            if isinstance(now, CapturedArray):
                place.assign(now.value.copy())
            lost.append(str(place))
        return lost

    def _keep_in_containers(self) -> list[str]:
        """The same for what's in a list, a dict or another container."""
        lost = []
        for container in self.containers:
            before, now = container.before(), container.now()
            for key, value in now.items():
                if isinstance(value, CapturedArray) and not isinstance(container.box, types.MappingProxyType):
                    container.box[key] = value.value.copy()
                if key not in before or not same(value, before[key]):
                    lost.append(container.words_for(key))
            lost += [container.words_for(key) for key in before if key not in now]
        return lost

    def _changed_elsewhere(self) -> list[str]:
        """What has changed where no array can be kept."""
        lost = []
        for variable, value in self.variables:
            if not same(variable.get(GONE), value):
                lost.append(f"the context variable {variable.name}")
        lost += [f"a {type(x).__name__}" for x, before in self.bytes if bytes(x) != before]
        lost += ["the state of a random.Random" for x, state in self.generators if x.getstate() != state]
        return lost


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
