"""Steps with the layers that have modes or combine others: a transformer's block, and makemore's network.

The block has a LayerNorm before its attention and one before its two Dense layers, with a way past each. makemore looks
up three letters, and has a BatchNorm after each of its Dense layers. Beside both is PyTorch, with the same weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .harness import Bar, Benchmark, Contender, Judgement
from .harness import report as report_race

FEWEST_ROUNDS = 15
LETTERS, CONTEXT, EMBEDDED, HIDDEN, BATCH = 27, 3, 10, 100, 32
Result = tuple[Any, Any]


@dataclass(frozen=True)
class Shape:
    name: str
    sequences: int
    length: int
    features: int
    heads: int
    steps: int
    expected: tuple[float, float]  # the loss, and a number of the gradient; fluxlite and PyTorch agree


SMALL = Shape("transformer block, 32 x 32 x 64, 4 heads", 32, 32, 64, 4, 4, (1.64518, 0.000958993))
LARGE = Shape("transformer block, 16 x 64 x 128, 8 heads", 16, 64, 128, 8, 2, (1.62178, -7.18508e-05))


def input_of(shape: Shape) -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.standard_normal((shape.sequences, shape.length, shape.features)).astype(np.float32)


def weights_of(shape: Shape) -> list[np.ndarray]:
    """Of q, k, v, out, and the two Dense layers behind."""
    n = shape.features
    sizes = [(n, n)] * 4 + [(4 * n, n), (n, 4 * n)]
    rng = np.random.default_rng(1)
    return [(rng.standard_normal(size) / np.sqrt(size[1])).astype(np.float32) for size in sizes]


class Block:
    """A transformer's block, as a user would write it."""

    def __init__(self, shape: Shape):
        import fluxlite as fl

        n, (*projections, first, second) = shape.features, weights_of(shape)
        self.before, self.between = fl.LayerNorm(n), fl.LayerNorm(n)
        self.attention = fl.MultiHeadAttention(n, nheads=shape.heads)
        for name, weight in zip(("q_proj", "k_proj", "v_proj", "out_proj"), projections):
            getattr(self.attention, name).weight = weight
        zeros = np.zeros(4 * n, np.float32)
        self.dense = fl.Chain(fl.Dense.of(first, zeros, fl.relu), fl.Dense.of(second, zeros[:n].copy()))

    def __call__(self, x: Any, mask: Any) -> Any:
        y, _ = self.attention(self.before(x), mask=mask)
        x = x + y
        return x + self.dense(self.between(x))


def block(shape: Shape) -> Callable[[], Result]:
    import fluxlite as fl

    model, x = fl.functor(Block)(shape), input_of(shape)
    mask = fl.make_causal_mask(x)

    def run() -> Result:
        for _ in range(shape.steps):
            loss, (grads,) = fl.withgradient(lambda model: np.mean(model(x, mask) ** 2), model)
        return (float(loss), float(grads.attention.q_proj.weight[0, 0])), shape.expected

    return run


def block_torch(shape: Shape) -> Callable[[], Result]:
    import torch

    n, (*projections, first, second) = shape.features, weights_of(shape)
    before, between = torch.nn.LayerNorm(n), torch.nn.LayerNorm(n)
    attention = torch.nn.MultiheadAttention(n, shape.heads, bias=False, batch_first=True)
    dense = torch.nn.Sequential(torch.nn.Linear(n, 4 * n), torch.nn.ReLU(), torch.nn.Linear(4 * n, n))
    with torch.no_grad():
        attention.in_proj_weight.copy_(torch.from_numpy(np.concatenate(projections[:3])))
        attention.out_proj.weight.copy_(torch.from_numpy(projections[3]))
        for layer, weight in ((dense[0], first), (dense[2], second)):
            layer.weight.copy_(torch.from_numpy(weight))
            layer.bias.zero_()
    parameters = [p for layer in (before, between, attention, dense) for p in layer.parameters()]
    x = torch.from_numpy(input_of(shape))
    mask = torch.triu(torch.ones(shape.length, shape.length, dtype=torch.bool), 1)

    def run() -> Result:
        for _ in range(shape.steps):
            for parameter in parameters:
                parameter.grad = None
            h = before(x)
            y = x + attention(h, h, h, attn_mask=mask, need_weights=False)[0]
            loss = torch.mean((y + dense(between(y))) ** 2)
            loss.backward()
        return (loss.item(), attention.in_proj_weight.grad[0, 0].item()), shape.expected

    return run


# -- makemore --------------------------------------------------------------------------------------

MAKEMORE, MAKEMORE_TORCH = "makemore with BatchNorm, step", "makemore with BatchNorm, step, PyTorch eager"
STEPS, RATE = 50, 0.1
LEARNED = (0.138324, 75.0389)  # the last loss, and the sum of the running variances of one layer


def letters() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.integers(0, LETTERS, (BATCH, CONTEXT)), rng.integers(0, LETTERS, BATCH)


def makemore_weights() -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    widths = [EMBEDDED * CONTEXT, *[HIDDEN] * 5, LETTERS]
    table = rng.standard_normal((LETTERS, EMBEDDED)).astype(np.float32)
    return [table, *[(rng.standard_normal((m, n)) / np.sqrt(n)).astype(np.float32) for n, m in zip(widths, widths[1:])]]


def makemore() -> Callable[[], Result]:
    import fluxlite as fl

    x, y = letters()

    def run() -> Result:
        table, *weights = makemore_weights()
        layers: list = [fl.Embedding.of(table), fl.flatten]
        for weight in weights:
            layers += [fl.Dense.of(weight), fl.BatchNorm(len(weight)), np.tanh]
        model = fl.Chain(*layers[:-1])
        state = fl.setup(fl.Descent(RATE), model)
        for _ in range(STEPS):
            loss, (grads,) = fl.withgradient(lambda model: fl.logitcrossentropy(model(x), y), model)
            fl.update(state, model, grads)
        return (float(loss), float(model[3].var.sum())), LEARNED

    return run


def makemore_torch() -> Callable[[], Result]:
    import torch

    x, y = map(torch.from_numpy, letters())

    def run() -> Result:
        table, *weights = makemore_weights()
        layers: list = [torch.nn.Embedding(*table.shape), torch.nn.Flatten()]
        with torch.no_grad():
            layers[0].weight.copy_(torch.from_numpy(table))
            for weight in weights:
                linear = torch.nn.Linear(*weight.shape[::-1], bias=False)
                linear.weight.copy_(torch.from_numpy(weight))
                layers += [linear, torch.nn.BatchNorm1d(len(weight)), torch.nn.Tanh()]
        model = torch.nn.Sequential(*layers[:-1])
        optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        return (loss.item(), model[3].running_var.sum().item()), LEARNED

    return run


# -- The race --------------------------------------------------------------------------------------


def check(result: object) -> str:
    got, expected = result  # type: ignore[misc]
    return "" if np.allclose(got, expected, rtol=0.01, atol=1e-6) else f"refused: {got}, not {expected}"


def torch_name(shape: Shape) -> str:
    return f"{shape.name}, PyTorch eager"


CONTENDERS = [
    contender
    for shape in (SMALL, LARGE)
    for contender in (
        Contender(torch_name(shape), lambda shape=shape: block_torch(shape), shape.steps),  # type: ignore[misc]
        Contender(shape.name, lambda shape=shape: block(shape), shape.steps),  # type: ignore[misc]
    )
]
BENCHMARK = Benchmark(
    title="Transformer's block, and makemore",
    contenders=(*CONTENDERS, Contender(MAKEMORE_TORCH, makemore_torch), Contender(MAKEMORE, makemore)),
    reference=torch_name(SMALL),
    bars=(
        Bar(SMALL.name, 1.0, torch_name(SMALL)),
        Bar(LARGE.name, 1.0, torch_name(LARGE)),
        Bar(MAKEMORE, 1.2, MAKEMORE_TORCH),
    ),
    check=check,
    steps=STEPS,
)


def report(rounds: int) -> list[Judgement]:
    return report_race(__name__, max(rounds, FEWEST_ROUNDS))
