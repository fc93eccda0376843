"""The numbers that training may change, as a list and as one vector."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inside import is_trainable_array, parameter_key

import fluxlite as fl
from fluxlite import destructure, functor, gradient, trainables


@functor(trainable=("weight",))
@dataclass
class Layer:
    weight: Any
    mean: Any


def paths(tree):
    return [str(path) for path, _ in trainables(tree)]


def test_a_tied_array_is_listed_at_its_first_place_only():
    """Its transpose is the same parameter, a part of it is another."""
    W, b = np.arange(6.0).reshape(2, 3), np.ones(2)
    tree = {"decoder": [W.T, b], "encoder": (W, W[0])}
    found = list(trainables(tree))
    assert paths(tree) == ["['decoder'][0]", "['decoder'][1]", "['encoder'][1]"]
    assert found[0][1] is tree["decoder"][0] and found[1][1] is b


def test_only_floating_point_arrays_are_trainable():
    no_gradient = [np.arange(3), np.ones(2, bool), np.ones(2, complex), 1.5, np.float32(1), "text", None]
    tree = [*no_gradient, np.ones(1, np.float16)]
    assert paths(tree) == ["[7]"]
    assert [is_trainable_array(x) for x in tree] == [False] * 7 + [True]


def test_only_what_is_declared_trainable_is_listed():
    mean = np.ones(2)
    assert paths([Layer(np.ones(1), mean)]) == ["[0].weight"]
    assert paths([Layer(np.ones(1), mean), mean]) == ["[0].weight", "[1]"]
    assert paths(Layer([np.ones(1), Layer(np.ones(1), mean)], mean)) == ["weight[0]", "weight[1].weight"]


def test_an_array_that_a_gradient_call_left_behind_and_a_cycle_are_named():
    kept, tree = [], {"a": [np.ones(1)]}
    gradient(lambda w: kept.append(w) or np.sum(w), np.ones(2))
    tree["a"].append(tree)
    for walk in trainables, destructure:
        with pytest.raises(RuntimeError, match=r"\['layer'\]\.weight"):
            walk({"layer": Layer(kept[0], None)})
        with pytest.raises(ValueError, match=r"\['a'\]\[1\] is the same object as the object itself"):
            walk(tree)


def test_destructure_holds_a_tie_once_and_what_does_not_train_not_at_all():
    W = np.arange(6.0).reshape(2, 3)
    model = {"layer": Layer(W, np.full(2, 7.0)), "tied": W.T, "n": np.arange(2), "name": "x"}
    vector, restructure = destructure(model)
    assert vector.tolist() == [0, 1, 2, 3, 4, 5]
    result = restructure(vector * 10)
    assert result["layer"].weight.tolist() == [[0, 10, 20], [30, 40, 50]]
    assert result["tied"].tolist() == [[0, 30], [10, 40], [20, 50]]
    assert parameter_key(result["tied"]) == parameter_key(result["layer"].weight)
    assert result["layer"].mean.tolist() == [7, 7] and result["n"].tolist() == [0, 1] and result["name"] == "x"
    assert W[0, 1] == 1, "the model is left as it is"


def test_restructure_makes_the_model_that_was_taken_apart():
    """Also when the model has been given other arrays since; no memory is shared."""
    start = np.zeros(2)
    model = [start, [np.zeros(1)]]
    vector, restructure = destructure(model)
    model[0] = np.full(2, 9.0)
    model[1].append("new")
    first, rest = restructure(vector + 1)
    assert first.tolist() == [1, 1] and [array.tolist() for array in rest] == [[1]]
    first = restructure(vector)[0]
    for one, other in ((first, vector), (vector, start), (first, start)):
        assert not np.shares_memory(one, other)
    for wrong, got in (
        ([1.0] * 3, r"a list: np.asarray\(x\) makes one"),
        (np.ones(4), r"shape"),
        (np.ones((3, 1)), ""),
    ):
        with pytest.raises(ValueError, match=rf"is made from a vector of shape \(3,\), got {got}"):
            restructure(wrong)


def test_models_made_from_a_vector_share_nothing_that_does_not_train():
    model = fl.Chain(fl.Dense(2, 2), fl.BatchNorm(2), fl.Dropout(0.5, rng=np.random.default_rng(0)))
    vector, restructure = destructure(model)
    first, second = restructure(vector), restructure(vector)
    other = fl.Chain(fl.Dense(2, 2), fl.BatchNorm(2), fl.Dropout(0.5, rng=np.random.default_rng(0)))
    other.layers[1].mean += 5
    fl.loadmodel(first, other)
    assert (model.layers[1].mean == 0).all() and (second.layers[1].mean == 0).all()
    fl.loadmodel(model, other)
    assert (restructure(vector).layers[1].mean == 0).all(), "as it was when it was taken apart"
    assert first.layers[2].rng is model.layers[2].rng, "which goes on, so that it draws others each time"
    returned = fl.withgradient(lambda m: (np.sum(m.layers[0].weight), m), model)[0][1]
    assert not np.shares_memory(returned.layers[1].mean, model.layers[1].mean)


@st.composite
def models(draw):
    """Arrays of several shapes and dtypes, some at several places, some of those transposed."""
    arrays = []
    for shape in draw(st.lists(st.lists(st.integers(0, 3), max_size=3), max_size=4)):
        dtype = draw(st.sampled_from([np.float16, np.float32, np.float64, np.int64, np.bool_]))
        numbers = st.lists(st.integers(-9, 9), min_size=int(np.prod(shape)), max_size=int(np.prod(shape)))
        arrays.append(np.array(draw(numbers), dtype).reshape(shape))
    places = draw(st.lists(st.sampled_from(arrays), max_size=8)) if arrays else []
    model = []
    for array in places:
        array = array.T if draw(st.booleans()) else array
        model.append(draw(st.sampled_from([array, [array], {"a": array}, Layer(array, array)])))
    return model


@given(models())
def test_a_model_made_from_its_own_vector_is_equal_and_tied_alike(model):
    vector, restructure = destructure(model)
    result = restructure(vector)
    before, after = all_arrays(model), all_arrays(result)
    assert len(before) == len(after)
    for x, y in zip(before, after, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_array_equal(x, y)
    for i in range(len(before)):
        for j in range(i):
            assert np.shares_memory(before[i], before[j]) == np.shares_memory(after[i], after[j])
    parameters = {x.__array_interface__["data"][0]: x.size for x in before if x.dtype.kind == "f" and x.size}
    assert vector.size == sum(parameters.values())


def all_arrays(x):
    """All arrays with repeats; written without the library."""
    if isinstance(x, np.ndarray):
        return [x]
    parts = vars(x).values() if isinstance(x, Layer) else x.values() if isinstance(x, dict) else x
    return [array for part in parts for array in all_arrays(part)]
