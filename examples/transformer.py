"""Names, spelled backwards by a small transformer: it reads `anna` or `liam`, and writes `anna` or `mail`.

Each of its two blocks has attention and two Dense layers, with a LayerNorm before each and a way past it. Where a
letter goes depends only on its place: the network learns where to look.
"""

import sys
from pathlib import Path

import numpy as np

import fluxlite as fl

epochs = int(sys.argv[1]) if sys.argv[1:] else 10
LENGTH, FEATURES, HEADS = 8, 32, 2
fl.seed(1)


def numbers(names):
    """The letters as 1 to 26, and 0 after them: shape (N, T)."""
    return np.array([[ord(letter) - 96 for letter in name] + [0] * (LENGTH - len(name)) for name in names])


@fl.functor
class Block:
    def __init__(self):
        self.before, self.between = fl.LayerNorm(FEATURES), fl.LayerNorm(FEATURES)
        self.attention = fl.MultiHeadAttention(FEATURES, nheads=HEADS)
        self.dense = fl.Chain(fl.Dense(FEATURES, 4 * FEATURES, fl.gelu), fl.Dense(4 * FEATURES, FEATURES))

    def __call__(self, x):
        y, _ = self.attention(self.before(x))
        x = x + y
        return x + self.dense(self.between(x))


@fl.functor
class Transformer:
    def __init__(self):
        self.letters, self.places = fl.Embedding(27, FEATURES), fl.Embedding(LENGTH, FEATURES)
        self.blocks = fl.Chain(Block(), Block(), fl.LayerNorm(FEATURES), fl.Dense(FEATURES, 27))

    def __call__(self, x):
        return self.blocks(self.letters(x) + self.places.weight)


file = Path(__file__).parent / "data" / "names.txt"
names = [name for name in file.read_text().split() if len(name) <= LENGTH]
data = numbers(names), numbers([name[::-1] for name in names])
train_data, (x_test, y_test) = fl.gpu(fl.splitobs(data, at=0.8, shuffle=True, rng=1))
loader = fl.DataLoader(train_data, batchsize=64, shuffle=True)
model = fl.gpu(Transformer())
rate = fl.one_cycle(0.01, epochs * len(loader))
history = fl.train(
    lambda model, x, y: fl.logitcrossentropy(model(x), y),
    model, loader, fl.setup(fl.AdamW(decay=0.01), model), epochs=epochs, schedule=rate, progress=False,
)  # fmt: skip
first, *_, last = history.epoch_losses
right = float(np.mean(np.all(fl.onecold(model(x_test)) == y_test, axis=1)))
print(f"loss {first:.2f} -> {last:.3f}, accuracy {right:.1%} of whole names it hasn't seen, on {fl.device_of(model)}")
