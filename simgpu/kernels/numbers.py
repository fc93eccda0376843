"""C's numbers in NumPy's arrays: the common type of operands, and what operators and functions compute."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import arithmetic
from ..formulas import left_shift, right_shift
from ..words import word_set

INT, SIZE = np.dtype("int32"), np.dtype("int64")


@functools.cache
def common(*dtypes: np.dtype) -> np.dtype:
    """The type that C computes with: at least an int, and a float for CuPy's float16.

    Complex wins over float, and float over int. Then the larger type wins, and of two integers the unsigned one.
    """
    if any(dtype.kind == "c" for dtype in dtypes):
        return np.dtype("complex128" if any(dtype.char in "dD" for dtype in dtypes) else "complex64")
    small = {"e": np.dtype("f"), **dict.fromkeys("?bBhH", INT)}
    found = [small.get(dtype.char, dtype) for dtype in dtypes]
    return max(found, key=lambda dtype: (dtype.kind == "f", dtype.itemsize, dtype.kind == "u"))


def distance(own: np.dtype, wanted: np.dtype) -> int:
    """How far one type is from another where C++ chooses a function: 0 is the same, 1 a promotion, 2 a conversion.

    A complex number doesn't become a real one: 3.
    """
    if own == wanted:
        return 0
    if own.kind == "c" and wanted.kind != "c":
        return 3
    if wanted == INT and own.char in "?bBhH" or (own.char, wanted.char) == ("f", "d"):
        return 1
    return 2


def cast(value: Any, dtype: np.dtype) -> Any:
    if value.dtype == dtype:
        return value
    if dtype.kind in "iu" and value.dtype.kind in "fc":
        return arithmetic.cast(value, dtype)[()]
    return value.astype(dtype)


def alike(*operands: Any) -> list[Any]:
    kind = common(*[value.dtype for value in operands])
    return [cast(value, kind) for value in operands]


def _quotient(x: Any, y: Any) -> Any:
    """C cuts off the digits after the point, even below zero."""
    if x.dtype.kind in "fc":
        return np.true_divide(x, y)
    return np.floor_divide(x - np.fmod(x, y), y)


def _round(x: Any) -> Any:
    whole = np.trunc(x)
    return whole + cast(np.where(abs(x - whole) >= 0.5, np.sign(x), 0), x.dtype)


def _difference(x: Any, y: Any) -> Any:
    """How far x is above y, or 0. Of two infinite ones it's 0, where x - y would be NaN."""
    return np.where(x <= y, x.dtype.type(0), x - y)[()]


def _each(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """A function that Python has and NumPy lacks, number by number."""

    def compute_element(x: float) -> float:
        try:
            return function(x)
        except (ValueError, OverflowError) as error:
            if isinstance(error, OverflowError):
                return math.inf
            return math.nan

    return lambda x: np.asarray(np.frompyfunc(compute_element, 1, 1)(x), x.dtype)[()]


def _each_pair(function: Callable[[float, float], float]) -> Callable[[Any, Any], Any]:
    def compute_element(x: float, y: float) -> float:
        try:
            return function(x, y)
        except ValueError:
            return math.nan

    return lambda x, y: np.asarray(np.frompyfunc(compute_element, 2, 1)(x, y), x.dtype)[()]


def _polar(radius: Any, angle: Any) -> Any:
    if radius.dtype.kind != "f":
        radius, angle = radius.astype(np.float64), angle.astype(np.float64)
    return cast(radius * np.exp(1j * angle), np.result_type(radius.dtype, np.complex64))


def _log_gamma(x: float) -> float:
    if x <= 0 and x == math.floor(x):
        return math.inf
    return math.lgamma(x)


def _quantile(p: float) -> float:
    from statistics import NormalDist  # it loads a lot, and is rarely needed

    if p not in (0, 1):
        return NormalDist().inv_cdf(p)
    return math.copysign(math.inf, p - 0.5)


BINARY: dict[str, Callable] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": _quotient, "%": np.fmod,
    "<": np.less, ">": np.greater, "<=": np.less_equal, ">=": np.greater_equal, "==": np.equal, "!=": np.not_equal,
    "&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor, "<<": left_shift, ">>": right_shift,
}  # fmt: skip
UNARY: dict[str, Callable] = {"-": np.negative, "+": np.positive, "~": np.invert}
# How the new value comes from the old one.
ATOMIC: dict[str, Callable] = {
    "atomicExch": lambda old, value: value,
    "atomicCAS": lambda old, expected, value: np.where(old == expected, value, old),
    "atomicInc": lambda old, most: np.where(old >= most, 0, old + 1),
    "atomicDec": lambda old, most: np.where((old == 0) | (old > most), most, old - 1),
    "atomicAdd": np.add, "atomicSub": np.subtract, "atomicMax": np.maximum, "atomicMin": np.minimum,
    "atomicAnd": np.bitwise_and, "atomicOr": np.bitwise_or, "atomicXor": np.bitwise_xor,
}  # fmt: skip
_NUMPYS = word_set("""
    exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan sinh cosh tanh asin acos atan atan2 asinh acosh atanh
    pow ceil floor trunc rint hypot copysign fmod fmax fmin fabs
""")
# For floating-point numbers. Integers become doubles. With an f at the end, as in expf and __expf, it's float32.
_OF_FLOATS: dict[str, Callable] = {
    **{name: getattr(np, name) for name in _NUMPYS},
    "round": _round, "rsqrt": lambda x: 1 / np.sqrt(x), "fma": lambda x, y, z: x * y + z, "fdividef": np.true_divide,
    "nearbyint": np.rint, "ldexp": lambda x, n: np.ldexp(x, n.astype(int)), "fdim": _difference,
    "remainder": _each_pair(math.remainder), "sinpi": lambda x: np.sin(x * np.pi), "cospi": lambda x: np.cos(x * np.pi),
    "normcdf": _each(lambda x: math.erfc(-x / math.sqrt(2)) / 2), "normcdfinv": _each(_quantile),
    "rcbrt": lambda x: 1 / np.cbrt(x), "lgamma": _each(_log_gamma),
    "cyl_bessel_i0": lambda x: cast(np.i0(x), x.dtype),
    "erf": _each(math.erf), "erfc": _each(math.erfc), "tgamma": _each(math.gamma),
    "erfinv": _each(lambda x: _quantile((x + 1) / 2) / math.sqrt(2)),
    "erfcinv": _each(lambda x: -_quantile(x / 2) / math.sqrt(2)),
}  # fmt: skip
# For any numbers, as one type.
_OF_ALL: dict[str, Callable] = {
    "min": np.fmin, "max": np.fmax, "abs": np.abs, "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite,
    "signbit": np.signbit, "real": np.real, "imag": np.imag, "conj": np.conj, "arg": np.angle, "polar": _polar,
    "norm": lambda x: np.real(x * np.conj(x)), "__popc": lambda x: cast(np.bitwise_count(x), INT),
}  # fmt: skip
CONSTANTS: dict[str, Any] = {
    "true": np.True_, "false": np.False_, "NAN": np.float32("nan"), "INFINITY": np.float32("inf"),
    "CUDART_NAN": np.float64("nan"), "CUDART_NAN_F": np.float32("nan"), "CUDART_PI": np.float64(np.pi),
    "CUDART_PI_F": np.float32(np.pi), "M_E": np.float64(np.e), "M_PI_2": np.float64(np.pi / 2),
    "M_PI_4": np.float64(np.pi / 4), "M_SQRT2": np.float64(math.sqrt(2)), "M_SQRT1_2": np.float64(math.sqrt(0.5)),
    "INT_MIN": np.int32(-(2**31)), "UINT_MAX": np.uint32(2**32 - 1), "LLONG_MAX": np.int64(2**63 - 1),
    "FLT_MIN": np.finfo("f").tiny, "FLT_EPSILON": np.finfo("f").eps, "DBL_MIN": np.finfo("d").tiny,
    "DBL_EPSILON": np.finfo("d").eps,
    "CUDART_INF": np.float64("inf"), "CUDART_INF_F": np.float32("inf"), "M_PI": np.float64(np.pi),
    "INT_MAX": np.int32(2**31 - 1), "FLT_MAX": np.finfo("f").max, "DBL_MAX": np.finfo("d").max,
}  # fmt: skip


def _plain(name: str) -> str:
    """A function's name without what's around it: exp for __expf."""
    short = name.removeprefix("__").removesuffix("_rn")
    if short not in _OF_FLOATS and short.endswith("f"):
        return short.removesuffix("f")
    return short


def is_known(name: str) -> bool:
    """Whether it's one of C's functions of numbers."""
    return name in _OF_ALL or _plain(name) in _OF_FLOATS


def call(name: str, operands: list[Any]) -> Any:
    """What C's function with this name makes of its operands, which become one type. Raises `KeyError` without it."""
    if name in _OF_ALL:
        return _OF_ALL[name](*alike(*operands))
    short = _plain(name)
    compute = _OF_FLOATS[short]
    if short != name.removeprefix("__").removesuffix("_rn"):  # with an f
        kind = np.dtype("f")
    else:
        kind = common(*[value.dtype for value in operands])
    return compute(*[cast(value, kind if kind.kind in "fc" else np.dtype("d")) for value in operands])
