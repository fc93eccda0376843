"""What looks at a training from time to time, and may stop it: Flux's four, each a function made from a function.

`train` calls its callbacks with the history after each epoch; the same functions serve in a loop of one's own,
``if stop(...): break``.
"""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments import check_callable, in_words
from ..devices.base import CPU
from ..errors import check_number
from ..tree.ties import is_array


def throttle(f: Callable, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> Callable:
    """A function that calls `f`, but not again before `seconds` have passed since `f` was done (Flux: ``throttle``).

    In between, it gives what `f` gave last, as in Flux. The seconds are real ones: you are not simulated;
    `clock` is another function to read them from. Flux's ``trailing=true``, a late call by a task of its own, is not
    there.

    >>> hour = iter([9.0, 9.5, 11.0, 11.0])
    >>> say = throttle(print, 1.0, clock=lambda: next(hour))
    >>> say("nine"); say("half past nine"); say("eleven")
    nine
    eleven
    """
    _check_function("throttle(f, seconds)", f)
    last: dict[str, Any] = {"done": None, "result": None}

    def throttled(*args: Any, **kwargs: Any) -> Any:
        if last["done"] is None or clock() - last["done"] >= seconds:
            last["result"] = f(*args, **kwargs)
            last["done"] = clock()
        return last["result"]

    throttled.__name__ = getattr(f, "__name__", "throttled")
    return throttled


class Patience:
    """What `patience`, `early_stopping` and `plateau` make: a predicate, and how often in a row it was true.

    `reason` is what a history says of a training that this stopped. `memory` is all that changes from call to call:
    numbers, which `train` puts into its checkpoint, so that a resumed training stops where the whole one would.
    """

    def __init__(self, predicate: Callable, wait: int, reason: str, memory: dict[str, Any]) -> None:
        if not isinstance(wait, (int, np.integer)) or isinstance(wait, bool) or wait < 1:
            raise ValueError(f"{reason} waits for a whole number of times, at least 1, got {in_words(wait)}")
        self.predicate, self.wait, self.reason = predicate, wait, reason
        self.memory = {"count": 0, **memory}

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        count = self.memory["count"] + 1 if self.predicate(self.memory, *args, **kwargs) else 0
        self.memory["count"] = count
        return count >= self.wait

    def __repr__(self) -> str:
        return f"<{self.reason}: {self.memory['count']} of {self.wait}>"


def patience(predicate: Callable, wait: int) -> Patience:
    """A function that is true once `predicate` was true `wait` times in a row (Flux: ``patience``).

    It hands its arguments on to `predicate`. Raises `ValueError` unless `wait` is a whole number from 1 on.

    >>> hot = patience(lambda degrees: degrees > 80, 2)
    >>> [hot(degrees) for degrees in (85, 70, 85, 90, 95)]
    [False, False, False, True, True]
    """
    _check_function("patience(predicate, wait)", predicate)
    return Patience(lambda memory, *args, **kwargs: predicate(*args, **kwargs), wait, "patience", {})


def early_stopping(
    f: Any, delay: int | None = None, *, distance: Callable = operator.sub, init_score: Any = None, min_dist: float = 0
) -> Patience:
    """A function that is true once ``f(...)`` missed its best `delay` times in a row (Flux: ``early_stopping``).

    Smaller is better: a score counts against it unless ``distance(best, score) > min_dist``, so the same score again
    does. One that is no number does too, and is never the best. For a score where larger is better write
    ``distance=lambda best, score: score - best``. ``early_stopping(delay)`` takes the mean loss of the last epoch.

    The first score is compared with `init_score`; without it, the first is the best so far. Flux's code doesn't count a
    tie, though its documentation does, and before 0.16.8 it began with 0, which no loss is better than.

    >>> stop = early_stopping(lambda loss: loss, 2)
    >>> [stop(loss) for loss in (2.0, 1.0, 1.5, 0.9, 1.2, 1.1)]
    [False, False, False, False, False, True]
    """
    f, delay = _score("early_stopping(f, delay)", f, delay, init_score, distance, min_dist)

    def is_worse(memory: dict, *args: Any, **kwargs: Any) -> bool:
        score, best = _plain(f(*args, **kwargs)), memory["best"]
        if best is None and score != score:
            return True
        gained = math.inf if best is None else distance(best, score)
        if gained >= 0:
            memory["best"] = score
        return not gained > min_dist  # a score that is no number is no gain

    return Patience(is_worse, delay, "early stopping", {"best": init_score})


def plateau(
    f: Any,
    width: int | None = None,
    *,
    distance: Callable = operator.sub,
    init_score: Any = None,
    min_dist: float = 1e-6,
) -> Patience:
    """A function that is true once ``f(...)`` stayed as it was `width` times in a row (Flux: ``plateau``).

    It stayed if ``abs(distance(last, score)) <= min_dist``, as Flux's documentation says; its code has ``<``.
    ``plateau(width)`` takes the mean loss of the last epoch. The first is compared with `init_score`, if there is one.

    >>> stop = plateau(lambda loss: loss, 2, min_dist=0.01)
    >>> [stop(loss) for loss in (0.5, 0.4, 0.399, 0.398)]
    [False, False, False, True]
    """
    f, width = _score("plateau(f, width)", f, width, init_score, distance, min_dist)

    def is_level(memory: dict, *args: Any, **kwargs: Any) -> bool:
        last, memory["last"] = memory["last"], _plain(f(*args, **kwargs))
        return last is not None and bool(abs(distance(last, memory["last"])) <= min_dist)

    return Patience(is_level, width, "plateau", {"last": init_score})


def _score(usage: str, f: Any, wait: Any, first: Any, distance: Any, min_dist: Any) -> tuple[Callable, Any]:
    """The function and the number of times, after a look at all that was given."""
    check_callable("distance=…", distance)
    check_number("min_dist", min_dist)
    if getattr(first, "shape", ()):
        raise TypeError(f"{usage}: init_score is one number, got {in_words(first)}")
    if wait is None and not callable(f):
        return _epoch_loss, f
    _check_function(usage, f)
    return f, wait


def _plain(score: Any) -> Any:
    """One number of a device is read: it is remembered, and a run may go on where there is no such device."""
    return CPU.receive(score)[()] if is_array(score) and not score.shape else score


def _epoch_loss(history: Any) -> float:
    return history.epoch_losses[-1]


def _check_function(usage: str, f: Any) -> None:
    if not callable(f):
        raise TypeError(f"{usage} takes a function first, got {type(f).__name__}")
