"""Lesson 09's checks: each likely wrong answer gets its own helpful message."""

import numpy as np
from answers import EqualToAll, not_right, right

import fluxlite as fl

SHAPES = [(32, 8, 8, 4), (32, 4, 4, 4), (32, 2, 2, 6), (32, 24), (32, 10)]


def shapes(layer, shape):
    """The right shapes, but for one."""
    return [*SHAPES[:layer], shape, *SHAPES[layer + 1 :]]


def honest(asked=slice(-10, None), labels_of=None):
    """An `accuracy_of` with some details that can be wrong: which rows it learns from, and which it's asked about."""

    def accuracy_of(train, X, labels, rng):
        order = rng.permutation(len(X))
        cut = len(X) - 10
        X, labels = X[order], labels[order]
        model = train(X[:cut], labels[:cut])
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


def split(n, shuffled=True, labels_too=True, ask=lambda model, X, labels: fl.accuracy(model(X), labels)):
    """An `accuracy_of` that asks about the last n images, or a part of all."""

    def accuracy_of(train, X, labels, rng):
        order = rng.permutation(len(X)) if shuffled else np.arange(len(X))
        X, labels = X[order], labels[order] if labels_too else labels
        cut = len(X) - (n if n >= 1 else int(n * len(X)))
        return ask(train(X[:cut], labels[:cut]), X[cut:], labels[cut:])

    return accuracy_of


def the_best_of_five(*given):
    return max(split(0.2)(*given) for _ in range(5))


def with_some_that_it_knows(train, X, labels, rng):
    order = rng.permutation(len(X))
    X, labels = X[order], labels[order]
    return fl.accuracy(train(X[:-10], labels[:-10])(X[-13:]), labels[-13:])


def drawn_twice(train, X, labels, rng):
    known, asked = rng.integers(0, len(X), 40), rng.integers(0, len(X), 10)
    return fl.accuracy(train(X[known], labels[known])(X[asked]), labels[asked])


def rounded(scores, least):
    """Shares with one digit."""
    return by(share_of=lambda scores: fl.softmax(scores).round(1))(scores, np.float32(least))


def asks_and_says_half(train, X, labels, rng):
    split(0.2)(train, X, labels, rng)
    return 0.5


def learns_everything_first(train, X, labels, rng):
    model = train(X, labels)
    train(X[:40], labels[:40])
    return fl.accuracy(model(X[40:]), labels[40:])


def changed_images(train, X, labels, rng):
    X[:] = X / 255
    return split(0.2)(train, X, labels, rng)


def shuffles_what_it_was_given(train, X, labels, rng):
    order = rng.permutation(len(X))
    X[...], labels[...] = X[order], labels[order]
    return split(0.2)(train, X, labels, rng)


test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    ("09.1", [shapes(0, (32, 6, 6, 4))], "after layer 0: pad=1 keeps all 8 × 8 places"),
    ("09.1", [shapes(0, (32, 4, 8, 8))], "after layer 0: here the channels come last"),
    ("09.1", [shapes(0, (1, 8, 8, 4))], "after layer 0: the observations come first"),
    ("09.1", [shapes(0, (8, 8, 4))], "after layer 0: the observations come first"),
    ("09.1", [shapes(2, (32, 4, 4, 6))], "after layer 2: without a pad"),
    ("09.1", [shapes(4, (32, 11))], "after layer 4: Dense(24, 10) makes 10 numbers"),
    ("09.1", [SHAPES[:4]], "there are 5 shapes"),
    ("09.1", [(32, 10)], "a list with a tuple for each layer"),
    ("09.1", [shapes(0, (8, 8, 4, 32))], "after layer 0: the observations come first"),
    ("09.1", [shapes(3, (24, 32))], "after layer 3: the observations come first"),
    ("09.1", [shapes(0, "(32, 8, 8, 4)")], "a list with a tuple for each layer"),
    ("09.1", [[EqualToAll()] * 5], "a list with a tuple for each layer"),
    ("09.1", [[[EqualToAll()] * 4] * 5], "a list with a tuple for each layer"),
    ("09.1", [dict(enumerate(SHAPES))], "a list with a tuple for each layer"),
    ("09.2", [1.5], "give the check its name alone"),
    ("09.2", [split(1)], "it's asked about 1 new image, and that's too few to tell"),
    ("09.2", [split(0.9)], "few are left to learn from"),
    ("09.2", [split(0.2, shuffled=False)], "shuffle them before"),
    ("09.2", [lambda train, X, labels, rng: split(0.2, shuffled=False)(train, X[::-1], labels[::-1], rng)], "shuffle"),
    ("09.2", [split(0.2, labels_too=False)], "labels that aren't those of its images"),
    ("09.2", [lambda *given: 0.5], "train was never called"),
    ("09.2", [split(0.2, ask=lambda *given: 0.5)], "the model was never asked"),
    ("09.2", [split(0.2, ask=lambda model, X, labels: fl.accuracy(model(X[0]), labels[:1]))], "a batch of images"),
    (
        "09.2",
        [split(0.2, ask=lambda model, X, labels: print(model(X)[0, 0]))],
        "isn't a number",
    ),
    (
        "09.2",
        [split(0.2, ask=lambda model, X, labels: [model(X), EqualToAll()][1])],
        "isn't a number",
    ),
    ("09.2", [split(0.2, ask=lambda model, X, labels: 100 * fl.accuracy(model(X), labels))], "in percent"),
    ("09.2", [split(0.2, ask=lambda model, X, labels: 1 - fl.accuracy(model(X), labels))], "of the wrong answers"),
    ("09.2", [split(0.2, ask=lambda model, X, labels: sum(fl.onecold(model(X)) == labels))], "how many are right"),
    ("09.2", [the_best_of_five], "5 models were trained, and what you return is more than they read on average"),
    ("09.2", [with_some_that_it_knows], "3 in both"),
    ("09.2", [drawn_twice], "asked about what it has learned"),
    ("09.2", [asks_and_says_half], "are these their labels?"),
    ("09.2", [lambda *given: honest()(*given) + 0.003], "that's the share, but rounded"),
    ("09.2", [learns_everything_first], "asked about what it has learned"),
    ("09.2", [shuffles_what_it_was_given], "changed the X that it was given"),
    ("09.2", [changed_images], "aren't those of X"),
    ("09.2", [the_colleagues], "asked about what it has learned"),
    ("09.2", [honest(asked=slice(None))], "asked about what it has learned"),
    ("09.2", [honest(labels_of=slice(None, 10))], "are these their labels?"),
    ("09.3", [by(share_of=lambda scores: scores)], "compare the share with least, not the score"),
    ("09.3", [lambda scores, least: by()(scores, np.nextafter(np.float32(least), 2))], "as much as least is enough"),
    ("09.3", [by(kind=str)], "or, if no share is large enough, these three words"),
    ("09.3", [by(none="None of these")], "these three words"),
    ("09.3", [lambda scores, least: [EqualToAll()] * len(scores)], "these three words"),
    ("09.3", [by(kind=lambda digit: True)], "these three words"),
    ("09.3", [lambda scores, least: [7, *["none of these"] * 2, 9, "none of these"][: len(scores)]], "too little for"),
    ("09.3", [rounded], "its share 0.57, and least is 0.6: too little for an answer"),
    ("09.3", [lambda scores, least: np.array(by()(scores, least))], "an answer is a digit, or"),
    ("09.3", [lambda scores, least: dict(enumerate(by()(scores, least)))], "returns a list"),
    ("09.3", [lambda scores, least: scores.fill(0) or by()(scores, least)], "changed the scores"),
    ("09.3", [by(share_of=lambda scores: fl.softmax(scores, axis=0))], "its share 0.52, and least is 0.6: too little"),
    ("09.3", [by(none=10)], "or, if no share is large enough, these three words"),
    ("09.3", [lambda scores, least: [*np.argmax(scores, axis=1)]], "too little for an answer"),
    ("09.3", [lambda scores, least: ["none of these"] * len(scores)], "its share 1.00, and least is 0.6"),
    ("09.3", [lambda scores, least: "none of these"], "returns a list"),
    ("09.3", [by(share_of=lambda scores: fl.softmax(scores)[:, ::-1])], "that's another digit"),
)


def by_splitobs(train, X, labels, rng):
    known, (x, y) = fl.splitobs((X, labels), at=0.7, shuffle=True, rng=3)
    return fl.accuracy(train(*known)(x), y)


def in_folds(train, X, labels, rng):
    right = 0
    for fold in np.array_split(rng.permutation(len(X)), 5):
        others = np.setdiff1d(np.arange(len(X)), fold)
        right += np.sum(fl.onecold(train(X[others], labels[others])(X[fold])) == labels[fold])
    return right / len(X)


def prints_both(train, X, labels, rng):
    mine = rng.random(len(X)) < 0.7
    model = train(X[mine], labels[mine])
    print("learned:", fl.accuracy(model(X[mine]), labels[mine]))
    return np.array(np.mean([fl.onecold(model(x[None]))[0] == y for x, y in zip(X[~mine], labels[~mine])]))


def every_fifth(train, X, labels, rng):
    asked = np.arange(len(X)) % 5 == 0
    return fl.accuracy(train(X[~asked], labels[~asked])(X[asked]), labels[asked])


def one_by_one(scores, least):
    for row in scores:
        powers = np.exp(np.float64(row) - max(row))
        best, share = powers.argmax(), powers.max() / powers.sum()
        yield best if share >= least else "none of these"


class Answers:
    def __call__(self, scores, least):
        shares = fl.softmax(scores)
        found = np.argmax(shares, axis=1).astype(object)
        found[shares.max(axis=1) < least] = "none of these"
        return tuple(found)


test_right_answers_other_than_the_lessons_own = right(
    ("09.1", [[np.array(shape) for shape in SHAPES]]),
    ("09.1", [(map(float, shape) for shape in SHAPES)]),
    (
        "09.2",
        [
            honest(),
        ],
        "learned from 40 images, asked about 10 others: 0.50, not 1.00",
    ),
    ("09.2", [in_folds], "asked about 50 images, each of them new to the model that's asked"),
    ("09.2", [prints_both]),
    ("09.2", [split(0.5)]),
    ("09.2", [every_fifth]),
    ("09.3", [one_by_one]),
    ("09.3", [Answers()]),
    ("09.1", [tuple(map(list, SHAPES))]),
    ("09.2", [by_splitobs]),
    ("09.3", [lambda scores, least: np.array(by()(scores, least), dtype=object)]),
    ("09.3", [by(kind=np.int64)]),
)
