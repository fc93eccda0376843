"""Structured types: arrays of records, as far as CuPy 14 has them. They move, copy, and show their fields as views.

Kernels need each field at a multiple of its size, and compute with single fields only.
"""

from typing import Any

import numpy as np

from .memory import Stored
from .words import word_set

# What moves records as they are, compares them or asks about them. All else computes with numbers.
TAKING_RECORDS = word_set("""
    append array_split ascontiguousarray asfortranarray atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_to
    can_cast column_stack concatenate copy copyto delete diagonal dsplit dstack empty_like expand_dims flip fliplr
    flipud hsplit hstack may_share_memory moveaxis ndim put putmask ravel repeat reshape resize result_type roll
    rollaxis rot90 shape shares_memory size split squeeze stack swapaxes take tile transpose vsplit vstack zeros_like
    array_equal equal not_equal array asarray asanyarray
""")
SORTING = word_set("sort argsort unique isin partition argpartition lexsort union1d intersect1d")


def check_kernel(dtype: np.dtype) -> None:
    """Raises `ValueError` if a kernel can't read or write records of this type."""
    if dtype.names is None:
        return
    for name, (kind, offset, *_) in dtype.fields.items():  # type: ignore[union-attr]
        check_kernel(kind)
        check_place(kind, offset, f"field {name} at byte {offset} of {dtype}")
        if kind.names is None and dtype.itemsize % _alignment(kind):
            check_place(kind, dtype.itemsize, f"{dtype}, whose records have {dtype.itemsize} bytes")


def check_place(dtype: np.dtype, offset: int, where: str) -> None:
    """Raises `ValueError` if numbers of this type lie where a kernel can't reach them."""
    if offset % _alignment(dtype):
        raise ValueError(
            f"{where}: {dtype} isn't at a multiple of {_alignment(dtype)} bytes, as kernels need it. "
            "cp.make_aligned_dtype(dtype) makes a type that is right"
        )


def _alignment(dtype: np.dtype) -> int:
    """The multiple of bytes at which CUDA wants a value of this type."""
    if dtype.names is not None:
        return max((_alignment(kind) for kind, *_ in dtype.fields.values()), default=1)  # type: ignore[union-attr]
    if dtype.base.kind in "biufc":
        return dtype.base.itemsize
    return 1


def check_call(name: str, arrays: Any) -> None:
    """Raises an error if a function doesn't take records, and one of these arrays has some."""
    for values in arrays:
        if values.dtype.names is None:
            continue
        if name in SORTING:
            raise NotImplementedError(f"{name}: arrays of records such as {values.dtype} can't be sorted on a GPU")
        if name not in TAKING_RECORDS:
            raise TypeError(f"{name}: a GPU computes with numbers, not with records of {values.dtype}: take a field")
        check_kernel(values.dtype)


def check_fill(dtype: Any, value: Any) -> None:
    """Raises `TypeError` if records would be filled with a number or one of the host's records."""
    if getattr(dtype, "names", None) and not isinstance(value, Stored):
        raise TypeError(f"a GPU's array of {dtype} can't be filled with {value!r}: fill its fields one by one")


def is_field(index: Any) -> bool:
    """Whether it's the name of a field, or a list of names."""
    return type(index) is str or type(index) is list and bool(index) and all(type(name) is str for name in index)


def part(values: np.ndarray, index: Any) -> np.ndarray:
    """The field or fields with these names, as a view."""
    found = values[index]
    if isinstance(index, str):
        check_place(found.dtype, values.dtype.fields[index][1], f"field {index} of {values.dtype}")  # type: ignore[index]
        for step in values.strides:
            check_place(found.dtype, step, f"field {index} of {values.dtype}")
    return found


def align(dtype: Any, alignment: int = -1) -> np.dtype:
    """`dtype` with each field where a kernel can reach it (`cupy.make_aligned_dtype`)."""
    given = np.dtype(dtype)
    if given.names is None:
        raise TypeError(f"make_aligned_dtype takes a structured type, got {given}")
    if alignment != -1 and (alignment <= 0 or alignment & (alignment - 1)):
        raise ValueError(f"an alignment is a power of 2, got {alignment}")
    kinds, places, end = [], [], 0
    for kind, *_ in given.fields.values():  # type: ignore[union-attr]
        if kind.names is not None:
            kind = align(kind)
        end += -end % _alignment(kind)
        kinds.append(kind)
        places.append(end)
        end += kind.itemsize
    least = max(map(_alignment, kinds), default=1)
    if alignment != -1 and alignment < least:
        raise ValueError(f"alignment={alignment} is less than the fields need: {least}")
    end += -end % max(least, alignment)
    return np.dtype({"names": given.names, "formats": kinds, "offsets": places, "itemsize": end}, align=True)
