"""Models of many parts: what it takes to print, explain, save and load 100 layers, and to move 10,000 arrays.

Little is computed here, so what's timed is our own way through the parts. PyTorch is beside it where it has the like.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .harness import Benchmark, Contender, Judgement
from .harness import report as report_race

LAYERS, WIDTH, ARRAYS = 100, 16, 10_000
FOLDER = tempfile.TemporaryDirectory()  # until the process ends
SAVED, SAVED_TORCH, LOADED, LOADED_TORCH = (Path(FOLDER.name, str(i)) for i in range(4))
Result = tuple[Any, Any]  # what came out, and what should have


def fluxlite_model() -> Any:
    import fluxlite as fl

    return fl.Chain(*[fl.Dense(WIDTH, WIDTH, np.tanh) for _ in range(LAYERS)])


def torch_model() -> Any:
    import torch

    return torch.nn.Sequential(*[torch.nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)])


def printing(make_model: Callable[[], Any], name: str) -> Callable[[], Callable[[], Result]]:
    def make() -> Callable[[], Result]:
        model = make_model()
        return lambda: (repr(model).count(name) > 1, True)

    return make


def explaining() -> Callable[[], Result]:
    import fluxlite as fl

    model = fluxlite_model()
    return lambda: (str(fl.explain(model)).count(".weight"), LAYERS)


def saving() -> Callable[[], Result]:
    import fluxlite as fl

    model = fluxlite_model()

    def run() -> Result:
        fl.save(SAVED, model=model)
        return SAVED.stat().st_size > 4 * LAYERS * WIDTH * WIDTH, True

    return run


def saving_torch() -> Callable[[], Result]:
    import torch

    model = torch_model()

    def run() -> Result:
        torch.save(model.state_dict(), SAVED_TORCH)
        return SAVED_TORCH.stat().st_size > 4 * LAYERS * WIDTH * WIDTH, True

    return run


def loading() -> Callable[[], Result]:
    import fluxlite as fl

    saved, model = fluxlite_model(), fluxlite_model()
    fl.save(LOADED, model=saved)

    def run() -> Result:
        fl.load(LOADED, model=model)
        return model[-1].weight, saved[-1].weight

    return run


def loading_torch() -> Callable[[], Result]:
    import torch

    saved, model = torch_model(), torch_model()
    torch.save(saved.state_dict(), LOADED_TORCH)

    def run() -> Result:
        model.load_state_dict(torch.load(LOADED_TORCH))
        return model[-1].weight.detach().numpy(), saved[-1].weight.detach().numpy()

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
        Contender(PRINT + TORCH, printing(torch_model, "Linear("), LAYERS),
        Contender(PRINT, printing(fluxlite_model, "Dense("), LAYERS),
        Contender(EXPLAIN, explaining, LAYERS),
        Contender(SAVE + TORCH, saving_torch, LAYERS),
        Contender(SAVE, saving, LAYERS),
        Contender(LOAD + TORCH, loading_torch, LAYERS),
        Contender(LOAD, loading, LAYERS),
        Contender(MOVE, moving, ARRAYS),
    ),
    reference=SAVE + TORCH,
    bars=(),
    check=check,
    steps=1,
)


def report(rounds: int) -> list[Judgement]:
    return report_race(__name__, rounds)
