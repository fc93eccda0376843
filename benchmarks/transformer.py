"""A transformer's block beside PyTorch's, with the same weights: the gradient of a step.

It has a LayerNorm before its attention and one before its two Dense layers, with a way past each.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .harness import Benchmark, Contender, Run

SEQUENCES, LENGTH, FEATURES, HEADS, STEPS = 32, 32, 64, 4, 4
EXPECTED = 1.64518, 0.000958993  # the loss, and a number of the gradient; fluxlite and PyTorch agree


def input_of(sequences: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((sequences, LENGTH, FEATURES)).astype(np.float32)


def weights() -> list[np.ndarray]:
    """Of q, k, v, out, and the two Dense layers behind."""
    n, rng = FEATURES, np.random.default_rng(1)
    sizes = [(n, n)] * 4 + [(4 * n, n), (n, 4 * n)]
    return [(rng.standard_normal(size) / np.sqrt(size[1])).astype(np.float32) for size in sizes]


class Block:
    """A transformer's block, as a user would write it."""

    def __init__(self) -> None:
        import fluxlite as fl

        *projections, first, second = weights()
        self.before, self.between = fl.LayerNorm(FEATURES), fl.LayerNorm(FEATURES)
        self.attention = fl.MultiHeadAttention(FEATURES, nheads=HEADS)
        for name, weight in zip(("q_proj", "k_proj", "v_proj", "out_proj"), projections):
            getattr(self.attention, name).weight = weight
        zeros = np.zeros(4 * FEATURES, np.float32)
        self.dense = fl.Chain(fl.Dense.of(first, zeros, fl.relu), fl.Dense.of(second, zeros[:FEATURES].copy()))

    def __call__(self, x: Any, mask: Any) -> Any:
        y, _ = self.attention(self.before(x), mask=mask)
        x = x + y
        return x + self.dense(self.between(x))


def block(sequences: int = SEQUENCES, steps: int = STEPS) -> Run:
    import fluxlite as fl

    model, x = fl.functor(Block)(), input_of(sequences)
    mask = fl.make_causal_mask(x)

    def run() -> tuple[Any, Any]:
        for _ in range(steps):
            loss, (grads,) = fl.withgradient(lambda model: np.mean(model(x, mask) ** 2), model)
        return (float(loss), float(grads.attention.q_proj.weight[0, 0])), EXPECTED

    return run


def block_torch(sequences: int = SEQUENCES, steps: int = STEPS) -> Run:
    import torch

    n, (*projections, first, second) = FEATURES, weights()
    before, between = torch.nn.LayerNorm(n), torch.nn.LayerNorm(n)
    attention = torch.nn.MultiheadAttention(n, HEADS, bias=False, batch_first=True)
    dense = torch.nn.Sequential(torch.nn.Linear(n, 4 * n), torch.nn.ReLU(), torch.nn.Linear(4 * n, n))
    with torch.no_grad():
        attention.in_proj_weight.copy_(torch.from_numpy(np.concatenate(projections[:3])))
        attention.out_proj.weight.copy_(torch.from_numpy(projections[3]))
        for layer, weight in ((dense[0], first), (dense[2], second)):
            layer.weight.copy_(torch.from_numpy(weight))
            layer.bias.zero_()
    parameters = [p for layer in (before, between, attention, dense) for p in layer.parameters()]
    x = torch.from_numpy(input_of(sequences))
    mask = torch.triu(torch.ones(LENGTH, LENGTH, dtype=torch.bool), 1)

    def run() -> tuple[Any, Any]:
        for _ in range(steps):
            for parameter in parameters:
                parameter.grad = None
            h = before(x)
            y = x + attention(h, h, h, attn_mask=mask, need_weights=False)[0]
            loss = torch.mean((y + dense(between(y))) ** 2)
            loss.backward()
        return (loss.item(), attention.in_proj_weight.grad[0, 0].item()), EXPECTED

    return run


NAME = f"transformer's block, {SEQUENCES} x {LENGTH} x {FEATURES}, {HEADS} heads"
BENCHMARK = Benchmark(
    title="A transformer's block",
    rounds=15,
    contenders=(
        Contender(f"{NAME}, PyTorch eager", block_torch, STEPS),
        Contender(NAME, block, STEPS, {f"{NAME}, PyTorch eager": 1.0}),
    ),
)
