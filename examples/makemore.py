"""New names, made of the letters of old ones: three letters are looked up, and the fourth is guessed.

An embedding, a hidden layer with BatchNorm, and a rate that falls: after Andrej Karpathy's makemore, part 3.
"""

import sys
from pathlib import Path

import numpy as np

import fluxlite as fl

epochs = int(sys.argv[1]) if sys.argv[1:] else 20
CONTEXT, FEATURES, HIDDEN = 3, 10, 100
fl.seed(1)

names = (Path(__file__).parent / "data" / "names.txt").read_text().split()
letters = "." + "abcdefghijklmnopqrstuvwxyz"  # the dot is before each name and after it


def contexts(names):
    """All that can be asked of these names: three letters, shape (N, 3), and the next one, shape (N,)."""
    x, y = [], []
    for name in names:
        numbers = [letters.index(letter) for letter in "." * CONTEXT + name + "."]
        x += [numbers[i : i + CONTEXT] for i in range(len(name) + 1)]
        y += numbers[CONTEXT:]
    return np.array(x), np.array(y)


known, unknown = fl.splitobs(names, at=0.9, shuffle=True, rng=1)
loader = fl.DataLoader(fl.gpu(contexts(known)), batchsize=128, shuffle=True)
x_test, y_test = fl.gpu(contexts(unknown))

model = fl.gpu(
    fl.Chain(
        fl.Embedding(len(letters), FEATURES),
        fl.flatten,  # three rows of features become one
        fl.Dense(CONTEXT * FEATURES, HIDDEN, bias=False),  # BatchNorm brings its own
        fl.BatchNorm(HIDDEN, np.tanh),
        fl.Dense(HIDDEN, len(letters)),
    )
)
rate = fl.cosine(0.01, epochs * len(loader))
on_cpu = fl.device_of(model) == fl.get_device("CPU")  # where a step of small arrays is quicker recorded and replayed
history = fl.train(
    lambda model, x, y: fl.logitcrossentropy(model(x), y),
    model, loader, fl.setup(fl.Adam(), model), epochs=epochs, schedule=rate, captured=on_cpu, progress=False,
)  # fmt: skip
first, *_, last = history.epoch_losses
test = float(fl.logitcrossentropy(model(x_test), y_test))
print(f"loss {first:.2f} -> {last:.2f}, of names it hasn't seen {test:.2f}, on {fl.device_of(model)}")

model, rng = fl.cpu(model), np.random.default_rng(1)
for _ in range(8):
    name = "." * CONTEXT
    while len(name) == CONTEXT or name[-1] != ".":
        x = np.array([[letters.index(letter) for letter in name[-CONTEXT:]]])
        name += rng.choice(list(letters), p=fl.softmax(model(x))[0])
    print(name.strip("."))
