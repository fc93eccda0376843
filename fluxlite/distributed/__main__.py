"""``python -m fluxlite.distributed -n 2 train.py``: start a program on several workers (PyTorch: ``torchrun``).

It calls the ``mpiexec`` of this Python's environment, and if a worker ends too early, it says which, and how to go on.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ..messages import formatted, say
from .world import INSTALL, RUN, find_mpiexec, threads_each

# A shell around each worker notes how it ended, before mpiexec ends the others. It has to outlive
# Ctrl-C, which asks the worker to stop at a good moment.
_NOTES = (
    f'trap : INT TERM; "$@" && exit; s=$?; '
    f'echo $s > "${RUN}/${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}.status" 2> /dev/null; exit $s'
)


def main(arguments: list[str]) -> int:
    """Run the program on so many workers; gives 0 if all ended well."""
    asked = _parser().parse_args(arguments)
    mpiexec = find_mpiexec()
    if mpiexec is None:
        print(f"there is no mpiexec here: {INSTALL} brings one", file=sys.stderr)
        return 2
    command = [mpiexec, "-n", str(asked.workers), *(["-hosts", asked.hosts] if asked.hosts else [])]
    command += ["sh", "-c", _NOTES, "worker"] if os.name == "posix" else []
    command += [sys.executable, *(["-m"] if asked.module else []), asked.program, *asked.more]
    with tempfile.TemporaryDirectory(prefix="fluxlite-") as folder:
        own = {RUN: folder, **threads_each(asked.workers)}
        environment = {"MPIR_CVAR_SUPPRESS_ABORT_MESSAGE": "1", **os.environ, **own}
        status = _run(command, environment, Path(folder))
        if status:
            say(formatted("Warning", what_happened(Path(folder), status)))
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m fluxlite.distributed", description="Start a program on several workers, by mpiexec."
    )
    parser.add_argument("-n", "--workers", type=_number, default=2, metavar="N", help="how many workers; 2 if left out")
    parser.add_argument("--hosts", metavar="A,B", help="the machines, if it's more than this one")
    parser.add_argument("-m", dest="module", action="store_true", help="the program is a module, as in python -m")
    parser.add_argument("program", metavar="train.py", help="the program")
    parser.add_argument("more", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def _number(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number of workers is 1 or more, got {text}")
    return int(text)


# So many seconds after a worker's end was noted, the others should have ended too. Rarely, one waits in MPI's own last
# steps for a worker that's gone, and mpiexec waits for it.
_LATE = 5


def _run(command: list[str], environment: dict[str, str], folder: Path) -> int:
    """The exit status of mpiexec. It hands signals on to the workers, and what ends it ends them."""
    # In a session of its own, so that Ctrl-C reaches each worker once: from here, through mpiexec.
    process = subprocess.Popen(command, env=environment, start_new_session=os.name == "posix")

    def hand_on(number: int, frame: Any) -> None:
        process.send_signal(number)

    before = {number: signal.signal(number, hand_on) for number in (signal.SIGINT, signal.SIGTERM)}
    is_late = False
    try:
        while True:
            try:
                return process.wait(timeout=_LATE)
            except subprocess.TimeoutExpired:
                if is_late:
                    process.kill()
                is_late = any(folder.glob("*.status"))
    finally:
        process.terminate()
        for number, handler in before.items():
            signal.signal(number, handler)


def what_happened(folder: Path, status: int) -> str:
    """Which worker ended first, by what, and how to go on: from what the workers, and their shells, have noted."""
    known = {int(file.stem): json.loads(file.read_text("utf-8")) for file in folder.glob("*.json")}
    ended = {int(file.stem): int(file.read_text() or 0) for file in folder.glob("*.status")}
    killed = {rank: number for rank, number in ended.items() if number > 128}
    text = _of_themselves(known)
    if not text and killed:
        rank, number = next(iter(killed.items()))
        text = f"{known.get(rank, {}).get('name', f'worker {rank}')} was killed by {_signal(number - 128)}"
    elif not text:
        ranks = ", ".join(map(str, sorted(ended))) or "?"
        text = f"worker {ranks} ended with exit status {', '.join(map(str, ended.values())) or status}"
    checkpoint = next((one["checkpoint"] for one in known.values() if "checkpoint" in one), "")
    how = "There's no checkpoint to go on from."
    if checkpoint:
        how = f"The last checkpoint is {checkpoint}.\ntrain(…, resume=True) goes on from it, on any number of workers."
    return f"{text}. This ended the others, too.\n{how}"


def _of_themselves(known: dict[int, dict[str, Any]]) -> str:
    """What a worker has said of its own end; otherwise what the others have said of it."""
    own = [f"{one['name']} ended: {one['error']}" for one in known.values() if one.get("error")]
    return next(iter([*own, *(one["other"] for one in known.values() if one.get("other"))]), "")


def _signal(number: int) -> str:
    try:
        return f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
