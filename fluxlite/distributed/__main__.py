"""``python -m fluxlite.distributed -n 2 train.py``: start a program on several workers (PyTorch: ``torchrun``).

It calls the ``mpiexec`` of this Python's environment. If a worker ends too early, it says which.
"""

import argparse
import os
import signal
import subprocess
import sys

from ..processes import NOT_HERE, can_start_programs
from .world import INSTALL, find_mpiexec, threads_each

MOST = 10_000  # workers: each is a process
# A shell around each worker says how it ended. It has to outlive Ctrl-C, which asks the worker to stop when it can.
# After time for the others' own words, the shell kills itself: mpiexec ends all when it sees a signal, but after an
# exit status it sometimes goes on.
_WORKER = """trap : INT TERM; "$@" && exit; s=$?
[ $s -gt 128 ] && how="was killed by signal $((s - 128))" || how="ended with exit status $s"
echo "worker ${PMI_RANK:-$OMPI_COMM_WORLD_RANK} $how" >&2; sleep 2; kill -KILL $$"""


def _workers(text: str) -> int:
    if not text.isdecimal() or len(text) > len(str(MOST)) or not 1 <= int(text) <= MOST:
        raise argparse.ArgumentTypeError(f"a number of workers is at least 1 and at most {MOST:,}, got {text[:20]}")
    return int(text)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m fluxlite.distributed", description="Start a program on several workers."
    )
    parser.add_argument(
        "-n", "--workers", type=_workers, default=2, metavar="N", help="how many workers; 2 if left out"
    )
    parser.add_argument("program", metavar="train.py", help="the program")
    parser.add_argument("more", nargs=argparse.REMAINDER, help="its arguments")
    asked = parser.parse_args(arguments)
    if not can_start_programs():
        print(
            f"{NOT_HERE}, and each worker is one: training on several workers needs another computer", file=sys.stderr
        )
        return 2
    mpiexec = find_mpiexec()
    if mpiexec is None:
        print(f"there is no mpiexec here: {INSTALL} brings one", file=sys.stderr)
        return 2
    shell = []
    if os.name == "posix":
        shell = ["sh", "-c", _WORKER, "worker"]
    command = [mpiexec, "-n", str(asked.workers), *shell, sys.executable, asked.program, *asked.more]
    environment = {"MPIR_CVAR_SUPPRESS_ABORT_MESSAGE": "1", **os.environ, **threads_each(asked.workers)}
    # In a session of its own, so that Ctrl-C reaches each worker once: from here, through mpiexec.
    process = subprocess.Popen(command, env=environment, start_new_session=os.name == "posix")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, frame: process.send_signal(number))
    return process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
