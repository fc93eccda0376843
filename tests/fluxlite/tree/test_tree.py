"""How things come apart and are put together again: `functor`, `children`, and the rule of each type.

The contract is that of Functors.jl, but for what has no counterpart in Python: leaves with fields of their own type,
``functor(T, y)``, iterators that could be rebuilt, wrappers such as Transpose (NumPy's transposes are views).
"""

import collections
import functools
import operator
import types
from abc import ABC, abstractmethod
from dataclasses import FrozenInstanceError, dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest
from inside import flat

from fluxlite import GlobalMaxPool, children, fcollect, fmap, functor, is_leaf, trainable


@functor
@dataclass
class Foo:
    x: Any
    y: Any


@functor
@dataclass
class Bar:
    x: Any


@functor(children=("y",))
@dataclass
class OneChild:
    x: Any
    y: Any
    z: Any


@functor
@dataclass
class NoChildren:
    pass


class Point(NamedTuple):
    x: Any
    y: Any


@functor
class Model:
    def __init__(self, w):
        self.w = w

    def __call__(self, x=1):
        return self.w * x


def double(leaf):
    return leaf * 2


def same(leaf):
    return leaf


# -- registered classes ---------------------------------------------------------------------------


def test_fmap_keeps_the_types_converts_the_leaves_and_leaves_its_argument_alone():
    bar = Bar(Foo(1, np.array([1, 2, 3])))
    result = fmap(lambda leaf: leaf * 1.0, bar)
    assert (type(result), type(result.x)) == (Bar, Foo)
    assert isinstance(result.x.x, float) and result.x.y.dtype == np.float64
    assert type(bar.x.x) is int and bar.x.y.dtype.kind == "i"
    assert {type(name) for name in vars(result)} == {str}


def test_a_class_registered_without_fields_is_no_leaf():
    """The function is never called on it, and what it holds is untouched."""

    @functor(children=())
    @dataclass
    class Sealed:
        content: Any

    content = [1]
    assert not is_leaf(Sealed(content)) and not is_leaf(NoChildren())
    assert fmap(lambda leaf: pytest.fail("called"), [Sealed(content), NoChildren()])[0].content is content


def test_a_subset_changes_only_its_fields_and_carries_the_others_over():
    x, z = [1], [3]
    result = fmap(double, OneChild(x, 2, z))
    assert (result.y, type(result)) == (4, OneChild)
    assert result.x is x and result.z is z

    @functor(children=("z", "x"))
    @dataclass
    class Swapped:
        x: Any
        y: Any
        z: Any

    assert fmap(double, Swapped(1, 10, 100)) == Swapped(2, 10, 200)
    assert list(functor(Swapped(1, 10, 100))[0]) == ["z", "x"]


def test_a_leaf_is_handed_over_whole_and_rebuilds_to_itself():
    """An unregistered object, or a subclass of a registered class that is declared a leaf."""

    class Unregistered:
        def __init__(self):
            self.x = np.ones(2)

    class LeafFoo(Foo):
        pass

    functor.register(LeafFoo)(lambda x: ((), lambda _: x))
    for x in Unregistered(), LeafFoo(1, 2):
        parts, rebuild = functor(x)
        assert parts == () and rebuild(parts) is x
        assert fmap(id, x) == id(x)


def test_a_rule_of_your_own_may_give_a_sequence_or_any_keys():
    """Also others for another instance."""

    class Pair:
        def __init__(self, parts):
            self.parts = parts

    functor.register(Pair)(lambda x: (x.parts, Pair))
    assert fmap(double, Pair([1, 2])).parts == [2, 4]
    assert fmap(double, Pair({0: 1, "one": 2})).parts == {0: 2, "one": 4}
    assert fmap(operator.add, Pair({0: 1}), Pair({0: 10})).parts == {0: 11}


def test_a_subclass_has_its_bases_rule_and_its_own_fields():
    @dataclass
    class Foo3(Foo):
        z: Any

    @functor
    class Abstract(GlobalMaxPool, ABC):
        @abstractmethod
        def __call__(self): ...

    class Scale(Abstract):
        def __init__(self, factor):
            self.factor = factor

        def __call__(self):
            return self.factor

    assert fmap(double, Foo3(1, 2, 3)) == Foo3(2, 4, 6) and fmap(double, Scale(3))() == 6


# -- what registration refuses ----------------------------------------------------------------------


class Properties:
    @property
    def weight(self): ...

    @functools.cached_property
    def transposed(self): ...

    @property
    def bias(self):
        return self._bias

    @bias.setter
    def bias(self, value):
        self._bias = value


REFUSED = [
    (lambda: functor(Foo, "x"), TypeError, r"functor\(Foo, …\) takes a tuple of field names"),
    (lambda: functor(Foo, ("x", 1)), TypeError, r"functor\(Foo, …\) takes a tuple of field names"),
    (lambda: functor(Foo, trainable=["x"]), TypeError, r"functor\(Foo, …\) takes a tuple of field names"),
    (lambda: functor(Foo, ("x",), trainable=("y",)), ValueError, "isn't all among its children"),
    (lambda: functor(Foo(1, 2), ("x",)), TypeError, "for a class"),
    *((lambda cls=cls: functor(cls), TypeError, "__new__|type 'ndarray'|create")
      for cls in (int, np.ndarray, list, types.FunctionType, type("Layers", (list,), {}))),
]  # fmt: skip


@pytest.mark.parametrize("call, error, words", REFUSED)
def test_what_registration_refuses_leaves_everything_as_it_was(call, error, words):
    before = [children.dispatch(cls) for cls in (Foo, Properties, int, list)]
    with pytest.raises(error, match=words):
        call()
    assert before == [children.dispatch(cls) for cls in (Foo, Properties, int, list)]
    assert functor(Foo(1, 2))[0] == {"x": 1, "y": 2}


def test_a_field_that_an_object_lacks_is_named():
    @functor(children=("w",))
    class Empty:
        pass

    with pytest.raises(AttributeError, match="has no attribute .w."):
        fmap(same, Empty())


# -- rebuilding runs none of the class's code --------------------------------------------------------


def ran(*args):
    raise AssertionError("a hook of the class ran")


def decorated(**options):
    @functor
    @dataclass(**options)
    class Layer:
        w: Any
        b: Any = 0

    return Layer


def test_dataclasses_of_every_kind_rebuild():
    for options in {}, {"frozen": True}, {"slots": True}, {"frozen": True, "slots": True}, {"eq": False}:
        layer = decorated(**options)(1, 10)
        result = fmap(double, layer)
        assert type(result) is type(layer)
        assert (result.w, result.b, layer.w, layer.b) == (2, 20, 1, 10), options
    foo = Foo(1, 2)
    foo.log = ["kept"]  # no field
    assert fmap(double, foo).log is foo.log
    with pytest.raises(FrozenInstanceError):
        fmap(double, decorated(frozen=True)(1)).w = 3


@pytest.mark.parametrize("make", [dataclass(eq=False), lambda cls: cls], ids=["dataclass", "plain class"])
def test_a_cached_property_is_no_part_and_is_computed_again(make):
    class Layer:
        w: Any

        @functools.cached_property
        def doubled(self):
            return self.w * 2

    Layer = functor(make(Layer))
    layer = object.__new__(Layer)
    layer.w = 1
    assert layer.doubled == 2
    assert functor(layer)[0] == {"w": 1}
    assert fmap(lambda leaf: leaf + 1, layer).doubled == 4


# -- containers ---------------------------------------------------------------------------------------


def test_containers_keep_their_type_and_nest():
    x = (1, [2, {"a": (3,), "b": Point(4, [5])}])
    result = fmap(double, x)
    assert result == (2, [4, {"a": (6,), "b": Point(8, [10])}])
    assert type(result[1][1]["b"]) is Point


def test_subclasses_of_containers_keep_type_and_attributes_and_run_no_code():
    Layers = type("Layers", (list,), {"__init__": ran, "__setitem__": ran})
    Table = type("Table", (dict,), {"__init__": ran, "update": ran})
    Shape = type("Shape", (tuple,), {"__new__": ran})
    layers, table, shape = list.__new__(Layers), dict.__new__(Table), tuple.__new__(Shape, (1, 2))
    layers.extend([1, 2])
    dict.update(table, a=1)
    for x, doubled in ((layers, [2, 4]), (table, {"a": 2}), (shape, (2, 4))):
        x.name = "kept"
        result = fmap(double, x)
        assert type(result) is type(x) and result == doubled and result.name == "kept"


def test_what_is_a_leaf():
    """The empty tuple too, but no other empty container. A string's characters are strings, and would never end."""
    things = [np.zeros(3), np.zeros(0), np.float32(1), 1, 1.5, None, ..., np.tanh, len, range(3), {1}, iter([1]), ()]
    things += ["relu", "", b"x", int, Foo]
    assert all(map(is_leaf, things))
    assert all(a is b for a, b in zip(fmap(same, things), things))
    assert [is_leaf(x) for x in ([], {}, collections.namedtuple("Nothing", "")(), NoChildren())] == [False] * 4


# -- partials, methods, functions ---------------------------------------------------------------------


def test_a_partial_is_traversed():
    for kind in functools.partial, type("Named", (functools.partial,), {}):
        x = kind(Foo, np.array([1.0]), y=2)
        x.note = "kept"
        result = fmap(lambda leaf: leaf if isinstance(leaf, type) else leaf * 2, x)
        assert type(result) is kind and result.note == "kept" and result() == Foo(np.array([2.0]), 4)


def test_a_bound_method_of_a_model_moves_its_model_and_any_other_is_a_leaf():
    model = Model(np.array([1.0]))
    result = fmap(double, model.__call__)
    assert result(3).tolist() == [6] and model(3).tolist() == [3]
    assert result.__func__ is Model.__call__

    class Unregistered:
        def method(self): ...

    for method in Unregistered().method, "text".upper, [np.ones(1)].append:
        assert is_leaf(method) and fmap(same, method) is method


def test_a_function_is_a_leaf_whatever_it_captured():
    W = np.ones(1)
    for function in (lambda x: x), (lambda: W), (lambda: Foo(W, [W])), abs:
        assert is_leaf(function) and fmap(same, function) is function


# -- what trains -----------------------------------------------------------------------------------------


def test_all_children_are_trainable_unless_declared_otherwise():
    assert trainable(Foo(1, 2)) == {"x": 1, "y": 2}
    assert trainable(OneChild(1, 2, 3)) == {"y": 2}
    assert trainable([1, 2]) == [1, 2] and trainable("leaf") == ()
    for names, wanted in ((("weight",), {"weight": 1}), ((), {})):

        @functor(trainable=names)
        @dataclass
        class Layer:
            weight: Any
            mean: Any

        layer = Layer(1, 2)
        assert trainable(layer) == wanted and functor(layer)[0] == {"weight": 1, "mean": 2}
        assert fmap(double, layer) == Layer(2, 4), "what does not train still moves"
        assert fcollect(layer) == [layer, 1, 2]


# -- the recipe of a walk -------------------------------------------------------------------------


@functor(trainable=())
@dataclass
class Fixed:
    x: Any


def test_a_recipe_says_what_is_made_what_is_met_again_and_which_leaf_is_tied():
    """Both places of `w` and of `bar` are in the recipe; each trains only at its second."""
    w, bar = np.ones((2, 3)), Bar(np.ones(2))
    found = flat.flatten([Fixed([w, bar]), w.T, bar, bar])
    kinds = [type(branch).__name__ for branch in found.recipe]
    assert kinds == ["Made", "Made", "Made", "TiedLeaf", "TiedLeaf", "Again", "Again", "Made"]
    assert [bool(branch.parts) for branch in found.recipe] == [True, True, True, False, False, True, False, True]
    assert {str(found.paths()[place]) for place, _ in found.trainable_places()} == {"[1]", "[2].x"}
    assert found.results(found.leaves)[found.root][1].shape == (3, 2)
