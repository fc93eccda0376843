"""A test that runs once for each of several types, or orders: it gets them as a keyword."""

import functools
import inspect
import unittest
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

__all__ = [
    "for_CF_orders", "for_all_dtypes", "for_complex_dtypes", "for_dtypes", "for_float_dtypes", "for_int_dtypes",
    "for_orders", "for_signed_dtypes", "for_unsigned_dtypes",
]  # fmt: skip

_FLOATS, _COMPLEX, _SIGNED, _UNSIGNED = "dfe", "FD", "bhilq", "BHILQ"


def _for_each(name: str, values: Iterable[Any]) -> Callable:
    def decorate(test: Callable) -> Callable:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> None:
            for value in values:
                try:
                    test(*args, **{**kwargs, name: value})
                except unittest.SkipTest as reason:
                    print(f"skipped: {name} = {value} ({reason})")
                except Exception:
                    print(name, "is", value)
                    raise

        given = functools.partial(test, **{name: None})  # pytest shouldn't look for it
        run.__signature__ = inspect.signature(given)  # type: ignore[attr-defined]
        return run

    return decorate


def for_dtypes(dtypes: Iterable[Any], name: str = "dtype") -> Callable:
    """Run the test with each of these types.

    >>> @for_dtypes("if")
    ... def test(dtype):
    ...     print(dtype.__name__)
    >>> test()
    int32
    float32
    """
    return _for_each(name, [np.dtype(dtype).type for dtype in dtypes])


def for_orders(orders: Iterable[Any], name: str = "order") -> Callable:
    """Run the test with each of these orders in memory."""
    return _for_each(name, list(orders))


def for_CF_orders(name: str = "order") -> Callable:  # noqa: N802  (CuPy's name)
    """Run the test with arrays that lie row by row, column by column, and with the words for it."""
    return for_orders([None, "C", "F", "c", "f"], name)


def for_all_dtypes(
    name: str = "dtype", no_float16: bool = False, no_bool: bool = False, no_complex: bool = False
) -> Callable:  # fmt: skip
    """Run the test with each type of numbers."""
    types = "df" if no_float16 else _FLOATS
    types += _SIGNED + _UNSIGNED
    if not no_bool:
        types += "?"
    if not no_complex:
        types += _COMPLEX
    return for_dtypes(types, name)


def for_float_dtypes(name: str = "dtype", no_float16: bool = False) -> Callable:
    """Run the test with each type of floating-point numbers."""
    return for_dtypes("df" if no_float16 else _FLOATS, name)


def for_signed_dtypes(name: str = "dtype") -> Callable:
    """Run the test with each type of signed integers."""
    return for_dtypes(_SIGNED, name)


def for_unsigned_dtypes(name: str = "dtype") -> Callable:
    """Run the test with each type of unsigned integers."""
    return for_dtypes(_UNSIGNED, name)


def for_int_dtypes(name: str = "dtype", no_bool: bool = False) -> Callable:
    """Run the test with each type of integers, and with booleans."""
    types = _SIGNED + _UNSIGNED
    if not no_bool:
        types += "?"
    return for_dtypes(types, name)


def for_complex_dtypes(name: str = "dtype") -> Callable:
    """Run the test with each type of complex numbers."""
    return for_dtypes(_COMPLEX, name)
