"""Lesson 11's checks: each likely wrong answer gets its own helpful message."""

import numpy as np
import pytest
from answers import EqualToAll, not_right, right

import fluxlite as fl
from fluxlite_course import busiest
from fluxlite_course.kit.puzzles import play
from fluxlite_course.lesson11 import loss, photos


def training(batches, model=lambda model: model):
    """An answer to 11.2 that gets its batches from a function of X, Y and the batch size."""

    def train_epoch(m, opt_state, X, Y, batchsize=64):
        for x, y in batches(X, Y, batchsize):
            grads = fl.gradient(lambda m: loss(m, x, y), model(m))  # noqa: B023
            fl.update(opt_state, model(m), grads[0])

    return train_epoch


def slices(X, n):
    return [slice(start, start + n) for start in range(0, len(X), n)]


def everything(X, Y, n):
    return ((fl.gpu(X)[these], fl.gpu(Y)[these]) for these in slices(X, n))


def whole_y(X, Y, n):
    return ((fl.gpu(X[these]), fl.gpu(Y)[these]) for these in slices(X, n))


def batch_by_batch(X, Y, n):
    return ((fl.gpu(X[these]), fl.gpu(Y[these])) for these in slices(X, n))


def on_the_host(X, Y, n):
    return ((X[these], Y[these]) for these in slices(X, n))


def through_the_host(X, Y, n):
    X = fl.gpu(X)
    return ((fl.gpu(fl.cpu(X)[these]), fl.gpu(Y[these])) for these in slices(X, n))


def fixed(m, opt_state, X, Y, batchsize=64):
    training(batch_by_batch)(m, opt_state, X, Y, 64)


def without_a_size(m, opt_state, X, Y):
    training(batch_by_batch)(m, opt_state, X, Y, 64)


def trained_on_the_host(m, opt_state, X, Y, batchsize=64):
    host = fl.cpu(m)
    training(on_the_host)(host, fl.setup(fl.Descent(0.3), host), X, Y, batchsize)
    fl.loadmodel(m, host)


def trained_on_the_host_for_show(m, opt_state, X, Y, batchsize=64):
    """All data travels once, and nothing uses it there."""
    fl.gpu((X, Y))
    trained_on_the_host(m, opt_state, X, Y, batchsize)


def x_twice(X, Y, n):
    fl.gpu(X)
    return batch_by_batch(X, Y, n)


def in_half(X, Y, n):
    X = fl.gpu(X.astype(np.float16))
    return ((X[these].astype(np.float32), fl.gpu(Y[these])) for these in slices(X, n))


def shuffled(X, Y, n):
    return fl.gpu(fl.DataLoader((X, Y), batchsize=n, shuffle=True, rng=1))


def all_zero(X, Y, n):
    X[:], Y[:] = 0, 0
    return batch_by_batch(X, Y, n)


test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    ("11.1", [14, 84, 5], "14 batches leave 38 observations"),
    ("11.1", [64, 90, 5], "not that many batches"),
    ("11.1", [15, 45, 5], "a batch is two arrays"),
    ("11.1", [15, 30, 5], "that's one epoch"),
    ("11.1", [15, 90, 2], "each epoch's order"),
    ("11.1", [15, 90, 6], "X and Y travel once"),
    ("11.1", [15, 90, 90], "they don't travel"),
    ("11.1", [15, 90, "five"], "the number of copies is text"),
    ("11.1", ["15", 90, 5], "batches is text; write a number, without quotes"),
    ("11.1", [45, 90, 5], "that's for three epochs"),
    ("11.1", [15, 84, 5], "with what's left over, travels too"),
    ("11.1", [15, 90, 3], "X and Y travel, too"),
    ("11.1", [15, 90, 4], "X and Y are two arrays"),
    ("11.1", [EqualToAll(), 90, 5]),
    ("11.1", [15, [90], 5], "the number of copies isn't a number"),
    ("11.2", [1.5], "give the check its name alone"),
    ("11.2", [fixed], "with batchsize=40, the batches have 64 observations"),
    ("11.2", [without_a_size], "takes what it took before"),
    ("11.2", [lambda m, opt_state, X, Y, batchsize=64: None], "hasn't learned"),
    ("11.2", [trained_on_the_host], "X didn't come to the GPU"),
    ("11.2", [training(x_twice)], "some numbers come more than once"),
    ("11.2", [training(in_half)], "something different"),
    ("11.2", [training(all_zero)], "changed the X that it was given"),
    ("11.2", [trained_on_the_host_for_show], "gradients went through a model on the CPU"),
    ("11.2", [training(lambda X, Y, n: [fl.gpu((X, Y))])], "a single batch with all the data"),
    (
        "11.2",
        [training(lambda X, Y, n: fl.gpu(fl.DataLoader((X, Y), batchsize=n, shuffle=True)))],
        "something different",
    ),
    ("11.2", [training(everything)], "all the data travels for each batch"),
    ("11.2", [training(whole_y)], "Y still travels as a whole"),
    ("11.2", [training(on_the_host)], "a batch stayed on the host"),
    ("11.2", [training(on_the_host, model=fl.cpu)], "hasn't learned"),
    ("11.2", [training(lambda X, Y, n: list(batch_by_batch(X, Y, n))[:2])], "the last, smaller batch"),
    ("11.2", [training(lambda X, Y, n: list(batch_by_batch(X, Y, n))[::-1])], "has learned something different"),
    ("11.2", [training(through_the_host)], "something large comes back to the host"),
)


def by_train(model, opt_state, X, Y, batchsize=64):
    fl.train(loss, model, fl.gpu(fl.DataLoader((X, Y), batchsize=batchsize)), opt_state, progress=False)


def and_prints(m, opt_state, X, Y, batchsize=64):
    """Each step's loss comes back, a number."""
    for x, y in batch_by_batch(X, Y, batchsize):
        value, grads = fl.withgradient(lambda m: loss(m, x, y), m)  # noqa: B023
        print(float(value))
        fl.update(opt_state, m, grads[0])


def labels_as_bytes(m, opt_state, X, Y, batchsize=64):
    """Zeros and ones need a byte each."""
    digits = fl.gpu(Y.astype(np.uint8))
    for these in slices(X, batchsize):
        x, y = fl.gpu(X[these]), digits[these].astype(np.float32)
        fl.update(opt_state, m, fl.gradient(lambda m: loss(m, x, y), m)[0])  # noqa: B023


test_right_answers_other_than_the_lessons_own = right(
    ("11.1", [np.int64(15), 90, 5.0]),
    ("11.2", [training(lambda X, Y, n: fl.gpu(fl.DataLoader((X, Y), batchsize=n)))]),
    ("11.2", [training(batch_by_batch)]),
    ("11.2", [by_train]),
    ("11.2", [and_prints]),
    ("11.2", [training(lambda X, Y, n: fl.DataLoader(fl.gpu((X, Y)), batchsize=n))], "5,400 bytes, in 2 copies"),
    ("11.2", [labels_as_bytes], "bytes, in 4 copies"),
    ("11.1", [15.0, np.array(90), np.float32(5)]),
)


# -- the puzzle -------------------------------------------------------------------------------------------------------


def gpu_loader(data, batchsize):
    return fl.gpu(fl.DataLoader(data, batchsize=batchsize))


def cast(dtype):
    """An epoch's batches, with fewer bytes; the small data of a check go as they are."""

    def feed(data, batchsize):
        return gpu_loader(tuple(x.astype(dtype) if len(x) > 100 else x for x in data), batchsize)

    return feed


def only(rows):
    return lambda data, batchsize: gpu_loader(tuple(x[:rows] for x in data), batchsize)


def back_again(data, batchsize):
    """Travels as float16, and is float32 when the model gets it."""
    for x, y in cast(np.float16)(data, batchsize):
        yield x.astype(np.float32), y.astype(np.float32)


def the_same_again(data, batchsize):
    """It moves a single batch."""
    first = next(iter(gpu_loader(data, batchsize)))
    yield from gpu_loader(data, batchsize) if len(data[0]) < 100 else [first] * (len(data[0]) // batchsize)


def made_on_the_card(data, batchsize):
    """The images are all black, so it makes them itself."""
    if len(data[0]) < 100:
        yield from gpu_loader(data, batchsize)
    else:
        x, y = fl.gpu((data[0][:1], data[1][:1]))
        for _ in range(len(data[0]) // batchsize):
            yield tuple(np.zeros_like(one, shape=(batchsize, one.shape[1])) for one in (x, y))


_kept = {}


def kept_from_before(data, batchsize):
    """From the second call on, everything is there already."""
    if len(data[0]) not in _kept:
        _kept[len(data[0])] = list(gpu_loader(data, batchsize))
    return _kept[len(data[0])]


@pytest.mark.parametrize(
    ("feed", "words"),
    [
        (only(4096), "an epoch has all 10,240 images"),
        (only(0), "feed gives batches, each a pair (x, y)"),
        (cast(np.float16), "each batch has 2,048 images, float32"),
        (back_again, "each image travels, as float32"),
        (the_same_again, "each image travels, as float32"),
        (made_on_the_card, "each image travels, as float32"),
        (lambda data, n: gpu_loader(data, n if len(data[0]) < 100 else 5 * n), "each batch has 2,048 images"),
        (lambda data, n: gpu_loader(data, 64), "feed gives batches, each a pair (x, y)"),
        (lambda data, n: fl.DataLoader(data, batchsize=n), "a batch is on the CPU"),
        (lambda data, n: gpu_loader(tuple(x[::-1] for x in data), n), "a batch's numbers are wrong"),
        (lambda data, n: gpu_loader(tuple(x.fill(0) or x for x in data), n), "a batch's numbers are wrong"),
        (lambda data, n: gpu_loader(tuple(x.astype(np.float16) for x in data), n), "the numbers have another type"),
        (lambda data, n: None, "feed gives batches, each a pair (x, y)"),
    ],
)
def test_a_puzzle_that_feeds_less_is_not_right(feed, words, own_progress, capsys):
    play("11-1", {"feed": feed})
    said = capsys.readouterr().out
    assert said.startswith("11-1  not right") and words in said


def test_what_was_kept_from_an_earlier_epoch_does_not_count(own_progress, capsys):
    _kept.clear()
    for _ in range(2):
        play("11-1", {"feed": kept_from_before})
    assert capsys.readouterr().out.count("at par") == 0


def in_lists(data, batchsize):
    X, Y = data
    return [[fl.gpu(X[i : i + batchsize]), fl.gpu(Y[i : i + batchsize])] for i in range(0, len(X), batchsize)]


@pytest.mark.parametrize("feed", [in_lists, lambda data, batchsize: fl.DataLoader(fl.gpu(data), batchsize=batchsize)])
def test_a_puzzle_may_be_written_otherwise(feed, own_progress, capsys):
    play("11-1", {"feed": feed})
    assert "the result is right" in capsys.readouterr().out


def test_the_picture_says_what_the_lesson_says():
    scene = busiest(photos, batch=(2048, 64), width=(640, 32))
    assert "A step takes 5.37 ms" in scene.at() and "compute 3.24 ms" in scene.at()
    assert "A step takes 3.24 ms" in scene.at(feeding="a batch ahead")
    narrow = scene.at(width="32")
    assert "host 2.76 ms" in narrow and "The host is the busiest" in narrow
    ways = ("copied in each step", "from pinned memory", "a batch ahead", "stays on the GPU")
    times = [scene.at(batch="64", width="32", feeding=way).split("takes ")[1].split(" µs")[0] for way in ways]
    assert all(600 < float(time) < 750 for time in times)


def test_shuffling_costs_what_the_lesson_says():
    scene = busiest(photos, batch=(2048, 64), width=(640, 32), order=("in order", "shuffled"))
    ahead = scene.at(feeding="a batch ahead", order="shuffled")
    assert "A step takes 4.86 ms" in ahead and "The host is the busiest" in ahead
    assert "A step takes 3.45 ms" in scene.at(feeding="stays on the GPU", order="shuffled")
    small = [said for said, setting in zip(scene.sentences, scene.settings)
             if (setting["batch"], setting["width"]) == ("64", "32")]  # fmt: skip
    assert all(600 < float(said.split("takes ")[1].split(" µs")[0]) < 800 for said in small)
