"""Polynomials by their coefficients, the highest power's first: `poly1d`, `polyadd`, `polyval` and so on."""

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .creation import asarray
from .device import on_device
from .dispatch import call
from .memory import Stored


def _coefficients(x: Any) -> Any:
    if isinstance(x, poly1d):
        return x._coeffs
    if np.isscalar(x):
        return asarray([x])
    if on_device(poly1d, x).host_values.ndim > 1:
        raise ValueError("polynomials on a GPU have one axis of coefficients")
    return call(np.atleast_1d, (x,), {}, x.device)


def _of_polynomials(numpys: Callable) -> Callable:
    @functools.wraps(numpys, assigned=("__name__",), updated=())
    def function(a1: Any, a2: Any) -> Any:
        given = _coefficients(a1), _coefficients(a2)
        out = call(numpys, given, {}, given[0].device)
        if isinstance(a1, poly1d) or isinstance(a2, poly1d):
            return poly1d(out)
        return out

    return function


polyadd, polysub, polymul = map(_of_polynomials, (np.polyadd, np.polysub, np.polymul))


def polyval(p: Any, x: Any) -> Any:
    """The polynomial `p` at each of `x`: numbers, an array, or a polynomial."""
    if isinstance(p, poly1d):
        p = p.coeffs
    if not isinstance(p, Stored) or p.host_values.ndim == 0:
        raise TypeError(f"polyval: unsupported type {type(p).__name__}; it takes arrays of the device and poly1d")
    if p.host_values.ndim > 1:
        raise ValueError("polyval takes coefficients in one axis")
    if isinstance(x, poly1d):
        total = poly1d(p[:1] * 0)  # type: ignore[index]
        for c in p:  # type: ignore[attr-defined]
            total = polyadd(polymul(total, x), c)
        return total
    if not isinstance(x, Stored):
        x = asarray(x)
    if not p.host_values.size:
        return call(np.zeros_like, (x,), {}, x.device)  # type: ignore[attr-defined]
    kind = np.result_type(p.host_values.dtype.type(0), x.host_values)
    if kind.kind == "b":
        return p.any() * x + p[-1]  # type: ignore[attr-defined,index]
    p, x = p.astype(kind, copy=False), x.astype(kind, copy=False)  # type: ignore[attr-defined]
    return call(np.polyval, (p, x), {}, p.device)


def poly(seq_of_zeros: Any) -> Any:
    """The coefficients of the polynomial with these zeros, or of a symmetric matrix's characteristic polynomial."""
    x = seq_of_zeros
    if x.ndim == 2 and x.shape[0] == x.shape[1] and x.size:
        _check_symmetric(x.host_values)
    elif x.ndim != 1:
        raise ValueError("poly takes zeros in one axis, or a square matrix")
    if x.size:
        return call(np.poly, (x,), {}, x.device)
    return 1.0


def roots(p: Any) -> Any:
    """Where the polynomial is 0. As in CuPy, with up to two coefficients, or if its companion matrix is symmetric."""
    if isinstance(p, poly1d):
        p = p.coeffs
    if p.dtype.kind == "b":
        raise NotImplementedError("roots on a GPU takes no booleans (nor does CuPy's)")
    if p.ndim == 0:
        raise TypeError("roots takes coefficients in one axis")
    known = np.trim_zeros(p.host_values, "f")
    if known.size > 2:
        _check_symmetric(np.polynomial.polynomial.polycompanion(known[::-1]))
    elif known.size == 2 and p.size == 2 and known[1] == 0:
        return asarray(np.zeros(1))
    return call(np.roots, (p,), {}, p.device)


def _check_symmetric(matrix: np.ndarray) -> None:
    if not np.array_equal(matrix, matrix.conj().T):
        raise NotImplementedError("on a GPU only symmetric and Hermitian matrices have eigenvalues here (as in CuPy)")


def _operators(function: Callable) -> tuple[Callable, Callable]:
    """``p + x`` and ``x + p``. As in CuPy, the second takes none of NumPy's numbers."""

    def on_the_right(self: Any, other: Any) -> Any:
        if isinstance(other, np.generic):
            raise TypeError("NumPy's numbers before a polynomial are not supported on a GPU (nor in CuPy)")
        if function is polymul and np.isscalar(other):
            other = self._coeffs.dtype.type(other)
        return function(other, self)

    return lambda self, other: function(self, other), on_the_right


class poly1d:  # noqa: N801  (CuPy's name)
    """A polynomial by its coefficients, or with ``r=True`` by its zeros; `variable` is for printing.

    >>> import simgpu as cp
    >>> p = cp.poly1d([1, 2])
    >>> (p * p).coeffs, p(3)
    (array([1, 4, 4])  # Simulated:0, array(5)  # Simulated:0)
    """

    __hash__: Any = None
    __array_ufunc__ = None  # NumPy's numbers leave the operators to this class

    def __init__(self, c_or_r: Any, r: bool = False, variable: str | None = None) -> None:
        self.variable = variable or getattr(c_or_r, "variable", "x")
        if isinstance(c_or_r, (poly1d, np.poly1d)):
            c = c_or_r.coeffs
        elif r:
            c = poly(c_or_r)
        else:
            c = c_or_r
        self._coeffs = asarray(c)
        if self._coeffs.ndim > 1:
            raise ValueError("Polynomial must be 1d only.")
        self._coeffs = self._coeffs.reshape(-1)

    @property
    def coeffs(self) -> Any:
        """The coefficients, without zeros at the beginning. To find these zeros, the host waits for the device."""
        trimmed = call(np.trim_zeros, (self._coeffs, "f"), {}, self._coeffs.device)
        if trimmed.size:
            self._coeffs = trimmed
        else:
            self._coeffs = asarray(np.zeros(1, trimmed.dtype))
        return self._coeffs

    c = coef = coefficients = coeffs
    order = o = property(lambda self: self.coeffs.size - 1)
    r = roots = property(lambda self: roots(self))

    def get(self, stream: Any = None) -> np.poly1d:
        """A copy on the host."""
        return np.poly1d(self.coeffs.get(), variable=self.variable)

    def set(self, polyin: np.poly1d, stream: Any = None) -> None:
        """Take the coefficients and the variable of NumPy's polynomial, which are copied to the device."""
        if not isinstance(polyin, np.poly1d):
            raise TypeError(f"set takes NumPy's poly1d, got {type(polyin).__name__}")
        self.variable = polyin.variable
        self._coeffs.set(polyin.coeffs, stream)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("a polynomial on a device isn't copied to the host by itself: write p.get()")

    def __repr__(self) -> str:
        return repr(self.get())

    def __str__(self) -> str:
        return str(self.get())

    __len__, __iter__ = (lambda self: self.order), (lambda self: iter(self.coeffs))
    __neg__, __pos__ = (lambda self: poly1d(-self.coeffs)), (lambda self: self)
    __add__, __radd__ = _operators(polyadd)
    __sub__, __rsub__ = _operators(polysub)
    _mul, __rmul__ = _operators(polymul)

    def __call__(self, val: Any) -> Any:
        return polyval(self, val)

    def __mul__(self, other: Any) -> Any:
        if np.isscalar(other):
            return poly1d(self.coeffs * other)
        return self._mul(other)

    def __truediv__(self, other: Any) -> Any:
        if not np.isscalar(other):
            raise NotImplementedError("polynomials are only divided by numbers on a GPU")
        return poly1d(self.coeffs / other)

    def __pow__(self, val: Any) -> Any:
        if not isinstance(val, (int, float, np.number)) or int(val) != val or val < 0:  # type: ignore[call-overload]
            raise ValueError("Power to non-negative integers only.")
        base = self.coeffs
        wide = np.promote_types(base.dtype, "f8" if base.dtype.kind == "f" or base.dtype == "u8" else int)
        base = base.astype(np.complex128 if base.dtype.kind == "c" else wide, copy=False)
        return poly1d(functools.reduce(polymul, [base] * operator.index(val)) if val else 1)  # type: ignore[arg-type]

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, poly1d):
            raise NotImplementedError("a polynomial is only compared with polynomials")
        a, b = self.coeffs, other.coeffs
        return a.shape == b.shape and bool((a == b).all())

    def __getitem__(self, val: int) -> Any:
        if 0 <= val < self._coeffs.size:
            return self._coeffs[-val - 1]
        return 0

    def __setitem__(self, key: int, val: Any) -> None:
        if key < 0:
            raise ValueError("Negative powers are not supported.")
        if (more := key - self._coeffs.size + 1) > 0:
            self._coeffs = call(np.pad, (self._coeffs, (more, 0)), {}, self._coeffs.device)
        self._coeffs[-key - 1] = val
