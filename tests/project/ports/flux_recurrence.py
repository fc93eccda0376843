"""Flux's manual, "Recurrent models": a step by hand, a cell, a whole sequence, layers on top of each other."""

import numpy as np

import fluxlite as fl

inputs, outputs, steps, batch = 2, 5, 3, 4
fl.seed(1)

# -- a step by hand, and the same by a cell --------------------------------------------------------------------------
Wxh, Whh, b = fl.gpu((fl.randn32(outputs, inputs), fl.randn32(outputs, outputs), fl.zeros32(outputs)))
sequence = fl.gpu([fl.rand32(inputs) for _ in range(steps)])


def by_hand(x, h):
    h = np.tanh(x @ Wxh.T + h @ Whh.T + b)
    return h, h


def run(cell, h):
    found = []
    for x in sequence:
        y, h = cell(x, h)
        found.append(y)
    return found


start = fl.gpu(fl.zeros32(outputs))
hand = run(by_hand, start)
cell = run(fl.RNNCell.of(Wxh, Whh, b), start)


# -- in a model: the first state isn't trained -----------------------------------------------------------------------
@fl.functor(trainable=("cell", "dense"))
class RecurrentCellModel:
    def __init__(self, inputs, hidden):
        self.h0 = fl.zeros32(hidden)
        self.cell = fl.RNNCell(inputs, hidden)
        self.dense = fl.Dense(hidden, 1)

    def __call__(self, x):
        found, h = [], self.h0
        for t in range(x.shape[1]):
            y, h = self.cell(x[:, t], h)
            found.append(y)
        return self.dense(np.stack(found, axis=1))


@fl.functor(trainable=("rnn", "dense"))
class RecurrentModel:
    def __init__(self, inputs, hidden):
        self.h0 = fl.zeros32(hidden)
        self.rnn = fl.RNN(inputs, hidden)
        self.dense = fl.Dense(hidden, 1)

    def __call__(self, x):
        return self.dense(self.rnn(x, self.h0))


x, y = fl.gpu((fl.rand32(batch, steps, inputs), fl.rand32(batch, steps, 1)))
losses = {}
for kind in (RecurrentCellModel, RecurrentModel):
    fl.seed(2)  # both start with the same weights
    model = fl.gpu(kind(inputs, outputs))
    state = fl.setup(fl.AdamW(1e-2, decay=1e-4), model)
    losses[kind] = []
    for _ in range(30):
        loss, grads = fl.withgradient(lambda m: fl.mse(m(x), y), model)
        fl.update(state, model, grads[0])
        losses[kind].append(float(loss))
    first_state = fl.cpu(model.h0)

# -- layers on top of each other, and a first state that is trained --------------------------------------------------
stacked = fl.gpu(fl.Chain(fl.LSTM(3, 5), fl.Dropout(0.5), fl.LSTM(5, 5)))
stacked_shape = stacked(fl.gpu(fl.rand32(4, 3))).shape


@fl.functor
class StackedRNN:
    def __init__(self, size, count):
        self.layers = [fl.LSTM(size, size) for _ in range(count)]
        self.first = [fl.initialstates(layer) for layer in self.layers]

    def __call__(self, x):
        for layer, state in zip(self.layers, self.first):
            x = layer(x, state)
        return x


rnn = fl.gpu(StackedRNN(3, 2))
long = fl.gpu(fl.rand32(10, 3))
grads = fl.gradient(lambda rnn: np.sum(rnn(long) ** 2), rnn)[0]
