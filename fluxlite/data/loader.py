"""`DataLoader`: mini-batches, in a new order each epoch. `observations.py` says what counts as data.

There are four ways to get batches on a GPU, and all give the same batches. ``gpu(x)`` in the loop is one.
``gpu(loader)`` and ``CuIterator(loader)`` copy the next batch while the GPU computes (`moved.py`).
``DataLoader(gpu((X, Y)), …)`` moves everything at once, if it fits. The last is ``DataLoader(mapobs(gpu, (X, Y)), …)``.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial as bound
from itertools import islice
from typing import Any

from ..arguments import check_bool, check_callable, check_whole, explained
from ..arrays import device_of
from ..devices.base import CPU, Device
from ..devices.moving import send
from ..devices.selection import cpu, cu, gpu
from ..messages import many, notice, warn
from ..tree.ties import is_array
from ..tree.walks import KeyPath
from .moved import send_loader
from .observations import Observations, Places, batch, generator, numbers_of, numobs, pick, summary


class DataLoader:
    """Iterates over `data` in batches of `batchsize` observations (MLUtils, Flux: ``DataLoader``).

    `data` is an array, whose first axis is the observation; a tuple, named tuple or dict of arrays, whose batches have
    the same form; or a sequence of observations, a list or anything with ``len(data)`` and ``data[i]``, which `batch`
    puts together. Batches are on the arrays' device. With `shuffle`, they're copies. Otherwise they're views of the
    data, and read-only, except in CuPy: to change a batch, make a new one, as in ``x = x + noise``.

    `shuffle`: a new order each epoch, drawn when it begins from `rng`: a generator, a seed, or None for its own one,
    which only `fluxlite.seed` makes repeatable. `partial`: whether the last batch may be smaller; otherwise it's left
    out. `collate`: None makes batches as above; False gives lists of observations; True lets `batch` put such a list
    together; a function is called with it. `parallel`: a background thread prepares the next batches, unless that
    takes a GPU, as it does with data on one and with ``mapobs(gpu, …)``.

    To continue in the middle of an epoch, give `rng` the state that it had when the epoch began, and skip the batches
    that are done: ``for x, y in loader.batches(skip=100)``.

    A batchsize above the number of observations is reduced to it, with a message.

    >>> loader = DataLoader((np.arange(12).reshape(6, 2), np.arange(6)), batchsize=4)
    >>> loader
    DataLoader((int64[6, 2], int64[6]), batchsize=4)      # 2 batches of 6 observations
    >>> for x, y in loader:
    ...     print(x.shape, y)
    (4, 2) [0 1 2 3]
    (2, 2) [4 5]
    """

    @explained("all data as one argument, such as DataLoader((X, Y), batchsize=32)")
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
        check_whole("batchsize", batchsize, least=1)
        if collate is not None and not isinstance(collate, bool):
            check_callable("collate, if it's not None, True or False,", collate)
        for name, switch in (("shuffle", shuffle), ("partial", partial), ("parallel", parallel)):
            check_bool(name, switch)
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

    @explained()
    def batches(self, skip: int = 0, share: tuple[int, int] = (0, 1)) -> Iterator[Any]:
        """Begin an epoch, which draws its order, and skip its first `skip` batches without reading them.

        ``share=(1, 4)`` makes only those rows of each batch that are for worker 1 of 4, and no batch if none are.
        """
        check_whole("skip", skip)
        order = Places(self.rng.permutation(self._count)) if self.shuffle else None
        jobs = (bound(self._batch, index) for index in self._indices(order, skip, share))
        return done_ahead(jobs) if self.parallel and not _needs_device(self.data) else (job() for job in jobs)

    def sizes(self, skip: int = 0) -> Iterator[int]:
        """The number of observations in each batch of an epoch."""
        for number in range(skip, len(self)):
            yield min(self.batchsize, self._count - number * self.batchsize)

    def _indices(self, order: Places | None, skip: int, share: tuple[int, int]) -> Iterator[slice | Places]:
        for number, rows in enumerate(self.sizes(skip), skip):
            start = number * self.batchsize
            first, last = cut(rows, *share)
            if first < last:
                these = slice(start + first, start + last)
                yield these if order is None else order.part(these)

    def _batch(self, index: slice | Places) -> Any:
        if self.collate is None:
            return pick(self.data, index)
        observations = [pick(self.data, i) for i in numbers_of(index, self._count)]
        if self.collate is False:
            return observations
        return batch(observations) if self.collate is True else self.collate(observations)

    def __repr__(self) -> str:
        said = [summary(self.data), f"batchsize={self.batchsize}"]
        said += [f"{name}=True" for name in ("shuffle", "parallel") if getattr(self, name)]
        said += ["partial=False"] * (not self.partial)
        said += [f"collate={getattr(self.collate, '__name__', self.collate)}"] * (self.collate is not None)
        batches = many(len(self), "batch", "batches")
        return f"DataLoader({', '.join(said)})      # {batches} of {self._count:,} observations"


_TUPLE = " Each array of a list is one observation; arrays of many go into a tuple, DataLoader((X, Y), …)."


def cut(count: int, worker: int, workers: int) -> tuple[int, int]:
    """Which of `count` rows are one worker's: from the first number up to the second."""
    return worker * count // workers, (worker + 1) * count // workers


AHEAD = 4  # at most this many batches wait


def done_ahead(jobs: Iterator[Callable[[], Any]]) -> Iterator[Any]:
    """The results of `jobs`, in order. While you use one, a thread works on the next.

    An exception in a job is raised when its turn comes. A process that forks has the thread only in its parent, so in
    the child this raises `RuntimeError`.

    >>> list(done_ahead(iter([lambda: "a", lambda: "b"])))
    ['a', 'b']
    """
    pool, under_way, process = ThreadPoolExecutor(1, "fluxlite batches"), deque[Future](), os.getpid()
    try:
        while True:
            if os.getpid() != process:
                raise RuntimeError("this process was forked in the middle of an epoch, whose thread isn't here")
            under_way.extend(pool.submit(job) for job in islice(jobs, AHEAD - len(under_way)))
            if not under_way:
                return
            yield under_way.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        wait([job for job in under_way if not job.cancel()], timeout=1)  # what it reads may be closed after the loop


def _needs_device(data: Any) -> bool:
    """Whether reading observations from `data` uses a GPU. In a thread, receipts would count it anywhere."""
    if isinstance(data, (tuple, dict)):
        return any(map(_needs_device, data.values() if isinstance(data, dict) else data))
    if isinstance(data, Observations):
        function = getattr(data, "function", None)
        return isinstance(function, Device) or function in (gpu, cpu, cu) or _needs_device(data.data)
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
