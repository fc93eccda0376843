"""C's numbers as in cupyx.jit: which type a value has, and which types a function takes.

A number in a kernel's text is an int32, or a float32 if it has a point. Of two types, the later one in `ORDER` wins.
But an int and a uint don't mix: a value never changes its kind on the way, except by a cast such as ``int(i)``.
"""

import contextlib
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..words import many

ORDER = "?bBhHiIlLqQefdFD"
BOOL, INT, UINT, SIZE = np.dtype("?"), np.dtype("i"), np.dtype("I"), np.dtype("q")
HALF, FLOAT = np.dtype("e"), np.dtype("f")


@dataclass(frozen=True)
class ArrayType:
    """An array argument, or a part of one: ``x[0]`` of two axes has one. Shared memory doesn't know its size."""

    dtype: np.dtype
    ndim: int
    is_shared: bool = False

    def __str__(self) -> str:
        if self.is_shared:
            what = "shared memory"
        else:
            what = f"array of {many(self.ndim, 'axis', 'axes')}"
        return f"{self.dtype} {what}"


@dataclass(frozen=True)
class Tuple:
    """Several values, such as ``jit.grid(2)``."""

    types: tuple[Any, ...]
    is_shape: bool = False

    def __str__(self) -> str:
        if self.types:
            return f"tuple of {len(self.types)}"
        return "nothing"


VOID = Tuple(())  # of a function that returns nothing


_are_numpys: ContextVar[bool] = ContextVar("_are_numpys", default=False)  # or else C's


@contextlib.contextmanager
def numpys_types() -> Iterator[None]:
    """What's translated in here has NumPy's rules for types, like ``mode="numpy"`` of cupyx.jit."""
    token = _are_numpys.set(True)
    try:
        yield
    finally:
        _are_numpys.reset(token)


def held_as(kind: np.dtype) -> np.dtype:
    """What a thread holds for a number of this type: cupyx.jit makes a float of a float16 (`Scalar.__str__` in its
    _cuda_types.py). So it's rounded only where an array stores it."""
    if kind == HALF:
        return FLOAT
    return kind


def type_of_range(stop: np.dtype) -> np.dtype:
    """What ``range(stop)`` counts in."""
    if _are_numpys.get():
        return SIZE
    return stop


def type_of(x: Any) -> np.dtype:
    """The type of a number that's known before the launch."""
    if isinstance(x, np.generic):
        return x.dtype
    if _are_numpys.get():
        return np.dtype(type(x))
    if isinstance(x, int) and not isinstance(x, bool):
        if -(2**31) <= x < 2**31:
            return INT
        return SIZE
    if isinstance(x, bool):
        return BOOL
    return np.dtype("f" if isinstance(x, float) else "F")


def same(a: Any, b: Any) -> bool:
    """Whether two types are the same. (To NumPy, a dtype equals anything that has it.)"""
    return type(a) is type(b) and a == b


def is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, complex, np.generic)) and not isinstance(x, (np.str_, np.bytes_))


def number_as(x: Any, dtype: np.dtype) -> Any:
    """A known number as this type. Raises `TypeError` if it doesn't fit, like -1 as uint32."""
    try:
        return dtype.type(x)
    except OverflowError:
        raise TypeError(f"{x} doesn't fit into {dtype}") from None


def _each(letters: str, count: int, out: str = "") -> list[tuple[str, str]]:
    """One signature for each letter: `count` operands of that type, and a result of the same type or of `out`."""
    return [(letter * count, out or letter) for letter in letters]


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(entry[:-2], entry[-1]) for entry in text.split()]


INTS, REALS, FLOATS = "bBhHiIlLqQ", "efd", "efdFD"
_COMPARE = _pairs("??>? qq>? QQ>? qQ>? Qq>? ee>? ff>? dd>?")
_TABLE: dict[str, list[tuple[str, str]]] = {
    "arccos arccosh arcsin arcsinh arctan arctanh cos cosh exp exp2 expm1 i0 log log10 log1p log2 rint sin sinh sqrt "
    "tan tanh": _each(FLOATS, 1),
    "cbrt deg2rad degrees fabs rad2deg radians sinc": _each(REALS, 1),
    "absolute": _each("?" + INTS + REALS, 1) + _pairs("F>f D>d"),
    "ceil fix floor trunc": _each("?" + INTS + REALS, 1),
    "negative positive": _each(INTS + FLOATS, 1),
    "conjugate reciprocal square": _each(INTS + FLOATS, 1),
    "sign": _each(INTS, 1),
    "invert": _each("?" + INTS, 1),
    "bitwise_count": _each(INTS, 1, "B"),
    "logical_not": _each("?" + INTS + REALS, 1, "?"),
    "not": _each("?" + INTS + FLOATS, 1, "?"),
    "isfinite isinf isnan": _each(FLOATS, 1, "?"),
    "signbit": _each(REALS, 1, "?"),
    "add fmax fmin maximum minimum multiply": _each("?" + INTS + FLOATS, 2),
    "subtract": _each(INTS + FLOATS, 2),
    "true_divide": _pairs("qq>d qQ>d Qq>d QQ>d") + _each(FLOATS, 2),
    "floor_divide fmod remainder": _each(INTS + REALS, 2),
    "power": [("??", "b"), *_each(INTS + FLOATS, 2)],
    "float_power": _pairs("dd>d FF>D DD>D"),
    "arctan2 copysign hypot nextafter": _each(REALS, 2),
    "bitwise_and bitwise_or bitwise_xor": _each("?" + INTS, 2),
    "left_shift right_shift gcd lcm": _each(INTS, 2),
    "ldexp": _pairs("ei>e fi>f el>e fl>f di>d dq>d"),
    "equal not_equal greater greater_equal less less_equal": [*_COMPARE, *_each("FD", 2, "?")],
    "logical_and logical_or smaller": _COMPARE,
    "logical_xor": _each("?" + INTS + REALS, 2, "?"),
}
SIGNATURES = {name: signatures for names, signatures in _TABLE.items() for name in names.split()}
# CuPy has these signatures too, and they come before later ones, but its compiler can't use them.
_REFUSED = {"sign": FLOATS, "sinc": "FD", "negative": "?", "positive": "?", "subtract": "?", "gcd": "?", "lcm": "?"}


def signature(name: str, types: Sequence[np.dtype]) -> tuple[list[np.dtype], np.dtype] | None:
    """The operands' types and the result's, if the function `name` gets these types. None if it doesn't take them."""
    fits = np.can_cast if _are_numpys.get() else _comes_later
    refused = _each(_REFUSED.get(name, ""), len(SIGNATURES[name][0][0]))
    # Bools come first, even refused ones. The others keep their places, since sorting is stable.
    for letters, out in sorted([*SIGNATURES[name], *refused], key=lambda entry: entry[0] not in ("?", "??")):
        if len(letters) == len(types) and all(fits(kind, np.dtype(letter)) for kind, letter in zip(types, letters)):
            if (letters, out) in refused:
                return None
            return ([np.dtype(letter) for letter in letters], np.dtype(out))
    return None


def _comes_later(kind: np.dtype, other: np.dtype) -> bool:
    return ORDER.index(kind.char) <= ORDER.index(other.char)


def signature_with_result(name: str, out: np.dtype) -> tuple[list[np.dtype], np.dtype] | None:
    """The first signature of this function whose result has this type: ``np.add(x, y, dtype=…)``."""
    for letters, result in SIGNATURES[name]:
        if np.dtype(result) == out:
            return [np.dtype(letter) for letter in letters], out
    return None
