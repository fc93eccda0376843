"""The notebooks' sine-wave RNN with fixed weights, trained in two styles of taking gradients."""

import numpy as np

import fluxlite as fl


def start():
    rng = np.random.default_rng(1)
    w1 = (rng.standard_normal((7, 6)) * 0.4).astype(np.float32)
    w2 = (rng.standard_normal((6, 1)) * 0.3).astype(np.float32)
    wave = np.sin(np.linspace(2, 10, 21)).astype(np.float32)
    return w1, w2, wave[:-1].reshape(20, 1, 1), wave[1:].reshape(20, 1, 1)


def forward(x, h, w1, w2):
    h = np.tanh(np.concatenate([x, h], axis=1) @ w1)
    return h @ w2, h


def with_param_and_back(move, epochs):
    w1, w2, x, y = map(move, start())
    w1, w2 = fl.param(w1), fl.param(w2)
    for _ in range(epochs):
        total, h = 0, move(np.zeros((1, 6), np.float32))
        for j in range(len(x)):
            prediction, h = forward(x[j], h, w1, w2)
            loss = ((prediction - y[j]) ** 2).sum() / 2
            fl.back(loss)
            w1.data -= 0.1 * w1.grad
            w2.data -= 0.1 * w2.grad
            w1.grad[...] = 0
            w2.grad[...] = 0
            total, h = total + loss.data, h.data
    return float(total)


def with_withgradient(move, epochs):
    w1, w2, x, y = (move(array).copy() for array in start())
    for _ in range(epochs):
        total, h = 0, move(np.zeros((1, 6), np.float32))
        for j in range(len(x)):

            def step(w1, w2, j=j, h=h):
                prediction, after = forward(x[j], h, w1, w2)
                return ((prediction - y[j]) ** 2).sum() / 2, after

            (loss, h), (g1, g2) = fl.withgradient(step, w1, w2)
            w1 -= 0.1 * g1
            w2 -= 0.1 * g2
            total = total + loss
    return float(total)


STYLES = [with_param_and_back, with_withgradient]
