"""Lesson 12, saving and sharing: checks."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import fluxlite as fl

from ..exercises import NotRight, exercise

# -- 12.1 ---------------------------------------------------------------------------------------------------------


@exercise("12.1", "a file of any size", look_at="load(path) without a target: what is in the file?")
def restore(restore: Any) -> str:
    with tempfile.TemporaryDirectory() as folder:
        for hidden in (5, 7):
            _check_restored(restore, Path(folder, f"{hidden}.safetensors"), hidden)
    return "files of two sizes are read, each into a model that fits"


def _check_restored(restore: Any, path: Path, hidden: int) -> None:
    rng = np.random.default_rng(hidden)
    saved = fl.Chain(fl.Dense(64, hidden, fl.relu, rng=rng), fl.Dense(hidden, 10, rng=rng))
    fl.save(path, model=saved, hidden=hidden)
    try:
        model = restore(path)
    except ValueError as error:
        if "the source has shape" not in str(error):
            raise
        message = f"a file with hidden={hidden} does not fit into the model that you build"
        raise NotRight(message, yours=error, expected=f"Dense(64, {hidden}, …), Dense({hidden}, 10)") from None
    if not isinstance(model, fl.Chain):
        what = "None" if model is None else f"a {type(model).__name__}"
        raise NotRight("restore should return the model", what, "a Chain with the file's numbers")
    arrays = [getattr(model[i], name, None) for i in range(2) for name in ("weight", "bias")]
    wanted = [getattr(saved[i], name) for i in range(2) for name in ("weight", "bias")]
    if not all(np.array_equal(fl.cpu(a), b) for a, b in zip(arrays, wanted)):
        raise NotRight("the numbers of the model are not those of the file", "other weights", "load(path, model=model)")
    x = rng.standard_normal((3, 64)).astype(np.float32)
    x_there = fl.gpu(x) if fl.device_of(arrays[0]) != fl.get_device("CPU") else x
    if not np.allclose(fl.cpu(model(x_there)), saved(x), atol=1e-5):
        raise NotRight(
            "the numbers are right, but the model computes something else. A file holds no functions: where is relu?"
        )


# -- 12.2 ---------------------------------------------------------------------------------------------------------


@exercise("12.2", "the best of all epochs", look_at="the two cases: what is in the file, and what is returned")
def save_best(save_best: Any) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "best.safetensors")
        model = fl.gpu(fl.Chain(fl.Dense(2, 1)))
        best, kept = np.inf, 0.0
        for number, loss in enumerate((2.0, 1.0, 1.5, 1.0, np.nan, 0.5), 1):
            model[0].weight[...] = float(number)
            given = save_best(path, model, loss, best)
            better = loss < best
            if better:
                best, kept = loss, float(number)
            _check_best(path, loss, best, kept, better)
            _check_returned(given, loss, best)
            if fl.device_of(model[0].weight) == fl.get_device("CPU"):
                raise NotRight("the model was on the GPU, and now it's on the CPU")
    return "six epochs, two of them equally good, one nan: the file holds the best, and the best loss is returned"


def _check_best(path: Path, loss: float, best: float, kept: float, better: bool) -> None:
    if not path.exists():
        raise NotRight(f"no file was written at the first loss, {loss}, which is smaller than inf")
    contents = fl.load(path)
    if "model" not in contents:
        raise NotRight("in the file there is nothing called model", ", ".join(contents), "save(path, model=model)")
    found = float(contents["model"]["layers"][0]["weight"][0, 0])
    if found != kept and better:
        raise NotRight(f"the loss, {loss}, is the smallest so far, but the file was not written")
    if found != kept and loss == best:
        raise NotRight(f"the loss, {loss}, is no smaller than the best so far, but the file was written")
    if found != kept:
        raise NotRight(f"the loss, {loss}, is not the smallest, but the file was written")


def _check_returned(given: Any, loss: float, best: float) -> None:
    if given is None:
        raise NotRight("save_best returned None", None, f"{best}, the best loss so far")
    if isinstance(given, bool) or not np.isscalar(given) or given != best:
        raise NotRight(f"after a loss of {loss} it didn't return the best so far", given, best)


# -- 12.3 ---------------------------------------------------------------------------------------------------------


@exercise("12.3", "arrays and bytes of a file, predicted", look_at="section 6: a tie; and which arrays were moved")
def arrays_and_bytes(arrays: Any, nbytes: Any) -> str:
    from safetensors.numpy import load_file

    weight = np.ones((32, 64), np.float32)
    encoder = fl.Dense.of(weight, np.zeros(32, np.float32), fl.relu)
    decoder = fl.Dense.of(weight.T, np.zeros(64, np.float32))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "all.safetensors")
        fl.save(path, model=fl.gpu(fl.Chain(encoder, decoder)), losses=np.zeros(100), epoch=3)
        stored = load_file(path)
    wanted = len(stored), sum(x.nbytes for x in stored.values())
    if (arrays, nbytes) == wanted:
        return f"{wanted[0]} arrays, {wanted[1]:,} bytes: the weight once, two biases, 100 losses of 8 bytes"
    yours = f"{arrays} arrays, {nbytes} bytes"
    if arrays == 5 and nbytes == wanted[1] + weight.nbytes:
        raise NotRight("W and W.T are a tie, so they're stored once", yours)
    if arrays == 5 and nbytes in (wanted[1] + 4, wanted[1] + 8):
        raise NotRight("epoch is a number, no array: it's in the text at the beginning of the file", yours)
    if arrays == 3:
        raise NotRight("losses are in the file, too", yours)
    if arrays != wanted[0]:
        raise NotRight(
            "not that many arrays", yours, "weights, biases and losses; a tie counts once, a number not at all"
        )
    if nbytes == wanted[1] - 400:
        raise NotRight("losses were never moved to a GPU, so they're still float64: 8 bytes each", yours)
    if nbytes == 2 * wanted[1] - 800:
        raise NotRight("the model is float32, 4 bytes for each number", yours)
    raise NotRight("the number of arrays is right, the bytes are not", yours, "numbers × bytes for each, added")


# -- 12.4 ---------------------------------------------------------------------------------------------------------


@exercise("12.4", "a training goes on", look_at="section 5: the table of what is left out")
def take_up(take_up: Any) -> str:
    whole = _run(1)
    _epochs(whole, 4)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "half.safetensors")
        half = _run(1)
        _epochs(half, 2)
        fl.save(path, **half, epoch=2)
        run = _run(2)
        epoch = take_up(path, **run)
        saved = fl.load(path)
    _check_taken_up(run, saved)
    if isinstance(epoch, bool) or epoch != 2:
        yours = epoch if epoch is None or isinstance(epoch, (int, float)) else f"of type {type(epoch).__name__}"
        raise NotRight("it didn't return the number of epochs that are done", yours, 2)
    _epochs(run, 4 - epoch)
    if not _equal(fl.state(fl.cpu(run["model"])), fl.state(fl.cpu(whole["model"]))):
        raise NotRight("the weights at the end are not those of a training that never stopped")
    return "two epochs, a file, two epochs more: equal to four epochs, bit for bit"


def _run(seed: int) -> dict[str, Any]:
    data = np.random.default_rng(0).standard_normal((40, 3)).astype(np.float32)
    rng = np.random.default_rng(seed)
    model = fl.gpu(fl.Chain(fl.Dense(3, 4, np.tanh, rng=rng), fl.Dense(4, 3, rng=rng)))
    loader = fl.gpu(fl.DataLoader((data, data[:, ::-1].copy()), batchsize=16, shuffle=True, rng=seed))
    return {"model": model, "opt_state": fl.setup(fl.Adam(0.01), model), "loader": loader}


def _epochs(run: dict[str, Any], count: int) -> None:
    def loss(m: Any, x: Any, y: Any) -> Any:
        return fl.mse(m(x), y)

    fl.train(loss, run["model"], run["loader"], run["opt_state"], count, progress=False)


def _check_taken_up(run: dict[str, Any], saved: dict[str, Any]) -> None:
    if not _equal(fl.state(fl.cpu(run["model"])), saved["model"]):
        raise NotRight("the model that you got hasn't got the file's weights: load(path, model=model)")
    if not _equal(fl.state(fl.cpu(run["opt_state"])), saved["opt_state"]):
        raise NotRight(
            "the optimizer's memory that you got is still new: Adam has forgotten the past gradients",
            yours="steps so far: 0",
            expected="the memory from the file, in opt_state itself",
        )
    if not _equal(run["loader"].rng.bit_generator.state, saved["loader"]):
        raise NotRight("the loader's generator is still new: the batches come in another order")


def _equal(x: Any, y: Any) -> bool:
    if isinstance(x, dict) and isinstance(y, dict):
        return x.keys() == y.keys() and all(_equal(x[key], y[key]) for key in x)
    if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
        return len(x) == len(y) and all(map(_equal, x, y))
    return bool(np.array_equal(x, y))
