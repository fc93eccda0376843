"""`LinearOperator`: what multiplies vectors on a GPU, as a matrix does. SciPy's would copy the vectors to the host."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .....functions import get
from .....memory import Stored
from .....refusals import SCALARS
from .....words import in_words
from ..matrices import _spbase as Sparse


class LinearOperator:
    """Something that multiplies vectors of length N to vectors of length M: ``LinearOperator((M, N), matvec)``.

    A class of one's own has ``_matvec`` or ``_matmat``, and perhaps ``_rmatvec`` or ``_adjoint``.
    """

    ndim = 2
    __array_ufunc__ = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls is LinearOperator:
            return object.__new__(_OfFunctions)
        if cls._matvec is LinearOperator._matvec and cls._matmat is LinearOperator._matmat:
            warnings.warn(
                "LinearOperator subclass should implement at least one of _matvec and _matmat.",
                category=RuntimeWarning,
                stacklevel=2,
            )
        return object.__new__(cls)

    def __init__(self, dtype: Any, shape: Any) -> None:
        shape = tuple(shape)
        if len(shape) != 2 or not all([isinstance(n, (int, np.integer)) and n >= 0 for n in shape]):
            raise ValueError(f"invalid shape {shape!r} (must be 2-d)")
        self.dtype = None if dtype is None else np.dtype(dtype)
        self.shape = shape

    def _find_dtype(self) -> None:
        """If no type was given, a product tells it."""
        if self.dtype is None:
            self.dtype = self.matvec(get("zeros")(self.shape[-1])).dtype

    # What a subclass may have. Each is written by way of another one.

    def _matvec(self, x: Any) -> Any:
        return self.matmat(x.reshape(-1, 1))

    def _matmat(self, X: Any) -> Any:
        return np.hstack([self.matvec(column.reshape(-1, 1)) for column in X.T])

    def _rmatvec(self, x: Any) -> Any:
        if type(self)._adjoint is LinearOperator._adjoint:
            raise NotImplementedError("this operator has no rmatvec")
        return self.H.matvec(x)

    def _rmatmat(self, X: Any) -> Any:
        if type(self)._adjoint is LinearOperator._adjoint:
            return np.hstack([self.rmatvec(column.reshape(-1, 1)) for column in X.T])
        return self.H.matmat(X)

    def _adjoint(self) -> Any:
        return _Adjoint(self)

    def _transpose(self) -> Any:
        return _Transposed(self)

    # What a program calls.

    def matvec(self, x: Any) -> Any:
        """The product with a vector, of shape (N,) or (N, 1)."""
        return self._vector(self._matvec, x, *self.shape)

    def rmatvec(self, x: Any) -> Any:
        """The product of the adjoint with a vector, of shape (M,) or (M, 1)."""
        return self._vector(self._rmatvec, x, *self.shape[::-1])

    def _vector(self, product: Callable, x: Any, rows: int, columns: int) -> Any:
        if x.shape not in ((columns,), (columns, 1)):
            raise ValueError(f"dimension mismatch: the operator has shape {self.shape}, the vector {x.shape}")
        y = product(x)
        if x.ndim == 1:
            return y.reshape(rows)
        return y.reshape(rows, 1)

    def matmat(self, X: Any) -> Any:
        """The product with a matrix of N rows."""
        self._check(X, self.shape[1])
        return self._matmat(X)

    def rmatmat(self, X: Any) -> Any:
        """The product of the adjoint with a matrix of M rows."""
        self._check(X, self.shape[0])
        return self._rmatmat(X)

    def _check(self, X: Any, rows: int) -> None:
        if X.ndim != 2 or X.shape[0] != rows:
            raise ValueError(f"expected a 2-d array with {rows} rows, got shape {X.shape}: dimension mismatch")

    def dot(self, x: Any) -> Any:
        """The product with a vector, a matrix, another operator or a number."""
        if isinstance(x, LinearOperator):
            return _Product(self, x)
        if isinstance(x, SCALARS):
            return _Scaled(self, x)
        if x.ndim == 1 or x.ndim == 2 and x.shape[1] == 1:
            return self.matvec(x)
        if x.ndim == 2:
            return self.matmat(x)
        raise ValueError(f"expected 1-d or 2-d array, got {in_words(x)}")

    __mul__ = __call__ = dot

    def __matmul__(self, x: Any) -> Any:
        if isinstance(x, SCALARS):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return self.dot(x)

    def __rmatmul__(self, x: Any) -> Any:
        if isinstance(x, SCALARS):
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        return self.__rmul__(x)

    def __rmul__(self, x: Any) -> Any:
        if isinstance(x, SCALARS):
            return _Scaled(self, x)
        return NotImplemented

    def __pow__(self, p: Any) -> Any:
        if isinstance(p, SCALARS):
            return _Power(self, p)
        return NotImplemented

    def __add__(self, x: Any) -> Any:
        if isinstance(x, LinearOperator):
            return _Sum(self, x)
        return NotImplemented

    def __neg__(self) -> Any:
        return _Scaled(self, -1)

    def __sub__(self, x: Any) -> Any:
        return self + (-x)

    def __repr__(self) -> str:
        dtype = "unspecified dtype" if self.dtype is None else f"dtype={self.dtype}"
        return f"<{self.shape[0]}x{self.shape[1]} {type(self).__name__} with {dtype}>"

    def adjoint(self) -> Any:
        return self._adjoint()

    def transpose(self) -> Any:
        return self._transpose()

    H = property(adjoint)
    T = property(transpose)


class _OfFunctions(LinearOperator):
    """An operator from the functions that multiply."""

    def __init__(
        self, shape: Any, matvec: Any, rmatvec: Any = None, matmat: Any = None, dtype: Any = None, rmatmat: Any = None
    ) -> None:
        super().__init__(dtype, shape)
        self.args = ()
        self._given = {"matvec": matvec, "rmatvec": rmatvec, "matmat": matmat, "rmatmat": rmatmat}
        self._find_dtype()

    def _matvec(self, x: Any) -> Any:
        return self._given["matvec"](x)

    def _rmatvec(self, x: Any) -> Any:
        if self._given["rmatvec"] is None:
            raise NotImplementedError("rmatvec is not defined")
        return self._given["rmatvec"](x)

    def _matmat(self, X: Any) -> Any:
        if self._given["matmat"] is None:
            return super()._matmat(X)
        return self._given["matmat"](X)

    def _rmatmat(self, X: Any) -> Any:
        if self._given["rmatmat"] is None:
            return np.hstack([self.rmatvec(column.reshape(-1, 1)) for column in X.T])
        return self._given["rmatmat"](X)

    def _adjoint(self) -> Any:
        given = self._given
        return _OfFunctions(
            self.shape[::-1], given["rmatvec"], given["matvec"], given["rmatmat"], self.dtype, given["matmat"]
        )


class _OfOperators(LinearOperator):
    """An operator made of others, which are its ``args``."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return object.__new__(cls)

    def __init__(self, *args: Any, shape: Any, dtype: Any = None) -> None:
        self.args = args
        super().__init__(args[0].dtype if dtype is None else dtype, shape)


class _Adjoint(_OfOperators):
    def __init__(self, A: Any) -> None:
        super().__init__(A, shape=A.shape[::-1])
        vars(self).update(_matvec=A._rmatvec, _rmatvec=A._matvec, _matmat=A._rmatmat, _rmatmat=A._matmat)

    def _adjoint(self) -> Any:
        return self.args[0]


def _conjugated(product: Callable) -> Callable:
    return lambda x: np.conj(product(np.conj(x)))


class _Transposed(_OfOperators):
    def __init__(self, A: Any) -> None:
        super().__init__(A, shape=A.shape[::-1])
        vars(self).update(_matvec=_conjugated(A._rmatvec), _rmatvec=_conjugated(A._matvec))
        vars(self).update(_matmat=_conjugated(A._rmatmat), _rmatmat=_conjugated(A._matmat))


class _Sum(_OfOperators):
    def __init__(self, A: Any, B: Any) -> None:
        if A.shape != B.shape:
            raise ValueError(f"cannot add {A!r} and {B!r}: shape mismatch")
        super().__init__(A, B, shape=A.shape, dtype=np.result_type(A.dtype, B.dtype))

    def _each(self, name: str, x: Any) -> Any:
        A, B = self.args
        return getattr(A, name)(x) + getattr(B, name)(x)

    def _matvec(self, x: Any) -> Any:
        return self._each("matvec", x)

    def _rmatvec(self, x: Any) -> Any:
        return self._each("rmatvec", x)

    def _matmat(self, X: Any) -> Any:
        return self._each("matmat", X)

    def _rmatmat(self, X: Any) -> Any:
        return self._each("rmatmat", X)

    def _adjoint(self) -> Any:
        A, B = self.args
        return A.H + B.H


class _Product(_OfOperators):
    def __init__(self, A: Any, B: Any) -> None:
        if A.shape[1] != B.shape[0]:
            raise ValueError(f"cannot multiply {A!r} and {B!r}: shape mismatch")
        shape = (A.shape[0], B.shape[1])
        super().__init__(A, B, shape=shape, dtype=np.result_type(A.dtype, B.dtype))

    def _matvec(self, x: Any) -> Any:
        A, B = self.args
        return A.matvec(B.matvec(x))

    def _rmatvec(self, x: Any) -> Any:
        A, B = self.args
        return B.rmatvec(A.rmatvec(x))

    def _matmat(self, X: Any) -> Any:
        A, B = self.args
        return A.matmat(B.matmat(X))

    def _rmatmat(self, X: Any) -> Any:
        A, B = self.args
        return B.rmatmat(A.rmatmat(X))

    def _adjoint(self) -> Any:
        A, B = self.args
        return B.H * A.H


class _Scaled(_OfOperators):
    def __init__(self, A: Any, alpha: Any) -> None:
        super().__init__(A, alpha, shape=A.shape, dtype=np.result_type(A.dtype, type(alpha)))

    def _matvec(self, x: Any) -> Any:
        A, alpha = self.args
        return alpha * A.matvec(x)

    def _rmatvec(self, x: Any) -> Any:
        A, alpha = self.args
        return np.conj(alpha) * A.rmatvec(x)

    def _matmat(self, X: Any) -> Any:
        A, alpha = self.args
        return alpha * A.matmat(X)

    def _rmatmat(self, X: Any) -> Any:
        A, alpha = self.args
        return np.conj(alpha) * A.rmatmat(X)

    def _adjoint(self) -> Any:
        A, alpha = self.args
        return A.H * np.conj(alpha)


class _Power(_OfOperators):
    def __init__(self, A: Any, p: Any) -> None:
        if A.shape[0] != A.shape[1]:
            raise ValueError(f"square LinearOperator expected, got {A!r}")
        if int(p) != p or p < 0:
            raise ValueError(f"non-negative integer expected as p, got {p!r}")
        super().__init__(A, int(p), shape=A.shape)

    def _several(self, product: Callable, x: Any) -> Any:
        x = x.copy()
        for _ in range(self.args[1]):
            x = product(x)
        return x

    def _matvec(self, x: Any) -> Any:
        return self._several(self.args[0].matvec, x)

    def _rmatvec(self, x: Any) -> Any:
        return self._several(self.args[0].rmatvec, x)

    def _matmat(self, X: Any) -> Any:
        return self._several(self.args[0].matmat, X)

    def _rmatmat(self, X: Any) -> Any:
        return self._several(self.args[0].rmatmat, X)

    def _adjoint(self) -> Any:
        A, p = self.args
        return A.H**p


class MatrixLinearOperator(LinearOperator):
    """A matrix, dense or sparse, as an operator."""

    def __init__(self, A: Any) -> None:
        super().__init__(A.dtype, A.shape)
        self.A = A
        self.args = (A,)
        self._adjoint_of_A: Any = None

    def _matmat(self, X: Any) -> Any:
        return self.A.dot(X)

    def _matvec(self, x: Any) -> Any:
        return self.A.dot(x)

    def _rmatmat(self, X: Any) -> Any:
        return self.H._matmat(X)

    def _rmatvec(self, x: Any) -> Any:
        return self.H._matvec(x)

    def _adjoint(self) -> Any:
        if self._adjoint_of_A is None:
            self._adjoint_of_A = MatrixLinearOperator(self.A.T.conj())
        return self._adjoint_of_A


class IdentityOperator(LinearOperator):
    """What changes nothing."""

    def __init__(self, shape: Any, dtype: Any = None) -> None:
        super().__init__(dtype, shape)

    def _matvec(self, x: Any) -> Any:
        return x

    def _matmat(self, X: Any) -> Any:
        return X

    def _rmatvec(self, x: Any) -> Any:
        return x

    def _rmatmat(self, X: Any) -> Any:
        return X

    def _adjoint(self) -> Any:
        return self


def aslinearoperator(A: Any) -> LinearOperator:
    """A matrix on the GPU, or what has ``shape`` and ``matvec``, as an operator. Raises `TypeError` for all else."""
    if isinstance(A, LinearOperator):
        return A
    if isinstance(A, Stored):
        if A.ndim > 2:  # type: ignore[attr-defined]
            raise ValueError(f"array must have ndim <= 2, got {in_words(A)}")
        return MatrixLinearOperator(np.atleast_2d(A))  # type: ignore[call-overload]
    if isinstance(A, Sparse):
        return MatrixLinearOperator(A)
    if not isinstance(A, np.ndarray) and hasattr(A, "shape") and hasattr(A, "matvec"):
        others = {name: getattr(A, name, None) for name in ("rmatvec", "matmat", "dtype", "rmatmat")}
        return LinearOperator(A.shape, A.matvec, **others)
    raise TypeError(f"aslinearoperator takes a matrix on a GPU or an operator, got {in_words(A)}")
