"""Two workers on this computer: a sum over both beside mpi4py's own, and a step of an MLP beside PyTorch's DDP (gloo).

Each worker has its own 128 rows, and one thread. Both race the same contenders at the same time; the figures are
worker 0's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from .harness import ROOT, Bar, Benchmark, Contender, Judgement, Measured, judged, race, thread_settings
from .pictures import MLP, ROWS, draw, start, weights

WORKERS, NUMBERS, STEPS = 2, 25_000_000 // 4, 40
FEWEST_ROUNDS = 15
Result = tuple[float, float]  # what came out, and what should have
MPI4PY, DDP = "25 MB, mpi4py's Allreduce", "MLP 784-512-10, PyTorch DDP, gloo"


def worker() -> int:
    from mpi4py import MPI

    return int(MPI.COMM_WORLD.Get_rank())


def zeros() -> np.ndarray:
    return np.zeros(NUMBERS, np.float32)  # whose sum is zeros again, so that it can be added up many times


def mpi4py_allreduce() -> Callable[[], Result]:
    from mpi4py import MPI

    x = zeros()

    def run() -> Result:
        for _ in range(STEPS):
            MPI.COMM_WORLD.Allreduce(MPI.IN_PLACE, x)
        return float(x[-1]), 0.0

    return run


def allreduce() -> Callable[[], Result]:
    from fluxlite import distributed

    x = zeros()

    def run() -> Result:
        for _ in range(STEPS):
            distributed.allreduce(x)
        return float(x[-1]), 0.0

    return run


def rows() -> tuple[np.ndarray, np.ndarray]:
    """This worker's part of a batch."""
    own = slice(worker() * ROWS, (worker() + 1) * ROWS)
    return draw(WORKERS * ROWS, 784)[own], np.eye(10, dtype=np.float32)[np.arange(WORKERS * ROWS) % 10][own]


def mlp() -> Any:
    import fluxlite as fl

    first, second = (
        fl.Dense.of(np.ascontiguousarray(weights(*shape).T), np.zeros(shape[1], np.float32)) for shape in MLP
    )
    return fl.Chain(first, fl.relu, second)


def in_a_loop() -> Callable[[], Result]:
    import fluxlite as fl

    x, y = rows()

    def run() -> Result:
        model = mlp()
        state = fl.setup(fl.distributed.DistributedOptimizer(fl.Adam(0.001)), model)
        for _ in range(STEPS):
            loss, (grads,) = fl.withgradient(lambda model: fl.logitcrossentropy(model(x), y), model)
            fl.update(state, model, grads)
        return fl.distributed.allreduce(float(loss), "mean"), MLP_LOSS

    return run


def by_train() -> Callable[[], Result]:
    import fluxlite as fl

    batch = draw(WORKERS * ROWS, 784), np.eye(10, dtype=np.float32)[np.arange(WORKERS * ROWS) % 10]

    def run() -> Result:
        model = mlp()
        state = fl.setup(fl.Adam(0.001), model)
        history = fl.train(
            lambda model, x, y: fl.logitcrossentropy(model(x), y), model, [batch] * STEPS, state,
            distributed=True, progress=False,
        )  # fmt: skip
        return history.losses[-1], MLP_LOSS

    return run


def ddp() -> Callable[[], Result]:
    import torch
    from torch import distributed, nn

    distributed.init_process_group(
        "gloo", init_method=f"file://{os.environ['MEETING']}", rank=worker(), world_size=WORKERS
    )
    x, y = map(torch.from_numpy, rows())

    def run() -> Result:
        model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))
        start(model, [weights(*shape) for shape in MLP])
        model = nn.parallel.DistributedDataParallel(model)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        total = loss.detach().clone()
        distributed.all_reduce(total)
        return total.item() / WORKERS, MLP_LOSS

    return run


MLP_LOSS = 0.000866893  # after STEPS steps; fluxlite and PyTorch agree


def check(result: object) -> str:
    got, expected = result  # type: ignore[misc]
    return "" if np.allclose(got, expected, rtol=0.001, atol=1e-9) else f"refused: {got}, not {expected}"


BENCHMARK = Benchmark(
    title=f"{WORKERS} workers on this computer",
    contenders=(
        Contender(MPI4PY, mpi4py_allreduce),
        Contender("25 MB, fluxlite's allreduce", allreduce),
        Contender(DDP, ddp),
        Contender("MLP, DistributedOptimizer", in_a_loop),
        Contender("MLP, train(…, distributed=True)", by_train),
    ),
    reference=DDP,
    bars=(
        Bar("25 MB, fluxlite's allreduce", 1.15, MPI4PY),
        Bar("MLP, DistributedOptimizer", 1.15),
        Bar("MLP, train(…, distributed=True)", 1.15),
    ),
    check=check,
    steps=STEPS,
)


def one_worker(rounds: int) -> None:
    """Race on this worker. Worker 0 prints the figures."""
    found = race(BENCHMARK, rounds)
    if worker() == 0:
        print(json.dumps([asdict(row) for row in found]))


def measure(rounds: int) -> list[Measured]:
    from fluxlite.distributed.world import find_mpiexec

    mpiexec = find_mpiexec()
    if mpiexec is None:
        return [Measured(one.name, trouble="mpiexec not installed") for one in BENCHMARK.contenders]
    code = f"from benchmarks.distributed import one_worker; one_worker({rounds})"
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | thread_settings() | {"MEETING": str(Path(folder, "meeting"))}
        done = subprocess.run(
            [mpiexec, "-n", str(WORKERS), sys.executable, "-c", code],
            cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
    return [Measured(**row) for row in json.loads(done.stdout.splitlines()[-1])]


def report(rounds: int) -> list[Judgement]:
    rounds = max(rounds, FEWEST_ROUNDS)
    return judged(BENCHMARK, measure(rounds), rounds)
