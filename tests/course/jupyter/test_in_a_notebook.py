"""A notebook's cells on ipyparallel's engines: a real kernel, a real cluster, and the notebook's own interrupt."""

import importlib.util
import os
from pathlib import Path

import on_workers
import pytest
from kernel import Kernel
from on_workers import MPIEXEC, needs_mpi

pytestmark = [
    pytest.mark.slow,
    needs_mpi,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("ipyparallel", "ipykernel", "jupyter_client")),
        reason="ipyparallel or Jupyter is missing: make test EXTRAS=mpi",
    ),
]

PREPARED = """%%px
import os, time
import numpy as np
import fluxlite as fl
from fluxlite import distributed

def loss(m, x, y):
    return fl.mse(m(x), y)

def slow(m, x, y):
    open(os.environ["STARTED"], "w").close()
    time.sleep(0.02)
    return loss(m, x, y)

def wrong(m, x, y):
    return loss(m, x, y) if distributed.local_rank() == 0 else {}["planted"]

model = fl.Dense(3, 1)
data = fl.DataLoader((np.ones((8, 3), np.float32), np.zeros((8, 1), np.float32)), batchsize=4)

def train(loss, epochs, **more):
    return fl.train(loss, model, data, fl.setup(fl.Descent(0.01), model), epochs, distributed=True, **more)
"""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ipython")
    path = os.pathsep.join([str(Path(MPIEXEC).parent), os.environ["PATH"]])
    notebook = Kernel(on_workers.environment(IPYTHONDIR=str(folder), STARTED=str(folder / "started"), PATH=path))
    try:
        shown = notebook.run(
            "import ipyparallel as ipp\n"
            'cluster = ipp.Cluster(n=2, engines="mpi")\n'
            "rc = cluster.start_and_connect_sync()\nrc.activate();"
        )
        shown += notebook.run(PREPARED)
        assert "Error" not in shown, shown
        notebook.started = folder / "started"
        yield notebook
    finally:
        notebook.run("cluster.stop_cluster_sync()")
        notebook.close()


def test_one_progress_bar_for_all(notebook):
    shown = notebook.run("%%px\nh = train(loss, 3, progress=True)\nprint(distributed.total_workers(), h)")
    assert shown.count("2 History(3 epochs, 6 steps") == 2 and shown.count("steps/s") == 1, shown


REPORT = """
first, second = rc[:].apply_sync(lambda: (str(h.reason), h.steps, model.weight.tobytes()))
print(first == second, first[:2])
"""


def test_interrupt_stops_all_after_the_same_step(notebook):
    notebook.run("%%px\nh = train(slow, 100_000)", pressed=lambda shown: notebook.started.exists())
    assert "True ('interrupted'," in notebook.run(REPORT)


def test_an_exception_in_one_engine_ends_all_and_the_next_training_works(notebook):
    shown = notebook.run("%%px\nh = train(wrong, 1)")
    assert "KeyError" in shown and "WorkerFailed" in shown and "worker 1 of 2" in shown, shown
    notebook.run("%%px\nh = train(loss, 2)")
    assert "True ('', 4)" in notebook.run(REPORT)
