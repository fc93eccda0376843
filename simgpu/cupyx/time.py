"""`cupyx.time`: where `cupyx.profiler.benchmark` was before."""

import warnings
from collections.abc import Callable
from typing import Any

from ..surface import getter, lister
from .profiler import benchmark


def repeat(func: Callable, args: tuple = (), kwargs: Any = None, n_repeat: int = 10000, **more: Any) -> Any:
    """`benchmark`, with a warning that it's called so now."""
    warnings.warn("cupyx.time.repeat has been moved to cupyx.profiler.benchmark since CuPy v10.", stacklevel=2)
    return benchmark(func, args, kwargs, n_repeat, **more)


__getattr__ = getter(__name__)
__dir__ = lister(__name__)
