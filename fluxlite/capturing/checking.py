"""``check=100``: now and then a call runs both ways, on the same numbers, and has to come to the same result."""

from typing import Any

import numpy as np

from ..tree.contract import is_leaf
from ..tree.flat import parts_at_steps
from .interrupts import uninterrupted
from .memory import is_real_array, on_device, values_of
from .places import Place, Places, same
from .plan import MISSED
from .program import CaptureError
from .recorded import generators_of
from .search import reachable_places
from .undoing import put_state, state_of


def checked_call(step: Any, plan: Any, arrays: list, others: list, args: tuple, kwargs: dict) -> Any:
    """What ``step(*args)`` gives, after a replay of the same call has come to the same; `MISSED` if that missed."""
    places = reachable_places(step.eager, others)
    places.carry({place.which() for place in plan.carried})
    held = _Held(places, [x for x in arrays if not isinstance(x, np.generic)], generators_of(plan.calls))
    replayed = plan.run(args, kwargs)
    if replayed is MISSED:
        return MISSED
    try:
        return _checked_result(step, held, replayed, args, kwargs)
    except BaseException:  # a difference, the step's own error, Ctrl-C: all is as before the call
        with uninterrupted():
            held.put_back()
        raise


def _checked_result(step: Any, held: "_Held", replayed: Any, args: tuple, kwargs: dict) -> Any:
    after_replay = held.values()
    held.put_back()
    name = step.__qualname__
    try:
        result = step.eager(*args, **kwargs)
    except Exception as error:
        raise CaptureError(
            f"{name}: the step itself raises {type(error).__name__} here, and a replay doesn't: {error}"
        ) from error
    for place, one, two in zip(held.names, after_replay, held.values()):
        if not is_same_result(one, two, name):
            raise CaptureError(
                f"{name}: after a replay, {place} isn't what it is after the step itself. The step depends on "
                "something that the capture doesn't see, such as a file or the clock: give it as an argument"
            )
    if not is_same_result(replayed, result, name):
        raise CaptureError(
            f"{name}: a replay doesn't give what the step itself gives. The step depends on something that the capture "
            "doesn't see, such as a file or the clock: give it as an argument"
        )
    return result


class _Held:
    """The arrays, counts and generators that a step can reach, and where, so that they can be put back."""

    def __init__(self, places: Places, arrays: list[np.ndarray], generators: list) -> None:
        found: list[Place] = [place for place in places.arrays if is_real_array(place.value)]
        met = {place.which() for place in found}
        self._places = [*found, *[place for place in places.carried if place.which() not in met]]
        self._arrays = [place.value for place in found] + arrays
        self.names = [str(place) for place in (*self._places, *found)] + ["an argument"] * len(arrays)
        self._memories = [leaf.memory for leaf, _ in places.leaves]
        self._generators = generators  # others may be another thread's, which goes on drawing
        self.names += ["an optimizer's count"] * len(self._memories) + ["a generator"] * len(self._generators)
        self._before = self.values()

    def values(self) -> list:
        now = [_copy(place.now()) for place in self._places]
        counts = [_counts(memory) for memory in self._memories]
        states = [state_of(generator) for generator in self._generators]
        return [*now, *map(_copy, self._arrays), *counts, *states]

    def put_back(self) -> None:
        for place in self._places:  # the step may have assigned another array
            place.assign(place.value)
        before = iter(self._before[len(self._places) :])
        for x in self._arrays:
            values = next(before)
            if values_of(x).tobytes() != values.tobytes():  # also where only the sign of a zero is another
                values_of(x)[...] = values
        for memory in self._memories:
            _put_counts(memory, next(before))
        for generator in self._generators:
            put_state(generator, next(before))


def _copy(x: Any) -> Any:
    """What's in an array now, or in a tuple with some."""
    if is_real_array(x):
        return values_of(x).copy()
    if isinstance(x, tuple):
        return tuple(map(_copy, x))
    return x


def _counts(memory: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for name, value in memory.items():
        if type(value) is dict:
            found[name] = _counts(value)
        elif not is_real_array(value):
            found[name] = value
    return found


def _put_counts(memory: dict[str, Any], counts: dict[str, Any]) -> None:
    for name, value in counts.items():
        if type(value) is dict:
            _put_counts(memory[name], value)
        else:
            memory[name] = value


def is_same_result(x: Any, y: Any, step: str) -> bool:
    """Whether `x`, a replay's, is `y`, what the step itself gives. Raises `CaptureError` if there's no telling."""
    if hasattr(type(y), "__primitive__"):  # a replay gives the plain array
        y = y.data
    if type(x) is not type(y):
        return False
    if on_device(x):
        return _have_same_bits(values_of(x), values_of(y))
    if isinstance(x, (np.ndarray, np.generic)):
        return _have_same_bits(x, y)
    if same(x, y):
        return True
    if is_leaf(x) and is_leaf(y):
        return _is_equal(x, y, step)
    parts, others = list(parts_at_steps(x)), list(parts_at_steps(y))
    if [at for at, _ in parts] != [at for at, _ in others]:
        return False
    return all(is_same_result(one, two, step) for (_, one), (_, two) in zip(parts, others))


def _have_same_bits(x: Any, y: Any) -> bool:
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def _is_equal(x: Any, y: Any, step: str) -> bool:
    """Whether two things without parts are equal. An object that compares itself only with itself can't tell."""
    compares: Any = type(x).__eq__
    if compares is object.__eq__:
        raise CaptureError(
            f"{step}: check= can't compare a {type(x).__name__}, which the step returns, with another. @functor above "
            "the class says what's in it; or return that"
        )
    if isinstance(x, (float, complex)):
        return False  # `same` has looked at their bits
    return bool(x == y)
