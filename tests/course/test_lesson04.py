"""Lesson 04's checks: each likely wrong answer gets its own helpful message."""

import numpy as np
from answers import not_right, replies, right

import fluxlite as fl
from fluxlite_course import sine_wave


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


def with_the_notebooks_weights(x, h, w1, w2):
    return forward(x, h, *sine_wave.problem()[2:])


def writes_into_h(x, h, w1, w2):
    h[...] = np.tanh(np.concatenate([x, h], axis=1) @ w1)
    return h @ w2, h


def where_x_was(x, h, w1, w2):
    return tuple(map(fl.device_of(x), forward(*fl.cpu((x, h, w1, w2)))))


def only_on_the_cpu(x, h, w1, w2):
    assert fl.device_of(x) == fl.get_device("CPU")
    return forward(x, h, w1, w2)


def wrong_on_the_gpu(x, h, w1, w2):
    return forward(x, h, w1, w2) if isinstance(x, np.ndarray) else (x, h)


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
    (with_the_notebooks_weights, "the new memory isn't right"),
    (writes_into_h, "changed the h that it was given"),
    (sine_wave.step, "the course's own function, which is ready-made"),
    (lambda *arrays: fl.gpu(forward(*fl.cpu(arrays))), "its result is on the GPU"),
    (where_x_was, "on the GPU, it brings something to the host"),
    (only_on_the_cpu, "right on the CPU, but not on the GPU"),
    (wrong_on_the_gpu, "step 1 on the GPU: you return the memory"),
    (lambda *arrays: (forward(*arrays)[0].item(), forward(*arrays)[1]), "the output's shape"),
    (lambda *arrays: np.zeros((2, 6)), "step returns two arrays"),
    (lambda *arrays: dict(zip(("out", "h"), forward(*arrays))), "step returns two arrays"),
    (lambda *arrays: tuple(1.00015 * part for part in forward(*arrays)), " at [0, "),
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


def shifts_y(w1, w2, x, y):
    y -= 1
    return 0.0649


LOOPS = [
    (training(memory="wiped"), '0.839: as good as "same value as now". What survives from step to step?'),
    (training(memory="kept for ever"), "the memory of one epoch goes on into the next"),
    (training(rate=-0.1), "the weights grew without limit: does each step go against the gradient"),
    (training(copies=False), "it changes the w1 and w2 that it's given"),
    (training(returns=lambda losses: None), "train_wave returned None"),
    (training(returns=lambda losses: losses), "train_wave's result isn't a number"),
    (training(returns=lambda losses: 0.5), "it learns something else"),
    (one_gradient, "0.0245: one gradient for a whole epoch"),
    (lambda w1, w2, x, y: 0.0649, "0.0649 is right for the weights above. From others"),
    (lambda w1, w2, x, y: sine_wave.train_by_hand()[2][-1], "the course's own function"),
    (training(returns=min), "from other weights it ends with a wrong loss"),
    (lambda w1, w2, x, y: 1234.5, "it learns something else"),
    (lambda w1, w2, x, y: np.inf, "the weights grew without limit"),
    (shifts_y, "changed the y that it was given"),
    (lambda *args: training, "train_wave's result isn't a number"),
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


def writes_into_x0(x0, n, w1, w2):
    values = continued()(x0, n, w1, w2)
    x0[...] = values[-1]
    return values


NOTEBOOKS = sine_wave.train_by_hand()[:2]
WAVES = [
    (continued(fed="true values"), "step 2: 0.503 is the answer to a true input"),
    (continued(memory="fresh"), "step 2 has forgotten step 1"),
    (continued(first=1), "step 1 already differs"),
    (continued(extra=1), "there should be n values"),
    (lambda x0, n, w1, w2: [x0, *continued()(x0, n - 1, w1, w2)], "the first value is x0 itself"),
    (lambda x0, n, w1, w2: None, "continue_wave returned None"),
    (lambda x0, n, w1, w2: [*continued()(x0, 3, w1, w2), 0.0, 0.0, 0.0], "it begins well"),
    (lambda x0, n, w1, w2: continued()(x0, 6, w1, w2), "there should be n values"),
    (lambda x0, n, w1, w2: continued()(x0, n, *NOTEBOOKS), "step 1 already differs"),
    (lambda x0, n, w1, w2: sine_wave.run(x0 * np.ones((n, 1, 1)), w1, w2, own=True)[0], "the course's own function"),
    (lambda x0, n, w1, w2: 0.7, "returns a list of n values"),
    (lambda x0, n, w1, w2: [np.ones((1, 7))] * n, "a value isn't a number"),
    (lambda x0, n, w1, w2: ["0.7"] * n, "a value is text"),
    (writes_into_x0, "changed the x0 that it was given"),
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


def in_two_yields(x, h, w1, w2):
    out, h = forward(x=x, h=h, w1=w1, w2=w2)
    yield out
    yield h


def from_float64(w1, w2, x, y):
    return np.asarray([training()(*(array.astype(np.float64) for array in (w1, w2, x, y)))])


def the_other_way_round(x, h, w1, w2):
    h = np.tanh(w1.T @ np.concatenate([x, h], axis=1).T).T
    return (w2.T @ h.T).T, h


test_right_answers_other_than_the_lessons_own = right(
    ("04.1", [by_halves]),
    ("04.1", [the_other_way_round]),
    ("04.1", [fl.captured(forward)]),
    ("04.1", [lambda *arrays: list(forward(*arrays))]),
    ("04.1", [in_two_yields]),
    ("04.2", [from_float64]),
    ("04.2", [training(returns=lambda losses: float(losses[-1]))], "from other weights: the memory lasts"),
    ("04.3", [continued(form=lambda value: np.full((1, 1), value))]),
    ("04.3", [lambda *args: (value for value in continued()(*args))]),
    ("04.3", [lambda x0, n, w1, w2: continued(extra=3)(x0, n, w1, w2)[:n]]),
    ("04.3", [lambda *args: np.array(continued(form=np.float32)(*args))]),
)
