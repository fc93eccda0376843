"""Train the network that lesson 09 begins with, and write `fluxlite_course/lesson09/trained.safetensors`.

It's the lesson's own network. It learns from all digits, each time a little turned, slanted, larger or smaller, so that
it copes with hands that it has never seen. Run `.venv/bin/python tools/train_digits.py`; it takes half a minute.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import fluxlite as fl
from fluxlite_course import digits

FILE = Path(__file__).parents[1] / "fluxlite_course" / "lesson09" / "trained.safetensors"


def network(rng):
    return fl.Chain(
        fl.Conv((3, 3), 1, 8, fl.relu, pad=1, rng=rng), fl.MaxPool((2, 2)),
        fl.Conv((3, 3), 8, 16, pad=1, rng=rng), fl.BatchNorm(16, fl.relu), fl.MaxPool((2, 2)),
        fl.flatten, fl.Dropout(0.3), fl.Dense(64, 10, rng=rng),
    )  # fmt: skip


def bent(picture, rng):
    """The picture, (8, 8), through a slightly bent lens: each point is a mixture of the four that it falls between."""
    lens = np.eye(2) + rng.normal(0, 0.08, (2, 2))
    places = np.einsum("ij,jyx->iyx", lens, np.mgrid[:8, :8] - 3.5) + 3.5 + rng.normal(0, 0.25, (2, 1, 1))
    (y, x), (down, right) = np.floor(places).astype(int), places % 1
    framed = np.pad(picture, 4)
    corner = [[framed[np.clip(y + i + 4, 0, 15), np.clip(x + j + 4, 0, 15)] for j in (0, 1)] for i in (0, 1)]
    above, below = ((1 - right) * left + right * other for left, other in corner)
    return (1 - down) * above + down * below


def main(arguments):
    argparse.ArgumentParser(description="Train lesson 09's first network again, and store it.").parse_args(arguments)
    images, labels = digits()
    pictures, targets = images.reshape(-1, 8, 8) / 16, fl.onehotbatch(labels, range(10))
    rng = np.random.default_rng(15)
    fl.seed(15)
    model = network(rng)
    state = fl.setup(fl.Adam(0.01), model)
    for epoch in range(40):
        if epoch == 25:
            fl.adjust(state, 0.003)
        x = np.stack([bent(picture, rng) for picture in pictures])[..., None].astype(np.float32)
        batches = fl.DataLoader((x, targets), batchsize=64, shuffle=True, rng=epoch)
        fl.train(lambda m, x, y: fl.logitcrossentropy(m(x), y), model, batches, state, 1, progress=False)
    fl.save(FILE, model)
    right = fl.accuracy(model(pictures[..., None].astype(np.float32)), labels.astype(int))
    print(f"{FILE.name}: {FILE.stat().st_size:,} bytes, reads {right:.3f} of the digits rightly")


if __name__ == "__main__":
    main(sys.argv[1:])
