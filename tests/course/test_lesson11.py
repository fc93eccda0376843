"""Lesson 11's checks: each likely wrong answer gets its own helpful message."""

import numpy as np
from answers import not_right, right

import fluxlite as fl


def loss(m, x, y):
    return fl.logitcrossentropy(m(x), y)


def training(batches, model=lambda model: model):
    """An answer to 11.2 that gets its batches from a function of X, Y and the batch size."""

    def train_epoch(m, opt_state, X, Y, batchsize=64):
        for x, y in batches(X, Y, batchsize):
            grads = fl.gradient(lambda m: loss(m, x, y), model(m))  # noqa: B023
            fl.update(opt_state, model(m), grads[0])

    return train_epoch


def slices(X, n=64):
    return [slice(start, start + n) for start in range(0, len(X), n)]


def everything(X, Y, n):
    return ((fl.gpu(X)[these], fl.gpu(Y)[these]) for these in slices(X))


def whole_y(X, Y, n):
    return ((fl.gpu(X[these]), fl.gpu(Y)[these]) for these in slices(X))


def batch_by_batch(X, Y, n):
    return ((fl.gpu(X[these]), fl.gpu(Y[these])) for these in slices(X))


def on_the_host(X, Y, n):
    return ((X[these], Y[these]) for these in slices(X))


def through_the_host(X, Y, n):
    X = fl.gpu(X)
    return ((fl.gpu(fl.cpu(X)[these]), fl.gpu(Y[these])) for these in slices(X))


def spoiled(X, Y, n):
    yield from list(batch_by_batch(X, Y, n))
    X[...] = 0


def drawn(order, rng_of=lambda rng: rng, sizes=None, pair=lambda x, y: (x, y)):
    """An answer to 11.3: `order` makes the epoch's order from a generator and the number of observations."""

    def my_batches(X, Y, batchsize, rng):
        numbers = order(rng_of(rng), len(X))
        for start in range(0, len(X), batchsize) if sizes is None else sizes(len(X), batchsize):
            chosen = numbers[start : start + batchsize]
            yield pair(X[chosen], Y[chosen])

    return my_batches


def permuted(rng, n):
    return rng.permutation(n)


def only_x_shuffled(X, Y, batchsize, rng):
    X = X[rng.permutation(len(X))]
    return [(X[these], Y[these]) for these in slices(X, batchsize)]


def in_place(X, Y, batchsize, rng):
    order = rng.permutation(len(X))
    X[...], Y[...] = X[order], Y[order]
    return [(X[these].copy(), Y[these].copy()) for these in slices(X, batchsize)]


def whole_batches(X, Y, batchsize, rng):
    return [(X[these], Y[these]) for these in rng.permutation(np.array(slices(X, batchsize), object))]


def same_batches(X, Y, batchsize, rng):
    *whole, last = slices(X, batchsize)
    return [(X[these], Y[these]) for these in [*rng.permutation(np.array(whole, object)), last]]


def endless(X, Y, batchsize, rng):
    while True:
        yield from drawn(permuted)(X, Y, batchsize, rng)


def with_a_loader(X, Y, batchsize, rng):
    return fl.DataLoader((X, Y), batchsize, shuffle=True, rng=rng)


def chosen(nbytes, share=0.5, **options):
    """An answer to 11.4 with its own way to count bytes."""

    def loader_for(X, Y, batchsize, free):
        options.setdefault("shuffle", True)
        if nbytes(X, Y) <= free * share:
            return fl.DataLoader(fl.gpu((X, Y)), batchsize, **options)
        return fl.gpu(fl.DataLoader((X, Y), batchsize, **options))

    return loader_for


def on_gpu(X, Y):
    return 4 * (X.size + Y.size)


test_a_wrong_answer_is_not_right_and_told_why = not_right(
    ("11.1", [14, 84, 5], "14 batches leave 38 observations over"),
    ("11.1", [64, 90, 5], "not that many batches"),
    ("11.1", [15, 45, 5], "a batch is two arrays"),
    ("11.1", [15, 30, 5], "that is one epoch"),
    ("11.1", [15, 15, 5], "and there are three epochs"),
    ("11.1", [15, 5, 90], "that is the other way"),
    ("11.1", [15, 90, 2], "each epoch's order"),
    ("11.1", [15, 90, 3], "X and Y have to get there too"),
    ("11.1", [15, 90, 6], "X and Y travel once"),
    ("11.1", [15, 90, 90], "they don't travel"),
    ("11.1", [15, 90, "five"], "the number of copies is text"),
    ("11.1", ["15", 90, 5], "batches is text; write a number, without quotes"),
    ("11.2", [training(everything)], "all the data travels for each batch"),
    ("11.2", [training(whole_y)], "Y still travels as a whole"),
    ("11.2", [training(on_the_host)], "a batch stayed on the host"),
    ("11.2", [training(on_the_host, model=fl.cpu)], "hasn't learned"),
    ("11.2", [training(lambda X, Y, n: list(batch_by_batch(X, Y, n))[:2])], "the last, smaller batch"),
    ("11.2", [training(lambda X, Y, n: list(batch_by_batch(X, Y, n))[:1])], "from the first batch only"),
    ("11.2", [training(lambda X, Y, n: [fl.gpu((X, Y))])], "where are the batches?"),
    ("11.2", [training(lambda X, Y, n: list(batch_by_batch(X, Y, n))[::-1])], "has learned something else"),
    ("11.2", [training(through_the_host)], "something large comes back to the host"),
    ("11.2", [training(spoiled)], "your function changed the data"),
    ("11.3", [drawn(lambda rng, n: np.arange(n))], "nothing is shuffled"),
    ("11.3", [drawn(permuted, lambda rng: np.random.default_rng(0))], "every epoch has the same order"),
    ("11.3", [drawn(permuted, lambda rng: np.random.default_rng())], "the same seed gives other orders"),
    ("11.3", [drawn(permuted, sizes=lambda n, size: range(0, n - size + 1, size))], "don't fill a batch are left out"),
    ("11.3", [drawn(lambda rng, n: rng.integers(0, n, n))], "times: draw an order, not numbers"),
    ("11.3", [drawn(permuted, sizes=lambda n, size: [0])], "some are missing"),
    ("11.3", [lambda X, Y, n, rng: list(drawn(permuted)(X, Y, n // 2, rng))], "the batches have other sizes"),
    ("11.3", [drawn(permuted, pair=lambda x, y: x)], "a batch is a pair"),
    ("11.3", [drawn(permuted, pair=lambda x, y: (x.tolist(), y))], "x and y are lists; take the rows"),
    ("11.3", [drawn(permuted, pair=lambda x, y: (x.T, y))], "x and y are arrays"),
    ("11.3", [only_x_shuffled], "pictures and labels are mixed up"),
    ("11.3", [in_place], "changed the data"),
    ("11.3", [whole_batches], "do whole batches change places?"),
    ("11.3", [same_batches], "only whole batches change places"),
    ("11.3", [endless], "it doesn't end"),
    ("11.3", [lambda X, Y, n, rng: None], "a loop can't go through"),
    ("11.4", [chosen(lambda X, Y: 0)], "the GPU is out of memory"),
    ("11.4", [chosen(lambda X, Y: 1e9)], "small data"),
    ("11.4", [chosen(lambda X, Y: on_gpu(X, Y) + 1)], "data of exactly half"),
    ("11.4", [chosen(on_gpu, share=0.8)], "data of more than half of what's free"),
    ("11.4", [chosen(lambda X, Y: 4 * X.size)], "X of less than half, with Y of more than half"),
    ("11.4", [chosen(lambda X, Y: X.nbytes + Y.nbytes)], "float64 data, of half the bytes on the GPU"),
    ("11.4", [chosen(on_gpu, shuffle=False)], "doesn't shuffle"),
    ("11.4", [chosen(on_gpu, partial=False, collate=lambda batch: None)], "a batch is a pair"),
    ("11.4", [lambda X, Y, batchsize, free: fl.DataLoader((X, Y), batchsize, shuffle=True)], "come out on the host"),
    ("11.4", [lambda X, Y, n, free: None], "loader_for returned None"),
    ("11.4", [lambda X, Y, n, free: fl.gpu(fl.DataLoader((X, Y), 10, shuffle=True))], "don't have batchsize"),
    ("11.4", [lambda X, Y, n, free: fl.gpu(fl.DataLoader((X[1:], Y[1:]), n, shuffle=True))], "each observation once"),
)


def by_hand(X, Y, batchsize, free):
    if sum(x.astype(np.float32).nbytes for x in (X, Y)) > free / 2:
        return fl.DataLoader(fl.mapobs(fl.gpu, (X, Y)), batchsize, shuffle=True)
    return fl.DataLoader((fl.gpu(X), fl.gpu(Y)), batchsize=batchsize, shuffle=True, rng=0)


test_right_answers_other_than_the_lessons_own = right(
    ("11.1", [np.int64(15), 90, 5.0]),
    ("11.2", [training(lambda X, Y, n: fl.gpu(fl.DataLoader((X, Y), batchsize=n)))]),
    ("11.2", [training(batch_by_batch)]),
    ("11.3", [with_a_loader]),
    ("11.3", [drawn(lambda rng, n: np.argsort(rng.random(n)))]),
    ("11.4", [by_hand]),
)
