"""Handwritten digits, read by a convolutional network: LeNet, cut to pictures of 8 x 8.

Its first layers look at small windows, so they know which points are neighbours. After the Flux model zoo's LeNet.
"""

import sys

import numpy as np

import fluxlite as fl
from fluxlite_course import digits

epochs = int(sys.argv[1]) if sys.argv[1:] else 12
fl.seed(1)

images, labels = digits()
pictures = images.reshape(-1, 8, 8, 1).astype(np.float32) / 16  # (N, height, width, channels)
train_data, test_data = fl.gpu(fl.splitobs((pictures, labels), at=0.8, shuffle=True, rng=1))

features = fl.Chain(
    fl.Conv((3, 3), 1, 6, fl.relu, pad=fl.SamePad()),
    fl.MaxPool((2, 2)),
    fl.Conv((3, 3), 6, 16, fl.relu, pad=fl.SamePad()),
    fl.MaxPool((2, 2)),
    fl.flatten,
)
(_, size) = fl.outputsize(features, (1, 8, 8, 1))  # how many numbers come out, without computing them
lenet = fl.gpu(fl.Chain(*features, fl.Dense(size, 120, fl.relu), fl.Dense(120, 84, fl.relu), fl.Dense(84, 10)))
print(lenet)

loader = fl.DataLoader(train_data, batchsize=64, shuffle=True)
rule = fl.OptimiserChain(fl.WeightDecay(1e-4), fl.Adam(0.003))
state = fl.setup(rule, lenet)


def loss_and_accuracy(data):
    x, y = data
    scores = lenet(x)
    return float(fl.logitcrossentropy(scores, y)), fl.accuracy(scores, y)


first, _ = loss_and_accuracy(test_data)
for epoch in range(epochs):
    for x, y in loader:
        grads = fl.gradient(lambda model: fl.logitcrossentropy(model(x), y), lenet)
        fl.update(state, lenet, grads[0])
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1:2}: loss {loss_and_accuracy(test_data)[0]:.3f} on the test pictures")

loss, accuracy = loss_and_accuracy(test_data)
print(f"loss {first:.3f} -> {loss:.3f}, accuracy {accuracy:.1%}, on {fl.device_of(test_data[0])}")
