"""What a gradient is computed with: plain arrays, and at `back` they have to be what they were.

While `gradient` runs, they are read-only. A `param` has no call around it that would end: what was made read-only for
it would stay so for good. What is noted instead is a fingerprint, which is compared on the way back.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_SMALL = 16_384  # bytes; what is no longer is noted as it is
_LOOKED_AT = {np.ndarray, list}
_SAMPLE = 256  # elements of a long array; their order shows whether it was sorted or shuffled


def as_base_class(x: Any, place: str = "") -> Any:
    """An object of a subclass of NumPy's arrays as a plain array of the same memory; another array itself.

    Raises `TypeError` for a class that computes in another way: its gradient would be wrong.
    """
    kind = type(x)
    if kind is np.ndarray or not isinstance(x, np.ndarray):
        return x
    if isinstance(x, (np.matrix, np.ma.MaskedArray)) or kind.__array_ufunc__ is not np.ndarray.__array_ufunc__:
        name = f"np.{kind.__name__}" if isinstance(x, np.matrix) else f"a {kind.__name__}"
        raise TypeError(
            f"{place or 'an operand'} is {name}, which computes in a way of its own and cannot be differentiated: take "
            "a plain array, np.asarray(x)"
        )
    return x.view(np.ndarray)


def fingerprint(x: Any) -> Any:
    """What tells whether the NumPy array `x` was changed; None for other devices' arrays, which are not looked at.

    >>> x = np.zeros(100_000)
    >>> before = fingerprint(x)
    >>> x[1] = 5
    >>> fingerprint(x) == before
    False
    """
    if type(x) is not np.ndarray:
        return [fingerprint(part) for part in x] if type(x) is list else None
    if x.nbytes <= _SMALL:
        return x.tobytes("A")
    if x.itemsize > 8:
        return None
    bits = x.view(f"u{x.itemsize}")
    flat = np.ravel(bits, "K")
    return np.add.reduce(bits, axis=None, dtype=bits.dtype), flat[:: flat.size // _SAMPLE].tobytes()


def fingerprints(result: Any, arguments: Any) -> list:
    """Those of a call: of its result, and of what it was given."""
    return [fingerprint(result), *[fingerprint(x) for x in arguments if type(x) in _LOOKED_AT]]


def check_unchanged(result: Any) -> None:
    """Raise `RuntimeError` if an array that `result`, a tracked one, was computed with was changed since."""
    waiting, seen = [result], {result}
    for node in waiting:  # which grows meanwhile
        if node.call is None or node.call[0] is None:
            continue
        for _, parent in node.call[3]:
            if parent.number > node.number:  # its data was assigned: the way back says so
                return
            if parent.call is not None and parent not in seen:
                seen.add(parent)
                waiting.append(parent)
        if node.prints != fingerprints(node.value, node.call[1]):
            raise RuntimeError(
                "an array that this loss was computed with has been changed in place since, so that the gradient would "
                "be wrong: compute the loss again, or change a copy, as in c = c.copy()"
            )
