"""How many kernels a call launches on a GPU: what CuPy 14 launches for it.

One, unless it stands here. A result that is a view of an operand launches none, which needs no entry.
An entry is a number or a function of the call's arguments (their values, as NumPy arrays).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .surface import names

_MANY = 2 * 1024 * 1024  # bytes per array from which CuPy joins arrays one by one, however many they are


def _joined(arrays: Sequence[Any], *rest: Any, **kwargs: Any) -> int:
    """One copy per array; more than eight small ones of one type are joined by a single kernel."""
    if len(arrays) <= 8:
        return len(arrays)
    arrays = [np.asarray(array) for array in arrays]
    small = sum(array.nbytes for array in arrays) < _MANY * len(arrays)
    return 1 if small and len({array.dtype for array in arrays}) == 1 else len(arrays)


def _along_axis(x: Any, indices: Any, *rest: Any, **kwargs: Any) -> int:
    """For each other axis an arange; then zeros, one kernel per axis that adds up the places, and the take."""
    return (x.ndim - 1) + (1 + x.ndim) + 1 if x.ndim > 1 else 1


def _rolled(x: Any, shift: Any, axis: Any = None) -> int:
    """Each axis that is rolled cuts the array in two; each piece is copied."""
    return 2 ** np.broadcast(shift, 0 if axis is None else axis).size


Count = int | Callable[..., int]

KERNELS: dict[str, Count] = {
    # numpy function: launches
    "zeros": 0,  # a memset, which is counted apart
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
    "nonzero": 4,  # not_equal, two of a scan, the places
    "flatnonzero": 4,
    "argwhere": 4,
    "unique": 5,
    "count_nonzero": 1,
    "outer": 1,
    "linalg.norm": 3,  # squares, sum, root
    "ix_": 0,
    "ndim": 0,
    "shape": 0,
    "size": 0,
    "result_type": 0,
    "can_cast": 0,
    "min_scalar_type": 0,
    "common_type": 0,
    "iscomplexobj": 0,
    "isrealobj": 0,
    "may_share_memory": 0,
    "shares_memory": 0,
}
MEMSETS = names("zeros zeros_like")

# Their result's shape depends on values, so the host waits for a number from the device.
SYNCHRONIZING = names("nonzero flatnonzero argwhere unique compress extract trim_zeros bincount")

# They answer on the host, about what the host knows.
ABOUT_ARRAYS = names(
    "ndim shape size result_type can_cast min_scalar_type common_type iscomplexobj isrealobj may_share_memory "
    "shares_memory"
)

# They need all values on the host.
ON_HOST = names("array_repr array_str array2string save savez savez_compressed savetxt")

# With ``like=x`` they make a device array of what is on the host.
FROM_HOST = names("array asarray asanyarray ascontiguousarray asfortranarray frombuffer fromiter fromstring loadtxt")

# An operand of these may be a host array: CuPy takes it from the host (parameters), or copies it (indices).
HOST_PARAMETERS = names("split array_split hsplit vsplit dsplit pad tile reshape transpose repeat")
HOST_INDICES = names("take take_along_axis put_along_axis put choose compress delete")

MASK_READ = 3  # two kernels of a scan, and the read
MASK_WRITE = 3


def launches_of(name: str, args: Sequence, kwargs: dict) -> int:
    """Kernels that a call of the NumPy function of this name launches."""
    count = KERNELS.get(name, 1)
    return count if isinstance(count, int) else count(*args, **kwargs)


def launches_of_index(arrays: Sequence[np.ndarray]) -> int:
    """Kernels that reading or writing with these index arrays launches."""
    if [array for array in arrays if array.dtype.kind == "b"]:
        return MASK_READ
    # One array is one kernel. Several are first made one: a fill, a kernel for each, then the read or write.
    return 1 if len(arrays) == 1 else len(arrays) + 2
