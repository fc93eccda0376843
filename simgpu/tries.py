"""What a function makes of large arrays without memory: NumPy is called with small ones, whose lengths tell it."""

import contextlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .layout import axes_of
from .meta import MetaArray, TooLargeError, reserve_zeros, stand_in


def arrays_in(values: Iterable[Any]) -> list[Any]:
    """The arrays among these values, and in lists and tuples of them."""
    found: list[Any] = []
    for x in values:
        if isinstance(x, np.ndarray):
            found.append(x)
        elif isinstance(x, (list, tuple)):
            found += arrays_in(x)
    return found


def are_in_memory(args: Iterable[Any], kwargs: dict[str, Any]) -> bool:
    """Whether there's no array without memory among the arguments of a call."""
    return not any([type(x) is MetaArray for x in arrays_in((*args, *kwargs.values()))])


def map_arrays(change: Callable[[Any], Any], x: Any, kind: type = np.ndarray) -> Any:
    """`x` with ``change(array)`` in place of each array in it."""
    if isinstance(x, kind):
        return change(x)
    if isinstance(x, (list, tuple)):
        parts = [map_arrays(change, part, kind) for part in x]
        if hasattr(x, "_fields"):
            return type(x)(*parts)
        return type(x)(parts)
    return x


def call_with(change: Callable[[Any], Any], function: Callable, args: Iterable[Any], kwargs: dict[str, Any]) -> Any:
    """The result of ``function(*args, **kwargs)``, with ``change(array)`` in place of each array."""
    named = {name: map_arrays(change, x) for name, x in kwargs.items()}
    with np.errstate(all="ignore"):
        return function(*[map_arrays(change, x) for x in args], **named)


class Known:
    """What small arrays have told, by the call. It's forgotten when it's too much."""

    most = 1000

    def __init__(self) -> None:
        self._found: dict[Any, Any] = {}

    def get(self, key: Any) -> Any:
        try:
            return self._found.get(key)
        except TypeError:  # something in it can't be looked up
            return None

    def add(self, key: Any, found: Any) -> None:
        if len(self._found) >= self.most:
            self._found.clear()
        with contextlib.suppress(TypeError):
            self._found[key] = found


_known = Known()


def _in_key(x: Any, few: dict[int, int]) -> Any:
    """What tells apart calls whose results have other shapes or types."""
    if isinstance(x, np.ndarray):
        return tuple([few.get(n, n) for n in x.shape]), x.dtype
    if isinstance(x, (list, tuple)):
        return type(x), *[_in_key(part, few) for part in x]
    return type(x), x


# -- The first few elements --------------------------------------------------------------------------------------------


def few_for(arrays: Iterable[Any]) -> dict[int, int]:
    """For each length of these arrays, a number of elements from 2 on."""
    lengths = {n for x in arrays for n in x.shape if n > 1}
    return {n: few for few, n in enumerate(sorted(lengths), 2)}


def cut(x: Any, few: dict[int, int]) -> np.ndarray:
    """The first few elements of `x` along each axis."""
    if type(x) is MetaArray:
        return np.zeros([few.get(n, n) for n in x.shape], x.dtype)
    return x[tuple([slice(few.get(n, n)) for n in x.shape])]


class _Result:
    """A result's shape and type."""

    def __init__(self, x: Any) -> None:
        self.shape, self.dtype = x.shape, x.dtype


def on_few(function: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Try it on the first few elements, with another number of them for each length of an axis. So the lengths in the
    result tell which ones they stand for. A function that makes other lengths needs a rule of its own."""
    if (out := kwargs.get("out")) is not None:
        if type(out) is tuple:
            return out[0]
        return out
    few = few_for(arrays_in((*args, *kwargs.values()) if kwargs else args))
    key = function, len(few), _in_key(args, few), _in_key(tuple(kwargs.items()), few) if kwargs else None
    found = _known.get(key)
    if found is None:
        try:
            made = call_with(lambda x: cut(x, few), function, args, kwargs)
        except Exception as error:
            return _in_full_after(error, few, function, args, kwargs)
        found = tuple(map(_Result, made)) if isinstance(made, tuple) else _Result(made)
        _known.add(key, found)
    whole = {i: n for n, i in few.items()}
    if type(found) is _Result:
        return reserve_zeros([whole.get(n, n) for n in found.shape], found.dtype)
    return tuple([reserve_zeros([whole.get(n, n) for n in x.shape], x.dtype) for x in found])


def _in_full_after(error: Exception, few: dict[int, int], function: Callable, args: tuple, kwargs: dict) -> Any:
    """The error that NumPy raises for the whole arrays, or what it computes, if only the first few are wrong."""
    try:
        return in_full(function, args, kwargs)
    except TooLargeError:
        for n, small in few.items():
            error.add_note(f"(Here, {small} stands for a length of {n:,}.)")
    raise error


def in_full(function: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Let NumPy compute it, or raise. Arrays without memory take none here either; the result does, for a moment."""
    if are_in_memory(args, kwargs):
        return function(*args, **kwargs)
    ours: dict[int, tuple[Any, Any]] = {}

    def in_one_place(x: Any) -> Any:
        if type(x) is not MetaArray:
            return x
        made = stand_in(x)
        ours[id(made)] = x, made
        return made

    found = call_with(in_one_place, function, args, kwargs)
    return map_arrays(lambda x: ours[id(x)][0] if id(x) in ours else reserve_zeros(x.shape, x.dtype), found)


# -- Several sizes -----------------------------------------------------------------------------------------------------

KEPT = 16  # shorter axes keep their length: it may have a meaning, such as the 3 of `np.cross`


def on_several(function: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Try it with small arrays of three sizes. If each length in the result is some times one length of an argument,
    and so much more or less, then so it is for large arrays. What depends on values is that of zeros."""
    arguments = arrays_in((*args, *kwargs.values()))
    key = function, "several", _in_key(args, {}), _in_key(tuple(kwargs.items()), {})
    found = _known.get(key)
    if found is None:
        sizes = _sizes(arguments)
        try:
            found = _agree([_try(function, args, kwargs, few) for few in sizes], sizes)
        except Exception:
            return in_full(function, args, kwargs)
        _known.add(key, found)

    def made(x: Any) -> Any:
        if x.argument is not None:
            return arguments[x.argument]
        return reserve_zeros(x.shape, x.dtype, x.axes)

    return map_arrays(made, found, _Made)


def _sizes(arguments: list[Any]) -> list[dict[int, int]]:
    """Three times: for each length, a small one. All grow alike from the first to the second time, and each by another
    number to the third. They leave the same rest as the length itself, say after a division by 2."""
    lengths = sorted({n for x in arguments if type(x) is MetaArray for n in x.shape if n > KEPT})
    unit = 16 if max([x.ndim for x in arguments]) < 4 else 2
    first = {n: n % unit + unit * (1 + i) for i, n in enumerate(lengths)}
    second = {n: few + unit for n, few in first.items()}
    third = {n: few + unit * (2 + 2**i) for i, (n, few) in enumerate(first.items())}
    return [first, second, third]


class _Made:
    """A result: an argument, by its number, or new, with this shape, type, and axes from the slowest to the fastest."""

    def __init__(self, x: Any, arguments: list[Any]) -> None:
        self.argument = next((i for i, y in enumerate(arguments) if y is x), None)
        self.shape, self.dtype, self.axes = x.shape, x.dtype, axes_of(x)


def _try(function: Callable, args: tuple, kwargs: dict[str, Any], few: dict[int, int]) -> Any:
    arguments: list[Any] = []

    def small(x: Any) -> np.ndarray:
        shape = [few.get(n, n) for n in x.shape]
        if type(x) is not MetaArray and tuple(shape) == x.shape:
            made = x.copy()
        else:
            axes = axes_of(x)
            made = np.zeros([shape[axis] for axis in axes], x.dtype).transpose(np.argsort(axes))
        arguments.append(made)
        return made

    return map_arrays(lambda x: _Made(x, arguments), call_with(small, function, args, kwargs))


def _agree(tries: list[Any], sizes: list[dict[int, int]]) -> Any:
    """What the tries have in common. Raises `ValueError` if they say nothing about other sizes."""
    first = tries[0]
    if isinstance(first, (list, tuple)):
        parts = [_agree(list(x), sizes) for x in zip(*tries, strict=True)]
        if hasattr(first, "_fields"):
            return type(first)(*parts)
        return type(first)(parts)
    if isinstance(first, _Made):
        shapes = zip(*[x.shape for x in tries], strict=True)
        first.shape = tuple([_length_behind(list(made), sizes) for made in shapes])
    elif not isinstance(first, np.generic) and not tries[0] == tries[1] == tries[2]:
        raise ValueError("a result that depends on the size")
    return first


def _length_behind(made: list[int], sizes: list[dict[int, int]]) -> int:
    """The length for which the tries made these."""
    for n in sizes[0]:
        few = [size[n] for size in sizes]
        more, unit = made[1] - made[0], few[1] - few[0]  # so it grows by more / unit
        grown, rest = divmod(more * (n - few[0]), unit)
        if more and not rest and (made[2] - made[0]) * unit == more * (few[2] - few[0]):
            return made[0] + grown
    if made[0] == made[1] == made[2]:
        return made[0]
    raise ValueError("a length that depends on several")
