"""What holds without MPI, too."""

import subprocess
import sys

import on_workers
import pytest


def said_by(program, **more):
    environment = on_workers.environment(**more)
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)


def test_a_missing_mpi_is_said_with_the_fix():
    done = said_by(
        "import sys; sys.modules['mpi4py'] = None\n"
        "import fluxlite.distributed as distributed\n"
        "print(distributed.local_rank(), distributed.total_workers())\n"
        "distributed.initialize()\n"
    )
    assert done.stdout == "0 1\n" and "pip install mpi4py" in done.stderr.splitlines()[-1]


def test_an_import_starts_no_mpi():
    done = said_by("import sys, fluxlite.distributed, fluxlite.training; print('mpi4py' in sys.modules)")
    assert done.stdout == "False\n"


def test_another_mpi_than_that_of_mpiexec_is_noticed():
    pytest.importorskip("mpi4py")
    done = said_by("import fluxlite as fl; fl.distributed.initialize()", OMPI_COMM_WORLD_SIZE="2")
    assert "another MPI" in done.stderr and "python -m fluxlite.distributed" in done.stderr
