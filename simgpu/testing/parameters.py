"""Classes of tests with several sets of attributes, and tests that need a package."""

import itertools
import sys
import unittest
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["installed", "numpy_satisfies", "parameterize", "product", "product_dict", "with_requires"]


def product(parameter: dict[str, Sequence]) -> list[dict[str, Any]]:
    """Each combination of these values, the names in order.

    >>> product({"b": [1, 2], "a": [3]})
    [{'a': 3, 'b': 1}, {'a': 3, 'b': 2}]
    """
    names = sorted(parameter)
    combinations = itertools.product(*[parameter[name] for name in names])
    return [dict(zip(names, values)) for values in combinations]


def product_dict(*parameters: Sequence[dict]) -> list[dict[str, Any]]:
    """Each combination of a dict of each list, as one dict.

    >>> product_dict([{"a": 1}, {"a": 2}], [{"b": 3}])
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """
    return [{name: value for part in parts for name, value in part.items()} for parts in itertools.product(*parameters)]


def parameterize(*params: dict[str, Any], _ids: bool = True) -> Callable[[type], Any]:
    """Run a class's tests once for each of these dicts, whose items are attributes."""

    def decorate(tests: type) -> Any:
        if issubclass(tests, unittest.TestCase):
            return _as_test_cases(tests, params)
        return _for_pytest(tests, params, _ids)

    return decorate


def _as_test_cases(tests: type, params: Sequence[dict]) -> None:
    """A class for each dict, beside the first one, which goes."""
    module = sys.modules[tests.__module__]
    for number, given in enumerate(params):
        name = f"{tests.__name__}_param_{number}"
        made = type(name, (tests,), {**_attributes(given), "__module__": tests.__module__})
        setattr(module, name, made)


def _attributes(given: dict[str, Any]) -> dict[str, Any]:
    """A function stays one: it doesn't become a method."""
    return {name: staticmethod(value) if callable(value) else value for name, value in given.items()}


def _for_pytest(tests: type, params: Sequence[dict], has_ids: bool) -> type:
    import pytest

    def set_attributes(self: Any, _cupy_testing_param: dict) -> None:
        vars(self).update(_cupy_testing_param)

    fixture = pytest.fixture(autouse=True)(set_attributes)
    made = type(tests.__name__, (tests,), {"_cupy_testing_parameterize": fixture, "__module__": tests.__module__})
    names = [f"_param_{number}_{_shown(given)}" if has_ids else str(number) for number, given in enumerate(params)]
    return pytest.mark.parametrize("_cupy_testing_param", list(params), ids=names)(made)


def _shown(given: dict[str, Any]) -> str:
    parts = [f"{name}={getattr(value, '__name__', repr(value))}" for name, value in sorted(given.items())]
    return f"{{{', '.join(parts)}}}"


def installed(*specifiers: str) -> bool:
    """Whether these packages are there, in these versions: ``installed("numpy>=2", "scipy")``."""
    from importlib.metadata import PackageNotFoundError, version  # they need sockets, which a browser lacks

    from packaging.requirements import Requirement  # pytest brings it

    for text in specifiers:
        wanted = Requirement(text)
        try:
            found = version(wanted.name)
        except PackageNotFoundError:
            return False
        if wanted.specifier and not wanted.specifier.contains(found, prereleases=True):
            return False
    return True


def numpy_satisfies(version_range: str) -> bool:
    """Whether NumPy's version is one of these: ``numpy_satisfies(">=2.0")``."""
    return installed(f"numpy{version_range}")


def with_requires(*requirements: str) -> Callable:
    """Skip the test unless these packages are there, in these versions."""
    return unittest.skipIf(not installed(*requirements), f"requires: {','.join(requirements)}")
