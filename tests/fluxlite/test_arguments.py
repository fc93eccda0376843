"""Bad arguments: the errors name what was called, and what it was given."""

import functools

import numpy as np
import pytest
from inside import in_words

import fluxlite as fl

x = np.ones((2, 3), np.float32)
cycle: list = []
cycle.append(cycle)  # in which no walk comes to an end

NOTED = [
    (lambda: fl.scatter_add(np.ones(3), [7], np.ones(1)), IndexError, r"in scatter_add\(.*index=a list"),
    (lambda: fl.crossentropy(None, None), AttributeError, r"in crossentropy\(prediction=None"),
    (lambda: fl.getitem(x, 9), IndexError, r"in getitem\(x=an array of float32, shape \(2, 3\), index=9\)"),
    (lambda: fl.KeyPath(("a",)).get({"b": 1}), KeyError, r"KeyPath.get\(tree\) takes a tree with something"),
    (lambda: fl.relu(None), TypeError, r"in relu\(x=None\)"),
    *((functools.partial(f, *args), (TypeError, ValueError), rf"in {f.__name__}\(") for f, *args in (
        (fl.fmap, str, cycle), (fl.fmap_with_path, str, cycle), (fl.fmapstructure, str, cycle), (fl.fcollect, cycle),
        (fl.leaves, cycle), (fl.trainables, cycle), (fl.destructure, cycle), (fl.setup, fl.Adam(), cycle),
        (fl.update, fl.setup(fl.Adam(), [x]), [x], [x[0]]), (fl.updated, {}, cycle, {}), (fl.adjust, cycle, 0.1),
        (fl.freeze, cycle), (fl.thaw, cycle), (fl.jacobian, str, cycle), (fl.hessian, str, cycle), (fl.params, cycle),
        (fl.param, 3), (fl.back, 3),
    )),
    # what stays our own: it would give a wrong result, or none, without an error
    (lambda: fl.simulate_gpu(memory="1GB"), TypeError, "memory=….* is a whole number, got '1GB'"),
    (lambda: fl.allowscalar("no"), TypeError, r"allowscalar.* is True or False, got 'no'"),
    # arguments that aren't there, are too many, or have another name
    (lambda: fl.Conv(), TypeError, r"write Conv\(kernel, inputs, outputs, activation=…"),
    (lambda: fl.exponential_decay(0.1), TypeError, r"write exponential_decay\(eta, factor"),
    (lambda: fl.LSTMCell.of(x), TypeError, r"write LSTMCell.of\(Wi, Wh"),
    (lambda: fl.MaxPool((2, 2), 1), TypeError, r"write MaxPool\(kernel, stride=…"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "words"), NOTED, ids=[words for *_, words in NOTED])
def test_an_error_names_what_was_called(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_switches_and_counts_may_be_numpys():
    with fl.allowscalar(np.True_):
        assert fl.RMSProp(centred=np.False_) and fl.AdamW(couple=1)
    assert len(list(fl.DataLoader(x, shuffle=np.True_))) == 2
    with fl.simulate_gpu(np.int64(3), memory=np.int64(2**20)) as device:
        assert device.memory().capacity == 2**20
    with fl.simulate_gpu(True), fl.simulate_gpu(False):
        assert fl.gpu_device() is None


@pytest.mark.parametrize("size", [2**33, 2**60])
def test_what_the_card_cannot_hold_is_out_of_memory_wherever_it_comes_from(size):
    with pytest.raises(MemoryError, match=r"T4\) is out of memory: [0-9,]+ bytes asked for"):
        fl.estimate(lambda x: np.zeros_like(x, shape=(size,)) + 1, x, shapes_only=True)


def test_a_card_named_like_a_tag_is_drawn():
    card = fl.calibrate({"card": "<b>", "measurements": [{"what": "launch", "repeats": [1e-5]}]})
    assert "simulated (&lt;b&gt;)" in fl.estimate(lambda x: x + 1, x, like=card).receipt.plot().svg


def test_each_name_is_noted_once():
    with pytest.raises(TypeError) as found:
        fl.Chain(fl.relu)([None])
    assert sum("relu(" in note for note in found.value.__notes__) == 1


@pytest.mark.parametrize(("value", "words"), [
    (None, "None"), ("a" * 99, "'aaaa"), (x, "an array of float32, shape (2, 3)"), (int, "the class int"),
    (fl.Adam(), "an Adam"), (2**80, "12089"), (("a", 2), "('a', 2)"), (cycle, "a list"),
])  # fmt: skip
def test_a_value_in_words(value, words):
    assert in_words(value).startswith(words) and len(in_words(value)) < 50
