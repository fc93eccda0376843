"""Structured types, as CuPy 14 has them: made, moved, shown by field; computed with, no."""

import numpy as np
import pytest

import simgpu as cp

KIND = np.dtype([("a", "i4"), ("b", "f4")])
HOST = np.array([(3, 1.5), (1, 2.5), (2, 0.5)], dtype=KIND)


@pytest.fixture
def x():
    return cp.asarray(HOST)


def test_to_the_device_and_back(x):
    assert x.dtype == KIND and x.get().tolist() == HOST.tolist() and x.tolist() == HOST.tolist()
    assert cp.zeros(2, KIND).tolist() == [(0, 0.0)] * 2 and cp.empty_like(x).shape == (3,)
    assert cp.zeros_like(x).dtype == cp.empty((2, 2), KIND).dtype == cp.ndarray((3,), KIND).dtype == KIND
    assert cp.zeros(2, "V4").dtype == np.dtype("V4")


def test_a_field_is_a_view(x):
    assert x["a"].tolist() == [3, 1, 2] and x[["a", "b"]].dtype == KIND
    x["a"] = cp.asarray([7, 8, 9])
    x["b"][0] = 4.0
    assert x.tolist() == [(7, 4.0), (8, 2.5), (9, 0.5)]
    x[["a"]] = x[["a"]][::-1]
    x["b"] = 1.0
    assert x.tolist() == [(9, 1.0), (8, 1.0), (7, 1.0)]
    with cp.receipt() as r:
        y = x["a"]
    assert r.launches == 0 and (y + x["b"]).tolist() == [10.0, 9.0, 8.0]
    with pytest.raises(ValueError, match="no field"):
        x["c"]


MOVED = {
    "x[1:]": lambda x: x[1:], "x[places]": lambda x: x[cp.asarray([2, 0])] if isinstance(x, cp.ndarray) else x[[2, 0]],
    "copy": lambda x: x[::-1].copy(), "reshape": lambda x: x.reshape(3, 1),
    "concatenate": lambda x: np.concatenate([x, x]),
    "roll": lambda x: np.roll(x, 1), "tile": lambda x: np.tile(x, 2), "astype": lambda x: x.astype(KIND),
    "view": lambda x: x.view("i4"), "take": lambda x: np.take(x, [1]), "x == x": lambda x: x == x[::-1],
    "x != x": lambda x: x != x[::-1],
}  # fmt: skip


@pytest.mark.parametrize("name", MOVED)
def test_records_move_as_they_are(name, x):
    assert MOVED[name](x).tolist() == MOVED[name](HOST).tolist()


def test_records_are_written_from_records(x):
    x[0] = x[1]
    x[1:] = x[::-1][1:]
    assert x.tolist() == [(1, 2.5), (1, 2.5), (1, 2.5)]


REFUSED = {
    "sum": (TypeError, lambda x: x.sum()), "argmax": (TypeError, lambda x: x.argmax()),
    "+": (TypeError, lambda x: x + x),
    "where": (TypeError, lambda x: np.where(x["a"] > 1, x, x)), "<": (TypeError, lambda x: x < x),
    "x[0] = host": (TypeError, lambda x: x.__setitem__(0, HOST[1])), "fill": (TypeError, lambda x: x.fill(0)),
    "x[0] = 1": (TypeError, lambda x: x.__setitem__(0, 1)), "byteswap": (TypeError, lambda x: x.byteswap()),
    "sort": (NotImplementedError, lambda x: x.sort()), "unique": (NotImplementedError, lambda x: np.unique(x)),
    "full": (TypeError, lambda x: cp.full(2, HOST[0], KIND)), "ones": (TypeError, lambda x: cp.ones(2, KIND)),
    "references": (ValueError, lambda x: cp.asarray(np.zeros(2, [("a", "O")]))),
    "a list as dtype": (TypeError, lambda x: cp.empty_like(x, dtype=[("a", "i4")])),
    "of other fields": (NotImplementedError, lambda x: x.astype(np.dtype([("c", "f8")]))),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name, x):
    error, call = REFUSED[name]
    with pytest.raises(error):
        call(x)


def test_kernels_need_fields_at_multiples_of_their_size():
    packed = np.dtype([("a", "i1"), ("b", "f8")])
    x = cp.zeros(2, packed)
    assert x["a"].tolist() == [0, 0] and x.get().dtype == packed
    for call in (lambda: x["b"], x.copy, lambda: np.concatenate([x, x]), lambda: x[cp.asarray([0])]):
        with pytest.raises(ValueError, match="make_aligned_dtype"):
            call()
    kind = cp.make_aligned_dtype(packed)
    assert (kind.itemsize, kind.fields["b"][1]) == (16, 8) and cp.make_aligned_dtype(kind, alignment=32).itemsize == 32
    assert cp.zeros(2, kind).copy()["b"].tolist() == [0.0, 0.0]
    for wrong in (3, 4):
        with pytest.raises(ValueError, match="alignment"):
            cp.make_aligned_dtype(packed, alignment=wrong)
