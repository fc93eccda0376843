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


def computed_here(model, x):
    there, x_there = fl.gpu(model), fl.gpu(x)
    there(x_there)
    return model(x)


def computed_here_first(model, x):
    y = model(x)
    fl.cpu(fl.gpu(model)(fl.gpu(x)))
    return y


def a_launch_for_show(model, x):
    fl.gpu(model)
    _ = fl.gpu(x) + 1
    return model(x)


def weights_changed(model, x):
    model[0].weight *= 1
    model[0].bias += 1
    return fl.cpu(fl.gpu(model)(fl.gpu(x)))


class MovesEarly:
    def __init__(self, body, heads, name):
        self.body, self.heads, self.name = fl.gpu(body), fl.gpu(heads), name


class OtherFields:
    def __init__(self, body, heads, name):
        self.layers = [body, *heads]


@fl.functor
class OwnNumbers:
    def __init__(self, body, heads, name):
        self.body, self.heads, self.name = fl.Dense(4, 3), heads, name


def under_another_name(walk):
    return lambda f, x: walk(f, x)


def walk(f, x, leaf=None, as_list=list, as_tuple=tuple):
    """A walk without functor, with mistakes."""
    if isinstance(x, dict):
        return {name: walk(f, child, leaf, as_list, as_tuple) for name, child in x.items()}
    if isinstance(x, (list, tuple)):
        make = as_list if isinstance(x, list) else as_tuple
        return make(walk(f, child, leaf, as_list, as_tuple) for child in x)
    if hasattr(x, "actor"):
        return type(x)(*(walk(f, child, leaf, as_list, as_tuple) for child in (x.actor, x.critic)))
    return leaf(f, x) if leaf else f(x)


def arrays_only(f, x):
    return f(x) if isinstance(x, np.ndarray) else x


def twice_each(f, x):
    f(x)
    return f(x)


test_a_wrong_answer_is_not_right_and_the_reply_says_why = not_right(
    ("02.1", [thrown_away], "copies were made and dropped: gpu(model) gives a new model"),
    ("02.1", [lambda model, x: model(x)], "the GPU was never asked for anything"),
    ("02.1", [lambda model, x: fl.cpu(fl.gpu(model)(x))], "model and data are in two places"),
    ("02.1", [lambda model, x: fl.gpu(model)(fl.gpu(x))], "the result is still there"),
    ("02.1", [twice], "a line makes copies that nobody keeps"),
    ("02.1", [in_place], "the caller's model was changed"),
    ("02.1", [nothing_returned], "predict returned None"),
    ("02.1", [lambda model, x: fl.cpu(fl.gpu(model)(fl.gpu(-x)))], "the numbers aren't those of model(x)"),
    ("02.1", [computed_here], "the model ran on the GPU, and on the CPU as well"),
    ("02.1", [computed_here_first], "the model ran on the GPU, and on the CPU as well"),
    ("02.1", [a_launch_for_show], "but the model ran on the CPU"),
    ("02.1", [lambda model, x: fl.cpu(fl.gpu(model))(x)], "the model ran on the CPU"),
    ("02.1", [lambda model, x: np.asarray(fl.gpu(model)(fl.gpu(x)))], "NumPy can't bring the result back"),
    ("02.1", [lambda model, x: fl.cpu(fl.gpu(model)(fl.gpu(x))).tolist()], "the result isn't a NumPy array"),
    ("02.1", [weights_changed], "the caller's model was changed"),
    ("02.1", [np.ones((5, 2))], "predict isn't a function"),
    ("02.2", [MovesEarly], "the arrays move while the object is made"),
    ("02.2", [OtherFields], "that isn't a body and two heads any more"),
    ("02.2", [OwnNumbers], "don't have the numbers of those on the CPU"),
    ("02.2", [two_heads()(1, 2, 3)], "the class TwoHeads, not an object"),
    ("02.2", [two_heads()], "6 of 6 arrays stayed on the CPU: body.weight"),
    ("02.2", [two_heads(lambda cls: fl.functor(cls, ("body",)))], "4 of 6 arrays stayed on the CPU: heads[0]"),
    ("02.3", [every_node], "f was called with a whole"),
    ("02.3", [walk_in_place], "your my_fmap changed the model it was given"),
    ("02.3", [lambda f, x: None], "my_fmap returned None"),
    ("02.3", [lambda f, x: {"actor": 1}], "the result isn't an ActorCritic"),
    ("02.3", [fl.fmap], "that leaves the walk to fmap"),
    ("02.3", [under_another_name(fl.fmap)], "that leaves the walk to fmap"),
    ("02.3", [lambda f, x: fl.fmap_with_path(lambda path, leaf: f(leaf), x)], "that leaves the walk to fmap_with_path"),
    ("02.3", [lambda f, x: walk(f, x, arrays_only)], "critic['b'][1] isn't what fmap makes of it"),
    ("02.3", [lambda f, x: walk(f, x, twice_each)], "f was called 14 times for 7 leaves"),
    ("02.3", [lambda f, x: walk(f, x, as_tuple=list)], "critic['c'] was a tuple"),
    ("02.3", [lambda f, x: walk(f, x, as_list=lambda x: 0)], "critic['b'][0] isn't what fmap makes of it"),
    ("02.3", [lambda f, x: x], "actor isn't what fmap makes of it"),
)


def in_a_list(f, x):
    children, rebuild = fl.functor(x)
    if not children:
        return f(x)
    if isinstance(children, dict):
        return rebuild({name: in_a_list(f, child) for name, child in children.items()})
    return rebuild([in_a_list(f, child) for child in children])


def row_by_row(model, x):
    model, x = fl.gpu(model), fl.gpu(x)
    return np.array([fl.cpu(model(row)) for row in x])


class Walk:
    def __call__(self, f, x):
        children, rebuild = fl.functor(x)
        if len(children) == 0:
            return f(x)
        names = list(children) if isinstance(children, dict) else range(len(children))
        new = [self(f, children[name]) for name in names]
        return rebuild(dict(zip(names, new)) if isinstance(children, dict) else type(children)(new))


class Open(dict):
    """Its fields are its keys, and it has no words for what isn't there."""

    def __init__(self, body, heads, name):
        super().__init__(body=body, heads=heads, name=name)

    __getattr__ = dict.__getitem__


test_right_answers_other_than_the_lessons_own = right(
    ("02.2", [Open]),
    ("02.1", [lambda model, x: np.array(fl.cpu(fl.gpu(model)(fl.gpu(x))))]),
    ("02.1", [lambda model, x: fl.cpu((lambda pair: pair[0](pair[1]))(fl.gpu((model, x))))]),
    ("02.1", [row_by_row]),
    ("02.2", [fl.functor(make_dataclass("TwoHeads", ["body", "heads", "name"]))]),
    ("02.2", [two_heads(lambda cls: fl.functor(cls, ("body", "heads")))]),
    ("02.3", [in_a_list]),
    ("02.3", [walk]),
    ("02.3", [Walk()]),
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
    assert repr(scene) == "here: 2 arrays on the CPU. there: 2 arrays on the GPU."
    here, there = scene.picture.attributes["aria-label"].removeprefix("Where each array is. ").split(". there: ")
    assert here.startswith("here: C Chain, C layers[0]: Dense, C weight: float32 (1, 2), ")
    assert "G weight: float32 (1, 2)" in there and there.endswith("layers[1]: function softmax.")
    assert {"here", "there", "C", "G"} <= {part.text for part in scene.picture.parts()}


def test_with_functor_the_model_moves_and_without_it_is_a_shut_box():
    with fl.simulate_gpu():
        scene = functor_switch()
    stayed, moved = scene.sentences
    assert stayed == "m: 4 arrays on the CPU, in a shut box. gpu(m): 4 arrays on the CPU, in a shut box."
    assert moved == "m: 4 arrays on the CPU. gpu(m): 4 arrays on the GPU."
    assert f"<p>{moved}</p>" in scene.still()
    assert scene.picture.attributes["aria-label"].count("G weight") == 2
