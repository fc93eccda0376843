"""XOR of two noisy numbers, which no straight line can tell apart: a hidden layer of three can.

The quickstart of Flux's manual, with the training loop written out.
"""

import sys

import numpy as np

import fluxlite as fl

epochs = int(sys.argv[1]) if sys.argv[1:] else 60
fl.seed(1)

# 1000 points of a square. A point is true if exactly one of its numbers is above a half.
points = fl.rand32(1000, 2)
truth = (points[:, 0] > 0.5) ^ (points[:, 1] > 0.5)
target = fl.onehotbatch(truth, [True, False])

model = fl.gpu(
    fl.Chain(
        fl.Dense(2, 3, np.tanh),
        fl.BatchNorm(3),
        fl.Dense(3, 2),
    )
)
print(model)

points, target = fl.gpu((points, target))
loader = fl.DataLoader((points, target), batchsize=64, shuffle=True)
state = fl.setup(fl.Adam(0.01), model)  # what Adam has to remember: two means for each parameter

losses = []
for epoch in range(epochs):
    total = 0
    for x, y in loader:
        loss, grads = fl.withgradient(lambda model: fl.logitcrossentropy(model(x), y), model)
        fl.update(state, model, grads[0])
        total += loss  # stays on the device: a look at each loss would wait for it
    losses.append(float(total) / len(loader))
    if epoch % 10 == 0:
        print(f"epoch {epoch:3}: loss {losses[-1]:.3f}")

probability = fl.softmax(model(points))[:, 0]
accuracy = fl.accuracy(model(points), target)
print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}, accuracy {accuracy:.1%}, on {fl.device_of(points)}")
