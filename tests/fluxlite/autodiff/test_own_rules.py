"""A rule of your own: the error says what's wrong with it, where NumPy would broadcast and go on."""

import numpy as np
import pytest
from inside import RULES

import fluxlite as fl

pytestmark = pytest.mark.usefixtures("the_table_as_it_was")


@pytest.fixture
def scale():
    @fl.primitive
    def scale(x, s):
        return x * s

    return scale


def test_a_right_rule_is_used(scale):
    fl.rule(scale, lambda g, out, x, s: g * s, lambda g, out, x, s: np.sum(g * x, axis=0))
    x, s = np.arange(6.0).reshape(2, 3), np.ones(3)
    for got, wanted in zip(fl.gradient(lambda x, s: np.sum(scale(x, s)), x, s), ([[1, 1, 1]] * 2, [3, 5, 7])):
        assert got.tolist() == wanted


def test_numbers_and_second_derivatives_pass(scale):
    fl.rule(scale, lambda g, out, x, s: g * s, lambda g, out, x, s: g * x)
    assert fl.gradient(scale, 2.0, 3.0) == (3.0, 2.0)
    assert fl.gradient(lambda x: fl.gradient(lambda s: scale(x * x, s), 3.0)[0], 2.0) == (4.0,)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda g, out, x, s: g * x, r"scale gives a gradient of shape \(2, 3\) for s, of shape \(3,\)\. Where an op"),
        (lambda g, out, x, s: np.sum(g * x), r"gives a gradient of shape \(\) for s, of shape \(3,\)"),
        (lambda g, out, *x: np.sum(g), r"gives a gradient of shape \(\) for number 1, of shape \(3,\)"),
        (lambda g, out, x, s: None, r"gives NoneType as the gradient for s, of shape \(3,\)\. .*return\?"),
        (lambda g, out, x, s: (g,), r"gives tuple as the gradient for s"),
    ],
)
def test_a_gradient_of_another_shape(scale, wrong, words):
    fl.rule(scale, lambda g, out, x, s: g * s, wrong)
    x = np.ones((2, 3))
    assert fl.gradient(lambda x: np.sum(scale(x, np.ones(3))), x)[0].tolist() == x.tolist()
    with pytest.raises(ValueError, match=words):
        fl.gradient(lambda s: np.sum(scale(x, s)), np.ones(3))


def test_a_forgotten_return_is_asked_for():
    @fl.primitive
    def cube(x):
        x**3

    fl.rule(cube, lambda g, out, x: 3 * g * x * x)
    with pytest.raises(TypeError, match="cube gave None, not an array: does its function end with return"):
        fl.gradient(cube, 2.0)
    with pytest.raises(TypeError, match="the loss must be one number, .* got None. Does the function return it"):
        fl.gradient(lambda x: None, 2.0)


def test_what_a_rule_knows_is_never_an_empty_list(scale):
    with pytest.raises(TypeError, match=r"a pullback of .*scale takes g, out and the arguments of the call: write"):
        fl.rule(scale, lambda g: g)
    for pullback, words in [
        (lambda g, out, *x: g, r"doesn't know the keyword 's'; it knows none\. Leave it out"),
        (lambda g, out, x: g, r"doesn't know the keyword 's'; it knows x\. Leave it out"),
    ]:
        fl.rule(scale, pullback)
        with pytest.raises(TypeError, match=words):
            fl.gradient(lambda x: np.sum(scale(x, s=2.0)), np.ones(2))


def test_what_cannot_be_entered(scale):
    def plain(x):
        return x

    before = dict(RULES)
    with pytest.raises(TypeError, match="plain is neither a function of NumPy's nor a primitive.*primitive above it"):
        fl.rule(plain, lambda g, out, x: g)
    for wrong in ((2,), ()):
        with pytest.raises(Exception, match="a function, and a pullback for each operand, got function=a function"):
            fl.rule(scale, *wrong)
    fl.rule(scale, lambda g, out, x, s: g * s)
    with pytest.raises(TypeError, match="takes only x, s by position"):
        fl.gradient(lambda x: scale(x, 2.0, 3.0), 1.0)
    del RULES[scale]
    assert before == RULES


def test_a_numpy_function_can_have_one():
    x = np.array([1.0, 2.0])
    fl.gradient(lambda x: np.sum(np.square(x)), x)
    del RULES[np.square]  # whatever has no rule today may have one tomorrow
    with pytest.raises(TypeError, match="np.square has no derivative rule"):
        fl.gradient(lambda x: np.sum(np.square(x)), x)
    fl.rule(np.square, lambda g, out, x: g * 2 * x)
    assert fl.gradient(lambda x: np.sum(np.square(x)), x)[0].tolist() == [2, 4]


@pytest.mark.on("CPU", "Simulated")  # CuPy's arrays have no such flag
def test_a_rule_cannot_change_the_gradient_that_others_need(device):
    @fl.primitive
    def softened(x):
        return x / (1 + np.abs(x))

    def in_place(g, out, x):
        g *= 1 / (1 + np.abs(x)) ** 2
        return g

    fl.rule(softened, in_place)
    x = device(np.array([1.0, 2.0], np.float32))
    with pytest.raises(ValueError, match="read-only") as caught:
        fl.gradient(lambda x: np.sum((softened(x) + x) ** 2), x)
    assert "softened may not change g in place" in "".join(caught.value.__notes__)


def test_a_rule_may_give_a_view_of_the_gradient():
    @fl.primitive
    def turned(x):
        return np.transpose(x)

    fl.rule(turned, lambda g, out, x: g.T)
    (g,) = fl.gradient(lambda x: np.sum(turned(x) ** 2) + np.sum(x), np.ones((2, 3)))
    np.testing.assert_array_equal(g, np.full((2, 3), 3.0))
    g += 1  # it's an ordinary array
