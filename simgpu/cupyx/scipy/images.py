"""What computes some functions of `ndimage`, where CuPy takes other arguments than SciPy, or returns other types."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.ndimage


def distance_transform_edt(
    image: np.ndarray, sampling: Any = None, return_distances: bool = True, return_indices: bool = False,
    distances: Any = None, indices: Any = None, block_params: Any = None, float64_distances: bool = True,
) -> Any:  # fmt: skip
    """SciPy's, for images of two or three axes, with places in other types, and distances in float32 if asked."""
    if image.ndim not in (2, 3):
        raise NotImplementedError(f"Only 2D and 3D distance transforms are supported, got {image.ndim} axes")
    if block_params is not None:
        _check_blocks(block_params, max(image.shape))
    kind = np.dtype(np.float64 if float64_distances else np.float32)
    if distances is not None:
        if not return_distances:
            raise RuntimeError("distances can't be given if return_distances is False")
        if distances.dtype != kind or distances.shape != image.shape:
            raise RuntimeError(f"distances is an array of {kind}, shape {image.shape}")
    places = image.ndim, *image.shape
    if indices is not None:
        _check_places(indices, places, return_indices)
    found = scipy.ndimage.distance_transform_edt(image, sampling, True, True)
    results: list[Any] = []
    for is_wanted, place, values in ((return_distances, distances, found[0]), (return_indices, indices, found[1])):
        if is_wanted and place is not None:
            place[...] = values
            results.append(place)
        elif is_wanted:
            results.append(values.astype(kind) if values is found[0] else values)
    if len(results) == 1:
        return results[0]
    return tuple(results)


def _check_places(indices: np.ndarray, shape: tuple[int, ...], are_wanted: bool) -> None:
    if not are_wanted:
        raise RuntimeError("indices can't be given if return_indices is False")
    smallest = 4 if len(shape) > 3 else 2
    if indices.dtype.kind not in "iu" or indices.dtype.itemsize < smallest or indices.shape != shape:
        raise RuntimeError(f"indices is an array of integers of at least {smallest} bytes, shape {shape}")


def _check_blocks(blocks: Any, length: int) -> None:
    """Raises `ValueError` for sizes of blocks that CuPy's kernels don't take."""
    padded = 32 * math.ceil(length / 32)
    first, second, third = blocks
    is_power = second > 0 and second & (second - 1) == 0
    if min(blocks) < 1 or not is_power or any([block * 32 > padded for block in (first, second, third)]):
        raise ValueError(f"block_params: {blocks} doesn't fit an image whose longest axis has {length} elements")


def with_whole_structure(function: Callable) -> Callable:
    """One of SciPy's binary operations, which takes the shape of a structure that's full, too."""

    @functools.wraps(function)
    def computed(input: np.ndarray, structure: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(structure, int):
            structure = (structure,) * input.ndim
        if isinstance(structure, tuple) and all([isinstance(n, int) for n in structure]):
            structure = np.ones(structure, bool)
        return function(input, structure, *args, **kwargs)

    return computed


def value_indices(arr: np.ndarray, *, ignore_value: Any = None, adaptive_index_dtype: bool = False) -> dict:
    """SciPy's, with places in the smallest type that they fit in, if asked."""
    if arr.dtype.char in "qQ":  # SciPy finds nothing there
        arr = arr.astype(np.int64 if arr.dtype.char == "q" else np.uint64)
    found = scipy.ndimage.value_indices(arr, ignore_value=ignore_value)
    if not adaptive_index_dtype:
        return found
    kind = np.min_scalar_type(-max(arr.shape))
    return {value: tuple([places.astype(kind) for places in axes]) for value, axes in found.items()}


def histogram(*args: Any, **kwargs: Any) -> Any:
    """SciPy's. Those of several labels are a list of arrays."""
    found = scipy.ndimage.histogram(*args, **kwargs)
    if found.dtype == object:
        return [np.asarray(part) for part in found.ravel()]
    return found


BINARY = [
    "binary_closing",
    "binary_dilation",
    "binary_erosion",
    "binary_opening",
    "binary_propagation",
    "binary_fill_holes",
]
COMPUTES: dict[str, Callable] = {
    "distance_transform_edt": distance_transform_edt, "value_indices": value_indices, "histogram": histogram,
    **{name: with_whole_structure(getattr(scipy.ndimage, name)) for name in BINARY},
}  # fmt: skip
