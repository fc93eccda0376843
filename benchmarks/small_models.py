"""Steps of small models, where what is timed is the way from a model to its arrays and back.

"Bare arrays" is the same computation with the arrays given one by one: `withgradient` finds nothing to walk through
there. Beside it a `Chain` of the same arrays; and a whole step of Adam, as it's written and captured, beside PyTorch's,
JAX's, and the same in NumPy by hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .captured_jax import jax_step, square
from .captured_torch import torch_step
from .harness import Benchmark, Contender, Run, going_on

BATCH, STEPS, LEAVES = 16, 200, 100_000
SMALL, DEEP = (2, 8, 1), (8,) * 101  # the widths of layers, with tanh between them
# As PyTorch has them: the last weight but one, its slopes summed without their signs; and the loss after STEPS steps.
SLOPES = {SMALL: 1.00291, DEEP: 0.817035}
ADAM_LOSS = 0.19286


def arrays_of(widths: tuple[int, ...]) -> list[np.ndarray]:
    """Weight and bias of each layer, the same at every call."""
    rng = np.random.default_rng(0)
    found: list[np.ndarray] = []
    for inputs, outputs in zip(widths, widths[1:]):
        found.append((rng.standard_normal((outputs, inputs)) / np.sqrt(inputs)).astype(np.float32))
        found.append(np.full(outputs, 0.1, np.float32))
    return found


def data_of(widths: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    x, y = (rng.standard_normal((BATCH, n)).astype(np.float32) for n in (widths[0], widths[-1]))
    return x, y


def outputs_of(x: Any, arrays: Any) -> Any:
    *hidden, last = zip(arrays[::2], arrays[1::2])
    for weight, bias in hidden:
        x = np.tanh(x @ weight.T + bias)
    return x @ last[0].T + last[1]


def model_of(arrays: list[np.ndarray]) -> Any:
    import fluxlite as fl

    *hidden, last = zip(arrays[::2], arrays[1::2])
    return fl.Chain(*[fl.Dense.of(*pair, np.tanh) for pair in hidden], fl.Dense.of(*last))


def gradients_of_arrays(widths: tuple[int, ...], steps: int) -> Run:
    import fluxlite as fl

    (x, y), arrays, expected = data_of(widths), arrays_of(widths), SLOPES[widths]

    def run() -> tuple[Any, float]:
        for _ in range(steps):
            _, grads = fl.withgradient(lambda *arrays: np.mean((outputs_of(x, arrays) - y) ** 2), *arrays)
        return np.sum(abs(grads[-4])), expected

    return run


def gradients_of_a_chain(widths: tuple[int, ...], steps: int) -> Run:
    import fluxlite as fl

    (x, y), model, expected = data_of(widths), model_of(arrays_of(widths)), SLOPES[widths]

    def run() -> tuple[Any, float]:
        for _ in range(steps):
            _, (grads,) = fl.withgradient(lambda model: np.mean((model(x) - y) ** 2), model)
        return np.sum(abs(grads[-2].weight)), expected

    return run


def many_leaves() -> Run:
    """A list of so many arrays that all the time goes into walking through it."""
    import fluxlite as fl

    arrays = [np.ones(1, np.float32) for _ in range(LEAVES)]

    def run() -> tuple[Any, Any]:
        _, (grads,) = fl.withgradient(lambda arrays: np.sum(arrays[-1] * 3), arrays)
        return (len(grads), grads[-1][0]), (LEAVES, 3)

    return run


def adam() -> Run:
    import fluxlite as fl

    x, y = data_of(SMALL)

    def run() -> tuple[float, float]:
        model = model_of(arrays_of(SMALL))
        state = fl.setup(fl.Adam(0.01), model)
        for _ in range(STEPS):
            loss, (grads,) = fl.withgradient(lambda model: np.mean((model(x) - y) ** 2), model)
            fl.update(state, model, grads)
            number = float(loss)
        return number, ADAM_LOSS

    return run


def adam_captured() -> Run:
    import fluxlite as fl

    model = model_of(arrays_of(SMALL))
    state = fl.setup(fl.Adam(0.01), model)

    @fl.captured
    def step(x: np.ndarray, y: np.ndarray) -> Any:
        loss, (grads,) = fl.withgradient(lambda model: np.mean((model(x) - y) ** 2), model)
        fl.update(state, model, grads)
        return loss

    return going_on(step, [data_of(SMALL)], STEPS, ADAM_LOSS)


def adam_by_hand() -> Run:
    weights = w1, b1, w2, b2 = arrays_of(SMALL)
    means, squares = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights]
    count = 0

    def step(x: np.ndarray, y: np.ndarray) -> Any:
        nonlocal count
        count += 1
        h = np.tanh(x @ w1.T + b1)
        error = h @ w2.T + b2 - y
        loss = np.mean(error**2)
        g = 2 / error.size * error
        g1 = (g @ w2) * (1 - h * h)
        rate, share = 0.01 / (1 - 0.9**count), 1 - 0.999**count
        for w, m, v, slope in zip(weights, means, squares, (g1.T @ x, g1.sum(0), g.T @ h, g.sum(0))):
            m *= 0.9
            m += (1 - 0.9) * slope
            v *= 0.999
            v += (1 - 0.999) * (slope * slope)
            scale = np.sqrt(v / share)
            scale += 1e-8
            w -= rate * m / scale
        return loss

    return going_on(step, [data_of(SMALL)], STEPS, ADAM_LOSS)


def adam_jax() -> Run:
    import jax.numpy as jnp

    x, y = map(jnp.asarray, data_of(SMALL))

    def forward(weights: Any, x: Any, key: Any) -> Any:
        w1, b1, w2, b2 = weights
        return jnp.tanh(x @ w1.T + b1) @ w2.T + b2

    step = jax_step(forward, square, "Adam", 0.01, arrays_of(SMALL))
    return going_on(step, [(x, y)], STEPS, ADAM_LOSS)


def adam_torch(compiled: bool = False) -> Run:
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    with torch.no_grad():
        for parameter, array in zip(model.parameters(), arrays_of(SMALL)):
            parameter.copy_(torch.from_numpy(array))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def loss_of(x: Any, y: Any) -> Any:
        return torch.mean((model(x) - y) ** 2)

    step = torch_step(loss_of, optimizer, compiled)
    x, y = map(torch.from_numpy, data_of(SMALL))
    return going_on(step, [(x, y)], STEPS, ADAM_LOSS)


BENCHMARK = Benchmark(
    title="Steps of small models",
    rounds=15,
    contenders=(
        Contender("2-8-1, bare arrays", lambda: gradients_of_arrays(SMALL, STEPS), STEPS),
        Contender("2-8-1, a Chain", lambda: gradients_of_a_chain(SMALL, STEPS), STEPS, {"2-8-1, bare arrays": 1.4}),
        Contender("100 layers of 8, bare arrays", lambda: gradients_of_arrays(DEEP, 4), 4),
        Contender(
            "100 layers of 8, a Chain", lambda: gradients_of_a_chain(DEEP, 4), 4, {"100 layers of 8, bare arrays": 1.4}
        ),
        Contender("2-8-1, Adam, PyTorch eager", adam_torch, STEPS),
        Contender("2-8-1, Adam", adam, STEPS, {"2-8-1, Adam, PyTorch eager": 0.75}),
        Contender("2-8-1, Adam, NumPy by hand", adam_by_hand, STEPS),
        Contender(
            "2-8-1, Adam, captured",
            adam_captured,
            STEPS,
            {"2-8-1, Adam, NumPy by hand": 1.0, "2-8-1, Adam, PyTorch eager": 0.15},
        ),
        Contender("2-8-1, Adam, JAX jit (info)", adam_jax, STEPS),
        Contender("2-8-1, Adam, PyTorch compiled (info)", lambda: adam_torch(compiled=True), STEPS),
        Contender(f"a list of {LEAVES:,} arrays, a step for each", many_leaves, LEAVES),
    ),
)
