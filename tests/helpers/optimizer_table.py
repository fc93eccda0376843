"""Each optimizer once: every test that needs one takes it from here.

A new one gets a row in `OPTIMIZERS`, and one in `BESIDE_TORCH` or, with its paper's formula, in `BY_FORMULA`.
"""

import functools
import math

import numpy as np

import fluxlite as fl

# Those that take a step. Each trains, keeps types, is saved, is copied, and computes on every device and in float16.
OPTIMIZERS = [
    fl.Descent(),
    fl.Momentum(),
    fl.Nesterov(),
    fl.Lion(),
    fl.Rprop(),
    fl.AdaGrad(),
    fl.AdaDelta(),
    fl.RMSProp(),
    fl.RMSProp(centred=True),
    fl.Adam(),
    fl.AdamW(decay=0.1),
    fl.AdamW(decay=0.1, couple=False),
    fl.NAdam(),
    fl.RAdam(),
    fl.AdaMax(),
    fl.OAdam(),
    fl.AMSGrad(),
    fl.AdaBelief(),
]
# Those that stand before another one, in an `OptimiserChain`.
BEFORE_ANOTHER = [
    fl.WeightDecay(),
    fl.SignDecay(),
    fl.ClipGrad(),
    fl.ClipNorm(),
    fl.ClipNorm(p=1),
    fl.ClipNorm(p=np.inf),
    fl.AccumGrad(2),
]

# Beside PyTorch: the rule, its name there, and the arguments there that mean the same.
BESIDE_TORCH = {
    "Descent": (fl.Descent(0.05), "SGD", dict(lr=0.05)),
    # PyTorch's velocity leaves the learning rate out and multiplies by it later: the same while it is constant.
    "Momentum": (fl.Momentum(0.05, 0.8), "SGD", dict(lr=0.05, momentum=0.8)),
    "Adam": (fl.Adam(0.05), "Adam", dict(lr=0.05)),
    "Adam, all": (fl.Adam(0.05, (0.7, 0.95), 1e-3), "Adam", dict(lr=0.05, betas=(0.7, 0.95), eps=1e-3)),
    "Nesterov": (fl.Nesterov(0.02, 0.8), "SGD", dict(lr=0.02, momentum=0.8, nesterov=True)),
    "RMSProp": (fl.RMSProp(0.02, 0.8), "RMSprop", dict(lr=0.02, alpha=0.8)),
    "RMSProp, centred": (fl.RMSProp(0.02, 0.8, centred=True), "RMSprop", dict(lr=0.02, alpha=0.8, centered=True)),
    "Rprop": (fl.Rprop(0.02), "Rprop", dict(lr=0.02)),
    "AdaGrad": (fl.AdaGrad(0.2), "Adagrad", dict(lr=0.2, initial_accumulator_value=1e-8, eps=1e-8)),
    "AdaDelta": (fl.AdaDelta(0.8, 1e-6), "Adadelta", dict(lr=1.0, rho=0.8, eps=1e-6)),
    "AdaMax": (fl.AdaMax(0.05), "Adamax", dict(lr=0.05)),
    # Not NAdam, whose momentum PyTorch decays with a schedule of its own; nor RAdam, which PyTorch begins to trust
    # above 5, Flux above 4. Both are in BY_FORMULA.
    "AdamW": (fl.AdamW(0.05, decay=0.1), "AdamW", dict(lr=0.05, weight_decay=0.1)),
    "WeightDecay": (
        fl.OptimiserChain(fl.WeightDecay(0.1), fl.Adam(0.05)), "Adam", dict(lr=0.05, weight_decay=0.1),
    ),
}  # fmt: skip


# -- what PyTorch hasn't, or has otherwise: the papers' formulas, number by number, in plain Python --------------------
# Each yields a parameter after each step, given where it starts, and the gradients.


def lion(x, gradients, eta=0.001, now=0.9, later=0.99):
    m = 0.0
    for g in gradients:
        x -= eta * math.copysign(1, now * m + (1 - now) * g)
        m = later * m + (1 - later) * g
        yield x


def moments(gradients, keep_m=0.9, keep_v=0.999):
    m = v = 0.0
    for t, g in enumerate(gradients, 1):
        m, v = keep_m * m + (1 - keep_m) * g, keep_v * v + (1 - keep_v) * g * g
        yield t, g, m, v


def nadam(x, gradients, eta=0.001):
    for t, g, m, v in moments(gradients):
        mean = 0.9 * m / (1 - 0.9 ** (t + 1)) + 0.1 * g / (1 - 0.9**t)
        x -= eta * mean / (math.sqrt(0.999 * v / (1 - 0.999**t)) + 1e-8)
        yield x


def radam(x, gradients, eta=0.001):
    most = 2 / (1 - 0.999) - 1
    for t, _, m, v in moments(gradients):
        known, mean = most - 2 * t * 0.999**t / (1 - 0.999**t), m / (1 - 0.9**t)
        if known > 4:
            trust = math.sqrt((known - 4) * (known - 2) * most / ((most - 4) * (most - 2) * known))
            mean *= trust / (math.sqrt(v / (1 - 0.999**t)) + 1e-8)
        x -= eta * mean
        yield x


def oadam(x, gradients, eta=0.001):
    before = 0.0
    for t, _, m, v in moments(gradients, 0.5, 0.9):
        step = eta * m / (1 - 0.5**t) / (math.sqrt(v / (1 - 0.9**t)) + 1e-8)
        x, before = x - 2 * step + before, step
        yield x


def amsgrad(x, gradients, eta=0.001):
    m = v = largest = 1e-8
    for g in gradients:
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        largest = max(largest, v)
        x -= eta * m / (math.sqrt(largest) + 1e-8)
        yield x


def adabelief(x, gradients, eta=0.001):
    m = s = 0.0
    for t, g in enumerate(gradients, 1):
        m = 0.9 * m + 0.1 * g
        s = 0.999 * s + 0.001 * (g - m) ** 2 + 1e-16
        x -= eta * m / (1 - 0.9**t) / (math.sqrt(s / (1 - 0.999**t)) + 1e-16)
        yield x


def adamw_as_in_the_paper(x, gradients, eta=0.001):
    for t, _, m, v in moments(gradients):
        x -= eta * m / (1 - 0.9**t) / (math.sqrt(v / (1 - 0.999**t)) + 1e-8) + 0.1 * x
        yield x


BY_FORMULA = [
    (fl.Lion(), lion),
    (fl.Lion(0.2), functools.partial(lion, eta=0.2)),  # so large that slopes turn
    (fl.NAdam(), nadam),
    (fl.RAdam(), radam),
    (fl.OAdam(), oadam),
    (fl.AMSGrad(), amsgrad),
    (fl.AdaBelief(), adabelief),
    (fl.AdamW(decay=0.1, couple=False), adamw_as_in_the_paper),
]
