"""`DataLoader`: mini-batches, in a new order each epoch. `observations.py` says what counts as data.

There are four ways to get batches on a GPU, and all give the same batches. ``gpu(x)`` in the loop is one.
``gpu(loader)`` and ``CuIterator(loader)`` copy the next batch while the GPU computes (`moved.py`).
``DataLoader(gpu((X, Y)), …)`` moves everything at once, if it fits. The last is ``DataLoader(mapobs(gpu, (X, Y)), …)``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..arguments import check_bool, explained
from ..arrays import device_of
from ..devices.base import Device
from ..devices.host import CPU
from ..devices.moving import send
from ..devices.selection import cpu, cu, gpu
from ..messages import many, notice, warn
from ..tree.ties import is_array
from ..tree.walks import KeyPath
from .background import done_ahead
from .batching import batch
from .moved import send_loader
from .observations import MappedObs, Observations, Places, cut, generator, numbers_of, numobs, pick, summary


class DataLoader:
    """Iterates over `data` in batches of `batchsize` observations (MLUtils, Flux: ``DataLoader``).

    `data` is an array, whose first axis is the observation; a tuple, named tuple or dict of arrays, whose batches have
    the same form; or a sequence of observations, a list or anything with ``len(data)`` and ``data[i]``, which `batch`
    puts together. Batches are on the same device as the arrays. With `shuffle`, they're copies. Without it,
    they're views of the data, and read-only: to change a batch, make a new one, as in ``x = x + noise``. (CuPy has no
    read-only arrays: there, what you write into such a batch is written into the data.)

    `shuffle`: a new order each epoch, drawn when it begins from `rng`: a generator, a seed, or None for its own one,
    which only `fluxlite.seed` makes repeatable. `partial`: whether the last batch may be smaller; otherwise it's left
    out. `collate`: None makes batches as above; False gives lists of observations; True lets `batch` put such a list
    together; a function is called with it. `parallel`: a background thread prepares the next batches. Data on a GPU,
    and moves by ``mapobs(gpu, …)``, stay in the thread that iterates, so that receipts count the same.

    To continue in the middle of an epoch, give `rng` the state that it had when the epoch began, and skip the batches
    that are done: ``for x, y in loader.batches(skip=100)``.

    Raises `ValueError` for a batchsize below 1 and for parts of different lengths, and `TypeError` for anything that
    isn't data. A batchsize above the number of observations is reduced to it, with a message.

    >>> loader = DataLoader((np.arange(12).reshape(6, 2), np.arange(6)), batchsize=4)
    >>> loader
    DataLoader((int64[6, 2], int64[6]), batchsize=4)      # 2 batches of 6 observations
    >>> for x, y in loader:
    ...     print(x.shape, y)
    (4, 2) [0 1 2 3]
    (2, 2) [4 5]
    """

    @explained()
    def __init__(
        self,
        data: Any,
        batchsize: int = 1,
        shuffle: bool = False,
        partial: bool = True,
        collate: Any = None,
        rng: Any = None,
        parallel: bool = False,
    ) -> None:
        _check_number("batchsize", batchsize, 1)
        if not (collate is None or isinstance(collate, bool) or callable(collate)):
            raise TypeError(f"DataLoader(collate=…) is None, False, True or a function, got a {type(collate).__name__}")
        for name, switch in (("shuffle", shuffle), ("partial", partial), ("parallel", parallel)):
            check_bool(f"DataLoader({name}=…)", switch)
        self._count = numobs(data)
        if batchsize > self._count > 0:
            of_arrays = isinstance(data, list) and all(map(is_array, data))
            warn(
                ("batchsize", batchsize, self._count),
                f"a batchsize of {batchsize:,} is more than the {self._count:,} observations that there are: the "
                f"DataLoader has one batch, of all of them.{_TUPLE if of_arrays else ''}",
            )
            batchsize = self._count
        self.data, self.batchsize, self.collate = data, int(batchsize), collate
        self.shuffle, self.partial, self.parallel = bool(shuffle), bool(partial), bool(parallel)
        self.rng = generator(rng)

    def __len__(self) -> int:
        """The number of batches."""
        return -(-self._count // self.batchsize) if self.partial else self._count // self.batchsize

    def __iter__(self) -> Iterator[Any]:
        return self.batches()

    def batches(self, skip: int = 0, share: tuple[int, int] = (0, 1)) -> Iterator[Any]:
        """Begin an epoch, which draws its order, and skip its first `skip` batches without reading them.

        ``share=(1, 4)`` makes only those rows of each batch that are for worker 1 of 4, and no batch if none are.
        """
        _check_number("skip", skip, 0)
        order = Places.of(self.rng.permutation(self._count)) if self.shuffle else None
        return self._batches(order, skip, share)

    def sizes(self, skip: int = 0) -> Iterator[int]:
        """The number of observations in each batch of an epoch."""
        for number in range(skip, len(self)):
            yield min(self.batchsize, self._count - number * self.batchsize)

    def _batches(self, order: Places | None, skip: int, share: tuple[int, int]) -> Iterator[Any]:
        data, moves = self._for_thread() if self.parallel else (self.data, [])
        jobs = (functools.partial(self._batch, data, index) for index in self._indices(order, skip, share))
        if self.parallel and not _needs_device(data):
            batches = done_ahead(jobs)
        else:
            batches = (job() for job in jobs)
        for move in moves:
            batches = map(move, batches)
        return batches

    def _indices(self, order: Places | None, skip: int, share: tuple[int, int]) -> Iterator[slice | Places]:
        for number, rows in enumerate(self.sizes(skip), skip):
            start = number * self.batchsize
            first, last = cut(rows, *share)
            if first < last:
                these = slice(start + first, start + last)
                yield these if order is None else order.part(these)

    def _batch(self, data: Any, index: slice | Places) -> Any:
        if self.collate is None:
            return pick(data, index)
        observations = [pick(data, i) for i in numbers_of(index, self._count)]
        if self.collate is False:
            return observations
        return batch(observations) if self.collate is True else self.collate(observations)

    def _for_thread(self) -> tuple[Any, list]:
        """The data without the final moves of ``mapobs(gpu, data)``, and a list of these moves."""
        data: Any = self.data
        moves: list = []
        while self.collate is None and isinstance(data, MappedObs) and _is_move(data.function):
            moves.insert(0, data.function)
            data = data.data
        return data, moves

    def __repr__(self) -> str:
        said = [summary(self.data), f"batchsize={self.batchsize}"]
        said += [f"{name}=True" for name in ("shuffle", "parallel") if getattr(self, name)]
        said += [] if self.partial else ["partial=False"]
        said += [] if self.collate is None else [f"collate={getattr(self.collate, '__name__', self.collate)}"]
        batches = many(len(self), "batch", "batches")
        return f"DataLoader({', '.join(said)})      # {batches} of {self._count:,} observations"


_TUPLE = " Each array of a list is one observation; arrays of many go into a tuple, DataLoader((X, Y), …)."


def _check_number(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        what = f"a {type(value).__name__}" if is_array(value) or not isinstance(value, float) else repr(value)
        hint = ". All data is one argument: DataLoader((X, Y), batchsize=32)" if hasattr(type(value), "__len__") else ""
        raise TypeError(f"{name} is a whole number, {least} or more, got {what}{hint}")
    if value < least:
        raise ValueError(f"{name} is a whole number, {least} or more, got {value}")


def _is_move(function: Any) -> bool:
    return isinstance(function, Device) or any(function is move for move in (gpu, cpu, cu))


def _needs_device(data: Any) -> bool:
    """Whether reading observations from `data` uses a GPU."""
    if isinstance(data, (tuple, dict)):
        return any(map(_needs_device, data.values() if isinstance(data, dict) else data))
    if isinstance(data, Observations):
        return _is_move(getattr(data, "function", None)) or _needs_device(data.data)
    return is_array(data) and device_of(data) != CPU


send.register(DataLoader, send_loader)


@send.register
def _(x: Observations, device: Any, dtype: Any, path: KeyPath) -> Any:
    notice(
        ("observations", type(x)),
        f"{path or 'the data'} stays where it is, its observations are made when they are asked for; "
        "gpu(DataLoader(data, …)) moves its batches, mapobs(gpu, data) whatever is taken from it.",
    )
    return x
