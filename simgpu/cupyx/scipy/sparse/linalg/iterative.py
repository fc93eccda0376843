"""Solvers that multiply with a matrix again and again. They run on arrays of the GPU, so a receipt counts each step.

SciPy's own would copy the vectors to the host. Each function names the paper that has its steps.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .....functions import get
from .....launches import Commands
from .....memory import Stored
from .....words import in_words
from .interface import IdentityOperator, LinearOperator, aslinearoperator

_BY_CUBLAS = Commands(1, library=True)


def norm_of(x: Any) -> Any:
    """A vector's length, by cuBLAS: one kernel. It stays on the GPU."""
    device = x.device.begin()
    made = device.new(device.compute(np.linalg.norm, x.host_values))
    device.issue("nrm2", _BY_CUBLAS, x.nbytes, 0, 2.0 * x.size, x.dtype.char)
    return made


def inner(x: Any, y: Any) -> Any:
    """``x* · y``, by cuBLAS: one kernel. It stays on the GPU."""
    device = x.device.begin()
    made = device.new(device.compute(np.vdot, x.host_values, y.host_values))
    device.issue("dotc", _BY_CUBLAS, x.nbytes + y.nbytes, 0, 2.0 * x.size, x.dtype.char)
    return made


def system(A: Any, b: Any, x0: Any, M: Any) -> tuple[LinearOperator, LinearOperator, Any, Any]:
    """The operator, the preconditioner, the start and the right side, after a look at their shapes and types."""
    A = aslinearoperator(A)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"expected square matrix (shape: {A.shape})")
    if A.dtype.char not in "fdFD":
        raise TypeError(f"unsupported dtype (actual: {A.dtype})")
    n = A.shape[0]
    _check_vector("b", b, n)
    if x0 is None:
        x = get("zeros")(n, dtype=A.dtype)
    else:
        _check_vector("x0", x0, n)
        x = x0.astype(A.dtype).ravel()
    M = IdentityOperator(A.shape, A.dtype) if M is None else aslinearoperator(M)
    if M.shape != A.shape:
        raise ValueError(f"matrix and preconditioner have different shapes: {A.shape} and {M.shape}")
    return A, M, x, b.astype(A.dtype).ravel()


def _check_vector(name: str, x: Any, n: int) -> None:
    if not isinstance(x, Stored):
        raise TypeError(f"{name} is a vector on the GPU, got {in_words(x)}")
    if x.shape not in ((n,), (n, 1)):  # type: ignore[attr-defined]
        raise ValueError(f"{name} has incompatible dimensions: {x.shape} for {n} equations")  # type: ignore[attr-defined]


def _solve(
    steps: Callable, A: Any, b: Any, x0: Any, rtol: float, atol: Any, maxiter: Any, M: Any, callback: Any
) -> Any:
    """The solution and 0, or the number of steps if they weren't enough. `steps` gives x and the residual each time."""
    A, M, x, b = system(A, b, x0, M)
    if not b.size:
        return np.empty_like(b), 0
    size = norm_of(b)
    if size == 0:
        return b, 0
    enough = max(float(atol or 0), rtol * float(size))
    maxiter = 10 * b.size if maxiter is None else maxiter
    r = b - A.matvec(x)
    for count, (found, residual) in enumerate(steps(A, M, x, r), 1):
        if callback is not None:
            callback(found)
        is_enough = bool(norm_of(residual) <= enough)  # the host waits for it
        if is_enough or count >= maxiter:
            return found, 0 if is_enough else count
    raise AssertionError("the steps have no end")


def _cg(A: Any, M: Any, x: Any, r: Any) -> Any:
    p: Any = None
    rho: Any = None
    while True:
        z = M.matvec(r)
        before, rho = rho, inner(r, z)
        p = z if p is None else z + rho / before * p
        q = A.matvec(p)
        alpha = rho / inner(p, q)
        x = x + alpha * p
        r = r - alpha * q
        yield x, r


def cg(
    A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, maxiter: Any = None, M: Any = None,
    callback: Any = None,
) -> Any:  # fmt: skip
    """Solve ``A x = b`` by conjugate gradients, for a positive definite matrix (Hestenes and Stiefel, 1952)."""
    return _solve(_cg, A, b, x0, rtol, atol, maxiter, M, callback)


def _cgs(A: Any, M: Any, x: Any, r: Any) -> Any:
    shadow = r
    rho: Any = None
    p: Any = None
    q: Any = None
    while True:
        before, rho = rho, inner(shadow, r)
        if before is None:
            u = p = r
        else:
            beta = rho / before
            u = r + beta * q
            p = u + beta * (q + beta * p)
        v = A.matvec(M.matvec(p))
        alpha = rho / inner(shadow, v)
        q = u - alpha * v
        both = M.matvec(u + q)
        x = x + alpha * both
        r = r - alpha * A.matvec(both)
        yield x, r


def cgs(
    A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, maxiter: Any = None, M: Any = None,
    callback: Any = None,
) -> Any:  # fmt: skip
    """Solve ``A x = b`` by squared conjugate gradients (Sonneveld, 1989)."""
    return _solve(_cgs, A, b, x0, rtol, atol, maxiter, M, callback)


def _bicgstab(A: Any, M: Any, x: Any, r: Any) -> Any:
    shadow = r
    rho: Any = None
    p = v = alpha = omega = rho
    while True:
        before, rho = rho, inner(shadow, r)
        p = r if before is None else r + rho / before * (alpha / omega) * (p - omega * v)
        y = M.matvec(p)
        v = A.matvec(y)
        alpha = rho / inner(shadow, v)
        s = r - alpha * v
        z = M.matvec(s)
        t = A.matvec(z)
        omega = inner(t, s) / inner(t, t)
        x = x + alpha * y + omega * z
        r = s - omega * t
        yield x, r


def bicgstab(
    A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, maxiter: Any = None, M: Any = None,
    callback: Any = None,
) -> Any:  # fmt: skip
    """Solve ``A x = b`` by stabilized biconjugate gradients (van der Vorst, 1992)."""
    return _solve(_bicgstab, A, b, x0, rtol, atol, maxiter, M, callback)


def gmres(
    A: Any, b: Any, x0: Any = None, *, rtol: float = 1e-5, atol: float = 0.0, restart: Any = None, maxiter: Any = None,
    M: Any = None, callback: Any = None, callback_type: Any = None,
) -> Any:  # fmt: skip
    """Solve ``A x = b`` by the smallest residual in a growing space (Saad and Schultz, 1986).

    The small equation for each round's coefficients is solved on the host, as CuPy does.
    """
    if callback_type not in (None, "x", "pr_norm"):
        raise ValueError(f"Unknown callback_type: {callback_type}")
    A, M, y, b = system(A, b, x0, M)
    if not b.size:
        return np.empty_like(b), 0
    size = norm_of(b)
    if size == 0:
        return b, 0
    enough = max(float(atol or 0), rtol * float(size))
    maxiter = 10 * b.size if maxiter is None else maxiter
    restart = min(20 if restart is None else restart, b.size)
    count = 0
    while True:  # x is M y
        x = M.matvec(y)
        r = b - A.matvec(x)
        residual = norm_of(r)
        if callback is not None and callback_type == "x":
            callback(x)
        elif callback is not None and count:
            callback(residual / size)
        is_enough = bool(residual <= enough)
        if is_enough or count >= maxiter:
            return x, 0 if is_enough else count
        y = y + _best_in_space(A, M, r / residual, residual, restart)
        count += restart


def _best_in_space(A: Any, M: Any, v: Any, residual: Any, steps: int) -> Any:
    """What to add: of all that's spanned by v, A v, A² v and so on, what leaves the smallest residual."""
    V = get("empty")((v.size, steps), dtype=v.dtype, order="F")
    H = get("zeros")((steps + 1, steps), dtype=v.dtype, order="F")
    V[:, 0] = v
    for j in range(steps):
        u = A.matvec(M.matvec(v))
        known = V[:, : j + 1]
        h = known.conj().T @ u
        u = u - known @ h
        H[: j + 1, j] = h
        length = norm_of(u)
        H[j + 1, j] = length
        if j + 1 < steps:
            v = u / length
            V[:, j + 1] = v
    right = np.zeros(steps + 1, v.dtype)
    right[0] = residual.get()
    small = np.nan_to_num(H.get())
    found = np.linalg.lstsq(small, right, rcond=None)[0]
    return V @ get("asarray")(found.astype(v.dtype))


def minres(
    A: Any, b: Any, x0: Any = None, shift: float = 0.0, tol: float = 1e-5, maxiter: Any = None, M: Any = None,
    callback: Any = None, check: bool = False,
) -> Any:  # fmt: skip
    """Solve ``(A - shift I) x = b`` for a symmetric matrix, by the smallest residual (Paige and Saunders, 1975).

    Raises `ValueError` for a preconditioner that isn't positive definite.
    """
    A, M, x, b = system(A, b, x0, M)
    maxiter = 5 * b.size if maxiter is None else maxiter
    x = x.astype(np.result_type(x.dtype, np.float64))  # CuPy's coefficients are the host's, in double precision
    v = b - A.matvec(x) + shift * x
    z = M.matvec(v)
    beta2 = float(inner(v, z).real)
    if beta2 < 0:
        raise ValueError("indefinite preconditioner")
    if check:
        _check_symmetric("matrix", A, v)
        _check_symmetric("preconditioner", M, v)
    size = float(norm_of(b))
    if beta2 == 0 or size == 0:
        return (b if size == 0 else x), 0
    beta, eta, before = math.sqrt(beta2), math.sqrt(beta2), 1.0
    c = c0 = 1.0
    s = s0 = 0.0
    v0 = w = w0 = np.zeros_like(v)
    count, enough = 0, tol * size
    while count < maxiter:
        z = z / beta
        q = A.matvec(z) - shift * z
        delta = float(inner(z, q).real)
        v, v0 = q - delta / beta * v - beta / before * v0, v
        z_new = M.matvec(v)
        before, beta = beta, math.sqrt(max(0.0, float(inner(v, z_new).real)))
        a1 = c * delta - c0 * s * before
        a2 = s * delta + c0 * c * before
        a3 = s0 * before
        length = math.hypot(a1, beta) or np.finfo(A.dtype).eps
        c0, c, s0, s = c, a1 / length, s, beta / length
        w, w0 = (z - a3 * w0 - a2 * w) / length, w
        x = x + c * eta * w
        eta *= -s
        z = z_new
        count += 1
        if callback is not None:
            callback(x)
        if abs(eta) <= enough or beta == 0:
            return x, 0
    return x, count


def _check_symmetric(what: str, A: Any, v: Any) -> None:
    """Raises `ValueError` unless ``A v · A v`` is ``v · A A v``."""
    product = A.matvec(v)
    one, other = float(inner(product, product).real), float(inner(v, A.matvec(product)).real)
    eps = np.finfo(v.dtype).eps
    if abs(one - other) > (one + eps) * eps ** (1 / 3):
        raise ValueError(f"non-symmetric {what}")
