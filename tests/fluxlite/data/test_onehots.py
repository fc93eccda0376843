"""Labels as rows with a single one, and back, on the host and on devices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fluxlite as fl


def test_onehot():
    for label, labels in (("b", ["a", "b", "c"]), (5, [3, 5, 7]), (np.int8(1), range(3)), (0.5, (0.25, 0.5, 1.0))):
        y = fl.onehot(label, labels)
        assert y.dtype == np.float32 and y.tolist() == [0, 1, 0]
    assert fl.onehot("?", ["a", "other"], default="other").tolist() == [0, 1]
    assert fl.onehot(1, [1, "a"]).tolist() == [1, 0] and fl.onehot("1", ["a", "1"]).tolist() == [0, 1]


@pytest.mark.on("Simulated")
def test_labels_have_as_many_bytes_where_numpys_integers_have_32_bits(device, monkeypatch):
    y, asarray = device(np.array([2, 0], np.int64)), np.asarray

    def in_32_bits(x, *args, **keywords):
        made = asarray(x, *args, **keywords)
        return made if isinstance(x, np.ndarray) or made.dtype != np.int64 else made.astype(np.int32)

    monkeypatch.setattr(np, "asarray", in_32_bits)
    with fl.receipt() as r:
        fl.onehotbatch(y, range(3))
    assert r.host_to_device.bytes == 3 * 8


@pytest.mark.on("CPU", "Simulated", "Metal")
@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32"])
def test_onehotbatch_and_back(device, dtype):
    y = np.array([2, 0, 9, 2]).astype(dtype)
    rows = fl.onehotbatch(device(y), range(10))
    assert fl.device_of(rows) == device and rows.dtype == np.float32 and rows.shape == (4, 10)
    np.testing.assert_array_equal(fl.cpu(rows), np.eye(10, dtype=np.float32)[[2, 0, 9, 2]])
    for labels, expected in ((None, [2, 0, 9, 2]), (range(10, 20), [12, 10, 19, 12])):
        found = fl.onecold(rows, labels)
        assert fl.device_of(found) == device and found.dtype.kind == "i" and fl.cpu(found).tolist() == expected
    assert fl.onecold(rows, list("abcdefghij")).tolist() == ["c", "a", "j", "c"]


@given(st.lists(st.sampled_from("abcdef"), min_size=1))
def test_onecold_undoes_onehotbatch(labels):
    assert fl.onecold(fl.onehotbatch(labels, ["f", "e", "d", "c", "b", "a"]), list("fedcba")).tolist() == labels


def test_axes():
    y = np.array([[0, 1], [2, 1]])
    rows = fl.onehotbatch(y, range(3))
    assert rows.shape == (2, 2, 3)
    np.testing.assert_array_equal(fl.onecold(rows), y)
    assert fl.onehotbatch([], range(3)).shape == (0, 3)
    assert fl.onecold([0.1, 0.9]) == 1 and fl.onecold(np.array([0.1, 0.9]), ["no", "yes"]) == "yes"
    assert fl.onecold([[1.0, 1.0]]).tolist() == [0]


@pytest.mark.on("CPU", "Simulated", "Metal")
def test_a_label_that_is_not_there(device):
    y = device(np.array([1, 7, 2], np.int32))
    known = [0, 1, 2, 4, 5, 8, 12, 9]
    with pytest.raises(ValueError, match=r"7 isn't among the labels \[0, 1, 2, 4, 5, 8, \.\.\.\]"):
        fl.onehotbatch(y, known)
    rows = fl.onehotbatch(y, [0, 1, 2], default=0)
    assert fl.cpu(rows).tolist() == [[0, 1, 0], [1, 0, 0], [0, 0, 1]]


def test_labels_are_not_rounded_to_what_the_data_is():
    assert fl.onehotbatch(np.array([0, 1]), [0.5, 1.0], default=1.0).tolist() == [[0, 1], [0, 1]]
    assert fl.onehotbatch(np.array([0.5, 1], np.float32), [0.5, 1.0]).tolist() == [[1, 0], [0, 1]]


def test_what_a_device_is_asked_for():
    with fl.simulate_gpu():
        y, scores = fl.gpu(np.array([1, 2])), fl.gpu(np.eye(3, dtype=np.float32))
        with fl.receipt() as r:
            fl.onehotbatch(y, range(3))
        assert (r.synchronizations, r.device_to_host.bytes) == (1, 1), "to see that every label is known"
        with fl.receipt() as r, fl.allowscalar(False):
            fl.onehotbatch(y, range(3), default=0)
            fl.onecold(scores)
            fl.onecold(scores, [5, 6, 7])
        assert r.synchronizations == 0


def mistakes():
    """Calls, the error, and what it names."""
    for labels in ({1, 2}, "abc", [1, 2, 1], [], [[1, 2]]):
        words = r"labels are different.*\n(onehotbatch|onecold)\("
        yield lambda labels=labels: fl.onehotbatch([1, 2], labels), ValueError, words
        yield lambda labels=labels: fl.onecold(np.ones((2, 2)), labels), ValueError, words
    yield lambda: fl.onehot("d", ["a", "b", "c"]), ValueError, "'d' isn't among the labels .'a', 'b', 'c'."
    yield lambda: fl.onehotbatch(["a"], ["a", "b"], default="z"), ValueError, "'z' isn't among the labels"
    yield lambda: fl.onehotbatch(["1"], [1, 2]), ValueError, "'1' isn't among the labels .1, 2."
    yield lambda: fl.onehotbatch(np.array([0]), [0.5, 1.0]), ValueError, r"0 isn't among the labels .0\.5, 1\.0"
    yield lambda: fl.onecold(np.float32(1)), ValueError, "got a single number"
    yield lambda: fl.onecold(np.ones((4, 3)), ["a", "b"]), ValueError, "y has scores of 3 labels, got 2 labels"


@pytest.mark.parametrize("call, error, words", list(mistakes()))
def test_mistakes_are_named(call, error, words):
    with pytest.raises(error, match=words):
        call()
