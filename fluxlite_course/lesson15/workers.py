"""``%%workers 1 2`` runs a cell's program on one worker, then on two."""

import importlib.util
import os
import sys
import tempfile
from importlib import resources
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen

from fluxlite.distributed.world import INSTALL, find_mpiexec, threads_each
from fluxlite.messages import ipython
from fluxlite.processes import NOT_HERE, can_start_programs
from fluxlite.words import many


def run_on_workers(line: str, cell: str) -> None:
    """Write the cell to a file, and start it with each number of workers in `line`, one after the other."""
    missing = ""
    if not can_start_programs():
        missing = f"{NOT_HERE[0].upper()}{NOT_HERE[1:]}."
    elif importlib.util.find_spec("mpi4py") is None or find_mpiexec() is None:
        missing = f"No MPI here ({INSTALL} brings it)."
    if missing:
        print(f"{missing} Recorded on another computer, with two cores:")
        print(resources.files(__package__).joinpath("recorded.txt").read_text("utf-8"), end="")
        return
    counts = list(map(int, line.split()))
    # A worker has the same number of threads in each run, and it writes whole lines, which mpiexec doesn't mix.
    environment = {**os.environ, **threads_each(max(counts)), "PYTHONUNBUFFERED": ""}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "program.py")
        program.write_text(cell, encoding="utf-8")
        for count in counts:
            print(f"{many(count, 'worker')}:")
            command = [sys.executable, "-m", "fluxlite.distributed", "-n", str(count), str(program)]
            with Popen(command, stdout=PIPE, stderr=STDOUT, text=True, env=environment) as process:
                try:
                    for said in process.stdout or ():
                        print("   ", said, end="")
                finally:
                    process.terminate()  # after ■ too, and all its workers with it


if ipython() is not None:
    ipython().register_magic_function(run_on_workers, "cell", "workers")
