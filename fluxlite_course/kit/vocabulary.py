"""What all lessons' checks ask: is it there, is it the right kind, shape and place, and is it right?

A check says what's wanted, and what learners get instead: its slips, each with the sentence that explains it. The first
one that fits is the reply. `expect` compares numbers, and `refuse` asks questions.
"""

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any

import numpy as np

import fluxlite as fl

from .exercises import NotDone, NotRight, brief, words_of

Slips = Mapping[str, Any]
_MOST_ELEMENTS = 100_000  # a generator may never end


def on_cpu(x: Any) -> bool:
    """Whether `x` is an array on the CPU."""
    return _device(x) == fl.get_device("CPU")


def on_gpu(x: Any) -> bool:
    """Whether `x` is an array on a GPU."""
    return hasattr(x, "dtype") and not on_cpu(x) and _device(x) is not None


def _device(x: Any) -> Any:
    """Where `x` is. None if that can't be said: it's in several places, or an object that only looks like an array."""
    try:
        return fl.device_of(x)
    except Exception:
        return None


def same(got: Any, wanted: Any, rtol: float = 1e-5, atol: float = 1e-5) -> bool:
    """Whether both are the same numbers in the same shape, wherever they are. Never raises.

    >>> same(1.0, np.float32(1)), same(np.ones(2), np.ones((1, 2))), same(None, 1)
    (True, False, False)
    >>> same(np.array(1 + 2j), 1), same(np.array("1"), 1)  # NumPy would make both of them 1
    (False, False)
    """
    try:
        got, wanted = (np.asarray(fl.cpu(x)) for x in (got, wanted))
        if not {got.dtype.kind, wanted.dtype.kind} <= set("biufO"):
            return False
        got, wanted = got.astype(np.float64), wanted.astype(np.float64)
    except Exception:  # an object of the learner's own may raise anything
        return False
    return got.shape == wanted.shape and np.allclose(got, wanted, rtol, atol)


def normal(seed: int | None, *shapes: tuple[int, ...]) -> Any:
    """Normally distributed float32 numbers, an array for each shape. Without a seed, they're never the same."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def digits(x: Any) -> str:
    """The first numbers of an array."""
    return np.array2string(np.asarray(fl.cpu(x)).ravel()[:4], precision=3)


def wrong_if(made: Any, words: str, yours: Any = None, expected: Any = None, look_at: str | None = None) -> None:
    """Raise `NotRight` with these words if a slip was made."""
    if made:
        raise NotRight(words, yours, expected, look_at)


def refuse(slips: Slips, yours: Any = None, expected: Any = None) -> None:
    """Raise `NotRight` with the words of the first slip that's true.

    >>> refuse({"that's too small": False, "that's too large": True}, 3)
    Traceback (most recent call last):
    fluxlite_course.kit.exercises.NotRight: that's too large
    """
    for words, made in slips.items():
        wrong_if(made, words, yours, expected)


def call(f: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
    """What a learner's function returns, and the receipt of this call."""
    with fl.receipt() as r:
        return f(*args, **kwargs), r


def must_return(got: Any, name: str, gives: Any = None) -> Any:
    """`got`, which the learner's function `name` returned. Raises `NotRight` for None; `gives` says what's expected."""
    wrong_if(got is None, f"{name} returned None", None, gives)
    return got


def number(got: Any, what: str) -> float:
    """A learner's number, `what`. Raises `NotRight` for text, and for what has no single number in it.

    >>> number(np.ones((1, 1)), "x"), number(np.float32(2), "x")
    (1.0, 2.0)
    """
    found = fl.cpu(got) if on_gpu(got) else got
    if hasattr(found, "dtype") and getattr(found, "size", 0) == 1:
        found = found.item()
    if isinstance(found, (str, bytes)):
        raise NotRight(f"{what} is text; write a number, without quotes", brief(found), "a number")
    if isinstance(found, tuple) and len(found) == 1:
        raise NotRight(f"{what} is a tuple: the comma behind the number makes one", brief(found), "a number")
    if isinstance(found, bool):
        raise NotRight(f"{what} is a truth value", brief(found), "a number")
    try:
        return float(found)
    except (TypeError, ValueError, OverflowError, AttributeError):
        raise NotRight(f"{what} isn't a number", brief(got), "a number") from None


def function(got: Any, name: str) -> Callable[..., Any]:
    """A learner's function `name`. Raises `NotRight` for what can't be called, such as the result of calling it."""
    if callable(got):
        return got
    raise NotRight(f"{name} isn't a function: give the check its name alone", brief(got), f"the function {name}")


def listed(got: Any) -> Any:
    """A list of what a list, a tuple, an array or a generator holds, in order. None, if `got` is nothing of the kind.

    >>> listed((7, 6)), listed(np.array([7, 6])) == [7, 6], listed(n for n in range(2)), listed("76"), listed(7)
    ([7, 6], True, [0, 1], None, None)
    """
    if isinstance(got, (str, bytes, Mapping, Set)):
        return None
    try:
        elements = iter(got)
    except TypeError:
        return None
    return list(itertools.islice(elements, _MOST_ELEMENTS))


def is_number(x: Any) -> bool:
    """Whether `x` is a number of Python or NumPy. A truth value isn't."""
    return isinstance(x, (int, float, np.integer, np.floating)) and not isinstance(x, bool)


def expect(
    got: Any, wanted: Any, otherwise: str = "the values are wrong", slips: Slips | None = None, *, name: str = "",
    gives: Any = None, shape: str = "the result has the wrong shape", where: str = "", yours: Any = None,
    expected: Any = None, show: Callable[[Any], Any] = digits, before: str = "", rtol: float = 1e-5, atol: float = 1e-5,
) -> None:  # fmt: skip
    """Raise `NotRight` unless `got` is `wanted`, in the same shape.

    `name` is the function that returned it, and `gives` what it should return instead of None. `shape` has the words
    for a wrong shape, and `where` those for a result that isn't on the GPU any more; without them it may be anywhere.
    `otherwise` has those for wrong values that no slip explains; `before` comes before these and each slip's. `show`
    writes the values, unless `yours` and `expected` do.

    >>> expect(-1.0, 1.0, slips={"the sign is wrong": -1.0, "the ½ is missing": 2.0})
    Traceback (most recent call last):
    fluxlite_course.kit.exercises.NotRight: the sign is wrong
    """
    if name:
        must_return(got, name, gives)
    is_other = np.ndim(wanted) > 0 and getattr(got, "shape", None) != wanted.shape
    found = f"shape {got.shape}" if hasattr(got, "shape") else brief(got)
    wrong_if(is_other, shape, found, f"shape {np.shape(wanted)}")
    if where and not on_gpu(got):
        raise NotRight(where, "an array on the CPU" if on_cpu(got) else brief(got), "an array on the GPU")
    if same(got, wanted, rtol, atol):
        return
    fits = {before + words: same(got, slip, rtol, atol) for words, slip in (slips or {}).items()}
    facts = [_shown(value, show) if text is None else text for value, text in ((got, yours), (wanted, expected))]
    if str(facts[0]) == str(facts[1]):
        facts = _where_they_differ(got, wanted)
    refuse({**fits, before + otherwise: True}, *facts)


def _shown(value: Any, show: Callable[[Any], Any]) -> Any:
    """What `show` writes of a value; of one that isn't ours, such as another library's tensor, what it is."""
    try:
        return show(value)
    except Exception:
        return brief(value)


def _where_they_differ(got: Any, wanted: Any) -> list[str]:
    """The two elements that differ most, with all their digits: rounded, the arrays look the same."""
    pair = [np.asarray(fl.cpu(x), np.float64) for x in (got, wanted)]
    if pair[0].shape != pair[1].shape:
        return [f"shape {x.shape}" for x in pair]
    place = np.unravel_index(np.argmax(np.nan_to_num(np.abs(pair[0] - pair[1]), nan=np.inf)), pair[0].shape)
    at = f" at {list(map(int, place))}" if place else ""
    return [f"{x[place]:.9g}{at}" for x in pair]


@contextlib.contextmanager
def explaining(meanings: Mapping[str, str], expected: Any = None) -> Iterator[None]:
    """If an error's words contain a key of `meanings`, raise `NotRight` with the meaning instead."""
    try:
        yield
    except (NotRight, NotDone):
        raise
    except Exception as error:
        meaning = next((meaning for words, meaning in meanings.items() if words in words_of(error)), None)
        if meaning is None:
            raise
        raise NotRight(meaning, f"the error says: {error}", expected) from None
