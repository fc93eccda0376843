"""Tensors of PyTorch, JAX and others: they aren't arrays that fluxlite computes with, and errors say how to get one.

They would often pass through NumPy's functions without a word, and nothing would be trained.
"""

from __future__ import annotations

import functools
from typing import Any

# For each library, how its tensor `x` becomes a NumPy array.
_MAKES_AN_ARRAY = {
    "torch": "np.from_dlpack({})",
    "jax": "np.asarray({})",
    "jaxlib": "np.asarray({})",
    "tensorflow": "{}.numpy()",
    "mlx": "np.array({})",
    "paddle": "{}.numpy()",
}


@functools.lru_cache(maxsize=256)
def library_of(kind: type) -> str:
    """The library whose tensors are of this type; '' if it isn't one of those.

    >>> library_of(np.ndarray)
    ''
    """
    root = kind.__module__.partition(".")[0]
    return root if root in _MAKES_AN_ARRAY and hasattr(kind, "shape") and hasattr(kind, "dtype") else ""


def is_tensor(x: Any) -> bool:
    """Whether `x` is a tensor of another library."""
    return library_of(x.__class__) != ""


def tensor(x: Any) -> str:
    """What `x` is, a tensor of another library, and what to write: to stand after "got".

    PyTorch's from_dlpack needs no copy, but takes no tensor that has a gradient, and none in a GPU's memory.
    """
    library, written, note = library_of(x.__class__), "x", ""
    if library == "torch":
        written += ".detach()" * bool(x.requires_grad) + ".float()" * (str(x.dtype) == "torch.bfloat16")
        if x.device.type != "cpu":
            note = f", cupy.from_dlpack({written}) one on the same GPU" if x.device.type == "cuda" else ""
            written += ".cpu()"
    made = _MAKES_AN_ARRAY[library].format(written)
    return f"a {'torch' if library == 'torch' else type(x).__module__}.{type(x).__name__}; {made} makes an array{note}"


def refuse_tensor(what: str, x: Any) -> None:
    """Raises `TypeError`, saying that `what` takes arrays, if `x` is a tensor of another library."""
    if is_tensor(x):
        raise TypeError(f"{what} takes arrays, got {tensor(x)}")
