"""PyTorch's tutorial "Quickstart": a class with layers, a loop to train, one to test, a file."""

import sys
import tempfile
from pathlib import Path

import numpy as np

import fluxlite as fl
from fluxlite.course import digits

epochs = int(sys.argv[1]) if sys.argv[1:] else 5
fl.seed(1)

images, labels = digits()
images = images.reshape(-1, 8, 8).astype(np.float32) / 16
training_data, test_data = fl.splitobs((images, labels), at=0.8, shuffle=True, rng=1)
batch_size = 64
train_dataloader = fl.DataLoader(training_data, batchsize=batch_size, shuffle=True)
test_dataloader = fl.DataLoader(test_data, batchsize=batch_size)


@fl.functor
class NeuralNetwork:
    def __init__(self):
        self.linear_relu_stack = fl.Chain(
            fl.Dense(8 * 8, 128, fl.relu),
            fl.Dense(128, 128, fl.relu),
            fl.Dense(128, 10),
        )

    def __call__(self, x):
        return self.linear_relu_stack(fl.flatten(x))


device = fl.get_device()
model = device(NeuralNetwork())
loss_fn = fl.logitcrossentropy
optimizer = fl.setup(fl.Descent(0.1), model)
log = []


def train(dataloader, model, loss_fn, optimizer):
    for batch, (X, y) in enumerate(dataloader):
        X, y = device((X, y))
        loss, grads = fl.withgradient(lambda model: loss_fn(model(X), y), model)
        fl.update(optimizer, model, grads[0])
        if batch % 10 == 0:
            log.append(float(loss))


def test(dataloader, model, loss_fn):
    test_loss, correct, size = 0, 0, 0
    for X, y in dataloader:
        X, y = device((X, y))
        pred = model(X)
        test_loss += float(loss_fn(pred, y))
        correct += int(np.sum(np.argmax(pred, axis=1) == y))
        size += len(X)
    return test_loss / len(dataloader), correct / size


before = test(test_dataloader, model, loss_fn)
for _ in range(epochs):
    train(train_dataloader, model, loss_fn, optimizer)
after = test(test_dataloader, model, loss_fn)

file = Path(tempfile.mkdtemp()) / "model.safetensors"
fl.save(file, model)
loaded = NeuralNetwork()
fl.load(file, loaded)
x, y = test_data[0][0], test_data[1][0]
predicted, actual = int(np.argmax(loaded(x[None])[0])), int(y)
same = np.array_equal(loaded.linear_relu_stack[0].weight, fl.cpu(model.linear_relu_stack[0].weight))
