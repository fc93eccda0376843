"""Equations with sparse matrices, eigenvalues and singular values. SciPy computes them, with guessed launches.

An operator of the program's is called with vectors on the GPU, each time that SciPy asks for a product.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse.linalg

from .....functions import get
from .....launches import Commands
from .....memory import Stored
from .....words import in_words
from ...bridge import Call, table
from ..matrices import _spbase as Sparse
from ..matrices import csr_matrix
from .interface import LinearOperator

_ROWS = table("linalg_of_sparse")["functions"]


def _counted(name: str, args: tuple, compute: Callable) -> Any:
    """What `compute` returns, on the GPU and counted."""
    call = Call(f"sparse.linalg.{name}", args, {})
    made: list[Any] = []
    result = call.ours(call.compute(compute), made)
    row = _ROWS[name]
    call.count(Commands(row.launches, reads=row.waits), made)  # type: ignore[arg-type]
    return result


def for_scipy(A: Any) -> Any:
    """A matrix as SciPy takes it; an operator as one of SciPy's, which calls ours with vectors on the GPU."""
    if isinstance(A, Stored):
        return A.host_values
    if isinstance(A, Sparse):
        return A.scipys()
    if A is None or not hasattr(A, "matvec"):
        raise TypeError(f"a matrix or an operator on the GPU is needed, got {in_words(A)}")

    def on_gpu(product: Callable) -> Callable:
        return lambda x: product(get("ascontiguousarray")(_moved(x))).host_values

    return scipy.sparse.linalg.LinearOperator(
        A.shape, on_gpu(A.matvec), on_gpu(A.rmatvec), on_gpu(A.matmat), A.dtype, on_gpu(A.rmatmat)
    )


def _moved(x: np.ndarray) -> Any:
    """One of SciPy's vectors, which on a card would be there already: so no copy is counted."""
    from .....device import current

    return current().new(np.array(x))


def _check_square(A: Any) -> None:
    if not isinstance(A, Sparse):
        raise TypeError(f"A must be cupyx.scipy.sparse.spmatrix, got {in_words(A)}")
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"A must be a square matrix (A.shape: {A.shape})")


def _check_right_side(A: Any, b: Any) -> None:
    if not isinstance(b, Stored):
        raise TypeError(f"b must be cupy.ndarray, got {in_words(b)}")
    if b.ndim not in (1, 2):  # type: ignore[attr-defined]
        raise ValueError(f"b must be 1D or 2D array, got {in_words(b)}")
    if A.shape[0] != b.shape[0]:  # type: ignore[attr-defined]
        raise ValueError(f"matrix dimension mismatch: A has shape {A.shape}, b {b.shape}")  # type: ignore[attr-defined]


def spsolve(A: Any, b: Any) -> Any:
    """Solve ``A x = b`` with a sparse matrix, by cuSOLVER's decomposition."""
    _check_square(A)
    _check_right_side(A, b)
    if A.format != "csr":
        warnings.warn(
            "CSR format is required. Converting to CSR format.",
            scipy.sparse.SparseEfficiencyWarning,
            stacklevel=2,
        )
        A = A.tocsr()
    A.sum_duplicates()
    b = b.astype(A.dtype, copy=False)
    theirs, right = A.scipys().tocsc(), b.host_values
    return _counted("spsolve", (A, b), lambda: scipy.sparse.linalg.spsolve(theirs, right).reshape(right.shape))


def spsolve_triangular(
    A: Any, b: Any, lower: bool = True, overwrite_A: bool = False, overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> Any:  # fmt: skip
    """Solve ``A x = b`` with a triangular matrix, by cuSPARSE."""
    _check_square(A)
    _check_right_side(A, b)
    if A.dtype.char not in "fdFD":
        raise TypeError(f"unsupported dtype (actual: {A.dtype})")
    if A.format != "csr":
        A = A.tocsr()
    A.sum_duplicates()
    b = b.astype(np.promote_types(A.dtype, b.dtype), copy=False)
    part = scipy.sparse.tril(A.scipys()) if lower else scipy.sparse.triu(A.scipys())
    solve = scipy.sparse.linalg.spsolve_triangular
    theirs, right = part.tocsr(), b.host_values
    return _counted("spsolve_triangular", (A, b), lambda: solve(theirs, right, lower, unit_diagonal=unit_diagonal))


def lsqr(A: Any, b: Any) -> Any:
    """Solve ``A x = b`` with a square matrix, by cuSOLVER. SciPy's other nine results are None, as in CuPy."""
    if not (isinstance(A, Sparse) and A.format == "csr"):
        A = csr_matrix(A)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"Last 2 dimensions of the array must be square: {A.shape}")
    if not isinstance(b, Stored):
        raise TypeError(f"b must be cupy.ndarray, got {in_words(b)}")
    if b.shape != (A.shape[0],):  # type: ignore[attr-defined]
        raise ValueError(f"b must be 1-d array whose size is same as A, got {in_words(b)}")
    theirs, right = A.scipys().tocsc(), b.host_values
    x = _counted("lsqr", (A, b), lambda: scipy.sparse.linalg.spsolve(theirs, right).astype(np.float64))
    return x, *(None,) * 9


# -- Decompositions ------------------------------------------------------------------------------------------


class SuperLU:
    """A decomposition that SciPy computed on the host. Its parts are on the GPU, and solve equations there."""

    def __init__(self, obj: Any) -> None:
        if not isinstance(obj, scipy.sparse.linalg.SuperLU):
            raise TypeError(f"obj must be scipy.sparse.linalg.SuperLU, got {in_words(obj)}")
        self._theirs = obj
        self.shape, self.nnz = obj.shape, obj.nnz
        self.perm_r, self.perm_c = get("asarray")(obj.perm_r), get("asarray")(obj.perm_c)
        self.L, self.U = csr_matrix(obj.L.tocsr()), csr_matrix(obj.U.tocsr())

    def solve(self, rhs: Any, trans: str = "N") -> Any:
        """Solve ``A x = rhs``; with ``trans="T"`` or ``"H"``, with the transposed or adjoint matrix."""
        if not isinstance(rhs, Stored):
            raise TypeError(f"rhs must be cupy.ndarray, got {in_words(rhs)}")
        if rhs.ndim not in (1, 2):  # type: ignore[attr-defined]
            raise ValueError(f"rhs.ndim must be 1 or 2, got {in_words(rhs)}")
        if rhs.shape[0] != self.shape[0]:  # type: ignore[attr-defined]
            raise ValueError(f"shape mismatch: the matrix has {self.shape}, rhs {rhs.shape}")  # type: ignore[attr-defined]
        if trans not in ("N", "T", "H"):
            raise ValueError(f"trans must be 'N', 'T', or 'H', got {trans!r}")
        right = rhs.host_values.astype(self.L.dtype)  # type: ignore[attr-defined]
        return _counted("solve", (rhs, self.L, self.U), lambda: self._theirs.solve(right, trans))


def _check_decomposed(A: Any) -> None:
    _check_square(A)
    if A.dtype.char not in "fdFD":
        raise TypeError(f"Invalid dtype (actual: {A.dtype})")


def splu(
    A: Any, permc_spec: Any = None, diag_pivot_thresh: Any = None, relax: Any = None, panel_size: Any = None,
    options: Any = None,
) -> SuperLU:  # fmt: skip
    """The LU decomposition of a sparse matrix. The host computes it, as in CuPy: so the matrix is copied there."""
    _check_decomposed(A)
    given = (permc_spec, diag_pivot_thresh, relax, panel_size, options or {})
    return SuperLU(scipy.sparse.linalg.splu(A.get().tocsc(), *given))


def spilu(
    A: Any, drop_tol: Any = None, fill_factor: Any = None, drop_rule: Any = None, permc_spec: Any = None,
    diag_pivot_thresh: Any = None, relax: Any = None, panel_size: Any = None, options: Any = None,
) -> SuperLU:  # fmt: skip
    """An incomplete LU decomposition. The host computes it, as in CuPy: so the matrix is copied there."""
    _check_decomposed(A)
    given = (drop_tol, fill_factor, drop_rule, permc_spec, diag_pivot_thresh, relax, panel_size, options or {})
    return SuperLU(scipy.sparse.linalg.spilu(A.get().tocsc(), *given))


def factorized(A: Any) -> Callable:
    """A function that solves ``A x = b`` for each b."""
    return splu(A).solve


# -- Eigenvalues and singular values -------------------------------------------------------------------------


def _check_kind(a: Any, is_square: bool) -> None:
    if isinstance(a, np.ndarray) or not isinstance(a, (Stored, Sparse, LinearOperator)) and not hasattr(a, "matvec"):
        raise TypeError(f"a matrix or an operator on the GPU is needed, got {in_words(a)}")
    if len(a.shape) != 2 or is_square and a.shape[0] != a.shape[1]:
        raise ValueError(f"expected {'square matrix' if is_square else '2D'} (shape: {a.shape})")
    if a.dtype.char not in "fdFD":
        raise TypeError(f"unsupported dtype (actual: {a.dtype})")


def _check_count(k: int, most: int) -> None:
    if not 0 < k < most:
        raise ValueError(f"k must be greater than 0 and smaller than {most} (actual: {k})")


class _Limits:
    """How many vectors CuPy keeps, and how often it begins again: `maxiter` counts products with the matrix."""

    def __init__(self, n: int, k: int, ncv: int | None, maxiter: int | None) -> None:
        wanted = max(2 * k, k + 32) if ncv is None else max(ncv, k + 2)
        self.vectors = min(wanted, max(n - 1, k + 1))
        each = self.vectors - k  # products of a restart
        most = 10 * n if maxiter is None else maxiter
        self.rounds = 1 + max(0, -(-(most - self.vectors) // each))
        self.for_scipy: dict[str, int | None] = {"ncv": None, "maxiter": None}  # SciPy's own, unless the program says
        if ncv is not None or maxiter is not None:
            self.for_scipy["ncv"] = self.vectors
        if maxiter is not None:
            self.for_scipy["maxiter"] = self.rounds


def _unfinished(theirs: Any, k: int, which: str, start: np.ndarray, limits: _Limits) -> tuple[np.ndarray, ...]:
    """Lanczos' method with thick restarts, as CuPy has it, which stops there, whether it has converged or not."""
    basis = (start / np.linalg.norm(start))[:, None]
    for _ in range(limits.rounds):
        while basis.shape[1] < limits.vectors:
            basis = _extended(basis, theirs @ basis[:, -1])
        w, s = np.linalg.eigh(basis.conj().T @ (theirs @ basis))
        chosen = np.argsort({"LM": -abs(w), "LA": -w, "SA": w}[which])[:k]
        w, found = w[chosen], basis @ s[:, chosen]
        following = _extended(basis, theirs @ basis[:, -1])[:, -1:]
        basis = np.concatenate((found, following), 1)
    return w, found


def _extended(basis: np.ndarray, new: np.ndarray) -> np.ndarray:
    """These orthonormal columns, and one more: what's new in `new`."""
    for _ in range(2):  # the second time, for what rounding left
        new = new - basis @ (basis.conj().T @ new)
    length = np.linalg.norm(new)
    if length > 0:
        new = new / length
    return np.concatenate((basis, new[:, None]), 1)


def _unfinished_svd(theirs: Any, k: int, start: np.ndarray, limits: _Limits) -> tuple[np.ndarray, ...]:
    """Singular values from eigenvalues, as CuPy has them."""
    a = scipy.sparse.linalg.aslinearoperator(theirs)
    is_tall = a.shape[0] >= a.shape[1]
    w, x = _unfinished(a.H @ a if is_tall else a @ a.H, k, "LM", start, limits)
    s = np.sqrt(np.maximum(w, 0))
    if is_tall:
        return a @ x / s, s, x.conj().T
    return x, s, (a.H @ x / s).conj().T


def eigsh(
    a: Any, k: int = 6, *, which: str = "LM", v0: Any = None, ncv: Any = None, maxiter: Any = None, tol: float = 0,
    return_eigenvectors: bool = True,
) -> Any:  # fmt: skip
    """The `k` largest eigenvalues of a symmetric matrix, in order, and their vectors; "LA" and "SA" are by sign.

    `ncv` is how many vectors it keeps. After `maxiter` products with the matrix it gives what it has, as CuPy does.
    """
    _check_kind(a, is_square=True)
    _check_count(k, a.shape[0])
    if which not in ("LM", "LA", "SA"):
        raise ValueError(f"which must be 'LM', 'LA' or 'SA' (actual: {which})")
    theirs = for_scipy(a)
    start = np.ones(a.shape[0], a.dtype) if v0 is None else v0.host_values
    limits = _Limits(a.shape[0], k, ncv, maxiter)

    def compute() -> Any:
        try:
            w, v = scipy.sparse.linalg.eigsh(theirs, k, which=which, v0=start, tol=tol, **limits.for_scipy)
        except scipy.sparse.linalg.ArpackNoConvergence:
            w, v = _unfinished(theirs, k, which, start, limits)
        order = np.argsort(w)
        return (w[order], v[:, order]) if return_eigenvectors else w[order]

    return _counted("eigsh", (a,), compute)


def svds(
    a: Any, k: int = 6, *, ncv: Any = None, tol: float = 0, which: str = "LM", maxiter: Any = None,
    return_singular_vectors: bool = True,
) -> Any:  # fmt: skip
    """The `k` largest singular values, and their vectors: u, s, v. `ncv` and `maxiter` are as in `eigsh`."""
    _check_kind(a, is_square=False)
    _check_count(k, min(a.shape))
    if which != "LM":
        raise ValueError(f"which must be 'LM' (actual: {which})")
    theirs = for_scipy(a)
    start = np.ones(min(a.shape), a.dtype)
    limits = _Limits(min(a.shape), k, ncv, maxiter)

    def compute() -> Any:
        try:
            u, s, v = scipy.sparse.linalg.svds(theirs, k, tol=tol, v0=start, **limits.for_scipy)
        except scipy.sparse.linalg.ArpackNoConvergence:
            u, s, v = _unfinished_svd(theirs, k, start, limits)
        order = np.argsort(s)
        return (u[:, order], s[order], v[order]) if return_singular_vectors else s[order]

    return _counted("svds", (a,), compute)


def lobpcg(
    A: Any, X: Any, B: Any = None, M: Any = None, Y: Any = None, tol: Any = None, maxiter: Any = None,
    largest: bool = True, verbosityLevel: int = 0, retLambdaHistory: bool = False,
    retResidualNormsHistory: bool = False,
) -> Any:  # fmt: skip
    """Some of a symmetric matrix's eigenvalues, from approximate vectors X (Knyazev, 2001)."""
    if not isinstance(X, Stored):
        raise TypeError(f"X is a matrix on the GPU, got {in_words(X)}")
    if X.ndim != 2:  # type: ignore[attr-defined]
        raise ValueError(f"expected rank-2 array for argument X, got {in_words(X)}")
    given = [None if x is None else for_scipy(x) for x in (B, M, Y)]
    theirs, start = for_scipy(A), X.host_values.copy()
    options = (tol, maxiter, largest, verbosityLevel, retLambdaHistory, retResidualNormsHistory)
    return _counted("lobpcg", (A, X), lambda: scipy.sparse.linalg.lobpcg(theirs, start, *given, *options))


def norm(x: Any, ord: Any = None, axis: Any = None) -> Any:
    """A norm of a sparse matrix, or of each of its rows or columns."""
    if not isinstance(x, Sparse):
        raise TypeError(f"input is not sparse. use cupy.linalg.norm; got {in_words(x)}")
    if axis is not None and not isinstance(axis, (int, np.integer, tuple)):
        raise TypeError(f"'axis' must be None, an integer or a tuple of integers, got {axis!r}")
    theirs = x.scipys()
    if ord in (2, -2) and (axis is None or isinstance(axis, tuple) and len(axis) == 2):
        raise NotImplementedError("the largest singular value isn't in CuPy")
    return _counted("norm", (x,), lambda: scipy.sparse.linalg.norm(theirs, ord, axis))


def matrix_power(A: Any, power: int) -> Any:
    """A sparse matrix multiplied with itself."""
    if not isinstance(A, Sparse):
        raise TypeError(f"A must be cupyx.scipy.sparse.spmatrix, got {in_words(A)}")
    theirs = A.scipys()
    return _counted("matrix_power", (A,), lambda: scipy.sparse.linalg.matrix_power(theirs, power))
