"""Products that sum, and np.linalg: every rule of fluxlite/autodiff/derivatives/products.py and linear_algebra.py."""

import numpy as np
import pytest
from gradcheck import Call, check_call, check_forward, check_gradient, check_second
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from operands import any_number, arrays, axis_of, calls, few_examples, shapes, table_ids

import fluxlite as fl


@calls
def matmul_calls(draw, function):
    """All that matmul takes: vectors, matrices, batches of matrices, whose batch axes broadcast."""
    signature = np.matmul.signature  # (n?,k),(k,m?)->(n?,m?)
    together = draw(hnp.mutually_broadcastable_shapes(signature=signature, max_dims=2, min_side=0, max_side=3))
    return Call(function, *(draw(arrays(shape, which=i)) for i, shape in enumerate(together.input_shapes)))


def two(*of_shapes):
    """Calls with two operands of the given shapes."""
    return calls(lambda draw, function: Call(function, *(draw(arrays(s, which=i)) for i, s in enumerate(of_shapes))))


@calls
def inner_calls(draw, function):
    """Same length of the last axis; or a number."""
    length = draw(st.integers(0, 3))
    x, y = (draw(st.one_of(st.just(()), shapes(0, 2, 0, 2).map(lambda s: (*s, length)))) for _ in range(2))
    return Call(function, draw(arrays(x)), draw(arrays(y, which=1)))


@calls
def dot_calls(draw, function):
    """Last axis of the first, last but one of the second."""
    length = draw(st.integers(0, 3))
    rest = shapes(0, 2, 0, 2)
    x = draw(st.one_of(st.just(()), rest.map(lambda s: (*s, length))))
    y = draw(st.one_of(st.just(()), st.just((length,)), rest.map(lambda s: (*s, length, 2))))
    return Call(function, draw(arrays(x)), draw(arrays(y, which=1)))


@calls
def vdot_calls(draw, function):
    """The same number of elements in any shapes."""
    possible = [((), (1,)), ((6,), (2, 3)), ((2, 3), (3, 2)), ((0,), (2, 0)), ((2, 1, 2), (4,))]
    first, second = draw(st.sampled_from(possible))
    return Call(function, draw(arrays(first)), draw(arrays(second, which=1)))


@calls
def tensordot_calls(draw, function):
    """Axes as a number, as one axis each, as lists in any order, counted from the end."""
    n, m, k = (draw(st.integers(0, 3)) for _ in range(3))
    shape_x, shape_y, axes = draw(st.sampled_from([
        ((n, m), (k, 2), 0), ((n, m), (m, k), 1), ((2, n, m), (n, m, k), 2), ((n, m), (n, m), 2), ((m,), (m,), 1),
        ((n, m), (k, m), (1, 1)), ((n, m), (k, m), (-1, -1)), ((n, m), (n, k), (0, 0)),
        ((n, m, k), (k, n), ([0, 2], [1, 0])), ((n, m, k), (k, n, 2), ((-1, 0), (0, -2))), ((n, m), (k,), ([], [])),
    ]))  # fmt: skip
    return Call(function, draw(arrays(shape_x)), draw(arrays(shape_y, which=1)), axes=axes)


EINSUMS = [
    # subscripts, shapes of the operands (letters are lengths below)
    ("ij,jk->ik", "nm mk"),
    ("ij,jk", "nm mk"),
    ("ji,kj", "nm kn"),
    ("ij->ji", "nm"),
    ("ij->", "nm"),
    ("ij->i", "nm"),
    ("ij->j", "nm"),
    ("ij", "nm"),
    ("ba", "nm"),
    ("ii->", "nn"),
    ("ii", "nn"),
    ("ii->i", "nn"),
    ("iij->j", "nnm"),
    ("iii->i", "nnn"),
    ("iijj->ij", "nnmm"),
    ("ii,ij->j", "nn nm"),
    ("ij,jj->i", "nm mm"),
    ("i,i->", "n n"),
    ("i,i", "n n"),
    ("i,j->ij", "n m"),
    ("i,j->", "n m"),
    ("ij,kl->", "nm mk"),
    ("ij,ij->ij", "nm nm"),
    ("ij,ij->", "nm nm"),
    ("ij,k->i", "nm k"),
    ("...i,i->...", "nkm m"),
    ("...ij,...jk->...ik", "2nm 2mk"),
    ("...ij,...jk", "2nm mk"),
    ("...ij,...jk->...ik", "1nm 2mk"),
    ("i...,...->i...", "nm m"),
    ("...->...", "nm"),
    ("...,...", "nm nm"),
    ("...i->...", "n"),
    ("...ii->...i", "2nn"),
    ("bi,ij,bj->b", "2n nm 2m"),
    ("ij,jk,kl->il", "nm mk k2"),
    ("i,j,k->", "n m k"),
    (",i->i", "0 n"),
    (" i j , j k -> i k ", "nm mk"),
    ("aA,Ab->ab", "nm mk"),
    ("ij,ij->i", "n1 nm"),
    ("ij,ij->ij", "n1 nm"),
    ("ij,ij->", "n1 1m"),
    ("ij,jk->ik", "n1 mk"),
    ("i,i->", "1 m"),
    ("i,ij->j", "1 nm"),
]


def einsum_calls(subscripts, letters):
    def build(draw, function):
        lengths = {name: draw(st.integers(0, 3)) for name in "nmk"} | {"1": 1, "2": 2}
        of_shapes = [() if word == "0" else tuple(lengths[c] for c in word) for word in letters.split()]
        operands = [draw(arrays(shape, which=i)) for i, shape in enumerate(of_shapes)]
        more = {"optimize": True} if draw(st.booleans()) else {}
        return Call(function, subscripts, *operands, **more)

    return calls(build)


@pytest.mark.parametrize("subscripts, letters", EINSUMS, ids=[f"{s} {letters}" for s, letters in EINSUMS])
@few_examples
@given(st.data())
def test_einsum(subscripts, letters, data):
    check_call(data.draw(einsum_calls(subscripts, letters)(np.einsum)))


# -- np.linalg ---------------------------------------------------------------------------------------------------


@st.composite
def matrices(draw, batch=None, least=1):
    """Far from singular; in a batch or alone."""
    batch = draw(shapes(0, 2, 0, 2)) if batch is None else batch
    n = draw(st.integers(least, 3))
    x = draw(arrays((*batch, n, n), lambda rng, shape: rng.uniform(-0.5, 0.5, shape)))
    return x + 2 * np.eye(n) * np.array([1, -1, 1])[:n]


one_matrix = calls(lambda draw, function: Call(function, draw(matrices())))
one_matrix_or_none = calls(lambda draw, function: Call(function, draw(matrices(least=0))))


@calls
def solve_calls(draw, function):
    """A vector, or matrices; batches on either side, or on both, that broadcast."""
    a = draw(matrices())
    n = a.shape[-1]
    batch = a.shape[:-2]
    b = draw(st.sampled_from([(n,), (n, 2), (2, n, 1) if batch in ((), (1,), (2,)) else (n, 1), (*batch, n, 2)]))
    return Call(function, a, draw(arrays(b, which=1)))


@calls
def cholesky_calls(draw, function):
    """NumPy reads one half of the matrix only: `x` is made symmetric first, so that both have the same gradient."""
    x = draw(matrices())
    return Call(lambda x: function(x @ np.swapaxes(x, -1, -2)), x)


@calls
def cut_calls(draw, function):
    """trace and diagonal: any two axes, an offset either way, also outside of the matrix."""
    shape = draw(shapes(2, 4, 0, 3))
    offset = draw(st.integers(-4, 4))
    first = draw(axis_of(shape))
    second = draw(axis_of(shape).filter(lambda i: i % len(shape) != first % len(shape)))
    x = draw(arrays(shape))
    return Call(function, x, *draw(st.sampled_from([(), (offset,), (offset, first, second)])))


@calls
def diag_calls(draw, function):
    return Call(function, draw(arrays(shapes(1, 2))), k=draw(st.integers(-3, 3)))


TABLE = [
    (np.matmul, matmul_calls),
    (np.dot, dot_calls),
    (np.inner, inner_calls),
    (np.vdot, vdot_calls),
    (np.outer, two((2,), (3,))),
    (np.outer, two((2, 2), ())),
    (np.outer, two((0,), (3, 1))),
    (np.kron, two((2,), (3,))),
    (np.kron, two((2, 1), (3, 2))),
    (np.kron, two((2,), (2, 3))),
    (np.kron, two((1, 2, 2), (2,))),
    (np.kron, two((), (2, 3))),
    (np.tensordot, tensordot_calls),
    (np.trace, cut_calls),
    (np.diagonal, cut_calls),
    (np.diag, diag_calls),
    (np.linalg.inv, one_matrix_or_none),
    (np.linalg.solve, solve_calls),
    (np.linalg.det, one_matrix),
    (np.linalg.slogdet, one_matrix),
    (np.linalg.cholesky, cholesky_calls),
    (np.einsum, einsum_calls("ij,jk->ik", "nm mk")),
]


@pytest.mark.parametrize("function, calls_of", TABLE, ids=table_ids(TABLE))
@few_examples
@given(st.data())
def test_rule(function, calls_of, data):
    check_call(data.draw(calls_of(function)))


@few_examples
@given(matmul_calls(np.matmul))
def test_the_operator(call):
    x, y = call.operands
    check_call(Call(lambda x, y: x @ y, x, y))
    check_gradient(lambda x: x @ y, x)
    check_gradient(lambda y: x @ y, y)


@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
def test_gradients_of_matrices_lie_like_the_matrices(orders):
    """Then nothing has to be copied at the end of the way back."""
    x, y = (np.asarray(np.arange(1.0, 7).reshape(shape), order=o) for shape, o in zip([(2, 3), (3, 2)], orders))
    for g, operand in zip(fl.gradient(lambda x, y: np.sum((x @ y) ** 2), x, y), (x, y)):
        assert g.strides == operand.strides
    check_call(Call(np.matmul, x, y))


def test_methods():
    x, y = np.array([[0.5, 1.5], [-1.0, 2.0]]), np.array([0.25, 3.0])
    for f in (
        lambda x, y: x.dot(y),
        lambda x, y: x.trace() * y,
        lambda x, y: x.trace(1) * y,
        lambda x, y: x.diagonal() * y,
        lambda x, y: x.diagonal(offset=-1) * y,
        lambda x, y: x.T @ y,
    ):
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


def test_lists_beside_tracked_arrays():
    x = np.array([[0.5, 1.5], [-1.0, 2.0]])
    for f in (
        lambda x: x @ [[1.0], [2.0]],
        lambda x: [1.0, 2.0] @ x,
        lambda x: np.dot(x, [1.0, 2.0]),
        lambda x: np.outer([1.0, 2.0], x),
        lambda x: np.tensordot(x, [[1.0, 2.0]], axes=([0], [1])),
        lambda x: np.linalg.solve(x, [1.0, 2.0]),
        lambda x: np.einsum("ij,j", x, [1.0, 2.0]),
    ):
        check_gradient(f, x)
        check_forward(f, x)


def test_einsum_with_labels_as_lists():
    x, y = np.array([[0.5, 1.5], [-1.0, 2.0]]), np.array([[0.25, 3.0, 1.0], [1.0, -2.0, 0.5]])
    for f in (
        lambda x, y: np.einsum(x, [0, 1], y, [1, 2], [0, 2]),
        lambda x, y: np.einsum(x, [30, 1], y, [1, 2]),
        lambda x, y: np.einsum(x, [0, 0]) * y,
        lambda x, y: np.einsum(x, [Ellipsis, 1], y, [1, 2], [Ellipsis, 2], optimize=True),
        lambda x, y: np.einsum(x, [0, 1], x, [1, 0], y, [0, 3], []),
    ):
        check_call(Call(f, x, y))


def test_a_chain_of_products():
    x, y, z = (np.random.default_rng(i).uniform(-1, 1, (2, 2)) for i in range(3))
    f = lambda x, y, z: np.einsum("ij,jk,kl->il", x @ y, y.T, np.kron(z, z)[:2, :2]) @ x  # noqa: E731
    check_gradient(f, x, y, z)
    check_second(f, x, y, z)


@few_examples
@given(x=arrays((2, 3), any_number))
def test_einsum_of_an_operand_twice(x):
    check_call(Call(lambda x: np.einsum("ij,kj->ik", x, x), x))
