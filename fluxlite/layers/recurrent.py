"""Recurrent layers, for whole sequences ``(N, T, features)``, and their cells, which compute a single step."""

from collections.abc import Callable
from operator import add, iadd, index
from typing import Any, ClassVar, Self

import numpy as np

from ..annotations import Array
from ..arrays import identity, is_half, narrow, on_card_of, primitive, wide
from ..autodiff.gradients import gradient
from ..autodiff.rules import rule_for_each
from ..autodiff.tracked import TrackedArray, plain
from ..tree.flat import Attribute, KeyPath
from ..words import InputError, LayerError, ShapeError, check_bool, check_callable, explained, in_words
from .activations import relu, tanh, tanh_fast
from .layer import Generator, Layer, glorot_uniform, layer, start
from .printing import call_of, options_text, short_name


@layer
class Recurrence(Layer):
    """A cell's steps through whole sequences (Flux: ``Recurrence``).

    ``layer(x)`` takes `x` of shape ``(N, T, inputs)``, or ``(T, inputs)`` for one sequence, and returns the outputs of
    all T steps. It begins with `initialstates`, or with your own: ``layer(x, state)``. With ``return_state=True`` it
    returns ``(outputs, state)``, and the next piece of a long sequence can begin with that last state: the layer keeps
    none between calls. `cell` may be of your own: ``cell(x, state)``, for `x` of shape ``(N, inputs)``, returns
    ``(output, state)``, and ``cell.initialstates()`` the state that it starts with.
    """

    cell: Any
    return_state: bool

    def __init__(self, cell: Any, *, return_state: bool = False):
        check_callable(f"{type(self).__name__}(cell)", cell)
        check_bool(f"{type(self).__name__}(return_state=…)", return_state)
        self.cell = cell
        self.return_state = return_state

    def __call__(self, x: Array, state: Any = None) -> Any:
        if computes_sequences(self.cell):
            x = self._converted(x, self.cell.Wi)
            self._check_sequences(x.shape, self.cell.Wi.shape[1])
            y, state = self.cell.run(self, x, state, self.return_state)
        else:
            self._check_sequences(x.shape)
            y, state = self._step_by_step(x, state)
        if self.return_state:
            return y, state
        return y

    def _check_sequences(self, shape: tuple[int, ...], features: int | None = None) -> None:
        fits = len(shape) in (2, 3) and shape[-2] > 0
        if fits and features in (None, shape[-1]):
            return
        inputs = "features" if features is None else features
        takes = f"takes sequences of shape (N, T, {inputs}) or (T, {inputs})"
        raise ShapeError(KeyPath(), f"{self._name()} {takes}, got shape {shape}")

    def _step_by_step(self, x: Array, state: Any) -> tuple[Array, Any]:
        if state is None:
            state = initialstates(self.cell)
        outputs = []
        for t in range(x.shape[-2]):
            try:
                y, state = self.cell(x[..., t, :], state)
            except LayerError as error:
                raise error.within(Attribute("cell")) from error.__cause__
            outputs.append(y)
        return np.stack(outputs, axis=-2), state

    def initialstates(self) -> Any:
        return initialstates(self.cell)

    def _arguments_text(self) -> str:
        cell = call_of(self.cell)
        own = f"{type(self).__name__}Cell("
        if cell.startswith(own):  # GRU(2 => 3), not GRU(GRUCell(2 => 3))
            return cell.removeprefix(own)[:-1]
        return cell

    def _options_text(self) -> str:
        if self.return_state:
            return ", return_state=True"
        return ""


@layer
class RNN(Recurrence):
    """A `Recurrence` of an `RNNCell`, which takes the keywords: the plain recurrent network (Flux: ``RNN``)."""

    def __init__(
        self, inputs: int, outputs: int, activation: Callable = np.tanh, *, return_state: bool = False, **keywords: Any
    ):
        super().__init__(RNNCell(inputs, outputs, activation, **keywords), return_state=return_state)


@layer
class LSTM(Recurrence):
    """A `Recurrence` of an `LSTMCell`, which takes the keywords (Flux: ``LSTM``; PyTorch: with batch_first=True)."""

    def __init__(self, inputs: int, outputs: int, *, return_state: bool = False, **keywords: Any):
        super().__init__(LSTMCell(inputs, outputs, **keywords), return_state=return_state)


@layer
class GRU(Recurrence):
    """A `Recurrence` of a `GRUCell`, which takes the keywords: gated recurrent units (Flux: ``GRU``)."""

    def __init__(self, inputs: int, outputs: int, *, return_state: bool = False, **keywords: Any):
        super().__init__(GRUCell(inputs, outputs, **keywords), return_state=return_state)


@explained("a recurrent layer or cell, with a method initialstates()")
def initialstates(layer: Any) -> Any:
    """The state that a recurrent layer or cell starts with: zeros ``(outputs,)``, or two (Flux: ``initialstates``)."""
    return layer.initialstates()


def computes_sequences(cell: Any) -> bool:
    """Whether the cell's own class says how a step goes, forward and back; one derived from it may differ."""
    own = vars(type(cell))
    says_all = "step" in own and "slopes" in own and "back" in own
    return says_all and "__call__" not in own and hasattr(cell, "run")


@layer
class Cell(Layer):
    """What the three cells have in common: arrays of one form, and how they take an input and a state."""

    states: ClassVar[tuple[str, ...]] = ("h",)
    gates: ClassVar[int] = 1  # the weights have this many times `outputs` rows
    blocks: ClassVar[int] = 1  # and the slopes this many

    Wi: Array
    Wh: Array
    bias: Array | None

    def __init__(
        self, inputs: int, outputs: int, *, bias: bool = True, init_kernel: Callable = glorot_uniform,
        init_recurrent_kernel: Callable = glorot_uniform, rng: Generator = None,
    ):  # fmt: skip
        name = type(self).__name__
        rows = self.gates * index(outputs)
        self.Wi = start(init_kernel, rows, index(inputs), rng, layer=name, keyword="init_kernel")
        self.Wh = start(init_recurrent_kernel, rows, index(outputs), rng, layer=name, keyword="init_recurrent_kernel")
        self.bias = np.zeros_like(self.Wi, shape=(rows,)) if bias else None

    @classmethod
    def of(cls, Wi: Array, Wh: Array, bias: Array | None = None) -> Self:  # noqa: N803
        """A cell made of these arrays, of shapes ``(rows, inputs)``, ``(rows, outputs)`` and ``(rows,)``, or None."""
        new = object.__new__(cls)
        new.Wh = new._check_array("Wh", Wh, "rows", "outputs")
        new._check_array("Wh", Wh, cls.gates * Wh.shape[1], "outputs")
        new.Wi = new._check_array("Wi", Wi, len(Wh), "inputs")
        new.bias = bias
        if bias is not None:
            new._check_array("bias", bias, len(Wh))
        types = {x.dtype.name for x in (Wi, Wh, bias) if x is not None}
        if len(types) > 1:
            raise TypeError(f"{cls.__name__}.of: the arrays have one type; astype converts")
        return new

    def __call__(self, x: Array, state: Any = None) -> tuple[Array, Any]:
        one_step = self._converted(x, self.Wi)[..., None, :]
        _, state = self.run(self, one_step, state, True)
        output = state[0] if type(state) is tuple else state
        return output, state

    def run(self, layer: Layer, x: Array, state: Any, wants_state: bool) -> tuple[Array, Any]:
        """What `layer` computes: the outputs of all steps of `x`, and, if it `wants_state`, the last state."""
        batch, length = x.shape[:-2], x.shape[-2]
        count = len(self.states)
        states: list = [None] * count
        if state is not None:
            states = self.taken_states(layer, state, batch)
        if not batch:
            x = x[None]
        last_cell = wants_state and count > 1
        operands = (x, self.Wi, self.Wh, self.bias, *states)
        compute = self._compute()
        if is_half(self.Wi):  # a memory of many steps in float16 would lose digits at each
            y = narrow(compute(self, last_cell, *map(wide, operands)))
        else:
            y = compute(self, last_cell, *operands)
        if not batch:
            y = y[0]
        if not wants_state:
            return y, None
        last = tuple([y[..., length - 1 + i, :] for i in range(count)])
        outputs = y[..., :length, :]
        if count == 1:
            return outputs, last[0]
        return outputs, last

    def _compute(self) -> Callable:
        """All steps as one call, if the slope of the activation follows from its value; else each recorded."""
        activation = getattr(self, "activation", np.tanh)
        if any(activation is known for known in IN_PLACE):
            return sequence
        return record_each_step

    def taken_states(self, layer: Layer, state: Any, batch: tuple[int, ...]) -> list[Array]:
        """The arrays in `state`, one row for each observation of the axes `batch`, in the type of the weights."""
        states = state if len(self.states) > 1 else (state,)
        size = self.Wh.shape[1]
        if type(states) not in (tuple, list) or len(states) != len(self.states):  # an array would be cut in two
            what = f"takes a state ({', '.join(self.states)}), got {in_words(state)}"
            raise InputError(KeyPath(), f"{layer._name()} {what}")
        for which, h in zip(self.states, states):
            if h.shape not in ((size,), (*batch, size)):
                shapes = f"{(size,)} or {(*batch, size)}" if batch else f"{(size,)}"
                raise ShapeError(KeyPath(), f"{layer._name()} takes a state {which} of shape {shapes}, got {h.shape}")
        shape = (*batch, size) if batch else (1, size)
        return [np.broadcast_to(layer._converted(h, self.Wh), shape) for h in states]

    def initialstates(self) -> Any:
        with on_card_of(self.Wh):
            states = tuple([np.zeros_like(self.Wh, shape=self.Wh.shape[1:]) for _ in self.states])
        if len(states) == 1:
            return states[0]
        return states

    def _arguments_text(self) -> str:
        return f"{self.Wi.shape[1]} => {self.Wh.shape[1]}"

    def _options_text(self) -> str:
        return options_text(bias=self.bias is not None)


@layer
class RNNCell(Cell):
    """One step of the plain recurrent network: ``h = activation(Wi x + Wh h + bias)`` (Flux: ``RNNCell``).

    `Wi` has shape ``(outputs, inputs)``, `Wh` ``(outputs, outputs)``, `bias` ``(outputs,)``. ``cell(x, h)`` returns
    ``(output, state)``, both the new `h`. `x` has shape ``(N, inputs)``, `h` ``(N, outputs)``; N may be left out.
    """

    activation: Callable

    def __init__(self, inputs: int, outputs: int, activation: Callable = np.tanh, **keywords: Any):
        super().__init__(inputs, outputs, **keywords)
        self.activation = self._check_activation(activation)

    @classmethod
    def of(cls, Wi: Array, Wh: Array, bias: Array | None = None, activation: Callable = np.tanh) -> Self:  # noqa: N803
        cell = super().of(Wi, Wh, bias)
        cell.activation = cell._check_activation(activation)
        return cell

    def step(self, scales, total, Wh, h, out=(None, None)):
        """The new states; `total` is of the input and the bias. If `out` takes them, the gates take its place."""
        new_h, room = out
        product = np.matmul(Wh, h, out=room)
        total = np.add(total, product, out=room)
        if room is None:  # to any activation, the features are the last axis
            return (self.activation(total.T).T,)
        activate, _ = IN_PLACE[self.activation]
        return (activate(total, out=new_h),)

    def slopes(self, before, h):
        """How the states change with the sums behind the gates, for some steps, and what else `back` takes of each."""
        _, slope = IN_PLACE[self.activation]
        return (slope(h),)

    def back(self, Wh, flat, slopes, dh):
        """One step back: the slopes times the gradients of the states, which change to those before the step."""
        slopes *= dh
        np.matmul(Wh.T, flat, out=dh)

    def _options_text(self) -> str:
        return f", {short_name(self.activation)}{super()._options_text()}"


def _slope_of_tanh(h):
    return 1 - h * h


def _relu_into(x, out):
    return np.maximum(x, 0, out=out)


def _slope_of_relu(h):
    return np.where(h <= 0, 0, np.ones_like(h))


# Activations whose slopes follow from their values: (into an array, slope). With others, a gradient records each step.
IN_PLACE: dict[Callable, tuple] = {
    np.tanh: (np.tanh, _slope_of_tanh),
    tanh: (np.tanh, _slope_of_tanh),
    tanh_fast: (np.tanh, _slope_of_tanh),
    relu: (_relu_into, _slope_of_relu),
    identity: (np.positive, np.ones_like),
}


@layer
class LSTMCell(Cell):
    """One step of a network with long short-term memory, a state of two arrays (Flux: ``LSTMCell``).

    ``Wi x + Wh h + bias`` is cut in four: input ``i``, forget ``f``, cell ``g`` and output ``o``, in this order. Each
    goes through a sigmoid, ``g`` through a tanh. Then ``c = f * c + i * g`` and ``h = o * tanh(c)``. PyTorch has this
    order, and two biases, whose sum is this one. ``cell(x, (h, c))`` returns ``(h, (h, c))``, the new ones.
    `forget` is what the bias of ``f`` starts at: with 3, a new memory keeps 95 % of itself in a step, with 0 one half.
    """

    states = ("h", "c")
    gates = blocks = 4

    def __init__(self, inputs: int, outputs: int, *, forget: float = 0, **keywords: Any):
        super().__init__(inputs, outputs, **keywords)
        if forget:
            if self.bias is None:
                raise ValueError("LSTMCell(forget=…) is where a bias starts, so it needs bias=True")
            self.bias[outputs : 2 * outputs] = forget

    def step(self, scales, total, Wh, h, c, out=(None,) * 4):
        new_h, new_c, new_tanh, room = out
        gates = None if room is None else total
        factors, terms = scales
        product = np.matmul(Wh, h, out=room).reshape(total.shape)
        total = np.add(total, product, out=gates)
        total = np.tanh(total, out=gates)
        total = np.multiply(total, factors, out=gates)
        i, f, g, o = np.add(total, terms, out=gates)
        kept = np.multiply(f, c, out=new_c)
        c = np.add(kept, i * g, out=new_c)
        tanh_of_c = np.tanh(c, out=new_tanh)
        return np.multiply(o, tanh_of_c, out=new_h), c

    def slopes(self, h, c, new_h, new_c, gates, tanh_of_c):
        """How `c` changes with the sums behind three gates, `h` with that behind the fourth, `h` with `c`; and f."""
        i, f, g, o = (gates[:, block] for block in range(4))
        slopes = (1 - gates) * gates
        np.subtract(1, g * g, out=slopes[:, 2])
        slopes *= np.stack([g, c, i, tanh_of_c], axis=1)
        return slopes, (1 - tanh_of_c * tanh_of_c) * o, f

    def back(self, Wh, flat, slopes, through, f, dh, dc):
        through *= dh
        dc += through
        of_c = slopes[:3]
        of_h = slopes[3]
        of_c *= dc
        of_h *= dh
        dc *= f
        np.matmul(Wh.T, flat, out=dh)


@layer
class GRUCell(Cell):
    """One step of a network of gated recurrent units (Flux: ``GRUCell``, the first version of the paper).

    The weights' rows are cut in three: reset ``r``, update ``z`` and candidate ``n``, in this order. The first two are
    sigmoids of ``Wi x + Wh h + bias``, the third is ``n = tanh(Wi x + r * (Wh h) + bias)``. Then
    ``h = (1 - z) * n + z * h``. PyTorch has the same order, but a second bias, with ``Wh h``, which ``r`` multiplies.
    """

    gates = 3
    blocks = 4  # the candidate's products with the state have slopes of their own

    def step(self, scales, total, Wh, h, out=(None,) * 3):
        new_h, new_product, room = out
        sums, n = total[:2], total[2]
        new_sums = new_n = None
        if room is not None:
            new_sums, new_n = sums, n
        products = np.matmul(Wh, h, out=room).reshape(total.shape)
        sums = np.add(sums, products[:2], out=new_sums)
        sums = np.tanh(sums, out=new_sums)
        sums = np.add(sums, 1, out=new_sums)
        r, z = np.multiply(sums, 0.5, out=new_sums)
        product = np.multiply(r, products[2], out=new_product)
        n = np.add(n, product, out=new_n)
        n = np.tanh(n, out=new_n)
        way = np.multiply(h - n, z, out=new_h)
        return (np.add(way, n, out=new_h),)

    def slopes(self, h, new_h, gates, product):
        """How `h` changes with the sums behind r and z, the candidate's product with the state, and its sum; and z."""
        r, z, n = (gates[:, block] for block in range(3))
        of_n = (1 - z) * (1 - n * n)
        of_r = of_n * (1 - r) * product
        of_z = (h - n) * z * (1 - z)
        return np.stack([of_r, of_z, of_n * r, of_n], axis=1), z

    def back(self, Wh, flat, slopes, z, dh):
        slopes *= dh
        dh *= z
        dh += Wh.T @ flat[: Wh.shape[0]]


# -- a sequence as one primitive: all steps of a cell, and the backward pass by hand -----------------------------------
# The cell says one step: its `step` makes the new states and what the backward pass needs, its `slopes` and `back` are
# that pass. Where it's itself differentiated, the same `step` is recorded, call by call. A step's arrays have shape
# (features, N): each gate is one block of memory, and a product with a small batch is quicker. The input's product is
# computed once for all steps, and slopes for many of them; the loops do what's left.
# A sigmoid is (tanh(x / 2) + 1) / 2: with halved weights, one `tanh` does all gates of a step.


@primitive
def sequence(
    cell: "Cell", last_cell: bool, x: Array, Wi: Array, Wh: Array, bias: Array | None, *states: Array | None
) -> Array:
    """The outputs of all steps, ``(N, T, outputs)``, for `x` ``(N, T, inputs)`` and `states` ``(N, outputs)``, or None.

    With `last_cell`, the last c of an LSTM follows the outputs, as if there were one more step.
    """
    return forward(cell, last_cell, x, Wi, Wh, bias, *states)[0]


def forward(cell, last_cell, x, Wi, Wh, bias, *states):
    """What `sequence` returns, and what the steps made: the states, from those before the first; of gates, two more."""
    scales, products, Wh = prepare(iadd, cell, x, Wi, Wh, bias)
    length, size, count = len(products), Wh.shape[1], len(x)
    made = [np.empty_like(products, shape=(1 + length, size, count)) for _ in states]
    for each, state in zip(made, states):
        each[0] = 0 if state is None else state.T
    before = zip(*made)
    after = [each[1:] for each in made]
    room = np.empty_like(products, shape=(len(Wh), count))
    if cell.gates > 1:
        after.append(np.empty_like(after[0]))
        made += [products, after[-1]]  # gates take the place of what they're made of
    for product, states, *out in zip(products, before, *after):
        cell.step(scales, product, Wh, *states, out=(*out, room))
    return result(last_cell, *after), made


def record_each_step(cell, last_cell, x, Wi, Wh, bias, *states):
    """The same as `sequence`, with nothing in place: each step is recorded."""
    scales, products, Wh = prepare(add, cell, x, Wi, Wh, bias)
    zeros = np.zeros_like(plain(products), shape=(Wh.shape[1], len(x)))
    states = tuple([zeros if state is None else state.T for state in states])
    made = []
    for t in range(len(products)):
        states = cell.step(scales, products[t], Wh, *states)
        made.append(states)
    return result(last_cell, *map(np.stack, zip(*made)))


def prepare(add, cell, x, Wi, Wh, bias):
    """For each gate what its tanh is multiplied with, and what's added; the input's products, and `Wh`, halved."""
    scales = None
    if cell.gates > 1:
        halves = np.full_like(plain(Wi), 0.5, shape=(cell.gates, 1, 1))
        halves[2] = 1  # in an LSTM and a GRU, this one stays a tanh
        scales = halves, 1 - halves
        Wi = by_gate(Wi, halves)
        Wh = by_gate(Wh, halves)
        bias = by_gate(bias, halves)
    products = Wi @ np.transpose(x, (1, 2, 0))
    if bias is not None:
        products = add(products, bias[:, None])
    each_step: tuple[int, ...] = (Wh.shape[1], len(x))
    if cell.gates > 1:
        each_step = (cell.gates, *each_step)
    return scales, np.reshape(products, (len(products), *each_step)), Wh


def by_gate(weight, factors):
    """`weight`, or a bias, whose rows for each gate are multiplied with that gate's factor."""
    if weight is None:
        return None
    blocks = np.reshape(weight, (len(factors), -1, weight[:1].size))
    return np.reshape(blocks * factors, weight.shape)


def result(last_cell, h, c=None, *_):
    if last_cell:
        h = np.concatenate([h, c[-1:]])
    return np.transpose(h, (2, 0, 1)).copy()


CACHED = 2**16  # this many slopes are still in a processor's cache when the loop needs them


def backward(g, made, cell, last_cell, *operands):
    """What all pullbacks begin with: gradients of the sums behind the gates, ``(rows, T, N)``, and of the states."""
    if made is None or type(g) is TrackedArray:
        return backward_by_steps(g, cell, last_cell, operands)
    x, _, Wh, _, *first_states = operands
    hs = made[0]
    _, size, count = hs.shape
    states = [np.zeros_like(hs[0]) for _ in first_states]
    if last_cell:
        states[1] += g[:, -1].T
    g = np.transpose(g, (1, 2, 0))
    length = x.shape[1]
    rows = np.empty_like(hs, shape=(cell.blocks * size, length, count))
    most = max(1, CACHED // max(1, rows[:, 0].size))
    for stop in range(length, 0, -most):
        some = slice(max(0, stop - most), stop)
        before = [each[some] for each in made[: len(states)]]
        after = [each[-length:][some] for each in made]
        slopes, *others = cell.slopes(*before, *after)
        flat = np.reshape(slopes, (len(slopes), len(rows), count))
        last_first = [each[::-1] for each in (g[some], flat, slopes, *others)]
        for of_output, *of_step in zip(*last_first):
            states[0] += of_output
            cell.back(Wh, *of_step, *states)
        rows[:, some] = np.transpose(flat, (1, 0, 2))
    if cell.blocks > cell.gates:  # a GRU's candidate has one for its product with the state, and one for its sum
        return np.concatenate([rows[: 2 * size], rows[3 * size :]]), rows[: 3 * size], states
    return rows, rows, states


def backward_by_steps(g, cell, last_cell, operands):
    """The gradients of the operands, while another gradient watches: one inside it sees the single steps."""
    operands = tuple([x if x is None else +x for x in operands])  # so that no two of them are one parameter

    def total(*operands):
        return np.sum(g * record_each_step(cell, last_cell, *operands))

    return list(gradient(total, *operands))


# Where the operands stand among the arguments of `sequence`, after the cell and `last_cell`.
X = 2
WI = 3
WH = 4
BIAS = 5
FIRST_STATE = 6


def pullback_of_sequence(position, g, out, gradients, made, cell, last_cell, x, Wi, *operands):
    """The gradient of the operand of `sequence` at this position, from `backward`'s `gradients`."""
    if type(gradients) is list:  # of all operands
        return gradients[position - X]
    of_input, of_state, states = gradients
    flat = np.reshape(of_input, (len(Wi), -1))
    count, length, inputs = x.shape
    if position == X:
        return np.transpose(np.reshape(Wi.T @ flat, (inputs, length, count)), (2, 1, 0))
    if position == WI:
        return flat @ np.reshape(np.transpose(x, (1, 0, 2)), (length * count, inputs))
    if position == WH:
        before = np.transpose(made[0][:length], (1, 0, 2))
        return np.reshape(of_state, flat.shape) @ np.reshape(before, (len(before), -1)).T
    if position == BIAS:
        return np.sum(flat, axis=1)
    return states[position - FIRST_STATE].T


rule_for_each(sequence, pullback_of_sequence, forward=forward, shared=backward)
