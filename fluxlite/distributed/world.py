"""Starting MPI: who this worker is, how many there are, and how each waits for the others.

Nobody waits inside MPI, which is deaf to Ctrl-C: we ask again and again whether it's done, and for others' bad news.
"""

import itertools
import os
import pickle
import platform
import shutil
import sys
import time
import traceback
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ..devices.selection import devices
from ..helping import Readable
from ..messages import ipython, notice

INSTALL = f"pip install mpi4py {'impi-rt' if sys.platform == 'win32' else 'mpich'}"
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_NEWS = 77  # the tag of bad news; nothing else is sent from worker to worker
_SPINS = 500  # how often we ask without a pause
_NAPS = 20_000  # without sleeping
_MINUTE = 140_000  # in a minute
_let_others_run = getattr(os, "sched_yield", lambda: time.sleep(0))
_world: list["Group"] = []  # all workers, once MPI is running
_kept: dict[int, Any] = {}  # what `keep` keeps


def initialize() -> None:
    """Start MPI, if it isn't running yet (Flux: ``DistributedUtils.initialize``; PyTorch: ``init_process_group``).

    The other functions here call it by themselves. Without ``mpiexec`` it's a run of one worker. From now on, an
    uncaught exception in one worker ends all. Raises `ImportError` where mpi4py or MPI is missing.
    """
    if _world:
        return
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # no mpi4py, or no MPI below it
        raise ImportError(f"training on several workers needs MPI: {INSTALL} ({error})") from error
    started = max(int(os.environ.get(name, 1)) for name in ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS"))
    if started > 1 == MPI.COMM_WORLD.Get_size():  # each would train alone
        start = "python -m fluxlite.distributed -n 2 train.py"
        raise RuntimeError(f"this mpiexec belongs to another MPI than mpi4py's. This uses the right one: {start}")
    _world.append(Group(MPI.COMM_WORLD))
    if _world[0].size > 1:
        _take_a_card(_world[0])
        if ipython() is None and not hasattr(sys, "ps1"):
            sys.excepthook = _end_all


def local_rank() -> int:
    """This worker's number among all, from 0; 0 before `initialize` (Flux: ``local_rank``; PyTorch: ``get_rank``)."""
    if not _world:
        return 0
    return _world[0].rank


def total_workers() -> int:
    """How many workers there are; 1 before `initialize` (Flux: ``total_workers``; PyTorch: ``get_world_size``)."""
    if not _world:
        return 1
    return _world[0].size


def everyone() -> "Group":
    initialize()
    return _world[0]


def _take_a_card(group: "Group") -> None:
    """Let each worker of a computer with several NVIDIA or AMD cards use one of its own."""
    place = group.all(platform.node())[: group.rank].count(platform.node())
    cards = [card for card in devices() if card.backend in ("CUDA", "AMDGPU")]
    if cards:
        cards[place % len(cards)].use()


def _end_all(kind: Any, error: Any, found: Any) -> None:
    """In place of Python's own: the traceback once, under its worker's name, and then all workers end."""
    group = everyone()
    text = f"{group.name} ended:\n{''.join(traceback.format_exception(kind, error, found))}"
    if isinstance(error, WorkerFailed):
        text = f"worker {group.rank} ends, too: {error}\n"
    if not group.rank or not getattr(error, "is_of_all", False):
        sys.stderr.write(text)  # at once, or mpiexec would mix those of several workers
    time.sleep(1)  # so that the others can say that they end, too
    group.comm.Abort(1)


class WorkerFailed(RuntimeError, metaclass=Readable):
    """Another worker ended, so this one can't go on. The message says which, where, and why."""


class WorkersDiffer(ValueError):
    """All workers raise this at once: one traceback is enough, and nobody needs bad news."""

    is_of_all = True


class Group:
    """All workers, 0 to ``size - 1``, with a new communicator, so what an earlier one left undone doesn't disturb."""

    def __init__(self, comm: Any) -> None:
        from mpi4py import MPI

        self.mpi = MPI
        self.comm = comm
        self.rank = comm.Get_rank()
        self.size = comm.Get_size()
        self.name = f"worker {self.rank} of {self.size} (process {os.getpid()} on {platform.node()})"
        self.links: dict[Any, Any] = {}  # of NCCL, by device
        new, request = comm.Idup()
        self.wait(request)
        self.comm = new

    def start(self, x: Any, op: str = "sum") -> Any:
        """Begin to add up all workers' `x`, in place: a request, for `wait`. `x` is contiguous."""
        return keep(self.comm.Iallreduce(self.mpi.IN_PLACE, x, getattr(self.mpi, op.upper())))

    def total(self, *numbers: float) -> list[float]:
        sums = np.array(numbers, np.float64)
        self.wait(self.start(sums))
        return sums.tolist()

    def same(self, value: Any, root: int = 0) -> Any:
        """The `value` of worker `root`, any object."""
        sent = b""
        if self.rank == root:
            sent = pickle.dumps(value)
        content = np.frombuffer(sent, np.uint8)
        size = np.array([content.size])
        self.wait(self.comm.Ibcast(size, root))
        content = np.resize(content, int(size[0]))
        self.wait(self.comm.Ibcast(content, root))
        if self.rank == root:
            return value
        return pickle.loads(content.tobytes())

    def all(self, value: Any) -> list[Any]:
        return [self.same(value, rank) for rank in range(self.size)]

    def check_alike(self, mine: dict[str, str]) -> None:
        """Raises `WorkersDiffer` unless all have the same text under each name."""
        checksums = [0] * self.size
        checksums[self.rank] = zlib.crc32(repr(mine).encode())
        if len(set(self.total(*checksums))) == 1:
            return
        first, *others = [set(one.items()) for one in self.all(mine)]
        rank, other = next((rank, other) for rank, other in enumerate(others, 1) if other != first)
        here = dict(sorted(first - other)[:1])
        there = dict(sorted(other - first)[:1])
        raise WorkersDiffer(f"the workers differ: worker 0 has {here}, worker {rank} has {there}")

    def wait(self, request: Any) -> None:
        """Wait until this is done. Raises `WorkerFailed` if that can't happen any more."""
        keep(request)
        for turn in itertools.count():
            if request.Test():
                del _kept[id(request)]
                return
            if turn >= _NAPS:
                time.sleep(0.0005)
            elif turn > _SPINS:
                _let_others_run()
            if turn % 256 == 255:
                self._listen()
            if turn == _MINUTE:
                notice("waiting", f"worker {self.rank} has waited for a minute: all have to make the same calls")

    def _listen(self) -> None:
        """Raise `WorkerFailed` if another worker has sent bad news."""
        status = self.mpi.Status()
        if self.comm.Iprobe(self.mpi.ANY_SOURCE, _NEWS, status):
            content = bytearray(status.Get_count(self.mpi.BYTE))
            self.comm.Recv([content, self.mpi.BYTE], status.Get_source(), _NEWS)
            raise WorkerFailed(content.decode())

    def tell(self, error: BaseException) -> None:
        news = f"{self.name} ended the training: {type(error).__name__}: {' '.join(str(error).split())}".encode()
        for rank in range(self.size):
            if rank != self.rank:
                keep(self.comm.Isend([news, self.mpi.BYTE], rank, _NEWS))


def keep(x: Any) -> Any:
    """`x`, which isn't freed: a sum that will never be complete may still write into its memory."""
    _kept[id(x)] = x
    return x


def find_mpiexec() -> str | None:
    """The ``mpiexec`` next to this Python, which belongs to its mpi4py; otherwise the first on the path."""
    return shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")


def threads_each(workers: int) -> dict[str, str]:
    """For the environment: each worker's share of the cores, or each would take all. Nothing if you have set it."""
    if workers == 1 or any(name in os.environ for name in _THREADS):
        return {}
    return dict.fromkeys(_THREADS, str(max(1, (os.cpu_count() or 1) // workers)))
