"""Data is many observations: count them, pick one or several, take a part, make a batch. The names are MLUtils.jl's.

An array's observations are along its first axis. A tuple, named tuple or dict holds several arrays whose observations
belong together: ``(X, Y)``. Anything else with ``len(data)`` and ``data[i]``, such as a list, is a sequence, and each
element is an observation. From an array on a GPU, observations are picked there.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ..annotations import Array, Tree
from ..array_kinds import can_freeze
from ..arrays import device_of, on_card_of, refuse_tensor
from ..devices.base import CPU
from ..devices.seeds import ORDERS, next_generator
from ..helping import AsWritten, Readable
from ..tree.contract import children
from ..tree.flat import flatten
from ..tree.ties import is_array
from ..words import check_callable, check_whole, explained, in_words


@explained("data")
def numobs(data: Tree) -> int:
    """How many observations `data` holds (MLUtils: ``numobs``)."""
    flat = flatten(data, lambda path, x: not isinstance(x, (tuple, dict)), ties=False)
    counts = [len(x) for x in flat.leaves]
    if not counts:
        raise ValueError(f"there is no data in an empty {type(data).__name__}")
    for path, count in zip(flat.paths(), counts):
        if count != counts[0]:
            raise ValueError(
                f"the parts of the data have different numbers of observations: {flat.paths()[0]} has {counts[0]:,}, "
                f"{path} has {count:,}. The first axis is the observation. Does one of them have another axis first "
                "(x.T)?"
            )
    return counts[0]


@explained("data, and which of its observations")
def getobs(data: Tree, index: Any) -> Any:
    """Observation number `index` of `data`; for a slice or integers, a batch of several (MLUtils: ``getobs``).

    A number or a slice of an array gives a read-only view; in CuPy it's writable. Integers on a GPU aren't checked.

    >>> x, y = np.arange(6).reshape(3, 2), np.array([7, 8, 9])
    >>> getobs((x, y), 1), getobs({"y": y}, [0, 2])
    ((array([2, 3]), np.int64(8)), {'y': array([7, 9])})
    """
    count = numobs(data)
    if isinstance(index, (int, np.integer)):
        index = range(count)[index]
    elif is_array(index) and device_of(index) != CPU and index.ndim == 1 and index.dtype.kind in "iu":
        index = Places(index)
    elif not isinstance(index, slice):
        if is_array(index):
            index = CPU.receive(index)
        elif isinstance(index, tuple):
            index = list(index)
        numbers = np.arange(count)[index]
        if numbers.ndim > 1:
            raise IndexError(f"an index has one axis, and this one would give a shape of {numbers.shape}")
        index = _one_or_places(numbers)
    return pick(data, index)


class Places:
    """Which observations, by number: on the host, and on each device that needs the numbers."""

    def __init__(self, numbers: Any, these: slice = slice(None), copies: dict | None = None) -> None:
        if copies is None:
            copies = {}
        if isinstance(numbers, np.ndarray):
            numbers = numbers.astype(np.int64, copy=False)  # NumPy's own have 32 bits in a browser: half of the bytes
        self.numbers = numbers
        self.these = these
        self.copies = copies  # of all numbers, by device; all parts share them

    def on(self, device: Any) -> Array:
        if device not in self.copies:
            self.copies[device] = device.receive(self.numbers)
        return self.copies[device][self.these]

    def part(self, these: slice) -> "Places":
        return Places(self.numbers, these, self.copies)


def _one_or_places(numbers: Any) -> int | Places:
    if numbers.ndim:
        return Places(numbers)
    return int(numbers)


def numbers_of(index: slice | Places, count: int) -> Sequence[int]:
    if isinstance(index, slice):
        return range(count)[index]
    return index.on(CPU).tolist()


def pick(data: Any, index: int | slice | Places) -> Any:
    """`getobs` without its checks."""
    if isinstance(data, (tuple, dict)):
        return _map(lambda one: pick(one, index), data)
    if isinstance(data, MappedObs):
        return data.function(pick(data.data, index))
    if not is_array(data):
        if isinstance(index, int):
            return data[index]
        return batch([data[i] for i in numbers_of(index, len(data))])
    with on_card_of(data):
        if isinstance(index, Places):  # a single gather, where the data is; np.take is faster than x[…]
            return np.take(data, index.on(device_of(data)), axis=0)
        view = data[index]
        if can_freeze(view) and data.dtype.kind != "O":  # an object in an array isn't a view of it
            view.flags.writeable = False
        return view


def part(data: Any, index: slice | Places) -> Any:
    """Some observations of `data`, as data: read-only views if possible; `Places` copy arrays."""
    if isinstance(data, (tuple, dict)):
        return _map(lambda one: part(one, index), data)
    if isinstance(data, MappedObs):
        return MappedObs(data.function, part(data.data, index))
    if isinstance(data, list):
        return [data[i] for i in numbers_of(index, len(data))]
    if is_array(data):
        return pick(data, index)

    def chosen(numbers: Any) -> Any:
        return pick(data, _one_or_places(numbers))

    return MappedObs(chosen, np.array(numbers_of(index, len(data)), np.intp))


def _map(function: Callable, data: Tree, *others: Tree) -> Any:
    """A tuple or dict like `data`, of ``function(part, …)`` for its parts, and those of the others with them."""
    parts, rebuild = children(data)
    several = [parts, *(children(other)[0] for other in others)]
    if len(set(map(len, several))) > 1:
        raise ValueError(f"observations of one batch have the same parts, and {in_words(data)} isn't like the others")
    if isinstance(parts, dict):
        return rebuild({name: function(*[one[name] for one in several]) for name in parts})
    return rebuild([function(*row) for row in zip(*several)])


@explained("several observations, such as a list")
def batch(observations: Iterable[Any]) -> Any:
    """Put observations into one batch, along a new first axis (MLUtils: ``batch``).

    Arrays are stacked on their device. Numbers become an array on the host. Tuples, named tuples and dicts become one
    of batches. A list counts as rows: ``[[1, 2], [3, 4]]`` becomes an array. Text and other objects stay a list.

    >>> batch([(np.zeros(3), 1), (np.ones(3), 2)])
    (array([[0., 0., 0.],
           [1., 1., 1.]]), array([1, 2]))
    """
    several = list(observations)
    if not several:
        raise ValueError("a batch has at least one observation, which says what it's made of; got none")
    first = several[0]
    if isinstance(first, (tuple, dict)):
        return _map(lambda *row: batch(row), *several)
    if isinstance(first, list):
        rows = [batch(row) if row else np.zeros(0) for row in several]
        if isinstance(rows[0], list):
            return rows
        return batch(rows)
    if is_array(first):
        for number, one in enumerate(several):
            if getattr(one, "shape", None) != first.shape:
                what = f"observation {number} is {in_words(one)}, and observation 0 has shape {first.shape}"
                raise ValueError(f"a batch has observations of the same shape; {what}")
        with on_card_of(first):
            return np.stack(several)
    if isinstance(first, (bool, int, float, complex, np.generic)):
        numbers = np.array(several)
        if numbers.dtype.kind in "OSU":
            raise TypeError(f"a batch has observations of one kind; got {', '.join(map(in_words, several[:3]))}, …")
        return numbers
    refuse_tensor("a batch", first)
    return several


@explained("data, such as a batch")
def unbatch(data: Tree) -> list:
    """The observations of `data`, such as a batch, in a list, as read-only views if possible (MLUtils: ``unbatch``)."""
    return [pick(data, i) for i in range(numobs(data))]


class MappedObs(metaclass=Readable):
    """The result of `mapobs`: observations that are made on demand. An index works as in `getobs`."""

    def __init__(self, function: Callable, data: Tree) -> None:
        self.function = function
        self.data = data
        self.count = numobs(data)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: Any) -> Any:
        return getobs(self, index)

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", repr(self.function))
        return f"mapobs({name}, {summary(self.data)})      # {self.count:,} observations"


@explained("a function, and data")
def mapobs(function: Callable[[Any], Any], data: Tree) -> MappedObs:
    """`data`, with `function` applied to what you take from it, when you take it (MLUtils: ``mapobs``).

    `function` gets one observation, or a whole batch: ``DataLoader(mapobs(gpu, (X, Y)), batchsize=16)`` moves batches.

    >>> mapped = mapobs(lambda x: x / 10, np.arange(4))
    >>> mapped[1], mapped[2:]
    (np.float64(0.1), array([0.2, 0.3]))
    """
    check_callable("mapobs(function, data): the function", function)
    return MappedObs(function, data)


def generator(rng: "np.random.Generator | int | None") -> "np.random.Generator":
    """`rng`, or one with this seed; for None, the next that `fluxlite.seed` gives."""
    if rng is None:
        return next_generator(ORDERS)
    return np.random.default_rng(rng)


@explained("data, and perhaps a generator")
def shuffleobs(data: Tree, rng: "np.random.Generator | int | None" = None) -> Any:
    """`data` in a random order, drawn once with the generator or seed `rng` (MLUtils: ``shuffleobs``)."""
    return part(data, Places(generator(rng).permutation(numobs(data))))


@explained("data, and fractions between 0 and 1, such as 0.8 or (0.6, 0.2), with a sum of at most 1")
def splitobs(
    data: Tree,
    at: float | tuple[float, ...] = 0.8,
    shuffle: bool = False,
    rng: "np.random.Generator | int | None" = None,
) -> tuple:
    """`data` in two parts: the fraction `at`, and the rest (MLUtils: ``splitobs``).

    ``at=(0.6, 0.2)`` gives three parts, ``(0.8, 0.2)`` two. Arrays in them are read-only views; with `shuffle`, copies.

    >>> (x_train, y_train), (x_test, y_test) = splitobs((np.zeros((10, 3)), np.arange(10)), at=0.7)
    >>> x_train.shape, y_test
    ((7, 3), array([7, 8, 9]))
    """
    fractions: tuple[float, ...]
    if isinstance(at, tuple):
        fractions = at
    else:
        fractions = (at,)
    if not all(0 < fraction < 1 for fraction in fractions) or sum(fractions) > 1 + 1e-9:
        raise ValueError("these fractions make no parts")
    if sum(fractions) < 1 - 1e-9:
        fractions = (*fractions, 1 - sum(fractions))
    count = numobs(data)
    ends = [round(count * end) for end in np.cumsum(fractions)]
    cuts = [slice(start, end) for start, end in zip([0, *ends], ends)]
    if not shuffle:
        return tuple(part(data, these) for these in cuts)
    order = Places(generator(rng).permutation(count))
    return tuple(part(data, order.part(these)) for these in cuts)


@explained("data, and the number of parts")
def kfolds(data: Tree, k: int = 5) -> Iterator[tuple[Any, Any]]:
    """`k` pairs ``(train, validation)``, with each observation in one validation part (MLUtils: ``kfolds``)."""
    everything = np.arange(numobs(data))
    check_whole("k", k, least=2)
    if k > len(everything):
        raise ValueError(f"k is at most the number of observations, {len(everything):,}, got {k}")
    held_out = [slice(fold[0], fold[-1] + 1) for fold in np.array_split(everything, k)]
    return ((part(data, Places(np.delete(everything, fold))), part(data, fold)) for fold in held_out)


def summary(data: Any) -> str:
    """`data` in a few words, for a loader's repr: what it's made of, and its shapes."""
    if is_array(data):
        return f"{data.dtype}{list(data.shape)}"
    if isinstance(data, (tuple, dict)):
        return repr(_map(lambda one: AsWritten(summary(one)), data))
    if isinstance(data, (MappedObs, range)):
        return repr(data).split("      #")[0]
    return f"{type(data).__name__} of {len(data):,}"
