"""Lesson 03's checks: each likely wrong answer gets its own helpful message."""

import re
from functools import partial

import numpy as np
import pytest
from answers import not_right, right

import fluxlite as fl
from fluxlite_course.kit.exercises import judge
from fluxlite_course.lesson03 import passes, surfaces


def mse(w, x, y):
    return fl.mse(x @ w, y)


def slope(w, x, y):
    return fl.gradient(mse, w, x, y)[0]


def in_place(w, x, y, rate):
    w -= rate * slope(w, x, y)
    return w


def outside(w, x, y, rate):
    return w - rate * fl.gradient(lambda v: fl.mse(x @ w, y), w)[0]


def fit(**wrong):
    """The loop of 03.2 with one change."""

    def answer(model, x, y):
        opt_state = fl.setup(fl.Adam(0.02), model) if wrong.get("setup_first") else None
        model = wrong.get("move", fl.gpu)(model)
        x, y = wrong.get("move_data", fl.gpu)((x, y))
        opt_state = opt_state or fl.setup(wrong.get("rule", fl.Adam(0.02)), model)
        other = model if wrong.get("outside") else None
        for _ in range(wrong.get("steps", 100)):
            grads = fl.gradient(lambda m: fl.mse((other or m)(x), y), model)
            grads = grads if wrong.get("tuple") else grads[0]
            arguments = (model, opt_state, grads) if wrong.get("swapped") else (opt_state, model, grads)
            fl.update(*arguments)
        return model

    return answer


def keep(x):
    return x


def learn_xor(steps=150, move=fl.gpu):
    def answer(model, x, y):
        model, x, y = move((model, x, y))
        opt_state = fl.setup(fl.Adam(0.05), model)
        for _ in range(steps):
            (grads,) = fl.gradient(lambda m: np.mean(np.abs(m(x) - y)), model)
            fl.update(opt_state, model, grads)
        return model

    return answer


def with_an_optimizer(w, x, y, rate):
    model = {"w": w.copy()}
    grads = fl.gradient(lambda m: mse(m["w"], x, y), model)
    return fl.update(fl.setup(fl.Descent(rate), model), model, grads[0])[1]["w"]


def with_a_rules_own_change(w, x, y, rate):
    return w - fl.Descent(rate).change(None, w, slope(w, x, y))


def learns_here(model, x, y):
    """Trains the layers here, without what notes it, and then asks for a few gradients on the GPU."""
    layers = model[:2]
    opt_state = fl.setup(fl.Adam(0.05), layers)
    for _ in range(150):
        (grads,) = fl.gradient(lambda m: np.mean((m(x) - y) ** 2), layers)
        fl.update(opt_state, layers, grads)
    there, x, y = fl.gpu((model, x, y))
    for _ in range(4):
        fl.gradient(lambda m: np.mean((m(x) - y) ** 2), there)
    return there


def ready_made(model, x, y):
    model, x, y = fl.gpu((model, x, y))
    fl.train(lambda m, x, y: fl.mse(m(x), y), model, [(x, y)], fl.setup(fl.Adam(0.05), model), 3, progress=False)
    return model


def written_down(model, x, y):
    _ = fl.gpu(x) + 1
    return lambda x: (x[:, :1] * x[:, 1:] < 0) * 1.0


def here_with_a_launch_for_show(model, x, y):
    _ = fl.gpu(x) + 1
    return learn_xor(move=keep)(model, x, y)


def for_show(run):
    """Trains here, and asks a model on the GPU a few times, so that there are launches."""

    def answer(model, x, y):
        for _ in range(4):
            fl.gpu(model)(fl.gpu(x))
        return run(model, x, y)

    return answer


def what_it_should_say(model, x, y):
    fit()(model, x, y)
    return lambda x: (model(x), y)[1]


def setup_in_the_loop(model, x, y):
    model, x, y = fl.gpu((model, x, y))
    for _ in range(100):
        (grads,) = fl.gradient(lambda m: fl.mse(m(x), y), model)
        fl.update(fl.setup(fl.Adam(0.02), model), model, grads)
    return model


def the_product_itself(model, x, y):
    fit(steps=95)(model, x, y)
    return lambda x: x[:, :1] * x[:, 1:]


def fit_here(model, x, y):
    _ = fl.gpu(x) + 1
    return fit(move=keep, move_data=keep)(model, x, y)


test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    ("03.1", [outside], "A gradient is None if the function"),
    ("03.1", [lambda w, x, y, rate: w + rate * slope(w, x, y)], "uphill"),
    ("03.1", [lambda w, x, y, rate: w - 0.05 * slope(w, x, y)], "the rate is an argument; yours is always 0.05"),
    ("03.1", [lambda w, x, y, rate: w - rate * fl.gradient(mse, w, x, y)], "gradient gives a tuple"),
    ("03.1", [lambda w, x, y, rate: w - slope(w, x, y)], "the rate says how much of it to take"),
    ("03.1", [lambda w, x, y, rate: slope(w, x, y)], "that's the gradient"),
    ("03.1", [lambda w, x, y, rate: 3 * w], "not the new w"),
    ("03.1", [in_place], "changed the w that it was given"),
    ("03.1", [with_an_optimizer], "that's an optimizer, setup and update"),
    ("03.1", [with_a_rules_own_change], "that's an optimizer, change"),
    ("03.1", [lambda w, x, y, rate: w - 0.15 * slope(w, x, y)], "not the new w"),
    ("03.1", [lambda w, x, y, rate: rate * slope(w, x, y)], "that's the step, not the new w"),
    ("03.1", [lambda w, x, y, rate: w], "that's the w that you were given"),
    ("03.1", [lambda w, x, y, rate: (w - rate * slope(w, x, y)).astype(np.float16) * 1.001], "not the new w"),
    ("03.1", [lambda w, x, y, rate: w - 2 / 8 * rate * x.T @ (x @ w - y)], "not the new w"),
    ("03.1", [np.ones((3, 1))], "step isn't a function"),
    ("03.2", [fit(move=keep)], "model and data are in two places"),
    ("03.2", [fit(swapped=True)], "update takes the optimizer's memory first"),
    ("03.2", [fit(tuple=True)], "gradient gives a tuple, one for each argument: unpack it"),
    ("03.2", [fit(setup_first=True)], "setup came before gpu"),
    ("03.2", [fit(outside=True)], "learns nothing: does the function"),
    ("03.2", [fit(move=keep, move_data=keep)], "it ran on the CPU"),
    ("03.2", [fit(rule=fl.Descent(0.5))], "it learns, but less"),
    ("03.2", [fit(move_data=keep)], "gpu(x) gives a new array"),
    ("03.2", [fit(steps=10)], "the model was called 10 times; 100 steps"),
    ("03.2", [fit(rule=fl.Adam(5.0))], "the loss has grown"),
    ("03.2", [setup_in_the_loop], "setup is in the loop"),
    ("03.2", [the_product_itself], "isn't the model that it was given"),
    ("03.2", [fit(rule=fl.Descent(1e30))], "the loss isn't a number any more"),
    ("03.2", [fit_here], "never ran there"),
    ("03.2", [for_show(fit(move=keep, move_data=keep))], "gradients went through the model on the CPU"),
    ("03.2", [learns_here], "only 4 gradients went through the model on the GPU"),
    ("03.2", [what_it_should_say], "isn't the model that it was given"),
    ("03.2", [lambda *args: (fit(steps=1)(*args), 0.01)], "returns the trained model, and nothing else"),
    ("03.2", [lambda *args: fit(steps=1)(*args)[0]], "isn't the model that it was given"),
    ("03.2", [lambda *args: 0.0009], "fit returns the trained model"),
    ("03.3", [learn_xor(steps=3)], "it isn't there yet"),
    ("03.3", [for_show(learn_xor(move=keep))], "gradients went through the model on the CPU"),
    ("03.3", [learn_xor(move=keep)], "it was trained on the CPU"),
    ("03.3", [ready_made], "mse is ready-made: write a loss of your own"),
    ("03.3", [learns_here], "only 4 gradients went through the model on the GPU"),
    ("03.3", [written_down], "was hardly ever tried there"),
    ("03.3", [here_with_a_launch_for_show], "was hardly ever tried there"),
    ("03.3", [lambda *args: learn_xor(steps=3)(*args) and args[0]], "says what it said before"),
    ("03.3", [lambda model, x, y: None], "learn_xor returned None"),
)


def with_train(model, x, y):
    model = fl.gpu(model)
    data = [fl.gpu((x, y))]
    fl.train(lambda m, x, y: fl.mse(m(x), y), model, data, fl.setup(fl.Adam(0.02), model), 100, progress=False)
    return fl.cpu(model)


def by_hand(w, x, y, rate):
    return w - 2 * rate / len(x) * x.T @ (x @ w - y)


def in_float64(w, x, y, rate):
    def loss(w):
        return np.mean(np.square(x @ w - y))

    (g,) = fl.gradient(loss, w.astype(np.float64))
    return np.subtract(w, np.multiply(rate, g))


def prints_mse(model, x, y):
    print(fl.mse(model(x), y))
    return learn_xor()(model, x, y)


def by_small_steps(w, x, y, rate):
    g = np.zeros_like(w)
    for i in range(len(w)):
        step = np.zeros_like(w)
        step[i] = 0.01
        g[i] = (mse(w + step, x, y) - mse(w - step, x, y)) / 0.02
    return w - rate * g


class Learner:
    def loss(self, model, x, y):
        wrong = model(x) - y
        return np.sum(wrong * wrong) + 0.0 * np.sum(np.abs(wrong))

    def __call__(self, model, x, y):
        model, batch = fl.gpu(model), fl.gpu((x, y))
        fl.train(self.loss, model, [batch], fl.setup(fl.Adam(0.1), model), epochs=100, progress=False)
        return fl.cpu(model)


test_right_answers_other_than_the_lessons_own = right(
    ("03.1", [by_hand]),
    ("03.1", [partial(in_float64)]),
    ("03.1", [by_small_steps]),
    ("03.1", [lambda w, x, y, rate: w - rate * fl.withgradient(lambda v: np.mean((x @ v - y) ** 2), w)[1][0]]),
    ("03.2", [with_train], "with 100 gradients on the GPU"),
    ("03.2", [fit(rule=fl.RMSProp(0.01))]),
    ("03.3", [learn_xor(120)], "with 120 gradients on the GPU"),
    ("03.3", [Learner()]),
    ("03.3", [prints_mse]),
)


def test_a_wrong_w_and_the_right_one_are_printed_alike():
    rows = dict(judge("03.1", lambda w, x, y, rate: 3 * w).rows)
    assert all(re.fullmatch(r"\[[-\d. ]+\]", rows[name]) for name in ("yours", "expected")), rows


class Tracked:
    """A number as lesson 03 writes it, with an addition."""

    def __init__(self, value, how="w", *made_from):
        self.value, self.how, self.made_from = value, how, made_from

    def __mul__(self, k):
        return Tracked(self.value * k, f"* {k}", (self, k))

    def __sub__(self, k):
        return Tracked(self.value - k, f"- {k}", (self, 1))

    def __pow__(self, k):
        return Tracked(self.value**k, f"** {k}", (self, k * self.value ** (k - 1)))

    def __add__(self, other):
        return Tracked(self.value + other.value, "+", (self, 1), (other, 1))


@pytest.mark.parametrize("f", [lambda w: (w * 3 - 6) ** 2, lambda w: (w * 3) ** 2 + (w - 1) ** 3, lambda w: w * 2])
def test_the_graph_ends_with_the_gradient_for_each_w(f):
    scene = passes(f, Tracked)
    nodes = len({part.text for part in scene.picture.parts() if part.attributes.get("class") == "middle code"})
    for w in ("0", "1", "1.9", "3"):
        (gradient,) = fl.gradient(f, float(w))
        assert (
            scene.at(w=w, step=f"{2 * nodes} of {2 * nodes}")
            == f"Backward pass: the gradient of w is {round(gradient, 4) + 0:g}."
        )
        assert scene.at(w=w, step=f"1 of {2 * nodes}") == f"Forward pass: w gives {w}."


def test_the_minus_18_arrives_at_w_after_it_was_multiplied_at_each_arrow():
    scene = passes(lambda w: (w * 3 - 6) ** 2, Tracked)
    way = [scene.at(step=f"{step} of 8") for step in range(4, 9)]
    assert way[0] == "Forward pass: ** 2 gives 9."
    assert way[1] == "Backward pass: the gradient of ** 2 is 1. It goes on to - 6, times -6."
    assert way[3] == "Backward pass: the gradient of * 3 is -6. It goes on to w, times 3."
    assert way[4] == "Backward pass: the gradient of w is -18."


def test_one_backward_pass_visits_all_weights():
    def f(w, v):
        return (w * 3 + v * 2 - 6) ** 2

    scene = passes(f, Tracked)
    for w in ("0", "1", "3"):
        wanted = dict(zip("wv", fl.gradient(f, float(w), 0.0)))
        for name, gradient in wanted.items():
            assert f"Backward pass: the gradient of {name} is {gradient:g}." in every_sentence(scene, w)


def every_sentence(scene, w):
    return [said for setting, said in zip(scene.settings, scene.sentences) if setting["w"] == w]


def test_a_surface_goes_through_the_points_when_the_model_is_right():
    x = np.random.default_rng(0).uniform(-1, 1, (5, 2)).astype(np.float32)
    y = x[:, :1] * x[:, 1:]
    scene = surfaces({1: lambda x: x[:, :1] * 0, 50: lambda x: x[:, :1] * x[:, 1:]}, x, y)
    assert scene.sentences[0] == f"After 1 step: the sticks are {np.abs(y).mean():.2g} long, on average."
    assert scene.sentences[1] == "After 50 steps: the sticks are 0 long, on average."
    sticks = [part.attributes["d"] for part in scene.picture.parts() if part.attributes.get("class") == "host line"]
    assert len(sticks) == 5
    for flat, exact in sticks:
        begin, end = exact.split(" ")[1].split("V")
        assert begin == end and flat != exact


def test_a_model_on_the_gpu_has_the_surface_of_its_copy_on_the_cpu():
    model = fl.Chain(fl.Dense(2, 4, np.tanh, rng=np.random.default_rng(0)), fl.Dense(4, 1))
    x = np.zeros((1, 2), np.float32)
    with fl.simulate_gpu():
        assert surfaces({1: fl.gpu(model)}, x, x[:, :1]).sentences == surfaces({1: model}, x, x[:, :1]).sentences
