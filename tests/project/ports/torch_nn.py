"""PyTorch's tutorial "What is torch.nn really?": from bare arrays, step by step, to a convolutional network."""

import math
import sys

import numpy as np

import fluxlite as fl
from fluxlite_course import digits

epochs = int(sys.argv[1]) if sys.argv[1:] else 6
fl.seed(1)
images, labels = digits()
data = fl.shuffleobs((images.astype(np.float32) / 16, labels.astype(int)), rng=1)
(x_train, y_train), (x_valid, y_valid) = fl.gpu(fl.splitobs(data, at=0.8))
n, bs, lr = len(x_train), 64, 0.5


# -- from scratch ----------------------------------------------------------------------------------------------------
def log_softmax(x):
    return x - np.log(np.sum(np.exp(x), axis=-1, keepdims=True))


def model(parameters, xb):
    weights, bias = parameters
    return log_softmax(xb @ weights + bias)


def nll(scores, target):
    return -np.mean(scores[np.arange(len(target)), target])


def accuracy(out, yb):
    return float(np.mean(np.argmax(out, axis=1) == yb))


parameters = fl.gpu([fl.randn32(64, 10) / math.sqrt(64), fl.zeros32(10)])
scratch = [float(nll(model(parameters, x_valid), y_valid))]
for _ in range(epochs):
    for i in range((n - 1) // bs + 1):
        xb, yb = x_train[i * bs : i * bs + bs], y_train[i * bs : i * bs + bs]
        grads = fl.gradient(lambda parameters: nll(model(parameters, xb), yb), parameters)[0]
        for p, g in zip(parameters, grads):
            p -= lr * g
scratch.append(float(nll(model(parameters, x_valid), y_valid)))
built_in = float(fl.logitcrossentropy(x_valid @ parameters[0] + parameters[1], y_valid))


# -- with a class, a layer, a rule, a loader -------------------------------------------------------------------------
@fl.functor
class Logistic:
    def __init__(self):
        self.lin = fl.Dense(64, 10)

    def __call__(self, xb):
        return self.lin(xb)


def get_data(train, valid, bs):
    return fl.DataLoader(train, batchsize=bs, shuffle=True), fl.DataLoader(valid, batchsize=bs * 2)


def loss_func(model, xb, yb):
    return fl.logitcrossentropy(model(xb), yb)


def fit(epochs, model, loss_func, opt, train_dl, valid_dl):
    found = []
    for _ in range(epochs):
        for xb, yb in train_dl:
            grads = fl.gradient(loss_func, model, xb, yb)[0]
            fl.update(opt, model, grads)
        losses, nums = zip(*[(float(loss_func(model, xb, yb)), len(xb)) for xb, yb in valid_dl])
        found.append(np.sum(np.multiply(losses, nums)) / np.sum(nums))
    return found


train_dl, valid_dl = get_data((x_train, y_train), (x_valid, y_valid), bs)
logistic = fl.gpu(Logistic())
of_class = fit(epochs, logistic, loss_func, fl.setup(fl.Descent(lr), logistic), train_dl, valid_dl)

# -- a convolutional network, with momentum --------------------------------------------------------------------------
cnn = fl.gpu(
    fl.Chain(
        lambda x: np.reshape(x, (-1, 8, 8, 1)),
        fl.Conv((3, 3), 1, 16, fl.relu, stride=2, pad=1),
        fl.Conv((3, 3), 16, 16, fl.relu, stride=2, pad=1),
        fl.Conv((3, 3), 16, 10, fl.relu, stride=2, pad=1),
        fl.AdaptiveMeanPool((1, 1)),
        fl.flatten,
    )
)
of_cnn = fit(epochs, cnn, loss_func, fl.setup(fl.Momentum(0.1, 0.9), cnn), train_dl, valid_dl)
right = accuracy(cnn(x_valid), y_valid)
