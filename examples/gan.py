"""Digits, drawn to deceive: a generative adversarial network, with convolutions.

One network draws, another tells drawn from written, and each learns from the other. A short training: enough to put
ink where digits have it. After the Flux model zoo's DCGAN.
"""

import sys

import numpy as np

import fluxlite as fl
from fluxlite_course import digits

epochs = int(sys.argv[1]) if sys.argv[1:] else 25
NOISE = 16
fl.seed(1)

images, _ = digits()
written = fl.gpu(images.reshape(-1, 8, 8, 1).astype(np.float32) / 8 - 1)  # from -1 (paper) to 1 (ink)
generator = fl.Chain(
    fl.Dense(NOISE, 2 * 2 * 32),
    lambda x: np.reshape(x, (len(x), 2, 2, 32)),
    fl.BatchNorm(32, fl.relu),
    fl.ConvTranspose((4, 4), 32, 16, stride=2, pad=1),  # 2 x 2 becomes 4 x 4
    fl.BatchNorm(16, fl.relu),
    fl.ConvTranspose((4, 4), 16, 1, np.tanh, stride=2, pad=1),  # and that becomes 8 x 8
)
discriminator = fl.Chain(
    fl.Conv((4, 4), 1, 16, fl.leakyrelu, stride=2, pad=1),
    fl.Dropout(0.25),
    fl.Conv((4, 4), 16, 32, fl.leakyrelu, stride=2, pad=1),
    fl.flatten,
    fl.Dense(2 * 2 * 32, 1),
)
generator, discriminator = fl.gpu((generator, discriminator))
draws, tells = (fl.setup(fl.Adam(0.005, (0.5, 0.999)), model) for model in (generator, discriminator))


def drawn(generator, count):
    return generator(fl.device_of(written).rng.standard_normal((count, NOISE), np.float32))


def difference():  # between the mean of drawn pictures and that of written ones
    return float(fl.mae(np.mean(drawn(generator, 500), axis=0), np.mean(written, axis=0)))


before = difference()
for _ in range(epochs):
    for x in fl.DataLoader(written, batchsize=64, shuffle=True):
        fake = drawn(generator, len(x))
        grads = fl.gradient(
            lambda d: fl.logitbinarycrossentropy(d(x), 1) + fl.logitbinarycrossentropy(d(fake), 0), discriminator
        )
        fl.update(tells, discriminator, grads[0])
        grads = fl.gradient(lambda g: fl.logitbinarycrossentropy(discriminator(drawn(g, len(x))), 1), generator)
        fl.update(draws, generator, grads[0])

print(f"difference of the means {before:.2f} -> {difference():.2f}, on {fl.device_of(written)}")
