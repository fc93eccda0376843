"""Lesson 07's checks: each likely wrong answer gets its own helpful message."""

import numpy as np
from answers import not_right, right

import fluxlite as fl


def step(x, h, w1, w2):
    h = np.tanh(np.concatenate([x, h], axis=1) @ w1)
    return h @ w2, h


def memory_for(x):
    return np.zeros_like(x, shape=(x.shape[1], 6))


def predict(x, w1, w2, forgets=False):
    h, outs = memory_for(x), []
    for point in x:
        out, after = step(point, h, w1, w2)
        h = h if forgets else after
        outs.append(out)
    return np.stack(outs)


def predict_one_by_one(x, w1, w2):
    return np.concatenate([predict(x[:, i : i + 1], w1, w2) for i in range(x.shape[1])], axis=1)


def predict_for_one_wave(x, w1, w2):
    h, outs = np.zeros_like(x, shape=(1, 6)), []
    for point in x:
        out, h = step(point, h, w1, w2)
        outs.append(out)
    return np.stack(outs)


def whole_loss(w1, w2, x, y):
    h, total = memory_for(x), 0
    for point, target in zip(x, y):
        out, h = step(point, h, w1, w2)
        total = total + np.mean((out - target) ** 2) / 2
    return total


def one_loss(w1, w2, x, y, reduce=np.mean):
    return np.sum(reduce((predict(x, w1, w2) - y) ** 2, axis=1)) / 2


def sequence_loss(w1, w2, x, y, half=2, over_steps=np.sum, detached=False):
    h, memories = memory_for(x), []
    for point in x:
        h = np.tanh(np.concatenate([point, h], axis=1) @ w1)
        memories.append(h)
        h = h.data if detached else h
    return over_steps(np.mean((np.stack(memories) @ w2 - y) ** 2, axis=1)) / half


def the_other(**changed):
    return lambda w1, w2, x, y: sequence_loss(w1, w2, x, y, **changed)


test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    ("07.1", [predict_one_by_one], "there's still a loop over the waves"),
    ("07.1", [lambda x, w1, w2: predict(x, w1, w2, forgets=True)], "keeps it from step to step"),
    ("07.1", [predict_for_one_wave], "64 waves, and a memory with a single row"),
    ("07.1", [lambda x, w1, w2: None], "the predictions for 1 wave have the shape of x"),
    ("07.1", [lambda x, w1, w2: fl.cpu(predict(x, w1, w2))], "the predictions are on the CPU"),
    ("07.2", [lambda *a: (sequence_loss(*a), a[0])], "and returned alone"),
    ("07.2", [whole_loss], "the loss is still computed in each step"),
    ("07.2", [one_loss], "is it the one with w2? No next step needs that"),
    ("07.2", [lambda *a: one_loss(*a, reduce=np.sum)], "you sum over the waves"),
    ("07.2", [the_other(half=1)], "the ½ is missing"),
    ("07.2", [the_other(over_steps=np.mean)], "the mean over the 20 steps"),
    ("07.2", [the_other(detached=True)], "its gradient for w1 isn't"),
)


test_right_answers_other_than_the_lessons_own = right(
    ("07.1", [predict]),
    ("07.2", [sequence_loss]),
)
