"""Lesson 09's checks: each likely wrong answer gets its own helpful message."""

import numpy as np
from answers import not_right, right

import fluxlite as fl

SHAPES = [(32, 8, 8, 4), (32, 4, 4, 4), (32, 2, 2, 6), (32, 24), (32, 10)]


def shapes(layer, shape):
    """The right shapes, but for one."""
    return [*SHAPES[:layer], shape, *SHAPES[layer + 1 :]]


def honest(asked=slice(40, None), labels_of=None):
    """An `accuracy_of` with some details that can be wrong: which rows it learns from, and which it's asked about."""

    def accuracy_of(train, X, labels, rng):
        order = rng.permutation(len(X))
        X, labels = X[order], labels[order]
        model = train(X[:40], labels[:40])
        return fl.accuracy(model(X[asked]), labels[labels_of or asked])

    return accuracy_of


def the_colleagues(train, X, labels, rng):
    order = rng.permutation(len(X))
    cut = 4 * len(X) // 5
    X, labels = X[order], labels[order]
    model = train(X[:cut], labels[:cut])
    return fl.accuracy(model(X[:cut]), labels[:cut])


def by(share_of=fl.softmax, none="none of these", kind=int):
    """An `answers` with some details that can be wrong."""

    def answers(scores, least):
        return [kind(np.argmax(row)) if np.max(row) >= least else none for row in share_of(scores)]

    return answers


test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    ("09.1", [shapes(0, (32, 6, 6, 4))], "after layer 0: pad=1 keeps all 8 × 8 places"),
    ("09.1", [shapes(0, (32, 4, 8, 8))], "after layer 0: here the channels come last"),
    ("09.1", [shapes(0, (8, 8, 4))], "after layer 0: the observations come first"),
    ("09.1", [shapes(2, (32, 4, 4, 6))], "after layer 2: without a pad"),
    ("09.1", [shapes(4, (32, 11))], "after layer 4: Dense(24, 10) makes 10 numbers"),
    ("09.1", [SHAPES[:4]], "there are 5 shapes"),
    ("09.1", [(32, 10)], "a list with a tuple for each layer"),
    ("09.2", [the_colleagues], "asked about what it has learned"),
    ("09.2", [honest(asked=slice(None))], "asked about what it has learned"),
    ("09.2", [honest(labels_of=slice(None, 10))], "are these their labels?"),
    ("09.3", [by(share_of=lambda scores: scores)], "compare the share with least, not the score"),
    ("09.3", [by(none=10)], "or, if no share is large enough, these three words"),
    ("09.3", [lambda scores, least: [*np.argmax(scores, axis=1)]], "too little for an answer"),
    ("09.3", [lambda scores, least: ["none of these"] * len(scores)], "its share 1.00, and least is 0.6"),
    ("09.3", [lambda scores, least: "none of these"], "returns a list"),
    ("09.3", [by(share_of=lambda scores: fl.softmax(scores)[:, ::-1])], "that's another digit"),
)


def by_splitobs(train, X, labels, rng):
    known, (x, y) = fl.splitobs((X, labels), at=0.7, shuffle=True, rng=3)
    return fl.accuracy(train(*known)(x), y)


test_right_answers_other_than_the_lessons_own = right(
    ("09.1", [tuple(map(list, SHAPES))]),
    ("09.2", [honest()]),
    ("09.2", [by_splitobs]),
    ("09.3", [lambda scores, least: np.array(by()(scores, least), dtype=object)]),
    ("09.3", [by(kind=np.int64)]),
)
