"""What the library does in a notebook: ■ ends a training, and an error of a kernel by hand shows no line of ours."""

import os
import re
import sys

import numpy as np
import pytest
import trainings
from IPython.core.interactiveshell import InteractiveShell
from kernel import Kernel
from traitlets.config import Config

import fluxlite as fl
from fluxlite.cuda import jit

PREPARED = """
import fluxlite as fl
import trainings
from tqdm.notebook import tqdm_notebook
shown, display = [], tqdm_notebook.display
def noting(self, *args, **options):
    shown.append(options)
    return display(self, *args, **options)
tqdm_notebook.display = noting
model, opt_state, data = trainings.make()
def said(history):
    if history.steps == 3:
        print("now", flush=True)
fl.train(trainings.loss, model, data, opt_state)
before = len(shown)
"""


@pytest.mark.filterwarnings("ignore")  # those of jupyter_client and zmq aren't ours
def test_the_stop_button_of_a_notebook(tmp_path, monkeypatch):
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    kernel = Kernel(dict(os.environ), os.path.dirname(trainings.__file__))
    try:
        kernel.run(PREPARED)
        cell = "history = fl.train(trainings.loss, model, data, opt_state, 10**9, each_step=said, progress=True)"
        assert "now\n" in kernel.run(cell, pressed=lambda shown: "now" in shown)
        cell = "history.reason, history.steps == len(history.losses) >= 3, model(data.data[0]).shape"
        assert kernel.run(cell) == "('interrupted', True, (18, 1))"
        # With steps missing, tqdm would leave its bar in red; and what isn't shown isn't made: a notebook stores it.
        cell = 'before, shown[-1]["close"], any(options.get("bar_style") for options in shown)'
        assert kernel.run(cell) == "(0, True, False)"
        shown = kernel.run("fl.train(trainings.loss, model, data, opt_state, 2).stopped")
        assert shown == "False", "the next training is not stopped by the last one's button"
    finally:
        kernel.close()


@jit.rawkernel()
def twice(x, out):
    i = jit.grid(1)
    out[i] = 2 * x[i]


def test_in_a_notebook_an_error_shows_the_launch_and_its_message_alone(capsys, monkeypatch, tmp_path, simulated):
    x = fl.gpu(np.ones(100, np.float32))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # a shell puts its own there
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    shell.user_ns |= {"twice": twice, "x": x, "out": np.zeros_like(x)}
    shell.run_cell("y = 1\ntwice[4, 32](x, out)\nz = 2")
    shown = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    head, _, message = shown.strip("-\n").partition("\n\n")
    assert [line.strip() for line in head.splitlines()[-3:]] == ["1 y = 1", "----> 2 twice[4, 32](x, out)", "3 z = 2"]
    assert ".py" not in head and message.startswith("OutOfBounds: kernel twice, block (3), thread (4), line ")
