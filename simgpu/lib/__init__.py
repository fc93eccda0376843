"""CuPy's `cupy.lib`: views by strides."""

from . import stride_tricks  # noqa: F401
