"""The recurrent sequence: its formulas, and its derivative by hand, against the single steps and against PyTorch."""

import numpy as np
import pytest
from gradcheck import check_forward, check_gradient, check_second
from inside import RULES, identity, pullback_of_sequence, recurrent, sequence

import fluxlite as fl

# A cell, which says one step, how many times `outputs` rows its weights have, how many states.
KINDS = {
    "tanh": (fl.RNNCell(1, 1), 1, 1),
    "relu": (fl.RNNCell(1, 1, fl.relu), 1, 1),
    "identity": (fl.RNNCell(1, 1, identity), 1, 1),
    "LSTM": (fl.LSTMCell(1, 1), 4, 2),
    "LSTM with its cell": (fl.LSTMCell(1, 1), 4, 2),
    "GRU": (fl.GRUCell(1, 1), 3, 1),
}
KIND = pytest.mark.parametrize("kind", KINDS)


def operands(kind, count=3, length=4, inputs=2, outputs=3, dtype=np.float64):
    _, rows, states = KINDS[kind]
    rng = np.random.default_rng(0)
    shapes = [(count, length, inputs), (rows * outputs, inputs), (rows * outputs, outputs), (rows * outputs,)]
    return [rng.normal(size=shape).astype(dtype) for shape in shapes + [(count, outputs)] * states]


def run(kind):
    return lambda *given: sequence(KINDS[kind][0], "its" in kind, *given)


def without(kind):
    """Of x and the two weights only: no bias, and zeros to begin with."""
    return lambda *given: run(kind)(*given[:3], None, *[None] * KINDS[kind][2])


# -- the formulas -------------------------------------------------------------------------------------------------


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def blocks(weight, number):
    return np.split(weight, number)


def rnn(x, Wi, Wh, b, h):
    return (np.tanh(Wi @ x + Wh @ h + b),)


def lstm(x, Wi, Wh, b, h, c):
    i, f, g, o = (V @ x + W @ h + a for V, W, a in zip(blocks(Wi, 4), blocks(Wh, 4), blocks(b, 4)))
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru(x, Wi, Wh, b, h):
    (Vr, Vz, Vn), (Wr, Wz, Wn), (br, bz, bn) = blocks(Wi, 3), blocks(Wh, 3), blocks(b, 3)
    r, z = sigmoid(Vr @ x + Wr @ h + br), sigmoid(Vz @ x + Wz @ h + bz)
    n = np.tanh(Vn @ x + r * (Wn @ h) + bn)
    return ((1 - z) * n + z * h,)


@pytest.mark.parametrize(("kind", "formula"), [("tanh", rnn), ("LSTM", lstm), ("GRU", gru)])
def test_the_formulas_of_Flux(kind, formula):
    """For one observation at a time, as in its manual."""
    x, Wi, Wh, b, *begin = operands(kind)
    y = run(kind)(x, Wi, Wh, b, *begin)
    assert y.shape == (3, 4, 3) and y.flags.c_contiguous
    for n in range(3):
        states = [state[n] for state in begin]
        for t in range(4):
            states = formula(x[n, t], Wi, Wh, b, *states)
            np.testing.assert_allclose(y[n, t], states[0], atol=1e-12)


@pytest.mark.parametrize("kind", ["tanh", "LSTM", "GRU"])
def test_weights_of_PyTorch_need_no_permutation(kind):
    """Its second bias is 0 here. Otherwise Flux's is the sum, but for a GRU's candidate, where the reset gate acts."""
    torch = pytest.importorskip("torch")
    x, *arrays = map(torch.tensor, operands(kind))
    theirs = {"tanh": torch.nn.RNN, "LSTM": torch.nn.LSTM, "GRU": torch.nn.GRU}[kind](2, 3, batch_first=True).double()
    names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0")
    theirs.load_state_dict(dict(zip(names, arrays)) | {"bias_hh_l0": torch.zeros_like(arrays[2])})
    begin = tuple(h[None] for h in arrays[3:])
    y, _ = theirs(x, begin if kind == "LSTM" else begin[0])
    np.testing.assert_allclose(run(kind)(*operands(kind)), y.detach().numpy(), atol=1e-12)


@KIND
@pytest.mark.parametrize(("count", "length"), [(3, 4), (1, 4), (3, 1), (1, 1), (0, 2)])
def test_all_at_once_gives_what_single_steps_give(kind, count, length):
    given = operands(kind, count, length)
    cell, last_cell, none = KINDS[kind][0], "its" in kind, [None] * KINDS[kind][2]
    np.testing.assert_allclose(run(kind)(*given), recurrent.record_each_step(cell, last_cell, *given), atol=1e-12)
    np.testing.assert_allclose(
        without(kind)(*given), recurrent.record_each_step(cell, last_cell, *given[:3], None, *none), atol=1e-12
    )


def test_the_last_cell_stands_behind_the_outputs():
    given = operands("LSTM")
    y = run("LSTM with its cell")(*given)
    assert y.shape == (3, 5, 3)
    np.testing.assert_array_equal(y[:, :4], run("LSTM")(*given))
    x, Wi, Wh, b, h, c = given
    states = h[0], c[0]
    for t in range(4):
        states = lstm(x[0, t], Wi, Wh, b, *states)
    np.testing.assert_allclose(y[0, 4], states[1], atol=1e-12)


# -- the derivative by hand ---------------------------------------------------------------------------------------


@KIND
@pytest.mark.parametrize(("count", "length"), [(2, 3), (1, 1)])
def test_finite_differences(kind, count, length):
    given = operands(kind, count, length)
    check_gradient(run(kind), *given)
    check_gradient(without(kind), *given[:3])
    check_forward(run(kind), *given)


@KIND
def test_second_derivatives(kind):
    """Another gradient watches, so the backward pass goes through the single steps."""
    given = operands(kind, 2, 3)
    check_second(run(kind), *given)
    check_second(without(kind), *given[:3])


def test_only_what_is_asked_for_is_computed(monkeypatch):
    asked = []
    monkeypatch.setattr(
        RULES[sequence], "pullback_of_each", lambda i, *rest: asked.append(i) or pullback_of_sequence(i, *rest)
    )
    given = operands("LSTM")
    fl.gradient(lambda Wi, b: np.sum(run("LSTM")(given[0], Wi, given[2], b, *given[4:])), given[1], given[3])
    assert sorted(asked) == [3, 5]
