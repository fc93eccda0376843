"""The width of an iris petal, from its length: the smallest network there is, one weight and one bias.

For a straight line the best answer is known, so we can see how close training comes to it.
"""

import sys
from pathlib import Path

import numpy as np

import fluxlite as fl

epochs = int(sys.argv[1]) if sys.argv[1:] else 100
fl.seed(1)

# 150 flowers. An array's first axis is the observation, so both have shape (150, 1).
file = Path(__file__).parent / "data" / "iris.csv"
measured = np.loadtxt(file, np.float32, delimiter=",", skiprows=1, usecols=(2, 3))
length, width = measured[:, :1], measured[:, 1:]
centre = np.mean(length)  # around 0, steps in weight and in bias don't disturb each other

model = fl.gpu(fl.Dense(1, 1))
x, y = fl.gpu((length - centre, width))
rule = fl.setup(fl.Descent(0.1), model)


def loss(model, x, y):
    return fl.mse(model(x), y)


before = float(loss(model, x, y))
history = fl.train(loss, model, [(x, y)], rule, epochs=epochs, progress=False)
after = float(loss(model, x, y))

slope = float(model.weight[0, 0])
start = float(model.bias[0]) - slope * centre
best_slope, best_start = np.polyfit(length[:, 0], width[:, 0], 1)
print(f"loss {before:.2f} -> {after:.4f}, on {fl.device_of(model.weight)}")
print(f"learned:   width = {slope:.3f} * length + {start:.3f}")
print(f"the best:  width = {best_slope:.3f} * length + {best_start:.3f}")
