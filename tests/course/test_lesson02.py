"""Lesson 02's checks: each likely wrong answer gets its own helpful message."""

import numpy as np
import pytest
from answers import not_right, right

import fluxlite as fl
from fluxlite_course.lesson02 import trees


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


def is_float(leaf):
    return hasattr(leaf, "dtype") and leaf.dtype.kind == "f"


def weights_only(tree):
    return fl.fmap(
        lambda leaf: (
            leaf.astype(np.float16) if is_float(leaf) and (leaf.ndim == 2 or leaf.dtype == np.float64) else leaf
        ),
        tree,
    )


def only_float32(tree):
    return fl.fmap(lambda x: x.astype("f2") if hasattr(x, "dtype") and x.dtype == np.float32 else x, tree)


def half_in_place(tree):
    for layer in tree["model"][:2]:
        layer.weight = layer.weight.astype(np.float16)
    return tree


def untied(tree):
    return {name: fl.fmap(lambda leaf: leaf.astype(np.float16) if is_float(leaf) else leaf, part)
            for name, part in tree.items()} if isinstance(tree, dict) else tree  # fmt: skip


def no_functions(tree):
    def shorter(leaf):
        return leaf.astype(np.float16) if is_float(leaf) else leaf if hasattr(leaf, "dtype") else None

    return fl.fmap(shorter, tree)


def on_the_cpu_only(tree):
    return fl.fmap(lambda a: a.astype("f2") if isinstance(a, np.ndarray) and a.dtype.kind == "f" else a, tree)


def through_the_host(tree):
    return fl.fmap(lambda leaf: np.float16(fl.cpu(leaf)) if is_float(leaf) else leaf, tree)


def forward(**wrong):
    """A forward pass with one change: a function of the layer and its input."""

    def answer(model, x):
        for layer in model:
            if not isinstance(layer, fl.Dense):
                x = layer(x)
            elif layer.bias is None or not wrong:
                x = layer.activation(x @ layer.weight.T + (0 if layer.bias is None else layer.bias))
            else:
                x = wrong["step"](layer, x)
        return x

    return answer


def no_other_leaf(tree):
    return fl.fmap(lambda leaf: leaf.astype("f2") if is_float(leaf) else None, tree)


def always_softmax(model, x):
    dense = forward()
    for part in model:
        x = dense([part], x) if isinstance(part, fl.Dense) else fl.softmax(x)
    return x


test_a_wrong_answer_is_not_right_and_told_why = not_right(
    ("02.1", [thrown_away], "copies were made and dropped: gpu(model) gives a new model"),
    ("02.1", [lambda model, x: model(x)], "the GPU was never asked for anything"),
    ("02.1", [lambda model, x: fl.cpu(model(fl.gpu(x)))], "x came along, the model did not"),
    ("02.1", [lambda model, x: fl.cpu(fl.gpu(model(x)))], "first move model and x, then call"),
    ("02.1", [lambda model, x: fl.cpu(fl.gpu(model)(x))], "model and data are in two places"),
    ("02.1", [lambda model, x: fl.gpu(model)(fl.gpu(x))], "the result is still there"),
    ("02.1", [twice], "a line makes copies that nobody keeps"),
    ("02.1", [in_place], "the caller's model was changed"),
    ("02.1", [nothing_returned], "predict returned None"),
    ("02.1", [lambda model, x: fl.cpu(fl.gpu(model)(fl.gpu(-x)))], "the numbers are not those of model(x)"),
    ("02.2", [lambda tree: fl.fmap(lambda leaf: leaf.astype(np.float16), tree)], "was given a function"),
    ("02.2", [lambda tree: fl.fmap(lambda a: a.astype("f2") if hasattr(a, "dtype") else a, tree)], "integers"),
    ("02.2", [weights_only], "2 of 6 floating-point arrays are not float16: layers[0].bias is float32"),
    ("02.2", [only_float32], "only float32 was converted"),
    ("02.2", [half_in_place], "half changed the model that it was given: layers[0].weight"),
    ("02.2", [untied], "were one array and are two now"),
    ("02.2", [no_other_leaf], "returns nothing"),
    ("02.2", [no_functions], "the functions of the model are not what they were"),
    ("02.2", [on_the_cpu_only], "on the GPU the arrays stayed as they were"),
    ("02.2", [through_the_host], "was brought back to the CPU"),
    ("02.2", [lambda tree: None], "half returned None"),
    ("02.2", [lambda tree: tree["model"]], "not built like the model"),
    ("02.3", [6, 7328], "copied once"),
    ("02.3", [3, 3488], "so it is no tie"),
    ("02.3", [2, 3488], "a Dense has two"),
    ("02.3", [4, 7616], "a float32 has 4 bytes"),
    ("02.3", [4, 100], "the bytes are not"),
    ("02.4", [lambda model, x: model(x)], "a layer was called"),
    ("02.4", [lambda model, x: None], "forward returned None"),
    ("02.4", [lambda model, x: x], "x came out as it went in"),
    ("02.4", [forward(step=lambda d, x: d.activation(x @ d.weight.T))], "the bias is missing"),
    ("02.4", [forward(step=lambda d, x: x @ d.weight.T + d.bias)], "the activation is missing"),
    ("02.4", [forward(step=lambda d, x: d.activation(x @ d.weight.T) + d.bias)], "the activation comes last"),
    ("02.4", [forward(step=lambda d, x: d.activation(x @ d.weight + d.bias))], "weight.T, not weight"),
    ("02.4", [forward(step=lambda d, x: d.activation(d.weight @ x + d.bias))], "the columns of x"),
    ("02.4", [forward(step=lambda d, x: 2 * x)], "not what the model gives"),
    ("02.4", [always_softmax], "isn't always softmax: call the one that's there"),
    ("02.4", [lambda model, x: forward()(fl.cpu(model), fl.cpu(x))], "brings something back to the CPU"),
)


def by_isinstance(tree):
    def shorter(leaf):
        if isinstance(leaf, np.ndarray) and is_float(leaf):
            return np.float16(leaf)
        return leaf.astype("f2") if is_float(leaf) else leaf

    return fl.fmap(shorter, tree)


def transposed(model, x):
    for part in model.layers:
        if callable(part) and not hasattr(part, "weight"):
            x = part(x)
        else:
            x = (part.weight @ x.T).T if x.ndim == 2 else part.weight @ x
            x = part.activation(x if part.bias is None else x + part.bias)
    return x


test_right_answers_other_than_the_lessons_own = right(
    ("02.1", [lambda model, x: np.array(fl.cpu(fl.gpu(model)(fl.gpu(x))))]),
    ("02.2", [by_isinstance]),
    ("02.3", [np.int64(4), 3808.0]),
    ("02.4", [forward()]),
    ("02.4", [transposed]),
)


def test_trees_draws_each_array_where_it_is_and_no_more_than_can_be_read():
    model = fl.Chain(fl.Dense(2, 1, np.tanh), fl.softmax)
    with fl.simulate_gpu():
        scene = trees({"here": model, "there": fl.gpu(model)})
    here, there = repr(scene).split(". there: ")
    assert here.startswith("here: C Chain, C layers[0]: Dense, C weight: float32 (1, 2), ")
    assert "G weight: float32 (1, 2)" in there and there.endswith("layers[1]: function softmax.")
    assert {"here", "there", "C", "G"} <= {part.text for part in scene.picture.parts()}
    with pytest.raises(ValueError, match="model has more than 30 leaves"):
        trees({"model": [np.ones(1) for _ in range(31)]})
