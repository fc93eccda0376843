"""A training of 3 epochs whose worker 1 ends in the middle of the third, by the way that is asked for."""

import os
import signal
import sys
import threading

import numpy as np

import fluxlite as fl
from fluxlite import distributed

how, file = sys.argv[1:3]
distributed.initialize()
rank = distributed.local_rank()
rng = np.random.default_rng(0)
data = fl.DataLoader((rng.standard_normal((16, 3)), rng.standard_normal((16, 1))), batchsize=4)
model = fl.f64(fl.Dense(3, 1))
calls = []


def loss(model, x, y):
    calls.append(1)
    if len(calls) == 10 and rank == 1:
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "raises":
            raise ValueError("planted")
        if how == "exits":
            sys.exit(3)
        if how == "interrupted":
            # To the launcher, as Ctrl-C does. It comes back to all workers.
            os.kill(int(os.environ["LAUNCHER"]), signal.SIGINT)
        if how == "leaves":  # its thread goes on for a while: only mpiexec sees that the process is gone
            threading.Timer(0.1, os._exit, [5]).start()
    if how == "interrupted" and len(calls) == 11:
        signal.sigtimedwait([], 0.3)
    return fl.mse(model(x), y)


history = fl.train(
    loss, model, data, fl.setup(fl.Descent(0.01), model), 50, distributed=True, progress=False, checkpoint=file
)
sys.stdout.write(f"\n@{history.reason} {history.steps}\n")  # one write: the workers' lines don't mix
sys.stdout.flush()
