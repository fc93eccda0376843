"""Lesson 02's checks: each likely wrong answer gets its own helpful message."""

from collections import namedtuple
from dataclasses import make_dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from answers import not_right, right

import fluxlite as fl
from fluxlite_course.lesson02 import functor_switch, leaf_by_leaf


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


def x_there_and_back(model, x):
    fl.gpu(model)
    return fl.cpu(fl.gpu(x))


def model_there_and_back(model, x):
    return fl.cpu(fl.gpu(model))(fl.cpu(fl.gpu(x)))


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


def one_level(f, x):
    children, rebuild = fl.functor(x)
    if not children:
        return f(x)
    return rebuild({name: f(child) for name, child in children.items()})


def nothing_given_back(f, x):
    children, rebuild = fl.functor(x)
    if not children:
        return f(x)
    items = children.items() if isinstance(children, dict) else enumerate(children)
    for _, child in items:
        nothing_given_back(f, child)
    return None


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
    ("02.1", [model_there_and_back], "copies came back before the GPU computed anything: the model ran on the CPU"),
    ("02.1", [x_there_and_back], "nothing was computed at all: call the model with x"),
    ("02.1", [lambda model, x: None], "nothing was computed at all: call the model with x"),
    ("02.1", [lambda model, x: fl.gpu(model)], "nothing was computed at all: call the model with x"),
    ("02.1", [lambda model, x: np.asarray(fl.gpu(model)(fl.gpu(x)))], "NumPy can't bring the result back"),
    ("02.1", [lambda model, x: fl.cpu(fl.gpu(model)(fl.gpu(x))).tolist()], "the result isn't a NumPy array"),
    ("02.1", [weights_changed], "the caller's model was changed"),
    ("02.1", [np.ones((5, 2))], "predict isn't a function"),
    ("02.2", [MovesEarly], "the arrays move while the object is made"),
    ("02.2", [lambda body, heads, name: SimpleNamespace(body=body, heads=heads, name=name)], "6 of 6 arrays stayed"),
    ("02.2", [two_heads(lambda cls: fl.functor(cls, ("heads",)))], "2 of 6 arrays stayed on the CPU: body.weight"),
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
    ("02.3", [fl.fmapstructure], "that leaves the walk to fmapstructure"),
    ("02.3", [one_level], "f was called with a whole dict"),
    ("02.3", [nothing_given_back], "my_fmap returned None"),
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
    ("02.2", [namedtuple("TwoHeads", ["body", "heads", "name"])]),
    ("02.2", [two_heads(lambda cls: fl.functor(cls, trainable=("body",)))]),
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


# -- the leaves that cross ---------------------------------------------------------------------------------------------


def shown(scene, state):
    """What's seen of the leaves that cross in a state: where each is, and its colour."""
    flights = [
        part
        for part in scene.picture.inside
        if part.attributes.get("opacity") and part.inside and part.inside[0].inside
    ]
    found = []
    for part in reversed(flights):  # the first leaf is drawn last
        if part.attributes["opacity"][state] == 1 and part.inside[0].inside[0].tag == "rect":
            found.append((part.attributes["transform"][state], part.inside[0].attributes["class"][state]))
    return found


def test_the_leaves_cross_one_by_one_and_the_receipt_counts_them():
    scene = leaf_by_leaf(fl.Chain(fl.Dense(2, 3, np.tanh), fl.softmax))
    assert scene.sentences == [
        "After 0 s simulated (NVIDIA T4): 0 copies, 0 bytes. On the GPU: 0 of 2 arrays.",
        "After 15 µs simulated (NVIDIA T4): 0 copies, 0 bytes. layers[0].weight: on its way.",
        "After 28 µs simulated (NVIDIA T4): 1 copy, 24 bytes. On the GPU: 1 of 2 arrays.",
        "After 30 µs simulated (NVIDIA T4): 1 copy, 24 bytes. layers[0].bias: on its way.",
        "After 43 µs simulated (NVIDIA T4): 2 copies, 36 bytes. All 2 arrays are on the GPU, in a new model.",
    ]
    assert [look for _, look in shown(scene, 0)] == []
    assert [look for _, look in shown(scene, 1)] == ["op copy"]
    assert [look for _, look in shown(scene, 3)] == ["gpu", "op copy"]
    (there, _), (there_too, _) = shown(scene, 4)
    assert there != there_too and there == shown(scene, 3)[0][0] == shown(scene, 2)[0][0] != shown(scene, 1)[0][0]
    assert f"<p>{scene.sentences[-1]}</p>" in scene.still()


def test_dragging_to_the_right_carries_leaves_and_the_picture_takes_the_pointer():
    scene = leaf_by_leaf(fl.Dense(2, 3))
    assert "data-drag" in scene.picture.attributes and list(scene.along) == sorted(scene.along)


def test_tied_arrays_cross_together_in_one_copy():
    W = np.ones((3, 4), np.float32)
    tied = fl.Chain(fl.Dense.of(W, np.zeros(3, np.float32)), fl.Dense.of(W.T, np.zeros(4, np.float32)))
    scene = leaf_by_leaf(tied)
    assert "layers[0].weight and layers[1].weight: on its way." in scene.sentences[1]
    assert len(shown(scene, 1)) == 2
    on_the_host, on_the_gpu = (part for part in scene.picture.inside if "stroke-width" in part.attributes)
    seen = on_the_gpu.attributes["opacity"]
    assert "opacity" not in on_the_host.attributes and seen[:2] == (0, 0) and seen[-1] == 1
    assert "3 copies, 76 bytes. All 3 arrays are on the GPU" in scene.sentences[-1]


def test_what_is_in_a_shut_box_stays(capsys):
    made = two_heads()(fl.Dense(4, 3), [fl.Dense(3, 2)], "t")
    stayed = leaf_by_leaf(made)
    assert all("0 copies, 0 bytes. To gpu, m is a shut box" in said for said in stayed.sentences)
    assert not any(shown(stayed, state) for state in range(len(stayed.sentences)))
    fl.functor(type(made), ("body",))
    half = leaf_by_leaf(made)
    assert "2 copies, 60 bytes. On the GPU: 2 of 4 arrays, and the others in a shut box." in half.sentences[-1]
    assert [look for _, look in shown(half, len(half.sentences) - 1)] == ["gpu", "gpu"]


def boxes_on_the_host(scene):
    """The words on the leaves in the host's memory, line by line, and how high each dashed frame is."""
    words: dict[str, list] = {}
    for part in scene.picture.inside:
        if part.tag == "g" and part.inside and part.inside[0].attributes.get("class") == "host":
            words.setdefault(part.attributes["transform"].split()[1], []).append(part.inside[1].text)
    frames = [
        part.attributes["height"] for part in scene.picture.inside if "dashed" in str(part.attributes.get("class"))
    ]
    return list(words.values()), frames


def test_in_a_shut_box_each_layers_arrays_have_a_line_and_their_names():
    made = two_heads(lambda cls: fl.functor(cls, ("body",)))(fl.Dense(4, 3), [fl.Dense(3, 2), fl.Dense(3, 1)], "t")
    words, frames = boxes_on_the_host(leaf_by_leaf(made))
    assert words == [["weight", "bias"]] * 3 and frames == [88]
    never = two_heads()(fl.Dense(4, 3), [fl.Dense(3, 2), fl.Dense(3, 1)], "t")
    words, _ = boxes_on_the_host(leaf_by_leaf(never))
    assert words == [["weight", "bias"]] * 3
    many = two_heads()(fl.Dense(4, 3), [fl.Dense(3, 3) for _ in range(12)], "t")
    assert "0 copies, 0 bytes" in leaf_by_leaf(many).sentences[-1]  # no room for so many lines: all in one


def test_where_nothing_moves_the_move_takes_no_time_however_long_the_clock_runs():
    said = leaf_by_leaf(two_heads()(fl.Dense(4, 3), [], "t")).sentences
    assert len(said) > 1 and all(each.startswith("After 0 s simulated") for each in said)


def test_with_functor_the_leaves_cross_and_without_it_none_does():
    scene = functor_switch()
    assert [setting["@functor"] for setting in scene.settings].count("off") * 2 == len(scene.sentences)
    for setting, said, state in zip(scene.settings, scene.sentences, range(len(scene.sentences))):
        if setting["@functor"] == "off":
            assert "0 copies, 0 bytes. To gpu, m is a shut box: you get m back, on the CPU." in said
            assert shown(scene, state) == []
    assert "6 copies, 140 bytes. All 6 arrays are on the GPU, in a new model." in scene.sentences[-1]
    assert len(shown(scene, -1)) == 6 and f"<p>{scene.sentences[-1]}</p>" in scene.still()


def test_the_picture_prints_nothing_and_your_own_move_still_says_what_stayed(capsys):
    class Pair:
        def __init__(self):
            self.a = np.ones(2, np.float32)

    functor_switch()
    leaf_by_leaf(Pair())
    assert capsys.readouterr() == ("", "")
    with fl.simulate_gpu():
        fl.gpu(Pair())
    assert "a was not moved to Simulated:0: Pair is not registered" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (np.ones(3), "it has no arrays inside"),
        ([], "it has no arrays inside"),
        (fl.Chain(*[fl.Dense(2, 2) for _ in range(12)]), "there's room for 10 parts, and this model has 13"),
    ],
)
def test_a_model_that_cannot_be_drawn_is_an_error(model, words):
    with pytest.raises(ValueError, match=words):
        leaf_by_leaf(model)


def test_a_model_on_the_gpu_has_nothing_left_to_carry():
    with fl.simulate_gpu(), pytest.raises(ValueError, match=r"on a GPU already; .* give cpu\(model\)"):
        leaf_by_leaf(fl.gpu(fl.Dense(2, 3)))


def test_a_long_name_keeps_clear_of_the_memories():
    scene = leaf_by_leaf({"a_very_long_name_of_a_part": fl.Dense(2, 3)})
    names = ["".join(str(part.text) for part in text.inside) for text in scene.picture.parts() if text.inside]
    cut = [name for name in names if name.endswith("…")]
    assert cut and all(name.startswith("['a_very") and len(name) <= 14 for name in cut)
