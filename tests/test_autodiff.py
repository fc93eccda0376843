"""What gradients are, and what is refused because it would make one wrong without a word."""

import copy
import gc
import pickle
import threading
import traceback
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import fluxlite as fl
from fluxlite import Gradient, gradient, hessian, jacobian, withgradient
from fluxlite.tracked import TrackedArray

Pair = namedtuple("Pair", "first second")


@fl.functor
@dataclass
class Affine:
    weight: Any
    bias: Any = None
    rate: Any = 0.5
    name: str = "affine"

    def __call__(self, x):
        return x @ self.weight.T * self.rate


def total(x):
    """The sum of all arrays in nested containers, as a loss."""
    if isinstance(x, (list, tuple)):
        return sum(map(total, x))
    if isinstance(x, dict):
        return sum(map(total, x.values()))
    return x.sum() if hasattr(x, "sum") else x


# -- one gradient for each argument, in its structure -------------------------------------------------


def test_one_gradient_for_each_argument():
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    grads = gradient(lambda x, y: (x * y).sum(), x, y)
    assert type(grads) is tuple and len(grads) == 2
    np.testing.assert_array_equal(grads[0], y)
    np.testing.assert_array_equal(grads[1], x)
    assert gradient(lambda x: (x * x).sum(), x)[0].tolist() == [2, 4]


def test_containers_keep_their_type_and_nesting():
    argument = {"a": [np.ones(2), (np.ones(1), Pair(np.ones(3), None))], "b": OrderedDict(w=np.ones(1))}
    (grads,) = gradient(lambda m: 3 * total(m["a"][0]) + total(m["a"][1][1].first) + total(m["b"]), argument)
    assert type(grads) is dict and type(grads["a"]) is list and type(grads["a"][1]) is tuple
    assert type(grads["a"][1][1]) is Pair and type(grads["b"]) is OrderedDict
    assert grads["a"][0].tolist() == [3, 3] and grads["a"][1][1].first.tolist() == [1, 1, 1]
    assert grads["a"][1][0] is None and grads["a"][1][1].second is None and grads["b"]["w"].tolist() == [1]


def test_the_gradient_of_a_model_is_a_record_with_its_attribute_names():
    model = Affine(np.ones((2, 3)), np.zeros(2))
    (g,) = gradient(lambda m: m(np.ones(3)).sum(), model)
    assert type(g) is Gradient and g.weight.tolist() == [[0.5] * 3] * 2
    assert g.bias is None and g.rate is None and g.name is None
    assert vars(g).keys() == {"weight", "bias", "rate", "name"}


def test_a_record_is_not_a_model():
    """Called with it, ``update(state, grads, model)`` would not be noticed."""
    (g,) = gradient(lambda m: m(np.ones(3)).sum(), Affine(np.ones((2, 3))))
    assert not callable(g)
    with pytest.raises(TypeError, match="no layers to index; it has weight, bias, rate, name"):
        g[0]
    assert repr(Gradient(weight=None, bias=1.5)) == "Gradient(weight=None, bias=1.5)"


def test_the_record_of_a_chain_is_indexed_like_the_chain():
    chain = fl.Chain(Affine(np.ones((2, 3))), np.tanh, fl.Chain(Affine(np.ones((1, 2)))))
    (g,) = gradient(lambda m: m(np.ones(3)).sum(), chain)
    assert g[0].weight.shape == (2, 3) and g[1] is None and g[2][0].weight.shape == (1, 2)
    assert g[0] is g.layers[0] and g[-1] is g[2] and len(g[:2]) == 2
    named = fl.Chain(encoder=Affine(np.ones((2, 3))), decoder=np.tanh)
    assert gradient(lambda m: m(np.ones(3)).sum(), named)[0]["encoder"].weight.shape == (2, 3)


def test_gradients_are_trees_themselves():
    (g,) = gradient(lambda m: m(np.ones(3)).sum(), fl.Chain(Affine(np.ones((2, 3)))))
    doubled = fl.fmap(lambda leaf: None if leaf is None else 2 * leaf, g)
    assert type(doubled[0]) is Gradient and doubled[0].weight.tolist() == [[1.0] * 3] * 2


def test_fields_may_have_any_name():
    @fl.functor
    @dataclass
    class Odd:
        self: Any
        fields: Any

    g = gradient(lambda m: m.self.sum() + m.fields.sum(), Odd(np.ones(1), np.ones(2)))[0]
    assert g.self.tolist() == [1] and g.fields.tolist() == [1, 1]


# -- what has a gradient, and what has none -------------------------------------------------------------


def test_none_where_nothing_flows():
    used, unused = np.ones(2), np.ones(2)
    assert gradient(lambda x, y: x.sum(), used, unused)[1] is None
    assert gradient(lambda x: 3.0, used) == (None,)
    assert gradient(lambda x: np.float64(3.0), used) == (None,)
    assert gradient(lambda x: x.data.sum(), used) == (None,)


@pytest.mark.parametrize("leaf", [np.arange(2), np.ones(2, bool), np.ones(2, complex), "text", None, True, 1j])
def test_other_leaves_pass_through_untouched(leaf):
    seen = []
    grads = gradient(lambda x, y: (seen.append(x), y.sum())[1], leaf, np.ones(1))
    assert grads[0] is None and seen[0] is leaf


def test_numbers_in_plain_containers_are_differentiated_those_in_a_model_are_constants():
    assert gradient(lambda x: 3 * x**2, 2.0) == (12.0,)
    grads = gradient(lambda x: x[0] * x[1]["n"] * x[2][0], [2.0, {"n": 3}, (4,)])
    assert grads == ([12.0, {"n": 8.0}, (6.0,)],) and type(grads[0][1]["n"]) is float
    seen = []
    gradient(lambda m: (seen.append(m.rate), m.weight.sum())[1], Affine(np.ones(2), rate=2.0))
    assert seen == [2.0] and type(seen[0]) is float
    assert gradient(lambda ms: ms[0].weight.sum() * ms[1], [Affine(np.ones(2), rate=2.0), 3.0])[0][0].rate is None


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
def test_numbers_of_numpy_are_differentiated_too(kind):
    (g,) = gradient(lambda x: x * x, kind(3))
    assert g == 6 and type(g) is kind


def test_a_python_number_does_not_change_the_dtype_of_what_it_meets():
    seen = []
    grads = gradient(lambda s, x: (seen.append((s * x).dtype), (s * x).sum())[1], 2.0, np.ones(3, np.float32))
    assert seen == [np.float32] and grads[1].dtype == np.float32 and grads[0] == 3.0


@pytest.mark.parametrize(
    "f",
    [np.sum, np.mean, np.max, np.ravel, np.squeeze, np.atleast_1d, lambda x: x[None], lambda x: x[...],
     lambda x: np.reshape(x, (1, 1)), lambda x: x.astype(np.float32), lambda x: np.stack([x, 1.0])[:1],
     lambda x: np.broadcast_to(x, (3,))[:1], lambda x: x.copy(), np.average, np.linalg.norm],
)  # fmt: skip
def test_a_python_number_is_a_0_d_array_to_every_function(f):
    assert gradient(lambda x: np.sum(f(x)), 2.0) == (1.0,)


# -- what f may return ----------------------------------------------------------------------------------


def test_extras_come_out_as_plain_values():
    x, model = np.ones(2), Affine(np.ones((1, 2)))

    def f(x):
        y = 3 * x
        return y.sum(), y, {"parts": [y[0], (y * 2,)], "pair": Pair(y, 1)}, model, "text", None

    (loss, y, tree, same, text, none), grads = withgradient(f, x)
    assert loss == 6 and type(loss) is np.float64 and grads[0].tolist() == [3, 3]
    assert type(y) is np.ndarray and y.tolist() == [3, 3] and type(tree["pair"]) is Pair
    assert type(tree["parts"][1][0]) is np.ndarray and tree["parts"][0] == 3 and tree["pair"].first.tolist() == [3, 3]
    assert type(same) is Affine and text == "text" and none is None


def test_a_named_tuple_can_carry_loss_and_extras():
    value, grads = withgradient(lambda x: Pair(x * x, [x]), 3.0)
    assert type(value) is Pair and value == Pair(9.0, [3.0]) and grads == (6.0,)


@pytest.mark.parametrize("extra", [lambda x: x, lambda x: x[:2], lambda x: x.T, lambda x: x.data, lambda x: x.data[1:]])
def test_extras_share_no_memory_with_arguments_and_can_be_changed(extra):
    x = np.ones(3)
    (_, out, in_a_list), _ = withgradient(lambda x: (x.sum(), extra(x), [extra(x)]), x)
    for array in out, in_a_list[0]:
        assert not np.shares_memory(array, x)
        array += 1
    assert x.tolist() == [1, 1, 1]


def test_the_model_itself_may_be_returned():
    model = Affine(np.ones((1, 2)))
    (_, out), _ = withgradient(lambda m: (m.weight.sum(), m), model)
    assert type(out) is Affine and type(out.weight) is np.ndarray and not np.shares_memory(out.weight, model.weight)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda x: x, r"of shape \(\), got shape \(2,\)"),
        (lambda x: (x, 1.0), r"got shape \(2,\)"),
        (lambda x: x[None], r"got shape \(1, 2\)"),
        (lambda x: np.ones((1, 1)), r"got shape \(1, 1\)"),
        (lambda x: None, "got a NoneType"),
        (lambda x: (), "got a tuple"),
        (lambda x: [x.sum()], "got a list"),
        (lambda x: "loss", "got a str"),
        (lambda x: True, "got a bool"),
        (lambda x: x.sum() > 0, "got a bool"),
        (lambda x: (x * 1j).sum(), "complex numbers"),
        (lambda x: np.abs(x * (3 + 4j)).sum(), "complex numbers"),
        (lambda x: x.astype(complex).sum(), "complex"),
    ],
)
def test_a_loss_that_is_not_one_number_is_refused(value, message):
    x = np.ones(2)
    with pytest.raises(TypeError, match=message):
        gradient(value, x)
    assert x.flags.writeable
    assert gradient(np.sum, x)[0].tolist() == [1, 1]


def test_withgradient_returns_value_and_gradients():
    value, grads = withgradient(lambda x: x**2, 3.0)
    assert (value, grads) == (9.0, (6.0,)) and not isinstance(value, TrackedArray)


# -- a gradient is an ordinary array ----------------------------------------------------------------------

LAYOUTS = {
    "C": np.zeros((3, 4)),
    "Fortran": np.zeros((3, 4), order="F"),
    "transposed view": np.zeros((4, 3)).T,
    "every second": np.zeros((6, 8))[::2, ::2],
    "backwards": np.zeros((3, 4))[::-1, ::-1],
    "3-D, axes moved": np.zeros((2, 3, 4)).transpose(1, 2, 0),
    "0-d": np.zeros(()),
    "empty": np.zeros((0, 4)),
    "float32": np.zeros((3, 4), np.float32),
    "float16": np.zeros(3, np.float16),
    "stretched": np.broadcast_to(np.zeros(4), (3, 4)),
}
USES = {
    "sum": lambda x: x.sum(),
    "twice": lambda x: (x + x).sum(),
    "square": lambda x: (x * x).sum(),
    "identity": lambda x: np.positive(x).sum(),
    "transposed": lambda x: x.T.sum(),
    "copied": lambda x: np.copy(x).sum(),
    "float64 constant": lambda x: (x * np.full(x.shape, 2.0)).sum(),
    "in two dtypes": lambda x: x.astype(np.float64).sum() + x.sum(),
    "rows": lambda x: (x[:1] * 2).sum() if x.ndim else x,
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_shape_dtype_and_memory_order_are_those_of_the_argument(layout, use):
    x = LAYOUTS[layout]
    (g,) = gradient(USES[use], x)
    assert type(g) is np.ndarray and g.shape == x.shape and g.dtype == x.dtype
    assert g.flags.writeable and not np.shares_memory(g, x)
    assert g.strides == np.empty_like(x).strides  # in the order of x, without its gaps


def test_no_two_gradients_share_memory():
    a, b, c = np.ones(2), np.ones(2), np.ones((1, 2))
    ga, gb, gc = gradient(lambda a, b, c: (a + b + c + a).sum(), a, b, c)
    ga *= 10
    gb += 5
    assert ga.tolist() == [20, 20] and gb.tolist() == [6, 6] and gc.tolist() == [[1, 1]]
    grads = gradient(lambda m: (m[0] + m[1]["x"]).sum(), [a, {"x": b}])[0]
    assert grads[0] is not grads[1]["x"] and not np.shares_memory(grads[0], grads[1]["x"])
    one, two = gradient(lambda x, y: np.concatenate([x, y]).sum(), a, b)
    assert one.base is None and two.base is None and not np.shares_memory(one, two)


def test_float64_constants_do_not_make_float32_gradients_float64():
    """Translation trap 5."""
    w, x = np.ones((2, 3), np.float32), np.ones((4, 3))
    (g,) = gradient(lambda w: ((x @ w.T) * np.float64(0.1)).sum(), w)
    assert g.dtype == np.float32


def test_a_returned_gradient_does_not_change_afterwards():
    x = np.ones(2)
    (first,) = gradient(lambda x: (x * x).sum(), x)
    x[:] = 100
    gradient(lambda x: (x * x).sum(), x)
    assert first.tolist() == [2, 2]


# -- ties -------------------------------------------------------------------------------------------------


def test_a_tied_parameter_has_its_whole_gradient_at_the_first_place():
    W = np.arange(6.0).reshape(2, 3)
    (g,) = gradient(lambda m: (m[0] * 2).sum() + (m[1] * 3).sum(), [W, W])
    assert g[0].tolist() == [[5] * 3] * 2 and g[1] is None


def test_a_transposed_tie_is_one_parameter():
    """Behaviour 39; numerically, too."""
    W = np.arange(6.0).reshape(2, 3)
    x, y = np.array([1.0, 2.0, 3.0]), np.array([[1.0, -1.0], [2.0, 0.5], [0.0, 1.0]])
    model = {"encoder": W, "decoder": (W.T,)}
    (g,) = gradient(lambda m: (m["encoder"] @ x).sum() + (m["decoder"][0] * y).sum(), model)
    np.testing.assert_array_equal(g["encoder"], np.tile(x, (2, 1)) + y.T)
    assert g["decoder"] == (None,) and g["encoder"].strides == W.strides


def test_3_d_transposes_are_tied():
    T = np.arange(24.0).reshape(2, 3, 4)
    other = np.random.default_rng(0).normal(size=(4, 2, 3))
    (g,) = gradient(lambda m: (m[1] * other).sum() + m[0].sum(), [T, T.transpose(2, 0, 1)])
    np.testing.assert_allclose(g[0], 1 + other.transpose(1, 2, 0))
    assert g[1] is None


def test_the_same_layer_twice():
    layer = Affine(np.ones((2, 2)))
    (g,) = gradient(lambda m: m(np.ones(2)).sum(), fl.Chain(layer, np.tanh, layer))
    alone = gradient(lambda layer: layer(np.tanh(layer(np.ones(2)))).sum(), layer)[0]
    np.testing.assert_allclose(g[0].weight, alone.weight)
    assert g[2] is None


def test_a_tie_across_list_and_dict():
    W = np.ones(2)
    (g,) = gradient(lambda m: total(m), {"a": [W, np.ones(1)], "b": {"c": W}})
    assert g["a"][0].tolist() == [2, 2] and g["b"]["c"] is None


def test_two_arguments_are_two_variables_even_if_they_are_one_array():
    W = np.full(2, 3.0)
    gx, gy = gradient(lambda x, y: (x * x * y).sum(), W, W)
    assert gx.tolist() == [18, 18] and gy.tolist() == [9, 9]


# -- gradients of gradients -------------------------------------------------------------------------------


def slope(f, x):
    return gradient(f, x)[0]


def test_perturbations_are_not_confused():
    """d/dx of x * d/dy (x + y) is 1; an engine that mixes up the two says 2."""
    assert gradient(lambda x: x * slope(lambda y: x + y, 1.0), 1.0) == (1.0,)
    assert gradient(lambda x: x * slope(lambda y: x * y, 2.0), 3.0) == (6.0,)
    assert gradient(lambda x: slope(lambda y: x * y * y, 2.0) * x, 3.0) == (24.0,)
    assert gradient(lambda x: slope(lambda y: (x * y).sum(), np.ones(2)).sum(), np.ones(2))[0].tolist() == [1, 1]


def test_the_inner_argument_may_be_the_outer_one():
    assert gradient(lambda x: slope(lambda y: y * y * x, x), 3.0) == (12.0,)
    assert gradient(lambda x: slope(lambda y: 3 * y, x) * x, 2.0) == (3.0,)
    assert gradient(lambda x: slope(lambda y: y[0] * y[1], [x, 3])[1] * x, 2.0) == (4.0,)
    assert gradient(lambda x: slope(lambda y: y * x, 3), 2.0) == (1.0,)
    assert gradient(lambda x: slope(lambda m: (m.weight * x).sum(), Affine(x)).weight.sum(), np.ones(2))[0].sum() == 2


def test_three_levels():
    assert gradient(lambda x: slope(lambda y: slope(lambda z: z**4, y), x), 2.0) == (48.0,)
    f = lambda x: slope(lambda y: x * slope(lambda z: x * y * y * z, 5.0), 3.0)  # noqa: E731  (x * x * 2y)
    assert gradient(f, 2.0) == (24.0,)


def test_what_an_inner_gradient_returns_beside_it():
    def outer(x):
        (loss, extra), (g,) = withgradient(lambda y: ((x * y * y).sum(), x * 2), np.ones(2))
        return g.sum() + extra.sum()

    assert gradient(outer, np.ones(2))[0].tolist() == [4, 4]


def test_second_derivatives_of_functions_with_rules_of_every_kind():
    x = np.array([0.3, -0.7, 1.1])
    w = np.random.default_rng(1).normal(size=(3, 3))
    f = lambda x: (np.tanh(w @ x) ** 2).sum() + x[0] * x[1:].sum() + np.linalg.norm(x)  # noqa: E731
    H, step = hessian(f, x), 1e-5
    for i in range(3):
        e = np.eye(3)[i] * step
        np.testing.assert_allclose(H[i], (slope(f, x + e) - slope(f, x - e)) / (2 * step), atol=1e-6)
    np.testing.assert_allclose(H, H.T, atol=1e-12)


def test_jacobian_against_the_formula():
    A, x = np.random.default_rng(0).normal(size=(2, 3)), np.array([0.1, 0.2, 0.3])
    (J,) = jacobian(lambda x: np.tanh(A @ x), x)
    np.testing.assert_allclose(J, (1 - np.tanh(A @ x) ** 2)[:, None] * A)
    Jx, JA = jacobian(lambda x, A: A @ x, x, A)
    np.testing.assert_array_equal(Jx, A)
    assert JA.shape == (2, 2, 3) and JA[0, 0].tolist() == x.tolist() and not JA[0, 1].any()


def test_jacobian_of_unusual_shapes():
    x = np.array([1.0, 2.0])
    assert jacobian(lambda x: (x * x).sum(), x)[0].tolist() == [2, 4]
    assert jacobian(lambda x: np.stack([x, x**2]), 3.0)[0].tolist() == [1, 6]
    assert jacobian(lambda x, n: x * n, x, np.array([1, 2]))[1] is None
    assert jacobian(lambda x, y: x * 2, x, np.ones(3))[1].tolist() == [[0] * 3] * 2
    assert jacobian(lambda x: np.ones(3), x)[0].tolist() == [[0, 0]] * 3
    assert jacobian(lambda x: x[:0], x)[0].shape == (0, 2) and jacobian(lambda x: x, np.ones(0))[0].shape == (0, 0)
    for f, argument in ((lambda x: [x], x), (lambda x: None, x), (lambda m: m[0], [x])):
        with pytest.raises(TypeError, match="jacobian is of arrays, got a"):
            jacobian(f, argument)


def test_hessian_against_the_formula():
    A, x = np.random.default_rng(0).normal(size=(3, 3)), np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(hessian(lambda x: x @ A @ x, x), A + A.T)
    assert hessian(lambda x: (x**3).sum(), np.array([[1.0], [2.0]])).shape == (2, 1, 2, 1)
    assert hessian(lambda x: x.sum(), np.ones(2)).tolist() == [[0, 0], [0, 0]]
    assert hessian(lambda x: 1.0, np.ones(2)).tolist() == [[0, 0], [0, 0]]
    assert hessian(lambda x: x**3, 2.0) == 12


# -- threads, generators, exceptions, depth ---------------------------------------------------------------


def test_two_threads_at_once():
    """Technical evidence 2.6: also second derivatives, and of one shared array."""
    shared, wrong = np.linspace(0.5, 1.5, 5), []
    start = threading.Barrier(4)

    def work(n):
        start.wait()
        for _ in range(50):
            g = gradient(lambda x: slope(lambda y: (y**n * x).sum(), x).sum(), shared)[0]
            if not np.allclose(g, n * n * shared ** (n - 1)):
                wrong.append((n, g))

    threads = [threading.Thread(target=work, args=(n,)) for n in (2, 3, 4, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_generators_inside_and_around():
    assert gradient(lambda x: sum(x * k for k in range(4)), 2.0) == (6.0,)

    def several(x):
        for k in range(3):
            yield gradient(lambda x, k=k: x**2 * k, x)[0]

    one, other = several(1.0), several(10.0)
    assert [next(one), next(other), next(one), next(other), next(one)] == [0, 0, 2, 20, 4]


def test_a_generator_that_outlives_the_call_is_closed():
    kept = []

    def f(x):
        kept.append(y for y in (x * 2,))
        return x

    gradient(f, 2.0)
    (y,) = kept[0]  # consumes what was made inside
    with pytest.raises(RuntimeError, match="return it from the function"):
        y + 1


def test_an_exception_inside_leaves_everything_as_it_was():
    x, batch, fixed = np.ones(3), np.ones((2, 3)), np.ones(3)
    fixed.flags.writeable = False
    for error in (KeyError, KeyboardInterrupt):

        def f(x, error=error):
            y = batch @ x + (fixed * x).sum()
            gradient(lambda z: (z * y).sum(), np.ones(2))
            raise error("inside")

        with pytest.raises(error):
            gradient(f, x)
        assert x.flags.writeable and batch.flags.writeable and not fixed.flags.writeable
    assert gradient(lambda x: (batch @ x).sum(), x)[0].tolist() == [2, 2, 2]


def test_ten_thousand_steps():
    def f(x):
        y = x
        for _ in range(10_000):
            y = y * 1.0001
        return y.sum()

    np.testing.assert_allclose(gradient(f, np.ones(2))[0], 1.0001**10_000)

    def kept(x):
        f(x)  # dropped without walking back: freeing a long chain must not recurse either
        return x.sum()

    assert gradient(kept, np.ones(2))[0].tolist() == [1, 1]


def test_what_was_computed_is_freed():
    def count():
        gc.collect()
        return sum(isinstance(x, TrackedArray) for x in gc.get_objects())

    before = count()
    for _ in range(3):
        gradient(lambda x: slope(lambda y: (np.tanh(y) * x).sum(), x).sum(), np.ones(3))
    assert count() == before


# -- programs that would make a gradient wrong without a word ---------------------------------------------


def raising_line(error):
    """The text of the line in this file that raised."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == __file__]
    return frames[-1].line


def test_adding_in_place_to_an_array_that_was_used_raises_there():
    """Without it: 9 in place of 6."""
    h = np.array([1.0])

    def f(x):
        nonlocal h
        out = 0.0
        for _ in range(3):
            out = out + (x * h).sum()
            h += 1
        return out

    with pytest.raises(ValueError, match="read-only") as error:
        gradient(f, np.ones(1))
    assert raising_line(error.value) == "h += 1" and h.tolist() == [1] and h.flags.writeable


def test_overwriting_a_parameter_raises_there():
    """Without it: 10 in place of 2."""
    w = np.array([1.0])

    def f(m):
        loss = (m * m).sum()
        w[:] = 5
        return loss

    with pytest.raises(ValueError, match="read-only") as error:
        gradient(f, w)
    assert raising_line(error.value) == "w[:] = 5" and w.tolist() == [1]


def test_what_is_viewed_cannot_be_changed_either():
    """Without it: ``x @ W.T`` records the view, and a change of W goes through."""
    W, x = np.ones((2, 2)), np.ones(2)

    def f(x):
        y = x @ W.T
        W[:] = 0
        return y.sum()

    with pytest.raises(ValueError, match="read-only") as error:
        gradient(f, x)
    assert raising_line(error.value) == "W[:] = 0" and W.flags.writeable
    W[:] = 0


def test_results_cannot_be_changed():
    def f(x):
        y = x * 2
        y.data[0] = 7
        return (y * y).sum()

    with pytest.raises(ValueError, match="read-only"):
        gradient(f, np.ones(2))


@pytest.mark.parametrize(
    "change",
    [
        lambda i, use: (use(i), i.__setitem__(0, 2)),
        lambda i, use: (use((i,)), i.__setitem__(0, 2)),
        lambda i, use: (use((Ellipsis, i)), i.__setitem__(0, 2)),
    ],
)
def test_index_arrays_are_read_only_too(change):
    index = np.array([0, 0])
    with pytest.raises(ValueError, match="read-only"):
        gradient(lambda x: (change(index, lambda i: x[i]), x.sum())[1], np.ones(3))
    assert index.tolist() == [0, 0] and index.flags.writeable


def test_arrays_given_by_keyword_are_read_only_too():
    index = np.array([[0, 0]])

    def f(x):
        y = np.take_along_axis(x, indices=index, axis=1)
        index[0, 0] = 1
        return y.sum()

    with pytest.raises(ValueError, match="read-only"):
        gradient(f, np.ones((1, 3)))


def test_lists_may_change_afterwards():
    """They cannot be made read-only: what they held is kept."""

    def f(x):
        index, rows, factors, parts = [0, 0], [[0, 1], [1, 1]], [1.0, 2.0, 3.0], [x, [4.0, 5.0, 6.0]]
        y = x[index].sum() + x[rows].sum() + (x * factors).sum() + (np.stack(parts) * 10).sum()
        index[0], rows[0][0], factors[0], parts[1][0] = 2, 2, 100.0, 100.0
        parts[0] = 0
        return y

    assert gradient(f, np.ones(3))[0].tolist() == [2 + 1 + 1 + 10, 3 + 2 + 10, 3 + 10]


def test_lists_beside_tracked_arrays():
    x = np.ones(2)
    assert gradient(lambda x: x @ [2.0, 3.0], x)[0].tolist() == [2, 3]
    assert gradient(lambda x: ([[2.0, 3.0]] @ x).sum(), x)[0].tolist() == [2, 3]
    assert gradient(lambda x: np.concatenate([x * 4, [1.0]]).sum(), x)[0].tolist() == [4, 4]


def test_storing_a_tracked_value_in_a_plain_array_raises_there():
    buffer, mask = np.zeros(3), np.array([True, False, True])

    def one(x):
        buffer[0] = x * 2
        return buffer.sum()

    def several(x):
        buffer[mask] = x * 2
        return buffer.sum()

    def filled(x):
        buffer.fill(x)
        return buffer.sum()

    for f in one, several, filled:
        with pytest.raises((TypeError, ValueError)) as error:
            gradient(f, 2.0)
        assert "buffer" in raising_line(error.value) and not buffer.any()
        said = str(error.value) + str(error.value.__cause__)
        assert "would lose the gradient" in said and ".data" in said


@pytest.mark.parametrize(
    "change",
    [
        lambda b, x: b.__iadd__(x),
        lambda b, x: b.__imul__(x),
        lambda b, x: b.__itruediv__(x),
        lambda b, x: np.add(b, x, out=b),
        lambda b, x: np.add(x, 1, out=b),
        lambda b, x: np.sum(x, out=b),
        lambda b, x: np.add.at(b, [0], x),
        lambda b, x: np.copyto(b, x),
        lambda b, x: np.put(b, [0], x),
    ],
)
def test_changing_a_plain_array_by_a_tracked_one_raises_and_leaves_it(change):
    b = np.full(2, 3.0)
    with pytest.raises(TypeError):
        gradient(lambda x: (change(b, x), x.sum())[1], np.full(2, 2.0))
    assert b.tolist() == [3, 3]


LOSING = {
    "float": float,
    "int": int,
    "complex": complex,
    "index": lambda s: [1, 2][s],
    "range": range,
    "f-string": lambda s: f"{s}",
    "format": lambda s: f"{s:.2f}",
    "percent": lambda s: "%f" % s,  # noqa: UP031
    "item": lambda s: s.item(),
    "tolist": lambda s: s.tolist(),
    "asarray": np.asarray,
    "array": np.array,
    "array of a list": lambda s: np.array([s, s]),
    "mean of a list": lambda s: np.mean([s, s]),
    "max of a list": lambda s: np.max([s, 1.0]),
    "number type": np.float64,
    "math": __import__("math").exp,
    "pickle": pickle.dumps,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "full": lambda s: np.full(3, s),
    "normal": lambda s: np.random.default_rng(0).normal(s),
    "arange": np.arange,
    "vectorize": lambda s: np.vectorize(lambda a: a)(s),
    "setitem": lambda s: s.__setitem__(0, 1),
    "fromiter": lambda s: np.fromiter((s for _ in range(2)), float),
}


@pytest.mark.parametrize("name", LOSING)
def test_what_would_lose_the_gradient_raises_and_names_data(name):
    with pytest.raises((TypeError, ValueError)) as error:
        gradient(lambda s: (LOSING[name](s * 1.0), s)[1], 2.0)
    said = f"{error.value} {error.value.__cause__}"
    assert "would lose the gradient" in said and ".data" in said


def test_a_list_of_tracked_arrays_is_told_its_cure():
    with pytest.raises(TypeError, match=r"np\.mean\(np\.stack\(losses\)\)"):
        gradient(lambda x: np.mean([x, x * 2]), 2.0)
    assert gradient(lambda x: np.mean(np.stack([x, x * 2])), 2.0) == (1.5,)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.full_like(np.ones(2), x), lambda x: np.interp(x, [0, 1], [0, 1]), lambda x: np.linspace(0, x, 3),
        lambda x: np.insert(np.ones(2), 0, x), lambda x: np.fft.fft(x), lambda x: np.block([[x]]), np.modf,
        lambda x: np.add.accumulate(x), lambda x: np.subtract.outer(x, x),
    ],
)  # fmt: skip
def test_functions_without_a_rule_say_so(call):
    with pytest.raises(TypeError, match=r"np\.\S+ has no derivative rule.*fluxlite.rule"):
        gradient(lambda x: call(x).sum(), np.ones(3))


@pytest.mark.parametrize("operator", ["+=", "-=", "*=", "/=", "//=", "%=", "**=", "@="])
def test_in_place_operators_on_a_tracked_array_raise_with_the_fix(operator):
    def f(x):
        exec(f"x {operator} 2", {}, {"x": x * 1})
        return x.sum()

    with pytest.raises(TypeError, match=r"write x = x \+ y"):
        gradient(f, np.ones(2))


def test_comparisons_are_plain_and_elementwise():
    seen = []

    def f(x):
        seen.extend([x == 2, x != 2, x < 2, x <= 2, x > 2, x >= 2, x < 2, np.ones(3) == x, 2 in x, 5 in x])
        return np.where(x > 1, x, 0).sum()

    assert gradient(f, np.array([1.0, 2.0, 3.0]))[0].tolist() == [0, 1, 1]
    assert [type(y) for y in seen[:8]] == [np.ndarray] * 8 and seen[8:] == [True, False]
    assert [y.tolist() for y in seen[:2]] == [[False, True, False], [True, False, True]]
    assert seen[6].tolist() == [True, False, False] and seen[7].tolist() == [True, False, False]


def test_branching_is_allowed():
    f = lambda x: x * 2 if x > 1 and bool(x) else -x  # noqa: E731
    assert gradient(f, 2.0) == (2.0,) and gradient(f, 0.5) == (-1.0,)
    with pytest.raises(ValueError, match="ambiguous"):
        gradient(lambda x: x.sum() if x else 0.0, np.ones(2))


def test_tracked_arrays_are_hashed_by_identity():
    seen = {}
    gradient(lambda x: (seen.update({x: 1, x * 1: 2}), x.sum())[1], np.ones(2))
    assert len(seen) == 2


def test_unpacking_and_iterating():
    assert gradient(lambda x: (lambda a, b: a * b)(*x), np.array([2.0, 3.0]))[0].tolist() == [3, 2]
    assert gradient(lambda x: sum(row[0] for row in x), np.ones((3, 2)))[0].tolist() == [[1, 0]] * 3
    with pytest.raises(TypeError):
        gradient(lambda x: sum(x), 2.0)


def test_str_and_repr_are_for_reading():
    said = []
    gradient(lambda x: (said.extend([repr(x), str(x), len(x), x.shape, x.dtype]), x.sum())[1], np.ones(2))
    assert said == ["tracked(array([1., 1.]))"] * 2 + [2, (2,), np.float64]


# -- read-only while it runs -------------------------------------------------------------------------------


def test_recorded_arrays_are_read_only_inside_and_writable_afterwards():
    x, c, i, unused = np.ones(3), np.ones(3), np.array([0, 1]), np.ones(3)
    states = []

    def f(x):
        loss = (x * c)[i].sum()
        states.extend(a.flags.writeable for a in (x.data, c, i, unused))
        return loss

    gradient(f, x)
    assert states == [False, False, False, True]
    assert all(a.flags.writeable for a in (x, c, i, unused))


def test_arrays_that_were_read_only_before_stay_so():
    c = np.ones(3)
    c.flags.writeable = False
    view = np.ones((3, 3))[0]
    view.flags.writeable = False
    gradient(lambda x: (x * c * view).sum(), np.ones(3))
    assert not c.flags.writeable and not view.flags.writeable and view.base.flags.writeable


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 1, 0, 1)])
def test_views_and_what_they_view_are_both_released(order):
    base = np.ones((3, 3))
    view = base[1:]
    arrays = (base, view)

    def f(x):
        return sum((x * arrays[k]).sum() for k in order)

    gradient(f, np.ones(3))
    assert base.flags.writeable and view.flags.writeable


@pytest.mark.parametrize("outside", [0, 1])
def test_nested_gradients_with_views(outside):
    base = np.ones((3, 3))
    view = base[1:]
    arrays = (base, view)

    def f(x):
        y = (x * arrays[outside]).sum()
        slope(lambda z: (z * arrays[1 - outside]).sum(), np.ones(3))
        assert not arrays[outside].flags.writeable, "still needed by the outer gradient"
        return y

    gradient(f, np.ones(3))
    assert base.flags.writeable and view.flags.writeable


def test_memory_of_others_is_left_as_it_was():
    """NumPy would not make these writable again."""
    arrays = [np.frombuffer(bytearray(24)), np.frombuffer(bytes(24)), np.frombuffer(bytearray(24))[1:]]
    torch = pytest.importorskip("torch")
    tensor = torch.ones(3, dtype=torch.float64)
    arrays += [tensor.numpy(), torch.ones(4, dtype=torch.float64).numpy()[1:], np.from_dlpack(tensor)]
    before = [array.flags.writeable for array in arrays]
    for array in arrays:
        gradient(lambda x, array=array: (x * array).sum(), np.ones(array.shape))
        gradient(lambda x: x.sum(), array)
    assert [array.flags.writeable for array in arrays] == before


def test_a_memory_mapped_file(tmp_path):
    data = np.memmap(tmp_path / "x", dtype=np.float64, mode="w+", shape=(3,))
    for array in data, np.asarray(data):
        assert gradient(lambda x, array=array: (x * array).sum(), np.ones(3))[0].tolist() == [0, 0, 0]
        assert array.flags.writeable


# -- kept after the call -----------------------------------------------------------------------------------


def test_a_tracked_array_that_was_kept_is_closed():
    kept = []
    gradient(lambda x: (kept.extend([x, x * 2]), x.sum())[1], np.ones(2))
    for x in kept:
        assert type(x.data) is np.ndarray
        uses = [
            lambda x: x + 1, lambda x: np.ones(2) * x, lambda x: x[0], lambda x: x.sum(), lambda x: x > 0,
            lambda x: list(x), lambda x: bool(x), lambda x: np.argmax(x), lambda x: -x, lambda x: np.stack([x, x]),
            lambda x: gradient(lambda y: (x * y).sum(), np.ones(2)),
        ]  # fmt: skip
        for use in uses:
            with pytest.raises(RuntimeError, match=r"return it from the function.*\.data"):
                use(x)


def test_an_inner_array_that_leaks_into_the_outer_function_is_closed():
    def outer(x):
        kept = []
        slope(lambda y: (kept.append(y * x), (y * x).sum())[1], np.ones(2))
        return (kept[0] * x).sum()

    with pytest.raises(RuntimeError, match="return it from the function"):
        gradient(outer, np.ones(2))


# -- arguments of rules ------------------------------------------------------------------------------------


def test_a_tracked_argument_without_a_derivative_is_named():
    with pytest.raises(TypeError, match="no derivative with respect to its argument condition"):
        gradient(lambda x: np.where(x, 1.0, 2.0).sum(), np.ones(2))
    with pytest.raises(TypeError, match="index"):
        gradient(lambda x: x[x].sum(), np.ones(2))
    with pytest.raises(TypeError, match="index or a count"):
        gradient(lambda n: np.sum(np.ones(3), axis=n), 0)


def test_unknown_keywords_raise_at_the_call():
    with pytest.raises(TypeError, match=r"np\.sum does not know the keyword 'where'; it knows a, axis, keepdims"):
        gradient(lambda x: np.sum(x, where=np.array([True, False])), np.ones(2))
    with pytest.raises(TypeError, match="takes by position only"):
        gradient(lambda x: np.sum(x, 0, np.float64), np.ones(2))


@pytest.mark.parametrize("bad", [3, "f", None])
def test_a_function_is_needed(bad):
    with pytest.raises(TypeError, match="not callable"):
        gradient(bad, np.ones(2))
