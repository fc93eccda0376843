"""How weights may start, besides `glorot_uniform`: random numbers of a size that suits the layer, and others.

All are float32, on the CPU. They take the sizes of the axes, ``(outputs, inputs)``; further axes count as a window that
both see. Random numbers are drawn by `rng`; without one, `fluxlite.seed` makes them repeatable.
"""

import math
from typing import Any

import numpy as np

from .layer import Generator, generator, initializer, nfan, uniform


def normal(shape: tuple[int, ...], rng: Generator, deviation: float) -> np.ndarray:
    return generator(rng).normal(0, deviation, shape).astype(np.float32)


@initializer
def glorot_normal(*shape: int, rng: Generator = None, gain: float = 1) -> np.ndarray:
    """Normal, with deviation ``gain * sqrt(2 / (inputs + outputs))`` (Flux: ``glorot_normal``)."""
    return normal(shape, rng, gain * math.sqrt(2 / max(sum(nfan(*shape)), 1)))


@initializer
def kaiming_uniform(*shape: int, rng: Generator = None, gain: float = math.sqrt(2)) -> np.ndarray:
    """Uniform in ``±gain * sqrt(3 / inputs)``, for layers with `relu` (Flux: ``kaiming_uniform``)."""
    return uniform(shape, rng, gain * math.sqrt(3 / max(nfan(*shape)[0], 1)))


@initializer
def kaiming_normal(*shape: int, rng: Generator = None, gain: float = math.sqrt(2)) -> np.ndarray:
    """Normal, with deviation ``gain / sqrt(inputs)``, for layers with `relu` (Flux: ``kaiming_normal``)."""
    return normal(shape, rng, gain / math.sqrt(max(nfan(*shape)[0], 1)))


@initializer
def lecun_normal(*shape: int, rng: Generator = None, gain: float = 1) -> np.ndarray:
    """`truncated_normal` with deviation ``gain / sqrt(inputs)``, for layers with `selu` (Flux: ``lecun_normal``)."""
    return truncated_normal(*shape, rng=rng, std=gain / math.sqrt(max(nfan(*shape)[0], 1)))


@initializer
def randn32(*shape: int, rng: Generator = None) -> np.ndarray:
    """Normal, with deviation 1 (Flux: ``randn32``)."""
    return normal(shape, rng, 1)


@initializer
def rand32(*shape: int, rng: Generator = None) -> np.ndarray:
    """Uniform from 0 to 1 (Flux: ``rand32``)."""
    return generator(rng).random(shape).astype(np.float32)


@initializer
def truncated_normal(
    *shape: int, rng: Generator = None, mean: float = 0, std: float = 1, lo: float = -2, hi: float = 2
) -> np.ndarray:
    """Normal, and what lies outside `lo` to `hi` drawn again (Flux: ``truncated_normal``)."""
    width = std * math.sqrt(2)
    chance = math.erf((hi - mean) / width) - math.erf((lo - mean) / width)
    if not chance > 0.002:  # of 1,000 draws not one would fit
        raise ValueError(f"truncated_normal: next to nothing of mean {mean} and std {std} lies between {lo} and {hi}")
    rng = generator(rng)
    drawn = rng.normal(mean, std, shape)
    outside = (drawn < lo) | (drawn > hi)
    while outside.any():
        drawn[outside] = rng.normal(mean, std, int(outside.sum()))
        outside = (drawn < lo) | (drawn > hi)
    return drawn.astype(np.float32)


@initializer
def orthogonal(*shape: int, rng: Generator = None, gain: float = 1) -> np.ndarray:
    """`gain` times a matrix with orthogonal rows, or columns if they're fewer, of length 1 (Flux: ``orthogonal``)."""
    rows = shape[0]
    columns = math.prod(shape[1:])
    drawn = generator(rng).normal(size=(max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(drawn)
    q = gain * q * np.sign(np.diag(r))  # otherwise not all rotations would be equally likely
    if rows < columns:
        q = q.T
    return np.reshape(q, shape).astype(np.float32)


@initializer
def sparse_init(*shape: int, sparsity: float, std: float = 0.01, rng: Generator = None) -> np.ndarray:
    """Normal, and in each column the share `sparsity` of the numbers zero (Martens, 2010; Flux: ``sparse_init``)."""
    if not 0 <= sparsity <= 1:
        raise ValueError(f"sparse_init(sparsity=…) is a share, from 0 to 1, got {sparsity}")
    rng = generator(rng)
    drawn = rng.normal(0, std, shape)
    drawn[: math.ceil(sparsity * shape[0])] = 0
    return rng.permuted(drawn, axis=0).astype(np.float32)


@initializer
def identity_init(*shape: int, gain: float = 1, rng: Generator = None) -> np.ndarray:
    """`gain` times the identity; a convolution's window passes on its middle (Flux: ``identity_init``)."""
    weight = zeros32(*shape)
    if len(shape) > 1:  # a bias is zero
        middle: list[Any] = [(size - 1) // 2 for size in shape[2:]]
        weight[:, :, *middle] = gain * np.eye(*shape[:2], dtype=np.float32)
    return weight


@initializer
def zeros32(*shape: int, rng: Generator = None) -> np.ndarray:
    """Zeros (Flux: ``zeros32``)."""
    return np.zeros(shape, np.float32)


@initializer
def ones32(*shape: int, rng: Generator = None) -> np.ndarray:
    """Ones (Flux: ``ones32``)."""
    return np.ones(shape, np.float32)
