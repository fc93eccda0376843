"""CuPy's `cupy.exceptions`: NumPy's."""

from numpy.exceptions import (  # noqa: F401
    AxisError,
    ComplexWarning,
    ModuleDeprecationWarning,
    RankWarning,
    TooHardError,
    VisibleDeprecationWarning,
)

from .surface import getter, lister

__getattr__ = getter(__name__)
__dir__ = lister(__name__)
