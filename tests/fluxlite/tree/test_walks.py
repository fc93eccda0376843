"""Walks over a tree: `fmap` and its kin, paths, several trees at once."""

import collections
import copy
import enum
import functools
import operator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inside import Attribute, nodes

from fluxlite import KeyPath, fcollect, fmap, fmap_with_path, fmapstructure, functor, is_leaf, leaves


@functor
@dataclass
class Foo:
    x: Any
    y: Any


@functor
@dataclass(frozen=True)
class Frozen:
    x: Any
    y: Any


class Point(NamedTuple):
    x: Any
    y: Any


def double(leaf):
    return leaf * 2


def same(leaf):
    return leaf


def is_list(node):
    return isinstance(node, list)


class Counted:
    """A function that remembers what it was called with."""

    def __init__(self, function=same):
        self.function, self.calls = function, []

    def __call__(self, *args):
        self.calls.append(args)
        return self.function(*args)


# -- where a walk stops ------------------------------------------------------------------------------


def test_exclude_says_where_the_walk_stops():
    """The function gets the list once; without exclude, each character. Other leaves are kept."""
    whole, each, thing = Counted(), Counted(), object()
    fmap(whole, {"text": ["a", "b"]}, exclude=is_list)
    fmap(each, {"text": ["a", "b"]})
    assert whole.calls == [(["a", "b"],)] and each.calls == [("a",), ("b",)]
    assert fmap(len, {"a": [1], "b": "text", "c": thing}, exclude=is_list) == {"a": 1, "b": "text", "c": thing}


# -- sharing -----------------------------------------------------------------------------------------


def test_a_shared_array_is_mapped_once_and_an_equal_one_apart():
    shared, equal = np.ones(2), np.ones(2)
    function = Counted(double)
    result = fmap(function, Foo([shared, equal], shared))
    assert len(function.calls) == 2
    assert result.y is result.x[0] is not result.x[1]
    untied = fmap(function, (shared, shared), cache=False)
    assert len(function.calls) == 4 and untied[0] is not untied[1]


def test_prune_keeps_the_first_and_replaces_the_repeats():
    shared, other = np.ones(2), np.ones(2)
    result = fmapstructure(same, Foo(shared, [other, shared]), prune=None)
    assert result["x"] is shared and result["y"][0] is other and result["y"][1] is None
    assert fmap(same, [shared, shared], prune=other)[1] is other


class Color(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    "value", [range(1, 3), 4, 1.5, 1j, True, None, "a", b"a", (), int, ..., np.float32(1), np.tanh, len, Color.RED]
)
def test_values_that_cannot_change_are_not_regarded_as_shared(value):
    assert fmap(same, [value, value], prune="again") == [value, value]


def test_structure_keeps_what_is_shared_shared_also_when_applied_again():
    shared = Foo(1, [2])
    once = fmapstructure(double, [shared, shared, Foo(1, [2])])
    twice = fmapstructure(double, once)
    assert once == [{"x": 2, "y": [4]}] * 3 and twice == [{"x": 4, "y": [8]}] * 3
    for result in once, twice:
        assert result[0] is result[1] is not result[2]


# -- cycles ------------------------------------------------------------------------------------------


def test_a_cycle_raises_and_names_both_ends():
    inner = [1]
    inner.append({"back": inner})
    tree, foo = Foo(0, inner), Foo(1, None)
    for walk in (lambda: fmap(same, tree)), (lambda: fcollect(tree)), (lambda: fmap(same, tree, cache=False)):
        with pytest.raises(ValueError, match=r"y\[1\]\['back'\] is the same object as y, which contains it"):
            walk()
    foo.y = (foo,)
    with pytest.raises(ValueError, match=r"y\[0\] is the same object as the object itself"):
        fmap(same, foo)
    shared = (1, [2])  # the same thing twice is no cycle
    assert fmap(double, [shared, (shared, [shared])]) == [(2, [4]), ((2, [4]), [(2, [4])])]


# -- several trees -------------------------------------------------------------------------------------


def test_the_result_has_the_types_of_the_first_tree_and_what_only_later_ones_have_is_ignored():
    foo, point, table = Foo(1, [2]), Point(10, (20,)), {"y": [200], "x": 100, "z": 300}
    assert fmap(operator.add, foo, point) == Foo(11, [22])
    assert fmap(operator.add, point, foo) == Point(11, (22,))
    assert fmap(operator.sub, table, table | {"extra": 1}) == {"x": 0, "y": [0], "z": 0}
    assert fmap(operator.add, [1], (2, 3)) == [3]
    assert fmap(lambda *leaves: sum(leaves), foo, point, table) == Foo(111, [222]), "more than two, in any order"


@pytest.mark.parametrize(
    ("first", "second", "place"),
    [
        ({"a": [{"b": 1}]}, {"a": [{}]}, r"\['a'\]\[0\]\['b'\]: the first has it in a dict, the other has a dict"),
        ({"b": 1}, collections.defaultdict(int), r"\['b'\]: .* the other has a defaultdict without it there"),
        (Foo(1, [2]), Foo(1, 2), r"y\[0\]: the first has it in a list, the other has a int without it there"),
        ([1], np.ones(3), r"\[0\]: .* the other has a ndarray"),
        (["a"], "a", r"\[0\]: .* the other has a str"),
        (Foo(1, 2), [1, 2], r"x: the first has it in a Foo, the other has a list"),
        ({"a": [1], "b": [2], "c": [3]}, {"a": [1], "b": [], "c": []}, r"\['b'\]\[0\]: .*"),  # of two, the first
    ],
)
def test_trees_that_differ_raise_and_the_place_is_named(first, second, place):
    """A missing field, a shorter sequence, a leaf beside a branch."""
    before = copy.copy(second)
    with pytest.raises(ValueError, match="the trees differ at " + place):
        fmap(lambda *leaves: leaves, first, second)
    assert np.array_equal(second, before), "looking for a field doesn't make it"


# -- listing -------------------------------------------------------------------------------------------


def test_fcollect_lists_shared_things_once_and_immutable_repeats_again():
    shared = [1]
    assert fcollect({"a": shared, "b": shared, "c": (2, 2)}) == [
        {"a": shared, "b": shared, "c": (2, 2)}, shared, 1, (2, 2), 2, 2,
    ]  # fmt: skip


def test_fcollect_leaves_out_what_is_excluded_with_all_that_is_in_it():
    tree = [1, {"a": [2]}, (3,)]
    assert fcollect(tree, exclude=lambda node: isinstance(node, dict)) == [tree, 1, (3,), 3]
    assert fcollect(tree, exclude=is_list) == []


def test_the_order_is_depth_first_and_parents_before_children():
    m1 = {"b": 2, "a": [3]}
    m2 = (1, m1)
    tree = [m2, 4, Foo(5, (6, 7))]
    assert leaves(tree) == [1, 2, 3, 4, 5, 6, 7]
    assert fcollect(tree) == [tree, m2, 1, m1, 2, [3], 3, 4, Foo(5, (6, 7)), 5, (6, 7), 6, 7]


def test_leaves_are_arrays_and_everything_else_without_parts():
    one, three = np.ones(1), np.zeros((3, 1))
    found = leaves([one, {"a": three, "b": one}, "relu", None, ()])
    assert found[0] is one and found[1] is three and found[2:] == ["relu", None]
    for empty in ([], {}, (), [[], {"a": ()}, ([], {})]):
        assert leaves(empty) == []


# -- paths ---------------------------------------------------------------------------------------------


def test_function_and_exclude_get_the_path():
    tree = Foo(Foo([1], {"b": [2]}), [3])
    place = KeyPath([Attribute("x"), Attribute("y"), "b"])
    seen = []

    def exclude(path, node):
        seen.append(str(path))
        return path == place or is_leaf(node)

    result = fmap_with_path(lambda path, node: (str(path), node), tree, exclude=exclude)
    assert result == Foo(Foo([("x.x[0]", 1)], {"b": ("x.y['b']", [2])}), [("y[0]", 3)])
    assert seen == ["", "x", "x.x", "x.x[0]", "x.y", "x.y['b']", "y", "y[0]"]


def test_paths_print_as_python_writes_them_and_add_up():
    path = KeyPath([Attribute("layers"), 0]) + KeyPath([Attribute("weight"), "a", ("b", 1)])
    assert type(path) is KeyPath
    assert str(path) == "layers[0].weight['a'][('b', 1)]"
    assert repr(path) == f"KeyPath({path})"
    assert (str(KeyPath()), str(KeyPath([0, Attribute("w")]))) == ("", "[0].w")


def test_a_path_gets_and_sets():
    tree = Foo([1, {"a": Foo(2, 3)}], (4,))
    path = KeyPath([Attribute("x"), 1, "a", Attribute("y")])
    assert path.get(tree) == 3 and KeyPath().get(tree) is tree
    path.set(tree, 30)
    KeyPath([Attribute("x"), 0]).set(tree, 10)
    assert tree == Foo([10, {"a": Foo(2, 30)}], (4,))
    with pytest.raises(ValueError, match="an empty path is the tree itself"):
        KeyPath().set(tree, 1)
    with pytest.raises(TypeError, match="takes a tree with something at this path, which can change"):
        KeyPath([Attribute("y"), 0]).set(tree, 1)


def test_every_path_that_a_walk_gives_leads_there():
    class Pair:
        pass

    pair, first, second = Pair(), [1], [2]
    functor.register(Pair)(lambda x: ([first, second], lambda parts: x))
    tree = Foo({"f": functools.partial(max, 1), (1, 2): pair}, Point(1, [2]))
    found = list(nodes(tree))
    assert len(found) > 10
    assert all(path.get(tree) is node for path, node in found if not isinstance(node, dict))
    assert {str(path) for path, node in found} >= {"x['f'].args[0]", "x[(1, 2)][1]", "y.y[0]"}


# -- for any tree --------------------------------------------------------------------------------------


def trees():
    leaf = st.one_of(
        st.integers(-99, 99), st.text(max_size=3), st.none(),
        st.integers(0, 3).map(lambda n: np.arange(n, dtype=np.float32)),
    )  # fmt: skip
    return st.recursive(
        leaf,
        lambda parts: st.one_of(
            st.lists(parts, max_size=3),
            st.lists(parts, max_size=3).map(tuple),
            st.dictionaries(st.text(max_size=2), parts, max_size=3),
            st.dictionaries(st.integers(0, 3), parts, max_size=3).map(collections.OrderedDict),
            st.builds(Foo, parts, parts),
            st.builds(Frozen, parts, parts),
            st.builds(Point, parts, parts),
            parts.map(lambda part: [part, (part,)]),
        ),
        max_leaves=12,
    )


def equal(x, y):
    """Same types, same structure, equal leaves; written without the library."""
    if type(x) is not type(y):
        return False
    if isinstance(x, np.ndarray):
        return x.dtype == y.dtype and np.array_equal(x, y)
    if isinstance(x, (Foo, Frozen)):
        return equal(vars(x), vars(y))
    if isinstance(x, dict):
        return list(x) == list(y) and all(equal(x[key], y[key]) for key in x)
    if isinstance(x, (list, tuple)):
        return len(x) == len(y) and all(map(equal, x, y))
    return x == y


def leaves_in_order(x):
    """All leaves with repeats; written without the library."""
    if isinstance(x, (Foo, Frozen)):
        x = vars(x)
    if isinstance(x, (list, tuple, dict)):
        return [leaf for part in (x.values() if isinstance(x, dict) else x) for leaf in leaves_in_order(part)]
    return [x]


@given(trees())
def test_mapping_the_identity_gives_an_equal_tree_whose_nodes_are_where_their_paths_say(tree):
    assert equal(fmap(same, tree), tree)
    fmap(lambda *leaves: leaves[0] is leaves[1] is leaves[2] or pytest.fail(), tree, tree, tree)
    for path, node in nodes(tree):
        assert equal(path.get(tree), node)


@given(trees())
def test_leaves_come_in_the_order_in_which_they_stand(tree):
    calls = Counted()
    fmap(calls, tree, cache=False)
    assert equal([leaf for (leaf,) in calls.calls if not isinstance(leaf, tuple)], leaves_in_order(tree))
    first_of_each = {id(leaf): leaf for leaf in leaves_in_order(tree) if isinstance(leaf, np.ndarray)}
    assert [id(leaf) for leaf in leaves(tree) if isinstance(leaf, np.ndarray)] == list(first_of_each)


@given(trees())
def test_two_maps_are_one_map_of_both(tree):
    def f(leaf):
        return leaf if leaf is None else leaf * 2

    def g(leaf):
        return [leaf] if isinstance(leaf, int) else leaf

    assert equal(fmap(g, fmap(f, tree)), fmap(lambda leaf: g(f(leaf)), tree))
