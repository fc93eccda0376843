"""`Group`: workers that compute together, and how each waits for the others.

Nobody waits inside MPI, where no signal is heard. Everything is started, and then asked about again and again: is it
done? In between, Python hears Ctrl-C, and we look whether another worker has sent bad news.
"""

from __future__ import annotations

import itertools
import json
import os
import pickle
import platform
import time
import zlib
from typing import Any

import numpy as np

from ..messages import notice

_NEWS = 77  # the tag of bad news; nothing else is sent from worker to worker
_SPINS, _NAPS = 500, 20_000  # so often we ask without a pause, then without sleeping
_GRACE = 3.0  # seconds: a worker may leave when its own part is done, and its last words may come before its last sum
_PATIENCE = 60.0  # seconds, then we say that we're waiting
_let_others_run = getattr(os, "sched_yield", lambda: time.sleep(0))
_kept: list[Any] = []


def keep(*things: Any) -> None:
    """Never free this memory: a sum that will never be complete may still write into it."""
    _kept.extend(things)


class WorkerFailed(RuntimeError):
    """Another worker ended, so this one can't go on. The message says which, where, and why, and how to go on."""

    def __init__(self, text: str, how: str = "") -> None:
        super().__init__(text + how)
        self.text = text


def of_all(error: Exception) -> Exception:
    """An error that all workers raise at once: one traceback is enough, and nobody has to be told."""
    error.is_of_all = True  # type: ignore[attr-defined]
    return error


class Group:
    """Workers with a communicator of their own: 0 to ``size - 1``, each with the same class and other numbers."""

    def __init__(self, comm: Any, world: Group | None = None) -> None:
        from mpi4py import MPI

        self.mpi, self.comm, self.world = MPI, comm, world
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self.parent = os.getppid()
        self.checkpoint = ""  # what an error says about how to go on
        self.gone: tuple[float, str] | None = None  # when we heard that a worker had ended its program

    # -- sums, and values of one for all ---------------------------------------------------------

    def start(self, x: Any, op: str = "sum") -> Any:
        """Begin to add up all workers' `x`, in place: a request, for `wait`. `x` is contiguous."""
        return self.comm.Iallreduce(self.mpi.IN_PLACE, x, getattr(self.mpi, op.upper()))

    def total(self, *numbers: float) -> list[float]:
        """The sums of these numbers over all workers."""
        sums = np.array(numbers, np.float64)
        self.wait(self.start(sums))
        return sums.tolist()

    def send(self, x: Any, root: int) -> Any:
        """Begin to give all workers the contiguous `x` of `root`, in place: a request, for `wait`."""
        return self.comm.Ibcast(x, root)

    def same(self, value: Any, root: int = 0) -> Any:
        """The `value` of worker `root`: any object, small ones as a rule."""
        content = np.frombuffer(pickle.dumps(value) if self.rank == root else b"", np.uint8).copy()
        size = np.array([content.size], np.int64)
        self.wait(self.send(size, root))
        content = content if self.rank == root else np.empty(int(size[0]), np.uint8)
        self.wait(self.send(content, root))
        return value if self.rank == root else pickle.loads(content.tobytes())

    def all(self, value: Any) -> list[Any]:
        """The values of all workers, in order."""
        mine = np.frombuffer(pickle.dumps(value), np.uint8)
        sizes = np.zeros(self.size, np.int64)
        sizes[self.rank] = mine.size
        self.wait(self.start(sizes))
        ends = np.cumsum(sizes).tolist()
        whole = np.empty(ends[-1], np.uint8)
        places = (sizes.tolist(), [0, *ends[:-1]])
        self.wait(self.comm.Iallgatherv(mine, [whole, places, self.mpi.BYTE]))
        return [pickle.loads(whole[end - size : end].tobytes()) for size, end in zip(sizes.tolist(), ends)]

    def check_alike(self, mine: dict[str, str], root: int = 0) -> None:
        """Raises `ValueError`, on all workers, unless all have the same text under each name."""
        number = float(zlib.crc32(repr(mine).encode()))
        extremes = np.array([number, -number])
        self.wait(self.start(extremes, "max"))
        if extremes[0] == -extremes[1]:
            return
        found = self.all(mine)
        for rank, other in enumerate(found):
            names = (name for name in {**found[root], **other} if other.get(name) != found[root].get(name))
            if (name := next(names, None)) is not None:
                texts = found[root].get(name, "nothing"), other.get(name, "nothing")
                raise of_all(
                    ValueError(
                        f"the workers differ in {name or 'what they have'}: worker {root} has {texts[0]}, "
                        f"worker {rank} has {texts[1]}"
                    )
                )

    # -- waiting, and bad news -------------------------------------------------------------------

    def wait(self, *requests: Any) -> None:
        """Wait until all of these are done. Raises `WorkerFailed` if that won't be."""
        try:
            for turn in itertools.count():
                if all([request.Test() for request in requests]):
                    return
                if turn > _SPINS:
                    _let_others_run() if turn < _NAPS else time.sleep(0.0005)
                if turn % 256 == 255:
                    self._listen()
                if turn == _NAPS:
                    start = time.monotonic()
                elif turn > _NAPS and turn % 1024 == 0 and time.monotonic() - start > _PATIENCE:
                    self._say_that_it_takes_long()
        except BaseException:
            keep(*requests)
            raise

    def _listen(self) -> None:
        """Raise `WorkerFailed` if another worker has sent bad news."""
        status = self.mpi.Status()
        for group in (self, self.world):
            while group is not None and group.comm.Iprobe(self.mpi.ANY_SOURCE, _NEWS, status):
                content = bytearray(status.Get_count(self.mpi.BYTE))
                group.comm.Recv([content, self.mpi.BYTE], status.Get_source(), _NEWS)
                text, is_sure = json.loads(content)
                if is_sure:
                    raise WorkerFailed(text, self.checkpoint)
                group.gone = time.monotonic(), text
        gone = self.gone or (self.world.gone if self.world else None)
        if gone is not None and time.monotonic() - gone[0] > _GRACE:
            raise WorkerFailed(gone[1], self.checkpoint)
        if os.getppid() != self.parent:
            raise WorkerFailed("what had started the workers is gone", self.checkpoint)

    def _say_that_it_takes_long(self) -> None:
        notice(
            ("waiting", self.rank),
            f"worker {self.rank} has been waiting for the other workers for a minute. All {self.size} have to make the "
            "same calls, in the same order.",
        )

    def tell(self, what: str, is_sure: bool = True) -> None:
        """Send the others bad news about this worker. If it's not `is_sure`, they needn't mind if all is done."""
        content = json.dumps([f"{self.name()} {what}", is_sure]).encode()
        message = [content, self.mpi.BYTE]
        sent = [self.comm.Isend(message, other, _NEWS) for other in range(self.size) if other != self.rank]
        keep(content, *sent)
        limit = time.monotonic() + 2
        while not all([request.Test() for request in sent]) and time.monotonic() < limit:
            time.sleep(0)

    def meet(self, seconds: float) -> None:
        """Wait for all others to come here too, but not longer than this."""
        request, limit = self.comm.Ibarrier(), time.monotonic() + seconds
        while not request.Test() and time.monotonic() < limit:
            time.sleep(0.001)

    def name(self) -> str:
        """This worker, as an error names it."""
        return f"worker {self.rank} of {self.size} (process {os.getpid()} on {platform.node()})"
