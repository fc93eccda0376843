"""Lesson 05's training loop with mistakes to switch on, and with gradients that reach further back.

They're here so that the lesson writes its loop once, and you can see what each mistake does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import fluxlite as fl

from ..sine_wave import problem, step, train_by_hand

RATE = 0.1


def trained(
    keep_gradients: bool = False, wipe_memory: bool = False, same_point: bool = False, epochs: int = 200
) -> list[float]:
    """Lesson 05's training in the style of `param` and `back`: each epoch's loss, with the mistakes you ask for.

    `keep_gradients` doesn't set them to zero after a step. `wipe_memory` makes an empty memory at each step.
    `same_point` takes the input itself for the target.

    >>> round(trained(epochs=1)[0], 2), round(trained(wipe_memory=True, epochs=1)[0], 2)
    (3.92, 3.81)
    """
    x, y, *start = problem()
    targets, empty = x if same_point else y, np.zeros((1, 6), np.float32)
    weights: list[Any] = [fl.param(w) for w in start]  # a gradient is None until the first back
    w1, w2 = weights
    losses = []
    with np.errstate(all="ignore"):  # with the gradients kept, the numbers overflow
        for _ in range(epochs):
            total, memory = 0.0, empty
            for point, target in zip(x, targets):
                output, after = step(point, empty if wipe_memory else memory, w1, w2)
                loss = np.sum((output - target) ** 2) / 2
                fl.back(loss)
                for w in weights:
                    w.data -= RATE * w.grad
                    if not keep_gradients:
                        w.grad[...] = 0
                total, memory = total + loss.data, after.data
            losses.append(float(total))
    return losses


def reaching_back(reach: int = 1, seed: int = 1, epochs: int = 200) -> tuple[float, int]:
    """Train with gradients that go back through `reach` steps: the last loss, and an epoch's visits of steps.

    A reach of 1 is what lesson 05 does; 20 is the whole history. Raises `ValueError` for a reach below 1.

    >>> reaching_back(reach=2, epochs=1)[1]
    39
    """
    if reach < 1:
        raise ValueError(f"reach is a number of steps, 1 or more; got {reach}")
    visits = sum(min(reach, point) for point in range(1, 21))
    return train_by_hand(seed=seed, reach=reach, epochs=epochs).losses[-1], visits
