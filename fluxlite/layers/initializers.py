"""How weights start: random numbers of a size that suits the layer."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..arguments import check_callable, explained
from ..arrays import astype
from ..messages import notice
from ..seeds import WEIGHTS, next_generator
from ..tree.ties import is_array

_told = explained("sizes, whole numbers such as 5, 10, and perhaps a NumPy generator")


@_told
def nfan(*shape: int) -> tuple[int, int]:
    """(inputs, outputs) that a weight of this shape connects (Flux: ``nfan``).

    `shape` is ``(outputs, inputs)``, as a `Dense` has it; further axes are the window of a convolution, which each
    input and output sees.

    >>> nfan(5, 10), nfan(32, 16, 3, 3), nfan(7)
    ((10, 5), (144, 288), (1, 7))
    """
    if len(shape) < 2:
        return 1, shape[0] if shape else 1
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


def _random(rng: np.random.Generator | None) -> np.random.Generator:
    if rng is not None and not hasattr(rng, "normal"):
        raise TypeError("the numbers are drawn by a generator, such as np.random.default_rng(1)")
    return next_generator(WEIGHTS) if rng is None else rng


def _normal(shape: tuple[int, ...], deviation: float, rng: np.random.Generator | None) -> Any:
    return _random(rng).normal(0, deviation, shape).astype(np.float32)


def _uniform(shape: tuple[int, ...], limit: float, rng: np.random.Generator | None) -> Any:
    return _random(rng).uniform(-limit, limit, shape).astype(np.float32)


@_told
def glorot_uniform(*shape: int, rng: np.random.Generator | None = None, gain: float = 1) -> Any:
    """Uniform in ``±gain * sqrt(6 / (inputs + outputs))``, float32, on the CPU (Flux: ``glorot_uniform``).

    `shape` is ``(outputs, inputs)``; further axes count as a window that both see. Drawn by `rng`; without one,
    `fluxlite.seed` makes it repeatable, `np.random.seed` doesn't. The same holds for all that follow.

    >>> w = glorot_uniform(5, 10, rng=np.random.default_rng(0))
    >>> w.shape, w.dtype, bool(abs(w).max() <= (6 / 15) ** 0.5)
    ((5, 10), dtype('float32'), True)
    """
    if not shape:
        raise TypeError("glorot_uniform(*shape) takes the sizes of the axes, as in glorot_uniform(5, 10), got none")
    return _uniform(shape, gain * math.sqrt(6 / max(sum(nfan(*shape)), 1)), rng)


@_told
def glorot_normal(*shape: int, rng: np.random.Generator | None = None, gain: float = 1) -> Any:
    """Normal, with the deviation ``gain * sqrt(2 / (inputs + outputs))`` (Flux: ``glorot_normal``).

    >>> weight = glorot_normal(100, 300, rng=np.random.default_rng(0))
    >>> f"{weight.std():.2f}"
    '0.07'
    """
    return _normal(shape, gain * math.sqrt(2 / max(sum(nfan(*shape)), 1)), rng)


@_told
def kaiming_uniform(*shape: int, rng: np.random.Generator | None = None, gain: float = math.sqrt(2)) -> Any:
    """Uniform in ``±gain * sqrt(3 / inputs)``, for layers with `relu` (Flux: ``kaiming_uniform``).

    >>> weight = kaiming_uniform(100, 300, rng=np.random.default_rng(0))
    >>> bool(np.max(abs(weight)) <= np.sqrt(2 * 3 / 300))
    True
    """
    return _uniform(shape, gain * math.sqrt(3 / max(nfan(*shape)[0], 1)), rng)


@_told
def kaiming_normal(*shape: int, rng: np.random.Generator | None = None, gain: float = math.sqrt(2)) -> Any:
    """Normal, with the deviation ``gain / sqrt(inputs)``, for layers with `relu` (Flux: ``kaiming_normal``).

    >>> w = kaiming_normal(200, 100, rng=np.random.default_rng(0))
    >>> round(float(w.std()), 2)
    0.14
    """
    return _normal(shape, gain / math.sqrt(max(nfan(*shape)[0], 1)), rng)


@_told
def truncated_normal(
    *shape: int, rng: np.random.Generator | None = None, mean: float = 0, std: float = 1, lo: float = -2, hi: float = 2
) -> Any:
    """Normal, and what lies outside `lo` to `hi` drawn again (Flux: ``truncated_normal``).

    >>> w = truncated_normal(1000, rng=np.random.default_rng(0))
    >>> bool(abs(w).max() <= 2)
    True
    """
    if not lo < hi:
        raise ValueError(f"truncated_normal draws between lo and hi, got lo={lo} and hi={hi}")
    chance = math.erf((hi - mean) / (std * math.sqrt(2))) - math.erf((lo - mean) / (std * math.sqrt(2)))
    if chance < 0.002:  # of 1,000 draws not one would fit
        raise ValueError(f"truncated_normal: next to nothing of mean {mean} and std {std} lies between {lo} and {hi}")
    rng = _random(rng)
    drawn = rng.normal(mean, std, shape)
    while (outside := (drawn < lo) | (drawn > hi)).any():
        drawn[outside] = rng.normal(mean, std, int(outside.sum()))
    return drawn.astype(np.float32)


@_told
def lecun_normal(*shape: int, rng: np.random.Generator | None = None, gain: float = 1) -> Any:
    """`truncated_normal` with the deviation ``gain / sqrt(inputs)``, for layers with `selu` (Flux: ``lecun_normal``).

    As in Flux it is cut off at ±2.

    >>> weight = lecun_normal(100, 400, rng=np.random.default_rng(0))
    >>> f"{weight.std():.2f}"
    '0.05'
    """
    return truncated_normal(*shape, rng=rng, std=gain / math.sqrt(max(nfan(*shape)[0], 1)))


@_told
def orthogonal(*shape: int, rng: np.random.Generator | None = None, gain: float = 1) -> Any:
    """`gain` times a matrix whose rows, or columns if they are fewer, are orthogonal and of length 1 (``orthogonal``).

    More axes than two are taken together, all but the first. For recurrent weights: a state keeps its length.

    >>> w = orthogonal(3, 5, rng=np.random.default_rng(0))
    >>> bool(np.allclose(w @ w.T, np.eye(3), atol=1e-6))
    True
    """
    if len(shape) < 2:
        raise ValueError(f"orthogonal(*shape) takes at least two sizes, got {shape}")
    rows, columns = shape[0], math.prod(shape[1:])
    q, r = np.linalg.qr(_random(rng).normal(size=(max(rows, columns), min(rows, columns))))
    q = gain * q * np.sign(np.diag(r))  # otherwise not all rotations would be equally likely
    return np.reshape(q if rows >= columns else q.T, shape).astype(np.float32)


@_told
def sparse_init(*shape: int, sparsity: float, std: float = 0.01, rng: np.random.Generator | None = None) -> Any:
    """Normal, and in each column the share `sparsity` of the numbers zero (Martens, 2010; Flux: ``sparse_init``).

    >>> (sparse_init(4, 3, sparsity=0.5, rng=np.random.default_rng(0)) == 0).sum(axis=0)
    array([2, 2, 2])
    """
    if len(shape) != 2:
        raise ValueError(f"sparse_init(*shape) takes two sizes, got {shape}")
    if not 0 <= sparsity <= 1:
        raise ValueError(f"sparsity is a share, from 0 to 1, got {sparsity}")
    rng = _random(rng)
    drawn = rng.normal(0, std, shape)
    drawn[: math.ceil(sparsity * shape[0])] = 0
    return rng.permuted(drawn, axis=0).astype(np.float32)


@_told
def identity_init(*shape: int, gain: float = 1, rng: Any = None) -> Any:
    """`gain` times the identity: the layer passes on what it gets (Flux: ``identity_init``).

    A bias is zero; a convolution's window passes on its middle. `rng` is taken and not used.

    >>> identity_init(2, 3)
    array([[1., 0., 0.],
           [0., 1., 0.]], dtype=float32)
    """
    if len(shape) < 2:
        return zeros32(*shape)
    weight = zeros32(*shape)
    middle = tuple((size - 1) // 2 for size in shape[2:])
    weight[:, :, *middle] = gain * np.eye(*shape[:2], dtype=np.float32)
    return weight


@_told
def zeros32(*shape: int, rng: Any = None) -> Any:
    """Zeros, float32 (Flux: ``zeros32``). `rng` is taken and not used.

    >>> zeros32(2)
    array([0., 0.], dtype=float32)
    """
    return np.zeros(shape, np.float32)


@_told
def ones32(*shape: int, rng: Any = None) -> Any:
    """Ones, float32 (Flux: ``ones32``). `rng` is taken and not used.

    >>> ones32(2)
    array([1., 1.], dtype=float32)
    """
    return np.ones(shape, np.float32)


@_told
def rand32(*shape: int, rng: np.random.Generator | None = None) -> Any:
    """Uniform from 0 to 1, float32 (Flux: ``rand32``).

    >>> x = rand32(100, 100, rng=np.random.default_rng(0))
    >>> f"{x.mean():.1f}, from 0 to {x.max():.1f}"
    '0.5, from 0 to 1.0'
    """
    return _random(rng).random(shape).astype(np.float32)


@_told
def randn32(*shape: int, rng: np.random.Generator | None = None) -> Any:
    """Normal, float32 (Flux: ``randn32``).

    >>> x = randn32(100, 100, rng=np.random.default_rng(0))
    >>> f"mean {abs(x.mean()):.1f}, deviation {x.std():.1f}"
    'mean 0.0, deviation 1.0'
    """
    return _normal(shape, 1, rng)


def start(
    init: Callable, outputs: int, inputs: int, rng: np.random.Generator | None = None, *, window: tuple[int, ...] = (),
    layer: str = "Dense", keyword: str = "init",
) -> Any:  # fmt: skip
    """A layer's first weights, of shape ``(outputs, inputs, *window)``: what `init` gives, Float32 if it is Float64.

    Raises `TypeError` for what is no array of floating-point numbers, `ValueError` for one of another shape.
    """
    check_callable(f"{layer}({keyword}=…)", init)
    weight = init(outputs, inputs, *window, **({} if rng is None else {"rng": rng}))
    if not is_array(weight) or weight.dtype.kind != "f":
        got = f"an array of {weight.dtype.name}" if is_array(weight) else f"a {type(weight).__name__}"
        raise TypeError(f"{layer}({keyword}=…) gives an array of floating-point numbers, got {got}")
    shape = (outputs, inputs, *window)
    if weight.shape != shape:
        raise ValueError(f"{layer}({keyword}=…): {keyword}{shape} gives an array of that shape, got {weight.shape}")
    if weight.dtype != np.float64:
        return weight
    notice(
        "init",
        f"{layer}({keyword}=…): what {keyword} gives is float64 and becomes float32, as parameters usually are. "
        f"{layer}.of(…) keeps the type of its arrays.",
    )
    return astype(weight, np.float32)
