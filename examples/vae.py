"""Digits that nobody wrote: a variational autoencoder.

It squeezes a picture into eight numbers, with some noise, and learns to draw it again from these. Then eight random
numbers make a picture, too. After the Flux model zoo's VAE.
"""

import sys

import numpy as np

import fluxlite as fl
from fluxlite_course import digits

epochs = int(sys.argv[1]) if sys.argv[1:] else 25
LATENT, HIDDEN = 8, 128
fl.seed(1)


@fl.functor  # so that the arrays in its fields are found: moved, trained, saved
class Encoder:
    def __init__(self):
        self.hidden = fl.Dense(64, HIDDEN, np.tanh)
        self.mean = fl.Dense(HIDDEN, LATENT)
        self.log_deviation = fl.Dense(HIDDEN, LATENT)

    def __call__(self, x):
        hidden = self.hidden(x)
        return self.mean(hidden), self.log_deviation(hidden)


def noise_like(x):
    return fl.device_of(x).rng.standard_normal(x.shape, np.float32)  # drawn where x is


def loss(model, x):
    """What drawing it again costs, and what the eight numbers give away about the picture."""
    mean, log_deviation = model["encoder"](x)
    z = mean + np.exp(log_deviation) * noise_like(mean)
    drawn = fl.logitbinarycrossentropy(model["decoder"](z), x, agg=np.sum)
    given_away = 0.5 * np.sum(np.exp(2 * log_deviation) + mean**2 - 1 - 2 * log_deviation)
    return (drawn + given_away) / len(x)


images, _ = digits()
loader = fl.DataLoader(fl.gpu(images.astype(np.float32) / 16), batchsize=64, shuffle=True)
decoder = fl.Chain(fl.Dense(LATENT, HIDDEN, np.tanh), fl.Dense(HIDDEN, 64))
model = fl.gpu({"encoder": Encoder(), "decoder": decoder})
state = fl.setup(fl.AdamW(0.003, decay=1e-4), model)

history = fl.train(loss, model, loader, state, epochs=epochs, progress=False)
first, *_, last = history.epoch_losses
print(f"loss {first:.1f} -> {last:.1f}, on {fl.device_of(model)}")

z = noise_like(fl.gpu(np.zeros((6, LATENT), np.float32)))
pictures = fl.cpu(fl.sigmoid(model["decoder"](z))).reshape(6, 8, 8)
for row in np.concatenate(list(pictures), axis=1):
    print("".join(" .:*#"[int(ink * 4.99)] * 2 for ink in row))
