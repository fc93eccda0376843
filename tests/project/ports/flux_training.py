"""Flux's manual, "Training": penalties, decay, rates that change, parts that are frozen, your own loop with a log."""

import numpy as np

import fluxlite as fl
from fluxlite_course import digits

fl.seed(1)
images, labels = digits()
X, Y = fl.gpu((images[:640].astype(np.float32) / 16, fl.onehotbatch(labels[:640], range(10))))
train_set = fl.DataLoader((X, Y), batchsize=32)
x1, y1 = next(iter(train_set))


def new_model():
    return fl.gpu(fl.Chain(enc=fl.Dense(64, 32, fl.relu), dec=fl.Dense(32, 10)))


def loss(m, x, y):
    return fl.logitcrossentropy(m(x), y)


# -- by fmap, without a rule -----------------------------------------------------------------------------------------
model = new_model()
before = float(loss(model, X, Y))
for x, y in train_set:
    grads = fl.gradient(loss, model, x, y)
    model = fl.fmap(lambda p, g: p if g is None else p - 0.1 * g, model, grads[0])
by_hand = float(loss(model, X, Y))

# -- penalties: over one layer's arrays, over all of a model's, and by a rule ----------------------------------------
dense = model["dec"]
dense_before = np.copy(fl.cpu(dense.weight))
hidden = model["enc"](x1)


def one_penalty(m):
    return fl.logitcrossentropy(m(hidden), y1) + 0.42 * (np.sum(m.weight**2) / 2 + np.sum(m.bias**2) / 2)


def with_penalty(m):
    return loss(m, x1, y1) + 0.42 * sum(np.sum(p**2) / 2 for _, p in fl.trainables(m))


plain, of_one, of_all = (
    fl.gradient(lambda m: fl.logitcrossentropy(m(hidden), y1), dense)[0],
    fl.gradient(one_penalty, dense)[0],
    fl.gradient(with_penalty, model)[0],
)
decayed = fl.setup(fl.OptimiserChain(fl.WeightDecay(0.42), fl.Adam(0.01)), model)
fl.train(loss, model, train_set, decayed, progress=False)

# -- rates, frozen parts ---------------------------------------------------------------------------------------------
bimodel = new_model()
state = fl.setup(fl.Adam(0.02), bimodel)
fl.adjust(state.layers["enc"], 0.03)
rates = state.layers["enc"].weight.rule.eta, state.layers["dec"].weight.rule.eta
fl.freeze(state.layers["enc"])
frozen = np.copy(fl.cpu(bimodel["enc"].weight))
fl.train(loss, bimodel, train_set, state, progress=False)
still = np.copy(fl.cpu(bimodel["enc"].weight))  # on the CPU, cpu(x) is x itself
fl.thaw(state)
rate = fl.cosine(0.02, 40)
for step, (x, y) in enumerate(train_set):
    fl.adjust(state, rate(step))
    grads = fl.gradient(loss, bimodel, x, y)
    fl.update(state, bimodel, grads[0])
moved = fl.cpu(bimodel["enc"].weight)

# -- your own loop, with a log, until it's good enough --------------------------------------------------------------
model, my_log = new_model(), []
state = fl.setup(fl.Adam(), model)
for _ in range(30):
    losses = []
    for i, (x, y) in enumerate(train_set):
        (value, scores), grads = fl.withgradient(lambda m: (fl.logitcrossentropy(s := m(x), y), s), model)
        losses.append(float(value))
        if not np.isfinite(losses[-1]):
            print(f"loss is {losses[-1]} on item {i}")
            continue
        fl.update(state, model, grads[0])
    my_log.append({"accuracy": fl.accuracy(model(X), Y), "losses": losses})
    if my_log[-1]["accuracy"] > 0.95:
        break
