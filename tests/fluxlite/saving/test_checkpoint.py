"""`state`, `loadmodel`, `save` and `load` on the CPU. `test_saving.py` has models on GPUs."""

import collections
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from inside import parameter_key

import fluxlite as fl


def network(rng=0):
    rng = np.random.default_rng(rng)
    return fl.Chain(fl.Dense(3, 4, np.tanh, rng=rng), fl.Dense(4, 2, rng=rng))


def equal(x, y):
    """The same containers with the same values, dtypes and shapes; NaN is NaN."""
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        return type(x) is type(y) and x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()
    if type(x) is not type(y):
        return False
    if isinstance(x, dict):
        return list(x) == list(y) and all(equal(x[key], y[key]) for key in x)
    if isinstance(x, (list, tuple)):
        return len(x) == len(y) and all(map(equal, x, y))
    return x == y or x != x and y != y


def values(tree):
    return [leaf.copy() for leaf in fl.leaves(tree) if isinstance(leaf, np.ndarray)]


@fl.functor(trainable=("scale",))
class Norm:
    """With an array that no optimizer changes, a number and a text."""

    def __init__(self):
        self.scale, self.running = np.ones(2), np.zeros(2)
        self.momentum, self.mode = 0.1, "train"


class Unregistered:
    def __init__(self):
        self.W = np.ones(2)


# -- state -------------------------------------------------------------------------------------------------------


def test_state_holds_the_same_arrays_and_plain_values():
    model, norm, W = network(), Norm(), np.ones(2)
    state = fl.state(model)
    assert type(state) is dict and type(state["layers"]) is tuple
    first = state["layers"][0]
    assert first["weight"] is model[0].weight and first["activation"] == ()
    assert fl.state(norm) == {"scale": norm.scale, "running": norm.running, "momentum": 0.1, "mode": "train"}
    Point = collections.namedtuple("Point", "x y")
    state = fl.state({"p": Point(W, 1), "o": collections.OrderedDict(a=W), "l": [W.T, None], "f": lambda x: W * x})
    assert type(state["p"]) is dict and state["p"]["x"] is W and type(state["o"]) is dict
    assert state["f"] == () and "['f'].W isn't saved: <lambda> captured W" in fl.notices()[-1]
    assert state["l"][0].base is W and equal(fl.state(state), state)


# -- loadmodel ---------------------------------------------------------------------------------------------------


def listed(rng):
    model = network(rng)
    model.layers = list(model.layers)
    return model


@pytest.mark.parametrize("source", [network, lambda rng: fl.state(network(rng)), listed])
@pytest.mark.parametrize("into", [network, listed])  # a list and a tuple are alike
def test_arrays_stay_the_same_objects(source, into):
    model = into(0)
    arrays = fl.leaves(model)
    assert fl.loadmodel(model, source(1)) is model
    assert all(a is b for a, b in zip(fl.leaves(model), arrays, strict=True))
    assert all(map(equal, values(model), values(network(1))))


def read_only(x):
    x.flags.writeable = False
    return x


def misfits():
    """Model, source, the error and the place and the facts that it names."""
    one, chain = np.ones(2), network()
    wide, bare = fl.cpu(network(), dtype=np.float64), fl.Dense.of(np.ones((2, 2)))
    return [
        ({"b": [one, {"x": one}]}, {"b": [one, {"y": one, "z": 1}]}, r"\['b'\]\[1\]: .* parts x, in the source y, z"),
        (chain, fl.Chain(*network(), fl.relu), "layers: .* the parts 0, 1, in the source 0, 1, 2"),
        (chain, fl.Chain(network()[0], fl.relu), r"layers\[1\]: .* parts weight, .* in the source a function"),
        (chain, None, "the model: .* in the source None"),
        ([[one], [one], [one]], [[one], [], []], r"\[1\]: .* the parts 0, in the source a list"),
        ([fl.relu], [one], r"\[0\] is a function, the source has an array of float64, shape"),
        ([one], [fl.relu], r"\[0\] is an array of shape \(2,\), the source has a function"),
        ([1.5], [[one]], r"\[0\] is 1.5, the source has a list"),
        ({"b": one}, {"b": True}, r"\['b'\] is an array of shape \(2,\), the source has True"),
        ([one * 0, one], [one, np.ones(3)], r"\[1\]: the source has shape \(3,\), expected \(2,\)"),
        (chain, wide, r"layers\[0\].weight: the source has dtype float64, expected float32; cast"),
        (bare, fl.Dense.of(np.zeros((2, 2)), one), "bias is None, the source has an array of float64"),
        ({"a": one * 0, "b": read_only(one * 0)}, {"a": one, "b": one}, r"\['b'\] is read-only"),
        ([fl.param(one)], [one], r"\[0\] is tracked for a gradient"),
        ([Unregistered()], [{"W": one}], "Unregistered is not registered"),
    ]


@pytest.mark.parametrize("model, source, words", misfits())
def test_what_does_not_fit_is_named_and_nothing_is_changed(model, source, words):
    before = [x.tolist() for x in fl.leaves(model) if isinstance(x, np.ndarray)]
    with pytest.raises((ValueError, TypeError), match=words):
        fl.loadmodel(model, source)
    assert [x.tolist() for x in fl.leaves(model) if isinstance(x, np.ndarray)] == before


def test_cast_converts_another_dtype(path):
    model, wide = network(), fl.cpu(network(1), dtype=np.float64)
    fl.loadmodel(model, wide, cast=True)
    assert model[0].weight.dtype == np.float32 and all(map(equal, values(model), values(network(1))))
    fl.save(path, wide)
    fl.load(path, target := network(2), cast=True)
    assert all(map(equal, values(target), values(model)))
    with pytest.raises(ValueError, match=r"\[0\]: the source has dtype float64, expected int64"):
        fl.loadmodel([np.zeros(2, int)], [np.ones(2)], cast=True)


def test_an_absent_bias_is_one_of_zeros():
    W = np.ones((2, 2))
    with_bias, without = fl.Dense.of(W.copy(), np.ones(2)), fl.Dense.of(W.copy() * 2)
    fl.loadmodel(with_bias, without)
    assert with_bias.bias.tolist() == [0, 0] and with_bias.weight[0, 0] == 2
    fl.loadmodel(without, with_bias)
    assert without.bias is None
    fl.loadmodel({"b": np.ones(2)}, {"b": False})


def test_a_tied_destination_takes_one_source():
    W = np.zeros((2, 3))
    model = {"in": W, "out": W.T}
    source = np.arange(6.0).reshape(2, 3)
    with pytest.raises(ValueError, match=r"\['in'\] and \['out'\] are one tied parameter, the source has two "):
        fl.loadmodel(model, {"in": source, "out": source.T + 1})
    assert not W.any()
    fl.loadmodel(model, {"in": source, "out": source.T.copy()})
    assert W.tolist() == source.tolist() and np.shares_memory(model["in"], model["out"])
    fl.loadmodel(model, {"in": source * np.nan, "out": source.T * np.nan})
    with pytest.raises(ValueError, match="tied"):  # not tied, and absent in one of the places
        fl.loadmodel({"a": W, "b": W}, {"a": source, "b": None})


def test_filter_leaves_out_parts_of_both():
    def not_dropout(part):
        return not isinstance(part, fl.Dropout)

    first, second = network(0), network(1)
    with_dropout = fl.Chain(first[0], fl.Dropout(0.5), first[1])
    fl.loadmodel(with_dropout, second, filter=not_dropout)
    assert all(map(equal, values(with_dropout)[:2], values(second)[:2]))
    fl.loadmodel(second, fl.Chain(fl.Dropout(0.5), *network(2)), not_dropout)
    assert all(map(equal, values(second), values(network(2))))


def test_weights_of_a_file_go_into_a_model_with_another_head(path):
    def with_head(classes):
        return fl.Chain(fl.Dense(3, 4, fl.relu), fl.Dense(4, classes))

    def is_body(part):
        return not isinstance(part, fl.Dense) or part.weight.shape == (4, 3)

    first, other = with_head(2), with_head(5)
    fl.save(path, first)
    with pytest.raises(ValueError, match="layers: the structures don't match"):
        fl.loadmodel(other, fl.load(path)["model"], is_body)
    fl.loadmodel(other, fl.load(path, with_head(2))["model"], is_body)
    assert equal(other[0].weight, first[0].weight)
    with pytest.raises(ValueError, match=r"in loadmodel\(model=a Chain, source=a (Posix|Windows)Path"):
        fl.loadmodel(other, path)


# -- a file and back ---------------------------------------------------------------------------------------------


def test_an_object_without_a_name_is_the_model(path):
    fl.save(str(path), network(0), epoch=3)
    found, other = fl.load(path), network(1)
    assert list(found) == ["model", "epoch"] and equal(found["model"], fl.state(network(0)))
    assert fl.load(path, other)["model"] is other and all(map(equal, values(other), values(network(0))))


PLAIN = {
    "epoch": 3, "rate": 0.1, "nan": math.nan, "inf": -math.inf, "text": "σ \"quoted\" \\ \n", "none": None, "yes": True,
    "big": 2**200, "complex": 1 - 2j, "bytes": b"\x00\xff", "empty": [(), {}, [], ""],
    "keys": {1: "a", "1": "b", None: "c", (1, "x"): "d", 2.5: [1], True and 7: ()}, "crc32": '"crc32":"00000000"',
    "views": [np.broadcast_to(np.float32(2), (2, 3)), np.arange(12.0).reshape(3, 4)[:, 1:3].T],
    "numpy": [np.float32(0.1), np.int8(-1), np.bool_(True), np.complex64(1j), np.float64(1e-300)],
    "tuples": ((1, (2.5,)), [(3,)]),
}  # fmt: skip


def test_plain_values_go_through_a_file_with_their_types(path):
    fl.save(path, **PLAIN)
    assert equal(fl.load(path), PLAIN)


@pytest.mark.parametrize("x", [np.array(["a"]), np.array([None]), np.zeros(1, "M8[s]"), np.zeros(1, "m8[s]"),
                               np.zeros(1, np.longdouble), np.zeros(1, np.clongdouble), np.zeros(1, "i4,f4"),
                               np.ma.masked_array([1.0], [True])], ids=lambda x: str(x.dtype))  # fmt: skip
def test_arrays_that_a_file_cannot_hold_are_named(path, x):
    with pytest.raises(TypeError, match=r"^a\['b'\]\[0\] is a"):
        fl.save(path, a={"b": [x]})
    assert not path.exists()


def test_what_cannot_be_saved_is_named(path):
    cycle = [1]
    cycle.append(cycle)
    for call, error, words in [
        (lambda: fl.save(path, network(), network()), TypeError, "name them"),
        (lambda: fl.save(path, network(), model=1), TypeError, "name them"),
        (lambda: fl.save(path), TypeError, "one object"),
        (lambda: fl.save(network(), path), TypeError, r"in save\(path=a Chain"),
        (lambda: fl.save(path, m=[Unregistered()]), TypeError, r"an array in m\[0\].W: Unregistered is not registered"),
        (lambda: fl.state({"m": Unregistered()}), TypeError, r"an array in \['m'\].W: Unregistered is not registered"),
        (lambda: fl.save(path, m=object()), TypeError, "nothing to save in m, which is of type object"),
        (lambda: fl.save(path, x={int: 1}), TypeError, "x has keys that a file can't hold: .<class 'int'>"),
        (lambda: fl.save(path, m=fl.Gradient(W=fl.param(np.ones(1)))), TypeError, r"m.W is tracked .* in m.W.data"),
        (lambda: fl.save(path, x=cycle), ValueError, "a cycle"),
    ]:
        with pytest.raises(error, match=words):
            call()
    assert not path.exists()


@st.composite
def any_array(draw):
    dtype = draw(st.sampled_from(["?", "<i4", ">u2", "<f2", ">f8", "<c8", ">c16"]))
    x = draw(hnp.arrays(dtype, draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))))
    how = draw(st.sampled_from(["F", "T", -1, 2]))
    if isinstance(how, int):
        return x[tuple(slice(None, None, how) for _ in x.shape)]
    return x.T if how == "T" or not x.ndim else np.asfortranarray(x)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.complex_numbers() | st.binary()
trees = st.recursive(
    scalars | any_array(),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple)
    | st.dictionaries(st.text() | st.integers(), inner, max_size=3),
    max_leaves=12,
)  # fmt: skip


@given(tree=trees)
def test_any_tree_comes_back_equal_and_into_one_like_it(tmp_path_factory, tree):
    path = tmp_path_factory.getbasetemp() / "any.safetensors"
    fl.save(path, tree=[tree])
    assert equal(fl.load(path)["tree"], [tree])
    target = fl.fmap(lambda x: np.zeros_like(x) if isinstance(x, np.ndarray) else x, [tree])
    fl.load(path, tree=target)
    assert all(map(equal, values(target), values([tree])))


# -- ties ----------------------------------------------------------------------------------------------------------


def test_ties_are_stored_once_and_rebuilt(path):
    W, C = np.arange(6.0).reshape(2, 3), np.arange(24.0).reshape(2, 3, 4)
    tree = {"W": W, "again": W, "T": W.T, "view": W[:], "C": C.transpose(2, 0, 1), "C2": C, "row": W[:1], "more": W + 1}
    fl.save(path, tree=tree)
    back = fl.load(path)["tree"]
    assert equal(back, tree)
    names = list(tree)
    for a in names:
        for b in names:
            tied = parameter_key(tree[a]) == parameter_key(tree[b])
            assert (parameter_key(back[a]) == parameter_key(back[b])) == tied == np.shares_memory(back[a], back[b])
    back["T"][0, 1] = 100
    assert back["W"][1, 0] == back["again"][1, 0] == 100
    assert path.stat().st_size < 8 * (6 + 24 + 3 + 6) + 2200


# -- optimizers ------------------------------------------------------------------------------------------------------


def trained(rule):
    model = network()
    state = fl.setup(rule, model)
    for i in range(3):
        x = np.random.default_rng(i).standard_normal((5, 3)).astype(np.float32)
        fl.update(state, model, fl.gradient(lambda m, x=x: np.sum(m(x) ** 2), model)[0])
    return state


def test_the_memory_is_restored_in_place_with_its_numbers_and_the_rule_stays(path):
    opt_state = trained(fl.Adam(0.001))
    fl.save(path, opt_state=opt_state)
    target = fl.setup(fl.Adam(0.5), network())
    leaf, memory = target.layers[0].weight, target.layers[0].weight.memory
    mean = memory["mean"]
    fl.load(path, opt_state=target)
    assert target.layers[0].weight is leaf and leaf.memory is memory and memory["mean"] is mean
    assert memory["steps"] == 3 and leaf.rule.eta == 0.5 and equal(mean, opt_state.layers[0].weight.memory["mean"])
    assert fl.load(path)["opt_state"]["layers"][0]["weight"]["settings"].startswith("Adam(eta=0.001")
    fl.loadmodel(fl.setup(fl.Adam(), network()), opt_state)


def test_the_memory_of_another_rule_or_model_raises(path):
    fl.save(path, adam=trained(fl.Adam()), other={"weight": np.ones(2)})
    for targets, words in [
        ({"adam": fl.setup(fl.Momentum(), network())}, r"0\].weight is Momentum.s memory, in the source Adam.s"),
        ({"adam": fl.setup(fl.Adam(), fl.Chain(fl.Dense(7, 4)))}, "adam.layers: the structures don't match"),
        ({"adam": fl.setup(fl.Adam(), fl.Chain(fl.Dense(7, 4), fl.Dense(4, 2)))}, r"memory\['mean'\]: .* shape"),
        ({"other": fl.setup(fl.Adam(), {"weight": np.ones(2)})}, "weight'] is an optimizer's memory, the source has"),
    ]:
        with pytest.raises(ValueError, match=words):
            fl.load(path, **targets)


# -- generators ------------------------------------------------------------------------------------------------------


def test_a_generator_goes_on_like_that_of_another_model():
    model, other = {"rng": np.random.default_rng(0)}, {"rng": np.random.default_rng(1)}
    rng = model["rng"]
    other["rng"].normal(size=3)
    for source in other, fl.state(other):
        fl.loadmodel(model, source)
        expected = np.random.default_rng(1).normal(size=5)[3:].tolist()
        assert model["rng"] is rng is not other["rng"] and rng.normal(size=2).tolist() == expected


# -- targets -----------------------------------------------------------------------------------------------------------


def test_all_targets_are_checked_before_any_is_changed(path):
    fl.save(path, rng=np.random.default_rng(1), model=network(), opt_state=trained(fl.Adam()))
    target, rng = network(9), np.random.default_rng(2)
    wrong = fl.setup(fl.Adam(), fl.Chain(fl.Dense(3, 4), fl.Dense(4, 3)))
    with pytest.raises(ValueError, match=r"opt_state.layers\[1\].weight"):
        fl.load(path, rng=rng, model=target, opt_state=wrong)
    assert all(map(equal, values(target), values(network(9)))) and rng.random() == np.random.default_rng(2).random()
    assert wrong.layers[0].weight.memory["steps"] == 0


def test_names_that_are_not_there_and_targets_that_cannot_change(path):
    fl.save(path, model=network(), epoch=3)
    with pytest.raises(ValueError, match="holds model, epoch, and nothing called 'rng'"):
        fl.load(path, rng=np.random.default_rng(0))
    with pytest.raises(TypeError, match="nothing can be put into epoch, which is 0"):
        fl.load(path, epoch=0)
    with pytest.raises(TypeError, match="Unregistered is not registered"):
        fl.load(path, model=Unregistered())
