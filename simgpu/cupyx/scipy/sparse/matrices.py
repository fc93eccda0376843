"""Sparse matrices and arrays on a GPU: csr, csc, coo and dia. SciPy computes, with the host's values of their arrays.

A matrix (`csr_matrix`) multiplies with ``*``, an array (`csr_array`) element by element. Their ``data`` and indices are
arrays of the GPU, and so is what their methods return. ``tables/sparse.toml`` says what a method launches.
"""

import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse

from ....launches import ONE, Commands
from ....memory import Stored
from ....refusals import SCALARS, refusal
from ....words import in_words, word_set
from ..bridge import WRAPPERS, Call, Wrapped, table

TYPES = "?fdFD"  # of a matrix's numbers: what cuSPARSE computes with
_ROWS = table("sparse")["methods"]
_PRODUCT = Commands(1, memsets=1, library=True)


def check_type(dtype: Any) -> None:
    """Raises `ValueError` for a type that cuSPARSE hasn't got."""
    if np.dtype(dtype).char not in TYPES:
        raise ValueError(
            f"Only bool, float32, float64, complex64 and complex128 are supported in sparse matrices, got {dtype}"
        )


def _commands(name: str) -> Commands:
    row = _ROWS.get(name)
    if row is None:
        return ONE
    return Commands(row.launches, reads=row.waits)


def check_operand(name: str, x: Any, device: Any) -> None:
    """Raises `TypeError` for a host array, or for one of SciPy's matrices."""
    if isinstance(x, np.ndarray) and x.ndim:
        raise refusal(_named(name), x, device, alone=True)
    if scipy.sparse.issparse(x):
        raise TypeError(
            f"{name}: unsupported {type(x).__name__} of SciPy; it takes sparse matrices on {device}. Move it there "
            f"first: cupyx.scipy.sparse.{type(x).__name__}(x)"
        )


def _ndim(x: Any) -> int:
    """How many axes an array or a number has."""
    return np.ndim(x)


def _named(name: str) -> Any:
    return types.SimpleNamespace(__name__=name)


def _method(name: str) -> Any:
    """SciPy's method of this name, for a matrix on a GPU."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return self._call(name, args, kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"SciPy's method `{name}`, on the GPU."
    return method


def _in_place(name: str) -> Any:
    """SciPy's method of this name, which changes the matrix itself."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        self._change(name, args, kwargs)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"SciPy's method `{name}`, on the GPU: it changes the matrix."
    return method


def _operator(name: str) -> Any:
    """An operator. NotImplemented for what isn't on the GPU: then the other operand may know, or Python raises."""

    def method(self: Any, other: Any) -> Any:
        if not isinstance(other, (Wrapped, Stored, *SCALARS)):
            if isinstance(other, np.ndarray) or scipy.sparse.issparse(other):
                check_operand(name.strip("_"), other, self.device)
            return NotImplemented
        if name in COMPARISONS:
            other = self._stretched(name.strip("_"), other)
        if self._is_product(name, other):
            return self._times_dense(name, other)
        return self._call(name, (other,), {})

    method.__name__ = method.__qualname__ = name
    return method


class _spbase(Wrapped):  # noqa: N801  (CuPy's name)
    """What all sparse matrices and arrays have in common."""

    __array_priority__ = 101
    __array_ufunc__ = None  # an array on the GPU asks a matrix to compute
    __hash__ = None  # type: ignore[assignment]
    __class_getitem__: Any = classmethod(types.GenericAlias)
    format = ""
    maxprint = 50
    _parts: tuple[str, ...] = ()  # its arrays, by SciPy's names
    _scipys: Any
    _shape: tuple[int, ...]
    data: Any
    __getitem__: Any
    __mul__: Any
    __matmul__: Any

    def __init__(
        self, arg1: Any, shape: Any = None, dtype: Any = None, copy: bool = False, *, maxprint: int | None = None
    ) -> None:
        if maxprint is not None:
            self.maxprint = maxprint
        call = Call(f"sparse.{type(self).__name__}", (arg1,), {})
        if shape is not None:
            shape = tuple(map(int, shape))
            self._check_axes(arg1, shape)
        if dtype is not None:
            check_type(dtype)
        if scipy.sparse.issparse(arg1):
            made = self._scipys(arg1, shape=shape, dtype=dtype)
            check_type(made.dtype)
            self._upload(made, call)
            return
        self._check_source(arg1)
        made = call.compute(self._scipys, call.plain(arg1), shape=shape, dtype=dtype, copy=copy)
        check_type(made.dtype)
        new: list[Any] = []
        self._keep(made, call, new)
        from_parts = isinstance(arg1, tuple) and len(arg1) == 3 and self.format in ("csr", "csc")
        if from_parts:  # the host looks at both ends of indptr: CuPy's sparse/_compressed.py:292
            call.count(Commands(1, reads=(16,)), new)
        elif isinstance(arg1, Stored):
            call.count(_commands("from dense"), new)
        elif new and not isinstance(arg1, tuple):
            call.count(Commands(len(new)), new)

    @staticmethod
    def _check_axes(arg1: Any, shape: tuple) -> None:
        """Raises `ValueError` if a whole matrix is given, and a shape with another number of axes."""
        if isinstance(arg1, (Wrapped, Stored)) and arg1.ndim and arg1.ndim != len(shape):  # type: ignore[union-attr]
            raise ValueError(f"the shape {shape} has {len(shape)} axes, and what's given has {arg1.ndim}")  # type: ignore[union-attr]

    def _check_source(self, arg1: Any) -> None:
        """Raises an error for what a matrix on a GPU can't be made of."""
        if isinstance(arg1, (Stored, Wrapped)):
            if isinstance(arg1, Stored) and arg1.ndim > 2:  # type: ignore[attr-defined]
                raise ValueError(f"expected dimension <= 2 array or matrix, got {in_words(arg1)}")
            return
        if not isinstance(arg1, tuple):
            raise ValueError(f"Unsupported initializer format: {in_words(arg1)}. It takes arrays on a GPU")
        numbers = [isinstance(x, (int, np.integer)) for x in arg1]
        if all(numbers):
            return
        parts = [*arg1]
        if len(parts) == 2 and isinstance(parts[1], (list, tuple)):
            parts[1:] = parts[1]
        if not all([isinstance(x, Stored) for x in parts]) and self.format != "dia":
            raise ValueError(f"{', '.join(self._parts)} must be 1-D arrays on a GPU; got {self._found(parts)}")

    @staticmethod
    def _found(parts: Any) -> str:
        return ", ".join("host array" if isinstance(x, np.ndarray) else type(x).__name__ for x in parts)

    # -- between a GPU and SciPy ---------------------------------------------------------------------

    def scipys(self) -> Any:
        arrays = tuple([getattr(self, name).host_values for name in self._parts])
        return self._from_arrays(arrays)

    def _from_arrays(self, arrays: tuple) -> Any:
        return self._scipys(arrays, shape=self._shape)

    def stored(self) -> Iterator[Stored]:
        return (getattr(self, name) for name in self._parts)

    def _keep(self, made: Any, call: Call, new: list[Any]) -> None:
        """From now on, this is the matrix that SciPy made."""
        self._shape = tuple(map(int, made.shape))
        for name, values in zip(self._parts, self._arrays_of(made)):
            setattr(self, name, call.array(values, new))

    def _arrays_of(self, made: Any) -> list[Any]:
        return [getattr(made, name) for name in self._parts]

    def _upload(self, made: Any, call: Call) -> None:
        self._shape = tuple(map(int, made.shape))
        for name, values in zip(self._parts, self._arrays_of(made)):
            setattr(self, name, call.device.upload(values))

    def _call(self, name: str, args: tuple, kwargs: dict, commands: Commands | None = None) -> Any:
        call = Call(f"sparse.{self.format}.{name.strip('_')}", (self, *args), kwargs)
        if name != "__getitem__":
            for x in (*args, *kwargs.values()):
                check_operand(name, x, call.device)
        theirs = self.scipys()
        named = {key: call.plain(x) for key, x in kwargs.items()}
        result = call.compute(getattr(theirs, name), *[call.plain(x) for x in args], **named)
        if result is NotImplemented:
            return result
        if result is theirs:
            return self
        made: list[Any] = []
        found = call.ours(result, made)
        call.count(_commands(name) if commands is None else commands, made)
        return found

    def _change(self, name: str, args: tuple, kwargs: dict) -> None:
        call = Call(f"sparse.{self.format}.{name.strip('_')}", (self, *args), kwargs)
        if name not in ("setdiag", "__setitem__"):  # where CuPy moves a list or a host array to the GPU by itself
            for x in args:
                check_operand(name, x, call.device)
        theirs = self.scipys()
        call.compute(getattr(theirs, name), *[call.plain(x) for x in args], **kwargs)
        made: list[Any] = []
        self._keep(theirs, call, made)
        call.count(_commands(name), made)

    def get(self, stream: Any = None) -> Any:
        """A copy on the host: SciPy's matrix of the same kind."""
        arrays = tuple([x.get() for x in self.stored()])  # type: ignore[attr-defined]
        return self._from_arrays(arrays)

    # -- what the host knows ---------------------------------------------------------------------------

    device = property(lambda self: self.data.device)
    dtype = property(lambda self: self.data.dtype)
    ndim = property(lambda self: len(self._shape))
    shape = property(lambda self: self._shape)
    nnz = property(lambda self: int(self.data.size))
    size = property(lambda self: int(self.data.size))

    def __len__(self) -> int:
        raise TypeError("sparse array length is ambiguous; use shape[0] or .nnz")

    def __repr__(self) -> str:
        kind = "array" if isinstance(self, sparray) else "matrix"
        return (
            f"<{_FORMATS[self.format]} sparse {kind} of dtype '{self.dtype}'\n"
            f"\twith {self.nnz} stored elements and shape {self.shape}>"
        )

    def __str__(self) -> str:
        return str(self.get())

    def __bool__(self) -> bool:
        if self.shape == (1, 1):
            return self.nnz != 0
        raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all().")

    def __iter__(self) -> Iterator:
        rows = self if self.format in ("csr", "csc") else self.tocsr()  # type: ignore[attr-defined]
        if self.ndim == 1:
            return (rows[i] for i in range(self.shape[0]))
        return (rows[i, :] for i in range(self.shape[0]))

    def _is_product(self, name: str, other: Any) -> bool:
        """Whether it's the product of this csr or csc matrix and a dense vector or matrix."""
        is_product = name == "__matmul__" or name == "__mul__" and isinstance(self, spmatrix)
        return is_product and isinstance(self, _Compressed) and isinstance(other, Stored) and _ndim(other) > 0

    def _times_dense(self, name: str, other: Any) -> Any:
        """CuPy first puts the matrix in order; then it's zeros and cuSPARSE's kernel: cusparse.py:1734, :1825."""
        self.sum_duplicates()  # type: ignore[attr-defined]
        return self._call(name, (other,), {}, commands=_PRODUCT)

    # -- methods with a way of their own ---------------------------------------------------------------

    def toarray(self, order: Any = None, out: Any = None) -> Any:
        """A dense array. It lies row by row, or as `order` says."""
        if out is not None:
            raise NotImplementedError("toarray(out=…) isn't in CuPy")
        order = "C" if order is None else order.upper()
        if order not in ("C", "F"):
            raise ValueError(f"order is 'C' or 'F', got {order!r}")
        return self._call("toarray", (), {"order": order})

    todense = toarray

    def asformat(self, format: str | None) -> Any:
        """The same matrix in another format."""
        if format is None or format == self.format:
            return self
        if format not in _FORMATS:
            raise ValueError(f"Format {format} is unknown: it's one of {', '.join(_FORMATS)}")
        return getattr(self, f"to{format}")()

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        check_type(dtype)
        return self._call("astype", (np.dtype(dtype),), {"copy": copy})

    def tobsr(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("CuPy has no bsr format")

    def todok(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("CuPy has no dok format")

    def tolil(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("CuPy has no lil format")

    def dot(self, other: Any) -> Any:
        """``self @ other``, or ``self * other`` with a number."""
        if isinstance(other, SCALARS):
            return self * other
        return self @ other

    def _reduced(self, name: str, axis: Any, dtype: Any, out: Any) -> Any:
        result = self._call(name, (), {"axis": axis, "dtype": dtype})
        if out is None:
            return result
        if out.shape != result.shape:
            raise ValueError(f"{name}(out=…): the result has the shape {result.shape}, got {in_words(out)}")
        out[...] = result
        return out

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """The sum of all elements, or along an axis."""
        return self._reduced("sum", axis, dtype, out)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """The mean of all elements, or along an axis."""
        return self._reduced("mean", axis, dtype, out)

    def todia(self, copy: bool = False) -> Any:
        raise NotImplementedError("CuPy makes no dia matrix of another one")

    def maximum(self, other: Any) -> Any:
        """The larger one of each pair of elements."""
        return self._call("maximum", (self._stretched("maximum", other),), {})

    def minimum(self, other: Any) -> Any:
        """The smaller one of each pair of elements."""
        return self._call("minimum", (self._stretched("minimum", other),), {})

    def _stretched(self, name: str, other: Any) -> Any:
        """A sparse row or column as a matrix of this shape: CuPy's kernels read it again and again."""
        if not isinstance(other, _spbase) or other.shape == self.shape:
            return other
        if any([n not in (1, m) for n, m in zip(other.shape, self.shape)]) or other.ndim != self.ndim:
            raise ValueError(f"{name}: inconsistent shapes {self.shape} and {other.shape}")
        values = np.broadcast_to(other.scipys().toarray(), self.shape)
        found = object.__new__(csr_array if isinstance(other, sparray) else csr_matrix)
        call = Call(name, (other,), {})
        found._keep(found._scipys(values), call, [])
        return found

    def real_or_imag(self, name: str) -> Any:
        made = self.copy()  # type: ignore[attr-defined]
        made.data = getattr(self.data, name).copy()
        return made

    real = property(lambda self: self.real_or_imag("real"))
    imag = property(lambda self: self.real_or_imag("imag"))
    T = property(lambda self: self.transpose())
    mT = property(lambda self: self.transpose())

    def __pow__(self, other: Any) -> Any:
        return self._call("__pow__", (other,), {})

    def __round__(self, ndigits: int = 0) -> Any:
        return self._call("__round__", (ndigits,), {})

    def __neg__(self) -> Any:
        if self.dtype.kind == "b":
            raise NotImplementedError("negating a boolean sparse matrix is not supported")
        return self._call("__neg__", (), {})

    def __abs__(self) -> Any:
        return self._call("__abs__", (), {})

    def __iadd__(self, other: Any) -> Any:
        return NotImplemented

    __isub__ = __iadd__

    def __imul__(self, other: Any) -> Any:  # type: ignore[misc]
        if isinstance(other, (*SCALARS, Stored)) and not _ndim(other):
            self.data *= other
            return self
        return NotImplemented

    def __itruediv__(self, other: Any) -> Any:
        if isinstance(other, (*SCALARS, Stored)) and not _ndim(other):
            self.data /= other
            return self
        return NotImplemented


class sparray:  # noqa: N801  (CuPy's name)
    """What all sparse arrays have in common: ``*`` multiplies element by element."""


class spmatrix:  # noqa: N801  (CuPy's name)
    """What all sparse matrices have in common: ``*`` is the product of matrices."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if type(self) is not spmatrix:
            super().__init__(*args, **kwargs)
        elif args or kwargs:
            raise TypeError("cannot instantiate spmatrix directly; use a format subclass such as csr_matrix")

    @property
    def A(self) -> Any:  # noqa: N802
        warnings.warn("`spmatrix.A` is deprecated; use `.toarray()` instead.", DeprecationWarning, stacklevel=2)
        return self.toarray()  # type: ignore[attr-defined]

    @property
    def H(self) -> Any:  # noqa: N802
        warnings.warn("`spmatrix.H` is deprecated; use `.T.conj()` instead.", DeprecationWarning, stacklevel=2)
        return self.getH()

    def getH(self) -> Any:  # noqa: N802
        return self.transpose().conj()  # type: ignore[attr-defined]

    def get_shape(self) -> tuple:
        return self._shape  # type: ignore[attr-defined]

    def set_shape(self, shape: Any) -> None:
        self.__dict__ = self.reshape(shape).asformat(self.format).__dict__  # type: ignore[attr-defined]

    shape = property(get_shape, set_shape)

    def asfptype(self) -> Any:
        if self.dtype.kind == "f":  # type: ignore[attr-defined]
            return self
        return self.astype(np.promote_types(self.dtype, "f"))  # type: ignore[attr-defined]

    def getformat(self) -> str:
        return self.format  # type: ignore[attr-defined]

    def getmaxprint(self) -> int:
        return self.maxprint  # type: ignore[attr-defined]

    def getnnz(self, axis: Any = None) -> Any:
        """How many elements are stored: a number, or an array of them along an axis."""
        if axis is None:
            return self.nnz  # type: ignore[attr-defined]
        return self._call("getnnz", (axis,), {})  # type: ignore[attr-defined]


_FORMATS = {
    "csr": "Compressed Sparse Row", "csc": "Compressed Sparse Column", "coo": "COOrdinate", "dia": "DIAgonal"
}  # fmt: skip
OPERATORS = word_set("""
    __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __matmul__ __rmatmul__ __truediv__ __rtruediv__ __eq__ __ne__
    __lt__ __le__ __gt__ __ge__
""")
COMPARISONS = word_set("__eq__ __ne__ __lt__ __le__ __gt__ __ge__")
UFUNCS = word_set("""
    arcsin arcsinh arctan arctanh ceil deg2rad expm1 floor log1p rad2deg rint sign sin sinh sqrt tan tanh trunc
""")
METHODS = word_set("""
    conj conjugate copy count_nonzero diagonal multiply nonzero power reshape tocoo tocsc tocsr trace transpose
""")
OF_MATRICES = word_set("getrow getcol")
MINMAX = word_set("max min argmax argmin")  # csr, csc, coo
IN_PLACE = {
    "csr": word_set("eliminate_zeros sort_indices sum_duplicates setdiag prune __setitem__"),
    "csc": word_set("eliminate_zeros sort_indices sum_duplicates setdiag prune __setitem__"),
    "coo": word_set("eliminate_zeros sum_duplicates setdiag"), "dia": word_set("setdiag"),
}  # fmt: skip

for _name in OPERATORS:
    setattr(_spbase, _name, _operator(_name))
for _name in METHODS | UFUNCS:
    if _name not in vars(_spbase):
        setattr(_spbase, _name, _method(_name))
for _name in OF_MATRICES:
    setattr(spmatrix, _name, _method(_name))


class _Compressed(_spbase):
    """csr and csc: the numbers of each row, or column, one after the other."""

    _parts = ("data", "indices", "indptr")
    __getitem__: Any = _method("__getitem__")
    sorted_indices: Any = _method("sorted_indices")

    @property
    def has_canonical_format(self) -> bool:
        """Whether the indices of each row are in order, and none comes twice. The host waits for the answer."""
        return self._flag("has_canonical_format")

    @has_canonical_format.setter
    def has_canonical_format(self, value: bool) -> None:
        self._said = {"has_canonical_format": bool(value)}
        if value:
            self._said["has_sorted_indices"] = True

    @property
    def has_sorted_indices(self) -> bool:
        """Whether the indices of each row are in order. The host waits for the answer."""
        return self._flag("has_sorted_indices")

    @has_sorted_indices.setter
    def has_sorted_indices(self, value: bool) -> None:
        self._said = self._said | {"has_sorted_indices": bool(value)}

    _said: dict[str, bool] = {}

    def _flag(self, name: str) -> bool:
        if name in self._said:
            return self._said[name]
        call = Call(f"sparse.{self.format}.{name}", (self,), {})
        found = bool(call.compute(getattr, self.scipys(), name))
        call.count(Commands(2, reads=(1,)), [])
        self._said = self._said | {name: found}
        return found

    def _keep(self, made: Any, call: Call, new: list[Any]) -> None:
        super()._keep(made, call, new)
        self._said = {}

    def sum_duplicates(self) -> None:
        """Add up what's at the same place, and put the indices in order."""
        if not self.has_canonical_format:
            self._change("sum_duplicates", (), {})
        self._said = {"has_canonical_format": True, "has_sorted_indices": True}

    def sort_indices(self) -> None:
        """Put the indices of each row in order."""
        if not self.has_sorted_indices:
            self._change("sort_indices", (), {})
        self._said = self._said | {"has_sorted_indices": True}


class _Coordinates(_spbase):
    """coo: the numbers, and the row and column of each."""

    _parts = ("data", "row", "col")
    has_canonical_format = False

    def __getitem__(self, key: Any) -> Any:
        return self.tocsr()[key]  # type: ignore[attr-defined]

    def dot(self, other: Any) -> Any:
        """``self @ other``, or ``self * other`` with a number, also one on the GPU: csr and csc refuse that."""
        if isinstance(other, Stored) and not _ndim(other):
            return self * other
        return super().dot(other)

    @property
    def coords(self) -> tuple:
        """The places of the numbers along each axis."""
        if self.ndim == 1:
            return (self.col,)  # type: ignore[attr-defined]
        return self.row, self.col  # type: ignore[attr-defined]

    def _from_arrays(self, arrays: tuple) -> Any:
        data, row, col = arrays
        coords = (col,) if len(self._shape) == 1 else (row, col)
        made = self._scipys((data, coords), shape=self._shape)
        made.has_canonical_format = self.has_canonical_format
        return made

    def _keep(self, made: Any, call: Call, new: list[Any]) -> None:
        super()._keep(made, call, new)
        self.has_canonical_format = bool(made.has_canonical_format)


class _Diagonals(_spbase):
    """dia: whole diagonals."""

    _parts = ("data", "offsets")

    def todia(self, copy: bool = False) -> Any:
        return self.copy() if copy else self  # type: ignore[attr-defined]

    def transpose(self, axes: Any = None, copy: bool = False) -> Any:
        """By way of csr, as in CuPy."""
        return self.tocsr().transpose(axes=axes, copy=False)  # type: ignore[attr-defined]

    @property
    def nnz(self) -> int:  # type: ignore[override]
        return int(self.scipys().nnz)

    size = nnz  # type: ignore[assignment]


for _name in MINMAX:
    for _class in (_Compressed, _Coordinates):
        setattr(_class, _name, _method(_name))


def _of(format: str, base: type, is_array: bool, scipys: type) -> Any:
    """The class of this format. `scipys` is its counterpart."""
    name = scipys.__name__
    parts = {
        "__doc__": f"SciPy's `{name}`, on a GPU: `cupyx.scipy.sparse.{name}`.", "__module__": __name__,
        "format": format, "_scipys": scipys,
    }  # fmt: skip
    parts |= {key: _in_place(key) for key in IN_PLACE[format] if key not in vars(base)}
    bases = (base, sparray) if is_array else (spmatrix, base)
    return type(name, bases, parts)


csr_matrix = _of("csr", _Compressed, False, scipy.sparse.csr_matrix)
csc_matrix = _of("csc", _Compressed, False, scipy.sparse.csc_matrix)
coo_matrix = _of("coo", _Coordinates, False, scipy.sparse.coo_matrix)
dia_matrix = _of("dia", _Diagonals, False, scipy.sparse.dia_matrix)
csr_array = _of("csr", _Compressed, True, scipy.sparse.csr_array)
csc_array = _of("csc", _Compressed, True, scipy.sparse.csc_array)
coo_array = _of("coo", _Coordinates, True, scipy.sparse.coo_array)
dia_array = _of("dia", _Diagonals, True, scipy.sparse.dia_array)
CLASSES = {
    kind._scipys: kind
    for kind in (csr_matrix, csc_matrix, coo_matrix, dia_matrix, csr_array, csc_array, coo_array, dia_array)
}


def _wrap_matrix(value: Any, call: Call, made: list[Any]) -> Any:
    """One of SciPy's matrices as one of ours. A format that CuPy lacks becomes csr."""
    if not scipy.sparse.issparse(value):
        return None
    if value.format not in _FORMATS:
        value = value.tocsr()
    check_type(value.dtype)
    found = object.__new__(CLASSES[type(value)])
    found._keep(value, call, made)
    return found


WRAPPERS.append(_wrap_matrix)


def issparse(x: Any) -> bool:
    """Whether it's a sparse matrix or array on a GPU."""
    return isinstance(x, _spbase)


def isspmatrix(x: Any) -> bool:
    """Whether it's a sparse matrix on a GPU, and no array."""
    return isinstance(x, spmatrix)


def isspmatrix_csr(x: Any) -> bool:
    return isinstance(x, csr_matrix)


def isspmatrix_csc(x: Any) -> bool:
    return isinstance(x, csc_matrix)


def isspmatrix_coo(x: Any) -> bool:
    return isinstance(x, coo_matrix)


def isspmatrix_dia(x: Any) -> bool:
    return isinstance(x, dia_matrix)
