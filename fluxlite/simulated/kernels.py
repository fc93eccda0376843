"""How many kernels a call launches on a GPU. These are CuPy 14's numbers.

It's one, unless the function is listed here. A result that's a view of an operand launches none, and needs no entry;
nor does what the host answers (`ABOUT_ARRAYS`).
An entry is a number, or a function of the call's arguments (NumPy arrays with their values).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .surface import names

_MANY = 2 * 1024 * 1024  # bytes per array, from which CuPy copies arrays one by one, however many there are


def _joined(arrays: Sequence[Any], *rest: Any, **kwargs: Any) -> int:
    """One copy per array, but a single kernel joins more than eight small ones of one type."""
    if len(arrays) <= 8:
        return len(arrays)
    arrays = [np.asarray(array) for array in arrays]
    small = sum(array.nbytes for array in arrays) < _MANY * len(arrays)
    return 1 if small and len({array.dtype for array in arrays}) == 1 else len(arrays)


def _along_axis(x: Any, indices: Any, *rest: Any, **kwargs: Any) -> int:
    """An arange for each other axis; then zeros, one kernel per axis to add up the positions, and the take."""
    return (x.ndim - 1) + (1 + x.ndim) + 1 if x.ndim > 1 else 1


def _rolled(x: Any, shift: Any, axis: Any = None) -> int:
    """Each rolled axis cuts the array in two, and each piece is copied."""
    return 2 ** np.broadcast(shift, 0 if axis is None else axis).size


Count = int | Callable[..., int]

KERNELS: dict[str, Count] = {
    # numpy function: launches
    "zeros": 0,  # a memset, counted separately
    "zeros_like": 0,
    "empty": 0,
    "empty_like": 0,
    "var": 2,  # the mean, then the squared differences
    "std": 3,
    "nanvar": 4,
    "nanstd": 5,
    "average": 1,
    "ptp": 3,  # max, min, difference
    "concatenate": _joined,
    "stack": _joined,
    "vstack": _joined,
    "hstack": _joined,
    "dstack": _joined,
    "column_stack": _joined,
    "take_along_axis": _along_axis,
    "roll": _rolled,
    "pad": 2,  # fill, copy
    "allclose": 2,
    "array_equal": 2,
    "array_equiv": 2,
    "diff": 1,
    "tril": 2,
    "triu": 2,
    "nonzero": 4,  # not_equal, two for a scan, the positions
    "flatnonzero": 4,
    "argwhere": 4,
    "unique": 5,
    "count_nonzero": 1,
    "outer": 1,
    "linalg.norm": 3,  # squares, sum, root
    "ix_": 0,
}
MEMSETS = names("zeros zeros_like")

# Their result's shape depends on values, so the host waits for a number from the device.
SYNCHRONIZING = names("nonzero flatnonzero argwhere unique compress extract trim_zeros bincount")

# These answer on the host, from what the host knows.
ABOUT_ARRAYS = names(
    "ndim shape size result_type can_cast min_scalar_type common_type iscomplexobj isrealobj may_share_memory "
    "shares_memory"
)

# These need all values on the host.
ON_HOST = names("array_repr array_str array2string save savez savez_compressed savetxt")

# With ``like=x``, these make a device array from host values.
FROM_HOST = names("array asarray asanyarray ascontiguousarray asfortranarray frombuffer fromiter fromstring loadtxt")

# These accept host arrays: CuPy uses them on the host (parameters), or copies them (indices).
HOST_PARAMETERS = names("split array_split hsplit vsplit dsplit pad tile reshape transpose repeat")
HOST_INDICES = names("take take_along_axis put_along_axis put choose compress delete")

MASK_READ = 3  # two kernels for a scan, and the read
MASK_WRITE = 3


def launches_of(name: str, args: Sequence, kwargs: dict) -> int:
    """The number of kernels that a call of the NumPy function `name` launches."""
    count = KERNELS.get(name, 1)
    return count if isinstance(count, int) else count(*args, **kwargs)


def launches_of_product(x: np.ndarray, y: np.ndarray) -> int:
    """The number of kernels that ``x @ y`` launches: one for two matrices, and one for two equally large batches.

    If one of them is the same for the whole batch, CuPy first lists where each matrix begins: a kernel for each axis of
    the batch, for both operands and the result. It copies what doesn't lie in memory in the order of its axes.
    """
    batch = max(x.ndim, y.ndim) - 2
    if batch <= 0:
        return 1
    copies = sum(not array.flags.c_contiguous for array in (x, y))
    return 1 + copies + (3 * batch if x.shape[:-2] != y.shape[:-2] else 0)


def launches_of_index(arrays: Sequence[np.ndarray]) -> int:
    """The number of kernels for reading or writing with these index arrays."""
    if [array for array in arrays if array.dtype.kind == "b"]:
        return MASK_READ
    # One array takes one kernel. Several are combined first: a fill, a kernel for each, then the read or write.
    return 1 if len(arrays) == 1 else len(arrays) + 2
