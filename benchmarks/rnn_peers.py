"""The sine-wave RNN as users of PyTorch and JAX would write it."""

from __future__ import annotations

from .sine_wave import EPOCHS, HIDDEN, LENGTH, RATE, Train, problem


def torch_eager() -> Train:
    import torch

    def train() -> float:
        x, y, w1, w2 = (torch.from_numpy(array) for array in problem())
        w1.requires_grad_()
        w2.requires_grad_()
        for _ in range(EPOCHS):
            total, h = 0.0, torch.zeros(1, HIDDEN)
            for j in range(LENGTH):
                xh = torch.cat([x[j : j + 1], h], dim=1)
                h = torch.tanh(xh @ w1)
                loss = torch.sum((h @ w2 - y[j : j + 1]) ** 2) / 2
                loss.backward()
                with torch.no_grad():
                    w1 -= RATE * w1.grad
                    w2 -= RATE * w2.grad
                    w1.grad.zero_()
                    w2.grad.zero_()
                total += loss.item()
                h = h.detach()
        return total

    return train


def jax_jit() -> Train:
    import jax
    import jax.numpy as jnp

    def step(weights, h, inputs, target):
        h = jnp.tanh(jnp.concatenate([inputs, h], axis=1) @ weights[0])
        return jnp.sum((h @ weights[1] - target) ** 2) / 2, h

    @jax.jit
    def update(weights, h, x, y, j):  # pass j as a number: slicing outside would cost as much again
        inputs, target = (jax.lax.dynamic_slice_in_dim(array, j, 1) for array in (x, y))
        (loss, h), gradients = jax.value_and_grad(step, has_aux=True)(weights, h, inputs, target)
        return [w - RATE * g for w, g in zip(weights, gradients)], h, loss

    def train() -> float:
        x, y, *weights = (jnp.asarray(array) for array in problem())
        for _ in range(EPOCHS):
            total, h = 0.0, jnp.zeros((1, HIDDEN))
            for j in range(LENGTH):
                weights, h, loss = update(weights, h, x, y, j)
                total += float(loss)
        return total

    return train
