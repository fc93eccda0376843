"""A card's arithmetic, where it isn't the host's: a float that becomes an integer, ``//``, ``%``, ``x * y + z``.

Each function takes NumPy's arrays or numbers and returns NumPy's arrays. None of them warns.
"""

from typing import Any

import numpy as np

# The first number that's an integer of this type, and the first that's too large.
_LIMITS = {"i4": (-(2.0**31), 2.0**31), "u4": (0.0, 2.0**32), "i8": (-(2.0**63), 2.0**63), "u8": (0.0, 2.0**64)}


def cast(values: Any, dtype: Any, order: Any = "K") -> np.ndarray:
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
            return values.astype(dtype, order)
    if values.dtype.kind == "c":
        values = values.astype(values.real.dtype)  # with NumPy's ComplexWarning, which is CuPy's, too
    if values.dtype == np.float16:
        values = values.astype(np.float32)  # as CuPy's float16 does; and it can hold an integer's range
    register = dtype if dtype.itemsize >= 4 else np.dtype(f"{dtype.kind}4")
    low, high = _LIMITS[register.str[1:]]
    is_too_large = values >= high
    is_in_range = (values >= low) & ~is_too_large
    if is_in_range.all():  # the usual case, made fast
        return values.astype(register, order).astype(dtype, copy=False)
    with np.errstate(all="ignore"):
        made = values.astype(register, order)
    made[values < low] = low
    made[is_too_large] = int(high) - 1
    is_nan = np.isnan(values)
    if is_nan.any():
        made[is_nan] = _not_a_number(values.dtype, register)
    return made.astype(dtype, copy=False)


def _not_a_number(source: np.dtype, register: np.dtype) -> int:
    """What ``cvt.rzi`` makes of NaN."""
    if source.itemsize <= 4 and register.itemsize <= 4:
        return 0
    return int(np.iinfo(register).min if register.kind == "i" else 2 ** (8 * register.itemsize - 1))


# Division: CuPy's carray.cuh:671, _core/_routines_math.pyx:1087, core.pyx:2704. Of integers, its values are NumPy's.


def floor_divide(x: Any, y: Any) -> Any:
    """``x // y``: of floats, the quotient, rounded, and then rounded down. So 1.0 // 0.1 is 10, not 9."""
    kind = np.result_type(x, y)
    if kind.kind != "f":
        with np.errstate(all="ignore"):
            return np.floor_divide(x, y)
    x, y = _operands(kind, x, y)
    return _quotient(x, y).astype(kind, copy=False)


def remainder(x: Any, y: Any) -> Any:
    """``x % y``: of floats, ``x - floor(x / y) * y``. So 5 % inf is NaN, and 1.0 % 0.1 is 1.0 - 10 * 0.1.

    That's -5.55e-17, since 0.1 isn't a tenth: a card's compiler makes one instruction of the product and the
    difference (``DFMA``, says NVRTC 12.9 with ptxas), which rounds once.
    """
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
    return multiply_add(-quotient, y, x)


def multiply_add(x: Any, y: Any, z: Any) -> np.ndarray:
    """``x * y + z`` of float32 or float64, rounded once, as by a card's fused multiply-add."""
    x, y, z = np.asarray(x), np.asarray(y), np.asarray(z)
    with np.errstate(all="ignore"):
        product = x * y
        if product.dtype == np.float32:  # float64 holds the whole product
            return np.asarray(x.astype(np.float64) * y + z).astype(np.float32)
        # The product's rounding error, by Dekker's and Veltkamp's halves of a number
        (x_high, x_low), (y_high, y_low) = _halves(x), _halves(y)
        error = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
        plain = product + z
        part = plain - product
        error += (product - (plain - part)) + (z - part)  # and the sum's
        return np.where(np.isfinite(error), plain + error, plain)


def _halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two numbers of 26 bits, whose sum is `x`: their products are exact."""
    shifted = x * 134217729.0  # 2**27 + 1
    high = shifted - (shifted - x)
    return high, x - high
