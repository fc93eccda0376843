"""Lesson 13, saving and sharing: checks."""

import tempfile
from pathlib import Path

import numpy as np

import fluxlite as fl

from ..kit.exercises import exercise
from ..kit.vocabulary import described, explained, is_number, on_cpu, refuse, same, wrong_if


@exercise("13.1", "a file of any size", look_at="load(path) without a target: what is in the file?")
def restore(restore):
    with tempfile.TemporaryDirectory() as folder:
        for hidden in (5, 7):
            path = Path(folder, f"{hidden}.safetensors")
            rng = np.random.default_rng(hidden)
            saved = fl.Chain(fl.Dense(64, hidden, fl.relu, rng=rng), fl.Dense(hidden, 10, rng=rng))
            fl.save(path, model=saved, hidden=hidden)
            words = f"a file with hidden={hidden} does not fit into the model that you build"
            with explained({"the source has shape": words}, f"Dense(64, {hidden}, …), Dense({hidden}, 10)"):
                model = restore(path)
            is_chain = isinstance(model, fl.Chain)
            wrong_if(not is_chain, "restore should return the model", described(model), "a Chain")
            names = [(i, name) for i in range(2) for name in ("weight", "bias")]
            arrays, wanted = ([getattr(layers[i], name, np.nan) for i, name in names] for layers in (model, saved))
            equal = all(np.array_equal(fl.cpu(a), b) for a, b in zip(arrays, wanted))
            x = rng.standard_normal((3, 64)).astype(np.float32)
            refuse({
                "the numbers of the model are not those of the file: load(path, model=model)": not equal,
                "the numbers are right, but the model computes something else. A file has no functions: where is relu?":
                    equal and not same(model(x if on_cpu(arrays[0]) else fl.gpu(x)), saved(x)),
            })  # fmt: skip
    return "files of two sizes are read, each into a model that fits"


@exercise("13.2", "the best of all epochs", look_at="the two cases: what is in the file, and what is returned")
def save_best(save_best):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "best.safetensors")
        model, best, kept = fl.gpu(fl.Chain(fl.Dense(2, 1))), np.inf, 0.0
        for number, loss in enumerate((2.0, 1.0, 1.5, 1.0, np.nan, 0.5), 1):
            model[0].weight[...] = float(number)
            given, better = save_best(path, model, loss, best), loss < best
            best, kept = (loss, float(number)) if better else (best, kept)
            wrong_if(not path.exists(), f"no file was written at the first loss, {loss}, which is smaller than inf")
            contents = fl.load(path)
            wrong_if("model" not in contents, "in the file there is nothing called model", ", ".join(contents))
            other = float(contents["model"]["layers"][0]["weight"][0, 0]) != kept
            refuse({
                "save_best returned None": given is None,
                f"the loss, {loss}, is the smallest so far, but the file was not written": other and better,
                f"the loss, {loss}, is no smaller than the best so far, but the file was written":
                    other and loss == best,
                f"the loss, {loss}, is not the smallest, but the file was written": other,
                f"after a loss of {loss} it didn't return the best so far": not is_number(given) or given != best,
                "the model was on the GPU, and now it's on the CPU": on_cpu(model[0].weight),
            }, f"{given} was returned", best)  # fmt: skip
    return "six epochs, two of them equally good, one nan: the file holds the best, and the best loss is returned"


@exercise("13.3", "arrays and bytes of a file, predicted", look_at="section 6: a tie; and which arrays were moved")
def arrays_and_bytes(arrays, nbytes):
    from safetensors.numpy import load_file

    weight = np.ones((32, 64), np.float32)
    encoder = fl.Dense.of(weight, np.zeros(32, np.float32), fl.relu)
    decoder = fl.Dense.of(weight.T, np.zeros(64, np.float32))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "all.safetensors")
        fl.save(path, model=fl.gpu(fl.Chain(encoder, decoder)), losses=np.zeros(100), epoch=3)
        stored = load_file(path)
    count, size = len(stored), sum(x.nbytes for x in stored.values())
    refuse({
        "W and W.T are a tie, so they're stored once": (arrays, nbytes) == (5, size + weight.nbytes),
        "epoch is a number, no array: it's in the text at the beginning of the file":
            arrays == 5 and nbytes in (size + 4, size + 8),
        "losses are in the file, too": arrays == 3,
        "not that many arrays": arrays != count,
        "losses were never moved to a GPU, so they're still float64: 8 bytes each": nbytes == size - 400,
        "the model is float32, 4 bytes for each number": nbytes == 2 * size - 800,
        "the number of arrays is right, the bytes are not: add numbers × bytes for each": nbytes != size,
    }, f"{arrays} arrays, {nbytes} bytes", "weights, biases, losses; a tie counts once, a number never")  # fmt: skip
    return f"{count} arrays, {size:,} bytes: the weight once, two biases, 100 losses of 8 bytes"


@exercise("13.4", "a training goes on", look_at="section 5: the table of what is left out")
def take_up(take_up):
    whole, half, run = _run(1), _run(1), _run(2)
    _epochs(whole, 4)
    _epochs(half, 2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "half.safetensors")
        fl.save(path, **half, epoch=2)
        epoch = take_up(path, **run)
        saved = fl.load(path)
    model, opt_state = (fl.state(fl.cpu(run[name])) for name in ("model", "opt_state"))
    refuse({
        "the model that you got hasn't got the file's weights: load(path, model=model)":
            not _equal(model, saved["model"]),
        "the optimizer's memory that you got is still new: Adam has forgotten the past gradients":
            not _equal(opt_state, saved["opt_state"]),
        "the loader's generator is still new: the batches come in another order":
            not _equal(run["loader"].rng.bit_generator.state, saved["loader"]),
        "it didn't return the number of epochs that are done": not is_number(epoch) or epoch != 2,
    }, f"{described(epoch)} was returned", "2, and the file's contents in the objects themselves")  # fmt: skip
    _epochs(run, 4 - epoch)
    words = "the weights at the end are not those of a training that never stopped"
    wrong_if(not _equal(fl.state(fl.cpu(run["model"])), fl.state(fl.cpu(whole["model"]))), words)
    return "two epochs, a file, two epochs more: equal to four epochs, bit for bit"


def _run(seed):
    data = np.random.default_rng(0).standard_normal((40, 3)).astype(np.float32)
    rng = np.random.default_rng(seed)
    model = fl.gpu(fl.Chain(fl.Dense(3, 4, np.tanh, rng=rng), fl.Dense(4, 3, rng=rng)))
    loader = fl.gpu(fl.DataLoader((data, data[:, ::-1].copy()), batchsize=16, shuffle=True, rng=seed))
    return {"model": model, "opt_state": fl.setup(fl.Adam(0.01), model), "loader": loader}


def _epochs(run, count):
    fl.train(lambda m, x, y: fl.mse(m(x), y), run["model"], run["loader"], run["opt_state"], count, progress=False)


def _equal(x, y):
    if isinstance(x, dict) and isinstance(y, dict):
        return x.keys() == y.keys() and all(_equal(x[key], y[key]) for key in x)
    if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
        return len(x) == len(y) and all(map(_equal, x, y))
    return bool(np.array_equal(x, y))
