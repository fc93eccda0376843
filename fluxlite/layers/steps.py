"""A recurrent sequence as one primitive: all steps of an RNN, an LSTM or a GRU, with their derivative by hand.

Each class here has its formula twice. `step` is the definition: one step, in NumPy calls that have rules. A cell
computes it, and so does a gradient of a gradient. `run` computes the same for a whole sequence, in place, and `slopes`
and `back` go the way back. There a step's arrays have shape ``(features, N)``: each gate is one block of memory, and a
product with a small batch is quicker. The input's product is computed once for all steps, and nothing loops over gates.
What is the same for all steps is computed for many at once, by `slopes`; the loops do what is left.

A sigmoid is computed as ``(tanh(x / 2) + 1) / 2``, so that one `tanh` does all gates of a step.
"""

from typing import Any

import numpy as np

from ..activations import relu, sigmoid, tanh, tanh_fast
from ..arrays import primitive
from ..autodiff.gradients import gradient
from ..autodiff.rules import rule_for_each
from ..autodiff.tracked import TrackedArray
from .inputs import activated, at_once, identity


@primitive
def sequence(steps: Any, x: Any, Wi: Any, Wh: Any, bias: Any, *states: Any) -> Any:
    """The outputs of all `steps`, of shape ``(N, T, outputs)``, for `x` of shape ``(N, T, inputs)``.

    `bias` may be None, and so may `states`, each of shape ``(N, outputs)``, for zeros.
    """
    return forward(steps, x, Wi, Wh, bias, *states)[0]


def forward(steps, x, Wi, Wh, bias, *states):
    """What `sequence` returns, and what its way back needs."""
    products = np.matmul(halved(steps, Wi), np.transpose(x, (1, 2, 0)))
    if bias is not None:
        products += halved(steps, bias[:, None])
    kept = steps.run(products, halved(steps, Wh), *states)
    return np.transpose(kept[0][1:], (2, 0, 1)).copy(), kept


def halved(steps, weight):
    """`weight`, of shape ``(rows, …)``, halved where its gate is a sigmoid."""
    if steps.gates == 1:
        return weight
    blocks = np.reshape(weight, (steps.gates, -1, weight.shape[1]))
    return np.reshape(blocks * half_or_one(steps, weight), weight.shape)


def half_or_one(steps, like):
    """The factor of each gate, of shape ``(gates, 1, 1)``; the third is a tanh, in an LSTM and a GRU."""
    factors = np.full_like(like, 0.5, shape=(steps.gates, 1, 1))
    factors[2] = 1
    return factors


def composed(steps, x, Wi, Wh, bias, *states):
    """The same as `sequence`, composed of single steps."""
    states = tuple([np.zeros_like(Wh, shape=(len(x), Wh.shape[1])) if h is None else h for h in states])
    outputs = []
    for t in range(x.shape[1]):
        states = steps.step(x[:, t], Wi, Wh, bias, *states)
        outputs.append(states[0])
    return np.stack([*outputs, states[1]] if steps.with_cell else outputs, axis=1)


CACHED = 2**16  # numbers: a quarter of a megabyte of Float32


def way_back(g, kept, steps, *operands):
    """What all pieces begin with: the gradients of the sums behind all gates, of shape ``(rows, T, N)``, and of states.

    Slopes are computed for as many steps as a processor's cache can hold: they're still there when the loop needs them.
    """
    if kept is None or type(g) is TrackedArray:
        return _through_steps(g, steps, operands)
    (x, _, Wh, *_), hs = operands, kept[0]
    _, size, count = hs.shape
    states = [np.zeros_like(hs[0]) for _ in operands[4:]]
    if steps.with_cell:
        states[1] += g[:, -1].T
    g, length = np.transpose(g, (1, 2, 0)), x.shape[1]
    rows = np.empty_like(hs, shape=(steps.blocks * size, length, count))
    most = max(1, CACHED // max(1, rows[:, 0].size))
    for stop in range(length, 0, -most):
        some = slice(max(0, stop - most), stop)
        slopes, *others = steps.slopes(some, *kept)
        flat = np.reshape(slopes, (len(slopes), len(rows), count))
        for of_output, *of_step in zip(*[each[::-1] for each in (g[some], flat, slopes, *others)]):
            states[0] += of_output
            steps.back(Wh, *of_step, *states)
        rows[:, some] = np.transpose(flat, (1, 0, 2))
    if steps.blocks > steps.gates:  # a GRU's candidate has one for its product with the state, and one for its sum
        return np.concatenate([rows[: 2 * size], rows[3 * size :]]), rows[: 3 * size], states
    return rows, rows, states


def _through_steps(g, steps, operands):
    """Another gradient looks on, and a `gradient` inside it sees the single steps."""
    operands = [x if x is None else +x for x in operands]  # so that no two of them are one parameter
    return list(gradient(lambda *operands: np.sum(g * composed(steps, *operands)), *operands))


def piece(position, g, out, found, kept, steps, x, Wi, *operands):
    """The gradient of one operand of `sequence`."""
    if type(found) is list:
        return found[position - 1]
    of_input, of_state, states = found
    flat, (count, length, inputs) = np.reshape(of_input, (len(Wi), -1)), x.shape
    if position == 1:
        return np.transpose(np.reshape(Wi.T @ flat, (inputs, length, count)), (2, 1, 0))
    if position == 2:
        return flat @ np.reshape(np.transpose(x, (1, 0, 2)), (length * count, inputs))
    if position == 3:
        before = np.transpose(kept[0][:length], (1, 0, 2))
        return np.reshape(of_state, flat.shape) @ np.reshape(before, (len(before), -1)).T
    if position == 4:
        return np.sum(flat, axis=1)
    return states[position - 5].T


rule_for_each(sequence, piece, forward=forward, shared=way_back)


class RNNSteps:
    """``h = activation(Wi x + Wh h + bias)``."""

    gates = blocks = 1  # of so many blocks are the weights, and the slopes
    with_cell = False

    def __init__(self, activation):
        self.activation = activation

    def step(self, x, Wi, Wh, bias, h):
        """The states after one step; the first is the output. `x` has shape ``(…, inputs)``."""
        return (activated(self.activation, x @ Wi.T, h @ Wh.T, bias),)

    def run(self, products, Wh, h):
        """The outputs, ``(1 + T, outputs, N)`` with what was before them, and what else the way back needs.

        `products`, of the weights and the input, have shape ``(T, rows, N)``, and may be changed.
        """
        hs, activate = room(products, len(Wh), h), IN_PLACE[self.activation][0]
        for t, product in enumerate(products):
            h = np.matmul(Wh, hs[t], out=hs[t + 1])
            h += product
            activate(h)
        return (hs,)

    def slopes(self, some, hs):
        """How the states change with the sums behind the gates, for some steps, and what else `back` takes of each."""
        return (IN_PLACE[self.activation][1](hs[1:][some]),)

    def back(self, Wh, flat, slopes, dh):
        """One step back: the slopes times the gradients of the states, which change to those before the step."""
        slopes *= dh
        np.matmul(Wh.T, flat, out=dh)


# How these change an array to their values, and their slopes, given their values. For other activations there's `step`.
IN_PLACE: dict[Any, tuple] = {
    **dict.fromkeys((np.tanh, tanh, tanh_fast), (lambda h: np.tanh(h, out=h), lambda h: 1 - h * h)),
    relu: (lambda h: np.maximum(h, 0, out=h), lambda h: np.where(h <= 0, 0, np.ones_like(h))),
    identity: (lambda h: h, np.ones_like),
}


def room(products, outputs, before, more=0):
    """An array for what each step makes, ``(1 + T + more, outputs, N)``, which begins with `before`."""
    length, _, count = products.shape
    made = np.empty_like(products, shape=(1 + length + more, outputs, count))
    made[0] = 0 if before is None else before.T
    return made


class LSTMSteps:
    """The gates are input, forget, cell and output: ``c = f c + i n``, ``h = o tanh(c)``."""

    gates = blocks = 4

    def __init__(self, with_cell=False):
        self.with_cell = with_cell  # whether the last c stands behind the outputs, as if there were one more step

    def step(self, x, Wi, Wh, bias, h, c):
        sums, size = x @ Wi.T + h @ Wh.T, Wh.shape[1]
        sums = sums if bias is None else sums + bias
        return at_once(lstm_cell, *[sums[..., i * size : (i + 1) * size] for i in range(4)], c)

    def run(self, products, Wh, h, c):
        size, (length, _, count) = Wh.shape[1], products.shape
        hs, cs = room(products, size, h, more=int(self.with_cell)), room(products, size, c)
        gates, factors = np.reshape(products, (length, 4, size, count)), half_or_one(self, products)
        tanhs = np.empty_like(products, shape=(length, size, count))
        rest, product, part = 1 - factors, np.empty_like(products[0]), np.empty_like(tanhs[0])
        for t, total in enumerate(products):
            total += np.matmul(Wh, hs[t], out=product)
            gate = gates[t]
            np.tanh(gate, out=gate)
            gate *= factors
            gate += rest
            c = np.multiply(gate[1], cs[t], out=cs[t + 1])
            c += np.multiply(gate[0], gate[2], out=part)
            np.multiply(gate[3], np.tanh(c, out=tanhs[t]), out=hs[t + 1])
        if self.with_cell:
            hs[-1] = cs[-1]
        return hs, gates, cs, tanhs

    def slopes(self, some, hs, gates, cs, tanhs):
        """Of `c` with the sums behind three gates, of `h` with that behind the fourth; of `h` with `c`; and f."""
        gates, tanhs = gates[some], tanhs[some]
        i, f, n, o = (gates[:, block] for block in range(4))
        slopes = (1 - gates) * gates
        np.subtract(1, n * n, out=slopes[:, 2])
        slopes *= np.stack([n, cs[some], i, tanhs], axis=1)  # cs begins with the one before the first step
        return slopes, (1 - tanhs * tanhs) * o, f

    def back(self, Wh, flat, slopes, through, f, dh, dc):
        through *= dh
        dc += through
        of_c, of_h = slopes[:3], slopes[3]
        of_c *= dc
        of_h *= dh
        dc *= f
        np.matmul(Wh.T, flat, out=dh)


def lstm_cell(i, f, n, o, c):
    """The new `h` and `c`, given the sums behind the gates. On a GPU it's one launch."""
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(n)
    return sigmoid(o) * np.tanh(c), c


class GRUSteps:
    """The gates are reset, update and candidate: ``n = tanh(… + r Wh h + bias)``, ``h = (1 - z) n + z h``."""

    gates, blocks = 3, 4  # the candidate's products with the state have slopes of their own
    with_cell = False

    def step(self, x, Wi, Wh, bias, h):
        of_input, of_state, size = x @ Wi.T, h @ Wh.T, Wh.shape[1]
        of_input = of_input if bias is None else of_input + bias
        parts = [y[..., i * size : (i + 1) * size] for y in (of_input, of_state) for i in range(3)]
        return (at_once(gru_cell, h, *parts),)

    def run(self, products, Wh, h):
        size, (length, _, count) = Wh.shape[1], products.shape
        hs, gates = room(products, size, h), np.reshape(products, (length, 3, size, count))
        reset = np.empty_like(products, shape=(length, size, count))  # what the reset gate is multiplied with
        product, part = np.empty_like(gates[0]), np.empty_like(reset[0])
        flat = np.reshape(product, (3 * size, count))
        for t in range(length):
            np.matmul(Wh, hs[t], out=flat)
            sigmoids, n = gates[t, :2], gates[t, 2]
            sigmoids += product[:2]
            np.tanh(sigmoids, out=sigmoids)
            sigmoids += 1
            sigmoids *= 0.5
            reset[t] = product[2]
            n += np.multiply(sigmoids[0], product[2], out=part)
            np.tanh(n, out=n)
            h = np.subtract(hs[t], n, out=hs[t + 1])
            h *= sigmoids[1]
            h += n
        return hs, gates, reset

    def slopes(self, some, hs, gates, reset):
        """Of `h` with the sums behind r and z, with the candidate's product with the state, and with its sum; and z."""
        r, z, n = (gates[some, block] for block in range(3))
        of_n = (1 - z) * (1 - n * n)
        of_state = of_n * r
        return np.stack([of_state * (1 - r) * reset[some], (hs[some] - n) * z * (1 - z), of_state, of_n], axis=1), z

    def back(self, Wh, flat, slopes, z, dh):
        slopes *= dh
        dh *= z
        dh += Wh.T @ flat[: Wh.shape[0]]


def gru_cell(h, r, z, n, of_r, of_z, of_n):
    """The new `h`, given the sums of the input and, behind them, those of the state. On a GPU it's one launch."""
    r, z = sigmoid(r + of_r), sigmoid(z + of_z)
    n = np.tanh(n + r * of_n)
    return (1 - z) * n + z * h
