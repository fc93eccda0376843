"""A training run with everything random in it, to run whole, stop, kill, interrupt and resume.

``python trainings.py path how [step]`` runs it in its own process and prints its fingerprint.
"""

import hashlib
import json
import os
import signal
import sys

import numpy as np

import fluxlite as fl
from fluxlite.devices import CPU

EPOCHS, BATCHES = 3, 5


def make(kind="cpu", seed=0):
    """Model, optimizer state and data on the CPU or a simulated GPU. Another seed changes the numbers everywhere."""
    X = np.random.default_rng(5).random((18, 3)).astype(np.float32)
    Y = X.sum(axis=1, keepdims=True)
    rng = np.random.default_rng(seed)
    model = fl.Chain(fl.Dense(3, 6, fl.rrelu, rng=rng), fl.Dense(6, 1, rng=rng))
    data = fl.DataLoader(
        (X, Y), batchsize=4, shuffle=True, rng=np.random.default_rng(seed + 1), parallel="parallel" in kind
    )
    CPU.seed(seed + 2)
    if "gpu" in kind:
        fl.simulate_gpu()
        fl.devices.gpu_device().seed(seed + 3)
        model, data = fl.gpu(model), fl.gpu(data)
    return model, fl.setup(fl.Adam(0.05), model), data


def loss(m, x, y):
    return fl.mse(m(x), y)


def fingerprint(model, opt_state, history):
    """It's another one if a single bit of the parameters, the optimizer's memory or a loss is different."""
    digest = hashlib.sha256()
    for leaf in fl.leaves((fl.cpu(model), fl.cpu(opt_state), history.losses, history.epoch_losses)):
        if not callable(leaf):
            digest.update(leaf.tobytes() if isinstance(leaf, np.ndarray) else repr(leaf).encode())
    return digest.hexdigest()


def run(path, how, step=0, kind="cpu", seed=0, **options):
    model, opt_state, data = make(kind, seed)

    def each_step(history):
        if history.steps == step and how == "interrupt":
            signal.raise_signal(signal.SIGINT)
        if history.steps == step and how == "kill":
            os._exit(7)  # no `finally`, no saving
        return how == "stop" and history.steps == step

    history = fl.train(
        loss, model, data, opt_state, EPOCHS, each_step=each_step, progress=False, checkpoint=path,
        resume=how == "resume", overwrite=how != "resume", **options,
    )  # fmt: skip
    return fingerprint(model, opt_state, history), history


if __name__ == "__main__":
    path, how, step, kind, seed = sys.argv[1:]
    found, history = run(path, how, int(step), kind, int(seed))
    print(json.dumps({"fingerprint": found, "steps": history.steps, "stopped": history.stopped}))
