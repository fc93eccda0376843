"""Random programs with views and calls in place: eager and captured, nothing may differ, not even a bit.

A program draws its calls once, so that it makes the same ones at each run. What they're called with, arrays, views and
NumPy's numbers, is taken from all that came before. A test tries some; for thousands: nox -s replays.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import fluxlite as fl

LARGEST = 400  # elements; what's larger goes no further
CALLS = 5  # of one step: the first two or three are recorded, the others replayed


def next_to(a: Any, b: Any) -> Any:
    return np.concatenate([np.ravel(a), np.ravel(b)])


def two_ends(a: Any, b: Any) -> Any:
    flat = np.ravel(a)
    return np.stack([flat[:2], flat[-2:]])


def zeros_plus(a: Any, b: Any) -> Any:
    made = np.zeros_like(a)
    made[...] += a
    return made


def to_float32(a: Any, b: Any) -> Any:
    return a.astype(np.float32)


def to_float64(a: Any, b: Any) -> Any:
    return a.astype(np.float64)


VALUES = [
    lambda a, b: a + b,
    lambda a, b: a - np.float32(0.25) * b,
    lambda a, b: b * 2,
    lambda a, b: a @ a.T,
    lambda a, b: np.einsum("ij,kj->ik", a, b),
    lambda a, b: np.tanh(a),
    lambda a, b: np.sum(a, axis=0),
    lambda a, b: np.max(a, axis=-1, keepdims=True),
    lambda a, b: np.mean(a),
    lambda a, b: np.where(a > 0, a, -a),
    lambda a, b: np.maximum(a, b),
    lambda a, b: np.ravel(a)[np.array([0, -1, 0])],
    lambda a, b: np.clip(np.add.accumulate(np.ravel(a)), -3, 3),
    lambda a, b: np.broadcast_to(np.mean(a), (3,)) * 1,
    lambda a, b: a.copy(),
    to_float32,
    to_float64,
    next_to,
    two_ends,
    zeros_plus,
]
VIEWS = [
    lambda a, b: a.T,
    lambda a, b: a[1:],
    lambda a, b: a[::-1],
    lambda a, b: a[..., 0],
    lambda a, b: a[0],
    lambda a, b: np.reshape(a, -1),
    lambda a, b: np.ravel(a),
    lambda a, b: a[None],
    lambda a, b: np.broadcast_to(a, (2, *a.shape)),
]


def halve(a: Any, b: Any) -> None:
    a *= 0.5


def add(a: Any, b: Any) -> None:
    a += np.mean(b)


def bend(a: Any, b: Any) -> None:
    a[...] = np.tanh(a)


def overlap(a: Any, b: Any) -> None:
    a[1:] = a[:-1]


def write_row(a: Any, b: Any) -> None:
    a[0] = np.mean(b)


def scatter(a: Any, b: Any) -> None:
    a[np.array([0, -1])] = np.mean(b)


def add_at(a: Any, b: Any) -> None:
    np.add.at(a, np.array([0, 0, -1]), 1)


def fill(a: Any, b: Any) -> None:
    a.fill(2)


def into(a: Any, b: Any) -> None:
    np.subtract(a, b, out=a)


IN_PLACE = [halve, add, bend, overlap, write_row, scatter, add_at, fill, into]


class Program:
    """Calls, each with the numbers of the arrays that it's made with."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.calls = []
        for _ in range(draw.randint(4, 25)):
            kind = draw.choice([VALUES, VALUES, VIEWS, IN_PLACE])
            self.calls.append((kind is IN_PLACE, draw.choice(kind), draw.randrange(99), draw.randrange(99)))
        self.results = [draw.randrange(99) for _ in range(3)]

    def __call__(self, x: Any, y: Any, state: Any) -> list:
        pool = [x, y, state]
        for is_in_place, function, i, j in self.calls:
            a, b = pool[i % len(pool)], pool[j % len(pool)]
            try:
                made = function(a, b)
            except (ValueError, IndexError, TypeError):  # shapes that don't fit, a view that's read-only: no call then
                continue
            if not is_in_place and made.size <= LARGEST:
                pool.append(made)
        return [pool[i % len(pool)] for i in self.results]


def bits(x: Any) -> tuple:
    """All that's to be equal. A NaN is a NaN: which one, the processor decides."""
    array = np.asarray(x)
    return type(x), array.dtype, array.shape, np.where(np.isnan(array), 0, array).tobytes(), np.isnan(array).tobytes()


def difference(seed: int) -> str:
    """What differs between a program and its replays, in words; '' if nothing does."""
    program = Program(seed)
    state = np.zeros(1, np.float32)
    states = (state, state.copy())
    step = fl.captured(lambda x, y: program(x, y, states[1]))
    rng = np.random.default_rng(seed)
    for call in range(CALLS):
        eager = rng.standard_normal((4, 3)).astype(np.float32), rng.standard_normal(3).astype(np.float32)
        given = [x.copy() for x in eager]
        with np.errstate(all="ignore"):
            wanted = list(map(bits, program(*eager, states[0])))
            got = list(map(bits, step(*given)))
        if got != wanted:
            return f"program {seed}, call {call}: the results differ"
        if list(map(bits, given)) != list(map(bits, eager)):
            return f"program {seed}, call {call}: the arguments differ"
        if bits(states[0]) != bits(states[1]):
            return f"program {seed}, call {call}: the state differs"
    if not step.plans:
        return f"program {seed} has no replay after {CALLS} calls"
    return ""


def differences(first: int, count: int) -> list[str]:
    """What differs in so many programs."""
    return list(filter(None, map(difference, range(first, first + count))))
