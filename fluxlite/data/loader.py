"""`DataLoader`: mini-batches, in a new order each epoch. `observations.py` says what counts as data."""

import copy
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial as bound
from itertools import islice
from typing import Any

import numpy as np

from ..annotations import DType, Tree
from ..arrays import device_of
from ..devices.base import CPU, Device
from ..devices.moving import DEFAULT, moved, send
from ..devices.named import cu
from ..devices.selection import cpu, gpu, require_gpu
from ..helping import Readable
from ..messages import notice, warn
from ..tree.flat import KeyPath
from ..tree.ties import is_array
from ..words import check_bool, check_callable, check_whole, explained, many
from .observations import MappedObs, Places, batch, generator, numbers_of, numobs, pick, summary


class DataLoader(metaclass=Readable):
    """Iterates over `data` in batches of `batchsize` observations (MLUtils, Flux: ``DataLoader``).

    `data` is an array, whose first axis is the observation; a tuple, named tuple or dict of arrays, whose batches have
    the same form; or a sequence of observations, which `batch` puts together. Batches are on the arrays' device: copies
    with `shuffle`, otherwise read-only views, except in CuPy: write ``x = x + noise``.

    `shuffle`: a new order each epoch, drawn when it begins from `rng`: a generator, a seed, or None for one of its own.
    `partial`: whether the last batch may be smaller; otherwise it's left out. `collate`: None makes batches as above;
    False gives lists of observations; True lets `batch` put such a list together; a function is called with it.
    `parallel`: a background thread prepares the next batches, unless that needs a GPU, or no thread can start here.

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
        data: Tree,
        batchsize: int = 1,
        shuffle: bool = False,
        partial: bool = True,
        collate: bool | Callable | None = None,
        rng: "np.random.Generator | int | None" = None,
        parallel: bool = False,
    ) -> None:
        check_whole("batchsize", batchsize, least=1)
        if collate is not None and not isinstance(collate, bool):
            check_callable("collate, if it's not None, True or False,", collate)
        check_bool("partial", partial)
        count = numobs(data)
        self._count = count
        if batchsize > count > 0:
            what = f"a batchsize of {batchsize:,} is more than the {count:,} observations"
            warn(("batchsize", batchsize, count), f"{what}: there's one batch of all")
            batchsize = count
        self.data = data
        self.batchsize = int(batchsize)
        self.collate = collate
        self.shuffle = bool(shuffle)
        self.partial = bool(partial)
        self.parallel = bool(parallel)
        self.rng = generator(rng)

    def __len__(self) -> int:
        whole, rest = divmod(self._count, self.batchsize)
        if rest and self.partial:
            return whole + 1
        return whole

    @explained()
    def batches(self, skip: int = 0) -> Iterator[Any]:
        """Begin an epoch after its first `skip` batches."""
        check_whole("skip", skip)
        order = None
        if self.shuffle:
            order = Places(self.rng.permutation(self._count))
        jobs = (bound(self._batch, number, order) for number in range(skip, len(self)))
        if self.parallel and not _needs_device(self.data):
            return done_ahead(jobs)
        return (job() for job in jobs)

    __iter__ = batches

    def _batch(self, number: int, order: Places | None) -> Any:
        start = number * self.batchsize
        these = slice(start, min(start + self.batchsize, self._count))
        index: slice | Places = these
        if order is not None:
            index = order.part(these)
        if self.collate is None:
            return pick(self.data, index)
        observations = [pick(self.data, i) for i in numbers_of(index, self._count)]
        if self.collate is False:
            return observations
        if self.collate is True:
            return batch(observations)
        return self.collate(observations)

    def __repr__(self) -> str:
        parts = [summary(self.data), f"batchsize={self.batchsize}"]
        if self.shuffle:
            parts.append("shuffle=True")
        if self.parallel:
            parts.append("parallel=True")
        if not self.partial:
            parts.append("partial=False")
        if self.collate is not None:
            parts.append(f"collate={getattr(self.collate, '__name__', self.collate)}")
        batches = many(len(self), "batch", "batches")
        return f"DataLoader({', '.join(parts)})      # {batches} of {self._count:,} observations"


def batches_of(data: Any, skip: int) -> Iterator[Any]:
    """An epoch of `data` without its first batches: a loader can leave them out without making them."""
    if hasattr(data, "batches"):
        yield from data.batches(skip)
    else:
        yield from islice(data, skip, None)


AHEAD = 4  # at most this many batches are there: yours, those that wait, and one that's being made
PATIENCE = 1.0  # seconds that a fork waits for the batch that's being made, and the end of an epoch for its thread


def done_ahead(jobs: Iterator[Callable[[], Any]]) -> Iterator[Any]:
    """The results of `jobs`, in order: while you use one, a thread works on the next. Errors come in their turn.

    Where no thread can start, as in a browser, each job is done when its result is asked for.
    """
    worker = _Worker(jobs)
    try:
        while done := worker.next():
            yield done.pop()  # nothing here refers to it any more
    finally:
        worker.stop()


class _Worker:
    """The thread of an epoch, and what it has made. In a forked process, where it isn't, another one goes on."""

    def __init__(self, jobs: Iterator[Callable[[], Any]]) -> None:
        self.jobs = jobs
        self.ready = deque[Any]()
        self.is_over = False
        self.was_cut_off = False
        self.set_up()
        _workers.add(self)

    def set_up(self) -> None:
        """No thread has begun, and no lock is taken."""
        self.thread: threading.Thread | None = None
        self.busy = threading.Lock()  # held while a batch is made and put away
        self.changed = threading.Condition()

    def next(self) -> list:
        """The next result in a list, which is empty after the last. Raises the error that came in its place."""
        if self.was_cut_off:
            raise RuntimeError("this process was forked in the middle of an epoch, whose thread isn't here")
        if self.thread is None:
            self._start()
        if self.thread is None and not self.ready:
            self._do_one()
        with self.changed:
            while not self.ready:
                self.changed.wait()
            done = self.ready.popleft()
            self.changed.notify_all()
        if isinstance(done, BaseException):
            raise done
        return done

    def _start(self) -> None:
        self.thread = threading.Thread(target=self._work, name="fluxlite batches", daemon=True)
        try:
            self.thread.start()  # the program's end doesn't wait for it
        except RuntimeError:  # no thread can start here, or no more of them
            self.thread = None

    def stop(self) -> None:
        with self.changed:
            self.is_over = True
            self.ready.clear()
            self.changed.notify_all()
        if self.thread is not None:
            self.thread.join(PATIENCE)  # what it reads may be closed after the loop

    def _work(self) -> None:
        has_more = True
        while has_more:
            with self.changed:
                while len(self.ready) >= AHEAD - 2 and not self.is_over:
                    self.changed.wait()
            with self.busy:
                if self.is_over:
                    return
                has_more = self._do_one()

    def _do_one(self) -> bool:
        """Put away the result of the next job; whether there may be more."""
        done: Any = []
        try:
            for job in islice(self.jobs, 1):
                done = [job()]
        except BaseException as error:
            done = error
        with self.changed:
            if not self.is_over:
                self.ready.append(done)
            self.changed.notify_all()
        return isinstance(done, list) and bool(done)


# -- forks ------------------------------------------------------------------------------------------------------------

_workers: weakref.WeakSet[_Worker] = weakref.WeakSet()
_held: list[_Worker] = []  # whose thread waits for the end of the fork, between two batches
_forking = threading.RLock()


def _before_fork() -> None:
    _forking.acquire()
    for worker in list(_workers):
        if worker.thread is not threading.current_thread() and worker.busy.acquire(timeout=PATIENCE):
            _held.append(worker)


def _after_in_parent() -> None:
    while _held:
        _held.pop().busy.release()
    _forking.release()


def _after_in_child() -> None:
    global _forking
    for worker in list(_workers):
        worker.was_cut_off = worker.was_cut_off or worker not in _held
        worker.set_up()
    _held.clear()
    _forking = threading.RLock()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_in_child)


def _needs_device(data: Tree) -> bool:
    """Whether reading observations from `data` uses a GPU. In a thread, receipts would count it anywhere."""
    if isinstance(data, tuple):
        return any(map(_needs_device, data))
    if isinstance(data, dict):
        return any(map(_needs_device, data.values()))
    if isinstance(data, MappedObs):
        return isinstance(data.function, Device) or data.function in (gpu, cpu, cu) or _needs_device(data.data)
    return is_array(data) and device_of(data) != CPU


class MovedLoader(metaclass=Readable):
    """`loader`, with each batch moved to `device` when its turn comes: this is ``gpu(loader)``.

    When you get a batch, the copy of the next one has begun. The memory of yours is free as soon as you drop it.
    """

    def __init__(self, loader: Any, device: Device, dtype: DType | None = DEFAULT) -> None:
        self.loader = loader
        self.device = device
        self.dtype = dtype

    @property
    def rng(self) -> "np.random.Generator":
        return self.loader.rng

    def __len__(self) -> int:
        return len(self.loader)

    def batches(self, skip: int = 0) -> Iterator[Any]:
        """Begin an epoch, and skip its first `skip` batches without copying them."""
        sent = map(self._send, batches_of(self.loader, skip))
        error = None
        coming = next(sent, None)
        try:
            while coming is not None:
                present = coming
                coming = None
                try:
                    coming = next(sent, None)
                except Exception as found:  # is raised when its turn comes
                    error = found
                yield self._arrived(present)
            if error is not None:
                raise error
        finally:  # after a break, a copy that's still running keeps its memory until it's done
            if coming is not None:
                self._arrived(coming)

    __iter__ = batches

    def _send(self, batch: Any) -> list:
        """When each array will be there, in the device's own terms, and the batch, which is on its way."""
        times: list[Any] = []

        def receive(x: Any) -> Any:
            if self.device == CPU or device_of(x) != CPU:
                return self.device.receive(x)
            result, time = self.device.copy_in_pinned(x)
            times.append(time)
            return result

        one = copy.copy(self.device)  # it stands for the device in this move
        one.receive = receive  # type: ignore[method-assign]
        return [times, moved(one, batch, self.dtype)]

    def _arrived(self, sent: list) -> Any:
        """The batch, after making the device wait for it. Nothing here refers to it any more."""
        for time in sent[0]:
            self.device.wait_for(time)
        return sent.pop()

    def __repr__(self) -> str:
        loader, mark, comment = repr(self.loader).partition("      # ")
        return f"{loader} => {self.device}, batch by batch{mark}{comment}"


class CuIterator(MovedLoader):
    """Copies each batch of `loader` to the GPU in use: ``for x, y in CuIterator(loader)`` (CUDA.jl: ``CuIterator``).

    `loader` is a `DataLoader` or any other iterable of batches: arrays, or tuples, lists and dicts of arrays. Unlike
    with `gpu`, float64 stays float64; ``dtype=np.float32`` converts it.
    """

    @explained("a DataLoader or another iterable of batches")
    def __init__(self, loader: Iterable[Any], dtype: DType | None = None) -> None:
        if not hasattr(type(loader), "__iter__") and not is_array(loader):
            raise TypeError("this isn't iterable")
        if dtype is not None:
            dtype = np.dtype(dtype)
        super().__init__(loader, require_gpu(), dtype)

    def __repr__(self) -> str:
        return f"CuIterator({super().__repr__()})"


@send.register(MovedLoader)
@send.register(DataLoader)
def send_loader(x: Any, device: Device, dtype: Any, path: KeyPath) -> "MovedLoader":
    if isinstance(x, MovedLoader) and x.device == device and x.dtype is dtype:
        return x
    return MovedLoader(x, device, dtype)


@send.register
def _(x: MappedObs, device: Device, dtype: Any, path: KeyPath) -> MappedObs:
    what = f"{path or 'the data'} stays where it is, its observations are made when they are asked for"
    notice(("observations", type(x)), f"{what}: mapobs(gpu, data)")
    return x
