"""Lesson 15's workers: processes that train together. Where they can't be had, the lesson goes on without them.

They are engines of ipyparallel, started by MPI. ``%%px`` at the top of a cell runs it in all of them.
"""

import atexit
import contextlib
import importlib.util
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from typing import Any

from fluxlite.distributed.world import INSTALL, find_mpiexec, threads_each
from simgpu.words import in_words

_NOTHING = "There are no workers here, so there's nothing to see."
_LONGEST = 60  # seconds until all workers have to be there

# Runs beside the notebook. When the notebook's process is gone, whatever has ended it, the pipe to here is closed.
_WATCH = """
import contextlib, os, shutil, signal, sys, time
sys.stdin.read()
folder, *pids = sys.argv[1:]
for pid in map(int, pids):
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGTERM)
if os.path.exists(folder):
    time.sleep(2)  # until they have ended, and write nothing more
    shutil.rmtree(folder, ignore_errors=True)
"""


class Workers:
    """What `start_workers` gives: ``len(workers)`` of them, ``workers["name"]`` from each, ``workers.stop()``."""

    def __init__(self, client: Any = None, watch: Any = None) -> None:
        self._client, self._watch, self._ends = client, watch, contextlib.ExitStack()

    def __len__(self) -> int:
        return 0 if self._client is None else len(self._client.ids)

    def __getitem__(self, name: str) -> list[Any]:
        """What each worker has under this name, worker 0 first. An empty list without workers."""
        if self._client is None:
            print(_NOTHING)
            return []
        return self._client[:].pull(name, block=True)

    def __repr__(self) -> str:
        return f"{len(self)} workers" if len(self) else "no workers"

    def stop(self) -> None:
        """End the workers' processes. Nothing happens if there are none, or no longer."""
        self._client = None
        atexit.unregister(self.stop)
        self._ends.close()


def start_workers(count: int = 2) -> Workers:
    """Start `count` processes for the cells that begin with ``%%px``, numbered as MPI numbers them.

    Where that can't be, it says why. Then a cell with ``%%px`` does nothing, and one with ``%%px --local`` runs here
    alone. Raises `ValueError` for a count below 1.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise ValueError(f"start_workers(count): a number of processes, 1 or more, got {in_words(count)}")
    missing = _missing()
    if missing:
        return _without(f"{missing} is missing here. To get it: %{INSTALL}, then restart JupyterLab itself.")
    try:
        with contextlib.ExitStack() as ends:  # undone in reverse order: here if the start fails, even by ■, or by stop
            ends.callback(_put_px_stand_in)
            folder = tempfile.mkdtemp(prefix="fluxlite-workers-")
            ends.callback(shutil.rmtree, folder, ignore_errors=True)
            workers = _started(count, folder, ends)
            workers._ends = ends.pop_all()
            atexit.register(workers.stop)
            return workers
    except Exception as error:  # whatever keeps processes from starting here, such as a sandbox
        return _without(f"They didn't start: {type(error).__name__}: {error}")


def _missing() -> str:
    missing = [module for module in ("mpi4py", "ipyparallel") if importlib.util.find_spec(module) is None]
    return missing[0] if missing else "" if find_mpiexec() else "mpiexec, which is a part of MPI,"


def _started(count: int, folder: str, ends: contextlib.ExitStack) -> Workers:
    import ipyparallel

    cluster = ipyparallel.Cluster(n=count, engines="mpi", profile_dir=folder, log_level=logging.CRITICAL)
    cluster.config.MPILauncher.mpi_cmd = [find_mpiexec()]
    cluster.config.MPILauncher.environment = threads_each(count)
    try:
        cluster.start_cluster_sync()
    except BaseException:
        cluster.stop_cluster_sync()
        raise
    # To end if the notebook's process is killed: the controller, and mpiexec, which ends its workers.
    launchers = [cluster.controller, *cluster.engines.values()]
    pids = [str(launcher.pid) for launcher in launchers if isinstance(getattr(launcher, "pid", None), int)]
    # In a session of its own: ■ interrupts all processes of the notebook's.
    command = [sys.executable, "-c", _WATCH, folder, *pids]
    watch = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    ends.callback(watch.communicate)  # closes the pipe: what is still there is ended now
    ends.callback(shutil.rmtree, folder, ignore_errors=True)
    ends.callback(cluster.stop_cluster_sync)
    client = cluster.connect_client_sync()
    ends.callback(client.close)
    client.wait_for_engines(count, timeout=_LONGEST, interactive=False)
    client.activate()
    shell = _shell()
    if shell is not None:
        shell.run_line_magic("pxconfig", "--progress-after -1")  # its bar would count cells, not steps
    pids = [str(pid) for pid in client[:].apply_sync(os.getpid)]
    print(f"{count} workers, processes {' and '.join(pids)}" if count > 1 else f"1 worker, process {pids[0]}")
    return Workers(client, watch)


def _shell() -> Any:
    from IPython.core.getipython import get_ipython

    return get_ipython()


# -- without workers ----------------------------------------------------------------------------------------------


def _without(why: str) -> Workers:
    print(f"No workers: {why}\nThe lesson goes on without them. Cells that begin with %%px do nothing.")
    _put_px_stand_in()
    return Workers()


def _put_px_stand_in() -> None:
    """Make ``%%px`` a magic that does nothing, or with ``--local`` runs the cell here. There's none outside IPython."""
    shell = _shell()
    if shell is None:
        return

    def px(line: Any, cell: Any) -> None:
        if "--local" in line:
            shell.run_cell(cell).raise_error()
        else:
            print(_NOTHING)

    shell.register_magic_function(px, "cell", "px")
