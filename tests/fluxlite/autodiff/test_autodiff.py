"""What gradients are: their structure, their arrays, ties, gradients of gradients."""

import functools
import gc
import threading
from collections import OrderedDict, namedtuple
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import fluxlite as fl
from fluxlite import Gradient, TrackedArray, gradient, hessian, jacobian, withgradient

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


def test_the_record_of_a_chain_is_indexed_like_the_chain():
    chain = fl.Chain(Affine(np.ones((2, 3))), np.tanh, fl.Chain(Affine(np.ones((1, 2)))))
    (g,) = gradient(lambda m: m(np.ones(3)).sum(), chain)
    assert g[0].weight.shape == (2, 3) and g[1] is None and g[2][0].weight.shape == (1, 2)
    assert g[0] is g.layers[0] and g[-1] is g[2] and len(g[:2]) == 2
    named = fl.Chain(encoder=Affine(np.ones((2, 3))), decoder=np.tanh)
    assert gradient(lambda m: m(np.ones(3)).sum(), named)[0]["encoder"].weight.shape == (2, 3)


# -- what has a gradient, and what has none -------------------------------------------------------------


def test_none_where_nothing_flows():
    used, unused = np.ones(2), np.ones(2)
    assert gradient(lambda x, y: x.sum(), used, unused)[1] is None
    assert gradient(lambda x: 3.0, used) == (None,)
    assert gradient(lambda x: np.float64(3.0), used) == (None,)
    assert gradient(lambda x: x.data.sum(), used) == (None,)


@pytest.mark.parametrize("leaf", [np.arange(2), np.ones(2, bool), "text", None, True])
def test_other_leaves_pass_through_untouched(leaf):
    seen = []
    grads = gradient(lambda x, y: (seen.append(x), y.sum())[1], leaf, np.ones(1))
    assert grads[0] is None and seen[0] is leaf


@pytest.mark.parametrize("z", [np.ones(2, complex), 1j, np.complex64(1j)])
def test_complex_arguments_are_refused_by_their_place(z):
    for f in (gradient, fl.jacobian):
        with pytest.raises(
            TypeError, match=r"argument 1 of gradient is .*complex numbers can't .*give z.real and z.imag"
        ):
            f(lambda x, z: x.sum() + abs(z).sum(), np.ones(2), z)
    assert gradient(lambda x: (x["w"] * np.abs(x["z"])).sum(), {"w": 2.0, "z": z})[0]["z"] is None


def test_numbers_in_plain_containers_are_differentiated_those_in_a_model_are_constants():
    assert gradient(lambda x: 3 * x**2, 2.0) == (12.0,)
    grads = gradient(lambda x: x[0] * x[1]["n"] * x[2][0], [2.0, {"n": 3}, (4,)])
    assert grads == ([12.0, {"n": 8.0}, (6.0,)],) and type(grads[0][1]["n"]) is float
    seen = []
    gradient(lambda m: (seen.append(m.rate), m.weight.sum())[1], Affine(np.ones(2), rate=2.0))
    assert seen == [2.0] and type(seen[0]) is float
    assert gradient(lambda ms: ms[0].weight.sum() * ms[1], [Affine(np.ones(2), rate=2.0), 3.0])[0][0].rate is None


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
    y += 1  # it's yours


def test_the_model_itself_may_be_returned():
    model = Affine(np.ones((1, 2)))
    (_, out), _ = withgradient(lambda m: (m.weight.sum(), m), model)
    assert type(out) is Affine and type(out.weight) is np.ndarray and not np.shares_memory(out.weight, model.weight)


@pytest.mark.parametrize(
    "extra",
    [
        lambda x: x, lambda x: x[:2], lambda x: x.T, lambda x: x.data, lambda x: x.data[1:],
        lambda x: x.astype(np.float64),  # which is x itself
    ],
)  # fmt: skip
def test_extras_share_no_memory_with_arguments_and_can_be_changed(extra):
    x = np.ones(3)
    (_, out, in_a_list), _ = withgradient(lambda x: (x.sum(), extra(x), [extra(x)]), x)
    for array in out, in_a_list[0]:
        assert not np.shares_memory(array, x)
        array += 1
    assert x.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda x: x, r"of shape \(\), got shape \(2,\)"),
        (lambda x: (x, 1.0), r"got shape \(2,\)"),
        (lambda x: np.ones((1, 1)), r"got shape \(1, 1\)"),
        (lambda x: None, "got None. Does the function return it"),
        (lambda x: (), "got a tuple"),
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


def test_a_number_in_place_of_the_function_is_refused_in_words():
    w = np.ones(2)
    with pytest.raises(TypeError, match="take a function.*got: float64"):
        gradient(np.sum(w**2), w)


# -- a gradient is an ordinary array ----------------------------------------------------------------------

LAYOUTS = {
    "C": np.zeros((3, 4)),
    "Fortran": np.zeros((3, 4), order="F"),
    "transposed view": np.zeros((4, 3)).T,
    "every second": np.zeros((6, 8))[::2, ::2],
    "backwards": np.zeros((3, 4))[::-1, ::-1],
    "3-D, axes moved": np.zeros((2, 3, 4)).transpose(1, 2, 0),
    "0-d": np.zeros(()),
    "0-d float32": np.zeros((), np.float32),
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
    """NumPy makes float64 of the two. The gradient keeps the type of what it belongs to."""
    w, x = np.ones((2, 3), np.float32), np.ones((4, 3))
    slope_of = lambda w: gradient(lambda w: ((x @ w.T) ** 2 * np.float64(0.1)).sum(), w)[0]  # noqa: E731
    inside = []
    (g,) = gradient(lambda w: (inside.append(slope_of(w)), inside[0].sum())[1], w)
    assert g.dtype == slope_of(w).dtype == inside[0].dtype == np.float32


def test_a_returned_gradient_does_not_change_afterwards():
    x = np.ones(2)
    (first,) = gradient(lambda x: (x * x).sum(), x)
    x[:] = 100
    gradient(lambda x: (x * x).sum(), x)
    assert first.tolist() == [2, 2]


def test_a_function_is_a_constant_and_a_partial_is_a_model():
    W = np.ones((3, 2))
    (g,) = gradient(lambda f: f(np.ones(2)).sum(), functools.partial(np.matmul, W))
    assert type(g) is Gradient and g.args[0].tolist() == [[1, 1]] * 3
    assert gradient(lambda f: f(np.ones(2)).sum(), lambda x: W @ x) == (None,)


def test_f_may_change_the_containers_it_was_given():
    x = np.ones(2)

    def f(batch, layers):
        w = batch.pop("w")
        batch["new"] = w * 2
        layers.reverse()
        return (batch["new"] * layers[0]).sum()

    batch, layers = {"w": x, "y": np.ones(2)}, [np.full(2, 5.0), np.full(2, 7.0)]
    grads = gradient(f, batch, layers)
    assert grads[0]["w"].tolist() == [14, 14] and grads[0]["y"] is None and grads[0].keys() == batch.keys()
    assert grads[1][0] is None and grads[1][1].tolist() == [2, 2] and layers[0][0] == 5


# -- ties -------------------------------------------------------------------------------------------------


def test_a_tied_parameter_has_its_whole_gradient_at_the_first_place():
    W = np.arange(6.0).reshape(2, 3)
    (g,) = gradient(lambda m: (m[0] * 2).sum() + (m[1] * 3).sum(), [W, W])
    assert g[0].tolist() == [[5] * 3] * 2 and g[1] is None


def test_a_transposed_tie_is_one_parameter():
    """One gradient, with what flows to both."""
    W = np.arange(6.0).reshape(2, 3)
    x, y = np.array([1.0, 2.0, 3.0]), np.array([[1.0, -1.0], [2.0, 0.5], [0.0, 1.0]])
    model = {"encoder": W, "decoder": (W.T,)}
    (g,) = gradient(lambda m: (m["encoder"] @ x).sum() + (m["decoder"][0] * y).sum(), model)
    np.testing.assert_array_equal(g["encoder"], np.tile(x, (2, 1)) + y.T)
    assert g["decoder"] == (None,) and g["encoder"].strides == W.strides


def test_the_same_layer_twice():
    layer = Affine(np.ones((2, 2)))
    (g,) = gradient(lambda m: m(np.ones(2)).sum(), fl.Chain(layer, np.tanh, layer))
    alone = gradient(lambda layer: layer(np.tanh(layer(np.ones(2)))).sum(), layer)[0]
    np.testing.assert_allclose(g[0].weight, alone.weight)
    assert g[2] is None


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


def test_hessian_against_the_formula():
    A, x = np.random.default_rng(0).normal(size=(3, 3)), np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(hessian(lambda x: x @ A @ x, x), A + A.T)
    assert hessian(lambda x: (x**3).sum(), np.array([[1.0], [2.0]])).shape == (2, 1, 2, 1)
    assert hessian(lambda x: x.sum(), np.ones(2)).tolist() == [[0, 0], [0, 0]]
    assert hessian(lambda x: 1.0, np.ones(2)).tolist() == [[0, 0], [0, 0]]
    assert hessian(lambda x: x**3, 2.0) == 12


# -- threads, generators, exceptions, depth ---------------------------------------------------------------


def test_two_threads_at_once():
    """Also second derivatives, and of one shared array."""
    shared = np.linspace(0.5, 1.5, 5)
    start = threading.Barrier(4)

    def work(n):
        start.wait()
        for _ in range(50):
            g = gradient(lambda x: slope(lambda y: (y**n * x).sum(), x).sum(), shared)[0]
            np.testing.assert_allclose(g, n * n * shared ** (n - 1))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, (2, 3, 4, 5)))


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
        return sum(type(x) is TrackedArray for x in gc.get_objects())

    before = count()
    for _ in range(3):
        gradient(lambda x: slope(lambda y: (np.tanh(y) * x).sum(), x).sum(), np.ones(3))
    assert count() == before


def test_derivatives_of_a_whole_number_are_not_cut_off():
    assert fl.jacobian(lambda x: x / 2, 3)[0] == 0.5 and fl.hessian(lambda x: x**3 / 4, 3) == 4.5


def test_an_order_that_follows_the_memory_is_refused():
    with pytest.raises(TypeError, match="not for 'A'"):
        gradient(lambda x: np.sum(np.ravel(x, order="A") * np.arange(6.0)), np.ones((2, 3), order="F"))


def test_nothing_to_differentiate_by_is_no_gradient():
    for function in (fl.gradient, fl.withgradient):
        with pytest.raises(TypeError, match=r"got none: write gradient\(lambda w: …, w\), or, .* params\(model\)"):
            function(lambda: 3.0)
