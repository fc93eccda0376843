"""Least squares, step by step: lsmr. D. C.-L. Fong and M. A. Saunders, SIAM J. Sci. Comput. 33, 2011.

Names are the paper's: `alpha`, `beta` and `theta` of the bidiagonal matrices, rotations (c, s, rho), `zeta`.
"""

import math
from typing import Any

import numpy as np

from .....functions import get
from .interface import aslinearoperator
from .iterative import norm_of


def _rotation(a: float, b: float) -> tuple[float, float, float]:
    """c, s and r with ``c a + s b = r`` and ``s a = c b``."""
    r = math.hypot(a, b)
    if r == 0:
        return 1.0, 0.0, 0.0
    return a / r, b / r, r


class _Estimates:
    """What's known of the residual and the matrix after each step: section 3 of the paper."""

    def __init__(self, alpha: float, beta: float) -> None:
        self.betadd, self.betad, self.rhodold, self.tautildeold, self.thetatilde = beta, 0.0, 1.0, 0.0, 0.0
        self.d = 0.0
        self.normA2, self.maxrbar, self.minrbar = alpha**2, 0.0, 1e100
        self.normr, self.normA, self.condA = beta, math.sqrt(alpha**2), 1.0

    def residual(
        self, chat: float, shat: float, c: float, s: float, thetabar: float, rhobar: float, zeta: float, zetaold: float
    ) -> None:
        betaacute, betacheck = chat * self.betadd, -shat * self.betadd
        betahat = c * betaacute
        self.betadd = -s * betaacute
        thetatildeold = self.thetatilde
        ctilde, stilde, rhotilde = _rotation(self.rhodold, thetabar)
        self.thetatilde, self.rhodold = stilde * rhobar, ctilde * rhobar
        self.betad = -stilde * self.betad + ctilde * betahat
        self.tautildeold = (zetaold - thetatildeold * self.tautildeold) / rhotilde
        taud = (zeta - self.thetatilde * self.tautildeold) / self.rhodold
        self.d += betacheck**2
        self.normr = math.sqrt(self.d + (self.betad - taud) ** 2 + self.betadd**2)

    def matrix(self, alpha: float, beta: float, rhobarold: float, rhotemp: float, count: int) -> None:
        self.normA2 += beta**2
        self.normA = math.sqrt(self.normA2)
        self.normA2 += alpha**2
        self.maxrbar = max(self.maxrbar, rhobarold)
        if count > 1:
            self.minrbar = min(self.minrbar, rhobarold)
        self.condA = max(self.maxrbar, rhotemp) / min(self.minrbar, rhotemp)


def _reason(known: _Estimates, normar: float, normb: float, normx: float, atol: float, btol: float, ctol: float) -> int:
    """Why to stop after this step: 1 to 6, or 0 to go on."""
    test1 = known.normr / normb
    test2 = normar / (known.normA * known.normr) if known.normA * known.normr else math.inf
    test3 = 1 / known.condA
    t1 = test1 / (1 + known.normA * normx / normb)
    rtol = btol + atol * known.normA * normx / normb
    reached = {
        1: test1 <= rtol, 2: test2 <= atol, 3: test3 <= ctol, 4: 1 + t1 <= 1, 5: 1 + test2 <= 1, 6: 1 + test3 <= 1
    }  # fmt: skip
    return next((reason for reason, is_reached in reached.items() if is_reached), 0)


class _Vectors:
    """The vectors of the bidiagonal matrices, on the GPU: u and v, and the numbers that they were divided by."""

    def __init__(self, A: Any, u: Any, x: Any) -> None:
        self.A, self.u, self.v = A, u, np.zeros_like(x)
        self.beta, self.alpha = float(norm_of(u)), 0.0
        self._divide(0.0)

    def advance(self) -> None:
        """The next u, beta, v and alpha."""
        self.u = self.A.matvec(self.v) - self.alpha * self.u
        self.beta = float(norm_of(self.u))
        self._divide(self.beta)

    def _divide(self, beta: float) -> None:
        if self.beta == 0:
            return
        self.u = self.u / self.beta
        self.v = self.A.rmatvec(self.u) - beta * self.v
        self.alpha = float(norm_of(self.v))
        if self.alpha > 0:
            self.v = self.v / self.alpha


def _start(A: Any, b: Any, x0: Any) -> tuple[Any, Any]:
    """The first x, and what's left of b."""
    if b.ndim != 1 or b.size != A.shape[0]:
        raise ValueError(f"b has incompatible dimensions: {b.shape} for a matrix of shape {A.shape}")
    dtype = np.result_type(*[x.dtype for x in (A, b, x0) if x is not None], float)
    if x0 is None:
        return get("zeros")(A.shape[1], dtype=dtype), b
    x = x0.squeeze().astype(dtype)
    if x.shape != (A.shape[1],):
        raise ValueError(f"x0 has incompatible dimensions: {x.shape} for a matrix of shape {A.shape}")
    return x, b - A.matvec(x)


def lsmr(
    A: Any, b: Any, x0: Any = None, damp: float = 0.0, atol: float = 1e-6, btol: float = 1e-6, conlim: float = 1e8,
    maxiter: Any = None,
) -> Any:  # fmt: skip
    """The x for which ``A x - b`` is smallest; with `damp`, together with ``damp x``.

    Returns x, why it stopped (as SciPy numbers it), the number of steps, and the norms of the residual, of
    ``A* (b - A x)``, of A, its condition, and the norm of x.
    """
    A = aslinearoperator(A)
    b = b.squeeze()
    x, u = _start(A, b, x0)
    normb = float(norm_of(b))
    maxiter = 5 * min(A.shape) if maxiter is None else maxiter
    ctol = 1 / conlim if conlim and conlim > 0 else 0.0
    vectors = _Vectors(A, u, x)
    known = _Estimates(vectors.alpha, vectors.beta)
    alphabar, zetabar = vectors.alpha, vectors.alpha * vectors.beta
    rho = rhobar = cbar = 1.0
    sbar = zeta = normx = 0.0
    h, hbar = vectors.v, np.zeros_like(x)
    if zetabar == 0 or normb == 0:
        x = x if normb else np.zeros_like(x)
        return x, 0, 0, vectors.beta, zetabar, known.normA, known.condA, normx
    reason = count = 0
    while count < maxiter and not reason:
        count += 1
        vectors.advance()
        chat, shat, alphahat = _rotation(alphabar, damp or 0.0)
        rhoold, rhobarold, zetaold = rho, rhobar, zeta
        c, s, rho = _rotation(alphahat, vectors.beta)
        thetanew, alphabar = s * vectors.alpha, c * vectors.alpha
        thetabar, rhotemp = sbar * rho, cbar * rho
        cbar, sbar, rhobar = _rotation(cbar * rho, thetanew)
        zeta, zetabar = cbar * zetabar, -sbar * zetabar
        hbar = h - thetabar * rho / (rhoold * rhobarold) * hbar
        x = x + zeta / (rho * rhobar) * hbar
        h = vectors.v - thetanew / rho * h
        known.residual(chat, shat, c, s, thetabar, rhobar, zeta, zetaold)
        known.matrix(vectors.alpha, vectors.beta, rhobarold, rhotemp, count)
        normx = float(norm_of(x))
        reason = _reason(known, abs(zetabar), normb, normx, atol, btol, ctol)
    return x, reason or 7, count, known.normr, abs(zetabar), known.normA, known.condA, normx
