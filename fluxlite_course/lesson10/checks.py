"""Lesson 10, sequences: checks."""

import functools

import numpy as np

import fluxlite as fl

from ..kit.exercises import NotRight, exercise
from ..kit.vocabulary import called, described, expect, explained, on_cpu, refuse, same, wrong_if


def _numbers(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def _pieces(rnn, head, x, y, anew=False, cut=lambda state: state):
    """The sum of squared errors of each piece of 4 steps. With `anew` each begins with an empty memory."""
    state, sums = fl.initialstates(rnn), []
    for begin in range(0, x.shape[1], 4):
        h, state = rnn(x[:, begin : begin + 4], cut(fl.initialstates(rnn) if anew else state))
        sums.append(np.sum((head(h) - y[:, begin : begin + 4]) ** 2))
    return sums


@exercise("10.1", "a history cut short", look_at="section 4: what is handed on from piece to piece, and what isn't")
def loss_in_pieces(loss_in_pieces):
    random = np.random.default_rng(16)
    rnn = fl.gpu(fl.LSTM(1, 4, return_state=True, init_recurrent_kernel=fl.orthogonal, rng=random))
    head, x, y = fl.gpu((fl.Dense(4, 1, rng=random), _numbers(1, 3, 11, 1), _numbers(2, 3, 11, 1)))

    def one_number(rnn, head):
        found = loss_in_pieces(rnn, head, x, y, 4)
        wrong_if(getattr(found, "shape", None) != (), "loss_in_pieces returns one number", described(found))
        return found

    words = "an LSTM's state is a tuple of two arrays, so it has no data; stop_gradient cuts both"
    with explained({"'tuple' object has no attribute 'data'": words}, "stop_gradient(state)"):
        found, grads = fl.withgradient(one_number, rnn, head)
    # by cpu: a float of an array on the GPU would print a line about waiting, as if the learner's code had waited
    sums, anew = ([float(part) for part in fl.cpu(_pieces(rnn, head, x, y, empty))] for empty in (False, True))
    size, loss, right = y.size, float(fl.cpu(found)), sum(sums) / y.size
    expect(loss, right, "that isn't the mean squared error over all steps", {
        "that's the sum of the squared errors; the mean divides it by their number": sum(sums),
        "each piece begins with an empty memory: give rnn the state that the last piece left": sum(anew) / size,
        "only the last piece counts: add each piece's errors to total": sums[-1] / size,
        "only the first piece counts: add each piece's errors to total": sums[0] / size,
        "a mean of means: total sums the squared errors, and the last line divides by their number":
            sum(part / n for part, n in zip(sums, (12, 12, 9))) / size,
        "that's divided by the number of pieces as well; one division, by y.size, is enough": right / 3,
    }, yours=f"a loss of {loss:.4f}", expected=f"{right:.4f}, as in one piece: only the gradient differs",
       rtol=1e-4, atol=1e-8)  # fmt: skip

    def gradient(**how):
        return _flat(fl.gradient(lambda rnn: sum(_pieces(rnn, head, x, y, **how)) / y.size, rnn)[0])

    right, yours = gradient(cut=fl.stop_gradient), np.zeros(0) if grads[0] is None else _flat(grads[0])
    none = "no gradient reaches rnn: stop_gradient belongs round the state only, not round the outputs"
    words = "the loss is right, but not its gradient: inside a piece nothing is cut, between pieces all of the state is"
    expect(yours, right, words, {
        none: 0 * right,
        "the loss is right, but the gradient still goes back to the first step: cut the state's history": gradient(),
    }, shape=none, show=lambda g: f"a gradient of length {np.linalg.norm(g):.4f}", rtol=1e-3, atol=1e-6)  # fmt: skip
    return "the same loss as in one go, and the gradient ends where a piece begins"


def _flat(grads):
    return fl.cpu(fl.destructure(grads)[0])


@exercise("10.2", "an exploding gradient, clipped", look_at="section 5: multiply all by one factor")
def clipped(clipped):
    random = np.random.default_rng(2)
    model = fl.gpu(fl.Chain(fl.RNN(2, 3, rng=random), fl.Dense(3, 1, rng=random)))
    x = fl.gpu(_numbers(3, 4, 5, 2))
    grads = fl.gradient(lambda m: np.sum(m(x) ** 2), model)[0]
    flat, rebuild = fl.destructure(grads)
    direction = flat / np.sqrt(np.sum(flat**2))
    for length, largest in ((40.0, 1.0), (0.5, 1.0), (6.0, 2.0), (0.9, 2.0)):
        given = rebuild(direction * np.float32(length))
        _right_length(clipped(given, largest), fl.cpu(direction), length, largest, given)
    return "a long gradient is shortened as a whole, and a short one stays as it is"


def _right_length(found, direction, length, largest, given):
    case = f"a gradient of length {length:g}, clipped to at most {largest:g}"
    hint = ". rebuild makes one from the row" if getattr(found, "ndim", 0) == 1 else ""
    words = f"clipped must return a tree like the one it got{hint}"
    wrong_if(type(found) is not type(given), words, described(found), type(given).__name__)
    values = fl.destructure(found)[0]
    wrong_if(on_cpu(values), f"{case} is on the CPU; the weights that it changes are on the GPU")
    values, right = fl.cpu(values), min(length, largest)
    now, along = float(np.linalg.norm(values)), float(values @ direction) * direction
    refuse({} if same(values, direction * right, 1e-4) else {
        f"{case}: it points elsewhere now. Multiply all numbers by the same factor":
            not same(values, along, atol=1e-4 * max(1.0, now)),
        f"{case}: a short gradient stays as it is": length <= largest,
        f"{case}: it's as long as before": abs(now - length) < 1e-3,
        f"{case}: the factor is largest / length, and it multiplies the gradient once":
            abs(now - largest / length) < 1e-3 * largest / length,
        f"{case}: its length is another one": True,
    }, f"length {now:.4g}", f"length {right:g}")  # fmt: skip


def _ahead(rnn, head, x, known, wiped=False, own=lambda p, t: p[-1]):
    """The right answer, or a slip: `wiped` empties the memory, `own` chooses another input for the later steps."""
    state = None
    found: list = []
    for t in range(len(x)):
        h, state = rnn.cell(x[t] if t < known else own(found, t), None if wiped else state)
        found.append(head(h))
    return np.stack(found)


@exercise("10.3", "on its own", look_at="section 6: read, write, and what write reads")
def ahead(ahead):
    random = np.random.default_rng(3)
    rnn, head, x = fl.gpu((fl.RNN(1, 4, rng=random), fl.Dense(4, 1, rng=random), _numbers(4, 8, 1)))
    for known in (8, 3, 1):
        found, right = ahead(rnn, head, x, known), fl.cpu(_ahead(rnn, head, x, known))
        words = "h is the memory; the prediction, one number, is head(h)"
        wrong_if(getattr(found, "shape", None) == (8, 4), words, "shape (8, 4)", "shape (8, 1)")
        make = functools.partial(_ahead, rnn, head, x)
        true = "with known=3 the steps 0, 1 and 2 see true points"
        after = "after the known points it sees"
        expect(found, right, f"from step {_first_wrong(found, right)} on the predictions are others", {
            "the memory is empty at each step: hand the state on": make(known, wiped=True),
            "it still sees the true points after the known ones": make(8),
            f"one true point too many: {true}": make(known + 1),
            f"one true point too few: {true}": make(known - 1) if known > 1 else right,
            f"{after} zeros: its input is the last prediction": make(known, own=lambda p, t: x[t] * 0),
            "its input stays the last true point: it's the last prediction, a new one at each step":
                make(known, own=lambda p, t: x[known - 1]),  # noqa: B023
            f"{after} the true point of the step before: it's the prediction of that step":
                make(known, own=lambda p, t: x[t - 1]),
        }, before=f"known={known}: ", shape="ahead returns one prediction for each step, also for the known ones",
           atol=1e-4, show=lambda x: fl.cpu(x).ravel().round(2))  # fmt: skip
    return "with known=8 that's teacher forcing, and with known=1 it's on its own from the second step"


def _memories(cell, x, hoist, activation=np.tanh, keep=True, bias=None):
    """The right answer with and without hoisting, and with slips."""

    def of_input(x):
        return x @ cell.Wi.T + (cell.bias if bias is None else bias)

    found: list = []
    h, products = np.zeros_like(x, shape=(x.shape[0], cell.Wh.shape[1])), of_input(x) if hoist else x
    for t in range(x.shape[1]):
        found.append(activation((products[:, t] if hoist else of_input(x[:, t])) + h @ cell.Wh.T))
        h = found[-1] if keep else h
    return np.stack(found, axis=1)


def _first_wrong(found, right, steps=0):
    """The first step with another value than the right one. `steps` is their axis."""
    if np.shape(found) != right.shape:
        return 0
    wrong = np.argwhere(~np.isclose(fl.cpu(found), right, atol=1e-4))
    return int(wrong[:, steps].min(initial=right.shape[steps] - 1))


class _Sealed(fl.RNNCell):
    """A cell that refuses to be called, since the learner writes the loop."""

    def __call__(self, x, state=None):
        raise NotRight("the cell was called; this time, write the loop yourself, with its Wi, Wh and bias")


@exercise("10.4", "hoisted", look_at="section 7: step_by_step and hoisted, and r.by_line() of a receipt")
def memories(memories):
    cell = _Sealed.of(_numbers(5, 6, 3), _numbers(6, 6, 6) / 4, _numbers(7, 6))
    cell, x = fl.gpu((cell, _numbers(8, 4, 30, 3)))
    right = fl.cpu(_memories(cell, x, hoist=True))
    found, r = called(memories, cell, x)
    step = _first_wrong(found, right, steps=1)
    expect(found, right, f"other memories than before, from step {step} on", {
        "the memory is the same at each step: h @ cell.Wh.T needs the new h, so it stays in the loop":
            _memories(cell, x, hoist=True, keep=False),
        "the bias is added twice": _memories(cell, x, hoist=True, bias=2 * cell.bias),
        "the bias is missing": _memories(cell, x, hoist=True, bias=0),
        "tanh is missing": _memories(cell, x, hoist=True, activation=lambda s: s),
    }, shape="memories returns the memory after every step", where="the result is on the CPU: compute where x is",
       atol=1e-4, show=lambda x: fl.cpu(x)[0, step].round(2))  # fmt: skip
    slow, quick = (called(_memories, cell, x, hoist)[1].launches for hoist in (False, True))
    what = "a sum that needs only the input is" if r.launches < slow - 15 else "the product with Wi is"
    words = f"the values are right, but {what} still in the loop"
    wrong_if(r.launches > quick + 15, words, f"{r.launches} launches for 30 steps", f"{quick} or fewer")
    return f"the same memories with {r.launches} launches in place of {slow}"
