"""`cupyx.scipy.sparse`: sparse matrices on a simulated GPU, and the solvers that multiply with them."""

import copy
import operator
import pickle
import warnings

import numpy as np
import pytest

import simgpu as cp

scipy_sparse = pytest.importorskip("scipy.sparse", reason="cupyx.scipy is computed by SciPy, which isn't installed")

from simgpu.cupyx.scipy import sparse  # noqa: E402
from simgpu.cupyx.scipy.sparse import linalg  # noqa: E402

FORMATS = ("csr", "csc", "coo", "dia")
RNG = np.random.default_rng(0)
A = np.where(RNG.random((5, 5)) < 0.5, RNG.normal(size=(5, 5)), 0.0)
SPD = A @ A.T + np.eye(5)


def both(format, kind="matrix", values=A):
    """The same matrix on the GPU and in SciPy."""
    theirs = getattr(scipy_sparse, f"{format}_{kind}")(values)
    return getattr(sparse, f"{format}_{kind}")(theirs), theirs


def same(ours, theirs):
    if sparse.issparse(ours):
        assert ours.format == theirs.format and ours.dtype == theirs.dtype
        assert isinstance(ours, sparse.sparray) == isinstance(theirs, scipy_sparse.sparray)
        assert all(isinstance(x, cp.ndarray) for x in ours.stored())
        ours, theirs = ours.toarray(), theirs.toarray()
    assert isinstance(ours, cp.ndarray)
    np.testing.assert_allclose(ours.get(), np.asarray(theirs), 1e-12, 1e-12)


OPERATIONS = {
    "product with a vector": lambda m, xp: m @ xp.asarray(A[0]),
    "vector from the left": lambda m, xp: xp.asarray(A[0]) @ m,
    "product with a matrix": lambda m, xp: m @ xp.asarray(A),
    "product of two": lambda m, xp: m @ m,
    "star": lambda m, xp: m * m,
    "a number": lambda m, xp: 2.0 * m,
    "sum": lambda m, xp: m + m.T,
    "difference": lambda m, xp: m - m.T,
    "multiply": lambda m, xp: m.multiply(m),
    "power": lambda m, xp: m**2,
    "negative": lambda m, xp: -m,
    "absolute": lambda m, xp: abs(m),
    "compared": lambda m, xp: m.tocsr() > m.T.tocsr(),
    "all": lambda m, xp: m.sum(),
    "by axis": lambda m, xp: m.sum(axis=1),
    "mean": lambda m, xp: m.mean(axis=0),
    "diagonal": lambda m, xp: m.diagonal(1),
    "sine": lambda m, xp: m.sin(),
    "dense": lambda m, xp: m.toarray(),
    "other type": lambda m, xp: m.astype(np.float32),
    "one row": lambda m, xp: m.tocsr()[1],
    "rows": lambda m, xp: m.tocsr()[1:4, ::2],
    "an element": lambda m, xp: m.tocsr()[1, 1],
    "largest": lambda m, xp: m.tocsr().max(axis=0).toarray(),
}


@pytest.mark.parametrize("kind", ["matrix", "array"])
@pytest.mark.parametrize("format", FORMATS[:3])
def test_operations_are_scipys_and_stay_on_the_gpu(format, kind):
    for name, operation in OPERATIONS.items():
        ours, theirs = both(format, kind)
        with cp.receipt() as receipt:
            found = operation(ours, cp)
        assert receipt.launches or receipt.memsets, name
        same(found, operation(theirs, np))


@pytest.mark.parametrize("format", FORMATS)
def test_a_matrix_goes_there_and_back(format):
    ours, theirs = both(format)
    found = ours.get()
    assert type(found) is type(theirs) and (found != theirs).nnz == 0
    assert (ours.shape, ours.nnz, ours.ndim, ours.dtype) == (theirs.shape, theirs.nnz, 2, theirs.dtype)
    assert str(ours) == str(theirs) and f"with {ours.nnz} stored elements" in repr(ours)
    for copied in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours)), ours.copy()):
        assert type(copied) is type(ours)
        same(copied, theirs)


def test_diagonals_are_transposed_by_way_of_csr():
    ours, theirs = both("dia")
    assert ours.T.format == "csc"
    np.testing.assert_array_equal(ours.T.toarray().get(), theirs.T.toarray())
    same(ours @ cp.asarray(A[0]), theirs @ A[0])


def test_a_number_on_the_gpu_multiplies_only_coo():
    number = cp.asarray(2.0)
    ours, theirs = both("coo")
    same(ours.dot(number), theirs * 2)
    with pytest.raises(ValueError):
        ours.tocsr().dot(number)


def test_elements_are_set_from_the_host():
    ours, _ = both("csr", values=np.ones((3, 3)))
    ours[np.array([0, 1]), np.array([1, 2])] = np.array([5.0, 6.0])
    assert ours.toarray().tolist() == [[1, 5, 1], [1, 1, 6], [1, 1, 1]]


def test_memory_is_shared_with_the_arrays_that_a_matrix_is_made_of():
    data, indices, indptr = (cp.asarray(x) for x in (np.ones(2), np.array([0, 1], "i"), np.array([0, 1, 2], "i")))
    m = sparse.csr_matrix((data, indices, indptr), shape=(2, 2))
    data[0] = 7
    assert m.toarray().tolist() == [[7, 0], [0, 1]]
    m.T.data[1] = 3
    assert data.tolist() == [7, 3]


def test_a_matrix_is_changed_in_place():
    ours, theirs = both("csr")
    for change in (
        lambda m: operator.setitem(m, (0, 0), 5.0), lambda m: m.setdiag(2.0), lambda m: m.eliminate_zeros(),
        lambda m: m.sort_indices(), lambda m: operator.imul(m, 3.0),
    ):  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", scipy_sparse.SparseEfficiencyWarning)
            change(ours)
            change(theirs)
        same(ours, theirs)


def test_what_is_on_the_host_is_refused():
    ours, theirs = both("csr")
    for call in (lambda: ours @ A, lambda: ours + theirs, lambda: ours.multiply(A), lambda: linalg.aslinearoperator(A)):
        with pytest.raises(TypeError):
            call()
    for wrong in (A, A.tolist(), (np.ones(2), np.ones(2), np.ones(3))):
        with pytest.raises(ValueError, match="on a GPU"):
            sparse.csr_matrix(wrong)


def test_types_and_formats_that_cusparse_lacks_are_refused():
    ours, _ = both("csr")
    with pytest.raises(ValueError, match="Only bool, float32, float64"):
        sparse.csr_matrix(cp.asarray(A), dtype=int)
    with pytest.raises(ValueError, match="Only bool, float32, float64"):
        ours.astype(np.int32)
    for name in ("tolil", "todok", "tobsr", "todia"):
        with pytest.raises(NotImplementedError):
            getattr(ours, name)()


def test_a_product_with_a_vector_is_zeros_and_cusparses_kernel():
    ours, _ = both("csr")
    x = cp.asarray(A[0])
    with cp.receipt() as first:
        ours @ x  # it looks whether the indices are in order
    with cp.receipt() as second:
        ours @ x
    assert (first.launches, first.synchronizations) == (3, 1)
    assert (second.launches, second.memsets, second.synchronizations) == (1, 1, 0)


BUILDERS = {
    "eye": lambda s, xp: s.eye(3, 4, k=1), "identity": lambda s, xp: s.identity(3, format="csr"),
    "diags": lambda s, xp: s.diags([xp.asarray(A[0])], [0]),
    "spdiags": lambda s, xp: s.spdiags(xp.asarray(A), [0, 1, 2, 3, 4], 5, 5),
    "hstack": lambda s, xp: s.hstack([s.eye(2), s.eye(2)]), "vstack": lambda s, xp: s.vstack([s.eye(2), s.eye(2)]),
    "kron": lambda s, xp: s.kron(s.eye(2), s.eye(3)),
    "bmat": lambda s, xp: s.bmat([[s.eye(2), None], [None, s.eye(1)]]),
    "block_diag": lambda s, xp: s.block_diag([s.eye(2), s.eye(3)]),
    "tril": lambda s, xp: s.tril(s.csr_matrix(xp.asarray(A))),
}  # fmt: skip


@pytest.mark.parametrize("name", BUILDERS)
def test_matrices_from_pieces(name):
    same(BUILDERS[name](sparse, cp), BUILDERS[name](scipy_sparse, np))


def test_random_matrices_repeat_with_their_seed():
    one, other = (sparse.random(8, 9, 0.25, format="csr", random_state=3) for _ in range(2))
    assert one.nnz == 18 and one.shape == (8, 9) and (one.toarray() == other.toarray()).all()
    assert sparse.rand(4, 4, 1.0).toarray().min() >= 0 and sparse.rand(4, 4, dtype="f").dtype == np.float32
    with pytest.raises(NotImplementedError):
        sparse.rand(4, 4, dtype=int)


# -- Solvers -------------------------------------------------------------------------------------------------

b = RNG.normal(size=5)
SOLVERS = {
    "cg": lambda *a: linalg.cg(*a, rtol=1e-12), "cgs": lambda *a: linalg.cgs(*a, rtol=1e-12),
    "bicgstab": lambda *a: linalg.bicgstab(*a, rtol=1e-12), "gmres": lambda *a: linalg.gmres(*a, rtol=1e-12),
    "minres": lambda *a: linalg.minres(*a, tol=1e-12), "lsmr": lambda *a: linalg.lsmr(*a, atol=1e-14, btol=1e-14),
    "lsqr": linalg.lsqr, "spsolve": lambda *a: (linalg.spsolve(*a),),
    "splu": lambda A, b: (linalg.splu(A).solve(b),), "factorized": lambda A, b: (linalg.factorized(A)(b),),
}  # fmt: skip


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_solve(name):
    x = SOLVERS[name](sparse.csr_matrix(cp.asarray(SPD)), cp.asarray(b))[0]
    assert isinstance(x, cp.ndarray)
    np.testing.assert_allclose(x.get(), np.linalg.solve(SPD, b), 1e-6)


@pytest.mark.parametrize("name", ["cg", "cgs", "bicgstab", "gmres", "minres"])
def test_a_preconditioner_and_a_start_lead_to_the_same_solution(name):
    solve, tolerance = getattr(linalg, name), {"tol": 1e-12} if name == "minres" else {"rtol": 1e-12}
    inverse = linalg.aslinearoperator(cp.asarray(np.diag(1 / np.diag(SPD))))
    seen = []
    found, info = solve(
        linalg.aslinearoperator(cp.asarray(SPD)),
        cp.asarray(b),
        x0=cp.ones(5),
        M=inverse,
        callback=seen.append,
        **tolerance,
    )
    assert info == 0 and seen
    np.testing.assert_allclose(found.get(), np.linalg.solve(SPD, b), 1e-6)


def test_each_step_of_cg_is_counted_and_waits_once():
    matrix, right = sparse.csr_matrix(cp.asarray(SPD)), cp.asarray(b)
    matrix.sum_duplicates()
    counts = []
    for steps in (1, 2):
        with cp.receipt() as receipt:
            _, info = linalg.cg(matrix, right, rtol=0, maxiter=steps)
        assert info == steps
        counts.append((receipt.launches, receipt.synchronizations))
    assert counts[1][0] - counts[0][0] == 13 and counts[1][1] - counts[0][1] == 1


def test_solvers_refuse_what_cannot_be_right():
    matrix, right = cp.asarray(SPD), cp.asarray(b)
    for wrong in ((matrix[:4], right), (matrix, right[:4]), (matrix, right, cp.ones(4))):
        with pytest.raises(ValueError):
            linalg.cg(*wrong)
    with pytest.raises(TypeError):
        linalg.cg(matrix.astype(int), right)
    with pytest.raises(TypeError):
        linalg.cg(matrix, b)


def test_eigenvalues_with_a_preconditioner_and_of_a_pair():
    matrix, start = sparse.csr_matrix(cp.asarray(SPD)), cp.asarray(RNG.normal(size=(5, 1)))
    inverse = cp.asarray(np.linalg.inv(SPD))
    twice = sparse.csr_matrix(cp.asarray(2 * np.eye(5)))
    for options, most in (({}, 1), ({"M": inverse}, 1), ({"B": twice}, 2)):
        w, _ = linalg.lobpcg(matrix, start, tol=1e-9, maxiter=200, **options)
        np.testing.assert_allclose(w.get(), np.linalg.eigvalsh(SPD)[-1:] / most, 1e-6)
    with pytest.raises(ValueError, match="square"):
        linalg.eigsh(sparse.csr_matrix(cp.asarray(SPD[:4])), k=2)


def test_another_type_is_a_copy_unless_told_otherwise():
    m = sparse.csr_matrix(cp.asarray(A))
    copy, same_data = m.astype(m.dtype), m.astype(m.dtype, copy=False)
    m.data[0] = 77
    assert copy.data[0].get() != 77 and same_data.data[0].get() == 77


def test_operators_are_composed():
    M = linalg.aslinearoperator(cp.asarray(A + 1j * A.T))
    x, dense = cp.asarray(b), A + 1j * A.T
    for operator_, values in (
        (M.H, dense.conj().T), (M.T, dense.T), (M + M, 2 * dense), (M * M, dense @ dense), (2 * M, 2 * dense),
        (M**3, dense @ dense @ dense), (-M, -dense), ((M + 2j * M).H, (dense * (1 + 2j)).conj().T),
        (M - M.T, dense - dense.T),
    ):  # fmt: skip
        np.testing.assert_allclose((operator_ @ x).get(), values @ b, 1e-12, 1e-12)
        np.testing.assert_allclose(operator_.rmatvec(x).get(), values.conj().T @ b, 1e-12, 1e-12)
        np.testing.assert_allclose(operator_.matmat(cp.asarray(A)).get(), values @ A, 1e-12, 1e-12)


def test_eigenvalues_stop_after_maxiter_products():
    """CuPy gives what it has then. Five vectors are a space of products: its projection has these eigenvalues."""
    values = np.diag(np.arange(1.0, 31.0))
    space = np.linalg.qr(np.stack([np.diag(values) ** n for n in range(5)], 1))[0]
    wanted = np.linalg.eigvalsh(space.T @ values @ space)[-2:]
    w, v = linalg.eigsh(cp.asarray(values), 2, ncv=5, maxiter=5)
    np.testing.assert_allclose(w.get(), wanted)
    np.testing.assert_allclose((v.T @ v).get(), np.eye(2), atol=1e-12)
    w = linalg.eigsh(cp.asarray(values), 2, ncv=5, return_eigenvectors=False)
    np.testing.assert_allclose(w.get(), [29, 30])
    near = [abs(linalg.eigsh(cp.asarray(values), 2, ncv=5, maxiter=most)[0].get()[1] - 30) for most in (5, 11, 20)]
    assert near[0] > near[1] > near[2]
    for a in (values[:, :20], values[:20]):
        u, s, v = linalg.svds(cp.asarray(a), 2, ncv=5, maxiter=5)
        assert (u.shape, s.shape, v.shape) == ((a.shape[0], 2), (2,), (2, a.shape[1]))
        assert 10 < s[1] < 20 and s[0] < s[1]
        np.testing.assert_allclose(linalg.svds(cp.asarray(a), 2, ncv=7)[1].get(), [19, 20])


def test_an_operator_gets_vectors_on_the_gpu():
    kinds = set()

    def product(x):
        kinds.add(type(x))
        return cp.asarray(SPD) @ x

    operator_ = linalg.LinearOperator((5, 5), product, rmatvec=product, dtype=np.float64)
    w, v = linalg.eigsh(operator_, k=2)
    np.testing.assert_allclose(w.get(), np.linalg.eigvalsh(SPD)[-2:])
    np.testing.assert_allclose((cp.asarray(SPD) @ v).get(), (v * w).get(), 1e-7, 1e-7)
    s = linalg.svds(operator_, k=2, return_singular_vectors=False)
    np.testing.assert_allclose(s.get(), np.linalg.svd(SPD)[1][1::-1])
    assert kinds == {cp.ndarray}
