"""Lesson 04's checks: each likely wrong answer gets its own helpful message."""

import numpy as np
from answers import not_right, replies, right

import fluxlite as fl


def forward(x, h, w1, w2):
    h = np.tanh(np.concatenate([x, h], axis=1) @ w1)
    return h @ w2, h


def bent_twice(x, h, w1, w2):
    out, h = forward(x, h, w1, w2)
    return np.tanh(out), h


def not_bent(x, h, w1, w2):
    h = np.concatenate([x, h], axis=1) @ w1
    return h @ w2, h


def without_numpy(x, h, w1, w2):
    return tuple(np.array(array.tolist(), np.float32) for array in forward(x, h, w1, w2))


def into_zeros(x, h, w1, w2):
    joined = np.zeros((1, 7), np.float32)
    joined[:, :1], joined[:, 1:] = x, h
    h = np.tanh(joined @ w1)
    return h @ w2, h


STEPS = [
    (lambda x, h, w1, w2: None, "step returned None"),
    (lambda x, h, w1, w2: forward(x, h, w1, w2)[0], "step returns two arrays"),
    (lambda x, h, w1, w2: (1.0, 2.0), "the new memory's shape isn't that of the drawing"),
    (lambda x, h, w1, w2: forward(x, h, w1, w2)[::-1], "the two are in the wrong order"),
    (lambda x, h, w1, w2: forward(h, x, w1, w2), "row 0 of w1 belongs to the input; yours multiplies it with h[0]"),
    (bent_twice, "outputs never exceed 1: is there a tanh too many?"),
    (not_bent, "is a tanh missing?"),
    (lambda x, h, w1, w2: (forward(x, h, w1, w2)[0], h), "you return the memory that you were given"),
    (lambda x, h, w1, w2: (h @ w2, forward(x, h, w1, w2)[1]), "the output comes from the old memory"),
    (lambda x, h, w1, w2: (2 * forward(x, h, w1, w2)[0], forward(x, h, w1, w2)[1]), "but the output isn't"),
    (lambda x, h, w1, w2: forward(2 * x, h, w1, w2), "the new memory isn't right"),
    (without_numpy, "right on the CPU; the check also runs it on the GPU"),
    (into_zeros, "right on the CPU; the check also runs it on the GPU"),
]


def training(memory="kept", rate=0.1, copies=True, returns=lambda losses: losses[-1]):
    """A loop like the lesson's, with mistakes."""

    def train_wave(w1, w2, x, y, epochs=200):
        if copies:
            w1, w2 = w1.copy(), w2.copy()
        h, losses = np.zeros((1, 6), np.float32), []
        for _ in range(epochs):
            total, h = 0, h if memory == "kept for ever" else np.zeros((1, 6), np.float32)
            for point, target in zip(x, y):

                def loss(w1, w2, point=point, target=target, h=h):
                    out, after = forward(point, h, w1, w2)
                    return np.sum((out - target) ** 2) / 2, after

                (value, after), (g1, g2) = fl.withgradient(loss, w1, w2)
                h = h if memory == "wiped" else after
                w1 -= rate * g1
                w2 -= rate * g2
                total = total + value
            losses.append(total)
        return returns(losses)

    return train_wave


def one_gradient(w1, w2, x, y, epochs=200):
    for _ in range(epochs):

        def loss(w1, w2):
            total, h = 0, np.zeros_like(w2.data.T)
            for point, target in zip(x, y):
                out, h = forward(point, h, w1, w2)
                total = total + np.sum((out - target) ** 2) / 2
            return total

        value, (g1, g2) = fl.withgradient(loss, w1, w2)
        w1, w2 = w1 - 0.1 * g1, w2 - 0.1 * g2
    return value


LOOPS = [
    (training(memory="wiped"), '0.839: as good as "same value as now". What survives from step to step?'),
    (training(memory="kept for ever"), "the memory of one epoch goes on into the next"),
    (training(rate=-0.1), "the weights grew without limit: does each step go against the gradient"),
    (training(copies=False), "it changes the w1 and w2 that it's given"),
    (training(returns=lambda losses: None), "train_wave returned None"),
    (training(returns=lambda losses: losses), "train_wave's result isn't a number"),
    (training(returns=lambda losses: 0.5), "it learns something else"),
    (one_gradient, "0.0245: one gradient for a whole epoch"),
]


def continued(fed="own", memory="kept", first=0, extra=0, form=float):
    """A wave starting at x0, with mistakes."""
    truth = np.sin(np.linspace(2, 10, 21)).astype(np.float32).reshape(21, 1, 1)

    def continue_wave(x0, n, w1, w2):
        point, h, values = x0, np.full_like(w2.T, first), []
        for step in range(n + extra):
            out, after = forward(point, h, w1, w2)
            values.append(out)
            h = after if memory == "kept" else h
            point = out if fed == "own" else truth[step + 1]
        return [form(value.item()) for value in values]

    return continue_wave


WAVES = [
    (continued(fed="true values"), "step 2: 0.503 is the answer to a true input"),
    (continued(memory="fresh"), "step 2 has forgotten step 1"),
    (continued(first=1), "step 1 already differs"),
    (continued(extra=1), "there should be n values"),
    (lambda x0, n, w1, w2: [x0, *continued()(x0, n - 1, w1, w2)], "the first value is x0 itself"),
    (lambda x0, n, w1, w2: None, "continue_wave returned None"),
    (lambda x0, n, w1, w2: [*continued()(x0, 3, w1, w2), 0.0, 0.0, 0.0], "it begins well"),
]


WRONG = {"04.1": STEPS, "04.2": LOOPS, "04.3": WAVES}
test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    *[(id, [answer], words) for id, answers in WRONG.items() for answer, words in answers]
)
test_where_the_library_says_what_is_wrong_the_check_passes_it_on = replies(
    "stopped",
    ("04.1", [lambda x, h, w1, w2: forward(x, h, w2, w1)], "matmul"),
)


def by_halves(x, h, w1, w2):
    h = np.tanh(x @ w1[:1] + h @ w1[1:])
    return h @ w2, h


test_right_answers_other_than_the_lessons_own = right(
    ("04.1", [by_halves]),
    ("04.2", [training(returns=lambda losses: float(losses[-1]))]),
    ("04.3", [continued(form=lambda value: np.full((1, 1), value))]),
)
