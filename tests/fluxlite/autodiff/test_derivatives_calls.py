"""Every rule has a test; what has no rule, or no such keyword in its rule, says so at the call."""

import inspect
import itertools

import numpy as np
import pytest
from gradcheck import check_gradient
from inside import (
    COMPOSED,
    PLAIN,
    RULES,
    eigenvectors,
    euclidean,
    logabsdet,
    name_of,
    pad_with,
    product_of_rows,
    running_product,
    sign_of_determinant,
    singular_values,
    singular_vectors,
)
from operands import NUMPY_2_0
from tables import ROWS

import fluxlite as fl

# Tested where the file's own functions use them.
WITHIN = {
    euclidean: np.linalg.norm,
    pad_with: np.pad,
    running_product: np.cumprod,
    product_of_rows: np.prod,
    logabsdet: np.linalg.slogdet,
    sign_of_determinant: np.linalg.slogdet,
    eigenvectors: np.linalg.eigh,
    singular_values: np.linalg.svd,
    singular_vectors: np.linalg.svd,
    np.float_power: np.power,  # test_float_power
}


def where_written(function):
    """The module in which the rule of a function stands: a test may have entered rules of its own."""
    if function in COMPOSED:
        return COMPOSED[function].__module__
    derivative = RULES[function]
    return next(p for p in (derivative.pullback_of_each, *derivative.pullbacks) if p).__module__


OURS = [
    function
    for function in itertools.chain(RULES, COMPOSED)
    if where_written(function).startswith(("fluxlite.autodiff.derivatives.", "fluxlite.layers.activations"))
]


def test_every_rule_is_tested():
    tested = {function for _, function, _ in ROWS}
    tested |= {function for function, user in WITHIN.items() if user in tested}
    assert len(OURS) > 150
    ours = [f for f in OURS if where_written(f) != "fluxlite.layers.activations"]  # test_activations.py has theirs
    untested = [f"{name_of(f)}, {where_written(f)}" for f in ours if f not in tested]
    assert not untested, (
        f"each needs a row in TABLE of a file in tests/fluxlite/autodiff/tables/, that of its neighbour there, "
        f"such as `(np.NAME, elementwise(inside)),`: {untested}"
    )


def test_no_function_is_in_two_tables():
    for first, second in itertools.combinations([set(RULES), set(COMPOSED), PLAIN], 2):
        assert not first & second


def named_by_numpy(function):
    try:
        return list(inspect.signature(function).parameters.values())
    except ValueError:
        return []


def named_otherwise(function):
    """The arguments of a function's rule that the function itself doesn't have."""
    parameters = named_by_numpy(function)
    if isinstance(function, np.ufunc) or not parameters:
        return set()  # theirs have no names
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return set()  # np.pad(array, pad_width, mode, **more)
    code = COMPOSED[function].__code__ if function in COMPOSED else None
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code else RULES[function].names
    return set(names) - {p.name for p in parameters if p.kind is not p.VAR_POSITIONAL}


def test_rules_name_their_arguments_as_the_function_does():
    """Otherwise we'd refuse keywords that NumPy takes, and take some that it doesn't know."""
    found = {name_of(function): named_otherwise(function) for function in OURS}
    assert {name: names for name, names in found.items() if names} == ({"np.reshape": {"shape"}} if NUMPY_2_0 else {})


# -- keywords without a rule ------------------------------------------------------------------------------------------

X = np.array([[0.5, 1.5], [-1.0, 2.0]])

REFUSED = [
    (lambda x: np.add(x, 1, where=X > 0), "np.add", "where"),
    (lambda x: np.var(x, correction=1), "np.var", "correction"),
    (lambda x: np.average(x, returned=True), "np.average", "returned"),
    (lambda x: np.take(x, [0], mode="wrap"), "np.take", "mode"),
    (lambda x: np.sort(x, kind="stable"), "np.sort", "kind"),
    *[(lambda x: np.clip(x, min=0), "np.clip", "min")] * (not NUMPY_2_0),
    (lambda x: np.pad(x, 1, mode="reflect", reflect_type="odd"), "np.pad", "reflect_type"),
    (lambda x: np.einsum("ij->i", x, dtype=np.float32), "np.einsum", "dtype"),
    (lambda x: np.diff(x, prepend=0), "np.diff", "prepend"),
    (lambda x: np.matmul(x, x, axes=[(0, 1), (0, 1), (0, 1)]), "np.matmul", "axes"),
    (lambda x: np.linalg.cholesky(x, upper=True), "np.linalg.cholesky", "upper"),
    (lambda x: np.copy(x, order="F"), "np.copy", "order"),
    (lambda x: np.exp(x, dtype=np.int64, casting="unsafe"), "np.exp", "dtype"),
    (lambda x: np.sum(x, out=np.zeros(())), "np.sum", "out"),
]


@pytest.mark.parametrize("f, name, keyword", REFUSED, ids=[f"{name} {keyword}" for _, name, keyword in REFUSED])
def test_a_keyword_without_a_rule_is_named_at_the_call(f, name, keyword):
    after = []

    def loss(x):
        y = f(x)
        after.append(y)
        return np.sum(y)

    with pytest.raises(TypeError, match=f"rule of {name} doesn't know the keyword '{keyword}'"):
        fl.gradient(loss, X)
    assert not after


def test_writing_into_an_existing_array():
    for f in (lambda x: np.add(x, 1, out=np.zeros((2, 2))), lambda x: np.negative(x, np.zeros((2, 2)))):
        with pytest.raises(TypeError, match="out="):
            fl.gradient(lambda x: np.sum(f(x)), X)  # noqa: B023


# One of each kind: a function, one of a submodule, a ufunc, its methods. Whichever gets a rule is left out.
NONE_YET = [
    (np.nanmedian, np.nanmedian, "np.nanmedian"),
    (np.apply_along_axis, lambda x: np.apply_along_axis(np.sum, 0, x), "np.apply_along_axis"),
    (np.fft.fft, np.fft.fft, "np.fft.fft"),
    (np.linalg.qr, np.linalg.qr, "np.linalg.qr"),
    (np.nextafter, lambda x: np.nextafter(x, 2), "np.nextafter"),
    (np.frexp, np.frexp, "np.frexp"),
    (np.invert, np.bitwise_not, "np.invert"),
    (None, lambda x: np.maximum.accumulate(x), "np.maximum.accumulate"),
    (None, lambda x: np.add.reduceat(x, [0]), "np.add.reduceat"),
]


@pytest.mark.parametrize("f, name", [(f, name) for function, f, name in NONE_YET if function not in RULES])
def test_a_function_without_a_rule_is_named(f, name):
    with pytest.raises(TypeError, match=rf"{name}.* has no derivative rule.*fluxlite\.rule"):
        fl.gradient(lambda x: np.sum(f(x)), X)


def test_an_operand_without_a_derivative_is_named():
    with pytest.raises(TypeError, match="np.where has no derivative with respect to its argument condition"):
        fl.gradient(lambda x: np.sum(np.where(x, 1.0, 2.0)), X)
    with pytest.raises(TypeError, match="argument slope"):
        fl.gradient(lambda slope: np.sum(fl.leakyrelu(X, slope)), 0.5)
    with pytest.raises(TypeError, match="argument value"):
        fl.gradient(lambda x, v: np.sum(np.pad(x, 1, constant_values=v)), X, 0.5)
    with pytest.raises(TypeError, match="np.sum has no derivative with respect to its keyword axis"):
        fl.gradient(lambda x: np.sum(x, axis=x[0, 0]), X)
    for index in (lambda x: x[x], lambda x: np.sum(np.ones(3), axis=x[0, 0])):
        with pytest.raises(TypeError, match="index"):
            fl.gradient(lambda x: np.sum(index(x)), X)  # noqa: B023
    assert fl.gradient(lambda x: fl.relu(x=x), 1.0) == (1.0,)


# -- functions that just compute ---------------------------------------------------------------------

WHAT_JUST_COMPUTES = [
    np.argmax, np.argmin, np.argsort, np.nonzero, np.flatnonzero, np.argwhere, np.count_nonzero, np.any, np.all,
    np.shape, np.ndim, np.size, np.isnan, np.isinf, np.isfinite, np.signbit, np.logical_not,
    np.zeros_like, np.ones_like, np.iscomplexobj, np.isrealobj, np.isreal, np.iscomplex,
    np.array_repr, np.array_str, np.array2string,
    lambda x: np.empty_like(x).shape, lambda x: np.full_like(x, 3.0),
    lambda x: np.full_like(x, 3, dtype=int, shape=(3,)), lambda x: np.unique(x, return_inverse=True)[1],
    lambda x: np.zeros_like(x, shape=3, dtype=int), lambda x: np.argpartition(x, 0)[..., :1],
    lambda x: np.searchsorted(x[0], 1.0), lambda x: np.digitize(x, [0.0, 1.0]), lambda x: np.histogram(x, 3)[0],
    lambda x: np.isin(x, [1.5]), lambda x: np.lexsort(x), lambda x: np.bincount(np.argmax(x, axis=1)),
    lambda x: np.isclose(x, 0.5), lambda x: np.allclose(x, x), lambda x: np.array_equal(x, X),
    lambda x: np.equal(x, 0.5), lambda x: np.not_equal(x, 0.5), lambda x: np.less(x, 0.5),
    lambda x: np.less_equal(x, 0.5), lambda x: np.greater(0.5, x), lambda x: np.greater_equal(0.5, x),
    lambda x: np.logical_and(x, x > 0), lambda x: np.logical_or(x, x > 0), lambda x: np.logical_xor(x, x > 0),
    lambda x: np.result_type(x, np.float32), lambda x: np.can_cast(x.dtype, np.float32),
    lambda x: np.min_scalar_type(x), lambda x: np.shares_memory(x, x), lambda x: np.may_share_memory(x, x),
]  # fmt: skip


@pytest.mark.parametrize("f", WHAT_JUST_COMPUTES, ids=lambda f: getattr(f, "__name__", "f"))
def test_functions_without_a_useful_derivative_just_compute(f):
    seen = []

    def loss(x):
        seen.append(f(x))
        return np.sum(x * 2)

    (g,) = fl.gradient(loss, X)
    wanted = f(X)
    assert type(seen[0]) is type(wanted)
    if isinstance(wanted, tuple):
        assert all(type(part) is type(want) for part, want in zip(seen[0], wanted))
    np.testing.assert_array_equal(seen[0], wanted)
    assert np.all(g == 2)


def test_a_plain_result_is_a_constant():
    """It can be used in the loss; the gradient is that of the rest."""
    check_gradient(lambda x: x * np.sign(np.ones_like(x)) * np.argmax(x) + (np.greater(x, 0)), X)


def test_methods_whose_results_are_plain():
    x = np.array([[0.5, -1.0], [2.0, 0.25]])
    seen = []

    def f(x):
        seen.extend([x.argmax(), x.argmin(1), x.argsort(0), *x.nonzero(), x.any(), x.all(0), len(x), x.shape, x.ndim])
        seen.extend([x.size, x.dtype, x.strides, 2.0 in x, x.astype(int), x.astype(bool), bool(x[0, 0])])
        return x[0, 0]

    fl.gradient(f, x)
    wanted = [x.argmax(), x.argmin(1), x.argsort(0), *x.nonzero(), x.any(), x.all(0), 2, (2, 2), 2]
    wanted += [4, np.dtype(float), x.strides, True, x.astype(int), x.astype(bool), True]
    assert len(seen) == len(wanted)
    for got, want in zip(seen, wanted):
        assert type(got) is type(want)
        np.testing.assert_array_equal(got, want)
