"""Handwritten digits, read by a network of two layers: a multi-layer perceptron.

The first example of any course. 8 x 8 points go in as one row of 64 numbers: it doesn't know which are neighbours.
"""

import sys

import numpy as np

import fluxlite as fl
from fluxlite_course import digits

epochs = int(sys.argv[1]) if sys.argv[1:] else 20
fl.seed(1)

images, labels = digits()  # 1797 of them, uint8: each point from 0 (paper) to 16 (ink)
data = (images.astype(np.float32) / 16, labels)
train_data, (x_test, y_test) = fl.splitobs(data, at=0.8, shuffle=True, rng=1)

model = fl.gpu(
    fl.Chain(
        fl.Dense(64, 64, fl.relu),
        fl.Dropout(0.2),  # works in training only
        fl.Dense(64, 10),  # a score for each digit; the loss makes probabilities of them
    )
)
print(model)

loader = fl.DataLoader(fl.gpu(train_data), batchsize=64, shuffle=True)
x_test, y_test = fl.gpu((x_test, y_test))
state = fl.setup(fl.Adam(0.003), model)


def loss(model, x, y):
    return fl.logitcrossentropy(model(x), y)  # y holds the digits' numbers, not one-hot rows


def report(history):
    if history.epochs % 5 == 0:
        accuracy = fl.accuracy(model(x_test), y_test)
        print(f"epoch {history.epochs:2}: loss {history.epoch_losses[-1]:.3f}, accuracy {accuracy:.1%}")


history = fl.train(loss, model, loader, state, epochs=epochs, callbacks=[report], progress=False)
first, *_, last = history.epoch_losses
accuracy = fl.accuracy(model(x_test), y_test)
print(f"loss {first:.3f} -> {last:.3f}, accuracy {accuracy:.1%}, on {fl.device_of(x_test)}")
