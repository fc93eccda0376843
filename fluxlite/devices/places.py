"""Which device an array is on, or everything in a model or a container."""

from __future__ import annotations

from typing import Any

from .. import arrays
from ..autodiff.tracked import TrackedArray, plain
from ..errors import DeviceError
from ..tree.contract import is_leaf
from ..tree.ties import is_array
from ..tree.walks import KeyPath, check_open, nodes
from ..unreached import arrays_inside, why_shut


def device_of(x: Any) -> Any:
    """The device of `x`: an array, or everything in a model or container (CUDA.jl: ``device(x)``).

    None if it has no arrays, since it then works on any device. Raises `DeviceError` if its arrays are on different
    devices, naming two of them, and `TypeError` for arrays inside an object that can't be walked.

    >>> device_of({"x": np.zeros(3), "n": 3})
    CPU
    >>> with fl.simulate_gpu():
    ...     device_of([np.zeros(3), fl.gpu(np.zeros(3, np.float32))])
    Traceback (most recent call last):
    fluxlite.errors.DeviceError: [0] is on CPU, [1] is on Simulated:0
    """
    first: tuple[KeyPath, Any] | None = None
    for path, node in nodes(x):
        check_open(path, node)
        node = plain(node) if type(node) is TrackedArray else node
        if not is_array(node):
            if is_leaf(node):
                _check_nothing_inside(path, node)
            continue
        device = arrays.device_of(node)
        if first is None:
            first = path, device
        elif device != first[1]:
            raise DeviceError(first[0], f"is on {first[1]}, {path} is on {device}")
    return None if first is None else first[1]


def _check_nothing_inside(path: KeyPath, leaf: Any) -> None:
    inside = next(arrays_inside(leaf, path), None)
    if inside is not None:
        place = str(inside[0]) or f"a {type(leaf).__name__}"
        raise TypeError(f"device_of cannot see all of it: there is an array in {place}: {why_shut(leaf)}")
