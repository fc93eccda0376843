"""CuPy's `cupy.polynomial`: polynomials by their coefficients, the constant one first."""

from . import polynomial, polyutils  # noqa: F401
