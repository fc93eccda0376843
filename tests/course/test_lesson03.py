"""Lesson 03's checks: each likely wrong answer gets its own helpful message."""

import re

import numpy as np
from answers import not_right, right

import fluxlite as fl
from fluxlite_course.kit.exercises import judge


def mse(w, x, y):
    return fl.mse(x @ w, y)


def slope(w, x, y):
    return fl.gradient(mse, w, x, y)[0]


def in_place(w, x, y, rate):
    w -= rate * slope(w, x, y)
    return w


def on_the_host(w, x, y, rate):
    new = fl.cpu(w) - rate * slope(*fl.cpu((w, x, y)))
    return new if isinstance(w, np.ndarray) else fl.gpu(new)


def always_on_the_gpu(w, x, y, rate):
    w, x, y = fl.gpu((w, x, y))
    return w - rate * slope(w, x, y)


def outside(w, x, y, rate):
    return w - rate * fl.gradient(lambda v: fl.mse(x @ w, y), w)[0]


def of_the_sum(w, x, y, rate):
    return w - rate * fl.gradient(lambda w: np.sum((x @ w - y) ** 2), w)[0]


def fit(**wrong):
    """The loop of 03.2 with one change."""

    def answer(model, x, y):
        first_setup = wrong.get("setup_first")
        opt_state = fl.setup(fl.Adam(0.02), model) if first_setup else None
        model = wrong.get("move", fl.gpu)(model)
        x, y = wrong.get("move_data", fl.gpu)((x, y))
        opt_state = opt_state or fl.setup(wrong.get("rule", fl.Adam(0.02)), model)
        other = model if wrong.get("outside") else None
        for _ in range(100):
            if wrong.get("setup_in_loop"):
                opt_state = fl.setup(fl.Adam(0.02), model)
            grads = fl.gradient(lambda m: fl.mse((other or m)(x), y), model)
            grads = grads if wrong.get("tuple") else grads[0]
            arguments = (model, opt_state, grads) if wrong.get("swapped") else (opt_state, model, grads)
            fl.update(*arguments)
        return wrong.get("result", lambda model: model)(model)

    return answer


def keep(x):
    return x


def learn_xor(steps=150, rule=None, move=fl.gpu, twice=False):
    def answer(model, x, y):
        model, x, y = move((model, x, y))
        opt_state = fl.setup(rule or fl.Adam(0.05), model)

        def off(m):
            loss = np.mean(np.abs(m(x) - y))
            return loss + np.mean((m(x) - y) ** 2) if twice else loss

        for _ in range(steps):
            fl.update(opt_state, model, fl.gradient(off, model)[0])
        return model

    return answer


def by_train(steps):
    def answer(model, x, y):
        model = fl.gpu(model)
        opt_state = fl.setup(fl.Adam(0.05), model)
        off = lambda m, x, y: np.mean(np.abs(m(x) - y) ** 1.5)  # noqa: E731
        fl.train(off, model, [fl.gpu((x, y))], opt_state, epochs=steps, progress=False)
        return model

    return answer


def always_a_half(model, x, y):
    model = fl.gpu(model)
    model[1].weight[...], model[1].bias[...] = 0, 0.5
    fl.cpu(model(fl.gpu(x)))
    return model


def losses_of(keeps, collect, move=keep, steps=None):
    """The loop of 03.4: `keeps` is what to do with each loss, `collect` with all of them."""

    def answer(model, x, y, count):
        model, x, y = move((model, x, y))
        opt_state, found = fl.setup(fl.Momentum(0.1), model), []
        for _ in range(steps or count):
            value, (grads,) = fl.withgradient(lambda m: fl.mse(m(x), y), model)
            fl.update(opt_state, model, grads)
            found.append(keeps(value))
        return collect(found)

    return answer


def every_tenth(found):
    return np.concatenate([fl.cpu(np.stack(found[i : i + 10])) for i in range(0, len(found), 10)])


test_a_wrong_answer_is_not_right_and_told_why = not_right(
    ("03.1", [outside], "a gradient is None"),
    ("03.1", [lambda w, x, y, rate: w + rate * slope(w, x, y)], "uphill"),
    ("03.1", [lambda w, x, y, rate: w - 0.1 * slope(w, x, y)], "the rate is an argument; yours is always 0.1"),
    ("03.1", [lambda w, x, y, rate: w - rate * fl.gradient(mse, w, x, y)], "gradient gives a tuple"),
    ("03.1", [lambda w, x, y, rate: w - slope(w, x, y)], "the rate says how much of it to take"),
    ("03.1", [lambda w, x, y, rate: slope(w, x, y)], "this is the gradient"),
    ("03.1", [lambda w, x, y, rate: rate * slope(w, x, y)], "this is the step"),
    ("03.1", [lambda w, x, y, rate: w], "w came back unchanged"),
    ("03.1", [lambda w, x, y, rate: (w - rate * slope(w, x, y),)], "a tuple came back"),
    ("03.1", [lambda w, x, y, rate: None], "step returned None"),
    ("03.1", [lambda w, x, y, rate: 3 * w], "not the new w"),
    ("03.1", [of_the_sum], "the sum of the squares"),
    ("03.1", [in_place], "changed the w that it was given"),
    ("03.1", [always_on_the_gpu], "nothing has to move here"),
    ("03.1", [on_the_host], "brings something back to the CPU"),
    ("03.2", [fit(move=keep)], "model and data are in two places"),
    ("03.2", [fit(swapped=True)], "update takes the optimizer's memory first"),
    ("03.2", [fit(tuple=True)], "gradient gives a tuple, one for each argument: unpack it"),
    ("03.2", [fit(setup_first=True)], "setup came before gpu"),
    ("03.2", [fit(setup_in_loop=True)], "setup is inside the loop, so Adam forgets"),
    ("03.2", [fit(outside=True)], "learns nothing: does the function"),
    ("03.2", [fit(move=keep, move_data=keep)], "it ran on the CPU"),
    ("03.2", [fit(result=lambda model: None)], "fit returned None"),
    ("03.2", [fit(rule=fl.Descent(0.5))], "it learns, but less"),
    ("03.3", [learn_xor(steps=3)], "it isn't there yet"),
    ("03.3", [always_a_half], "always the same answer"),
    ("03.3", [learn_xor(steps=201)], "it takes too many steps"),
    ("03.3", [by_train(steps=250)], "it takes too many steps"),
    ("03.3", [learn_xor(move=keep)], "it was trained on the CPU"),
    ("03.3", [lambda model, x, y: None], "learn_xor returned None"),
    ("03.3", [lambda model, x, y: 3], "what came back isn't a model"),
    ("03.4", [losses_of(lambda v: float(fl.cpu(v)), np.array)], "it still waits for each number"),
    ("03.4", [losses_of(keep, every_tenth)], "fewer waits"),
    ("03.4", [losses_of(keep, np.stack)], "aren't in a NumPy array"),
    ("03.4", [losses_of(keep, lambda found: None)], "returned None"),
    ("03.4", [losses_of(keep, lambda found: fl.cpu(found[-1]).reshape(1))], "one loss for each of the 50 steps"),
    ("03.4", [losses_of(keep, lambda found: fl.cpu(np.stack(found)) * 2)], "aren't the losses of this training"),
    ("03.4", [losses_of(keep, np.array, move=fl.cpu)], "it ran on the CPU"),
)


def with_an_optimizer(w, x, y, rate):
    model = {"w": w.copy()}
    grads = fl.gradient(lambda m: mse(m["w"], x, y), model)
    return fl.update(fl.setup(fl.Descent(rate), model), model, grads[0])[1]["w"]


def with_train(model, x, y):
    model = fl.gpu(model)
    data = [fl.gpu((x, y))]
    fl.train(lambda m, x, y: fl.mse(m(x), y), model, data, fl.setup(fl.Adam(0.02), model), 100, progress=False)
    return fl.cpu(model)


def of_train(model, x, y, steps):
    opt_state = fl.setup(fl.Momentum(0.1), model)
    data = [(x, y)] * steps
    loss = lambda m, x, y: fl.mse(m(x), y)  # noqa: E731
    done = fl.train(loss, model, data, opt_state, check_every=steps, progress=False)
    return np.array(done.losses)


test_right_answers_other_than_the_lessons_own = right(
    ("03.1", [with_an_optimizer]),
    ("03.2", [with_train]),
    ("03.3", [learn_xor(200)]),
    ("03.3", [by_train(200)]),
    ("03.3", [learn_xor(200, twice=True)]),
    ("03.4", [of_train]),
)


def test_a_wrong_w_and_the_right_one_are_printed_alike():
    rows = dict(judge("03.1", lambda w, x, y, rate: 3 * w).rows)
    assert all(re.fullmatch(r"\[[-\d. ]+\]", rows[name]) for name in ("yours", "expected")), rows
