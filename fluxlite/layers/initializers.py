"""How weights start: random numbers of a size that suits the layer, or others. All are Float32, on the CPU.

They take the sizes of the axes, ``(outputs, inputs)``; further axes count as a window that both see. Random numbers are
drawn by `rng`; without one, `fluxlite.seed` makes them repeatable, `np.random.seed` doesn't.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arrays import astype
from ..messages import explained, in_words, notice
from ..seeds import WEIGHTS, next_generator
from ..tree.ties import is_array

Generator = np.random.Generator
_sizes = explained("sizes, such as 5, 10, and perhaps a NumPy generator")


@_sizes
def nfan(*shape: int) -> tuple[int, int]:
    """(inputs, outputs) that a weight of this shape connects (Flux: ``nfan``)."""
    if len(shape) < 2:
        return 1, shape[0] if shape else 1
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


def _generator(rng: Generator | None) -> Generator:
    return next_generator(WEIGHTS) if rng is None else rng


def _uniform(shape: tuple[int, ...], rng: Generator | None, limit: float) -> Any:
    return _generator(rng).uniform(-limit, limit, shape).astype(np.float32)


def _normal(shape: tuple[int, ...], rng: Generator | None, deviation: float) -> Any:
    return _generator(rng).normal(0, deviation, shape).astype(np.float32)


@_sizes
def glorot_uniform(*shape: int, rng: Generator | None = None, gain: float = 1) -> Any:
    """Uniform in ``±gain * sqrt(6 / (inputs + outputs))`` (Flux: ``glorot_uniform``)."""
    return _uniform(shape, rng, gain * math.sqrt(6 / max(sum(nfan(*shape)), 1)))


@_sizes
def glorot_normal(*shape: int, rng: Generator | None = None, gain: float = 1) -> Any:
    """Normal, with deviation ``gain * sqrt(2 / (inputs + outputs))`` (Flux: ``glorot_normal``)."""
    return _normal(shape, rng, gain * math.sqrt(2 / max(sum(nfan(*shape)), 1)))


@_sizes
def kaiming_uniform(*shape: int, rng: Generator | None = None, gain: float = math.sqrt(2)) -> Any:
    """Uniform in ``±gain * sqrt(3 / inputs)``, for layers with `relu` (Flux: ``kaiming_uniform``)."""
    return _uniform(shape, rng, gain * math.sqrt(3 / max(nfan(*shape)[0], 1)))


@_sizes
def kaiming_normal(*shape: int, rng: Generator | None = None, gain: float = math.sqrt(2)) -> Any:
    """Normal, with deviation ``gain / sqrt(inputs)``, for layers with `relu` (Flux: ``kaiming_normal``)."""
    return _normal(shape, rng, gain / math.sqrt(max(nfan(*shape)[0], 1)))


@_sizes
def lecun_normal(*shape: int, rng: Generator | None = None, gain: float = 1) -> Any:
    """`truncated_normal` with deviation ``gain / sqrt(inputs)``, for layers with `selu` (Flux: ``lecun_normal``)."""
    return truncated_normal(*shape, rng=rng, std=gain / math.sqrt(max(nfan(*shape)[0], 1)))


@_sizes
def randn32(*shape: int, rng: Generator | None = None) -> Any:
    """Normal, with deviation 1 (Flux: ``randn32``)."""
    return _normal(shape, rng, 1)


@_sizes
def rand32(*shape: int, rng: Generator | None = None) -> Any:
    """Uniform from 0 to 1 (Flux: ``rand32``)."""
    return _generator(rng).random(shape).astype(np.float32)


@_sizes
def truncated_normal(
    *shape: int, rng: Generator | None = None, mean: float = 0, std: float = 1, lo: float = -2, hi: float = 2
) -> Any:
    """Normal, and what lies outside `lo` to `hi` drawn again (Flux: ``truncated_normal``)."""
    chance = math.erf((hi - mean) / (std * math.sqrt(2))) - math.erf((lo - mean) / (std * math.sqrt(2)))
    if not chance > 0.002:  # of 1,000 draws not one would fit
        raise ValueError(f"truncated_normal: next to nothing of mean {mean} and std {std} lies between {lo} and {hi}")
    rng = _generator(rng)
    drawn = rng.normal(mean, std, shape)
    while (outside := (drawn < lo) | (drawn > hi)).any():
        drawn[outside] = rng.normal(mean, std, int(outside.sum()))
    return drawn.astype(np.float32)


@_sizes
def orthogonal(*shape: int, rng: Generator | None = None, gain: float = 1) -> Any:
    """`gain` times a matrix with orthogonal rows, or columns if they're fewer, of length 1 (Flux: ``orthogonal``)."""
    rows, columns = shape[0], math.prod(shape[1:])
    q, r = np.linalg.qr(_generator(rng).normal(size=(max(rows, columns), min(rows, columns))))
    q = gain * q * np.sign(np.diag(r))  # otherwise not all rotations would be equally likely
    return np.reshape(q if rows >= columns else q.T, shape).astype(np.float32)


@_sizes
def sparse_init(*shape: int, sparsity: float, std: float = 0.01, rng: Generator | None = None) -> Any:
    """Normal, and in each column the share `sparsity` of the numbers zero (Martens, 2010; Flux: ``sparse_init``)."""
    if not 0 <= sparsity <= 1:
        raise ValueError(f"sparse_init(sparsity=…) is a share, from 0 to 1, got {sparsity}")
    rng = _generator(rng)
    drawn = rng.normal(0, std, shape)
    drawn[: math.ceil(sparsity * shape[0])] = 0
    return rng.permuted(drawn, axis=0).astype(np.float32)


@_sizes
def identity_init(*shape: int, gain: float = 1, rng: Any = None) -> Any:
    """`gain` times the identity; a convolution's window passes on its middle (Flux: ``identity_init``)."""
    weight = zeros32(*shape)
    if len(shape) > 1:  # a bias is zero
        weight[:, :, *((size - 1) // 2 for size in shape[2:])] = gain * np.eye(*shape[:2], dtype=np.float32)
    return weight


@_sizes
def zeros32(*shape: int, rng: Any = None) -> Any:
    """Zeros (Flux: ``zeros32``)."""
    return np.zeros(shape, np.float32)


@_sizes
def ones32(*shape: int, rng: Any = None) -> Any:
    """Ones (Flux: ``ones32``)."""
    return np.ones(shape, np.float32)


def start(init: Callable, outputs: int, inputs: int, rng: Generator | None = None, *, window: tuple[int, ...] = (),
          layer: str = "Dense", keyword: str = "init") -> Any:  # fmt: skip
    """A layer's first weights, of shape ``(outputs, inputs, *window)``: what `init` gives, Float32 if it is Float64."""
    shape = (outputs, inputs, *window)
    weight = init(*shape, **({} if rng is None else {"rng": rng}))
    if not is_array(weight) or weight.dtype.kind != "f" or weight.shape != shape:
        wanted = f"{keyword}{shape} gives an array of floating-point numbers of that shape"
        raise ValueError(f"{layer}({keyword}=…): {wanted}, got {in_words(weight)}")
    if weight.dtype != np.float64:
        return weight
    what = f"{layer}({keyword}=…): what {keyword} gives is float64 and becomes float32, as parameters usually are."
    notice("init", f"{what} {layer}.of(…) keeps the type of its arrays.")
    return astype(weight, np.float32)
