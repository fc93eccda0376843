"""Flux's manual, "Fitting a straight line": 4x + 2 from eleven points."""

import numpy as np

import fluxlite as fl


def actual(x):
    return 4 * x + 2


x_train, x_test = np.arange(6.0)[:, None], np.arange(6.0, 11)[:, None]
y_train, y_test = actual(x_train), actual(x_test)

fl.seed(1)
predict = fl.gpu(fl.Dense(1, 1))
x_train, y_train, x_test = fl.gpu((x_train, y_train, x_test))


def loss(model, x, y):
    return np.mean(np.abs(model(x) - y) ** 2)


before = float(loss(predict, x_train, y_train))
opt = fl.Descent()  # 0.1, as in Flux
data = [(x_train, y_train)]
state = fl.setup(opt, predict)
fl.train(loss, predict, data, state)
after_one = float(loss(predict, x_train, y_train))
for _ in range(200):
    fl.train(loss, predict, data, state)
after = float(loss(predict, x_train, y_train))
weight, bias = fl.cpu((predict.weight, predict.bias))
predicted = fl.cpu(predict(x_test))
