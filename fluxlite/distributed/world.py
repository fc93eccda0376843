"""Starting MPI: who this worker is, how many there are, and what happens when one of them ends."""

import os
import platform
import shutil
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from ..devices.selection import devices
from ..messages import ipython
from .group import Group, WorkerFailed

# What brings MPI, and the engines for notebooks.
INSTALL = f"pip install mpi4py {'impi-rt' if sys.platform == 'win32' else 'mpich'} ipyparallel"
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class _World:
    group: Group | None = None
    joining: Any = None  # a group that not all have joined yet


def initialize() -> None:
    """Start MPI, if it isn't running yet (Flux: ``DistributedUtils.initialize``; PyTorch: ``init_process_group``).

    Every worker calls it; the other functions here do so by themselves. A program that was started without ``mpiexec``
    is a run of one worker. From now on, an uncaught exception in one worker ends all.

    Raises `ImportError` where mpi4py or MPI is missing, with what to install, and `RuntimeError` if ``mpiexec`` is that
    of another MPI, so that no worker sees the others.
    """
    if _World.group is not None:
        return
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:  # no mpi4py, or no MPI below it
        raise ImportError(f"training on several workers takes MPI: {INSTALL} ({error})") from error
    if not MPI.Is_initialized():
        MPI.Init_thread()
    started = max(int(os.environ.get(name, 1)) for name in ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS"))
    if started > 1 == MPI.COMM_WORLD.Get_size():
        raise RuntimeError(
            f"mpiexec has started {started} workers, but each sees only itself: that mpiexec is of another MPI than "
            "mpi4py's. This takes the right one: python -m fluxlite.distributed -n 2 train.py"
        )
    comm, request = MPI.COMM_WORLD.Idup()
    Group(MPI.COMM_WORLD).wait(request)
    _World.group = group = Group(comm)
    if group.size > 1:
        _take_a_card(group)
        if ipython() is None and not hasattr(sys, "ps1"):
            sys.excepthook = _end_all


def local_rank() -> int:
    """Which worker this is, counted from 0 (Flux: ``DistributedUtils.local_rank``; PyTorch: ``get_rank``).

    It's the number among all workers, also of other machines. It's 0 before `initialize`.
    """
    return 0 if _World.group is None else _World.group.rank


def total_workers() -> int:
    """How many workers there are (Flux: ``DistributedUtils.total_workers``; PyTorch: ``get_world_size``).

    It's 1 before `initialize`.
    """
    return 1 if _World.group is None else _World.group.size


def everyone() -> Group:
    """All workers."""
    initialize()
    assert _World.group is not None
    return _World.group


def join() -> Group:
    """All workers, as a new group: what an earlier one left unfinished doesn't disturb it."""
    world = everyone()
    # If an interrupt came while we waited here, we're still in the middle of joining.
    _World.joining = _World.joining or world.comm.Idup()
    comm, request = _World.joining
    world.wait(request)
    _World.joining = None
    return Group(comm)


def _take_a_card(group: Group) -> None:
    """Let each worker of a computer with several NVIDIA or AMD cards use one of its own."""
    place = group.all(platform.node())[: group.rank].count(platform.node())
    cards = [card for card in devices() if card.backend in ("CUDA", "AMDGPU")]
    if cards:
        cards[place % len(cards)].use()


def _end_all(kind: Any, error: Any, found: Any) -> None:
    """In place of Python's own: the traceback once, under its worker's name, and then all workers end."""
    group = everyone()
    # Each text is written at once, or mpiexec would mix those of several workers.
    if isinstance(error, WorkerFailed):
        sys.stderr.write(f"worker {group.rank} ends, too: {error}\n")
    elif not group.rank or not getattr(error, "is_of_all", False):
        sys.stderr.write(f"{group.name()} ended:\n{''.join(traceback.format_exception(kind, error, found))}")
    sys.stderr.flush()
    time.sleep(1)  # so that the others can say that they end, too
    group.comm.Abort(1)


# For the launcher, and for lesson 17.


def find_mpiexec() -> str | None:
    """The ``mpiexec`` beside this Python, which belongs to its mpi4py; otherwise the first on the path."""
    return shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")


def threads_each(workers: int) -> dict[str, str]:
    """For the environment: each worker's share of the cores, or each would take all. Nothing if you have set it."""
    if workers == 1 or any(name in os.environ for name in _THREADS):
        return {}
    return dict.fromkeys(_THREADS, str(max(1, (os.cpu_count() or 1) // workers)))
