"""Data is many observations: count them, pick one or several, take a part, make a batch.

An array's observations are along its first axis. A tuple, named tuple or dict holds several arrays whose observations
belong together: ``(X, Y)``. Anything else with ``len(data)`` and ``data[i]``, such as a list, is a sequence, and each
element is an observation. Arrays stay on their device. From an array on a GPU, observations are picked there, by an
index array that was copied there, never one number at a time.

The names are MLUtils.jl's: `numobs`, `getobs`, `mapobs`, `splitobs`, `shuffleobs`, `kfolds`, `batch`, `unbatch`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..arguments import check_whole, explained, in_words
from ..arrays import device_of, on_card_of, read_only_types
from ..devices.base import CPU
from ..seeds import ORDERS, next_generator
from ..tree.contract import children
from ..tree.ties import is_array
from ..tree.walks import KeyPath, steps
from .batching import batch

# -------------------------------------------------------------------------------------------------
# How many, and which
# -------------------------------------------------------------------------------------------------


@explained("data")
def numobs(data: Any) -> int:
    """How many observations `data` holds (MLUtils: ``numobs``).

    Raises `TypeError` for what has none, such as a set, a generator or a number. Raises `ValueError` if the parts of a
    tuple or dict have different numbers of observations, naming two of them.

    >>> numobs((np.zeros((5, 3)), np.zeros(5))), numobs(["a", "b"])
    (5, 2)
    """
    try:
        return _numobs(data)
    except RecursionError:
        kind = type(data).__name__
        raise RecursionError(f"numobs(data): the parts of this {kind} are nested too deep for data") from None


def _numobs(data: Any) -> int:
    first: tuple[KeyPath, int] | None = None
    for path, part in _parts(data, KeyPath()):
        count = _count(part, path)
        if first is None:
            first = path, count
        elif count != first[1]:
            raise ValueError(
                f"the parts of the data have different numbers of observations: {first[0]} has {first[1]:,}, {path} "
                f"has {count:,}. The first axis is the observation. Does one of them have another axis first (x.T)?"
            )
    if first is None:
        raise ValueError(f"there is no data in an empty {type(data).__name__}")
    return first[1]


def _parts(data: Any, path: KeyPath) -> Iterator[tuple[KeyPath, Any]]:
    """(path, part) for the arrays and sequences in a tuple or dict, or for a single one."""
    if not isinstance(data, (tuple, dict)):
        yield path, data
        return
    for step, part in steps(data, children(data)[0]):
        yield from _parts(part, path + (step,))


def _count(x: Any, path: KeyPath) -> int:
    what = f"a {type(x).__name__}{f' at {path}' if path else ''}"
    if is_array(x):
        if not x.shape:
            raise TypeError(f"an array of shape (){f' at {path}' if path else ''} holds one number and no observations")
        return x.shape[0]
    if isinstance(x, (str, bytes, np.generic, set, frozenset, type)) or not hasattr(type(x), "__getitem__"):
        advice = "Make a list of it: list(…)." if hasattr(type(x), "__iter__") else "Is it one of several arguments?"
        raise TypeError(
            f"{what} is no data: data is an array, a tuple or dict of arrays, or has len(data) and data[i]. {advice}"
        )
    if not hasattr(type(x), "__len__"):
        raise TypeError(f"{what} has no len(), and so no number of observations. Give its class a __len__.")
    return len(x)


class Places:
    """Which observations: their numbers, on the host and on each device that needed them."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make
        self._made: dict[Any, Any] = {}

    @classmethod
    def of(cls, numbers: Any) -> Places:
        """These numbers: an array of integers on any device."""
        return cls(lambda device: device.receive(numbers))

    def on(self, device: Any) -> Any:
        """The numbers as an array on this device."""
        if device not in self._made:
            self._made[device] = self._make(device)
        return self._made[device]

    def part(self, these: slice) -> Places:
        """Some of them. On a device that has the numbers already, it's a view, so they're copied there only once."""
        return Places(lambda device: self.on(device)[these])


Index = int | slice | Places


def cut(count: int, worker: int, workers: int) -> tuple[int, int]:
    """Which of `count` rows are one worker's: from the first number up to the second."""
    return worker * count // workers, (worker + 1) * count // workers


@explained("data, and which of its observations")
def getobs(data: Any, index: Any) -> Any:
    """Observation number `index` of `data`; for a slice or integers, a batch of several (MLUtils: ``getobs``).

    The result has the form of `data`. For an array it's an array: a view if `index` is a number or a slice, which can't
    be written to, except in CuPy, which has no read-only arrays. For a tuple it's a tuple, for a dict a dict. For a
    sequence it's ``data[i]``, or several put together by `batch`.

    Raises `IndexError` for a number out of range (integers on a GPU aren't checked), `TypeError` for an invalid index,
    and what `numobs` raises.

    >>> x, y = np.arange(6).reshape(3, 2), np.array([7, 8, 9])
    >>> getobs((x, y), 1)
    (array([2, 3]), np.int64(8))
    >>> getobs({"x": x, "y": y}, [0, 2])
    {'x': array([[0, 1],
           [4, 5]]), 'y': array([7, 9])}
    >>> getobs([(1.0, "cat"), (2.0, "dog")], slice(2))
    (array([1., 2.]), ['cat', 'dog'])
    """
    return pick(data, _checked(index, numobs(data)))


def _checked(index: Any, count: int) -> Index:
    if isinstance(index, slice):
        return index
    if is_array(index) and type(index) is not np.ndarray:
        if index.dtype.kind in "iu" and index.ndim == 1:
            return Places.of(index)
        index = CPU.receive(index)  # the number of True values determines the result's shape
    numbers = np.asarray(index, None if np.size(index) else np.intp)
    if numbers.dtype == bool and numbers.shape == (count,):
        numbers = np.flatnonzero(numbers)
    if numbers.dtype.kind not in "iu" or numbers.ndim > 1:
        raise TypeError(
            f"observations are chosen by a whole number, a slice, a list of numbers or {count} times True or False, "
            f"got a {type(index).__name__}{f' of {numbers.dtype}, shape {numbers.shape}' if numbers.ndim else ''}"
        )
    wrong = numbers[(numbers < -count) | (numbers >= count)]
    if wrong.size:
        raise IndexError(f"there is no observation {wrong.flat[0]}: there are {count:,}, counted from 0")
    numbers = np.where(numbers < 0, numbers + count, numbers)
    return Places.of(numbers) if numbers.ndim else int(numbers)


@functools.singledispatch
def pick(data: Any, index: Index) -> Any:
    """`getobs` without its checks: one method per kind of data."""
    if is_array(data):
        # A single gather, on the data's device. For whole rows, np.take is faster than data[...].
        with on_card_of(data):
            if isinstance(index, Places):
                return np.take(data, index.on(device_of(data)), axis=0)
            view = data[index]
            can_be = isinstance(view, np.ndarray) or type(view) in read_only_types
            if can_be and data.dtype.kind != "O":  # an object in an array is no view of it
                view.flags.writeable = False
            return view
    return batch([data[i] for i in numbers_of(index, len(data))]) if isinstance(index, (slice, Places)) else data[index]


@pick.register(tuple)
@pick.register(dict)
def _(data: Any, index: Index) -> Any:
    return _with_parts(data, lambda part: pick(part, index))


def numbers_of(index: slice | Places, count: int) -> Any:
    """The observations' numbers, as Python numbers."""
    return range(count)[index] if isinstance(index, slice) else index.on(CPU).tolist()


def _with_parts(data: Any, function: Callable[[Any], Any]) -> Any:
    """A tuple or dict like `data`, with ``function(part)`` for each part."""
    parts, rebuild = children(data)
    if isinstance(parts, dict):
        return rebuild({name: function(part) for name, part in parts.items()})
    return rebuild([function(part) for part in parts])


# -------------------------------------------------------------------------------------------------
# Mapped, split and shuffled
# -------------------------------------------------------------------------------------------------


class Observations:
    """Observations that are made on demand. Has a length, and an index works as in `getobs`."""

    data: Any

    def __getitem__(self, index: Any) -> Any:
        return getobs(self, index)


class MappedObs(Observations):
    """The result of `mapobs`."""

    def __init__(self, function: Callable[[Any], Any], data: Any) -> None:
        self.function, self.data = function, data
        self._count = numobs(data)

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", repr(self.function))
        return f"mapobs({name}, {summary(self.data)})      # {len(self):,} observations"


class ObsView(Observations):
    """Some of a sequence's observations, by number. Nothing is read until you ask for it."""

    def __init__(self, data: Any, numbers: np.ndarray) -> None:
        self.data, self.numbers = data, numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __repr__(self) -> str:
        return f"{len(self):,} of the observations of {summary(self.data)}"


@pick.register
def _(data: MappedObs, index: Index) -> Any:
    return data.function(pick(data.data, index))


@pick.register
def _(data: ObsView, index: Index) -> Any:
    if isinstance(index, int):
        return pick(data.data, int(data.numbers[index]))
    return pick(data.data, Places.of(data.numbers[index if isinstance(index, slice) else index.on(CPU)]))


def mapobs(function: Callable[[Any], Any], data: Any) -> MappedObs:
    """`data`, with `function` applied to what you take from it, when you take it (MLUtils: ``mapobs``).

    `function` gets one observation, or a whole batch: the batch is picked first, then `function` is called with it. So
    ``DataLoader(mapobs(gpu, (X, Y)), batchsize=16)`` moves batches. Raises `TypeError` if `function` isn't callable,
    and what `numobs` raises.

    >>> mapped = mapobs(lambda x: x / 10, np.arange(4))
    >>> mapped[1], mapped[2:]
    (np.float64(0.1), array([0.2, 0.3]))
    """
    if not callable(function):
        raise TypeError(f"mapobs(function, data): the function comes first, got a {type(function).__name__}")
    return MappedObs(function, data)


@functools.singledispatch
def part(data: Any, index: slice | Places) -> Any:
    """Some observations of `data`: read-only views if possible; an index array copies arrays."""
    if is_array(data):
        return pick(data, index)
    numbers = np.arange(len(data))
    return ObsView(data, numbers[index if isinstance(index, slice) else index.on(CPU)])


@part.register(tuple)
@part.register(dict)
def _(data: Any, index: slice | Places) -> Any:
    return _with_parts(data, lambda one: part(one, index))


@part.register(list)
def _(data: list, index: slice | Places) -> list:
    return [data[i] for i in numbers_of(index, len(data))]


@part.register
def _(data: MappedObs, index: slice | Places) -> Any:
    return MappedObs(data.function, part(data.data, index))


def generator(rng: Any) -> np.random.Generator:
    """The generator `rng`, or a new one with the seed `rng`; for None, the next that `fluxlite.seed` gives."""
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is not None:
        if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)):
            raise TypeError(f"rng is a np.random.Generator, a whole number as seed, or None; got {in_words(rng)}")
        check_whole("rng as a seed", rng)
    return next_generator(ORDERS) if rng is None else np.random.default_rng(rng)


@explained("data, and perhaps a generator")
def shuffleobs(data: Any, rng: Any = None) -> Any:
    """`data` in a random order, drawn once with the generator or seed `rng` (MLUtils: ``shuffleobs``).

    Arrays are copied on their device. A sequence's observations are read only when you ask for them. A
    ``DataLoader(data, shuffle=True)`` draws a new order each epoch instead. Raises what `numobs` raises.

    >>> shuffleobs((np.arange(4), ["a", "b", "c", "d"]), rng=0)
    (array([2, 0, 1, 3]), ['c', 'a', 'b', 'd'])
    """
    return part(data, Places.of(generator(rng).permutation(numobs(data))))


@explained("data, and fractions")
def splitobs(data: Any, at: Any = 0.8, shuffle: bool = False, rng: Any = None) -> tuple:
    """`data` in two parts: the fraction `at`, and the rest (MLUtils: ``splitobs``).

    ``at=(0.6, 0.2)`` gives three parts; fractions that add up to 1 leave no rest. Each part has the form of `data`.
    Arrays in it are read-only views of your data (in CuPy, writable ones): copy one to change it. With
    ``shuffle=True``, which draws an order first, they're copies. Raises `ValueError` for fractions that aren't between
    0 and 1 or add up to more than 1, and what `numobs` raises.

    >>> (x_train, y_train), (x_test, y_test) = splitobs((np.zeros((10, 3)), np.arange(10)), at=0.7)
    >>> x_train.shape, y_test
    ((7, 3), array([7, 8, 9]))
    """
    fractions = at if isinstance(at, tuple) else (at,)
    total: Any = 0.0
    for fraction in fractions:
        if not isinstance(fraction, (float, np.floating)) or not 0 < fraction < 1:
            raise ValueError(f"splitobs(at=…) takes fractions between 0 and 1, such as 0.8 or (0.6, 0.2), got {at!r}")
        total += fraction
    if total > 1 + 1e-9:
        raise ValueError(f"splitobs(at={at}): the fractions add up to {total:.6g}, which is more than 1")
    count = numobs(data)
    order = Places.of(generator(rng).permutation(count)) if shuffle else None
    ends = [round(count * end) for end in np.cumsum(fractions)]
    if total < 1 - 1e-9:
        ends.append(count)
    cuts = map(slice, [0, *ends], ends)
    return tuple(part(data, these if order is None else order.part(these)) for these in cuts)


@explained("data, and the number of parts")
def kfolds(data: Any, k: int = 5) -> Iterator[tuple[Any, Any]]:
    """`k` pairs ``(train, validation)``, with each observation in one validation part (MLUtils: ``kfolds``).

    The pairs are made one at a time. A pair's validation arrays are read-only views, its training arrays copies. If
    the order has a meaning, call `shuffleobs` first. Raises `ValueError` unless ``2 <= k <= numobs``.

    >>> for train, validation in kfolds(np.arange(5), k=2):
    ...     print(train, validation)
    [3 4] [0 1 2]
    [0 1 2] [3 4]
    """
    count = numobs(data)
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or not 2 <= k <= count:
        raise ValueError(
            f"kfolds(data, k) takes a whole number from 2 to the number of observations, {count}, got {k!r}"
        )
    ends = np.cumsum([count // k + (i < count % k) for i in range(k)]).tolist()
    held_out = [slice(start, end) for start, end in zip([0, *ends], ends)]
    everything = np.arange(count)
    return ((part(data, Places.of(np.delete(everything, fold))), part(data, fold)) for fold in held_out)


def summary(data: Any) -> str:
    """`data` in a few words, for a loader's repr: what it's made of, and its shapes."""
    if is_array(data):
        return f"{data.dtype}{list(data.shape)}"
    if isinstance(data, dict):
        return "{" + ", ".join(f"{name!r}: {summary(value)}" for name, value in data.items()) + "}"
    if isinstance(data, tuple):
        inside = [summary(value) for value in data]
        names = getattr(data, "_fields", None)
        if names:
            return f"{type(data).__name__}({', '.join(f'{name}={text}' for name, text in zip(names, inside))})"
        return f"({', '.join(inside)}{',' if len(inside) == 1 else ''})"
    if isinstance(data, (Observations, range)):
        return repr(data).split("      #")[0]
    return f"{type(data).__name__} of {len(data):,}"


@explained("data, such as a batch")
def unbatch(data: Any) -> list:
    """The observations of `data`, such as a batch, in a list. Arrays in it are read-only views (MLUtils: ``unbatch``).

    Raises what `numobs` raises.

    >>> unbatch((np.array([[1, 2], [3, 4]]), np.array([7, 8])))
    [(array([1, 2]), np.int64(7)), (array([3, 4]), np.int64(8))]
    """
    return [pick(data, i) for i in range(numobs(data))]
