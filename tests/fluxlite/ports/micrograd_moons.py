"""micrograd's demo: two half moons, a network of 337 parameters, a hinge loss with a penalty, a falling rate."""

import sys

import numpy as np

import fluxlite as fl

steps = int(sys.argv[1]) if sys.argv[1:] else 100
fl.seed(1337)

rng = np.random.default_rng(1337)
angle = np.linspace(0, np.pi, 50)
outer, inner = np.stack([np.cos(angle), np.sin(angle)], 1), np.stack([1 - np.cos(angle), 0.5 - np.sin(angle)], 1)
X = (np.concatenate([outer, inner]) + rng.normal(0, 0.1, (100, 2))).astype(np.float32)
y = np.repeat([-1, 1], 50).astype(np.float32)[:, None]

model = fl.Chain(fl.Dense(2, 16, fl.relu), fl.Dense(16, 16, fl.relu), fl.Dense(16, 1))
number_of_parameters = sum(p.size for _, p in fl.trainables(model))
model, X, y = fl.gpu((model, X, y))


def loss(model):
    scores = model(X)
    data_loss = fl.hinge_loss(scores, y)
    reg_loss = 1e-4 * sum(np.sum(p * p) for _, p in fl.trainables(model))
    return data_loss + reg_loss, np.mean((scores > 0) == (y > 0))


losses, accuracies = [], []
state = fl.setup(fl.Descent(1.0), model)
for k in range(steps):
    (total, accuracy), grads = fl.withgradient(loss, model)
    fl.adjust(state, 1.0 - 0.9 * k / steps)
    fl.update(state, model, grads[0])
    losses.append(float(total))
    accuracies.append(float(accuracy))

xx, yy = np.meshgrid(np.arange(-1.5, 2.5, 0.25), np.arange(-1, 1.5, 0.25))
mesh = fl.gpu(np.stack([xx.ravel(), yy.ravel()], 1).astype(np.float32))
Z = fl.cpu(model(mesh) > 0).reshape(xx.shape)
