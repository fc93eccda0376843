"""CuPy's `cupy._util`: what other projects take from it, though its name says that it's CuPy's own."""

import warnings
from typing import Any

from . import leftovers
from .leftovers import clear_memo, memoize  # noqa: F401
from .memory import Stored
from .places import PerformanceWarning  # noqa: F401
from .surface import getter, lister

__getattr__ = getter(__name__)
__dir__ = lister(__name__)


def experimental(api_name: str) -> None:
    """Warn that this name may change, unless the program has switched that off.

    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     experimental("foo.bar")
    >>> str(found[0].message)
    'foo.bar is experimental. The interface can change in the future.'
    """
    if not leftovers.disable_experimental_feature_warning:
        text = f"{api_name} is experimental. The interface can change in the future."
        warnings.warn(text, FutureWarning, stacklevel=2)


def check_array(obj: Any, *, arg_name: str) -> None:
    """Raise `TypeError` if it's no array on a device."""
    if not isinstance(obj, Stored):
        raise TypeError(f"'{arg_name}' must be a cupy.ndarray object, not {type(obj)}.")
