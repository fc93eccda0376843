"""Lesson 11, feeding data: checks."""

import copy
import itertools

import numpy as np

import fluxlite as fl

from ..kit.exercises import exercise
from ..kit.puzzles import puzzle
from ..kit.vocabulary import expect, explaining, normal, number, refuse, wrong_if
from .training import loss, network


@exercise("11.1", "batches and copies, predicted", look_at="section 2: what each way copies")
def batches_and_copies(batches, copies_of_gpu_loader, copies_of_all_first):
    data = np.zeros((1438, 2), np.float32), np.zeros((1438, 1), np.float32)
    options: dict = {"batchsize": 100, "shuffle": True, "rng": 0}
    count = len(fl.DataLoader(data, **options))
    each = _copies(lambda: fl.gpu(fl.DataLoader(data, **options)))
    first = _copies(lambda: fl.DataLoader(fl.gpu(data), **options))
    left = {"14 batches leave 38 observations, which make a batch of their own": count - 1}
    expect(number(batches, "batches"), count, "not that many batches", left, yours=batches,
           expected="1,438 observations, at most 100 in each")  # fmt: skip
    expect(number(copies_of_gpu_loader, "the number of copies"), each, "not that many copies by gpu(loader)", {
        "that's one epoch; there are three": count * 2,
        "a batch is two arrays, x and y: two copies": count * 3,
    }, yours=f"{copies_of_gpu_loader} copies by gpu(DataLoader(…))", expected="batches × arrays × epochs")  # fmt: skip
    expect(number(copies_of_all_first, "the number of copies"), first, "not that many copies by the other way", {
        "X and Y are two copies; but each epoch's order, which the host draws, has to travel too": 2,
        "X and Y travel once, not in each epoch; what does travel in each epoch?": 6,
        "the batches are made on the GPU, so they don't travel": each,
    }, expected="all data, and three orders",
       yours=f"{copies_of_all_first} copies by DataLoader(gpu((X, Y)), …)")  # fmt: skip
    return f"{count} batches; {each} copies, 2 for each batch; or {first}: X, Y and three orders"


def _copies(make):
    with fl.receipt() as r:
        batches = make()
        for _ in itertools.chain(batches, batches, batches):
            pass
    return r.host_to_device.count


@puzzle("11-1", counts="seconds", par=30e-3)
def feed(feed):
    small = np.arange(20, dtype=np.float32).reshape(10, 2), np.arange(10, dtype=np.float32).reshape(10, 1)
    wanted, found = list(fl.DataLoader(small, batchsize=4)), list(feed(small, 4))
    several = len(found) == len(wanted) and all(isinstance(batch, tuple) and len(batch) == 2 for batch in found)
    wrong_if(not several, "feed gives batches, each a pair (x, y)", f"{len(found)} batches", f"{len(wanted)} batches")
    for got, batch in zip(found, wanted):
        for array, right in zip(got, batch):
            expect(array, right, "a batch's numbers are wrong", where="a batch is on the CPU, and the model on the GPU")
    pictures = np.zeros((10_240, 3072), np.float32), np.zeros((10_240, 10), np.float32)
    model = network(3072, 1024)

    def epoch(model, opt_state):
        for x, y in feed(pictures, 2048):
            (grad,) = fl.gradient(lambda m, x=x, y=y: loss(m, x, y), model)
            fl.update(opt_state, model, grad)

    return fl.estimate(epoch, model, fl.setup(fl.Adam(0.003), model), like="NVIDIA T4", shapes_only=True).receipt


@exercise("11.2", "each number travels once", look_at="the receipt of one epoch: bytes to the GPU")
def train_epoch(train_epoch):
    (X,), labels = normal(5, (150, 6)), np.arange(150) % 3
    Y = fl.onehotbatch(labels, range(3))
    made = fl.Chain(fl.Dense(6, 3, rng=np.random.default_rng(5)))
    model = fl.gpu(made)
    opt_state = fl.setup(fl.Descent(0.3), model)
    with fl.receipt() as r, explaining({"CPU": "a batch stayed on the host, and the model is on the GPU"}):
        train_epoch(model, opt_state, X, Y)
    batches = [slice(0, 64), slice(64, 128), slice(128, 150)]
    words = "the model has learned something different from the loop above: take the same batches, in the same order"
    expect(fl.cpu(model)[0].weight, _weights(made, X, Y, batches), words, {
        "the model that you were given hasn't learned: its weights are as before": made[0].weight,
        "the last, smaller batch is left out": _weights(made, X, Y, batches[:2]),
    }, atol=1e-4, yours="", expected="")  # fmt: skip
    back, travelled, copies = r.device_to_host.bytes, r.host_to_device.bytes, r.host_to_device.count
    needed = X.nbytes + Y.nbytes
    which = "X" if travelled > needed + 1.5 * X.nbytes else "Y"
    refuse({
        "something large comes back to the host": back > 100,
        "all the data travels for each batch: gpu(X)[…] moves X, and then cuts": travelled >= 3 * needed,
        f"{which} still travels as a whole for each batch": travelled > 1.2 * needed,
    }, f"{travelled:,} bytes to the GPU, in {copies} copies, {back:,} back", f"{needed:,}, none back")  # fmt: skip
    return f"the same steps; the check's own small data set travels once: {travelled:,} bytes, in {copies} copies"


def _weights(made, X, Y, slices):
    """The weights after a step with each slice, on the host."""
    model = copy.deepcopy(made)
    fl.train(loss, model, [(X[part], Y[part]) for part in slices], fl.setup(fl.Descent(0.3), model), progress=False)
    return model[0].weight
