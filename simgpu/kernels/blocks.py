"""How often a reduction on a card uses its identity: each thread of a block begins with it, not only the first.

That shows only if the identity isn't neutral. CuPy reduces with CUB's blocks where it can (_core/_cub_reduction.pyx),
and otherwise with blocks of its own (_core/_reduction.pyx).
"""

import math
from collections.abc import Sequence

import numpy as np

from ..launches import reduces_with_cub

_THREADS, _ITEMS, _WARP = 512, 4, 32  # of a block, the most; of a thread of CUB's; and the fewest of those


def uses_of_identity(
    inputs: Sequence[np.ndarray], kept: tuple[int, ...], axes: Sequence[int], has_one_of_each: bool
) -> int:
    """How often the identity is in each result. The inputs' first axes are reduced, the last ones are `kept`.

    `axes` are those that are reduced, where the argument had them. `has_one_of_each` says whether the kernel has one
    input and one output, which CUB asks for.
    """
    size = math.prod(inputs[0].shape[: len(axes)])
    if has_one_of_each and reduces_with_cub(as_given(inputs[0], axes), tuple(axes)):
        if not kept:
            return _uses_in_two_passes(size)
        return _uses_in_tiles(size, _tile(size))
    return _uses_in_cupys_block(inputs, kept, size)


def as_given(x: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """An input with its axes where the argument had them: these are the first ones now."""
    return np.moveaxis(x, range(len(axes)), axes)


def _tile(size: int) -> int:
    """How many elements one of CUB's blocks takes at once (`_get_cub_block_specs`)."""
    threads = _next_power(-(-size // _ITEMS))
    return min(max(threads, _WARP), _THREADS) * _ITEMS


def _uses_in_tiles(size: int, tile: int) -> int:
    """A block begins with it, and fills its last tile up with it."""
    return 1 + -size % tile


def _uses_in_two_passes(size: int) -> int:
    """A whole array: many blocks with a tile each, then one block that combines their results."""
    tile = _tile(size)
    each = min(size, tile)
    blocks = -(-size // each)
    return blocks + blocks * tile - size + _uses_in_tiles(blocks, tile)


def _uses_in_cupys_block(inputs: Sequence[np.ndarray], kept: tuple[int, ...], size: int) -> int:
    """A block's threads share its results: each result has as many threads, and each of these begins with it."""
    together = max(_THREADS // max(1, size), min(_in_one_piece(inputs, kept), _WARP))
    stride = _next_power(together // 2 + 1)
    return _THREADS // stride


def _in_one_piece(inputs: Sequence[np.ndarray], kept: tuple[int, ...]) -> int:
    """How many results' elements lie beside each other in memory (`_get_contiguous_size`)."""
    most = 1
    for x in inputs:
        count = 1
        for length, stride in zip(reversed(kept), reversed(x.strides)):
            if stride != count * x.itemsize:
                break
            count *= length
        most = max(most, count)
    return most


def _next_power(number: int) -> int:
    """The smallest power of 2 that's at least this."""
    return 1 << max(0, number - 1).bit_length()
