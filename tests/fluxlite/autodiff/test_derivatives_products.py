"""Products that sum, and np.linalg, beside their rows in tables/products.py."""

import numpy as np
import pytest
from gradcheck import Call, check_call, check_forward, check_gradient, check_second
from hypothesis import given
from operands import any_number, arrays, few_examples
from tables.products import matmul_calls

import fluxlite as fl


@few_examples
@given(matmul_calls(np.matmul))
def test_the_operator(call):
    x, y = call.operands
    check_call(Call(lambda x, y: x @ y, x, y))
    check_gradient(lambda x: x @ y, x)
    check_gradient(lambda y: x @ y, y)


def test_methods():
    x, y = np.array([[0.5, 1.5], [-1.0, 2.0]]), np.array([0.25, 3.0])
    for f in (
        lambda x, y: x.dot(y), lambda x, y: x.trace() * y, lambda x, y: x.trace(1) * y,
        lambda x, y: x.diagonal() * y, lambda x, y: x.diagonal(offset=-1) * y,
    ):  # fmt: skip
        check_call(Call(f, x, y))


def test_slogdet_has_numpys_names():
    x = np.array([[0.5, 1.5], [-1.0, 2.0]])
    check_gradient(lambda x: np.linalg.slogdet(x).logabsdet, x)
    check_forward(lambda x: np.linalg.slogdet(x).sign, x)


def test_two_functions_of_one_factorisation():
    x = np.array([[2.0, 0.5], [0.25, 1.5]])
    check_gradient(lambda x: np.linalg.inv(x) @ np.linalg.solve(x, np.ones(2)) * np.linalg.det(x), x)
    check_second(lambda x: np.linalg.inv(x) @ np.linalg.solve(x, np.ones(2)) * np.linalg.det(x), x)


def test_the_gradient_of_cholesky_is_symmetric():
    x = np.array([[2.0, 0.5], [0.5, 1.5]])
    (g,) = fl.gradient(lambda x: np.sum(np.linalg.cholesky(x) * np.array([[1.0, 0.0], [3.0, 2.0]])), x)
    np.testing.assert_allclose(g, g.T)


def test_a_chain_of_products():
    x, y, z = (np.random.default_rng(i).uniform(-1, 1, (2, 2)) for i in range(3))
    f = lambda x, y, z: np.einsum("ij,jk,kl->il", x @ y, y.T, np.kron(z, z)[:2, :2]) @ x  # noqa: E731
    check_gradient(f, x, y, z)
    check_second(f, x, y, z)


@few_examples
@given(x=arrays((2, 3), any_number))
def test_einsum_of_an_operand_twice(x):
    check_call(Call(lambda x: np.einsum("ij,kj->ik", x, x), x))


@pytest.mark.parametrize("shape", [(2, 1), (4, 3, 2), (3,)])
@pytest.mark.parametrize("n", [0, 1, 2, -1])
def test_only_square_matrices_have_powers(shape, n):
    with pytest.raises(np.linalg.LinAlgError, match="square|dimensional"):
        fl.gradient(lambda x: np.sum(np.linalg.matrix_power(x, n)), np.ones(shape))
