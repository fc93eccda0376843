"""A recurrent sequence as one primitive: all steps of a cell, and the way back by hand.

The cell says one step: its `step` makes the new states and what the way back needs, its `slopes` and `back` go back.
Where the way back is itself differentiated, the same `step` is recorded, call by call. A step's arrays have shape
``(features, N)``: each gate is one block of memory, and a product with a small batch is quicker. The input's product is
computed once for all steps, and slopes for many of them; the loops do what is left.

A sigmoid is ``(tanh(x / 2) + 1) / 2``: with halved weights, one `tanh` does all gates of a step.
"""

import operator
from typing import Any

import numpy as np

from ..arrays import primitive
from ..autodiff.gradients import gradient
from ..autodiff.rules import rule_for_each
from ..autodiff.tracked import TrackedArray, plain


@primitive
def sequence(cell: Any, last_cell: bool, x: Any, Wi: Any, Wh: Any, bias: Any, *states: Any) -> Any:
    """The outputs of all steps, ``(N, T, outputs)``, for `x` ``(N, T, inputs)`` and `states` ``(N, outputs)``, or None.

    With `last_cell`, the last c of an LSTM stands behind the outputs, as if there were one more step.
    """
    return forward(cell, last_cell, x, Wi, Wh, bias, *states)[0]


def forward(cell, last_cell, x, Wi, Wh, bias, *states):
    """What `sequence` returns, and what the steps made: the states, with those before the first; gates; one more."""
    scales, products, Wh = prepared(operator.iadd, cell, x, Wi, Wh, bias)
    length, size, count = len(products), Wh.shape[1], len(x)
    made = [np.empty_like(products, shape=(1 + length, size, count)) for _ in states]
    for each, state in zip(made, states):
        each[0] = 0 if state is None else state.T
    before = zip(*made)
    after, room = [each[1:] for each in made], np.empty_like(products, shape=(len(Wh), count))
    if cell.gates > 1:
        after.append(np.empty_like(after[0]))
        made += [products, after[-1]]  # gates take the place of what they're made of
    for product, states, *out in zip(products, before, *after):
        cell.step(scales, product, Wh, *states, out=(*out, room))
    return result(last_cell, *after), made


def composed(cell, last_cell, x, Wi, Wh, bias, *states):
    """The same as `sequence`, with nothing in place: each step is recorded."""
    scales, products, Wh = prepared(operator.add, cell, x, Wi, Wh, bias)
    zeros, made = np.zeros_like(plain(products), shape=(Wh.shape[1], len(x))), []
    states = tuple([zeros if state is None else state.T for state in states])
    for t in range(len(products)):
        states = cell.step(scales, products[t], Wh, *states)
        made.append(states)
    return result(last_cell, *map(np.stack, zip(*made)))


def prepared(add, cell, x, Wi, Wh, bias):
    """For each gate what its tanh is multiplied with, and what's added; the input's products, and `Wh`, halved."""
    scales, gates = None, (cell.gates,) * (cell.gates > 1)
    if cell.gates > 1:
        halves = np.full_like(plain(Wi), 0.5, shape=(cell.gates, 1, 1))
        halves[2] = 1  # in an LSTM and a GRU, this one stays a tanh
        Wi, Wh, bias = (
            w if w is None else np.reshape(np.reshape(w, (cell.gates, -1, w[:1].size)) * halves, w.shape)
            for w in (Wi, Wh, bias)
        )
        scales = halves, 1 - halves
    products = Wi @ np.transpose(x, (1, 2, 0))
    products = products if bias is None else add(products, bias[:, None])
    return scales, np.reshape(products, (len(products), *gates, Wh.shape[1], len(x))), Wh


def result(last_cell, h, c=None, *_):
    return np.transpose(np.concatenate([h, c[-1:]]) if last_cell else h, (2, 0, 1)).copy()


CACHED = 2**16  # so many numbers of slopes are still in a processor's cache when the loop needs them


def way_back(g, made, cell, last_cell, *operands):
    """What all pieces begin with: the gradients of the sums behind all gates, ``(rows, T, N)``, and of the states."""
    if made is None or type(g) is TrackedArray:  # another gradient looks on, and one inside it sees the single steps
        operands = tuple([x if x is None else +x for x in operands])  # so that no two of them are one parameter
        return list(gradient(lambda *operands: np.sum(g * composed(cell, last_cell, *operands)), *operands))
    (x, _, Wh, *_), hs = operands, made[0]
    _, size, count = hs.shape
    states = [np.zeros_like(hs[0]) for _ in operands[4:]]
    if last_cell:
        states[1] += g[:, -1].T
    g, length = np.transpose(g, (1, 2, 0)), x.shape[1]
    rows = np.empty_like(hs, shape=(cell.blocks * size, length, count))
    most = max(1, CACHED // max(1, rows[:, 0].size))
    for stop in range(length, 0, -most):
        some = slice(max(0, stop - most), stop)
        before = [each[some] for each in made[: len(states)]]
        slopes, *others = cell.slopes(*before, *[each[-length:][some] for each in made])
        flat = np.reshape(slopes, (len(slopes), len(rows), count))
        for of_output, *of_step in zip(*[each[::-1] for each in (g[some], flat, slopes, *others)]):
            states[0] += of_output
            cell.back(Wh, *of_step, *states)
        rows[:, some] = np.transpose(flat, (1, 0, 2))
    if cell.blocks > cell.gates:  # a GRU's candidate has one for its product with the state, and one for its sum
        return np.concatenate([rows[: 2 * size], rows[3 * size :]]), rows[: 3 * size], states
    return rows, rows, states


def piece(position, g, out, gradients, made, cell, last_cell, x, Wi, *operands):
    """The gradient of one operand of `sequence`."""
    if type(gradients) is list:
        return gradients[position - 2]
    of_input, of_state, states = gradients
    flat, (count, length, inputs) = np.reshape(of_input, (len(Wi), -1)), x.shape
    if position == 2:
        return np.transpose(np.reshape(Wi.T @ flat, (inputs, length, count)), (2, 1, 0))
    if position == 3:
        return flat @ np.reshape(np.transpose(x, (1, 0, 2)), (length * count, inputs))
    if position == 4:
        before = np.transpose(made[0][:length], (1, 0, 2))
        return np.reshape(of_state, flat.shape) @ np.reshape(before, (len(before), -1)).T
    return np.sum(flat, axis=1) if position == 5 else states[position - 6].T


rule_for_each(sequence, piece, forward=forward, shared=way_back)
