"""Starting a program on several workers, for tests: ``run(2, "program.py")``."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = ROOT / "tests" / "fluxlite" / "distributed"
LIMIT = 60  # seconds; only against a test that hangs
MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")

needs_mpi = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or MPIEXEC is None,
    reason="mpi4py or mpiexec is missing: make test EXTRAS=mpi",
)


def environment(**more: str) -> dict[str, str]:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    path = os.pathsep.join(map(str, (ROOT, PROGRAMS, ROOT / "tests" / "helpers")))
    return {**os.environ, **threads, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", **more}


def run(workers: int, program: str, *arguments: object, by_launcher: bool = False, **more: str):
    """The finished process, with what all workers printed. All of them are gone, also if it took too long."""
    launcher = [sys.executable, "-m", "fluxlite.distributed"] if by_launcher else [MPIEXEC]
    python = [] if by_launcher else [sys.executable]
    command = [*launcher, "-n", str(workers), *python, str(PROGRAMS / program), *map(str, arguments)]
    process = subprocess.Popen(
        command, env=environment(**more), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        out, err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM if by_launcher else signal.SIGKILL)  # what ends mpiexec ends the workers
        out, err = process.communicate(timeout=LIMIT)
        pytest.fail(f"it hangs:\n{out}\n{err}")
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def reports(done) -> list:
    """What the workers reported, each on a line that begins with @: JSON."""
    return [json.loads(line[1:]) for line in done.stdout.splitlines() if line.startswith("@")]
