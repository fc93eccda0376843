"""Tied parameters: which arrays are one, and that walks keep them one."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inside import overlaps, parameter_key
from numpy.lib.stride_tricks import as_strided

import fluxlite.tree.flat
import fluxlite.tree.walks
from fluxlite import fmap, leaves


def double(leaf):
    return np.asarray(leaf * 2)  # an array also where NumPy makes a number of one without axes


def square_view():
    """A matrix that is itself a view, as loaded ones are: its transpose has another base than it."""
    return np.arange(6.0).reshape(2, 3)


# -- the checker: knows nothing of the library's keys ------------------------------------------------


def check_ties(tree, walk=fmap, function=double):
    """Map the list of arrays `tree`: values must be right, and two results share all their memory if, and only if,
    the two arrays did."""
    results = walk(function, tree)
    for array, result in zip(tree, results, strict=True):
        assert result.shape == array.shape
        np.testing.assert_array_equal(result, function(array))
    for i, j in itertools.combinations(range(len(tree)), 2):
        assert is_one(results[i], results[j]) == is_one(tree[i], tree[j]), f"places {i} and {j}"


def is_one(x, y):
    """Whether changing any element of `x` changes one of `y` and the other way round, with no other views around."""
    if x is y:
        return True
    if x.size == 0 or x.size != y.size or not np.may_share_memory(x, y):
        return False
    return sorted(addresses(x)) == sorted(addresses(y)) and long_strides(x) == long_strides(y)


def addresses(x):
    start = x.__array_interface__["data"][0]
    return [start + int(np.dot(index, x.strides)) for index in np.ndindex(x.shape)]


def long_strides(x):
    return sorted(stride for stride, length in zip(x.strides, x.shape, strict=True) if length > 1)


def test_the_checker_notices_a_walk_that_knows_no_transposes(monkeypatch):
    """A planted broken tie: keys by identity only."""
    W = square_view()
    monkeypatch.setattr(fluxlite.tree.flat, "parameter_key", lambda x: ("object", id(x)))
    check_ties([W, W])
    with pytest.raises(AssertionError, match="places 0 and 1"):
        check_ties([W, W.T])


def test_the_checker_notices_too_many_ties_and_transposes_that_are_not_undone(monkeypatch):
    W = np.arange(4.0).reshape(2, 2)
    with monkeypatch.context() as patched, pytest.raises(AssertionError, match="places 0 and 1"):
        patched.setattr(fluxlite.tree.flat, "parameter_key", lambda x: (type(x), "all arrays are one"))
        check_ties(list(np.zeros((2, 2))))
    with monkeypatch.context() as patched, pytest.raises(AssertionError, match="not equal"):
        patched.setattr(fluxlite.tree.walks, "view_as", lambda result, like, of: result)
        check_ties([W, W.T])
    with pytest.raises(AssertionError, match="places 0 and 1"):
        check_ties([W, W], walk=lambda function, tree: fmap(function, tree, cache=False))


# -- what is tied ---------------------------------------------------------------------------------------

W = square_view()
C = np.arange(24.0).reshape(2, 3, 4)
ROW = np.arange(3.0).reshape(1, 3)
HANKEL = as_strided(np.arange(3.0), (2, 2), (8, 8))
CUBE = as_strided(np.arange(20.0), (2, 2, 3), (8, 8, 40))
SQUARE, COLUMNS, ONE, NUMBER = np.arange(4.0).reshape(2, 2), np.asfortranarray(W), np.ones(1), np.array(1.0)
LONGER, BYTES = np.arange(9.0), bytearray(24)
TIED = {
    "another view of all of it": [W, W, W[:]],
    "transposed": [W, W.T],
    "transposed first": [W.T, W],
    "square, same shape, other strides": [SQUARE, SQUARE.T],
    "square, transposed first": [SQUARE.T, SQUARE],
    "column-major": [COLUMNS, COLUMNS.T],
    "three axes, every order": [C.transpose(order) for order in itertools.permutations(range(3))],
    "axes of length 1": [ROW, ROW[0], ROW.T, ROW[:, None, :, None]],
    "one element": [ONE, ONE.reshape(1, 1)],
    "axes alike, stride and length": [HANKEL, HANKEL.T],
    "two of three axes alike": [CUBE, CUBE.transpose(2, 0, 1), CUBE.transpose(1, 0, 2)],
    "a part of something": [C[:, 1:, ::2], C[:, 1:, ::2].T],
    "backwards": [W[::-1], W[::-1].T],
    "no axes": [NUMBER, NUMBER.reshape(1)],
    "memory that isn't NumPy's": [np.frombuffer(BYTES), np.frombuffer(BYTES)[:]],
    "views of such memory": [np.frombuffer(BYTES)[:], np.frombuffer(BYTES)[:]],
}
NOT_TIED = {
    "equal": [np.ones(2), np.ones(2)],
    "a part": [W, W[:, :2]],
    "the first row": [W, W[0]],
    "reshaped": [W, W.reshape(3, 2)],
    "flattened": [W, W.ravel()],
    "flipped": [W, W[::-1], W[:, ::-1]],
    "every second": [C, C[::2]],
    "no elements": [np.zeros((0, 2)), np.zeros((0, 2))],
    "no elements, one memory": [W[:0], W[:0], W[:, :0]],
    "other strides over the same start": [LONGER[:4].reshape(2, 2), as_strided(LONGER, (2, 2), (24, 8))],
}


@pytest.mark.parametrize("arrays", TIED.values(), ids=TIED)
def test_tied(arrays):
    assert len({parameter_key(array) for array in arrays}) == 1
    assert len(leaves(arrays)) == 1
    check_ties(arrays)


@pytest.mark.parametrize("arrays", NOT_TIED.values(), ids=NOT_TIED)
def test_not_tied(arrays):
    assert len({parameter_key(array) for array in arrays}) == len(arrays)
    assert len(leaves(arrays)) == len(arrays)
    check_ties(arrays)


def test_an_array_without_elements_is_tied_to_itself():
    empty = np.zeros((0, 2))
    result = fmap(double, [empty, empty, empty.T])
    assert result[0] is result[1] is not result[2] and result[2].shape == (2, 0)


# -- what a walk makes of ties -----------------------------------------------------------------------------


def test_transposed_ties_survive_and_the_function_runs_once_per_parameter():
    v, d = square_view(), np.arange(3.0)[None]
    calls = []

    def function(leaf):
        calls.append(leaf)
        return leaf * 2

    result = fmap(function, {"a": v, "b": v.T, "c": np.transpose(v), "d": d.T})
    assert len(calls) == 2
    result["a"][0, 2] = 100
    assert result["b"][2, 0] == result["c"][2, 0] == 100
    assert result["d"].tolist() == [[0], [2], [4]]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.astype(np.float32),
        lambda x: np.array(x, order="F"),
        lambda x: np.array(x, order="C"),
        lambda x: np.asarray(x > 2),
    ],
    ids=["another dtype", "column-major", "row-major", "bool"],
)
@pytest.mark.parametrize("arrays", TIED.values(), ids=TIED)
def test_a_function_may_change_dtype_and_memory_order(arrays, function):
    check_ties(arrays, function=function)


def test_a_function_that_returns_the_array_itself_keeps_the_memory():
    result = fmap(lambda leaf: leaf, [W, W.T])
    assert result[0] is W and parameter_key(result[1]) == parameter_key(W) and result[1].shape == (3, 2)


def test_another_view_that_is_indexed_alike_gets_the_same_result():
    calls = []
    result = fmap(lambda leaf: calls.append(leaf) or "state", [W, W[:], ROW, as_strided(ROW, (1, 3), (99, 8))])
    assert result == ["state"] * 4 and len(calls) == 2


@given(
    shape=st.lists(st.integers(1, 3), max_size=4),
    orders=st.lists(st.randoms(use_true_random=False), min_size=1, max_size=4),
    ones=st.lists(st.integers(0, 4), max_size=2),
)
def test_any_permutation_and_any_axes_of_length_one(shape, orders, ones):
    x = np.arange(float(np.prod(shape, dtype=int))).reshape(shape)
    arrays = [x]
    for random in orders:
        view = x.transpose(random.sample(range(x.ndim), x.ndim))
        for axis in ones:
            view = np.expand_dims(view, min(axis, view.ndim))
        arrays.append(view)
    assert len(leaves(arrays)) == 1
    check_ties(arrays, function=double)


# -- which arrays share memory --------------------------------------------------------------------------------

A = np.arange(24.0)


def sharing(arrays):
    """The pairs of numbers of arrays that `overlaps` finds, smaller number first."""
    found = list(overlaps(enumerate(arrays)))
    assert len(found) == len(set(map(frozenset, found))), "a pair is found once"
    return {tuple(sorted(pair)) for pair in found}


@pytest.mark.parametrize(
    ("arrays", "pairs"),
    [
        ([A[2:], A[:3]], {(0, 1)}),  # in one element, the first one's first and the other's last
        ([A[2::-1], A[2:]], {(0, 1)}),
        ([A[:3], A[3:]], set()),  # the next one begins where this one ends
        ([A[5:7], A[:2], A[1:6]], {(0, 2), (1, 2)}),
        ([A[:12].reshape(3, 4)[:, ::3], A[11:]], {(0, 1)}),
        ([A[:12].reshape(3, 4)[:, :3], A[11:], A[3:12:4]], {(1, 2)}),
        ([A[:0], A], set()),
        ([as_strided(A[:7], (2, 2, 2), (8, 16, 24)), A[6:]], {(0, 1)}),
    ],
)
def test_arrays_overlap_if_they_have_an_element_in_common(arrays, pairs):
    assert sharing(arrays) == pairs
