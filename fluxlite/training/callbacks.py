"""What looks at a training from time to time, and may stop it: Flux's four, each a function made from a function."""

import math
import operator
import time
from collections.abc import Callable
from typing import Any

from ..arrays import floats
from ..devices.base import CPU
from ..tree.ties import is_array
from ..words import check_callable, check_whole, explained


@explained()
def throttle(f: Callable, seconds: float, *, clock: Callable[[], float] = time.monotonic) -> Callable:
    """A function that calls `f`, but not again before `seconds` have passed since `f` was done (Flux: ``throttle``).

    In between, it gives what `f` gave last. The seconds are real ones, read from `clock`: you aren't simulated.
    """
    check_callable("f", f)
    done = None
    result = None

    def throttled(*args: Any, **kwargs: Any) -> Any:
        nonlocal done, result
        if done is None or clock() - done >= seconds:
            result = f(*args, **kwargs)
            done = clock()
        return result

    throttled.__name__ = getattr(f, "__name__", "throttled")
    return throttled


class Patience:
    """What the other three make: a predicate of the `memory`, which checkpoints have, and how often it was true."""

    def __init__(self, predicate: Callable, wait: Any, reason: str, **memory: Any) -> None:
        check_whole(f"how many times {reason} waits for", wait, 1)
        self.predicate = predicate
        self.wait = wait
        self.reason = reason
        self.memory = {"count": 0, **memory}

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        if self.predicate(self.memory, *args, **kwargs):
            self.memory["count"] += 1
        else:
            self.memory["count"] = 0
        return self.memory["count"] >= self.wait

    def __repr__(self) -> str:
        return f"<{self.reason}: {self.memory['count']} of {self.wait}>"


@explained()
def patience(predicate: Callable, wait: int) -> Patience:
    """A function that's true once ``predicate(…)`` was true `wait` times in a row (Flux: ``patience``)."""
    check_callable("predicate", predicate)

    def without_memory(memory: dict, *args: Any, **kwargs: Any) -> Any:
        return predicate(*args, **kwargs)

    return Patience(without_memory, wait, "patience")


@explained()
def early_stopping(
    f: Callable,
    delay: int | None = None,
    *,
    distance: Callable = operator.sub,
    init_score: Any = None,
    min_dist: float = 0,
) -> Patience:
    """A function that's true once ``f(...)`` missed its best `delay` times in a row (Flux: ``early_stopping``).

    A score misses unless ``distance(best, score) > min_dist``, so the same score again does. Where larger is better,
    write ``distance=lambda best, score: score - best``. The best begins with `init_score`, or the first score.
    ``early_stopping(delay)`` takes the mean loss of the last epoch.

    >>> stop = early_stopping(lambda loss: loss, 2)
    >>> [stop(loss) for loss in (2.0, 1.0, 1.5, 0.9, 1.2, 1.1)]
    [False, False, False, False, False, True]
    """
    f, delay = _score(f, delay)

    def is_worse(memory: dict, *args: Any, **kwargs: Any) -> bool:
        score = f(*args, **kwargs)
        best = memory["best"]
        if best is None and score != score:
            return True
        gained = math.inf
        if best is not None:
            gained = distance(best, score)
        if gained >= 0:
            memory["best"] = score
        return not gained > min_dist  # NaN is never a gain

    return Patience(is_worse, delay, "early stopping", best=init_score)


@explained()
def plateau(f: Callable, width: int | None = None, *, min_dist: float = 1e-6) -> Patience:
    """A function that's true once ``f(...)`` stayed within `min_dist` of the last `width` times (Flux: ``plateau``).

    ``plateau(width)`` takes the mean loss of the last epoch.
    """
    f, width = _score(f, width)

    def is_level(memory: dict, *args: Any, **kwargs: Any) -> bool:
        last = memory["last"]
        score = f(*args, **kwargs)
        memory["last"] = score
        return last is not None and bool(abs(last - score) <= min_dist)

    return Patience(is_level, width, "plateau", last=None)


def _score(f: Callable, wait: Any) -> tuple[Callable, Any]:
    """The function that gives a score, and how often to wait; if there's one argument, that's the latter."""
    if wait is None and not callable(f):
        return _mean_loss_of_the_last_epoch, f
    check_callable("f", f)

    def number(*args: Any, **kwargs: Any) -> Any:
        score = f(*args, **kwargs)  # read from its device: a run may go on where there is no such device
        if is_array(score) and not score.shape:
            score = CPU.receive(score)[()]
        return floats(score)  # the difference of two bytes would be a byte

    return number, wait


def _mean_loss_of_the_last_epoch(history: Any) -> float:
    return history.epoch_losses[-1]
