"""The same training in two worlds, as it's written and captured, here or on a device: all of it as bytes, to compare.

``place`` puts an array or a model where it belongs: on the CPU it stays as it is, for a GPU it's ``to_gpu``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from optimizer_table import BEFORE_ANOTHER, OPTIMIZERS

import fluxlite as fl

WHOLE = {"Embedding"}  # layers that take whole numbers
DECIDES = (fl.RAdam, fl.AccumGrad)  # by a count, in Python
RULES = [rule for rule in OPTIMIZERS if not isinstance(rule, DECIDES)]
RULES += [fl.OptimiserChain(rule, fl.Adam(0.01)) for rule in BEFORE_ANOTHER if not isinstance(rule, DECIDES)]


def stay(x: Any) -> Any:
    return x


def to_gpu(x: Any) -> Any:
    return fl.gpu(x, dtype=None)


def numbers(shape: tuple, seed: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def batches_for(name: str, shape: tuple) -> list:
    """Three batches for the layer with this name."""
    if name in WHOLE:
        return [np.random.default_rng(i).integers(0, 4, shape) for i in range(3)]
    return [numbers(shape, i) for i in range(3)]


def square(y: Any) -> Any:
    while isinstance(y, tuple):
        y = y[0]
    return np.mean(y * y)


def network(dtype: Any = np.float32) -> Any:
    rng = np.random.default_rng(0)
    model = fl.Chain(fl.Dense(3, 4, np.tanh, rng=rng), fl.BatchNorm(4), fl.Dropout(0.3), fl.Dense(4, 2, rng=rng))
    return {np.float16: fl.f16, np.float32: fl.f32, np.float64: fl.f64}[dtype](model)


def as_bytes(arrays: Any) -> list[bytes]:
    return [np.asarray(fl.cpu(x)).tobytes() for x in arrays]


def trained(
    make: Callable, batches: list, loss: Callable, rule: Any, captured: bool, steps: int, place: Callable = stay
) -> tuple[list, list]:
    """The losses, and the parameters and all other arrays after so many steps."""
    fl.seed(3)
    model = place(make())
    batches = [place(x) for x in batches]
    state = None
    if list(fl.trainables(model)):
        state = fl.setup(rule, model)

    def compute(m: Any, x: Any) -> Any:
        if callable(m):
            return loss(m(x))
        return loss(x)

    def step(x: Any) -> Any:
        value, (grads, *_) = fl.withgradient(compute, model, x)
        if state is not None:
            fl.update(state, model, grads)
        return value

    run = fl.captured(step) if captured else step
    losses = [run(batches[i % len(batches)]) for i in range(steps)]
    if captured:
        assert run.plans, "it's replayed"
    return as_bytes(losses), as_bytes(x for x in fl.leaves(model) if hasattr(x, "dtype"))


def trained_with_changing_rates(captured: bool, place: Callable = stay) -> list[bytes]:
    """The losses and parameters of a training whose rates change, and in which a layer is frozen for a while."""
    model = place(network())
    state = fl.setup(fl.Adam(0.1), model)

    def step(x: Any) -> Any:
        loss, (grads,) = fl.withgradient(lambda m: square(m(x)), model)
        fl.update(state, model, grads)
        return loss

    fl.seed(1)
    run = fl.captured(step) if captured else step
    losses = []
    for i in range(20):
        fl.adjust(state, 0.1 / (i + 1))
        if i == 8:
            fl.freeze(state.layers[0])
        if i == 14:
            fl.thaw(state.layers[0])
            fl.adjust(state, beta=(0.8, 0.9))
        losses.append(run(place(numbers((6, 3), i))))
    return as_bytes(losses + [w for _, w in fl.trainables(model)])
