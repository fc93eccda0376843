"""What `gradient` makes of its arguments agrees with a plain recursive walk, which is its definition."""

import functools
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from inside import (
    Attribute,
    Marked,
    as_gradient,
    is_number,
    is_trainable_array,
    lies_alike,
    new_level,
    parameter_key,
    totals_of,
    view_as,
)

import fluxlite as fl
from fluxlite import Gradient, KeyPath, TrackedArray, functor, is_leaf, leaves, trainable


@functor
@dataclass(eq=False)
class Plain:
    a: Any = None
    b: Any = None


@functor
class Undeclared:
    def __init__(self, a, b):
        self.a, self.b = a, b


@functor(trainable=("a",))
@dataclass(eq=False)
class Half:
    a: Any = None
    b: Any = None


@functor
class Slots:
    __slots__ = ("a", "b")

    def __init__(self, a, b):
        self.a, self.b = a, b


@functor(children=("a", "b"))
class Property:
    def __init__(self, a, b):
        self._a, self.b = a, b

    @property
    def a(self):
        return self._a

    @a.setter
    def a(self, value):
        self._a = value


@functor
@dataclass(frozen=True)
class Frozen:
    a: Any = None
    b: Any = None


@functor
class Layer:
    def __init__(self, a):
        self.a = a

    def __call__(self, x):
        return self.a * x


class Own(Undeclared):
    """A subclass with a rule of its own."""


functor.register(Own)(lambda x: ([x.a, x.b], lambda parts: Own(*parts)))


class Pair(NamedTuple):
    a: Any
    b: Any


KINDS = [Plain, Undeclared, Half, Slots, Property, Frozen, Own, Pair,
         lambda a, b: [a, b], lambda a, b: (a, b), lambda a, b: {"a": a, 2: b},
         lambda a, b: OrderedDict(a=a, b=b), lambda a, b: functools.partial(np.add, a, b)]  # fmt: skip


def arrays():
    """Some own their memory, some view it, some share another library's, some have no elements."""
    own = [np.arange(1.0, 7).reshape(2, 3), np.ones(3, np.float32), np.arange(4.0), np.ones((1, 3)), np.arange(3),
           np.zeros((0, 2)), np.ones(2, bool)]  # fmt: skip
    memory = bytearray(np.arange(6.0).tobytes())
    foreign = [np.frombuffer(memory, float), np.frombuffer(memory, float), np.frombuffer(memory, float)[2:]]
    return own + [own[0].T, own[0][:1], own[0][:, ::-1], own[2][:2], own[2][:], own[2].reshape(2, 2)] + foreign


@st.composite
def trees(draw):
    made: list[Any] = [*arrays(), 2.0, 3, np.float32(1.5), None, "name", True, np.tanh, (), [], {}]
    for _ in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(KINDS))
        a, b = (made[draw(st.integers(0, len(made) - 1))] for _ in range(2))  # also what is in the tree already
        made.append(kind(a, b))
    return made[-1]


class Walk:
    """Depth first, parents first; what is shared is met once. `parts` says what to go into."""

    def __init__(self, leaf, combine=lambda x, results, rebuild: rebuild(results), parts=functor, is_once=False):
        self.leaf, self.combine, self.parts, self.is_once, self.seen = leaf, combine, parts, is_once, {}

    def visit(self, path, x):
        unshared = isinstance(x, (tuple, functools.partial, Frozen, str, int, float, np.generic, np.ufunc, type(None)))
        key = None if unshared else parameter_key(x)
        if key in self.seen:
            first, result = self.seen[key]
            if self.is_once:
                return self.leaf(path, x) if is_leaf(x) else None
            if result is None or first is x or lies_alike(x, first):
                return result
            return view_as(result, like=x, of=first)
        parts, rebuild = self.parts(x)
        by_name = isinstance(parts, dict)
        if is_leaf(x):
            result = self.leaf(path, x)
        else:
            step = Attribute if by_name and not isinstance(x, dict) else lambda step: step
            items = parts.items() if by_name else enumerate(parts)
            found = {name: self.visit(path + (step(name),), part) for name, part in items}
            results = found if by_name else type(parts)(found.values())
            result = self.combine(x, results, rebuild)
        if key is not None:
            self.seen[key] = x, result
        return result


def by_definition(argument, level):
    """The stand-in, and for each path the tracked thing whose gradient stands there: by two general walks."""
    places = []
    Walk(
        lambda path, x: places.append((path, x)) if is_trainable_array(x) else None,
        lambda *whole: None,
        lambda x: (trainable(x), None),
    ).visit(KeyPath(), argument)
    trained = {parameter_key(array) for _, array in places}
    tracked: dict[tuple, tuple] = {}
    numbers: dict[KeyPath, Any] = {}

    def leaf(path, x):
        if is_trainable_array(x) and parameter_key(x) in trained:
            first, stand_in = tracked.setdefault(parameter_key(x), (x, TrackedArray(x, level)))
            return view_as(stand_in, like=x, of=first)
        if is_number(x) and only_containers(argument, path):
            numbers[path] = TrackedArray(float(x) if type(x) is int else x, level)
            return numbers[path]
        return x

    stand_in = Walk(leaf).visit(KeyPath(), argument)
    firsts = {path: tracked[parameter_key(array)][1] for path, array in places if parameter_key(array) in tracked}
    return stand_in, {**firsts, **numbers}


def only_containers(argument, path):
    return all(isinstance(KeyPath(path[:i]).get(argument), (tuple, list, dict)) for i in range(len(path)))


def collected_by_definition(argument, firsts, totals):
    def leaf(path, x):
        if path not in firsts:
            return None
        first = firsts[path].value
        g = as_gradient(first, totals.get(firsts[path]), set())
        return g if g is None or is_number(x) else view_as(g, like=x, of=first)

    def combine(x, results, rebuild):
        if isinstance(x, (tuple, list, dict)):
            return rebuild(results)
        return Gradient(**results) if isinstance(results, dict) else results

    return Walk(leaf, combine, is_once=True).visit(KeyPath(), argument)


def loss(stand_in):
    total = 0.0
    for number, leaf in enumerate(leaves(stand_in), 1):
        if type(leaf) is TrackedArray:
            total = total + number * np.sum(leaf * leaf)
    return total


def shape_of(tree, seen):
    """The tree as text and numbers, in which two mentions of one object have one number."""
    if type(tree) is TrackedArray:
        return (
            "tracked",
            tree.dtype,
            fl.leaves(tree.data)[0] if np.ndim(tree.data) == 0 else tree.data.tolist(),
        )
    if is_leaf(tree):
        return (type(tree), tree.tolist() if isinstance(tree, np.ndarray) else repr(tree))
    number = seen.setdefault(id(tree), len(seen)) if not isinstance(tree, (tuple, functools.partial)) else -1
    parts = functor(tree)[0]
    items = parts.items() if isinstance(parts, dict) else enumerate(parts)
    return (type(tree), number, [(name, shape_of(part, seen)) for name, part in items])


def assert_same(one, other):
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype and one.strides == other.strides
        np.testing.assert_array_equal(one, other)
    elif is_leaf(one):
        assert one == other
    else:
        parts, others = functor(one)[0], functor(other)[0]
        assert (list(parts) == list(others)) if isinstance(parts, dict) else len(parts) == len(others)
        for step in parts if isinstance(parts, dict) else range(len(parts)):
            assert_same(parts[step], others[step])


W = np.arange(1.0, 7).reshape(2, 3)


@given(trees())
@example(Plain(W, W.T))
@example([Half(None, W.T), W])
def test_the_pass_agrees_with_the_general_walks(tree):
    level = new_level()
    try:
        expected, firsts = by_definition(tree, level)
        found = Marked(tree, level)
        assert shape_of(found.stand_in, {}) == shape_of(expected, {})
        values, gradients = [], []
        for stand_in, build in [
            (expected, lambda totals: collected_by_definition(tree, firsts, totals)),
            (found.stand_in, lambda totals: found.gradient(totals, set())),
        ]:
            value = loss(stand_in)
            values.append(value.data if type(value) is TrackedArray else value)
            gradients.append(build(totals_of(value, level)))
        assert values[0] == values[1]
        assert_same(*gradients)
    finally:
        level.close()


def test_a_class_registered_again_is_read_again():
    class Layer:
        def __init__(self):
            self.w, self.c = np.ones(2), np.ones(2)

    functor(Layer)
    assert fl.gradient(lambda m: np.sum(m.w * m.c), Layer())[0].c.tolist() == [1, 1]
    functor(Layer, ("w",))
    assert not hasattr(fl.gradient(lambda m: np.sum(m.w * m.c), Layer())[0], "c")
    functor(Layer, trainable=("w",))
    assert fl.gradient(lambda m: np.sum(m.w * m.c), Layer())[0].c is None


@functor(children=("a",))
@dataclass(eq=False)
class Part:
    """`b` is no child, so it isn't tracked."""

    a: Any
    b: Any


def test_what_is_not_declared_a_child_is_a_constant():
    model, seen = Part(np.ones(2), np.array([3.0, 4.0])), []
    (grad,) = fl.gradient(lambda m: (seen.append(m.b) or m.a * m.b).sum(), model)
    assert seen[0] is model.b and grad.a.tolist() == [3, 4] and "b" not in vars(grad)
