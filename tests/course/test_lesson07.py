"""Lesson 07's checks: each likely wrong answer gets its own helpful message."""

import numpy as np
from answers import not_right, played, right

import fluxlite as fl
from fluxlite_course import sine_wave


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


def in_groups_of_64(x, w1, w2):
    return np.concatenate([predict(x[:, i : i + 64], w1, w2) for i in range(0, x.shape[1], 64)], axis=1)


def with_a_launch_for_show(x, w1, w2):
    _ = x + 1
    return fl.gpu(predict(*fl.cpu((x, w1, w2))))


def writes_into_x(x, w1, w2):
    x[...] = predict(x, w1, w2)
    return x


def on_the_host(*arrays):
    return sequence_loss(*fl.cpu(arrays))


def wave_by_wave(w1, w2, x, y):
    n = x.shape[1]
    return sum(sequence_loss(w1, w2, x[:, i : i + 1], y[:, i : i + 1]) for i in range(n)) / n


def one_step(point, target, h, w1, w2, detached=False):
    def loss(w1, w2):
        out, after = step(point, h, w1, w2)
        return np.mean((out - target) ** 2) / 2, after

    return fl.withgradient(loss, w1, w2)


def make_epoch(x, y, w1, w2, replayed=True, reads=False, moves=False, over_steps=1, half=1, learns=True):
    if not moves:
        x, y = fl.gpu((x, y))

    def epoch():
        h, total = memory_for(x), 0
        if moves:
            h = fl.gpu(h)
        for point, target in zip(x, y):
            if moves:
                point, target = fl.gpu((point, target))
            (error, h), (g1, g2) = one_step(point, target, h, w1, w2)
            if learns:
                w1[...] -= 0.1 * g1
                w2[...] -= 0.1 * g2
            total = total + (float(error) if reads else error)
        return total * half / over_steps

    return fl.captured(epoch) if replayed else epoch


def an(**changed):
    return lambda *arrays: make_epoch(*arrays, **changed)


def step_by_step(x, y, w1, w2):
    x, y = fl.gpu((x, y))

    @fl.captured
    def take_step(point, target, h):
        (error, h), (g1, g2) = one_step(point, target, h, w1, w2)
        w1[...] -= 0.1 * g1
        w2[...] -= 0.1 * g2
        return error, h

    def epoch():
        h, total = memory_for(x), 0
        for point, target in zip(x, y):
            error, h = take_step(point, target, h)
            total = total + error
        return total

    return epoch


def on_the_hosts_own(x, y, w1, w2):
    here = fl.cpu((w1, w2))
    run = make_epoch(x, y, *here, moves=False, replayed=False)

    def epoch():
        total = run()
        w1[...] = fl.gpu(here[0])
        w2[...] = fl.gpu(here[1])
        return total

    return epoch


def with_copies(x, y, w1, w2):
    return lambda: make_epoch(x, y, w1.copy(), w2.copy(), replayed=False)()


def remembered(x, y, w1, w2):
    """Plays all epochs at once, and then says what they gave."""
    run = make_epoch(x, y, w1, w2, replayed=False)
    losses = iter([float(run()) for _ in range(4)])
    return lambda: next(losses)


test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    ("07.1", [predict_one_by_one], "there's still a loop over the waves"),
    ("07.1", [lambda x, w1, w2: predict(x, w1, w2, forgets=True)], "keeps it from step to step"),
    ("07.1", [predict_for_one_wave], "64 waves, and a memory with a single row"),
    ("07.1", [lambda x, w1, w2: None], "the predictions for 1 wave have the shape of x"),
    ("07.1", [lambda x, w1, w2: fl.cpu(predict(x, w1, w2))], "the predictions are on the CPU"),
    ("07.1", [in_groups_of_64], "there's still a loop over the waves"),
    ("07.1", [lambda *arrays: fl.gpu(predict(*fl.cpu(arrays)))], "arrays were copied to the host"),
    ("07.1", [with_a_launch_for_show], "arrays were copied to the host"),
    ("07.1", [lambda x, w1, w2: sine_wave.run(x, w1, w2)[0]], "the course's own function"),
    ("07.1", [lambda x, w1, w2: list(predict(x, w1, w2))], "have the shape of x"),
    ("07.1", [lambda x, w1, w2: predict(x, *fl.gpu(sine_wave.problem()[2:]))], "that's not what step gives"),
    ("07.1", [writes_into_x], "changed the x that it was given"),
    ("07.1", [lambda x, w1, w2: x], "that's not what step gives"),
    ("07.2", [on_the_host], "arrays were copied to the host"),
    ("07.2", [wave_by_wave], "there's a loop over the waves"),
    (
        "07.2",
        [lambda *a: sequence_loss(*a) + 0 * sum(i * a[0][0, 0] for i in range(20))],
        "What else could be done at once",
    ),
    ("07.2", [lambda *a: fl.stop_gradient(sequence_loss(*a)) + 0 * np.sum(a[0]) + 0 * np.sum(a[1])], "gradient for w1"),
    ("07.2", [6.2], "sequence_loss isn't a function"),
    ("07.2", [lambda *a: (sequence_loss(*a), a[0])], "and returned alone"),
    ("07.2", [whole_loss], "the loss is still computed in each step"),
    ("07.2", [one_loss], "is it the one with w2? No next step needs that"),
    ("07.2", [lambda *a: one_loss(*a, reduce=np.sum)], "you sum over the waves"),
    ("07.2", [the_other(half=1)], "the ½ is missing"),
    ("07.2", [the_other(over_steps=np.mean)], "the mean over the 20 steps"),
    ("07.2", [the_other(detached=True)], "its gradient for w1 isn't"),
    ("07.3", [an(moves=True, reads=True, replayed=False)], "each point is still copied"),
    ("07.3", [an(reads=True, replayed=False)], "each loss is still read"),
    ("07.3", [an(replayed=False)], "nothing is replayed"),
    ("07.3", [step_by_step], "a step is one order now"),
    ("07.3", [an(over_steps=20)], "you take the mean over the 20 steps"),
    ("07.3", [an(half=2)], "the ½ is missing"),
    ("07.3", [an(learns=False)], "w1 and w2 stay as they were"),
    ("07.3", [with_copies], "w1 isn't"),
    ("07.3", [remembered], "w1 isn't"),
    ("07.3", [lambda *arrays: 6.2], "what make_epoch returns isn't a function"),
    ("07.3", [lambda *arrays: None], "what make_epoch returns isn't a function"),
    ("07.3", [lambda *arrays: lambda: None], "epoch returned None"),
)


def into_one_array(x, w1, w2):
    h, outs = memory_for(x), np.zeros_like(x)
    for i in range(len(x)):
        outs[i], h = step(x[i], h, w1, w2)
    return outs


class Predict:
    """The products with x and w2 are out of the loop."""

    def __call__(self, x, w1, w2):
        h, memories = memory_for(x), []
        for part in x @ w1[:1]:
            h = np.tanh(part + h @ w1[1:])
            memories.append(h)
        return np.matmul(np.stack(memories), w2)


def by_halves(w1, w2, x, y):
    return np.sum(np.mean((Predict()(x, w1, w2) - y) ** 2, axis=1)) / 2


test_right_answers_other_than_the_lessons_own = right(
    ("07.1", [predict]),
    ("07.1", [into_one_array]),
    ("07.1", [Predict()]),
    ("07.1", [lambda *arrays: (print(predict(*arrays)[0, 0]), predict(*arrays))[1]]),
    ("07.2", [sequence_loss]),
    ("07.2", [by_halves]),
    ("07.2", [lambda w1, w2, x, y: sequence_loss(y=y, x=x, w2=w2, w1=w1)]),
    ("07.3", [make_epoch]),
    ("07.3", [lambda *arrays: (lambda replayed: lambda: float(replayed()))(make_epoch(*arrays))]),
)


test_a_puzzle_counts_only_on_the_gpu = played(
    ("07-1", "sequence_loss", sequence_loss, "at par"),
    ("07-1", "sequence_loss", by_halves, "244 launches"),
    ("07-2", "make_epoch", make_epoch, "at par"),
    ("07-1", "sequence_loss", on_the_host, "arrays were copied to the host"),
    ("07-1", "sequence_loss", lambda *arrays: 6.2, "not right"),
)
