"""Lesson 11's checks: each likely wrong answer gets its own helpful message."""

import numpy as np
from answers import not_right, right

import fluxlite as fl
from fluxlite_course import busiest
from fluxlite_course.lesson11 import loss, photos


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
    ("11.2", [training(everything)], "all the data travels for each batch"),
    ("11.2", [training(whole_y)], "Y still travels as a whole"),
    ("11.2", [training(on_the_host)], "a batch stayed on the host"),
    ("11.2", [training(on_the_host, model=fl.cpu)], "hasn't learned"),
    ("11.2", [training(lambda X, Y, n: list(batch_by_batch(X, Y, n))[:2])], "the last, smaller batch"),
    ("11.2", [training(lambda X, Y, n: list(batch_by_batch(X, Y, n))[::-1])], "has learned something different"),
    ("11.2", [training(through_the_host)], "something large comes back to the host"),
)


test_right_answers_other_than_the_lessons_own = right(
    ("11.1", [np.int64(15), 90, 5.0]),
    ("11.2", [training(lambda X, Y, n: fl.gpu(fl.DataLoader((X, Y), batchsize=n)))]),
    ("11.2", [training(batch_by_batch)]),
)


def test_the_picture_says_what_the_lesson_says():
    scene = busiest(photos, batch=(2048, 64), width=(640, 32))
    assert "A step takes 5.37 ms" in scene.at() and "compute 3.24 ms" in scene.at()
    assert "A step takes 3.24 ms" in scene.at(feeding="a batch ahead")
    narrow = scene.at(width="32")
    assert "host 2.76 ms" in narrow and "The host is the busiest" in narrow
    ways = ("copied in each step", "from pinned memory", "a batch ahead", "stays on the GPU")
    times = [scene.at(batch="64", width="32", feeding=way).split("takes ")[1].split(" µs")[0] for way in ways]
    assert all(600 < float(time) < 750 for time in times)
