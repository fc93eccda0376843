"""Lesson 11, feeding data: checks."""

import itertools

import numpy as np

import fluxlite as fl
from fluxlite import simulate_gpu

from ..kit.exercises import exercise
from ..kit.puzzles import puzzle
from ..kit.vocabulary import described, expect, explained, number, on_cpu, refuse, returned, wrong_if

MB = 10**6


@exercise("11.1", "batches and copies, predicted", look_at="sections 2 and 4: the last batch, and what each way copies")
def batches_and_copies(batches, copies_of_gpu_loader, copies_of_all_first):
    data = np.zeros((1438, 2), np.float32), np.zeros((1438, 1), np.float32)
    options: dict = {"batchsize": 100, "shuffle": True, "rng": 0}
    count = len(fl.DataLoader(data, **options))
    each = _copies(lambda: fl.gpu(fl.DataLoader(data, **options)))
    first = _copies(lambda: fl.DataLoader(fl.gpu(data), **options))
    left = {"14 batches leave 38 observations over, which make a batch of their own": count - 1}
    expect(number(batches, "batches"), count, "not that many batches", left, yours=batches,
           expected="1,438 observations, at most 100 in each")  # fmt: skip
    expect(number(copies_of_gpu_loader, "the number of copies"), each, "not that many copies by gpu(loader)", {
        "a batch is two arrays, x and y; and there are three epochs": count,
        "that is one epoch; there are three": count * 2,
        "a batch is two arrays, x and y: two copies": count * 3,
        "that is the other way; gpu(loader) copies each batch, in each epoch again": first,
    }, yours=f"{copies_of_gpu_loader} copies by gpu(DataLoader(…))", expected="batches × arrays × epochs")  # fmt: skip
    expect(number(copies_of_all_first, "the number of copies"), first, "not that many copies by the other way", {
        "X and Y are two copies; but each epoch's order, which the host draws, has to travel too": 2,
        "the three orders are counted; X and Y have to get there too": 3,
        "X and Y travel once, not in each epoch; what does travel in each epoch?": 6,
        "X and Y travel once, not in each epoch": 9,
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
            expect(array, right, "a batch has other numbers", where="a batch is on the CPU, and the model on the GPU")
    pictures = np.zeros((10_240, 3072), np.float32), np.zeros((10_240, 10), np.float32)
    model = fl.Chain(fl.Dense(3072, 1024, fl.relu), fl.Dense(1024, 10))

    def epoch(model, opt_state):
        for x, y in feed(pictures, 2048):
            (grad,) = fl.gradient(lambda m, x=x, y=y: fl.logitcrossentropy(m(x), y), model)
            fl.update(opt_state, model, grad)

    return fl.estimate(epoch, model, fl.setup(fl.Adam(0.003), model), like="NVIDIA T4", shapes_only=True).receipt


@exercise("11.2", "each number travels once", look_at="the receipt of one epoch: bytes to the GPU")
def train_epoch(train_epoch):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((150, 6)).astype(np.float32)
    Y = fl.onehotbatch(rng.integers(0, 3, 150), range(3))
    made = fl.Chain(fl.Dense(6, 3, rng=rng))
    model = fl.gpu(made)
    opt_state, kept = fl.setup(fl.Descent(0.3), model), (X.copy(), Y.copy())
    with fl.receipt() as r, explained({"CPU": "a batch stayed on the host, and the model is on the GPU"}):
        train_epoch(model, opt_state, X, Y)
    wrong_if(not all(map(np.array_equal, (X, Y), kept)), "your function changed the data it was given")
    batches = [slice(0, 64), slice(64, 128), slice(128, 150)]
    slips = {words: _steps(made, X, Y, slices) for words, slices in {
        "the model that you were given hasn't learned: its weights are as before": [],
        "the last, smaller batch is left out": batches[:2],
        "one step with all the data: where are the batches?": [slice(None)],
        "it learns from the first batch only: does something end the loop?": batches[:1],
    }.items()}  # fmt: skip
    words = "the model has learned something else than the loop above: take the same batches, in the same order"
    expect(fl.cpu(model)[0].weight, _steps(made, X, Y, batches), words, slips, atol=1e-4, yours="", expected="")
    back, travelled, copies = r.device_to_host.bytes, r.host_to_device.bytes, r.host_to_device.count
    needed = X.nbytes + Y.nbytes
    which = "X" if travelled > needed + 1.5 * X.nbytes else "Y"
    refuse({
        "something large comes back to the host": back > 100,
        "all the data travels for each batch: gpu(X)[…] moves X, and then cuts": travelled >= 3 * needed,
        f"{which} still travels as a whole for each batch": travelled > 1.2 * needed,
    }, f"{travelled:,} bytes to the GPU, in {copies} copies, {back:,} back", f"{needed:,}, none back")  # fmt: skip
    return f"the same steps; the check's own small data set travels once: {travelled:,} bytes, in {copies} copies"


def _steps(made, X, Y, slices):
    """The weights after these steps."""
    model = fl.fmap(lambda x: x.copy() if isinstance(x, np.ndarray) else x, made)
    opt_state = fl.setup(fl.Descent(0.3), model)
    for these in slices:
        grads = fl.gradient(lambda m: fl.logitcrossentropy(m(X[these]), Y[these]), model)  # noqa: B023
        fl.update(opt_state, model, grads[0])
    return model[0].weight


@exercise("11.3", "a loader in five lines", look_at="one order for the whole epoch, used for X and for Y")
def my_batches(my_batches):
    X = np.arange(20, dtype=np.float32).reshape(10, 2)  # observation i is [2i, 2i + 1], and its label is i
    Y = np.arange(10)
    rng = np.random.default_rng(1)
    orders = [_epoch(my_batches, X, Y, 4, rng) for _ in range(3)]
    refuse({
        "your function changed the data it was given: take rows out of it, and leave it as it is":
            not np.array_equal(X.ravel(), np.arange(20)) or not np.array_equal(Y, np.arange(10)),
        "nothing is shuffled: the epoch has the order of the data": all(order == sorted(order) for order in orders),
        "every epoch has the same order; draw it inside, from the rng you're given":
            orders[0] == orders[1] == orders[2],
        "the same seed gives other orders: draw from rng, and from nothing else":
            _epoch(my_batches, X, Y, 4, np.random.default_rng(1)) != orders[0],
        "only whole batches change places; inside, the order is that of the data":
            all(max(map(abs, np.diff(sorted(order[:4])))) == 1 for order in orders),
    }, f"{orders[0]}, then {orders[1]}", "a random order, a new one at each call")  # fmt: skip
    for batchsize in (5, 64):
        _epoch(my_batches, X, Y, batchsize, rng)
    return "each observation once, with its label, in a new order each epoch; the last batch is smaller"


def _epoch(my_batches, X, Y, batchsize, rng):
    """The labels in the order that they came in. Raises if the epoch isn't correct."""
    made = my_batches(X, Y, batchsize, rng)
    wrong_if(not hasattr(made, "__iter__"), "a loop can't go through what my_batches gives", type(made).__name__)
    found = list(itertools.islice(made, 100))
    wrong_if(len(found) == 100, "it doesn't end: an epoch is one round through the data", "100 batches and more")
    for pair in found:
        _right_pair(pair)
    labels, sizes = [int(label) for _, y in found for label in y], [len(y) for _, y in found]
    twice = min((label for label in labels if labels.count(label) > 1), default=-1)
    wanted = [len(part) for part in np.split(Y, range(batchsize, 10, batchsize))]
    missing = len(set(range(10)) - set(labels))
    refuse({
        f"observation {twice} comes {labels.count(twice)} times: draw an order, not numbers": twice >= 0,
        "the observations that don't fill a batch are left out": missing and missing == 10 % batchsize,
        "some are missing": missing,
        "the small batch is not the last one: do whole batches change places?":
            sizes != wanted and sorted(sizes) == sorted(wanted),
        "the batches have other sizes": sizes != wanted,
    }, f"{labels}, in batches of {sizes}", f"batches of {wanted}")  # fmt: skip
    return labels


def _right_pair(pair):
    is_pair = isinstance(pair, (tuple, list)) and len(pair) == 2
    wrong_if(not is_pair, "a batch is a pair, (x, y)", described(pair), "yield x, y")
    x, y = pair
    rows = all(isinstance(part, np.ndarray) for part in pair) and x.ndim == 2 and y.ndim == 1 and len(x) == len(y)
    refuse({
        "x and y are lists; take the rows out of the arrays, all at once, and you get arrays":
            any(isinstance(part, (list, tuple)) for part in pair),
        "x and y are arrays with one row for each observation": not rows,
    }, f"x {described(x)}, y {described(y)}", "for example shapes (4, 2) and (4,), by x = X[these]")  # fmt: skip
    words = "pictures and labels are mixed up: x and y are not rows of the same numbers"
    mixed = f"x of observations {(x[:, 0] / 2).astype(int).tolist()}, y of {y.tolist()}"
    wrong_if(not np.array_equal(x[:, 0], 2 * y), words, mixed, "the same order for both")


@exercise("11.4", "move first if it fits", look_at="the rule of thumb, and what float64 becomes on the way")
def loader_for(loader_for):
    for what, features, dtype, first in (
        ("small data", 250, np.float32, True),
        ("data larger than the GPU", 2000, np.float32, False),
        ("data of more than half of what's free", 600, np.float32, False),
        ("X of less than half, with Y of more than half", 495, np.float32, False),
        ("float64 data, of half the bytes on the GPU", 400, np.float64, True),
        ("data of exactly half of what's free", 490, np.float32, True),
    ):
        X, Y, free = np.ones((1000, features), dtype), np.ones((1000, 10), dtype), 4 * MB
        X[:, 0] = np.arange(1000)
        there = f"{4 * X.size / MB:g} on the GPU, Y 0.04; {free / MB:g} MB free"
        about = f"{what}: X has {X.nbytes / MB:g} MB on the host, {there}"
        full = {"out of memory": f"the GPU is out of memory. {about}"}
        with simulate_gpu(False), simulate_gpu(like="NVIDIA T4", memory=free + MB), fl.receipt() as r, explained(full):
            batches = returned(loader_for(X, Y, 100, free), "loader_for", "the loader: return it")
            orders = [[_checked_batch(batch, about) for batch in batches] for _ in range(2)]
        numbers = np.concatenate([np.concatenate(order) for order in orders])
        moved_first = r.host_to_device.count < 10
        refuse({
            "an epoch's batches don't have each observation once": sorted(numbers) != sorted([*range(1000)] * 2),
            "the loader doesn't shuffle": all(np.array_equal(np.concatenate(one), np.arange(1000)) for one in orders),
            f"{len(orders[0])} batches of 1,000: they don't have batchsize observations": len(orders[0]) != 10,
        }, about)  # fmt: skip
        half = f"{4 * (X.size + Y.size) / MB:g} MB there, {free / 2 / MB:g} MB is half"
        wrong_if(moved_first != first, about, f"moved first: {'yes' if moved_first else 'no'}", half)
    return "moved first where it fits into half of what's free, batch by batch where it doesn't"


def _checked_batch(batch, about):
    pair = isinstance(batch, tuple) and len(batch) == 2
    wrong_if(not pair, "a batch is a pair, (x, y)", type(batch).__name__, about)
    wrong_if(any(map(on_cpu, batch)), "the batches come out on the host", about, "arrays on the GPU")
    return fl.cpu(batch[0])[:, 0]
