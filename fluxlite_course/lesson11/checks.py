"""Lesson 11, feeding data: checks."""

import copy
import inspect
import itertools
from typing import Any

import numpy as np

import fluxlite as fl
from fluxlite.words import many

from ..kit.exercises import NotRight, brief, exercise
from ..kit.puzzles import puzzle
from ..kit.vocabulary import expect, explaining, function, listed, normal, number, refuse, wrong_if
from ..kit.watching import look, unchanged
from .training import loss, network


@exercise("11.1", "batches and copies, predicted", look_at="section 2: what each way copies")
def batches_and_copies(batches, copies_of_gpu_loader, copies_of_all_first):
    data = np.zeros((1438, 2), np.float32), np.zeros((1438, 1), np.float32)
    options: dict = {"batchsize": 100, "shuffle": True, "rng": 0}
    count = len(fl.DataLoader(data, **options))
    each = _copies(lambda: fl.gpu(fl.DataLoader(data, **options)))
    first = _copies(lambda: fl.DataLoader(fl.gpu(data), **options))
    left = {
        "14 batches leave 38 observations, which make a batch of their own": count - 1,
        "that's for three epochs; how many are in one?": count * 3,
    }
    expect(number(batches, "batches"), count, "not that many batches", left, yours=batches,
           expected="1,438 observations, at most 100 in each")  # fmt: skip
    expect(number(copies_of_gpu_loader, "the number of copies"), each, "not that many copies by gpu(loader)", {
        "that's one epoch; there are three": count * 2,
        "the last batch of each epoch, with what's left over, travels too": (count - 1) * 6,
        "a batch is two arrays, x and y: two copies": count * 3,
    }, yours=f"{copies_of_gpu_loader} copies by gpu(DataLoader(…))", expected="batches × arrays × epochs")  # fmt: skip
    expect(number(copies_of_all_first, "the number of copies"), first, "not that many copies by the other way", {
        "X and Y are two copies; but each epoch's order, which the host draws, has to travel too": 2,
        "X and Y travel once, not in each epoch; what does travel in each epoch?": 6,
        "those are the orders of three epochs; X and Y travel, too": 3,
        "X and Y are two arrays: two copies": 1 + 3,
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


_ROWS, _COLUMNS, _BATCH = 10_240, 3072, 2048


@puzzle("11-1", counts="seconds", par=30e-3)
def feed(feed):
    function(feed, "feed")
    _check_small(feed)
    pictures = np.zeros((_ROWS, _COLUMNS), np.float32), np.zeros((_ROWS, 10), np.float32)
    model = network(_COLUMNS, 1024)
    batches: list[Any] = []

    def epoch(model, opt_state):
        batches.clear()
        for x, y in feed(pictures, _BATCH):
            batches.append([(x.shape, str(x.dtype)), (y.shape, str(y.dtype))])
            (grad,) = fl.gradient(lambda m, x=x, y=y: loss(m, x, y), model)
            fl.update(opt_state, model, grad)

    state = fl.setup(fl.Adam(0.003), model)
    seen = fl.estimate(epoch, model, state, like="NVIDIA T4", shapes_only=True).receipt
    _check_epoch(batches, seen.host_to_device.bytes, sum(array.nbytes for array in pictures))
    return seen


def _check_small(feed):
    """Raises `NotRight` unless a few numbers come in the right batches, in order, as float32, on the GPU."""
    small = np.arange(20, dtype=np.float32).reshape(10, 2), np.arange(10, dtype=np.float32).reshape(10, 1)
    wanted = [tuple(array.copy() for array in batch) for batch in fl.DataLoader(small, batchsize=4)]
    batches = listed(feed(tuple(array.copy() for array in small), 4))
    found = [listed(batch) for batch in batches or []]
    several = len(found) == len(wanted) and all(batch is not None and len(batch) == 2 for batch in found)
    yours = brief(batches) if batches is None else many(len(found), "batch", "batches")
    wrong_if(not several, "feed gives batches, each a pair (x, y)", yours, f"{len(wanted)} batches")
    for got, batch in zip(found, wanted):
        for array, right in zip(got, batch):
            expect(array, right, "a batch's numbers are wrong", where="a batch is on the CPU, and the model on the GPU")
            wrong_if(array.dtype != right.dtype, "the numbers have another type", array.dtype, right.dtype)


def _check_epoch(batches, travelled, needed):
    """Raises `NotRight` unless a whole epoch was fed, and all of its numbers came over."""
    x, y = ((_BATCH, _COLUMNS), "float32"), ((_BATCH, 10), "float32")
    rows = sum(shape[0] for (shape, _), _ in batches)
    wrong_if(rows != _ROWS, f"an epoch has all {_ROWS:,} images", f"{rows:,} images", f"{_ROWS:,} images")
    different = [batch for batch in batches if batch != [x, y]]
    words = f"each batch has {_BATCH:,} images, float32"
    wrong_if(different, words, str(different[:1])[1:-1], str([x, y]))
    words = "not all numbers came to the GPU in this epoch: each image travels, as float32"
    wrong_if(travelled < needed, words, f"{travelled:,} bytes", f"{needed:,} bytes")


@exercise("11.2", "each number travels once", look_at="the receipt of one epoch: bytes to the GPU")
def train_epoch(train_epoch):
    function(train_epoch, "train_epoch")
    # As many columns as make each kind of mistake travel another number of bytes.
    (X,), labels = normal(5, (150, 5)), np.arange(150) % 4
    Y = fl.onehotbatch(labels, range(4))
    _check_parameters(train_epoch, X, Y)
    first: Any = None
    for batchsize in (None, 40):  # without one it's 64
        seen, is_on_host = _one_epoch(train_epoch, X, Y, batchsize)
        _check_copies(seen, X, Y, -(-len(X) // (batchsize or 64)))
        words = "gradients went through a model on the CPU: train the one that's on the GPU"
        wrong_if(is_on_host, words)
        first = first or seen
    travelled, copies = first.host_to_device.bytes, many(first.host_to_device.count, "copy", "copies")
    return f"the same steps; the check's own small data set travels once: {travelled:,} bytes, in {copies}"


def _check_parameters(train_epoch, X, Y):
    try:
        inspect.signature(train_epoch).bind(None, None, X, Y, 40)
        inspect.signature(train_epoch).bind(None, None, X, Y)
    except TypeError:
        words = "train_epoch takes what it took before: model, opt_state, X, Y, batchsize=64"
        raise NotRight(words, brief(train_epoch)) from None
    except ValueError:  # it doesn't say what it takes
        return


def _one_epoch(train_epoch, X, Y, batchsize):
    """The receipt of an epoch, and whether it computed gradients on the host. Raises `NotRight` for wrong weights."""
    where, _, learning = look()
    made = fl.Chain(fl.Dense(5, 4, rng=np.random.default_rng(5)), where)
    model = fl.gpu(made)
    X, Y = X.copy(), Y.copy()
    opt_state = fl.setup(fl.Descent(0.3), model)
    more = [] if batchsize is None else [batchsize]
    stayed = explaining({"CPU": "a batch stayed on the host, and the model is on the GPU"})
    with unchanged("train_epoch", X=X, Y=Y), fl.receipt() as r, stayed:
        train_epoch(model, opt_state, X, Y, *more)
    is_on_host = "CPU" in learning  # so far: what's right is computed there, too
    size = batchsize or 64
    batches = [slice(first, min(first + size, len(X))) for first in range(0, len(X), size)]
    usual = [slice(0, 64), slice(64, 128), slice(128, 150)]
    slips = {
        "the model that you were given hasn't learned: its weights are as before": fl.destructure(made)[0],
        "the last, smaller batch is left out": _weights(made, X, Y, batches[:-1]),
        "these are the steps of a single batch with all the data": _weights(made, X, Y, [slice(None)]),
    }
    if batchsize is not None:
        slips["the batches have 64 observations, whatever batchsize is"] = _weights(made, X, Y, usual)
    before = "" if batchsize is None else f"with batchsize={batchsize}, "
    words = "the model has learned something different from the loop above: take the same batches, in the same order"
    expect(fl.cpu(fl.destructure(model)[0]), _weights(made, X, Y, batches), words, slips, before=before,
           rtol=0, atol=1e-5, yours="", expected="")  # fmt: skip
    return r, is_on_host


def _check_copies(seen, X, Y, batches):
    """Raises `NotRight` unless each number travels once."""
    back, travelled, copies = seen.device_to_host.bytes, seen.host_to_device.bytes, seen.host_to_device.count
    needed, each = X.nbytes + Y.nbytes, 100 * batches

    def is_near(nbytes):
        return abs(travelled - nbytes) < 0.05 * needed

    refuse({
        "something large comes back to the host": back > each,
        "X didn't come to the GPU: is all of it computed on the host?": travelled < 0.9 * X.nbytes,
        "all the data travels for each batch: gpu(X)[…] moves X, and then cuts": is_near(batches * needed),
        "X still travels as a whole for each batch": is_near(batches * X.nbytes + Y.nbytes),
        "Y still travels as a whole for each batch": is_near(X.nbytes + batches * Y.nbytes),
        "more travels than X and Y: some numbers come more than once": travelled > 1.2 * needed,
    }, f"{travelled:,} bytes to the GPU, in {copies} copies, {back:,} back", f"{needed:,}, none back")  # fmt: skip


def _weights(made, X, Y, slices):
    """All weights after a step with each slice, on the host."""
    model = copy.deepcopy(made)
    fl.train(loss, model, [(X[part], Y[part]) for part in slices], fl.setup(fl.Descent(0.3), model), progress=False)
    return fl.destructure(model)[0]
