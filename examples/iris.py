"""Which iris is it? Three kinds, four measurements each, one layer: logistic regression.

After the Flux model zoo's Iris example. Two thirds of the flowers train, the last third tests.
"""

import sys
from pathlib import Path

import numpy as np

import fluxlite as fl

epochs = int(sys.argv[1]) if sys.argv[1:] else 110
fl.seed(1)

file = Path(__file__).parent / "data" / "iris.csv"
measured = np.loadtxt(file, np.float32, delimiter=",", skiprows=1, usecols=range(4))
species = np.loadtxt(file, str, delimiter=",", skiprows=1, usecols=4)
names = sorted(set(species))

x = fl.normalise(measured, axis=0)  # each measurement with mean 0 and standard deviation 1
y = fl.onehotbatch(species, names)
(x_train, y_train), (x_test, y_test) = fl.gpu(fl.splitobs((x, y), at=2 / 3, shuffle=True, rng=1))

model = fl.gpu(fl.Dense(4, 3))
state = fl.setup(fl.Descent(0.5), model)


def loss(model, x, y):
    return fl.logitcrossentropy(model(x), y)


history = fl.train(loss, model, [(x_train, y_train)], state, epochs=epochs, progress=False)
accuracy = fl.accuracy(model(x_test), y_test)
print(f"loss {history.losses[0]:.3f} -> {history.losses[-1]:.3f}, on {fl.device_of(model.weight)}")
print(f"accuracy {accuracy:.1%} on {len(x_test)} flowers it hasn't seen")

print("\nrows: what it is; columns: what it was taken for")
for name, row in zip(names, fl.confusion_matrix(model(x_test), y_test)):
    print(f"{name:>12}  {row}")
