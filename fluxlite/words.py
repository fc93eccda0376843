"""Errors that teach: what a function was given, in words, and where in a model something is wrong."""

import functools
import inspect
import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from .coming_from import KEYWORDS, sentence
from .helping import signature_in_words

Function = TypeVar("Function", bound=Callable[..., Any])


def many(count: int, one: str, several: str = "") -> str:
    """A number of things in words, such as ``2,000 copies``; an irregular plural is given as `several`."""
    if count == 1:
        word = one
    elif several:
        word = several
    elif one.endswith("y") and one[-2] not in "aeou":
        word = f"{one[:-1]}ies"
    else:
        word = f"{one}s"
    return f"{count:,} {word}"


# -- what a function was given -----------------------------------------------------------------------------------------


def explained(takes: str = "") -> Callable[[Function], Function]:
    """Above a public function: its errors get a note, such as ``half(x) takes a number, got x=None``.

    `takes` says what would be right, where the names of the parameters don't say it.
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def noted(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                note(error, function, args, kwargs, takes)
                raise

        own: Any = inspect.unwrap(function)
        defaults = [*(own.__defaults__ or ()), *(own.__kwdefaults__ or {}).values()]
        if any(map(callable, defaults)):
            noted.__signature__ = signature_in_words(function)  # type: ignore[attr-defined]
        return noted  # type: ignore[return-value]

    return decorate


def note(error: Exception, function: Callable, args: tuple, kwargs: Mapping[str, Any], takes: str = "") -> None:
    """Add to the `error` of a call of `function` what was called, and with what; once for each name."""
    if isinstance(error, LayerError):  # it names its place
        return
    name = _name(function, args)
    signature = inspect.signature(function)
    parameters = signature.parameters
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:  # Python says what differs; we say how it's written
        hints = [f"{key}=: {sentence(KEYWORDS[key])}" for key in kwargs if key in KEYWORDS and key not in parameters]
        call = f"{name}({', '.join(_write_parameters(parameters.values()))})"
        error.add_note("; ".join([f"write {call}", *hints]))
        return
    if any(f"{name}(" in line for line in (str(error), *getattr(error, "__notes__", ()))):
        return
    given = {key: value for key, value in given.items() if key not in ("self", "cls")}
    words = []
    for key, value in given.items():
        if parameters[key].kind is inspect.Parameter.VAR_POSITIONAL:
            words.append(", ".join(map(in_words, value)))
        else:
            words.append(f"{key}={in_words(value)}")
    got = ", ".join(words)
    if takes:
        error.add_note(f"{name}({', '.join(given)}) takes {takes}, got {got}")
    else:
        error.add_note(f"in {name}({got})")


def _name(function: Callable, args: tuple) -> str:
    """The function's name. For what makes a layer, that's the class's own, even if the method is inherited."""
    name = function.__qualname__.rpartition(">.")[2]
    owner, _, last = name.rpartition(".")
    if owner and args and last in ("__init__", "of", "__getitem__"):
        cls = args[0] if isinstance(args[0], type) else type(args[0])
        if last == "__init__":
            return cls.__name__
        return f"{cls.__name__}.{last}"
    return name


def _write_parameters(parameters: Iterable[inspect.Parameter]) -> list[str]:
    """How a call is written: each parameter's name, with ``=…`` after one that goes by its name."""
    found = []
    for p in parameters:
        if p.kind is p.VAR_KEYWORD or p.name in ("self", "cls"):
            continue
        name = str(p).split(":")[0].split("=")[0]  # with the star of *args
        if p.kind is p.KEYWORD_ONLY or p.default is not p.empty:
            name += "=…"
        found.append(name)
    return found


def in_words(x: Any) -> str:
    """`x` in a few words: a number, a shape or a short text as it is, an array's shape and type, otherwise its type."""
    kind = type(x).__name__
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return f"an array of {x.dtype}, shape {x.shape}"
    if isinstance(x, type):
        return f"the class {x.__name__}"
    parts = x if type(x) is tuple and len(x) < 5 else (x,)
    if not all(isinstance(part, (type(None), int, float, complex, str, bytes)) for part in parts):
        article = "an" if kind[:1].lower() in "aeio" else "a"
        return f"{article} {kind}"
    text = repr(x)
    if len(text) <= 40:
        return text
    return f"{text[:36]} …"


def check_callable(place: str, x: object) -> None:
    if not callable(x):
        raise TypeError(f"{place} is a function, got {in_words(x)}")


def check_whole(place: str, x: Any, least: float = 0) -> None:
    is_whole = hasattr(type(x), "__index__") and not isinstance(x, bool)
    if is_whole and hasattr(x, "shape"):
        is_whole = x.shape == () and x.dtype.kind in "iu"
    if not is_whole:
        raise TypeError(f"{place} is a whole number, got {in_words(x)}")
    if x < least:
        raise ValueError(f"{place} is at least {least}, got {in_words(x)}")


def check_number(name: str, value: object, below: float = math.inf) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{name} is a number, got {in_words(value)}")
    if not 0 <= value < below:
        limit = "finite" if below == math.inf else f"less than {below}"
        raise ValueError(f"{name} is at least 0 and {limit}, got {value}")


def check_bool(place: str, x: object) -> None:
    is_one = isinstance(x, int) or type(x).__name__ in ("bool", "bool_")
    if not is_one or getattr(x, "shape", None):
        raise TypeError(f"{place} is True or False, got {in_words(x)}")


# -- errors that name the place in a model -----------------------------------------------------------------------------


class LayerError(Exception):
    """Something went wrong at `path` in a model; each layer around it puts its own step in front."""

    _between = ": "

    def __init__(self, path: tuple, what: str):
        super().__init__(path, what)
        self.path = path
        self.what = what

    def __str__(self) -> str:
        if not self.path:
            return self.what
        return f"{self.path}{self._between}{self.what}"

    def within(self, *steps: Hashable) -> "LayerError":
        """The same error, seen from one level further out."""
        return type(self)(type(self.path)(steps) + self.path, self.what)


class DeviceError(LayerError, TypeError):
    """Two arrays are on different devices."""

    _between = " "


class ShapeError(LayerError, ValueError):
    """An input doesn't fit a layer."""


class InputError(LayerError, TypeError):
    """An input isn't an array of floating-point numbers."""


class ClosedError(LayerError, RuntimeError):
    """An array of a layer is left over from a gradient call that has ended."""

    _between = " "


def devices_differ_error(path: tuple, where: Any, here: Any) -> DeviceError:
    """The error for the layer's array at `path`, which is on the device `where`, while the input is `here`."""
    if where.backend == "CPU":
        to_a_gpu = f"model = {mover(here)}(model)"
    else:
        to_a_gpu = f"x = {mover(where)}(x)"
    return DeviceError(path, f"is on {where}, the input is on {here}; move one of them: {to_a_gpu}")


def mover(device: Any) -> str:
    """What a program writes to move an array to `device`: ``gpu`` for a first card, others by their number."""
    if device.backend == "CPU":
        return "cpu"
    if device.index == 0:
        return "gpu"
    return f"get_device({device.backend!r}, {device.index})"
