"""Lesson 09, feeding data: checks."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import fluxlite as fl

from ...devices.simulation import simulate_gpu
from ..exercises import NotRight, exercise

# -- 09.1 ---------------------------------------------------------------------------------------------------------


@exercise("09.1", "batches and copies, predicted", look_at="sections 2 and 4: the last batch, and what each way copies")
def batches_and_copies(batches: Any, copies_of_gpu_loader: Any, copies_of_all_first: Any) -> str:
    data = np.zeros((1438, 2), np.float32), np.zeros((1438, 1), np.float32)
    options: dict[str, Any] = {"batchsize": 100, "shuffle": True, "rng": 0}
    count = len(fl.DataLoader(data, **options))
    each = _copies(lambda: fl.gpu(fl.DataLoader(data, **options)))
    first = _copies(lambda: fl.DataLoader(fl.gpu(data), **options))
    if batches == count - 1:
        raise NotRight("14 batches leave 38 observations over, which make a batch of their own", batches)
    if batches != count:
        raise NotRight("not that many batches", batches, "1,438 observations, at most 100 in each")
    slips = {
        count: "a batch is two arrays, x and y; and there are three epochs",
        count * 2: "that is one epoch; there are three",
        count * 3: "a batch is two arrays, x and y: two copies",
        first: "that is the other way; gpu(loader) copies each batch, in each epoch again",
    }
    if copies_of_gpu_loader != each:
        words = slips.get(_number(copies_of_gpu_loader), "not that many copies by gpu(loader)")
        raise NotRight(words, f"{copies_of_gpu_loader} copies by gpu(DataLoader(…))", "batches × arrays × epochs")
    slips = {
        2: "X and Y are two copies; but each epoch's order, which the host draws, has to travel too",
        3: "the three orders are counted; X and Y have to get there too",
        6: "X and Y travel once, not in each epoch; what does travel in each epoch?",
        9: "X and Y travel once, not in each epoch",
        each: "the batches are made on the GPU, so they don't travel",
    }
    if copies_of_all_first != first:
        words = slips.get(_number(copies_of_all_first), "not that many copies by the other way")
        raise NotRight(
            words, f"{copies_of_all_first} copies by DataLoader(gpu((X, Y)), …)", "all data, and three orders"
        )
    return f"{count} batches; {each} copies, 2 for each batch; or {first}: X, Y and three orders"


def _number(x: Any) -> int:
    return int(x) if isinstance(x, (int, float, np.number)) else -1


def _copies(make: Callable[[], Any]) -> int:
    with fl.receipt() as r:
        batches = make()
        for _ in range(3):
            for _ in batches:
                pass
    return r.host_to_device.count


# -- 09.2 ---------------------------------------------------------------------------------------------------------


@exercise("09.2", "each number travels once", look_at="the receipt of one epoch: bytes to the GPU")
def train_epoch(train_epoch: Any) -> str:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((150, 6)).astype(np.float32)
    Y = fl.onehotbatch(rng.integers(0, 3, 150), range(3))
    made = fl.Chain(fl.Dense(6, 3, rng=rng))
    model = fl.gpu(made)
    opt_state = fl.setup(fl.Descent(0.3), model)
    kept = X.copy(), Y.copy()
    with fl.receipt() as r:
        try:
            train_epoch(model, opt_state, X, Y)
        except TypeError as error:
            if "CPU" in str(error) and "Simulated" in str(error):
                raise NotRight("a batch stayed on the host, and the model is on the GPU", error) from None
            raise
    if not all(map(np.array_equal, (X, Y), kept)):
        raise NotRight("your function changed the data it was given")
    _check_trained(fl.cpu(model), made, X, Y)
    if r.device_to_host.bytes > 100:
        raise NotRight("something large comes back to the host", f"{r.device_to_host.bytes:,} bytes back", "nothing")
    travelled, needed = r.host_to_device.bytes, X.nbytes + Y.nbytes
    yours = f"{travelled:,} bytes to the GPU, in {r.host_to_device.count} copies"
    if travelled >= 3 * needed:
        raise NotRight(
            "all the data travels for each batch: gpu(X)[…] moves X, and then cuts", yours, f"{needed:,} bytes"
        )
    if travelled > 1.2 * needed:
        which = "X" if travelled > needed + 1.5 * X.nbytes else "Y"
        raise NotRight(f"{which} still travels as a whole for each batch", yours, f"{needed:,} bytes")
    copies = r.host_to_device.count
    return f"the same steps; the check's own small data set travels once: {travelled:,} bytes, in {copies} copies"


def _steps(made: Any, X: Any, Y: Any, slices: list[slice]) -> Any:
    """The weights after these steps."""
    model = fl.fmap(lambda x: x.copy() if isinstance(x, np.ndarray) else x, made)
    opt_state = fl.setup(fl.Descent(0.3), model)
    for these in slices:
        grads = fl.gradient(lambda m: fl.logitcrossentropy(m(X[these]), Y[these]), model)  # noqa: B023
        fl.update(opt_state, model, grads[0])
    return model[0].weight


def _check_trained(model: Any, made: Any, X: Any, Y: Any) -> None:
    weight, slices = model[0].weight, [slice(start, start + 64) for start in (0, 64, 128)]
    if np.allclose(weight, _steps(made, X, Y, slices), atol=1e-4):
        return
    if np.array_equal(weight, made[0].weight):
        raise NotRight("the model that you were given hasn't learned: its weights are as before")
    slips = {
        "the last, smaller batch is left out": slices[:2],
        "one step with all the data: where are the batches?": [slice(None)],
        "it learns from the first batch only: does something end the loop?": slices[:1],
    }
    for words, slip in slips.items():
        if np.allclose(weight, _steps(made, X, Y, slip), atol=1e-4):
            raise NotRight(words)
    raise NotRight("the model has learned something else than the loop above: take the same batches, in the same order")


# -- 09.3 ---------------------------------------------------------------------------------------------------------


@exercise("09.3", "a loader in five lines", look_at="one order for the whole epoch, used for X and for Y")
def my_batches(my_batches: Any) -> str:
    X = np.arange(20, dtype=np.float32).reshape(10, 2)  # observation i is [2i, 2i + 1], and its label is i
    Y = np.arange(10)
    rng = np.random.default_rng(1)
    orders = [_epoch(my_batches, X, Y, 4, rng) for _ in range(3)]
    if not np.array_equal(X.ravel(), np.arange(20)) or not np.array_equal(Y, np.arange(10)):
        raise NotRight("your function changed the data it was given: take rows out of it, and leave it as it is")
    if all(order == list(range(10)) for order in orders):
        raise NotRight("nothing is shuffled: the epoch has the order of the data", orders[0], "a random order")
    if orders[0] == orders[1] == orders[2]:
        raise NotRight(
            "every epoch has the same order; draw it inside, from the rng you're given",
            f"{orders[0]}, and again {orders[1]}",
            "a new order at each call",
        )
    again = _epoch(my_batches, X, Y, 4, np.random.default_rng(1))
    if again != orders[0]:
        raise NotRight("the same seed gives other orders: draw from rng, and from nothing else", again, orders[0])
    if all(max(map(abs, np.diff(sorted(order[:4])))) == 1 for order in orders):
        raise NotRight("only whole batches change places; inside, the order is that of the data", orders)
    _epoch(my_batches, X, Y, 5, rng)
    _epoch(my_batches, X, Y, 64, rng)
    return "each observation once, with its label, in a new order each epoch; the last batch is smaller"


def _epoch(my_batches: Any, X: Any, Y: Any, batchsize: int, rng: Any) -> list[int]:
    """The labels in the order that they came in. Raises if the epoch isn't correct."""
    made = my_batches(X, Y, batchsize, rng)
    if not hasattr(made, "__iter__"):
        raise NotRight("a loop can't go through what my_batches gives", type(made).__name__, "pairs (x, y), by yield")
    found = list(itertools.islice(made, 100))
    if len(found) == 100:
        raise NotRight("it doesn't end: an epoch is one round through the data", "100 batches and more", "3 batches")
    for pair in found:
        _check_pair(pair)
    labels = [int(label) for _, y in found for label in y]
    missing = sorted(set(range(10)) - set(labels))
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise NotRight(
            f"observation {twice[0]} comes {labels.count(twice[0])} times: draw an order, not numbers", labels
        )
    sizes = [len(y) for _, y in found]
    wanted = [len(part) for part in np.split(Y, range(batchsize, 10, batchsize))]
    if missing:
        words = (
            "the observations that don't fill a batch are left out"
            if len(missing) == 10 % batchsize
            else "some are missing"
        )
        raise NotRight(words, f"batches of {sizes}", f"batches of {wanted}")
    if sizes != wanted and sorted(sizes) == sorted(wanted):
        raise NotRight("the small batch is not the last one: do whole batches change places?", sizes, wanted)
    if sizes != wanted:
        raise NotRight("the batches have other sizes", sizes, wanted)
    return labels


def _check_pair(pair: Any) -> None:
    if not isinstance(pair, (tuple, list)) or len(pair) != 2:
        what = f"a tuple of {len(pair)}" if isinstance(pair, tuple) else f"of type {type(pair).__name__}"
        raise NotRight("a batch is a pair, (x, y)", what, "yield x, y")
    x, y = pair
    if any(isinstance(part, (list, tuple)) for part in pair):
        raise NotRight(
            "x and y are lists; take the rows out of the arrays, all at once, and you get arrays",
            f"x of type {type(x).__name__}, y of type {type(y).__name__}", "x = X[these], with an array of numbers",
        )  # fmt: skip
    if not all(isinstance(part, np.ndarray) for part in pair) or x.ndim != 2 or y.ndim != 1 or len(x) != len(y):
        raise NotRight(
            "x and y are arrays with one row for each observation",
            f"shapes {np.shape(x)} and {np.shape(y)}", "for example (4, 2) and (4,)",
        )  # fmt: skip
    if not np.array_equal(x[:, 0], 2 * y):
        raise NotRight(
            "pictures and labels are mixed up: x and y are not rows of the same numbers",
            f"x of observations {(x[:, 0] / 2).astype(int).tolist()}, y of {y.tolist()}", "the same order for both",
        )  # fmt: skip


# -- 09.4 ---------------------------------------------------------------------------------------------------------

MB = 10**6


@exercise("09.4", "move first if it fits", look_at="the rule of thumb, and what float64 becomes on the way")
def loader_for(loader_for: Any) -> str:
    _check_way(loader_for, "small data", (1000, 250), np.float32, free=4 * MB, first=True)
    _check_way(loader_for, "data larger than the GPU", (1000, 2000), np.float32, free=4 * MB, first=False)
    _check_way(loader_for, "data of more than half of what's free", (1000, 600), np.float32, free=4 * MB, first=False)
    _check_way(
        loader_for, "X of less than half, with Y of more than half", (1000, 495), np.float32, free=4 * MB, first=False
    )
    _check_way(
        loader_for, "float64 data, of half the bytes on the GPU", (1000, 400), np.float64, free=4 * MB, first=True
    )
    _check_way(loader_for, "data of exactly half of what's free", (1000, 490), np.float32, free=4 * MB, first=True)
    return "moved first where it fits into half of what's free, batch by batch where it doesn't"


def _check_way(loader_for: Any, what: str, shape: tuple, dtype: Any, free: int, first: bool) -> None:
    X, Y = np.ones(shape, dtype), np.ones((shape[0], 10), dtype)
    X[:, 0] = np.arange(shape[0])
    there = f"{4 * X.size / MB:g} on the GPU, Y 0.04; {free / MB:g} MB free"
    about = f"{what}: X has {X.nbytes / MB:g} MB on the host, {there}"
    with simulate_gpu(False), simulate_gpu(like="NVIDIA T4", memory=free + MB), fl.receipt() as r:
        try:
            batches = loader_for(X, Y, 100, free)
            if batches is None:
                raise NotRight("loader_for returned None", None, "the loader: return it")
            orders = [[_checked_batch(batch, about) for batch in batches] for _ in range(2)]
        except MemoryError:
            raise NotRight("the GPU is out of memory", about, "each batch when its turn comes") from None
    numbers = np.concatenate([np.concatenate(order) for order in orders])
    if sorted(numbers) != sorted([*range(shape[0])] * 2):
        raise NotRight("an epoch's batches don't have each observation once", about)
    if all(np.array_equal(np.concatenate(order), np.arange(shape[0])) for order in orders):
        raise NotRight("the loader doesn't shuffle", "the order of the data", "shuffle=True")
    if len(orders[0]) != 10:
        raise NotRight("the batches don't have batchsize observations", f"{len(orders[0])} batches of 1,000", "10")
    moved_first = r.host_to_device.count < 10
    if moved_first != first:
        yours = "it was moved first" if moved_first else "each batch travels by itself"
        raise NotRight(about, yours, f"{4 * (X.size + Y.size) / MB:g} MB there, {free / 2 / MB:g} MB is half")


def _checked_batch(batch: Any, about: str) -> Any:
    if not isinstance(batch, tuple) or len(batch) != 2:
        raise NotRight("a batch is a pair, (x, y)", type(batch).__name__, about)
    if any(fl.device_of(part) == fl.get_device("CPU") for part in batch):
        raise NotRight("the batches come out on the host", about, "arrays on the GPU")
    return fl.cpu(batch[0])[:, 0]
