"""Networks for pictures: a step of an MLP and of LeNet on digits, and one of a convolutional GAN, beside PyTorch.

"Primitives" are LeNet's convolutions and pools alone, there and back, for given gradients. With the observations last
in memory, the windows' copies took less time than the products, in a plain NumPy trial of three ways to lay them out.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from .harness import Bar, Benchmark, Contender, Judgement
from .harness import report as report_race

BATCH, STEPS = 64, 2
NOISE, WIDTH = 32, 16  # of the GAN; its pictures are 28 x 28 as well
FEWEST_ROUNDS = 15
MLP_LOSS = 1.68060
LENET_LOSS = 2.33748  # after STEPS steps; fluxlite and PyTorch agree
GAN_LOSSES = (1.33348, 0.60888)
PRIMITIVES_SUM = 96156.8
Result = tuple[Any, Any]  # what came out, and what should have


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def weights(*shape: int) -> np.ndarray:
    """First weights, the same for both libraries: ``(*kernel, inputs, outputs)``, or ``(inputs, outputs)``."""
    return draw(*shape) / np.float32(np.sqrt(np.prod(shape[:-1])))


def for_torch(x: np.ndarray) -> Any:
    """A picture with its features before height and width; a weight with its last two axes before the others."""
    import torch

    axes = {2: (1, 0), 4: (3, 2, 0, 1)}[x.ndim]
    return torch.from_numpy(np.ascontiguousarray(np.transpose(x, axes)))


def pictures_for_torch(x: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(np.ascontiguousarray(np.transpose(x, (0, 3, 1, 2))))


# -- Two Dense layers ------------------------------------------------------------------------------

MLP, ROWS = ((784, 512), (512, 10)), 128


def rows() -> tuple[np.ndarray, np.ndarray]:
    return draw(ROWS, 784), np.eye(10, dtype=np.float32)[np.arange(ROWS) % 10]


def mlp() -> Callable[[], Result]:
    import fluxlite as fl

    x, y = rows()
    arrays = [np.ascontiguousarray(weights(*shape).T) for shape in MLP]  # not timed: it takes as long as a step

    def run() -> Result:
        first, second = (fl.Dense.of(array.copy(), np.zeros(len(array), np.float32)) for array in arrays)
        model = fl.Chain(first, fl.relu, second)
        state = fl.setup(fl.Adam(0.001), model)
        for _ in range(STEPS):
            loss, (grads,) = fl.withgradient(lambda model: fl.logitcrossentropy(model(x), y), model)
            fl.update(state, model, grads)
        return float(loss), MLP_LOSS

    return run


def mlp_torch() -> Callable[[], Result]:
    import torch
    from torch import nn

    x, y = map(torch.from_numpy, rows())
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10))
    start(model, [weights(*shape) for shape in MLP])
    first = copy.deepcopy(model.state_dict())

    def run() -> Result:
        model.load_state_dict(first)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        return loss.item(), MLP_LOSS

    return run


# -- LeNet, and its primitives alone ---------------------------------------------------------------

KERNELS = ((5, 5, 1, 6), (5, 5, 6, 16))
DENSE = ((256, 120), (120, 84), (84, 10))


def digits() -> tuple[np.ndarray, np.ndarray]:
    """As many pictures as in a batch, with labels as one-hot rows."""
    return draw(BATCH, 28, 28, 1), np.eye(10, dtype=np.float32)[np.arange(BATCH) % 10]


def lenet() -> Callable[[], Result]:
    import fluxlite as fl

    x, y = digits()

    def flat(x: Any) -> Any:
        return np.reshape(np.transpose(x, (0, 3, 1, 2)), (BATCH, -1))  # in PyTorch's order

    def run() -> Result:
        first, second = (fl.CrossCor.of(weights(*shape), np.zeros(shape[-1], np.float32), fl.relu) for shape in KERNELS)
        dense = [fl.Dense.of(weights(*shape).T.copy(), np.zeros(shape[1], np.float32)) for shape in DENSE]
        model = fl.Chain(
            first, fl.MaxPool((2, 2)), second, fl.MaxPool((2, 2)), flat, dense[0], fl.relu, dense[1], fl.relu, dense[2]
        )
        state = fl.setup(fl.Adam(0.001), model)
        for _ in range(STEPS):
            loss, (grads,) = fl.withgradient(lambda model: fl.logitcrossentropy(model(x), y), model)
            fl.update(state, model, grads)
        return float(loss), LENET_LOSS

    return run


def lenet_torch() -> Callable[[], Result]:
    import torch
    from torch import nn

    x, y = pictures_for_torch(digits()[0]), torch.from_numpy(digits()[1])

    def run() -> Result:
        model = nn.Sequential(
            nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(256, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
        )  # fmt: skip
        start(model, [weights(*shape) for shape in KERNELS + DENSE])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.001)
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        return loss.item(), LENET_LOSS

    return run


def start(model: Any, arrays: list[np.ndarray]) -> None:
    """Give PyTorch's layers these weights, and zeros as biases."""
    import torch

    with torch.no_grad():
        for layer, array in zip((layer for layer in model if hasattr(layer, "weight")), arrays, strict=True):
            layer.weight.copy_(for_torch(array))
            layer.bias.zero_()


def primitives() -> Callable[[], Result]:
    import fluxlite as fl

    x, middle = digits()[0], np.swapaxes(draw(6, 12, 12, BATCH), 0, -1)
    slopes = [np.swapaxes(draw(16, size, size, BATCH)[:features], 0, -1) for size, features in ((12, 6), (4, 16))]
    arrays, pool = [weights(*shape) for shape in KERNELS], fl.MaxPool((2, 2))

    def run() -> Result:
        for _ in range(STEPS):
            (first,) = fl.gradient(lambda w: np.sum(pool(fl.CrossCor.of(w)(x)) * slopes[0]), arrays[0])
            both = fl.gradient(lambda w, x: np.sum(pool(fl.CrossCor.of(w)(x)) * slopes[1]), arrays[1], middle)
        return float(sum(np.sum(abs(g)) for g in (first, *both))), PRIMITIVES_SUM

    return run


def primitives_torch() -> Callable[[], Result]:
    import torch

    x, middle = pictures_for_torch(digits()[0]), np.swapaxes(draw(6, 12, 12, BATCH), 0, -1)
    given = pictures_for_torch(middle).requires_grad_()
    slopes = [np.swapaxes(draw(16, size, size, BATCH)[:features], 0, -1) for size, features in ((12, 6), (4, 16))]
    there = [pictures_for_torch(slope) for slope in slopes]
    arrays = [for_torch(weights(*shape)).requires_grad_() for shape in KERNELS]
    functional = torch.nn.functional

    def run() -> Result:
        for _ in range(STEPS):
            for array in (*arrays, given):
                array.grad = None
            for x_here, array, slope in zip((x, given), arrays, there):
                (functional.max_pool2d(functional.conv2d(x_here, array), 2) * slope).sum().backward()
        return sum(array.grad.abs().sum().item() for array in (*arrays, given)), PRIMITIVES_SUM

    return run


# -- A convolutional GAN: a step of its discriminator, then one of its generator -------------------

GENERATOR = ((7, 7, 2 * WIDTH, NOISE), (4, 4, WIDTH, 2 * WIDTH), (4, 4, 1, WIDTH))  # (*kernel, outputs, inputs)
DISCRIMINATOR = ((4, 4, 1, WIDTH), (4, 4, WIDTH, 2 * WIDTH), (7, 7, 2 * WIDTH, 1))
STRIDES = ((1, 0), (2, 1), (2, 1))  # and padding, of the generator; the discriminator's the other way round


def gan() -> Callable[[], Result]:
    import fluxlite as fl

    real, noise = np.tanh(draw(BATCH, 28, 28, 1)), draw(BATCH, 1, 1, NOISE)

    def same(x: Any) -> Any:
        return x

    def leaky(x: Any) -> Any:
        return fl.leakyrelu(x, 0.2)

    def run() -> Result:
        generator = fl.Chain(*[
            fl.ConvTranspose.of(np.flip(weights(*shape), (0, 1)).copy(), np.zeros(shape[2], np.float32), activation,
                                stride=stride, pad=pad)
            for shape, (stride, pad), activation in zip(GENERATOR, STRIDES, (fl.relu, fl.relu, np.tanh))
        ])  # fmt: skip
        discriminator = fl.Chain(*[
            fl.CrossCor.of(weights(*shape), np.zeros(shape[3], np.float32), activation, stride=stride, pad=pad)
            for shape, (stride, pad), activation in zip(DISCRIMINATOR, STRIDES[::-1], (leaky, leaky, same))
        ])  # fmt: skip
        states = [fl.setup(fl.Adam(2e-4), model) for model in (generator, discriminator)]
        for _ in range(STEPS):
            fake = generator(noise)
            ours, (grads,) = fl.withgradient(
                lambda d, fake=fake: np.mean(fl.softplus(-d(real))) + np.mean(fl.softplus(d(fake))), discriminator
            )  # fmt: skip
            fl.update(states[1], discriminator, grads)
            theirs, (grads,) = fl.withgradient(lambda g: np.mean(fl.softplus(-discriminator(g(noise)))), generator)
            fl.update(states[0], generator, grads)
        return (float(ours), float(theirs)), GAN_LOSSES

    return run


def gan_torch() -> Callable[[], Result]:
    import torch
    from torch import nn

    real, noise = pictures_for_torch(np.tanh(draw(BATCH, 28, 28, 1))), pictures_for_torch(draw(BATCH, 1, 1, NOISE))
    softplus = nn.functional.softplus

    def run() -> Result:
        up = [nn.ConvTranspose2d(shape[3], shape[2], shape[0], *place) for shape, place in zip(GENERATOR, STRIDES)]
        down = [nn.Conv2d(shape[2], shape[3], shape[0], *at) for shape, at in zip(DISCRIMINATOR, STRIDES[::-1])]
        generator = nn.Sequential(up[0], nn.ReLU(), up[1], nn.ReLU(), up[2], nn.Tanh())
        discriminator = nn.Sequential(down[0], nn.LeakyReLU(0.2), down[1], nn.LeakyReLU(0.2), down[2])
        start(generator, [weights(*shape) for shape in GENERATOR])
        start(discriminator, [weights(*shape) for shape in DISCRIMINATOR])
        rules = [torch.optim.Adam(model.parameters(), lr=2e-4) for model in (generator, discriminator)]
        for _ in range(STEPS):
            with torch.no_grad():
                fake = generator(noise)
            rules[1].zero_grad()
            ours = softplus(-discriminator(real)).mean() + softplus(discriminator(fake)).mean()
            ours.backward()
            rules[1].step()
            rules[0].zero_grad()
            theirs = softplus(-discriminator(generator(noise))).mean()
            theirs.backward()
            rules[0].step()
        return (ours.item(), theirs.item()), GAN_LOSSES

    return run


# -- The race --------------------------------------------------------------------------------------


def check(result: object) -> str:
    got, expected = result  # type: ignore[misc]
    return "" if np.allclose(got, expected, rtol=0.001) else f"refused: {got}, not {expected}"


# Ours, PyTorch's, and how many times PyTorch's time ours may take.
BESIDE = (
    ("MLP 784-512-10, Adam step", mlp, mlp_torch, 0.85),
    ("LeNet, Adam step", lenet, lenet_torch, 1.1),
    ("LeNet's primitives", primitives, primitives_torch, 1.05),
    ("convolutional GAN, step", gan, gan_torch, 1.2),
)
BENCHMARK = Benchmark(
    title="Networks for pictures",
    contenders=tuple(
        contender
        for name, ours, theirs, _ in BESIDE
        for contender in (Contender(f"{name}, PyTorch eager", theirs), Contender(name, ours))
    ),
    reference="LeNet, Adam step, PyTorch eager",
    bars=tuple(Bar(name, limit, f"{name}, PyTorch eager") for name, _, _, limit in BESIDE),
    check=check,
    steps=STEPS,
)


def report(rounds: int) -> list[Judgement]:
    return report_race(__name__, max(rounds, FEWEST_ROUNDS))
