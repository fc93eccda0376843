"""CuPy's `cupy.cuda.compiler`. Nothing is compiled here: `simgpu.kernels` translates C to NumPy."""

from ..kernels import CompileException  # noqa: F401
from ..surface import getter, lister

__getattr__ = getter(__name__)
__dir__ = lister(__name__)
