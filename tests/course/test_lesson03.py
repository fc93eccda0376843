"""Lesson 03's checks: each likely wrong answer gets its own helpful message."""

from dataclasses import make_dataclass

import numpy as np
from answers import not_right, right

import fluxlite as fl


def two_heads(register=None, moves_at_once=False):
    class TwoHeads:
        def __init__(self, body, heads, name):
            self.body, self.heads, self.name = (fl.gpu(body) if moves_at_once else body), heads, name

    return TwoHeads if register is None else register(TwoHeads)


class Agent:
    def __init__(self, body, head):
        self.body, self.head = body, head

    def __call__(self, x):
        return self.head(self.body(x))


def agent(**declared):
    return fl.functor(type("Agent", (Agent,), {}), **declared)


class HostAgent(Agent):
    def __call__(self, x):
        return self.head(fl.gpu(self.body(fl.cpu(x))))


def every_node(f, x):
    children, rebuild = fl.functor(x)
    if not children:
        return f(x)
    items = children.items() if isinstance(children, dict) else enumerate(children)
    new = {name: every_node(f, child) for name, child in items}
    return f(rebuild(new if isinstance(children, dict) else type(children)(new.values())))


def in_place(f, x):
    children, _ = fl.functor(x)
    if not children:
        return f(x)
    if hasattr(x, "actor"):
        x.actor = in_place(f, x.actor)
        return x
    return fl.fmap(f, x)


test_a_wrong_answer_is_not_right_and_told_why = not_right(
    ("03.1", [two_heads()], "6 of 6 arrays stayed on the CPU: body.weight"),
    ("03.1", [two_heads(lambda cls: fl.functor(cls, ("body",)))], "4 of 6 arrays stayed on the CPU: heads[0]"),
    ("03.1", [two_heads(fl.functor, moves_at_once=True)], "building the model already made 2 copies"),
    ("03.2", [every_node], "f was called with a whole"),
    ("03.2", [in_place], "your my_fmap changed the model it was given: actor"),
    ("03.2", [lambda f, x: None], "my_fmap returned None"),
    ("03.2", [fl.fmap], "that calls fmap itself"),
    ("03.2", [lambda f, x: x], "actor is not what fmap makes of it"),
    ("03.3", [3, 16640], "encoder.weight and decoder.weight are one array"),
    ("03.3", [2, 16640], "but gpu makes float32 of it"),
    ("03.3", [2, 8320], "and gpu leaves integers as they are"),
    ("03.3", [5, 5], "neither number is right"),
    ("03.4", [agent(children=("head",))], "body.weight, body.bias stayed on the CPU"),
    ("03.4", [agent()], "body.weight was trained"),
    ("03.4", [agent(trainable=())], "head.weight was not trained"),
    ("03.4", [fl.functor(HostAgent, ("head",))], "hidden copies back to the CPU"),
)


def in_a_list(f, x):
    children, rebuild = fl.functor(x)
    if not children:
        return f(x)
    if isinstance(children, dict):
        return rebuild({name: in_a_list(f, child) for name, child in children.items()})
    return rebuild([in_a_list(f, child) for child in children])


test_right_answers_other_than_the_lessons_own = right(
    ("03.1", [fl.functor(make_dataclass("TwoHeads", ["body", "heads", "name"]))]),
    ("03.1", [two_heads(lambda cls: fl.functor(cls, ("body", "heads")))]),
    ("03.2", [in_a_list]),
    ("03.3", [np.int64(2), 8448.0]),
    ("03.4", [agent(children=("body", "head"), trainable=("head",))]),
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
