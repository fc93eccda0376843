"""A soak: train, simulate, receipts, checks, save and load, again and again. What's left over would add up.

``python tests/helpers/soak.py 10`` takes ten minutes, and says what memory, threads and open files did. ``nox -s soak``
runs it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from inside import put_aside

import fluxlite as fl
from fluxlite_course import check

MOST = 1.05  # times the memory at the start
WARM_UP = 20  # rounds


def a_round(folder: Path, number: int) -> None:
    """A bit of everything that a learner does, on the CPU and on a simulated GPU."""
    rng = np.random.default_rng(number)
    x = rng.random((64, 3)).astype(np.float32)
    y = x.sum(axis=1, keepdims=True)
    for gpu in (False, True):
        with fl.simulate_gpu() if gpu else contextlib.nullcontext():
            data = fl.DataLoader((x, y), batchsize=8, shuffle=True, parallel=True)
            model = fl.Chain(fl.Dense(3, 16, np.tanh), fl.Dense(16, 1))
            if gpu:
                model, data = fl.gpu(model), fl.gpu(data)
            opt_state = fl.setup(fl.Adam(0.01), model)
            loss = lambda m, x, y: fl.mse(m(x), y)  # noqa: E731
            stop = fl.early_stopping(lambda history: history.losses[-1], 5)
            with fl.receipt() as receipt:
                for resume in (False, True):
                    fl.train(loss, model, data, opt_state, 1 + resume, callbacks=[stop], checkpoint=folder / "run",
                             resume=resume, overwrite=not resume)  # fmt: skip
            repr(receipt)
            with contextlib.suppress(ZeroDivisionError):
                fl.train(loss, model, data, opt_state, each_step=lambda history: 1 / 0)
            fl.save(folder / "model", model=model, rng=rng, epoch=number)
            fl.load(folder / "model", model=model, rng=rng)
            fl.loadmodel(model, fl.load(folder / "model")["model"])
    fl.estimate(lambda a: np.tanh(a @ a), np.ones((16, 16), np.float32), like="NVIDIA T4")
    next(iter(fl.DataLoader(x, parallel=True)))  # a loop that's left at once
    (folder / "damaged").write_bytes((folder / "model").read_bytes()[:-1])
    with contextlib.suppress(ValueError):
        fl.load(folder / "damaged")
    check("02.1", lambda a: a)  # right or wrong, it's looked at


def state() -> dict[str, int]:
    gc.collect()
    return {
        "memory": int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0]) * 1024,  # what's resident
        "threads": threading.active_count(),
        "open files": len(os.listdir("/proc/self/fd")),
        "objects": len(gc.get_objects()),
    }


def soak(seconds: float) -> tuple[dict[str, int], dict[str, int], int]:
    """What there was after the first rounds, what there is in the end, and how many rounds it were."""
    with (
        tempfile.TemporaryDirectory() as folder,
        put_aside(),
        contextlib.chdir(folder),
    ):  # a lesson's progress goes there
        for number in range(WARM_UP):
            a_round(Path(folder), number)
        before, end, number = state(), time.monotonic() + seconds, 0
        while time.monotonic() < end:
            a_round(Path(folder), number)
            number += 1
        return before, state(), number


def verdict(before: dict[str, int], after: dict[str, int]) -> list[str]:
    """What is more than it was, in words; nothing if all is well."""
    found = [name for name in ("threads", "open files") if after[name] > before[name]]
    found += ["memory"] if after["memory"] > MOST * before["memory"] else []
    return [f"{name}: {before[name]:,} before, {after[name]:,} after" for name in found]


if __name__ == "__main__":
    before, after, rounds = soak(float(sys.argv[1]) * 60)
    for name in before:
        print(f"{name}: {before[name]:,} before, {after[name]:,} after {rounds:,} rounds")
    wrong = verdict(before, after)
    print("\n".join(["more than it should be:", *wrong]) if wrong else "all as at the start")
    sys.exit(bool(wrong))
