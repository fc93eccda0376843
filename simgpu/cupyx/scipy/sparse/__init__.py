"""CuPy's `cupyx.scipy.sparse`: sparse matrices and arrays on a GPU, and what makes them.

`matrices.py` has the classes, `linalg/` solves equations with them.
"""

from typing import Any

import numpy as np
import scipy.sparse
from scipy.sparse import SparseEfficiencyWarning, SparseWarning  # noqa: F401

from .... import random as cupys_random
from ....functions import on_device
from ....launches import Commands
from ....memory import Stored
from ....surface import lister
from ..bridge import Call, finder
from .matrices import (  # noqa: F401
    check_type,
    coo_array,
    coo_matrix,
    csc_array,
    csc_matrix,
    csr_array,
    csr_matrix,
    dia_array,
    dia_matrix,
    issparse,
    isspmatrix,
    isspmatrix_coo,
    isspmatrix_csc,
    isspmatrix_csr,
    isspmatrix_dia,
    sparray,
    spmatrix,
)  # fmt: skip


def _drawn(kind: Any, name: str, shape: tuple, density: float, format: str, dtype: Any, seed: Any, drawing: Any) -> Any:
    """A matrix of this kind with random numbers at random places. The seed comes from CuPy's generator."""
    dtype = np.dtype(np.float64 if dtype is None else dtype)
    if dtype.char not in "fd":
        raise NotImplementedError(f"type {dtype} is not supported: random sparse matrices are float32 or float64")
    if not 0 <= density <= 1:
        raise ValueError("density expected to be 0 <= density <= 1")
    state = cupys_random.RandomState(seed) if isinstance(seed, (int, np.integer)) else seed
    draw = cupys_random if state is None else state
    call = Call(f"sparse.{name}", (), {})
    number = int(draw.randint(0, 2**31 - 1, size=1).host_values[0])
    rng = np.random.default_rng(number)
    rows, columns = shape
    count = int(round(density * rows * columns))
    places = np.sort(rng.choice(rows * columns, size=count, replace=False))
    if drawing is None:
        values = rng.random(count).astype(dtype)
    else:
        values = drawing(count)
        if isinstance(values, Stored):
            values = values.host_values
        values = values.astype(dtype)
    made = kind((values, np.divmod(places, columns)), shape=shape).asformat(format)
    new: list[Any] = []
    found = call.ours(made, new)
    call.count(Commands(5), new)
    return found


def random(
    m: int, n: int, density: float = 0.01, format: str = "coo", dtype: Any = None, random_state: Any = None,
    data_rvs: Any = None,
) -> Any:  # fmt: skip
    """A matrix with random numbers at random places: a share `density` of them. Only float32 and float64."""
    return _drawn(scipy.sparse.coo_matrix, "random", (m, n), density, format, dtype, random_state, data_rvs)


def rand(
    m: int, n: int, density: float = 0.01, format: str = "coo", dtype: Any = None, random_state: Any = None
) -> Any:
    """The same, with numbers between 0 and 1."""
    return random(m, n, density, format, dtype, random_state)


def random_array(
    shape: Any, *, density: float = 0.01, format: str = "coo", dtype: Any = None, rng: Any = None,
    data_sampler: Any = None,
) -> Any:  # fmt: skip
    """A sparse array with random numbers at random places."""
    if len(shape) != 2:
        raise ValueError(f"random_array makes arrays with two axes, got the shape {shape}")
    drawing = None if data_sampler is None else lambda size: data_sampler(size=size)
    return _drawn(scipy.sparse.coo_array, "random_array", tuple(shape), density, format, dtype, rng, drawing)


def get_index_dtype(arrays: Any = (), maxval: Any = None, check_contents: bool = False) -> Any:
    """The type that indices need: int32, or int64 if they're large. With `check_contents`, the host looks at them."""
    given = [arrays] if isinstance(arrays, Stored) else list(arrays)
    plain = [on_device(get_index_dtype, x).host_values for x in given]
    return scipy.sparse.get_index_dtype(plain, maxval, check_contents)


def safely_cast_index_arrays(A: Any, idx_dtype: Any = np.int32, msg: str = "") -> Any:
    """The index arrays of a matrix in this type. Raises `ValueError` if a number doesn't fit."""
    call = Call("sparse.safely_cast_index_arrays", (A,), {})
    made: list[Any] = []
    result = call.ours(call.compute(scipy.sparse.safely_cast_index_arrays, A.scipys(), idx_dtype, msg), made)
    call.count(Commands(len(made)), made)
    return result


def matrix_transpose(A: Any) -> Any:
    """A matrix with rows and columns exchanged."""
    return A.mT


__getattr__ = finder(__name__, "scipy.sparse")
__dir__ = lister(__name__)
