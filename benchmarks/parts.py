"""Models of many parts: what it takes to print, explain, save and load 100 layers, and to move 10,000 arrays.

Little is computed here, so what's timed is our own way through the parts. PyTorch is beside it where it has the like.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .harness import Benchmark, Contender, Judgement
from .harness import report as report_race

LAYERS, WIDTH, ARRAYS = 100, 16, 10_000
FOLDER = tempfile.TemporaryDirectory()  # until the process ends
Result = Sequence[Any]  # what came out, and what should have


def of_fluxlite() -> tuple[Any, Callable, Callable]:
    """A model, and how it's saved to a path and loaded from one."""
    import fluxlite as fl

    model = fl.Chain(*[fl.Dense(WIDTH, WIDTH, np.tanh) for _ in range(LAYERS)])
    return model, lambda path: fl.save(path, model=model), lambda path: fl.load(path, model=model)


def of_torch() -> tuple[Any, Callable, Callable]:
    import torch

    model = torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])
    return (
        model, lambda path: torch.save(model.state_dict(), path),
        lambda path: model.load_state_dict(torch.load(path)),
    )  # fmt: skip


def printing(library: Callable, name: str) -> Callable[[], Result]:
    model, *_ = library()
    return lambda: (repr(model).count(name) > 1, True)


def explaining() -> Callable[[], Result]:
    import fluxlite as fl

    model, *_ = of_fluxlite()
    return lambda: (str(fl.explain(model)).count(".weight"), LAYERS)


def saving(library: Callable) -> Callable[[], Result]:
    _, save, _ = library()
    path = Path(FOLDER.name, f"{library.__name__}-saved")

    def run() -> Result:
        save(path)
        return path.stat().st_size > 4 * LAYERS * WIDTH * WIDTH, True

    return run


def loading(library: Callable) -> Callable[[], Result]:
    (saved, save, _), (model, _, load) = library(), library()
    path = Path(FOLDER.name, f"{library.__name__}-loaded")
    save(path)

    def run() -> Result:
        load(path)
        return [last.detach().numpy() if library is of_torch else last for last in (model[-1].weight, saved[-1].weight)]

    return run


def moving() -> Callable[[], Result]:
    import fluxlite as fl

    fl.simulate_gpu()
    arrays = [np.ones(1, np.float32) for _ in range(ARRAYS)]
    return lambda: (len(fl.gpu(arrays)), ARRAYS)


def check(result: object) -> str:
    got, expected = result  # type: ignore[misc]
    return "" if np.array_equal(got, expected) else "refused: something else came out"


PRINT, EXPLAIN, SAVE, LOAD = (f"{what}, {LAYERS} layers" for what in ("repr", "explain", "save", "load"))
MOVE = f"gpu, simulated, {ARRAYS:,} arrays"
TORCH = ", PyTorch"
BENCHMARK = Benchmark(
    title="Models of many parts",
    contenders=(
        Contender(PRINT + TORCH, lambda: printing(of_torch, "Linear("), LAYERS),
        Contender(PRINT, lambda: printing(of_fluxlite, "Dense("), LAYERS),
        Contender(EXPLAIN, explaining, LAYERS),
        Contender(SAVE + TORCH, lambda: saving(of_torch), LAYERS),
        Contender(SAVE, lambda: saving(of_fluxlite), LAYERS),
        Contender(LOAD + TORCH, lambda: loading(of_torch), LAYERS),
        Contender(LOAD, lambda: loading(of_fluxlite), LAYERS),
        Contender(MOVE, moving, ARRAYS),
    ),
    reference=SAVE + TORCH,
    bars=(),
    check=check,
    steps=1,
)


def report(rounds: int) -> list[Judgement]:
    return report_race(__name__, rounds)
