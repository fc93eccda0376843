"""What a card computes from numbers where NumPy has other values: a float that becomes an integer, ``//`` and ``%``.

Each function takes NumPy's arrays or numbers and returns NumPy's arrays. None of them warns.
"""

from typing import Any

import numpy as np


def cast(values: Any, dtype: Any) -> np.ndarray:
    """`values` as `dtype`, as on a card: a float that an integer can't hold becomes the nearest one that it can.

    That's PTX's ``cvt.rzi``: it rounds towards 0 and keeps to the integer's range. NaN becomes 0, but in 64 bits, or
    from float64, the integer whose highest bit alone is set (PTX ISA, ``cvt``, "Integer Notes"). There's no conversion
    to 8 or 16 bits: NVRTC 12.9 converts to 32 bits, and the lowest ones are stored. So 300.0 is 44 as an int8, while
    -1.0 is 0 as a uint8. CuPy's kernels leave all that to the compiler.

    >>> cast(np.float32([-1, 3e9, np.inf]), np.uint32), cast(np.float32([300, 3e9]), np.int8)
    (array([         0, 3000000000, 4294967295], dtype=uint32), array([44, -1], dtype=int8))
    """
    values, dtype = np.asarray(values), np.dtype(dtype)
    if values.dtype.kind not in "fc" or dtype.kind not in "iu":
        with np.errstate(all="ignore"):
            return _real_if(values, dtype).astype(dtype)
    values = _real_if(values, dtype)
    if values.dtype == np.float16:
        values = values.astype(np.float32)  # as CuPy's float16 does; and it can hold an integer's range
    register = dtype if dtype.itemsize >= 4 else np.dtype(f"{dtype.kind}4")
    with np.errstate(all="ignore"):
        made = values.astype(register)
    limits = np.iinfo(register)
    made[values < limits.min] = limits.min
    made[values >= float(limits.max)] = limits.max  # in float64, the limit of 64 bits is the first that's too large
    is_nan = np.isnan(values)
    if is_nan.any():
        made[is_nan] = _not_a_number(values.dtype, register)
    return made.astype(dtype, copy=False)


def _real_if(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The real parts of complex numbers that become real ones."""
    return values.real if values.dtype.kind == "c" and dtype.kind in "iuf" else values


def _not_a_number(source: np.dtype, register: np.dtype) -> int:
    """What ``cvt.rzi`` makes of NaN."""
    if source.itemsize <= 4 and register.itemsize <= 4:
        return 0
    return int(np.iinfo(register).min if register.kind == "i" else 2 ** (8 * register.itemsize - 1))


# Division: CuPy's carray.cuh:671, _core/_routines_math.pyx:1087, core.pyx:2704. Of integers, its values are NumPy's.
# A card's compiler makes one instruction of a product and a difference, which rounds once. We round both, so where
# x is close to a multiple of y, its remainder can be another tiny number there: 1.0 % 0.1 is -5.55e-17, not 0.


def floor_divide(x: Any, y: Any) -> Any:
    """``x // y``: of floats, the quotient, rounded, and then rounded down. So 1.0 // 0.1 is 10, not 9."""
    kind = np.result_type(x, y)
    if kind.kind != "f":
        with np.errstate(all="ignore"):
            return np.floor_divide(x, y)
    x, y = _operands(kind, x, y)
    return _quotient(x, y).astype(kind, copy=False)


def remainder(x: Any, y: Any) -> Any:
    """``x % y``: of floats, ``x - floor(x / y) * y``. So 5 % inf is NaN, and it may have another sign than `y`."""
    kind = np.result_type(x, y)
    if kind.kind != "f":
        with np.errstate(all="ignore"):
            return np.remainder(x, y)
    x, y = _operands(kind, x, y)
    return _rest(x, y, _quotient(x, y)).astype(kind, copy=False)


def divmod(x: Any, y: Any) -> tuple[Any, Any]:
    """Both. Of float16, the quotient is rounded before it's multiplied."""
    kind = np.result_type(x, y)
    if kind.kind != "f":
        with np.errstate(all="ignore"):
            return np.divmod(x, y)
    x, y = _operands(kind, x, y)
    quotient = _quotient(x, y).astype(kind, copy=False)
    return quotient, _rest(x, y, quotient.astype(x.dtype, copy=False)).astype(kind, copy=False)


def _operands(kind: np.dtype, *given: Any) -> list[np.ndarray]:
    """As arrays of one type. float16 is computed in float32 (CuPy's float16.cuh)."""
    wide = np.float32 if kind == np.float16 else kind
    return [np.asarray(x).astype(wide, copy=False) for x in given]


def _quotient(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(np.floor(np.divide(x, y)))


def _rest(x: np.ndarray, y: np.ndarray, quotient: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return np.asarray(x - quotient * y)
