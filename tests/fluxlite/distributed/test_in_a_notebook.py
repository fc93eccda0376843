"""A notebook's cells on ipyparallel's engines: a real kernel, a real cluster, and the notebook's own interrupt."""

import importlib.util
import os
import time
from pathlib import Path
from queue import Empty

import on_workers
import pytest
from on_workers import LIMIT, MPIEXEC, needs_mpi

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
REPORT = "rc[:].apply_sync(lambda: (str(h.reason), h.steps, model.weight.tobytes()))"


class Notebook:
    """A kernel whose cells are run one by one."""

    def __init__(self, environment):
        from jupyter_client.manager import start_new_kernel

        self.manager, self.client = start_new_kernel(kernel_name="python3", env=environment)

    def run(self, code: str, pressed_after: Path | None = None) -> list[dict]:
        """What the cell showed. ■ is pressed when that file is there."""
        cell, messages, limit = self.client.execute(code), [], time.monotonic() + LIMIT
        while time.monotonic() < limit:
            if pressed_after is not None and pressed_after.exists():
                self.manager.interrupt_kernel()
                pressed_after = None
            try:
                message = self.client.get_iopub_msg(timeout=0.1)
            except Empty:
                continue
            if message["parent_header"].get("msg_id") == cell:
                messages.append(message)
                if message["content"].get("execution_state") == "idle":
                    return messages
        pytest.fail(f"it hangs: {texts(messages)}")

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def texts(messages) -> str:
    """All that was shown."""
    contents = [message["content"] for message in messages]
    found = [content[key] for content in contents for key in ("text", "ename", "evalue") if key in content]
    return "\n".join(
        [*found, *(str(content["data"].get("text/plain", "")) for content in contents if "data" in content)]
    )


@pytest.fixture(scope="module")
def notebook(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ipython")
    path = os.pathsep.join([str(Path(MPIEXEC).parent), os.environ["PATH"]])
    environment = on_workers.environment(IPYTHONDIR=str(folder), STARTED=str(folder / "started"), PATH=path)
    notebook = Notebook(environment)
    try:
        shown = notebook.run(
            "import ipyparallel as ipp\n"
            'cluster = ipp.Cluster(n=2, engines="mpi")\n'
            "rc = cluster.start_and_connect_sync()\nrc.activate();"
        )
        assert "Error" not in texts(shown), texts(shown)
        assert "Error" not in texts(notebook.run(PREPARED))
        notebook.started = folder / "started"
        yield notebook
    finally:
        notebook.run("cluster.stop_cluster_sync()")
        notebook.close()


def test_one_progress_bar_for_all(notebook):
    shown = texts(notebook.run("%%px\nh = train(loss, 3, progress=True)\nprint(distributed.total_workers(), h)"))
    assert shown.count("2 History(3 epochs, 6 steps") == 2, shown
    assert shown.count("steps/s") == 1, shown


def test_interrupt_stops_all_after_the_same_step(notebook):
    notebook.run("%%px\nh = train(slow, 100_000)", pressed_after=notebook.started)
    shown = texts(notebook.run(f"first, second = {REPORT}\nprint(first == second, first[:2])"))
    assert "True ('interrupted'," in shown, shown


def test_an_exception_in_one_engine_ends_all_and_the_next_training_works(notebook):
    shown = texts(notebook.run("%%px\nh = train(wrong, 1)"))
    assert "KeyError" in shown and "WorkerFailed" in shown and "worker 1 of 2" in shown, shown
    notebook.run("%%px\nh = train(loss, 2)")
    shown = texts(notebook.run(f"first, second = {REPORT}\nprint(first == second, first[:2])"))
    assert "True ('', 4)" in shown, shown
