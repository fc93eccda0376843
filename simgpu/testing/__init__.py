"""CuPy's `testing`, as far as other projects use it: assertions, arrays, and tests for each of several types."""

from typing import Any

from .. import surface
from . import arrays, assertions, loops, parameters


def _find(name: str) -> Any:
    for module in (arrays, assertions, loops, parameters):
        if name in module.__all__:
            return getattr(module, name)
    raise surface.attribute_error(__name__, name)


__getattr__ = surface.getter(__name__, _find)
__dir__ = surface.lister(__name__)
