"""Flux's model zoo, mlp_mnist: sigmoid, softmax and crossentropy of probabilities, as they're written there."""

import sys

import numpy as np

import fluxlite as fl
from fluxlite.course import digits

epochs = int(sys.argv[1]) if sys.argv[1:] else 60
fl.seed(1)

images, labels = digits()
train_data, test_data = fl.splitobs((images.astype(np.float32) / 16, labels), at=0.8, shuffle=True, rng=1)
model = fl.gpu(fl.Chain(fl.Dense(64, 32, fl.sigmoid), fl.Dense(32, 10), fl.softmax))
sums = fl.cpu(np.sum(model(fl.gpu(fl.rand32(3, 64))), axis=1))


def loader(data, batchsize=64):
    x, y = data
    return fl.DataLoader(fl.gpu((x, fl.onehotbatch(y, range(10)))), batchsize=batchsize, shuffle=True)


def simple_accuracy(model, data):
    ((x, y),) = loader(data, batchsize=len(data[0]))  # one big batch
    return float(np.mean(fl.onecold(model(x)) == fl.onecold(y)))


train_loader = loader(train_data)
state = fl.setup(fl.Adam(3e-3), model)
losses = []
for _ in range(epochs):
    loss = 0.0
    for x, y in train_loader:
        value, grads = fl.withgradient(lambda m: fl.crossentropy(m(x), y), model)
        fl.update(state, model, grads[0])
        loss += value / len(train_loader)
    losses.append(float(loss))
accuracy = simple_accuracy(model, test_data)
