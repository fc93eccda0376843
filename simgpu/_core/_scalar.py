"""CuPy's `cupy._core._scalar`: what C calls a type."""

from typing import Any

import numpy as np

from ..surface import getter, lister

__getattr__ = getter(__name__)
__dir__ = lister(__name__)
_NAMES = {
    "bool": "bool", "int8": "signed char", "int16": "short", "int32": "int", "int64": "long long",
    "uint8": "unsigned char", "uint16": "unsigned short", "uint32": "unsigned int", "uint64": "unsigned long long",
    "float16": "float16", "float32": "float", "float64": "double",
    "complex64": "thrust::complex<float>", "complex128": "thrust::complex<double>",
}  # fmt: skip


def get_typename(dtype: Any, type_decls: set | None = None) -> str:
    """What a kernel in C calls this type. The file that says it in C goes into `type_decls`, if there's one.

    Raises `TypeError` for None, and `ValueError` for a type that a GPU lacks.

    >>> get_typename("f4"), get_typename(int), get_typename("c8")
    ('float', 'long long', 'thrust::complex<float>')
    """
    if dtype is None:
        raise TypeError("dtype is None")
    name = np.dtype(dtype).name
    if name not in _NAMES:
        raise ValueError(f"Unsupported dtype {dtype}")
    if type_decls is not None and name == "float16":
        type_decls.add('#include "cupy/float16.cuh"')
    return _NAMES[name]
