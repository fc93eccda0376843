"""What holds without MPI, too."""

import subprocess
import sys

import on_workers
import pytest

import fluxlite as fl


def test_a_missing_mpi_is_said_with_the_fix():
    program = (
        "import sys; sys.modules['mpi4py'] = None\n"
        "import fluxlite.distributed as distributed\n"
        "print(distributed.local_rank(), distributed.total_workers())\n"
        "distributed.initialize()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=on_workers.environment())
    assert done.stdout == "0 1\n" and "pip install mpi4py" in done.stderr.splitlines()[-1]


def test_an_import_starts_no_mpi():
    program = "import sys, fluxlite.distributed, fluxlite.training; print('mpi4py' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=on_workers.environment())
    assert done.stdout == "False\n"


def test_another_mpi_than_that_of_mpiexec_is_noticed():
    program = "import fluxlite as fl; fl.distributed.initialize()"
    more = on_workers.environment(OMPI_COMM_WORLD_SIZE="2")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=more)
    assert "another MPI" in done.stderr and "python -m fluxlite.distributed" in done.stderr


def test_train_takes_true_or_false():
    with pytest.raises(TypeError, match="distributed"):
        fl.train(lambda m: 0, [1.0], [()], None, distributed="yes")
