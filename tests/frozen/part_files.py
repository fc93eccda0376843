"""Files that fluxlite saves, one of each kind: models, trainings, a learner's record, preferences, measurements.

They lie in files/, in a folder for each version that saved them. All of them must load, whatever version reads them.
Only the measurements are nobody's output.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import runpy
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fluxlite as fl
from fluxlite_course.kit import classroom, progress

FILES = Path(__file__).with_name("files")


@fl.functor
class Tied:
    """A weight and its transpose: one array, so a file has it once."""

    def __init__(self) -> None:
        self.encode = np.zeros((3, 2), np.float32)
        self.decode = self.encode.T

    def __call__(self, x: Any) -> Any:
        return x @ self.decode.T @ self.encode.T


def model() -> Any:
    """Layers with every kind of content: trained or not, tied, without bias, functions."""
    return fl.Chain(
        fl.Conv((2, 2), 1, 2, fl.relu), fl.BatchNorm(2), fl.Dropout(0.5), fl.flatten,
        fl.Dense(8, 3, np.tanh), fl.Dense(3, 2, bias=False), fl.LSTM(2, 2), fl.LayerNorm(2), Tied(),
    )  # fmt: skip


def numbered(x: Any) -> Any:
    """The same model with numbers in its arrays that no processor rounds."""
    count = iter(range(-4, 10**6))

    def filled(a: Any) -> Any:
        is_array = isinstance(a, np.ndarray)
        return (np.arange(a.size).reshape(a.shape) / 8 + next(count)).astype(a.dtype) if is_array else a

    return fl.fmap(filled, x)


def training() -> dict[str, Any]:
    """A model, its optimizer's state, and all else that a training needs."""
    small = numbered(fl.Chain(fl.Dense(2, 2, np.tanh), fl.Dense(2, 1)))
    rule = fl.OptimiserChain(fl.ClipNorm(1.0), fl.WeightDecay(0.01), fl.Adam(eta=0.01))
    return {"model": small, "opt_state": fl.setup(rule, small), "moments": fl.setup(fl.Nesterov(), small),
            "rng": np.random.default_rng(3)}  # fmt: skip


def one_run(path: Path, epochs: int) -> Any:
    """Train so many epochs on a simulated GPU, with a checkpoint; goes on if there is one."""
    with fl.simulate_gpu(False), fl.simulate_gpu():
        small = fl.gpu(numbered(fl.Dense(2, 1)))
        data = fl.DataLoader((np.arange(12, dtype=np.float32).reshape(6, 2) / 8, np.ones((6, 1), np.float32)),
                             batchsize=2, shuffle=True, rng=np.random.default_rng(0))  # fmt: skip
        history = fl.train(
            lambda m, x, y: fl.mse(m(x), y), small, fl.gpu(data), fl.setup(fl.Momentum(0.01), small),
            epochs=epochs, checkpoint=path, resume=True, progress=False,
        )  # fmt: skip
        return history, fl.cpu(small)


@contextlib.contextmanager
def surroundings(folder: Path) -> Iterator[None]:
    """`folder` is the current one, and the place of the learner's record and of preferences."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("FLUXLITE_PROGRESS", str(folder / "progress.json"))
        patched.setenv("FLUXLITE_PROJECT", str(folder))
        patched.delenv("FLUXLITE_GPU_BACKEND", raising=False)
        patched.chdir(folder)
        yield


def quietly(do: Callable, *args: Any) -> str:
    """Call it, and return what it prints, on one line."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        do(*args)
    return " | ".join(" ".join(line.split()) for line in printed.getvalue().splitlines() if line.strip())


def command(*words: str) -> str:
    """``python -m fluxlite`` with these words; what it prints."""

    def run() -> None:
        sys.modules.pop("fluxlite.__main__", None)  # another test may have imported it
        with pytest.MonkeyPatch.context() as patched, contextlib.suppress(SystemExit):
            patched.setattr(sys, "argv", ["fluxlite", *words])
            runpy.run_module("fluxlite", run_name="__main__")

    return quietly(run)


def flat(x: Any, place: str = "") -> Iterator[str]:
    """What's in nested containers, place by place."""
    if isinstance(x, dict):
        for key, value in x.items():
            yield from flat(value, f"{place}[{key!r}]")
    elif isinstance(x, (tuple, list)):
        for i, value in enumerate(x):
            yield from flat(value, f"{place}[{i}]")
    elif isinstance(x, np.ndarray):
        yield f"{place}: {x.dtype}{list(x.shape)} {' '.join(str(value) for value in x.ravel().tolist())}"
    else:
        yield f"{place}: {type(x).__name__ if callable(x) else repr(x)}"


def save(folder: Path) -> None:
    """Save one file of each kind, with the fluxlite that's running, into a new folder."""
    folder.mkdir()
    fl.save(folder / "model.safetensors", model=numbered(model()))
    fl.save(folder / "state.safetensors", state=fl.state(numbered(model())))
    fl.save(folder / "training.safetensors", **_trained(), notes={"pair": (np.arange(3.0), True), "text": "é", "n": 3})
    one_run(folder / "checkpoint.safetensors", 2)
    (folder / "LocalPreferences.toml").write_text('[other]\nx = 1  # "mine"\n', encoding="utf-8")
    shutil.copyfile(FILES / "0.2" / "recorded.json", folder / "recorded.json")
    with surroundings(folder):
        quietly(fl.gpu_backend, "AMDGPU")
        for part, key, value in _DONE:
            progress.keep(part, key, value)
        classroom.handin("Ada Lovelace", folder)
    for lock in folder.glob(".*.lock"):
        lock.unlink()


# What a learner did: right, tried and stopped exercises, two guesses, a puzzle.
_DONE = (
    ("checks", "00.1", "right"), ("checks", "01.2", "stopped"), ("checks", "02.3", "not right"),
    ("guesses", "00-A", "a"), ("guesses", "01-A", "b"), ("puzzles", "07-1", "2"),
)  # fmt: skip


def _trained() -> dict[str, Any]:
    """A training after two steps, so that its optimizers remember something."""
    parts = training()
    x = np.arange(6, dtype=np.float32).reshape(3, 2) / 8
    for _ in range(2):
        for state in ("moments", "opt_state"):
            (grads,) = fl.gradient(lambda m: fl.mse(m(x), x[:, :1]), parts["model"])
            parts[state], parts["model"] = fl.update(parts[state], parts["model"], grads)
    parts["rng"].random(5)
    return parts


def entries(files: Path = FILES) -> dict[str, list[str]]:
    """What each file holds, by what reads it. The files themselves stay as they are."""
    found = {}
    with tempfile.TemporaryDirectory() as temporary:
        for version in sorted(path.name for path in files.iterdir()):
            folder = Path(shutil.copytree(files / version, Path(temporary, version)))
            with surroundings(folder):
                found |= {f"{version}/{file}: {name}": list(texts) for file, name, texts in _read(folder)}
    return found


def _read(folder: Path) -> Iterator[tuple[str, str, Any]]:
    path = {name: folder / f"{name}.safetensors" for name in ("model", "state", "training", "checkpoint")}
    for name in ("model", "training"):
        yield path[name].name, "load(path)", flat(fl.load(path[name]))
        yield path[name].name, "saved again", _saved_again(path[name])
    fl.load(path["model"], one := model())
    yield path["model"].name, "load(path, model)", compared(fl.state(one), fl.load(path["model"])["model"])
    fl.loadmodel(other := model(), fl.load(path["state"])["state"])
    yield path["state"].name, "loadmodel(model, state)", compared(fl.state(other), fl.load(path["model"])["model"])
    yield path["training"].name, "load(path, model=model, …)", _training(path["training"])
    yield path["checkpoint"].name, "train(…, resume=True)", _resumed(path["checkpoint"])
    preset = fl.calibrate(json.loads((folder / "recorded.json").read_text(encoding="utf-8")))
    figures = {name: value for name, value in preset._asdict().items() if isinstance(value, float)}
    yield "recorded.json", "calibrate(recorded)", (f"{name}: {value:.3e}" for name, value in figures.items())
    yield "LocalPreferences.toml", "gpu_backend(…)", _preferences(folder / "LocalPreferences.toml")
    yield "handin-Ada-Lovelace.zip", "fluxlite class", _handed_in(folder)


def compared(one: Any, other: Any) -> list[str]:
    """Whether two are the same, place by place; else what's in the first."""
    found = [*flat(one)]
    return ["the same"] if found == [*flat(other)] else found


def _saved_again(path: Path) -> list[str]:
    again, before = path.with_name("again.safetensors"), fl.load(path)
    fl.save(again, **before)
    return compared(fl.load(again), before)


def _training(path: Path) -> Iterator[str]:
    parts = training()
    fl.load(path, **parts)
    yield f"next: {parts['rng'].random():.6f}"
    for name in ("model", "opt_state", "moments"):
        yield from compared(fl.state(parts[name]), fl.load(path)[name])


def _resumed(path: Path) -> Iterator[str]:
    history, small = one_run(path, 4)
    yield f"{history.epochs} epochs, {history.steps} steps, losses {' '.join(f'{x:.3f}' for x in history.losses)}"
    yield f"weight and bias: {' '.join(f'{x:.3f}' for x in (*small.weight.ravel(), *small.bias))}"


def _preferences(path: Path) -> Iterator[str]:
    yield f"as it is: {path.read_text(encoding='utf-8')!r}"
    for name in ("CPU", None):
        quietly(fl.gpu_backend, name)
        yield f"after gpu_backend({name!r}): {path.read_text(encoding='utf-8')!r}"


def _handed_in(folder: Path) -> Iterator[str]:
    yield command("class", str(folder))
    command("class", str(folder), "--csv")
    with (folder / "class.csv").open(encoding="utf-8-sig", newline="") as file:
        yield from (", ".join(f"{name} {word}" for name, word in row.items() if word) for row in csv.DictReader(file))
