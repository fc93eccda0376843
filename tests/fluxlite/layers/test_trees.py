"""How models print: a line for each part."""

from dataclasses import dataclass

import numpy as np
import pytest
from layer_table import LAYERS

import fluxlite as fl


@fl.functor
class Net:
    def __init__(self):
        self.encoder = fl.Chain(fl.Dense(3, 2, np.tanh), fl.BatchNorm(2))
        self.heads = [fl.Dense(2, 1), fl.Dense(2, 4)]
        self.scale = np.ones((2, 5000), np.float32)
        self.rate = 0.1


def lines(x):
    return repr(x).split("\n")


def test_a_class_of_your_own_prints_as_a_tree():
    assert lines(Net()) == [
        "Net(",
        "  encoder=Chain(",
        "    Dense(3 => 2, tanh),        # 8 parameters",
        "    BatchNorm(2),               # 4 parameters, plus 4 not trained",
        "  ),",
        "  heads=[",
        "    Dense(2 => 1),              # 3 parameters",
        "    Dense(2 => 4),              # 12 parameters",
        "  ],",
        "  scale=float32 (2, 5000),      # 10,000 parameters",
        "  rate=0.1,",
        ")                               # 10,027 parameters in all, plus 4 not trained",
    ]


def test_what_does_not_train_is_said():
    @fl.functor(trainable=("w",))
    class Frozen:
        def __init__(self):
            self.w, self.mean, self.inner, self.numbers = np.ones(2), np.ones(3), fl.Dense(1, 1), np.arange(7)

    assert lines(Frozen()) == [
        "Frozen(",
        "  w=float64 (2,),           # 2 parameters",
        "  mean=float64 (3,),        # 3 not trained",
        "  inner=Dense(1 => 1),      # 2 not trained",
        "  numbers=int64 (7,),       # 7 not trained",
        ")                           # 2 parameters in all, plus 12 not trained",
    ]


def test_ties_count_once_and_a_model_prints_inside_a_gradient_and_after_it_as_before():
    layer, net, seen = fl.Dense(3, 3), Net(), []
    assert lines(fl.Chain(layer, layer))[-1].endswith("# 12 parameters in all")
    fl.gradient(lambda m: (seen.extend([repr(m), m]), m.scale.sum())[1], net)
    assert seen[0] == repr(seen[1]) == repr(net)


def test_a_dataclass_shows_shapes_in_place_of_values():
    for both in (lambda cls: fl.functor(dataclass(cls)), lambda cls: dataclass(fl.functor(cls))):

        class Small:
            dense: object
            scale: object
            steps: int = 3

        Small = both(Small)
        assert lines(Small(fl.Dense(2, 3), np.ones(3, np.float32))) == [
            "Small(",
            "  dense=Dense(2 => 3),      # 9 parameters",
            "  scale=float32 (3,),       # 3 parameters",
            "  steps=3,",
            ")                           # 12 parameters in all",
        ]
    assert repr(fl.functor(dataclass(Plain))(1)).endswith("Plain(rate=1, name='two')"), "no arrays: as it was"


class Plain:
    rate: int
    name: str = "two"


def test_much_is_left_out():
    net = Net()
    net.heads = [np.ones(2) for _ in range(1000)]
    assert ["…", "960", "more", "#", "1920", "parameters"] in [line.split() for line in lines(net)]
    assert len(lines(net)) < 60


def test_a_function_between_layers_prints_its_name_only():
    chain = fl.Chain(fl.Dense(2, 2), lambda x: x, Callable(), Callable().go)
    assert lines(chain)[2:5] == ["  <lambda>,", "  Callable(", "    w=float64 (2,),      # 2 parameters"]
    with pytest.raises(TypeError, match=r"is a function, got a Net"):
        fl.Chain(Net())


@fl.functor
class Callable:
    def __init__(self):
        self.w = np.ones(2)

    def __call__(self, x):
        return x

    go = __call__


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_reads_the_same_alone_and_in_a_chain(name):
    layer = LAYERS[name][0]()
    alone = "flatten" if layer is fl.flatten else repr(layer).split("      # ")[0]
    if "\n" not in alone:
        assert lines(fl.Chain(layer))[1].split("      # ")[0].rstrip() == f"  {alone},"
