"""Flux's model zoo, conv_mnist: LeNet for 28 x 28 points, weight decay, a log, and a file of the trained network."""

import sys
import tempfile
from pathlib import Path

import numpy as np

import fluxlite as fl
from fluxlite.course import digits

epochs = int(sys.argv[1]) if sys.argv[1:] else 10
fl.seed(1)
filename = Path(tempfile.mkdtemp()) / "lenet.safetensors"

images, labels = digits()
pictures = np.pad(images.reshape(-1, 8, 8), ((0, 0), (3, 3), (3, 3))).repeat(2, axis=1).repeat(2, axis=2)
pictures = (pictures[..., None] / 16).astype(np.float32)  # 28 x 28
train_data, test_data = fl.splitobs((pictures, fl.onehotbatch(labels, range(10))), at=0.8, shuffle=True, rng=1)


def new_lenet():
    return fl.Chain(
        fl.Conv((5, 5), 1, 6, fl.relu),
        fl.MaxPool((2, 2)),
        fl.Conv((5, 5), 6, 16, fl.relu),
        fl.MaxPool((2, 2)),
        fl.flatten,
        fl.Dense(256, 120, fl.relu),
        fl.Dense(120, 84, fl.relu),
        fl.Dense(84, 10),
    )


lenet = fl.gpu(new_lenet())
sizes = [fl.outputsize(lenet[:layers], (64, 28, 28, 1)) for layers in range(1, 9)]


def loss_and_accuracy(model, data):
    x, y = fl.gpu(data)
    scores = model(x)
    return float(fl.logitcrossentropy(scores, y)), fl.accuracy(scores, y)


first = loss_and_accuracy(lenet, test_data)
loader = fl.DataLoader(fl.gpu(train_data), batchsize=128, shuffle=True)
rule = fl.OptimiserChain(fl.WeightDecay(1e-2), fl.Adam(3e-3))
state = fl.setup(rule, lenet)
train_log = []
for epoch in range(1, epochs + 1):
    for x, y in loader:
        grads = fl.gradient(lambda m: fl.logitcrossentropy(m(x), y), lenet)
        fl.update(state, lenet, grads[0])
    if epoch % 2 == 1:
        train_log.append((epoch, *loss_and_accuracy(lenet, test_data)))
fl.save(filename, lenet)
last = loss_and_accuracy(lenet, test_data)

lenet2 = new_lenet()
fl.load(filename, lenet2)
x = test_data[0][:8]
difference = float(np.max(np.abs(lenet2(x) - fl.cpu(lenet(fl.gpu(x))))))
least_certain = int(np.argmin(np.max(fl.softmax(lenet2(test_data[0])), axis=1)))
