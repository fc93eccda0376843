"""CRC-32, the checksum of zip files and PNG pictures: of bytes as they come, and of two parts from those of each."""

from __future__ import annotations

import zlib
from typing import Any

NOTHING = "00000000"
# A CRC is a remainder: the bytes are taken for one long polynomial over the numbers 0 and 1, and divided by this one.
# Its coefficients are the bits of a number, with that of x⁰ in the highest place, so 1 is 1 << 31.
_DIVISOR = 0xEDB88320
_ONE, _X_TO_THE_8 = 1 << 31, 1 << 23


def crc32(*parts: Any) -> str:
    """The checksum of all parts, one after the other, in 8 digits.

    >>> crc32(b"flux", b"lite") == crc32(b"fluxlite")
    True
    """
    total = 0
    for part in parts:
        total = zlib.crc32(part, total)
    return text(total)


def text(checksum: int) -> str:
    return f"{checksum:08x}"


def joined(first: int, second: int, length: int) -> int:
    """The checksum of two parts together, from that of each and the length of the second.

    So a file's beginning can be decided last, without reading the rest again.

    >>> joined(zlib.crc32(b"flux"), zlib.crc32(b"lite"), 4) == zlib.crc32(b"fluxlite")
    True
    """
    # `length` bytes after the first part multiply it by x to the power of 8 * length. We get there by squaring.
    power, square = _ONE, _X_TO_THE_8
    while length:
        if length & 1:
            power = _product(power, square)
        square = _product(square, square)
        length >>= 1
    return _product(power, first) ^ second


def _product(x: int, y: int) -> int:
    """The remainder of the product of two polynomials."""
    result = 0
    while x:
        if x & _ONE:
            result ^= y
        x = (x << 1) & 0xFFFFFFFF
        y = (y >> 1) ^ (_DIVISOR if y & 1 else 0)
    return result
