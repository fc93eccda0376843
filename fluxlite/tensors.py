"""Tensors of PyTorch, JAX and others: they aren't arrays that fluxlite computes with, and errors say how to get one.

They would often pass through NumPy's functions without a word, and nothing would be trained.
"""

import functools
from typing import Any

_AS_AN_ARRAY = {  # for each library
    "torch": "np.from_dlpack({})", "jax": "np.asarray({})", "jaxlib": "np.asarray({})",
    "tensorflow": "{}.numpy()", "mlx": "np.array({})", "paddle": "{}.numpy()",
}  # fmt: skip


@functools.lru_cache(maxsize=256)
def library_of(kind: type) -> str:
    """The library whose tensors are of this type; '' if it isn't one of those."""
    root = kind.__module__.partition(".")[0]
    return root if root in _AS_AN_ARRAY and hasattr(kind, "shape") and hasattr(kind, "dtype") else ""


def is_tensor(x: Any) -> bool:
    """Whether `x` is a tensor of another library."""
    return library_of(x.__class__) != ""


def tensor(x: Any) -> str:
    """What `x` is, a tensor of another library, and what to write: to stand after "got"."""
    library, written, note = library_of(x.__class__), "x", ""
    if library == "torch":  # from_dlpack needs no copy, but takes no tensor with a gradient, and none of a GPU
        written += ".detach()" * bool(x.requires_grad) + ".float()" * (str(x.dtype) == "torch.bfloat16")
        if x.device.type != "cpu":
            note = f", cupy.from_dlpack({written}) one on the same GPU" if x.device.type == "cuda" else ""
            written += ".cpu()"
    name = f"{'torch' if library == 'torch' else type(x).__module__}.{type(x).__name__}"
    return f"a {name}; {_AS_AN_ARRAY[library].format(written)} makes an array{note}"


def refuse_tensor(what: str, x: Any) -> None:
    """Raises `TypeError`, saying that `what` takes arrays, if `x` is a tensor of another library."""
    if is_tensor(x):
        raise TypeError(f"{what} takes arrays, got {tensor(x)}")
