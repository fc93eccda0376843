"""NumPy's assertions, for arrays on the device or on the host."""

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..creation import asnumpy

__all__ = [
    "assert_allclose", "assert_array_almost_equal", "assert_array_almost_equal_nulp", "assert_array_equal",
    "assert_array_less", "assert_array_list_equal", "assert_array_max_ulp", "assert_warns",
]  # fmt: skip


def _compares(name: str) -> Callable:
    def compare(actual: Any, desired: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(np.testing, name)(asnumpy(actual), asnumpy(desired), *args, **kwargs)

    compare.__name__ = compare.__qualname__ = name
    compare.__doc__ = f"`numpy.testing.{name}`, for arrays on the device, too."
    return compare


assert_allclose = _compares("assert_allclose")
assert_array_almost_equal = _compares("assert_array_almost_equal")
assert_array_almost_equal_nulp = _compares("assert_array_almost_equal_nulp")
assert_array_less = _compares("assert_array_less")
assert_array_max_ulp = _compares("assert_array_max_ulp")


def assert_array_equal(
    actual: Any, desired: Any, err_msg: str = "", verbose: bool = True, *, strict: bool = False,
    strides_check: bool = False,
) -> None:  # fmt: skip
    """The same elements; with `strides_check`, also the same strides. Raises `AssertionError`."""
    np.testing.assert_array_equal(asnumpy(actual), asnumpy(desired), err_msg, verbose, strict=strict)
    if strides_check and actual.strides != desired.strides:
        raise AssertionError(f"Strides are not equal: {err_msg}\n x: {actual.strides}\n y: {desired.strides}")


@contextlib.contextmanager
def assert_warns(expected: type[Warning]) -> Iterator[None]:
    """Raise `AssertionError` if what's inside of ``with`` doesn't warn like this."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield
    if not any(isinstance(one.message, expected) for one in found):
        raise AssertionError(f"{expected.__name__} not triggered")


def assert_array_list_equal(xlist: Any, ylist: Any, err_msg: str = "", verbose: bool = True) -> None:
    """Two lists, or tuples, of as many arrays, each equal to its other. Raises `AssertionError`."""
    if type(xlist) is not type(ylist) or not isinstance(xlist, (list, tuple)):
        raise AssertionError(f"Two lists or two tuples are expected, got {type(xlist)} and {type(ylist)}")
    if len(xlist) != len(ylist):
        raise AssertionError("List size is different")
    for x, y in zip(xlist, ylist):
        np.testing.assert_array_equal(asnumpy(x), asnumpy(y), err_msg, verbose)
