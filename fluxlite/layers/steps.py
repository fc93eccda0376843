"""A recurrent sequence as one primitive: all steps of an RNN, an LSTM or a GRU, with their derivative by hand.

Each class here has its formula twice. `step` is the definition: one step, in NumPy calls that have rules. A cell
computes it, and so does a gradient of a gradient. `forward` and `backward` compute the same for a whole sequence, in
place. There a step's arrays have shape ``(features, N)``: each gate is one block of memory, and a product with a small
batch is quicker. The input's product is computed once for all steps, and nothing loops over gates. What is the same
for all steps, such as the slopes of the gates, is computed for all at once; the loop does what is left.

A sigmoid is computed as ``(tanh(x / 2) + 1) / 2``, so that one `tanh` does all gates of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..activations import identity, relu, tanh, tanh_fast
from ..arrays import primitive
from ..autodiff.gradients import new_level
from ..autodiff.rules import rule_for_each
from ..autodiff.tracked import TrackedArray
from ..autodiff.way_back import pull_back
from .activated import activated, at_once
from .gates import gru_cell, lstm_cell


@primitive
def sequence(steps: Steps, x: Any, Wi: Any, Wh: Any, bias: Any, *states: Any) -> Any:
    """The outputs of all steps, of shape ``(N, T, outputs)``, for `x` of shape ``(N, T, inputs)``.

    `steps` is new for each call: it keeps what the way back needs. `bias` may be None, and so may `states`, each of
    shape ``(N, outputs)``, for zeros.
    """
    return steps.forward(x, Wi, Wh, bias, *states)


class Slopes(NamedTuple):
    """What comes back from a sequence: the gradients of the two products, and of the states that it began with."""

    of_input: Any  # (rows, T, N), where the weights have so many rows
    of_state: Any
    states: tuple  # each of shape (outputs, N)


class Steps:
    """One run through a sequence."""

    __slots__ = ("outputs", "kept", "arrived", "slopes")
    half: tuple[bool, ...] = (False,)  # for each gate: whether it's a sigmoid, so that its weights are halved

    def __init__(self) -> None:
        self.outputs: Any = None  # (1 + T, outputs, N), with what was before the first step
        self.kept: Any = None
        self.arrived: Any = None  # the gradient for which there are `slopes`
        self.slopes: Any = None

    @property
    def by_hand(self) -> bool:
        """Whether there are `run` and `backward`; of some activations only `step` knows."""
        return True

    def step(self, x: Any, Wi: Any, Wh: Any, bias: Any, *states: Any) -> tuple:
        """The states after one step; the first is the output. `x` has shape ``(…, inputs)``."""
        raise NotImplementedError

    def forward(self, x: Any, Wi: Any, Wh: Any, bias: Any, *states: Any) -> Any:
        Wi, Wh = self.halved(Wi), self.halved(Wh)
        products = np.matmul(Wi, np.transpose(x, (1, 2, 0)))
        if bias is not None:
            products += self.halved(bias[:, None])
        self.run(products, Wh, *states)
        return np.transpose(self.outputs[1:], (2, 0, 1)).copy()

    def run(self, products: Any, Wh: Any, *states: Any) -> None:
        """All steps, given the input's `products`, of shape ``(T, rows, N)``, which they may change."""
        raise NotImplementedError

    def backward(self, g: Any, Wh: Any) -> Slopes:
        """All steps backwards, given the outputs' gradient `g`, of shape ``(T, outputs, N)``."""
        raise NotImplementedError

    def defined(self, x: Any, Wi: Any, Wh: Any, bias: Any, *states: Any) -> Any:
        """The same as `sequence`, composed of single steps."""
        states = self.begin(x, Wh, states)
        found = []
        for t in range(x.shape[1]):
            states = self.step(x[:, t], Wi, Wh, bias, *states)
            found.append(states[0])
        return np.stack([*found, *self.behind(states)], axis=1)

    def behind(self, states: tuple) -> tuple:
        """Which of the last `states` stand behind the outputs."""
        return ()

    @staticmethod
    def begin(x: Any, Wh: Any, states: tuple) -> tuple:
        return tuple([np.zeros_like(Wh, shape=(len(x), Wh.shape[1])) if h is None else h for h in states])

    def halved(self, weight: Any) -> Any:
        """`weight`, of shape ``(rows, …)``, halved where its gate is a sigmoid."""
        if not any(self.half):
            return weight
        factors = self.factors(weight)
        return np.reshape(np.reshape(weight, (len(self.half), -1, weight.shape[1])) * factors, weight.shape)

    def factors(self, like: Any) -> Any:
        """For each gate 1/2 or 1, of shape ``(gates, 1, 1)``."""
        factors = np.full_like(like, 0.5, shape=(len(self.half), 1, 1))
        factors[self.half.index(False)] = 1
        return factors

    def back(self, g: Any, operands: tuple) -> Any:
        """The gradients of all operands: from `backward`, or, where something is tracked, from the definition."""
        if self.arrived is not g:
            if any(type(x) is TrackedArray for x in (g, *operands)):
                self.slopes = self._back_through_definition(g, operands)
            else:
                self.slopes = self.backward(np.transpose(g, (1, 2, 0)), operands[2])
            self.arrived = g
        return self.slopes

    def _back_through_definition(self, g: Any, operands: tuple) -> list:
        """Another gradient looks on: a `gradient` inside it sees the single steps."""
        level = new_level()
        try:
            tracked = [x if x is None else TrackedArray(x, level) for x in operands]
            found = pull_back(self.defined(*tracked), g)
            return [x if x is None else found[x] for x in tracked]
        finally:
            level.close()


def piece(position: int, g: Any, out: Any, steps: Steps, *operands: Any) -> Any:
    """The gradient of one operand of `sequence`. The way back through the steps is the same for all."""
    found = steps.back(g, operands)
    if type(found) is list:
        return found[position - 1]
    x, Wi, *_ = operands
    flat = np.reshape(found.of_input, (len(Wi), -1))
    count, length, inputs = x.shape
    if position == 1:
        return np.transpose(np.reshape(Wi.T @ flat, (inputs, length, count)), (2, 1, 0))
    if position == 2:
        return flat @ np.reshape(np.transpose(x, (1, 0, 2)), (length * count, inputs))
    if position == 3:
        before = np.transpose(steps.outputs[:length], (1, 0, 2))
        return np.reshape(found.of_state, flat.shape) @ np.reshape(before, (before.shape[0], -1)).T
    if position == 4:
        return np.sum(flat, axis=1)
    return found.states[position - 5].T


rule_for_each(sequence, piece)
CACHED = 2**16  # numbers: a quarter of a megabyte of Float32


def affine(x: Any, Wi: Any, Wh: Any, bias: Any, h: Any) -> Any:
    """What all formulas begin with: ``Wi x + Wh h + bias``, for observations in the first axis."""
    y = x @ Wi.T + h @ Wh.T
    return y if bias is None else y + bias


def pieces(steps: Any) -> Iterator[slice]:
    """Of what has shape ``(T, rows, N)``, from the last to the first, as many steps as a processor's cache can hold.

    What is computed for all of them at once is then still there when the loop needs it.
    """
    length, rows, count = steps.shape
    most = max(1, CACHED // max(1, rows * count))
    for stop in range(length, 0, -most):
        yield slice(max(0, stop - most), stop)


def by_rows(steps: Any) -> Any:
    """The axes of ``(T, rows, N)`` in the order ``(rows, T, N)``, a matrix for the weights' gradients."""
    return np.transpose(steps, (1, 0, 2))


def room_for_rows(steps: Any) -> Any:
    """An array for `by_rows`, which lies in memory in that order."""
    length, rows, count = steps.shape
    return np.empty_like(steps, shape=(rows, length, count))


def room(products: Any, outputs: int, before: Any, more: int = 0) -> Any:
    """An array for what each step makes, ``(1 + T + more, outputs, N)``, which begins with `before`."""
    length, _, count = products.shape
    made = np.empty_like(products, shape=(1 + length + more, outputs, count))
    made[0] = 0 if before is None else before.T
    return made


# -- RNN ---------------------------------------------------------------------------------------------------------


class RNNSteps(Steps):
    """``h = activation(Wi x + Wh h + bias)``."""

    __slots__ = ("activation",)

    def __init__(self, activation: Callable):
        super().__init__()
        self.activation = activation

    @property
    def by_hand(self) -> bool:
        return any(self.activation is known for known in IN_PLACE)

    def step(self, x: Any, Wi: Any, Wh: Any, bias: Any, *states: Any) -> tuple:
        (h,) = states
        return (activated(self.activation, x @ Wi.T, h @ Wh.T, bias),)

    def run(self, products: Any, Wh: Any, *states: Any) -> None:
        self.outputs = hs = room(products, len(Wh), *states)
        activate = IN_PLACE[self.activation][0]
        for t, product in enumerate(products):
            h = np.matmul(Wh, hs[t], out=hs[t + 1])
            h += product
            activate(h)

    def backward(self, g: Any, Wh: Any) -> Slopes:
        hs = self.outputs[1:]
        of_input, dh = room_for_rows(hs), np.zeros_like(hs[0])
        for some in pieces(hs):
            slopes = IN_PLACE[self.activation][1](hs[some])
            for t in reversed(range(len(slopes))):
                dh += g[some.start + t]
                d = slopes[t]
                d *= dh
                np.matmul(Wh.T, d, out=dh)
            of_input[:, some] = by_rows(slopes)
        return Slopes(of_input, of_input, (dh,))


# How these change an array to their values, and their slopes, given their values.
_TANH = (lambda h: np.tanh(h, out=h), lambda h: 1 - h * h)
IN_PLACE: dict[Callable, tuple[Callable, Callable]] = {
    np.tanh: _TANH,
    tanh: _TANH,
    tanh_fast: _TANH,
    relu: (lambda h: np.maximum(h, 0, out=h), lambda h: np.where(h <= 0, 0, np.ones_like(h))),
    identity: (lambda h: h, np.ones_like),
}


# -- LSTM --------------------------------------------------------------------------------------------------------


class LSTMSteps(Steps):
    """The gates are input, forget, cell and output: ``c = f c + i n``, ``h = o tanh(c)``."""

    __slots__ = ("with_cell",)
    half = (True, True, False, True)

    def __init__(self, with_cell: bool = False):
        super().__init__()
        self.with_cell = with_cell  # whether the last c stands behind the outputs, as if there were one more step

    def step(self, x: Any, Wi: Any, Wh: Any, bias: Any, *states: Any) -> tuple:
        h, c = states
        gates, n = affine(x, Wi, Wh, bias, h), Wh.shape[1]
        return at_once(lstm_cell, *[gates[..., i * n : (i + 1) * n] for i in range(4)], c)

    def behind(self, states: tuple) -> tuple:
        return states[1:] if self.with_cell else ()

    def run(self, products: Any, Wh: Any, *states: Any) -> None:
        size, (length, _, count) = Wh.shape[1], products.shape
        h, c = states
        self.outputs = hs = room(products, size, h, more=int(self.with_cell))
        cs, tanhs = room(products, size, c), np.empty_like(products, shape=(length, size, count))
        gates, factors = np.reshape(products, (length, 4, size, count)), self.factors(products)
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
        self.kept = gates, cs, tanhs

    def backward(self, g: Any, Wh: Any) -> Slopes:
        gates, _, tanhs = self.kept
        flat = np.reshape(gates, (len(gates), len(Wh), -1))
        of_input, dh = room_for_rows(flat), np.zeros_like(tanhs[0])
        dc, part = g[-1].copy() if self.with_cell else np.zeros_like(dh), np.empty_like(dh)
        for some in pieces(flat):
            slopes, through = self.slopes_of(some)
            d = np.reshape(slopes, (len(slopes), *flat.shape[1:]))
            for t in reversed(range(len(slopes))):
                dh += g[some.start + t]
                dc += np.multiply(dh, through[t], out=part)
                of_c, of_h = slopes[t, :3], slopes[t, 3]
                of_c *= dc
                of_h *= dh
                dc *= gates[some.start + t, 1]
                np.matmul(Wh.T, d[t], out=dh)
            of_input[:, some] = by_rows(d)
        return Slopes(of_input, of_input, (dh, dc))

    def slopes_of(self, some: slice) -> tuple[Any, Any]:
        """How `c` changes with the sums behind its three gates, and `h` with the fourth one; and `h` with `c`."""
        gates, cs, tanhs = self.kept
        gates, tanhs = gates[some], tanhs[some]
        i, _, n, o = (gates[:, block] for block in range(4))
        slopes = 1 - gates
        slopes *= gates
        of_i, of_f, of_n, of_o = (slopes[:, block] for block in range(4))
        np.multiply(n, n, out=of_n)
        np.subtract(1, of_n, out=of_n)
        of_i *= n
        of_f *= cs[some]  # which begins with the one before the first step
        of_n *= i
        of_o *= tanhs
        through = tanhs * tanhs
        np.subtract(1, through, out=through)
        through *= o
        return slopes, through


# -- GRU ---------------------------------------------------------------------------------------------------------


class GRUSteps(Steps):
    """The gates are reset, update and candidate: ``n = tanh(… + r Wh h + bias)``, ``h = (1 - z) n + z h``."""

    __slots__ = ()
    half = (True, True, False)

    def step(self, x: Any, Wi: Any, Wh: Any, bias: Any, *states: Any) -> tuple:
        (h,), size = states, Wh.shape[1]
        of_input, of_state = x @ Wi.T, h @ Wh.T
        of_input = of_input if bias is None else of_input + bias
        parts = [y[..., i * size : (i + 1) * size] for y in (of_input, of_state) for i in range(3)]
        return (at_once(gru_cell, h, *parts),)

    def run(self, products: Any, Wh: Any, *states: Any) -> None:
        size, (length, _, count) = Wh.shape[1], products.shape
        self.outputs = hs = room(products, size, *states)
        gates = np.reshape(products, (length, 3, size, count))
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
        self.kept = gates, reset

    def backward(self, g: Any, Wh: Any) -> Slopes:
        gates, reset = self.kept
        length, _, size, count = gates.shape
        rows = np.empty_like(gates, shape=(4 * size, length, count))
        turned = np.concatenate([Wh[2 * size :], Wh[: 2 * size]])  # the candidate's first, as in the slopes
        dh, part = np.zeros_like(reset[0]), np.empty_like(reset[0])
        for some in pieces(np.reshape(gates, (length, 3 * size, count))):
            slopes = self.slopes_of(some)
            flat = np.reshape(slopes, (len(slopes), 4 * size, count))
            for t in reversed(range(len(slopes))):
                dh += g[some.start + t]
                d = slopes[t]
                d *= dh
                dh *= gates[some.start + t, 1]
                dh += np.matmul(turned.T, flat[t, : 3 * size], out=part)
            rows[:, some] = by_rows(flat)
        return Slopes(rows[size:], np.concatenate([rows[size : 3 * size], rows[:size]]), (dh,))

    def slopes_of(self, some: slice) -> Any:
        """How `h` changes with the candidate's product with the state, and with the sums behind the three gates."""
        gates, reset = self.kept
        r, z, n = (gates[some, block] for block in range(3))
        slopes = np.empty_like(gates, shape=(len(n), 4, *n.shape[1:]))
        of_state, of_r, of_z, of_n = (slopes[:, block] for block in range(4))
        np.multiply(1 - z, 1 - n * n, out=of_n)
        np.multiply(of_n, r, out=of_state)
        np.multiply(of_state, (1 - r) * reset[some], out=of_r)
        np.multiply(self.outputs[some] - n, z * (1 - z), out=of_z)
        return slopes
