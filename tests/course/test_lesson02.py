"""Lesson 02's checks: each likely wrong answer gets its own helpful message."""

from dataclasses import make_dataclass

import numpy as np
from answers import not_right, right

import fluxlite as fl
from fluxlite_course.lesson02 import functor_switch, trees


def thrown_away(model, x):
    fl.gpu(model)
    fl.gpu(x)
    return model(x)


def twice(model, x):
    fl.gpu(model)
    return fl.cpu(fl.gpu(model)(fl.gpu(x)))


def in_place(model, x):
    model.layers = fl.gpu(model.layers)
    return fl.cpu(model(fl.gpu(x)))


def nothing_returned(model, x):
    fl.gpu(model)(fl.gpu(x))


def two_heads(register=None):
    class TwoHeads:
        def __init__(self, body, heads, name):
            self.body, self.heads, self.name = body, heads, name

    return TwoHeads if register is None else register(TwoHeads)


def every_node(f, x):
    children, rebuild = fl.functor(x)
    if not children:
        return f(x)
    items = children.items() if isinstance(children, dict) else enumerate(children)
    new = {name: every_node(f, child) for name, child in items}
    return f(rebuild(new if isinstance(children, dict) else type(children)(new.values())))


def walk_in_place(f, x):
    children, _ = fl.functor(x)
    if not children:
        return f(x)
    if hasattr(x, "actor"):
        x.actor = walk_in_place(f, x.actor)
        return x
    return fl.fmap(f, x)


test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    ("02.1", [thrown_away], "copies were made and dropped: gpu(model) gives a new model"),
    ("02.1", [lambda model, x: model(x)], "the GPU was never asked for anything"),
    ("02.1", [lambda model, x: fl.cpu(fl.gpu(model)(x))], "model and data are in two places"),
    ("02.1", [lambda model, x: fl.gpu(model)(fl.gpu(x))], "the result is still there"),
    ("02.1", [twice], "a line makes copies that nobody keeps"),
    ("02.1", [in_place], "the caller's model was changed"),
    ("02.1", [nothing_returned], "predict returned None"),
    ("02.1", [lambda model, x: fl.cpu(fl.gpu(model)(fl.gpu(-x)))], "the numbers aren't those of model(x)"),
    ("02.2", [two_heads()], "6 of 6 arrays stayed on the CPU: body.weight"),
    ("02.2", [two_heads(lambda cls: fl.functor(cls, ("body",)))], "4 of 6 arrays stayed on the CPU: heads[0]"),
    ("02.3", [every_node], "f was called with a whole"),
    ("02.3", [walk_in_place], "your my_fmap changed the model it was given"),
    ("02.3", [lambda f, x: None], "my_fmap returned None"),
    ("02.3", [lambda f, x: {"actor": 1}], "the result isn't an ActorCritic"),
    ("02.3", [fl.fmap], "that calls fmap itself"),
    ("02.3", [lambda f, x: x], "actor isn't what fmap makes of it"),
)


def in_a_list(f, x):
    children, rebuild = fl.functor(x)
    if not children:
        return f(x)
    if isinstance(children, dict):
        return rebuild({name: in_a_list(f, child) for name, child in children.items()})
    return rebuild([in_a_list(f, child) for child in children])


test_right_answers_other_than_the_lessons_own = right(
    ("02.1", [lambda model, x: np.array(fl.cpu(fl.gpu(model)(fl.gpu(x))))]),
    ("02.2", [fl.functor(make_dataclass("TwoHeads", ["body", "heads", "name"]))]),
    ("02.2", [two_heads(lambda cls: fl.functor(cls, ("body", "heads")))]),
    ("02.3", [in_a_list]),
)


def test_gpu_gives_back_the_same_object_only_where_nothing_moves():
    known, unknown = fl.Dense(3, 2), two_heads()(fl.Dense(4, 3), [], "t")
    with fl.simulate_gpu():
        there = fl.gpu(known)
        again = fl.gpu(there)
        assert there is not known and again is not there and again.weight is there.weight
        assert fl.gpu(unknown) is unknown
    with fl.pretend():
        assert fl.gpu(known) is known


def test_trees_draws_each_array_where_it_is():
    model = fl.Chain(fl.Dense(2, 1, np.tanh), fl.softmax)
    with fl.simulate_gpu():
        scene = trees({"here": model, "there": fl.gpu(model)})
    here, there = repr(scene).split(". there: ")
    assert here.startswith("here: C Chain, C layers[0]: Dense, C weight: float32 (1, 2), ")
    assert "G weight: float32 (1, 2)" in there and there.endswith("layers[1]: function softmax.")
    assert {"here", "there", "C", "G"} <= {part.text for part in scene.picture.parts()}


def test_with_functor_the_model_moves_and_without_it_is_a_shut_box():
    with fl.simulate_gpu():
        scene = functor_switch()
    stayed, moved = scene.sentences
    assert "a shut box" in stayed and "G " not in stayed and "shut box" not in moved
    assert moved.count("C weight") == 2 and moved.count("G weight") == 2
