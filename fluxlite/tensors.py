"""Tensors of PyTorch, JAX and others aren't arrays that fluxlite computes with: errors say how to get one.

They would often pass through NumPy's functions without a word, and nothing would be trained.
"""

import functools
from typing import Any

_AS_AN_ARRAY = {
    "torch": "np.from_dlpack(x.detach().cpu())", "jax": "np.asarray(x)", "jaxlib": "np.asarray(x)",
    "tensorflow": "x.numpy()", "mlx": "np.array(x)", "paddle": "x.numpy()",
}  # fmt: skip


@functools.lru_cache(maxsize=256)
def library_of(kind: type) -> str:
    """The library whose tensors are of this type; '' if it isn't one of those."""
    root = kind.__module__.partition(".")[0]
    return root if root in _AS_AN_ARRAY and hasattr(kind, "shape") and hasattr(kind, "dtype") else ""


def is_tensor(x: Any) -> bool:
    return library_of(x.__class__) != ""


def tensor(x: Any) -> str:
    """What `x` is, a tensor of another library, and what to write: to stand after "got"."""
    library = library_of(x.__class__)
    return f"a {library}.{type(x).__name__}; {_AS_AN_ARRAY[library]} makes an array"


def refuse_tensor(what: str, x: Any) -> None:
    """Raises `TypeError`, saying that `what` takes arrays, if `x` is a tensor of another library."""
    if is_tensor(x):
        raise TypeError(f"{what} takes arrays, got {tensor(x)}")
