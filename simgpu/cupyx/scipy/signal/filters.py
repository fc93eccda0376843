"""Filters that go on where they stopped. CuPy remembers the last inputs and outputs, SciPy what they come to.

CuPy's `zi` has the last ``len(b) - 1`` inputs, then the last ``len(a) - 1`` outputs, the newest last.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.signal


def _state(b: np.ndarray, a: np.ndarray, inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """What SciPy remembers: ``s[m]``, the sum of ``b[k] x[m - k] - a[k] y[m - k]`` for all k above m."""
    order = max(len(b), len(a)) - 1
    state = np.zeros((*np.broadcast_shapes(inputs.shape[:-1], outputs.shape[:-1]), order), np.result_type(b, a, inputs))
    for m in range(order):
        for k in range(m + 1, order + 1):
            if k < len(b):
                state[..., m] += b[k] * inputs[..., m - k]
            if k < len(a):
                state[..., m] -= a[k] * outputs[..., m - k]
    return state / a[0]


def _last(past: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """The last `count` of these values; if there aren't as many, past ones before them."""
    whole = np.concatenate((np.broadcast_to(past, (*values.shape[:-1], past.shape[-1])), values), -1)
    return whole[..., whole.shape[-1] - count :]


def lfilter(b: np.ndarray, a: np.ndarray, x: np.ndarray, axis: int = -1, zi: Any = None) -> Any:
    """`scipy.signal.lfilter` with CuPy's `zi`."""
    if zi is None:
        return scipy.signal.lfilter(b, a, x, axis)
    before, after = len(b) - 1, len(a) - 1
    lines, given = np.moveaxis(x, axis, -1), np.moveaxis(np.atleast_1d(zi), axis, -1)
    inputs, outputs = given[..., :before], given[..., given.shape[-1] - after :]
    state = _state(b, a, inputs, outputs)
    y, _ = scipy.signal.lfilter(b, a, lines, -1, np.broadcast_to(state, (*lines.shape[:-1], state.shape[-1])))
    end = np.concatenate((_last(inputs, lines, before), _last(outputs, y, after)), -1).astype(y.dtype)
    return np.moveaxis(y, -1, axis), np.moveaxis(end, -1, axis)


def lfilter_zi(b: np.ndarray, a: np.ndarray) -> np.ndarray:
    """What's remembered after ones for ever: ones, and the output that they lead to."""
    with np.errstate(all="ignore"):
        level = np.nan_to_num(np.sum(b) / np.sum(a), nan=0, posinf=np.inf, neginf=-np.inf)
    return np.concatenate((np.ones(len(b) - 1), np.full(len(a) - 1, level)))


def lfiltic(b: np.ndarray, a: np.ndarray, y: Any, x: Any = None) -> Any:
    """What's remembered after these outputs and inputs, given with the newest first."""
    if y is None and x is None:
        return None

    def newest(values: Any, count: int) -> np.ndarray:
        if values is None or not count:
            return np.empty(0)
        padded = np.concatenate((values, np.zeros(max(count - len(values), 0))))
        return padded[:count][::-1]

    return np.concatenate((newest(x, len(b) - 1), newest(y, len(a) - 1)))


def sosfilt(sos: np.ndarray, x: np.ndarray, axis: int = -1, zi: Any = None) -> Any:
    """`scipy.signal.sosfilt` with CuPy's `zi`: for each section two inputs and two outputs."""
    if zi is None:
        return scipy.signal.sosfilt(sos, x, axis)
    ends = []
    for section, state in zip(sos, zi, strict=True):
        x, end = lfilter(section[:3], section[3:], x, axis, state)
        ends.append(end)
    return x, np.stack(ends)


def sosfilt_zi(sos: np.ndarray) -> np.ndarray:
    """What's remembered after ones for ever, section by section."""
    found, level = [], 1.0
    for section in sos:
        state = level * lfilter_zi(section[:3], section[3:])
        found.append(state)
        level = state[-1]
    return np.array(found, sos.dtype)


COMPUTES: dict[str, Callable] = {
    "lfilter": lfilter, "lfilter_zi": lfilter_zi, "lfiltic": lfiltic, "sosfilt": sosfilt, "sosfilt_zi": sosfilt_zi,
}  # fmt: skip
