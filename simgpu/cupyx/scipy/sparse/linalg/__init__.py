"""CuPy's `cupyx.scipy.sparse.linalg`: equations and eigenvalues with sparse matrices and operators.

`iterative.py` and `least_squares.py` run on arrays of the GPU, `solving.py` has what SciPy computes.
"""

from .....surface import getter, lister
from .interface import LinearOperator, aslinearoperator  # noqa: F401
from .iterative import bicgstab, cg, cgs, gmres, minres  # noqa: F401
from .least_squares import lsmr  # noqa: F401
from .solving import (  # noqa: F401
    SuperLU,
    eigsh,
    factorized,
    lobpcg,
    lsqr,
    matrix_power,
    norm,
    spilu,
    splu,
    spsolve,
    spsolve_triangular,
    svds,
)  # fmt: skip

__getattr__ = getter(__name__)
__dir__ = lister(__name__)
