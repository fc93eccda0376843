"""What a learner's function does while a check runs it: whom it calls, where a model computes, what it changes.

A value can be right, and the way to it not the one that the exercise asks for. Then a check has to have seen the way.
"""

import contextlib
import inspect
import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import fluxlite as fl

from .exercises import NOT_A_LEARNERS
from .vocabulary import on_gpu, wrong_if

_MOST = 300_000  # some forty steps of lesson 03's training, in a fraction of a second


@contextlib.contextmanager
def calls_of(*functions: Callable[..., Any], in_gradients: bool = False) -> Iterator[Counter]:
    """Count the calls of these functions, by name, no matter who calls them and under which name.

    With `in_gradients`, only calls that a gradient goes through count: what's only printed doesn't.

    A function of C, such as `time.perf_counter`, counts only where the learner's own lines call it: libraries do, too.
    Watching is slow, so it ends after `_MOST` calls and returns of any functions: a long training has shown by then
    what it does.

    >>> with calls_of(fl.fmap) as calls:
    ...     another_name = fl.fmap
    ...     _ = another_name(abs, [1, 2])
    >>> calls
    Counter({'fmap': 1})
    """
    calls: Counter = Counter()
    names: dict[Any, str] = {}
    for function in functions:
        inner = inspect.unwrap(function)
        names[getattr(inner, "__code__", inner)] = function.__name__

    before, seen = sys.getprofile(), itertools.count()

    def count(frame: Any, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code in names:
            if in_gradients and not any(isinstance(x, fl.TrackedArray) for x in frame.f_locals.values()):
                return
            calls[names[frame.f_code]] += 1
        elif event == "c_call" and argument in names and not frame.f_code.co_filename.startswith(NOT_A_LEARNERS):
            calls[names[argument]] += 1
        if next(seen) > _MOST:
            sys.setprofile(before)

    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def look() -> tuple[Callable[[Any], Any], list[str], list[str]]:
    """A function for the end of a `Chain`, which changes nothing, and a list where it notes each time: GPU, or CPU?

    The second list has only the calls that a gradient goes through, in which a model learns.

    >>> where, places, _ = look()
    >>> _ = fl.Chain(fl.Dense(3, 2), where)(np.ones((4, 3), np.float32))
    >>> places
    ['CPU']
    """
    places: list[str] = []
    learning: list[str] = []

    def where(x: Any) -> Any:
        place = "GPU" if on_gpu(x) else "CPU"
        places.append(place)
        if isinstance(x, fl.TrackedArray):
            learning.append(place)
        return x

    return where, places, learning


@contextlib.contextmanager
def unchanged(name: str, **given: Any) -> Iterator[None]:
    """Raise `NotRight` if one of these arrays has changed by the end of the block, in which `name` is called."""
    before = {what: np.array(fl.cpu(array)) for what, array in given.items()}
    yield
    for what, array in given.items():
        words = f"your {name} changed the {what} that it was given. It should make a new one"
        wrong_if(not np.array_equal(fl.cpu(array), before[what]), words, f"{what} -= …, or the like", f"{what} - …")
