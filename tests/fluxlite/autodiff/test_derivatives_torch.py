"""PyTorch as a second opinion on NumPy's functions, also at corners, where differences say nothing."""

import numpy as np
import pytest
from gradcheck import check_against_torch

import fluxlite as fl

torch = pytest.importorskip("torch")

RNG = np.random.default_rng(0)
X, Y = RNG.uniform(0.5, 2, (3, 4)), RNG.uniform(0.5, 2, (4, 3))
SQUARE = RNG.uniform(-0.5, 0.5, (2, 3, 3)) + 2 * np.eye(3)
TIES = np.array([[2.0, 0.0, -1.0, 2.0], [0.0, 0.0, -1.0, -1.0], [3.0, 3.0, 3.0, 0.0]])
INDEX = np.array([[0, 0, 2, 1], [1, 1, 1, 1]])

TABLE = {
    "abs at 0": (np.abs, torch.abs, TIES),
    "sign at 0": (np.sign, torch.sign, TIES),
    "maximum of equals": (np.maximum, torch.maximum, TIES, TIES[::-1].copy()),
    "minimum of equals": (np.minimum, torch.minimum, TIES, TIES[::-1].copy()),
    "max of equals": (lambda x: np.max(x, axis=1), lambda x: torch.amax(x, 1), TIES),
    "min of equals": (lambda x: np.min(x, axis=0), lambda x: torch.amin(x, 0), TIES),
    "clip at its bounds": (lambda x: np.clip(x, -1, 2), lambda x: torch.clamp(x, -1, 2), TIES),
    "prod with zeros": (lambda x: np.prod(x, axis=1), lambda x: torch.prod(x, 1), TIES),
    "power of 0": (lambda x: x**2.0 + x**0 + x**1, lambda x: x**2.0 + x**0 + x**1, TIES),
    "array to the array": (np.power, torch.pow, np.array([0.0, 0.0, 2.0]), np.array([1.0, 2.0, 0.0])),
    "remainder": (np.remainder, torch.remainder, TIES + 0.3, Y.T.copy()),
    "fmod": (np.fmod, torch.fmod, TIES + 0.3, Y.T.copy()),
    "norm at 0": (lambda x: np.linalg.norm(x, axis=0), lambda x: torch.linalg.norm(x, dim=0), TIES * [1, 1, 0, 1]),
    "3-norm at 0": (lambda x: np.linalg.norm(x, 3, 0), lambda x: torch.linalg.norm(x, 3, 0), TIES * [1, 1, 0, 1]),
    "std of equals": (lambda x: np.std(x, 0, ddof=1), lambda x: torch.std(x, 0), TIES * [1, 1, 0, 1]),
    "var": (lambda x: np.var(x, axis=1), lambda x: torch.var(x, 1, correction=0), X),
    "arctan2": (np.arctan2, torch.arctan2, X, Y.T.copy()),
    "hypot": (np.hypot, torch.hypot, X, Y.T.copy()),
    "logaddexp": (np.logaddexp, torch.logaddexp, X, Y.T.copy()),
    "fmax": (np.fmax, torch.fmax, np.array([1.0, np.nan, 2.0]), np.array([np.nan, 1.0, 3.0])),
    "matmul": (np.matmul, torch.matmul, X, Y),
    "matmul of batches": (np.matmul, torch.matmul, SQUARE, Y[:3]),
    "einsum": (
        lambda x, y: np.einsum("ij,ji,jk->k", x, y, y),
        lambda x, y: torch.einsum("ij,ji,jk->k", x, y, y),
        X,
        Y,
    ),
    "kron": (np.kron, lambda x, y: torch.kron(x, y), X, Y),
    "solve": (np.linalg.solve, torch.linalg.solve, SQUARE, X[:, :2].copy()),
    "inv": (np.linalg.inv, torch.linalg.inv, SQUARE),
    "det": (np.linalg.det, torch.linalg.det, SQUARE),
    "logabsdet": (lambda x: np.linalg.slogdet(x)[1], lambda x: torch.linalg.slogdet(x)[1], SQUARE),
    "cholesky": (
        lambda x: np.linalg.cholesky(x @ np.swapaxes(x, -1, -2)),
        lambda x: torch.linalg.cholesky(x @ x.mT),
        SQUARE,
    ),
    "cumprod with zeros": (lambda x: np.cumprod(x, axis=1), lambda x: torch.cumprod(x, 1), TIES),
    "amax of NaN": (lambda x: np.max(x, 1), lambda x: torch.amax(x, 1), np.array([[1.0, np.nan], [1.0, 3.0]])),
    "maximum of NaN": (np.maximum, torch.maximum, np.array([1.0, np.nan, 2.0]), np.array([np.nan, 1.0, 3.0])),
    "relu of NaN": (fl.relu, torch.relu, np.array([np.nan, 1.0, -1.0])),
    "relu6 of NaN": (fl.relu6, torch.nn.functional.relu6, np.array([np.nan, 1.0, 7.0])),
    "hardtanh of NaN": (fl.hardtanh, torch.nn.functional.hardtanh, np.array([np.nan, 0.5, 7.0])),
    "softshrink of NaN": (fl.softshrink, torch.nn.functional.softshrink, np.array([np.nan, 0.7, 0.1])),
    "nansum": (np.nansum, torch.nansum, np.array([[1.0, np.nan], [2.0, 3.0]])),
    "nanmean": (lambda x: np.nanmean(x, 0), lambda x: torch.nanmean(x, 0), np.array([[1.0, np.nan], [2.0, 3.0]])),
    "quantile": (lambda x: np.quantile(x, 0.3, 1), lambda x: torch.quantile(x, 0.3, 1), X),
    "median of an odd number": (np.median, torch.median, X[:, :3].copy()),
    "sinc": (np.sinc, torch.sinc, TIES),
    "copysign": (np.copysign, torch.copysign, TIES, X),
    "cov": (np.cov, torch.cov, X),
    "corrcoef": (np.corrcoef, torch.corrcoef, X),
    "cross": (np.cross, torch.linalg.cross, SQUARE[0], SQUARE[1]),
    "trapezoid": (lambda y, x: np.trapezoid(y, x, axis=1), lambda y, x: torch.trapezoid(y, x, dim=1), X, Y.T.copy()),
    "gradient": (lambda x: np.gradient(x, axis=1), lambda x: torch.gradient(x, dim=1)[0], X),
    "vecdot": (np.vecdot, torch.linalg.vecdot, X, Y.T.copy()),
    "vector norm": (
        lambda x: np.linalg.vector_norm(x, ord=3, axis=(0, 1)),
        lambda x: torch.linalg.vector_norm(x, 3, (0, 1)),
        X,
    ),
    "nuclear norm": (lambda x: np.linalg.norm(x, "nuc"), lambda x: torch.linalg.matrix_norm(x, "nuc"), X),
    "spectral norm": (lambda x: np.linalg.norm(x, 2), lambda x: torch.linalg.matrix_norm(x, 2), X),
    "matrix power": (lambda x: np.linalg.matrix_power(x, 5), lambda x: torch.linalg.matrix_power(x, 5), SQUARE),
    "multi_dot": (lambda x, y: np.linalg.multi_dot([x, y, x]), lambda x, y: torch.linalg.multi_dot([x, y, x]), X, Y),
    "pinv": (np.linalg.pinv, torch.linalg.pinv, X),
    "eigvalsh": (np.linalg.eigvalsh, torch.linalg.eigvalsh, SQUARE + np.swapaxes(SQUARE, 1, 2)),
    "eigh": (
        lambda x: np.linalg.eigh(x)[1] ** 2,
        lambda x: torch.linalg.eigh(x)[1] ** 2,
        SQUARE + np.swapaxes(SQUARE, 1, 2),
    ),
    "svd": (
        lambda x: (lambda u, s, vh: u**2 @ (s[:, None] * vh**2))(*np.linalg.svd(x, full_matrices=False)),
        lambda x: (lambda u, s, vh: u**2 @ (s[:, None] * vh**2))(*torch.linalg.svd(x, full_matrices=False)),
        X,
    ),
    "svdvals": (np.linalg.svdvals, torch.linalg.svdvals, X),
    "bincount": (
        lambda x: np.bincount([0, 2, 2, 1], x),
        lambda x: torch.zeros(3, dtype=torch.float64).index_add(0, torch.tensor([0, 2, 2, 1]), x),
        X[0],
    ),
    "cumsum": (lambda x: np.cumsum(x, axis=1), lambda x: torch.cumsum(x, 1), X),
    "sort": (lambda x: np.sort(x, axis=0), lambda x: torch.sort(x, 0)[0], X),
    "take_along_axis": (
        lambda x: np.take_along_axis(x, INDEX, 0),
        lambda x: torch.gather(x, 0, torch.tensor(INDEX)),
        X,
    ),
    "repeat": (lambda x: np.repeat(x, [1, 0, 3], 0), lambda x: x.repeat_interleave(torch.tensor([1, 0, 3]), 0), X),
    "indexing": (lambda x: x[[0, 2, 0], 1:], lambda x: x[[0, 2, 0], 1:], X),
    "tile": (lambda x: np.tile(x, (2, 2)), lambda x: torch.tile(x, (2, 2)), X),
    "where": (lambda x: np.where(X > 1, x, -x), lambda x: torch.where(torch.tensor(X > 1), x, -x), X),
}


@pytest.mark.parametrize("f, f_torch, arrays", [(f, t, xs) for f, t, *xs in TABLE.values()], ids=TABLE)
def test_function(f, f_torch, arrays):
    check_against_torch(f, f_torch, *arrays, tolerance=1e-8)


def test_a_wrong_one_is_noticed():
    with pytest.raises(AssertionError, match="value"):
        check_against_torch(np.sin, torch.cos, X)
    with pytest.raises(AssertionError, match="gradient of operand 0"):
        check_against_torch(np.abs, lambda x: torch.relu(x) + torch.relu(-x).detach(), TIES)
