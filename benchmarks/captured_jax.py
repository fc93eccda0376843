"""The networks of `captured.py` in JAX: forward, gradient and optimizer in one `jit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .harness import Run, going_on


def forward_of(name: str) -> Callable:
    """``forward(weights, x, key)``; `key` is for random numbers."""
    import jax
    import jax.numpy as jnp

    def dense(weights: Any, x: Any) -> Any:
        *hidden, last = zip(weights[::2], weights[1::2])
        for w, b in hidden:
            x = jax.nn.relu(x @ w.T + b)
        return x @ last[0].T + last[1]

    def makemore(weights: Any, x: Any, key: Any) -> Any:
        table, w, scale, bias, w2, b2 = weights
        h = table[x].reshape(len(x), -1) @ w.T
        h = scale * (h - h.mean(0)) / jnp.sqrt(h.var(0) + 1e-5) + bias
        return jnp.tanh(h) @ w2.T + b2

    def block(weights: Any, x: Any, key: Any) -> Any:
        scale, bias, w1, b1, w2, b2 = weights
        mean, spread = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        x = scale * (x - mean) / jnp.sqrt(spread + 1e-5) + bias
        return x + jax.nn.gelu(x @ w1.T + b1, approximate=True) @ w2.T + b2

    def dropout(weights: Any, x: Any, key: Any) -> Any:
        w1, b1, w2, b2 = weights
        h = jax.nn.relu(x @ w1.T + b1)
        return jnp.where(jax.random.bernoulli(key, 0.7, h.shape), h / 0.7, 0) @ w2.T + b2

    def lenet(weights: Any, x: Any, key: Any) -> Any:
        for w, b in (weights[:2], weights[2:4]):
            x = jax.lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
            x = jax.nn.relu(x + b)
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return dense(weights[4:], x.reshape(len(x), -1))

    def lstm(weights: Any, x: Any, key: Any) -> Any:
        wi, wh, bias, w, b = weights

        def cell(memory: Any, x: Any) -> Any:
            h, c = memory
            i, f, g, o = jnp.split(x + h @ wh.T, 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((len(x), wh.shape[1]))
        _, hs = jax.lax.scan(cell, (zeros, zeros), jnp.swapaxes(x @ wi.T + bias, 0, 1))
        return jnp.swapaxes(hs, 0, 1) @ w.T + b

    return {
        "makemore": makemore, "MLP 784-128-64-10": lambda weights, x, key: dense(weights, x),
        "LayerNorm + Dense 64-256-64": block, "Dropout MLP": dropout, "LeNet": lenet, "LSTM 64-128, 50 steps": lstm,
    }[name]  # fmt: skip


def changes_of(rule: str, rate: float) -> Callable:
    """``change(w, memory, g, t)``: a weight and what's remembered of it after step number `t`."""
    import jax.numpy as jnp

    def descent(w: Any, memory: Any, g: Any, t: Any) -> Any:
        return w - rate * g, memory

    def adam(w: Any, memory: Any, g: Any, t: Any) -> Any:
        m, v = memory
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        change = m / (1 - 0.9**t) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8)
        if rule == "AdamW":
            change += 0.01 * w
        return w - rate * change, (m, v)

    if rule == "Descent":
        return descent
    return adam


def jax_step(forward: Callable, loss: Callable, rule: str, rate: float, weights: list[np.ndarray]) -> Callable:
    """``step(x, y)``, one compiled function; it gives the loss."""
    import jax
    import jax.numpy as jnp

    change = changes_of(rule, rate)

    def compute(weights: Any, x: Any, y: Any, key: Any) -> Any:
        return loss(forward(weights, x, key), y)

    @jax.jit
    def update(weights: Any, memories: Any, t: Any, key: Any, x: Any, y: Any) -> Any:
        key, drawn = jax.random.split(key)
        value, grads = jax.value_and_grad(compute)(weights, x, y, drawn)
        t = t + 1
        pairs = [change(w, memory, g, t) for w, memory, g in zip(weights, memories, grads)]
        return [w for w, _ in pairs], [memory for _, memory in pairs], t, key, value

    ours = [jnp.asarray(w) for w in weights]
    memories = [(jnp.zeros_like(w), jnp.zeros_like(w)) for w in ours]
    now: tuple = ours, memories, jnp.float32(0), jax.random.key(0)

    def step(x: Any, y: Any) -> Any:
        nonlocal now
        *now, value = update(*now, x, y)  # type: ignore[assignment]
        return value

    return step


def square(outputs: Any, y: Any) -> Any:
    import jax.numpy as jnp

    return jnp.mean((outputs - y) ** 2)


def cross_entropy(outputs: Any, y: Any) -> Any:
    import jax
    import jax.numpy as jnp

    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(outputs), y[:, None], 1))


def jax_jit(problem: Any, weights: list[np.ndarray]) -> Run:
    import jax.numpy as jnp

    loss = cross_entropy if problem.is_classes() else square
    step = jax_step(forward_of(problem.name), loss, problem.rule, problem.rate, weights)
    batches = [(jnp.asarray(x), jnp.asarray(y)) for x, y in problem.batches()]
    return going_on(step, batches, problem.steps, problem.expected)
