"""`simgpu.vectorize`: it's compiled, so its numbers are a kernel's, with NumPy's rules for types."""

import numpy as np
import pytest

import simgpu as cp
from simgpu.outside import CompiledIn

factor = 2


def plus_one(x):
    return x + 1


def plus_half(x):
    return x + 0.5


def added(x, y):
    return x + y


def quotients(x, y):
    return x // y, x / y


def counted(n):
    found = 0
    for k in range(n):
        if k == 5:
            break
        found += k
    return found


def scaled(x):
    kind = np.int32
    return kind(x) * factor


def in_between(x):
    return x * x / 300


@pytest.mark.parametrize(
    ("function", "args", "wanted"),
    [  # a number in the text is an int64 or a float64
        (plus_one, [np.int8([127])], np.int64([128])), (plus_half, [np.float32([1])], np.float64([1.5])),
        (plus_half, [np.int32([1])], np.float64([1.5])), (plus_one, [np.array([True])], np.int64([2])),
        (added, [np.int8([127]), np.int8([1])], np.int8([-128])), (added, [np.uint8([1]), np.int8([1])], np.int16([2])),
        (added, [np.float16([[1], [2]]), 1], np.float64([[2], [3]])), (counted, [np.uint64([3, 9])], np.int64([3, 10])),
        (scaled, [np.float32([3e9, -1.5])], np.int64([(2**31 - 1) * 2, -2])),
        (in_between, [np.float16([300])], np.float64([300])), (np.add, None, None),
        (added, [np.ones((0, 3)), 1.0], np.ones((0, 3))),
    ],
)  # fmt: skip
def test_types_and_values_are_those_of_a_kernel(function, args, wanted):
    if args is None:
        with pytest.raises(TypeError, match="we read a kernel's text"):
            cp.vectorize(function)(cp.ones(3), 1)
        return
    got = cp.vectorize(function)(*[cp.asarray(x) if isinstance(x, np.ndarray) else x for x in args]).get()
    assert got.dtype == wanted.dtype and got.shape == wanted.shape
    np.testing.assert_array_equal(got, wanted)


def test_several_results_and_many_elements():
    x = np.arange(200_000, dtype=np.float32)
    whole, rest = cp.vectorize(quotients)(cp.asarray(x), cp.asarray(np.float32(7)))
    np.testing.assert_array_equal(whole.get(), np.floor(x / np.float32(7)))
    np.testing.assert_array_equal(rest.get(), x / np.float32(7))
    assert whole.dtype == rest.dtype == np.float32


def test_it_is_compiled_once_for_each_combination_of_types(monkeypatch):
    kernel = cp.vectorize(scaled)
    assert kernel(cp.ones(1)).tolist() == [2]
    monkeypatch.setitem(globals(), "factor", 3)
    with pytest.warns(CompiledIn, match="factor was 2"):
        assert kernel(cp.ones(1)).tolist() == [2]
    assert kernel(cp.ones(1, "f")).tolist() == [3]


def test_one_launch():
    x = cp.ones(3)
    with cp.receipt() as r:
        cp.vectorize(plus_one)(x)
    assert dict(r.launched) == {"vectorize plus_one": 1}


@pytest.mark.parametrize(
    ("args", "error", "words"),
    [
        ((), TypeError, "takes 2 arguments, got 0"), ((1, 2), ValueError, "Loop size is undecided"),
        (([1], 2), TypeError, "list"), ((np.ones(1), 2), TypeError, "is on CPU"),
    ],
)  # fmt: skip
def test_errors(args, error, words):
    with pytest.raises(error, match=words):
        cp.vectorize(added)(*args)
    with pytest.raises(TypeError, match="Invalid return type"):
        cp.vectorize(nothing)(cp.ones(1))


def nothing(x):
    pass
