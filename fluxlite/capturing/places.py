"""The places that a step can reach, with what was there before the capture.

While a step is captured, a `CapturedArray` stands in each place that holds an array; afterwards the array comes back.
Every other place is guarded: if it holds something else at a later call, that call records the step again.
``search.py`` finds the places.

If the step assigns another array to a place, as in ``o.h = np.tanh(o.h + x)``, the place gets a new array, and the one
that was there keeps its values for the program that has it. From the next recorded run on, such a place is *carried*:
what stands there is an input, as an argument is, and each replay assigns a new array at its end. So that step runs like
this, where `w` is changed in place:

==== ========================= =========================== ==========================================================
call `w`                       `o.h`                       afterwards
==== ========================= =========================== ==========================================================
1st  found, used where it is   found, used where it is     `o.h` has been assigned to: a `Rebinding`, newly rebound
2nd  the same                  carried: an input           it did otherwise than the 1st, which found `o.h` outside
3rd  the same                  carried                     it did what the 2nd did: from notes to a replay
4th  changed in place          copied in, a new one put    a replay
==== ========================= =========================== ==========================================================
"""

import contextlib
import contextvars
import functools
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..devices.seeds import seeding
from ..optim.update import Leaf, OptimiserRule
from ..words import in_words
from .interrupts import uninterrupted
from .memory import are_one, on_device, own_copy, root_of, values_of
from .program import CaptureError, Program, this_run
from .recorded import CapturedArray, CapturedGenerator, wrap
from .results import Part, structure_of
from .terms import bits_of, same_keys, terms_of

GONE = object()  # nothing is there
ANYTHING = object()  # whatever is there, it's looked at as an input


class Place(NamedTuple):
    """Where a step finds something: an item of a list or of an object's ``__dict__``, or an attribute."""

    owner: Any
    key: Any  # the item's, or the attribute's name
    is_item: bool
    value: Any  # what was there before the capture
    of: type | None = None  # the class whose ``__dict__`` the owner is: that can only be read

    def which(self) -> tuple[int, Any]:
        """Equal for two that are the same place."""
        return id(self.owner if self.of is None else self.of), self.key

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


class Rebinding(NamedTuple):
    """What a step assigns to a place: a structure, and the arrays in its slots, as in `Results`."""

    place: Place
    structure: Part
    arrays: list[np.ndarray]
    are_numbers: list[bool]


class Container(NamedTuple):
    """A list, dict, deque, set or ``__dict__``, and the things in it before the capture."""

    box: Any
    keys: list | None  # of a dict
    values: list
    of: Any = None  # the object whose ``__dict__`` it is, but not an argument, which a plan holds weakly
    class_name: str = ""  # of that object, also of an argument

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

    def numbers_at(self, carried: set[tuple[int, Any]]) -> list[Place]:
        """The places in it that hold numbers of NumPy's, and are among those that are `carried`."""
        found = [Place(self.box, key, True, value) for key, value in self.before().items()]
        return [place for place in found if isinstance(place.value, np.generic) and place.which() in carried]

    def words_for(self, key: Any) -> str:
        """What a message calls the thing under this key."""
        if self.class_name:
            return f"{self.class_name}.{key}"
        if self.keys is None and len(self.box) != len(self.values):
            return f"the length of a {type(self.box).__name__}"
        return f"[{key!r}] of a {type(self.box).__name__}"


def same_contents(box: Any, keys: list | None, values: list) -> bool:
    """Whether a container still holds the same things, under the same keys."""
    if len(box) != len(values):
        return False
    if keys is None:
        return all(map(same, box, values))
    return same_keys(box, keys) and all(map(same, box.values(), values))


def same(x: Any, y: Any) -> bool:
    """Whether a replay may go on with `y` where there's `x` now: one object, or equal numbers or texts."""
    if x is y or y is ANYTHING:
        return True
    if type(x) is not type(y) or type(x) not in _BY_VALUE:
        return False
    if type(x) is tuple:
        return len(x) == len(y) and all(map(same, x, y))
    if type(x) in (float, complex):
        return bits_of(x) == bits_of(y)
    if type(x) in (slice, range):
        return terms_of(x) == terms_of(y)
    return x == y


_BY_VALUE = {int, float, str, bytes, bool, complex, tuple, np.str_, np.bytes_, np.dtype, range, slice}


class Places:
    """All places that a step can reach. `Search` fills the lists."""

    def __init__(self) -> None:
        self.arrays: list[Place] = []  # those that hold arrays, generators, or a tuple with some
        self.values: list[Place] = []  # variables and attributes with anything else
        self.containers: list[Container] = []
        self.variables: list[tuple[contextvars.ContextVar, Any]] = []
        self.leaves: list[tuple[Leaf, OptimiserRule]] = []  # an optimizer's, and the rule that each had
        self.rules: list[tuple[OptimiserRule, OptimiserRule]] = []  # those of your classes, and copies of them
        self.seeding = seeding()  # the latest `fluxlite.seed` before the step
        self.classes: list[tuple[Any, type]] = []  # objects, and of which class they were
        self.absent: list[tuple[dict, str]] = []  # variables and names that aren't there, such as a builtin's
        self.sizes: list[tuple[Any, int]] = []  # of classes and modules: how many names they have
        self.lengths: list[tuple[dict, int]] = []  # of an optimizer's memory: how many things it has
        self.bytes: list[tuple[Any, bytes]] = []  # bytearrays and their kin, and what was in them
        self.generators: list[tuple[random.Random, Any]] = []  # of Python's, and their states
        self.found: dict[int, Any] = {}  # by id: all objects that it can reach
        self.asks_for_identity = False  # whether code in it asks `is` of anything but a constant
        self.carried: list[Place] = []  # those of `arrays` whose arrays are inputs, as earlier runs have rebound them
        self.rebindings: list[Rebinding] = []  # what the step has assigned to places of `arrays`
        self.first_numbers: list[Place] = []  # others that the step has assigned a number of NumPy's to
        self.are_back = False  # the arrays, after the step
        self._stand_ins: list = []  # for each of `arrays`

    def carry(self, carried: set[tuple[int, Any]]) -> None:
        """The places that earlier runs have given new arrays: those that are found again."""
        values = [place for place in self.values if place.which() in carried and isinstance(place.value, np.generic)]
        taken = set(map(id, values))
        self.values = [place for place in self.values if id(place) not in taken]
        items = [place for container in self.containers for place in container.numbers_at(carried)]
        self.arrays += [*values, *items]
        self.carried = [place for place in self.arrays if place.which() in carried]

    def put_stand_ins(self, program: Program, as_input: Callable[[Any], Any]) -> None:
        """From here on, the step finds a `CapturedArray` in place of each array; one array's is the same everywhere.

        What's at a place that's carried is an input: ``as_input(x)`` gives what stands in for it.
        """
        carried = {place.which() for place in self.carried}
        made: dict[int, Any] = {}
        for place in self.arrays:
            if place.which() in carried:
                stand_in = as_input(place.value)
            else:
                if id(place.value) not in made:
                    made[id(place.value)] = _stand_in(place.value, program)
                stand_in = made[id(place.value)]
            self._stand_ins.append(stand_in)
            place.assign(stand_in)

    def put_back(self, program: Program, given: list) -> list[str]:
        """Put the arrays back, or what the step has assigned. What couldn't be kept, in words.

        `given` are the program's inputs as they were given. Ctrl-C waits until all of it is back.
        """
        this_run.is_over = True
        try:
            with uninterrupted():
                lost = self._put_back(program, given)
                self.are_back = True
                return lost
        finally:
            this_run.is_over = False
            self._stand_ins.clear()

    def ids_outside(self) -> set[int]:
        """The ids of the arrays that aren't inputs."""
        carried = {place.which() for place in self.carried}
        return {id(place.value) for place in self.arrays if place.which() not in carried}

    def put_back_arrays(self) -> None:
        """After a refusal, each array is in its place again, whatever one of the places raises."""
        with contextlib.ExitStack() as each:
            for place in self.arrays:
                each.callback(place.assign, place.value)

    def put_back_attributes(self) -> None:
        """After a refusal, objects have their attributes again, and optimizers their numbers."""
        for leaf, rule in self.leaves:
            leaf.rule = rule
        for container in self.containers:
            box = container.box
            if not container.class_name or type(box) is not dict:
                continue
            if not same_contents(box, container.keys, container.values):
                box.clear()
                box.update(container.before())

    # -- what's where the arrays were, after the step ------------------------------------------------------------------

    def _put_back(self, program: Program, given: list) -> list[str]:
        stands_for = {id(x): place.value for x, place in zip(self._stand_ins, self.arrays)}
        kept = Assigned(program, given, self.found, stands_for)
        assigned = list(map(_now_or, self.arrays, self._stand_ins))
        lengths_differ = {id(x.box) for x in self.containers if x.keys is None and len(x.box) != len(x.values)}
        try:
            self._take_down_stand_ins(assigned, lengths_differ, kept)
            lost = self._rebind(assigned, lengths_differ, kept)
        finally:  # even if that's refused, no stand-in stays anywhere
            with contextlib.ExitStack() as each:
                new = self._keep_in_values(kept, each)
                new += self._keep_in_containers(kept, each)
                new += self._keep_under_new_names(kept, each)
        if kept.refusal:
            raise CaptureError(kept.refusal)
        return [*lost, *new, *self._changed_elsewhere()]

    def _take_down_stand_ins(self, assigned: list[Any], lengths_differ: set[int], kept: "Assigned") -> None:
        """Each array is in its place again, whatever one of the places raises.

        What the step has deleted stays so. In a list that has another length now, nothing is where it was: what's there
        stays, without stand-ins.
        """
        with contextlib.ExitStack() as each:
            for place, now in zip(self.arrays, assigned):
                if now is GONE:
                    continue
                if id(place.owner) in lengths_differ:
                    each.callback(place.assign, kept.plain(now))
                else:
                    each.callback(place.assign, place.value)

    def _rebind(self, assigned: list[Any], lengths_differ: set[int], kept: "Assigned") -> list[str]:
        """Places that the step has given another array have that one now; what was there before is as it was."""
        lost = []
        for place, stand_in, now in zip(self.arrays, self._stand_ins, assigned):
            if id(place.owner) in lengths_differ:
                lost.append(f"the length of a {type(place.owner).__name__}")
            elif now is GONE:
                kept.restore_if_refused(place)
                lost.append(str(place))
            elif now is not place.value and not _is_what_was_there(now, stand_in):
                _check_is_alike(now, place)
                self.rebindings.append(kept.rebind(place, now))
        return lost

    # -- what's where there was no array -------------------------------------------------------------------------------

    def _keep_in_values(self, kept: "Assigned", each: contextlib.ExitStack) -> list[str]:
        """A variable or an attribute gets its first array: from the next run on, there is one."""
        lost = []
        new = [Place(names, name, True, GONE) for names, name in self.absent]
        for place in [*self.values, *new]:
            now = place.now()
            if same(now, place.value):
                continue
            plain = kept.plain(now)
            if plain is not now:
                each.callback(place.assign, plain)
            self._note_number(place, plain)
            lost.append(str(place))
        return lost

    def _keep_in_containers(self, kept: "Assigned", each: contextlib.ExitStack) -> list[str]:
        """The same for what's in a list, a dict or another container."""
        lost = []
        rebound = {rebinding.place.which() for rebinding in self.rebindings}
        for container in self.containers:
            before, now = container.before(), container.now()
            for key, value in now.items():
                if (id(container.box), key) in rebound:
                    continue
                plain = kept.plain(value)
                place = Place(container.box, key, True, before.get(key, GONE))
                if plain is not value and isinstance(container.box, set):
                    each.callback(container.box.add, plain)
                    each.callback(container.box.discard, value)
                elif plain is not value and hasattr(container.box, "__setitem__"):  # not a view of a dict
                    each.callback(place.assign, plain)
                if key not in before or not same(value, before[key]):
                    self._note_number(place, plain)
                    lost.append(container.words_for(key))
            lost += [container.words_for(key) for key in before if key not in now]
        return lost

    def _keep_under_new_names(self, kept: "Assigned", each: contextlib.ExitStack) -> list[str]:
        """A class or a module gets a further name for an array: from the next run on, that's a place."""
        lost = []
        for owner, size in self.sizes:
            if len(vars(owner)) == size:
                continue
            for name, value in list(vars(owner).items()):
                plain = kept.plain(value)
                if plain is not value:
                    kept.delete_if_refused(owner, name)
                    each.callback(setattr, owner, name, plain)
                    lost.append(f"{owner.__name__}.{name}")
        return lost

    def _note_number(self, place: Place, now: Any) -> None:
        """Where an array stands, the next run sees by itself whether it's replaced each time: a number always is."""
        if isinstance(now, np.generic):
            self.first_numbers.append(place)

    def _changed_elsewhere(self) -> list[str]:
        """What has changed where no array can be kept."""
        lost = []
        for variable, value in self.variables:
            if not same(variable.get(GONE), value):
                lost.append(f"the context variable {variable.name}")
        lost += [f"a {type(x).__name__}" for x, before in self.bytes if bytes(x) != before]
        if any(leaf.rule is not rule for leaf, rule in self.leaves):
            lost.append("an optimizer's numbers (fl.adjust: call it between the steps)")
        if seeding() is not self.seeding:
            lost.append("where random numbers begin (fl.seed: call it between the steps)")
        lost += ["the state of a random.Random" for x, state in self.generators if x.getstate() != state]
        return lost


class Assigned:
    """What a step has assigned, as it's kept after the run: each array that the step has made, as one copy of it."""

    def __init__(self, program: Program, given: list, found: dict[int, Any], stands_for: dict[int, Any]) -> None:
        self._program = program
        self._given = given
        self._found = found
        self._stands_for = stands_for  # by id of a stand-in
        self._copies: dict[str, Any] = {}
        self._kept: dict[str, np.ndarray] = {}  # the values of each array that's been copied
        self.refusal = ""  # what can't be kept

    def array(self, x: CapturedArray) -> Any:
        """What stands for `x` after the run: the very array, if it came from outside, or a copy."""
        for given, copy in zip(self._given, self._program.inputs):
            if are_one(x.value, copy):
                return given
        root = root_of(x.value)
        if not self._program.owns(x.value):
            return x.value
        if any(root is root_of(copy) for copy in self._program.inputs):
            self.refusal = (
                "the step keeps a part of an argument, or of an array that it replaces: it would change together with "
                "that, and a replay's wouldn't. Keep x.copy()"
            )
        key = f"{id(root)} {x.is_number} {values_of(x.value).__array_interface__}"
        if key not in self._copies:
            self._check_apart(x)
            self._copies[key] = own_copy(x.value, x.is_number)
            self._kept[key] = values_of(x.value)
        return self._copies[key]

    def _check_apart(self, x: CapturedArray) -> None:
        """What's kept twice in different ways, as an array and a part of it, would be two arrays after a replay."""
        if any(np.shares_memory(values_of(x.value), kept) for kept in self._kept.values()):
            self.refusal = (
                "the step keeps an array and a part of it, or two parts that overlap: they'd change together, and a "
                "replay's wouldn't. Keep x.copy()"
            )

    def plain(self, x: Any) -> Any:
        """`x` without stand-ins."""
        if id(x) in self._stands_for:
            return self._stands_for[id(x)]
        if isinstance(x, CapturedArray):
            return self.array(x)
        if isinstance(x, CapturedGenerator):
            return x.generator
        if type(x) is tuple:
            parts = tuple(map(self.plain, x))
            if any(part is not before for part, before in zip(parts, x)):
                return parts
        return x

    def restore_if_refused(self, place: Place) -> None:
        """If the run is refused, what was at the place comes back."""
        self._program.undoing.later(("place", place.which()), functools.partial(place.assign, place.value))

    def delete_if_refused(self, owner: Any, name: str) -> None:
        """If the run is refused, the owner has no such attribute."""
        self._program.undoing.later(("name", id(owner), name), functools.partial(delattr, owner, name))

    def rebind(self, place: Place, now: Any) -> Rebinding:
        """Assign what the step has assigned, without stand-ins. If the run is refused, what was there comes back."""
        outputs: list[CapturedArray] = []
        structure = structure_of(now, outputs, self._found)
        self.restore_if_refused(place)
        place.assign(structure.filled(list(map(self.array, outputs))))
        return Rebinding(place, structure, [x.value for x in outputs], [x.is_number for x in outputs])


def _now_or(place: Place, stand_in: Any) -> Any:
    """What's at a place now; its stand-in if it can't be asked, since the owner's own method raises."""
    try:
        return place.now()
    except Exception:
        return stand_in


def _is_what_was_there(now: Any, stand_in: Any) -> bool:
    if now is stand_in:
        return True
    if not isinstance(now, CapturedArray) or not isinstance(stand_in, CapturedArray):
        return False
    return now.is_number == stand_in.is_number and are_one(now.value, stand_in.value)


def _check_is_alike(now: Any, place: Place) -> None:
    """Raise unless a replay can assign such a thing to the place: arrays in the same structure."""
    if isinstance(now, CapturedGenerator):
        raise CaptureError(
            f"the step puts another generator of random numbers at {place}, and a replay would draw from the one "
            "that is there now. Let each have a name of its own"
        )
    if isinstance(now, np.ndarray):
        raise CaptureError(
            f"the step makes an array by itself and puts it at {place}, and a replay would put this one there each "
            "time. Make it from one that the step has, as in np.zeros_like(x), or change what's there: x[...] = 0"
        )
    if not _is_alike(now, place.value):
        raise CaptureError(
            f"the step puts {in_words(getattr(now, 'value', now))} at {place}, where {in_words(place.value)} was: "
            "a replay can't. Return it instead"
        )


def _is_alike(now: Any, before: Any) -> bool:
    if isinstance(now, CapturedArray):
        is_array = isinstance(before, (np.ndarray, np.generic)) or on_device(before)
        return is_array and now.shape == before.shape and now.dtype == before.dtype
    if isinstance(now, tuple):
        return type(now) is type(before) and len(now) == len(before) and all(map(_is_alike, now, before))
    return not holds_array(before) and type(now) is type(before)


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
