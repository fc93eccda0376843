"""`Group`: workers that compute together, and how each waits for the others.

Nobody waits inside MPI, where no signal is heard. Everything is started, and then asked about again and again: is it
done? In between, Python hears Ctrl-C, and we look whether another worker has sent bad news.
"""

import itertools
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
_MINUTE = 120_000  # naps
_let_others_run = getattr(os, "sched_yield", lambda: time.sleep(0))
_kept: list[Any] = []


def keep(*things: Any) -> None:
    """Never free this memory: a sum that will never be complete may still write into it."""
    _kept.extend(things)


class WorkerFailed(RuntimeError):
    """Another worker ended, so this one can't go on. The message says which, where, and why, and how to go on."""


def of_all(error: Exception) -> Exception:
    """An error that all workers raise at once: one traceback is enough, and nobody needs bad news."""
    error.is_of_all = True  # type: ignore[attr-defined]
    return error


class Group:
    """Workers with a communicator of their own: 0 to ``size - 1``, each with the same class and other numbers."""

    def __init__(self, comm: Any) -> None:
        from mpi4py import MPI

        self.mpi, self.comm, self.rank, self.size = MPI, comm, comm.Get_rank(), comm.Get_size()
        self.checkpoint = ""  # what an error says about how to go on
        self.ways: dict[Any, Any] = {}  # how arrays travel, by device

    def start(self, x: Any, op: str = "sum") -> Any:
        """Begin to add up all workers' `x`, in place: a request, for `wait`. `x` is contiguous."""
        return self.comm.Iallreduce(self.mpi.IN_PLACE, x, getattr(self.mpi, op.upper()))

    def total(self, *numbers: float) -> list[float]:
        """The sums of these numbers over all workers."""
        sums = np.array(numbers, np.float64)
        self.wait(self.start(sums))
        return sums.tolist()

    def only_mine(self, number: float) -> list[float]:
        """A number for each worker, 0 for the others: their `total` has the numbers of all."""
        return [number if rank == self.rank else 0.0 for rank in range(self.size)]

    def send(self, x: Any, root: int) -> None:
        """Give all workers the contiguous `x` of `root`, in place."""
        self.wait(self.comm.Ibcast(x, root))

    def same(self, value: Any, root: int = 0) -> Any:
        """The `value` of worker `root`: any object, small ones as a rule."""
        content = np.frombuffer(pickle.dumps(value) if self.rank == root else b"", np.uint8).copy()
        size = np.array([content.size])
        self.send(size, root)
        content = content if self.rank == root else np.empty(size[0], np.uint8)
        self.send(content, root)
        return value if self.rank == root else pickle.loads(content.tobytes())

    def all(self, value: Any) -> list[Any]:
        """The values of all workers, in order."""
        return [self.same(value, rank) for rank in range(self.size)]

    def check_alike(self, mine: dict[str, str], root: int = 0) -> None:
        """Raises `ValueError`, on all workers, unless all have the same text under each name."""
        if len(set(self.total(*self.only_mine(zlib.crc32(repr(mine).encode()))))) == 1:
            return
        found = self.all(mine)
        for rank, other in enumerate(found):
            for name in {**found[root], **other}:
                texts = found[root].get(name, "nothing"), other.get(name, "nothing")
                if texts[0] != texts[1]:
                    difference = f"worker {root} has {texts[0]}, worker {rank} has {texts[1]}"
                    raise of_all(ValueError(f"the workers differ in {name}: {difference}"))

    def wait(self, request: Any) -> None:
        """Wait until this is done. Raises `WorkerFailed` if that won't be."""
        try:
            for turn in itertools.count():
                if request.Test():
                    return
                if turn > _SPINS:
                    _let_others_run() if turn < _NAPS else time.sleep(0.0005)
                if turn % 256 == 255:
                    self._listen()
                if turn == _NAPS + _MINUTE:
                    notice(
                        ("waiting", self.rank),
                        f"worker {self.rank} has been waiting for the other workers for a minute. All {self.size} have "
                        "to make the same calls, in the same order.",
                    )
        except BaseException:
            keep(request)
            raise

    def _listen(self) -> None:
        """Raise `WorkerFailed` if another worker has sent bad news."""
        status = self.mpi.Status()
        if self.comm.Iprobe(self.mpi.ANY_SOURCE, _NEWS, status):
            content = bytearray(status.Get_count(self.mpi.BYTE))
            self.comm.Recv([content, self.mpi.BYTE], status.Get_source(), _NEWS)
            raise WorkerFailed(content.decode() + self.checkpoint)

    def tell(self, error: BaseException) -> None:
        """Send the others bad news about this worker."""
        content = f"{self.name()} ended the training: {type(error).__name__}: {' '.join(str(error).split())}".encode()
        message = [content, self.mpi.BYTE]
        keep(content, *[self.comm.Isend(message, rank, _NEWS) for rank in range(self.size) if rank != self.rank])

    def name(self) -> str:
        """This worker, as an error names it."""
        return f"worker {self.rank} of {self.size} (process {os.getpid()} on {platform.node()})"
