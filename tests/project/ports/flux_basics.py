"""Flux's manual, "Gradients and layers": polynomials, a layer of your own, a curve fitted with single points."""

import sys

import numpy as np

import fluxlite as fl

epochs = int(sys.argv[1]) if sys.argv[1:] else 1000

# -- functions with parameters ---------------------------------------------------------------------------------------
theta = np.array([10, 1, 0.1])


def poly1(x):
    return theta[0] + theta[1] * x + theta[2] * x**2


def poly2(x, theta):
    return theta[0] + theta[1] * x + theta[2] * x**2


@fl.functor
class Poly3:
    def __init__(self, theta):
        self.theta = np.asarray(theta, float)

    def __call__(self, x):
        return poly2(x, self.theta)


poly3 = Poly3([10, 1, 0.1])
poly4 = fl.Chain(Poly3([10, 1, 0.1]), Poly3([1, 0.5, 0]))

values = poly1(5), poly2(5, theta), poly3(5), poly4(5)
grad1 = fl.gradient(poly1, 5.0)
grad_many = fl.gradient(lambda x, y, z: (x * y) + z, 30.0, 40.0, 50.0)
grad2 = fl.gradient(poly2, 5.0, theta)
grad3 = fl.gradient(lambda x, p: p(x), 5.0, poly3)
grad4 = fl.gradient(lambda x, p: p(x), 5.0, poly4)
with_value = fl.withgradient(lambda x, p: p(x), 5.0, poly3)


# -- a layer of your own --------------------------------------------------------------------------------------------
@fl.functor
class Layer:
    def __init__(self, inputs, outputs, activation=fl.sigmoid):
        self.W = fl.randn32(outputs, inputs)
        self.b = fl.zeros32(outputs)
        self.activation = activation

    def __call__(self, x):
        return self.activation(x @ self.W.T + self.b)


fl.seed(1)
model1 = fl.gpu(fl.Chain(Layer(1, 20), Layer(20, 1, lambda x: x), lambda y: y[0]))
x = fl.gpu(np.array([0.1], np.float32))
grad = fl.gradient(lambda model: model(x), model1)[0]
stepped = fl.fmap(lambda p, dp: p if dp is None else p - dp / 100, model1, grad)

# -- a curve, point by point -----------------------------------------------------------------------------------------
model3 = fl.gpu(fl.Chain(fl.Dense(1, 20, fl.σ), fl.Dense(20, 1), lambda y: y[0]))
data = [(np.array([x], np.float32), np.float32(2 * x - x**3)) for x in np.arange(-2, 2.05, 0.1)]
data = fl.gpu(data)


def loss(model, x, y):
    return (model(x) - y) ** 2


state = fl.setup(fl.Descent(0.01), model3)
history = fl.train(loss, model3, data, state, epochs=epochs, progress=False)
