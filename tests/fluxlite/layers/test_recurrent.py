"""The recurrent layers and cells: shapes and states, how they print, where they run, what they say to a wrong input."""

import numpy as np
import pytest
from gradcheck import check_gradient
from inside import InputError, ShapeError

import fluxlite as fl

LAYERS = {"RNN": fl.RNN, "LSTM": fl.LSTM, "GRU": fl.GRU}
CELLS = {"RNN": fl.RNNCell, "LSTM": fl.LSTMCell, "GRU": fl.GRUCell}
EACH = pytest.mark.parametrize("name", LAYERS)


def layer(name, **keywords):
    return LAYERS[name](2, 3, rng=np.random.default_rng(0), **keywords)


def data(*shape, dtype=np.float32):
    return np.random.default_rng(1).normal(size=shape).astype(dtype)


def as_tuple(state):
    return state if type(state) is tuple else (state,)


class Alone(fl.GRUCell):
    """Derived from a cell, so it may compute otherwise: its steps are taken one by one."""


# -- shapes and states --------------------------------------------------------------------------------------------


@EACH
@pytest.mark.parametrize("lead", [(), (5,), (0,)])
@pytest.mark.parametrize("length", [4, 1])
def test_outputs_of_all_steps_and_the_last_state(name, lead, length):
    x, both = data(*lead, length, 2), layer(name, return_state=True)
    y, state = both(x)
    assert y.shape == (*lead, length, 3) and y.dtype == np.float32
    assert [h.shape for h in as_tuple(state)] == [(*lead, 3)] * (2 if name == "LSTM" else 1)
    np.testing.assert_array_equal(y[..., -1, :], as_tuple(state)[0])
    np.testing.assert_array_equal(layer(name)(x), y)


@EACH
def test_a_sequence_is_a_cell_called_step_by_step_or_two_pieces(name):
    rnn, x = layer(name, return_state=True), data(5, 4, 2)
    y, last = rnn(x)
    state = fl.initialstates(rnn)
    for t in range(4):
        output, state = rnn.cell(x[:, t], state)
        np.testing.assert_allclose(y[:, t], output, atol=1e-6)
    first, half = rnn(x[:, :2])
    second, end = rnn(x[:, 2:], half)
    np.testing.assert_allclose(np.concatenate([first, second], axis=1), y, atol=1e-6)
    for one, other, third in zip(as_tuple(last), as_tuple(state), as_tuple(end)):
        np.testing.assert_allclose(one, other, atol=1e-6)
        np.testing.assert_allclose(one, third, atol=1e-6)
    np.testing.assert_allclose(rnn.cell(x[0, 0])[0], y[0, 0], atol=1e-6)


def test_initialstates():
    assert fl.initialstates(fl.RNN(2, 3)).tolist() == [0, 0, 0]
    h, c = fl.initialstates(fl.LSTMCell(2, 3))
    assert h.shape == c.shape == (3,) and h.dtype == np.float32
    assert fl.initialstates(fl.GRUCell.of(np.ones((6, 1)), np.ones((6, 2)))).dtype == np.float64
    with pytest.raises(AttributeError, match=r"takes a recurrent layer or cell, with a method initialstates\(\), got"):
        fl.initialstates(fl.Dense(2, 3))


@EACH
def test_gradients_of_a_layer_and_its_cell(name):
    """By finite differences: of its arrays, the input and a state, for all or for each."""
    cell, rng = CELLS[name], np.random.default_rng(2)
    rows, several = cell.gates * 3, name == "LSTM"
    x, *arrays = [rng.normal(size=shape) for shape in [(2, 4, 2), (rows, 2), (rows, 3), (rows,)]]
    states = [rng.normal(size=(3,)) for _ in cell.states]

    def outputs(x, Wi, Wh, bias, *states):
        rnn = fl.Recurrence(cell.of(Wi, Wh, bias), return_state=True)
        y, state = rnn(x, states if several else states[0])
        return y, *as_tuple(state)

    def step(x, *of):
        return as_tuple(cell.of(*of[:3])(x, of[3:] if several else of[3])[1])

    check_gradient(outputs, x, *arrays, *states)
    check_gradient(lambda x, Wi, Wh: fl.Recurrence(cell.of(Wi, Wh))(x[0]), x, *arrays[:2])
    check_gradient(step, x[:, 0], *arrays, *(np.stack([h, 2 * h]) for h in states))


# -- Recurrence ---------------------------------------------------------------------------------------------------


class Counter:
    """A cell of a user's own, with a state of its own kind."""

    def __init__(self):
        self.weight = np.array([2.0, 3.0])

    def initialstates(self):
        return {"steps": 0, "sum": 0.0}

    def __call__(self, x, state):
        state = {"steps": state["steps"] + 1, "sum": state["sum"] + x * self.weight}
        return state["sum"] / state["steps"], state


def test_a_cell_of_your_own():
    x = data(5, 4, 2, dtype=float)
    y, state = fl.Recurrence(Counter(), return_state=True)(x)
    expected = np.cumsum(x * [2, 3], axis=1) / np.arange(1, 5)[:, None]
    np.testing.assert_allclose(y, expected)
    assert state["steps"] == 4 and y.shape == (5, 4, 2)
    np.testing.assert_allclose(fl.Recurrence(Counter())(x[0]), expected[0])
    check_gradient(lambda x: fl.Recurrence(Counter())(x), x)
    assert repr(fl.Recurrence(fl.functor(Counter)())).startswith("Recurrence(")


@EACH
def test_a_cell_of_ours_is_computed_at_once_and_one_derived_from_it_one_by_one(name, monkeypatch):
    called = []
    base = CELLS[name].__mro__[1]
    monkeypatch.setattr(base, "__call__", lambda self, x, state: called.append(1) or (x, state))
    fl.Recurrence(CELLS[name](2, 3))(data(5, 4, 2))
    assert called == []
    derived = type("Derived", (CELLS[name],), {})
    fl.Recurrence(derived(2, 3))(data(5, 4, 2))
    assert len(called) == 4


# -- fields, printing, types --------------------------------------------------------------------------------------


def test_fields_of_a_new_layer():
    rnn = layer("LSTM")
    assert rnn.cell.Wi.shape == (12, 2) and rnn.cell.Wh.shape == (12, 3) and rnn.cell.bias.tolist() == [0] * 12
    assert (layer("LSTM").cell.Wh == rnn.cell.Wh).all() and rnn.cell.Wi.dtype == np.float32
    assert [str(path) for path, _ in fl.trainables(rnn)] == ["cell.Wi", "cell.Wh", "cell.bias"]
    own = fl.RNN(2, 3, init_kernel=lambda *shape: np.ones(shape, np.float32), bias=False)
    assert own.cell.bias is None and own.cell.Wi.all() and not (own.cell.Wh == 1).all()


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda: fl.RNN(2, 3, fl.relu, bias=False), "RNN(2 => 3, relu, bias=False)      # 15 parameters"),
        (lambda: fl.LSTM(2, 3, return_state=True), "LSTM(2 => 3, return_state=True)      # 72 parameters"),
        (lambda: fl.Recurrence(fl.LSTMCell(2, 3)), "Recurrence(LSTMCell(2 => 3))      # 72 parameters"),
        (lambda: fl.fmap(np.shape, fl.GRU(2, 3)), "GRU(…)"),
    ],
)
def test_how_they_print(made, text):
    assert repr(made()) == text


def test_of_arrays():
    Wi, Wh, bias = np.ones((12, 2)), np.ones((12, 3)), np.ones(12)
    made = fl.LSTMCell.of(Wi, Wh, bias)
    assert made.Wi is Wi and made.Wh is Wh and made.bias is bias and fl.LSTMCell.of(Wi, Wh).bias is None
    assert fl.RNNCell.of(np.ones((3, 2)), np.ones((3, 3))).activation is np.tanh
    for arrays, words in (
        ((Wi, np.ones((12, 4))), r"LSTMCell.of: Wh has shape \(16, outputs\), got an array .* shape \(12, 4\)"),
        ((Wi, [1.0]), r"LSTMCell.of: Wh has shape \(rows, outputs\), got a list"),
        ((np.ones((9, 2)), Wh), r"LSTMCell.of: Wi has shape \(12, inputs\), got an array .* shape \(9, 2\)"),
        ((Wi, Wh, np.ones(3)), r"LSTMCell.of: bias has shape \(12,\), got an array .* shape \(3,\)"),
    ):
        with pytest.raises(ValueError, match=words):
            fl.LSTMCell.of(*arrays)
    with pytest.raises(TypeError, match="the arrays have one type; astype converts"):
        fl.LSTMCell.of(Wi, Wh.astype(np.float32))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: fl.LSTM(2.0, 3), TypeError, r"LSTMCell\(inputs=2.0"),
        (lambda: fl.RNN(2, -3), ValueError, r"RNNCell\(inputs=2, outputs=-3\)"),
        (lambda: fl.LSTM(2, 3, bias=np.zeros(12)), ValueError, r"LSTMCell\(inputs=2, outputs=3, bias=an array"),
        (lambda: fl.RNN(2, 3, "tanh"), TypeError, "RNNCell's activation is a function such as np.tanh, got 'tanh'"),
        (lambda: fl.GRU(2, 3, return_state="no"), TypeError, r"GRU\(return_state=…\) is True or False, got 'no'"),
        (lambda: fl.GRU(2, 3, init_kernel=lambda *s: 1), ValueError, r"init_kernel\(9, 2\) gives an array"),
        (lambda: fl.Recurrence(np.ones(3)), TypeError, r"Recurrence\(cell\) is a function, got an array"),
    ],
)
def test_what_a_layer_is_not_made_of(make, error, words):
    with pytest.raises(error, match=words):
        make()


# -- errors of a wrong input -------------------------------------------------------------------------------------

STATE_OF_LSTM = r"^LSTM\(2 => 3\) takes a state \(h, c\), got "
WRONG = [
    ("RNN", data(5, 4, 7), None, r"^RNN\(2 => 3, tanh\) takes sequences of shape \(N, T, 2\) .* got shape \(5, 4, 7\)"),
    ("GRU", data(2), None, r"^GRU\(2 => 3\) takes sequences of shape .*\(T, 2\), got shape \(2,\)$"),
    ("GRU", data(5, 4, 3, 2), None, r"got shape \(5, 4, 3, 2\)$"),
    ("RNN", data(5, 0, 2), None, r"got shape \(5, 0, 2\)$"),
    ("RNN", data(5, 4, 2), data(4, 3), r"takes a state h of shape \(3,\) or \(5, 3\), got \(4, 3\)$"),
    ("GRU", data(4, 2), data(1, 3), r"takes a state h of shape \(3,\), got \(1, 3\)$"),
    ("LSTM", data(5, 4, 2), (data(3), data(2)), r"takes a state c of shape \(3,\) or \(5, 3\), got \(2,\)$"),
    ("LSTM", data(2, 4, 2), data(2, 3), STATE_OF_LSTM + r"an array of float32, shape \(2, 3\)$"),
    ("LSTM", data(5, 4, 2), (data(3),), STATE_OF_LSTM),
]  # fmt: skip


@pytest.mark.parametrize(("name", "x", "state", "words"), WRONG)
def test_a_wrong_sequence_or_state(name, x, state, words):
    for call in (layer(name), lambda x, state: fl.gradient(lambda m: m(x, state).sum(), layer(name))):
        with pytest.raises((ShapeError, InputError), match=words):
            call(x, state)


def test_a_wrong_input_of_a_cell():
    with pytest.raises(
        ShapeError, match=r"^GRUCell\(2 => 3\) takes a state h of shape \(3,\) or \(5, 3\), got \(4, 3\)"
    ):
        fl.GRUCell(2, 3)(data(5, 2), data(4, 3))
    with pytest.raises(ShapeError, match=r"^cell: Alone\(2 => 3\) takes a state"):  # one by one, it looks itself
        fl.Recurrence(Alone(2, 3))(data(5, 1, 2), data(4, 3))
    for call in (fl.GRUCell(2, 3), fl.Recurrence(Alone(2, 3))):
        with pytest.raises(ValueError, match=r"in \w+\(2 => 3\), called with an array of float32, shape \((5, )?7,?\)"):
            call(data(5, 7))


# -- devices ------------------------------------------------------------------------------------------------------


@EACH
def test_a_state_on_another_device(name, simulated):
    model, x = layer(name), data(5, 4, 2)
    with pytest.raises(ValueError, match=rf"a host array .* cannot be written .*(.|\n)*in {name}\(2 => 3"):
        fl.gpu(model)(fl.gpu(x), fl.initialstates(model))
    there, x = fl.gpu((model, x))
    with fl.receipt() as r:
        there(x, fl.initialstates(there))
        there.cell(x[:, 0])
    assert r.host_to_device.count == 0


# What a further step of a sequence launches: forward, and there and back. There's no cuDNN behind CuPy's functions,
# which would do with fewer, so each product, sum and tanh is a kernel, for all gates at once.
LAUNCHES = {"RNN": (3, 6), "LSTM": (10, 17), "GRU": (11, 16)}


@EACH
def test_launches_of_a_step(name, simulated):
    def launches(length, back):
        model, x = fl.gpu(layer(name)), fl.gpu(data(5, length, 2))
        with fl.receipt() as r:
            fl.gradient(lambda m: np.sum(m(x)), model) if back else model(x)
        return r.launches

    found = tuple(launches(7, back) - launches(6, back) for back in (False, True))
    assert found == LAUNCHES[name]


# -- the rest of a program ----------------------------------------------------------------------------------------


def test_a_forget_gate_may_start_open():
    lstm = fl.LSTM(2, 3, forget=2.5)
    assert lstm.cell.bias.tolist() == [0] * 3 + [2.5] * 3 + [0] * 6
    assert not fl.LSTM(2, 3).cell.bias.any() and fl.LSTM(2, 3, bias=False).cell.bias is None
    with pytest.raises(ValueError, match="so it needs bias=True"):
        fl.LSTM(2, 3, bias=False, forget=1)
