"""A name from outside is compiled in: what changes later changes nothing, as on a card, and a warning says so."""

import types

import numpy as np
import pytest

import simgpu as cp
from simgpu import jit
from simgpu.outside import CompiledIn

width, sizes, counts, table = 4, types.SimpleNamespace(rows=3), [5, 6], {"a": 7}


@jit.rawkernel(device=True)
def scaled(x):
    return x * width


@jit.rawkernel()
def kernel(out):
    i = int(jit.grid(1))
    out[i] = scaled(i) + sizes.rows + counts[0] + table["a"]


def helper(x):
    return x * width


@cp.fuse()
def inner(x):
    return x + sizes.rows


@cp.fuse(kernel_name="one")
def fused(x):
    return helper(x) + inner(x) + counts[0] + table["a"]


def launched(kind="i"):
    out = cp.zeros(2, kind)
    kernel[1, 2](out)
    return out.tolist()


def fuse(kind="f"):
    return fused(cp.ones(2, kind)).tolist()


def scaled_again(x):
    return x * 1000


CHANGES = [  # which name, what is said of it, and how to change it
    ("width", "was 4 when it was compiled, and is 9 now", lambda patch: patch.setitem(globals(), "width", 9)),
    ("width", "and is nothing now", lambda patch: patch.delitem(globals(), "width")),
    ("sizes.rows", "was 3", lambda patch: patch.setattr(sizes, "rows", 30)),
    ("counts[0]", "was 5", lambda patch: counts.__setitem__(0, 50)),
    ("table['a']", "was 7", lambda patch: patch.setitem(table, "a", 70)),
]


@pytest.mark.filterwarnings("ignore::simgpu.outside.CompiledIn")
@pytest.mark.parametrize("run", [launched, fuse])
@pytest.mark.parametrize(("name", "says", "change"), CHANGES)
def test_a_change_is_not_seen_and_said(run, name, says, change, monkeypatch):
    before = run()
    change(monkeypatch)
    with pytest.warns(CompiledIn) as said:
        assert run() == before
    counts[0] = 5
    assert name in str(said[0].message) and says in str(said[0].message)
    assert "run the cell that defines" in str(said[0].message)


@pytest.mark.filterwarnings("ignore::simgpu.outside.CompiledIn")
def test_other_types_are_compiled_again(monkeypatch):
    assert launched() == [15, 19] and fuse() == [20, 20]
    monkeypatch.setitem(globals(), "width", 10)
    assert launched() == [15, 19] and fuse() == [20, 20]
    assert launched("q") == [15, 25] and fuse("d") == [26, 26]
    strided = cp.zeros(4, "i")[::2]  # another type to CuPy, since it doesn't lie in one piece
    kernel[1, 2](strided)
    assert strided.tolist() == [15, 25]


def test_a_function_defined_again_is_another_one(monkeypatch):
    before = launched(), fuse()
    monkeypatch.setitem(globals(), "scaled", jit.rawkernel(device=True)(scaled_again))
    monkeypatch.setitem(globals(), "helper", scaled_again)
    with pytest.warns(CompiledIn, match="is another"):
        assert (launched(), fuse()) == before
    again = jit.rawkernel()(kernel.function)  # as when its cell runs again
    out = cp.zeros(2, "i")
    again[1, 2](out)
    assert out.tolist() == [15, 1015]


def test_variables_of_functions_around_it():
    def make(factor):
        def change(value):
            nonlocal factor
            factor = value

        @jit.rawkernel()
        def filled(out):
            out[int(jit.grid(1))] = factor

        return filled, cp.fuse(lambda x: x * factor), change

    filled, multiplied, change = make(2)
    out, x = cp.zeros(1, "i"), cp.ones(1)
    for _ in range(2):
        filled[1, 1](out)
        assert out.tolist() == multiplied(x).tolist() == [2]
        change(3)
        with pytest.warns(CompiledIn, match="factor was 2"):
            filled.shuffled(1)[1, 1](out)
            multiplied(x)
        filled, multiplied, change = make(2)


def test_functions_with_names_of_their_own():
    def make(factor):
        def change(value):
            nonlocal factor
            factor = value

        def scale(x):
            return x * factor

        return scale, jit.rawkernel(device=True)(scale), change

    one, one_there, _ = make(2)
    two, two_there, change = make(3)

    @jit.rawkernel()
    def filled(out):
        out[int(jit.grid(1))] = one_there(1) + two_there(1)

    fused, out = cp.fuse(lambda x: one(x) + two(x)), cp.zeros(1, "i")
    filled[1, 1](out)
    assert out.tolist() == fused(cp.ones(1)).tolist() == [5]
    change(10)
    for run in (lambda: filled[1, 1](out), lambda: fused(cp.ones(1))):
        with pytest.warns(CompiledIn, match="factor.*was 3"):
            run()
    assert out.tolist() == [5]


def test_methods_keep_their_objects_fields():
    class Scale:
        def __init__(self):
            self.factor, self.calls = 2.0, 0
            self.fused = cp.fuse(self.apply)

        def apply(self, x):
            return x * self.factor

    scale, x = Scale(), cp.ones(1)
    assert scale.fused(x).tolist() == [2]
    scale.calls += 1  # it isn't asked for
    assert scale.fused(x).tolist() == [2]
    scale.factor = 7.0
    with pytest.warns(CompiledIn, match=r"self.factor was 2.0"):
        assert scale.fused(x).tolist() == [2]


def test_said_once_for_each_value(monkeypatch, recwarn):
    launched(np.float64)
    for value in (20, 20, 30):
        monkeypatch.setitem(globals(), "width", value)
        launched(np.float64)
    assert len(recwarn) == 2


def test_a_name_for_something_from_outside(recwarn):
    def place():
        return sizes

    @jit.rawkernel()
    def filled(out):
        kept = sizes
        out[int(jit.grid(1))] = kept.rows + place().rows

    out = cp.zeros(1, "i")
    for _ in range(2):
        filled[1, 1](out)
    assert out.tolist() == [6] and not recwarn
